/// One node of a configuration, whatever language it was written in, with the place where it stands.
///
/// Scalars stay text: only the schema knows whether `no` is a name or a mistaken `false`.
package struct ConfigurationNode: Equatable, Sendable {
    /// What the node is.
    package var value: Value

    /// Where it begins.
    package var position: ConfigurationPosition

    /// Makes a node.
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
        /// Nothing: JSON's `null`, and in YAML also `~` and an empty value.
        case null
    }

    /// How a scalar was written.
    package enum Style: Equatable, Sendable {
        /// Without quotes: in JSON a number, `true` or `false`.
        case plain
        /// In quotes or as a block: text whatever it looks like.
        case quoted
    }

    /// One key of a mapping with its value.
    package struct Entry: Equatable, Sendable {
        package var key: String
        package var keyPosition: ConfigurationPosition
        package var node: ConfigurationNode

        /// Makes an entry.
        package init(key: String, at keyPosition: ConfigurationPosition, _ node: ConfigurationNode) {
            self.key = key
            self.keyPosition = keyPosition
            self.node = node
        }
    }

    /// The value of `key`, where this is a mapping that has it.
    package subscript(key: String) -> ConfigurationNode? {
        guard case .mapping(let entries) = value else { return nil }
        return entries.first { $0.key == key }?.node
    }

    /// The text, where this is a scalar.
    package var text: String? {
        guard case .scalar(let text, _) = value else { return nil }
        return text
    }
}

/// Where a configuration came from.
package enum ConfigurationSource: Hashable, Sendable {
    /// A file, by the path it was opened with.
    case file(String)
    /// `--set key=value`, by its key: the value may be something that does not belong in a log.
    case argument(String)
    /// An MQTT message, by its topic.
    case message(String)
    /// A layer of single values above file and arguments, by its name.
    case layer(String)
}

/// A place in a configuration.
package struct ConfigurationPosition: Hashable, Sendable, CustomStringConvertible {
    package var source: ConfigurationSource

    /// The line, counted from 1.
    package var line: Int

    /// The character in the line, counted from 1.
    package var column: Int

    /// Makes a position, by default the beginning.
    package init(_ source: ConfigurationSource, line: Int = 1, column: Int = 1) {
        self.source = source
        self.line = line
        self.column = column
    }

    /// The position as compilers write it, or the argument.
    package var description: String {
        switch source {
        case .file(let name), .message(let name): "\(name):\(line):\(column)"
        case .argument(let key): "--set \(key)"
        case .layer(let name): "\(name)"
        }
    }
}

/// How large a text and the tree in it may be; a message from outside must not cost the device its memory.
package struct ReaderLimits: Equatable, Sendable {
    /// The longest text, bytes. Default 1 MiB.
    package var bytes = 1 << 20

    /// How many lists and mappings may stand inside one another. Default 16.
    package var depth = 16

    /// The most nodes. Default 20,000, some megabytes of memory.
    package var nodes = 20_000

    /// Makes the default limits.
    package init() {}
}
