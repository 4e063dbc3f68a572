internal import LinuxSystem

/// The argument of `--set`: `key=value`.
package enum Override {
    /// The most names in a key's path: as deep as a file may be nested.
    package static let deepestPath = ReaderLimits().depth

    /// The argument as a tree with this one key.
    ///
    /// A value that begins with a bracket, brace or quote is YAML. Any other value is plain text, so that users of a
    /// shell do not have to think of YAML's special characters.
    static func parse(_ argument: String) throws(ConfigurationProblem) -> ConfigurationNode {
        guard let separator = argument.firstIndex(of: "=") else {
            throw ConfigurationProblem(
                at: ConfigurationPosition(.argument(ForeignText.excerpt(argument))), "has no value; write key=value")
        }
        let path = String(argument[..<separator])
        let position = ConfigurationPosition(.argument(ConfigurationProblem.shortenedPath(path)))
        let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= deepestPath else {
            throw ConfigurationProblem(
                at: ConfigurationPosition(.argument(ForeignText.excerpt(path))),
                "is not a key: more than \(deepestPath) levels")
        }
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw ConfigurationProblem(
                at: position, "\(ConfigurationProblem.quoted(path)) is not a key; write section.key=value")
        }
        let value = try value(String(argument[argument.index(after: separator)...]), at: position)
        return names.reversed().reduce(value) { node, name in
            ConfigurationNode(.mapping([.init(key: name, at: position, node)]), at: position)
        }
    }

    /// The value of an argument: YAML if it begins with a bracket, brace or quote, else plain text.
    package static func value(
        _ text: String, at position: ConfigurationPosition
    ) throws(ConfigurationProblem) -> ConfigurationNode {
        guard let first = text.first, "[{\"'".contains(first) else {
            return ConfigurationNode(YAMLReader.isNull(text) ? .null : .scalar(text, .plain), at: position)
        }
        return try YAMLReader.read(Array(text.utf8), source: position.source)
    }
}
