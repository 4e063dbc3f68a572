internal import MosquittoClient
internal import StateStorage

/// Topics saved in a file of the state directory, so that obsolete retained messages can be removed from the broker,
/// even after a renaming or if the broker does not permit reading them back.
struct RememberedTopics: Equatable, Sendable {
    private static let maximumBytes = 1 << 20

    let file: StateFile
    private let title: String

    /// The file's topics, including those about to be written.
    private(set) var topics: Set<String>

    /// The topics of discovery messages.
    static func announced(in directory: StateDirectory) -> RememberedTopics {
        RememberedTopics(.announcedTopics, title: "jostle announced topics 1", in: directory)
    }

    /// The topic roots under which the device published retained messages.
    static func deviceNames(in directory: StateDirectory) -> RememberedTopics {
        RememberedTopics(.deviceNames, title: "jostle device names 1", in: directory)
    }

    /// Reads the file; without a readable file the set is empty.
    private init(_ file: StateFile, title: String, in directory: StateDirectory) {
        self.file = file
        self.title = title
        topics = []
        guard case .text(let text) = directory.read(file.rawValue, limit: RememberedTopics.maximumBytes) else { return }
        let lines = text.split(separator: "\n")
        guard lines.first == title[...] else { return }
        // Invalid topics would be retried for ever.
        topics = Set(lines.dropFirst().map(String.init).filter { MQTTTopic.isValid(name: $0) })
    }

    /// Replaces the topics.
    ///
    /// - Returns: the file's new contents; `nil` if nothing changed.
    mutating func remember(_ topics: Set<String>) -> [UInt8]? {
        guard topics != self.topics else { return nil }
        self.topics = topics
        let lines = [title] + topics.sorted()
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}
