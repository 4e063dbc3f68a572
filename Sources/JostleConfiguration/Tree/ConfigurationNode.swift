/// A node of a configuration tree, in whatever format it was written, with its position.
///
/// Scalars stay text, because only the schema knows whether `no` is a name or a mistaken `false`.
package struct ConfigurationNode: Equatable, Sendable {
    /// The node's content.
    package var value: Value

    /// The position of its first character.
    package var position: ConfigurationPosition

    package init(_ value: Value, at position: ConfigurationPosition) {
        self.value = value
        self.position = position
    }

    /// The kinds of node.
    package enum Value: Equatable, Sendable {
        /// Keys and values in the order in which they were written; no key occurs twice.
        case mapping([Entry])
        case sequence([ConfigurationNode])
        case scalar(String, Style)
        /// No value: JSON's `null`, and in YAML also `~` and an empty value.
        case null
    }

    /// How a scalar was written.
    package enum Style: Equatable, Sendable {
        /// Without quotes: in JSON a number, `true` or `false`.
        case plain
        /// In quotes or as a block: always text.
        case quoted
    }

    /// A key of a mapping with its value.
    package struct Entry: Equatable, Sendable {
        package var key: String
        package var keyPosition: ConfigurationPosition
        package var node: ConfigurationNode

        package init(key: String, at keyPosition: ConfigurationPosition, _ node: ConfigurationNode) {
            self.key = key
            self.keyPosition = keyPosition
            self.node = node
        }
    }

    /// The value of `key`; `nil` if this is not a mapping or lacks the key.
    package subscript(key: String) -> ConfigurationNode? {
        guard case .mapping(let entries) = value else { return nil }
        return entries.first { $0.key == key }?.node
    }

    /// The text of a scalar; `nil` for any other node.
    package var text: String? {
        guard case .scalar(let text, _) = value else { return nil }
        return text
    }
}

/// The origin of a configuration text.
package enum ConfigurationSource: Hashable, Sendable {
    /// A file, identified by the path with which it was opened.
    case file(String)
    /// `--set key=value`, identified by its key; the value is left out because it may be unfit for a log.
    case argument(String)
    /// An MQTT message, identified by its topic.
    case message(String)
    /// A layer of single values above file and arguments, identified by its name.
    case layer(String)
}

/// A position in a configuration.
package struct ConfigurationPosition: Hashable, Sendable, CustomStringConvertible {
    package var source: ConfigurationSource

    /// The line, from 1.
    package var line: Int

    /// The character in the line, from 1.
    package var column: Int

    /// The default is the beginning of the source.
    package init(_ source: ConfigurationSource, line: Int = 1, column: Int = 1) {
        self.source = source
        self.line = line
        self.column = column
    }

    /// The position in the format of compiler messages, or the argument's key.
    package var description: String {
        switch source {
        case .file(let name), .message(let name): "\(name):\(line):\(column)"
        case .argument(let key): "--set \(key)"
        case .layer(let name): "\(name)"
        }
    }
}

/// Limits on the size of a text and of its tree, so that an untrusted message cannot exhaust the memory.
package struct ReaderLimits: Equatable, Sendable {
    /// The longest text, bytes. Default 1 MiB.
    package var bytes = 1 << 20

    /// The deepest nesting of lists and mappings. Default 16.
    package var depth = 16

    /// The largest number of nodes. Default 20,000, some megabytes of memory.
    package var nodes = 20_000

    /// The largest number of keys in all mappings together. Default: as many as nodes.
    package var keys = 20_000

    package init() {}
}
