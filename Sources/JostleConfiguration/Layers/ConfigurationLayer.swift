package import Documents

/// Single values that override the file and the arguments, one per key, in the order in which the keys were first set.
///
/// The values set over MQTT, from a home automation for example, form such a layer. It is stored as a JSON object of
/// paths and values: `{"gestures.shake.sensitivity": 7}`.
package struct ConfigurationLayer: Equatable, Sendable {
    /// A key and its value.
    package struct Entry: Equatable, Sendable {
        /// The key's path: `gestures.shake.sensitivity`.
        package var key: String

        /// The value in the form in which it is written.
        package var value: JSONValue
    }

    /// The name in reports: `local`.
    package let name: String

    /// The keys and their values; no key occurs twice.
    package private(set) var entries: [Entry] = []

    package init(_ name: String) {
        self.name = name
    }

    /// Reads a stored layer.
    ///
    /// - Throws: if it is not a JSON object.
    package init(_ name: String, reading bytes: [UInt8], source: DocumentSource) throws(DocumentProblem) {
        let tree = try JSONReader.read(bytes, source: source)
        guard let members = tree.members else {
            throw DocumentProblem(at: tree.position, "not an object of keys and values")
        }
        self.name = name
        entries = members.map { Entry(key: $0.name, value: $0.value) }
    }

    /// The value of a key; setting `nil` removes the key.
    package subscript(key: String) -> JSONValue? {
        get { entries.first { $0.key == key }?.value }
        set {
            let index = entries.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): entries[index].value = value
            case (let index?, nil): entries.remove(at: index)
            case (nil, let value?): entries.append(Entry(key: key, value: value))
            case (nil, nil): break
            }
        }
    }

    /// The layer in the form in which it is stored.
    package var text: String {
        let lines = entries.map { "  \(JSONText.quoted($0.key)): \($0.value.compactText)" }
        return lines.isEmpty ? "{}\n" : "{\n\(lines.joined(separator: ",\n"))\n}\n"
    }
}

extension ConfigurationLayer.Entry {
    /// The entry as a tree with this one key.
    func tree(at position: DocumentPosition) -> JSONValue {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return JSONValue(value.placed(at: position), below: names, at: position)
    }
}
