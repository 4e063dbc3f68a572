internal import Documents
internal import JostleConfiguration
package import LinuxSystem
package import StateStorage

/// The configuration layer of values set over MQTT, stored in `local-settings.json`.
package enum LocalLayer {
    /// The layer's name in reports.
    package static let name = "local"

    /// The maximum file size, bytes: more than all keys and the most learned gestures need.
    private static let maximumBytes = 1 << 18

    /// Removes keys from the stored layer of an agent that does not run.
    ///
    /// - Throws: why the file cannot be written; it is then unchanged. A damaged file counts as empty.
    package static func clear(_ keys: [String], in directory: StateDirectory) throws(SystemFailure) {
        if case .failed(let failure) = directory.read(StateFile.localSettings.rawValue) { throw failure }
        let before = load(from: directory, setsAside: false)
        var layer = before.layer
        for key in keys { layer[key] = nil }
        guard layer != before.layer || before.problem != nil else { return }
        try directory.write(layer.text, to: StateFile.localSettings.rawValue)
    }

    /// The stored layer, empty if there is none, and a message about a file that cannot be used.
    ///
    /// With a damaged file, the device starts with its configuration file, and the next change is stored again. With
    /// `setsAside`, the damaged file is moved out of the way.
    static func load(
        from directory: StateDirectory, setsAside: Bool = true
    ) -> (layer: ConfigurationLayer, problem: String?) {
        let (layer, problem) = directory.load(
            .localSettings, limit: maximumBytes + 1, setsAside: setsAside,
            unreadable: "locally set values are not applied", damaged: "locally set values are lost"
        ) { try ConfigurationLayer(name, reading: $0, source: .file(StateFile.localSettings.rawValue)) }
        return (layer ?? ConfigurationLayer(name), problem)
    }
}

/// A refused value, as it is reported.
struct SettingRefusal: Sendable {
    let key: String
    private let problem: DocumentProblem

    init(_ problem: DocumentProblem, key: String) {
        self.key = key
        self.problem = problem
    }

    /// The key, the value, why it was refused, and which values are allowed.
    var json: JSONValue {
        let source = problem.position.source
        // A problem in a message belongs to the layer that the message was meant for.
        var layer = LocalLayer.name
        if case .layer(let name) = source { layer = name }
        let fields: [(name: String, text: String?)] = [
            ("key", key), ("value", problem.found), ("reason", problem.reason), ("allowed", problem.allowed),
            ("layer", layer),
        ]
        return .object(fields.compactMap { field in field.text.map { JSONValue.Member(field.name, .string($0)) } })
    }
}
