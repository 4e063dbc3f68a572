extension ValueFormat<String> {
    /// Free text of at most `maximum` bytes on one line.
    static func text(maximum: Int) -> ValueFormat {
        ValueFormat(
            allowed: "text of 1 … \(maximum) bytes on one line", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1), .init("maxLength", .number("\(maximum)"))],
            read: { node, _ throws(ValueRefusal) in try lineOfText(node, maximum: maximum) },
            write: { .string($0) })
    }

    /// A file's path; a relative one refers to the directory of the configuration file that contains it.
    static var path: ValueFormat {
        ValueFormat(
            allowed: "the path of a file", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                resolved(try lineOfText(node, maximum: 4095), in: directory)
            },
            write: { .string($0) })
    }

    /// A file's path like `path`, or `credential:NAME` for a credential that systemd passes to the service
    /// (LoadCredential=).
    static var credentialPath: ValueFormat {
        ValueFormat(
            allowed: "the path of a file, or credential:NAME", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 4095)
                guard let name = JostleSettings.MQTT.credentialName(text) else { return resolved(text, in: directory) }
                guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
                    throw ValueRefusal("is not the name of a credential")
                }
                return text
            },
            write: { .string($0) })
    }

    /// A name of letters and digits, or the path of a file. Any text with a slash or a dot is a path.
    static var nameOrPath: ValueFormat {
        ValueFormat(
            allowed: "demo, rest, or the path of a recording", wantsExample: true,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, directory throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 4095)
                return text.contains { $0 == "/" || $0 == "." } ? resolved(text, in: directory) : text
            },
            write: { .string($0) })
    }

    /// The version of a Debian package.
    static var packageVersion: ValueFormat {
        ValueFormat(
            allowed: "the version of a package: at most 64 letters, digits and .+~:-, beginning with a digit",
            wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^[0-9][A-Za-z0-9.+~:-]{0,63}$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isVersion(text) else { throw ValueRefusal("is not a version") }
                return text
            },
            write: { .string($0) })
    }

    /// A device's id: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`; it fits into topics and cannot look like a fleet topic.
    static var deviceID: ValueFormat {
        ValueFormat(
            allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isID(text) else { throw ValueRefusal("is not a device's id") }
                return text
            },
            write: { .string($0) })
    }

    /// The first part of the topics: non-empty levels separated by slashes, no wildcards, none of the broker's own `$`
    /// topics.
    static var topicPrefix: ValueFormat {
        ValueFormat(
            allowed: "levels separated by /, without +, # and spaces, not beginning with $", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^(?!\\$)[^/+#\\s]+(/[^/+#\\s]+)*$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 200)
                guard !text.hasPrefix("$") else {
                    throw ValueRefusal("begins with $, which is reserved for the broker")
                }
                guard !text.contains(where: { $0 == "+" || $0 == "#" || $0.isWhitespace }) else {
                    throw ValueRefusal("has a wildcard or a space")
                }
                guard text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
                    throw ValueRefusal("has an empty level")
                }
                return text
            },
            write: { .string($0) })
    }

    /// A web page's URL: http or https, a host, no spaces.
    static var webAddress: ValueFormat {
        ValueFormat(
            allowed: "a URL that begins with http:// or https://", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^https?://[^/\\s]+(/\\S*)?$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 1024)
                guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else {
                    throw ValueRefusal("is not a web page's URL: it begins neither with http:// nor with https://")
                }
                let rest = text.dropFirst(scheme.count)
                guard let first = rest.first, first != "/", !text.contains(where: \.isWhitespace) else {
                    throw ValueRefusal("is not a web page's URL: it has no host, or contains a space")
                }
                return text
            },
            write: { .string($0) })
    }

    /// `a, b or c`.
    static func list(_ names: [String], _ conjunction: String = "or") -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return "\(names.dropLast().joined(separator: ", ")) \(conjunction) \(last)"
    }

    /// The text of a node; refuses empty and too long text and control characters.
    static func lineOfText(_ node: ConfigurationNode, maximum: Int) throws(ValueRefusal) -> String {
        let text = try node.scalarText()
        guard !text.isEmpty else { throw ValueRefusal("is empty") }
        guard text.utf8.count <= maximum else { throw ValueRefusal("is longer than \(maximum) bytes") }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw ValueRefusal("has control characters")
        }
        return text
    }

    private static func resolved(_ path: String, in directory: String?) -> String {
        guard let directory, !directory.isEmpty, !path.hasPrefix("/") else { return path }
        return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
    }
}
