internal import MosquittoClient
internal import StateStorage

/// Topics that a file of the state directory remembers, so that what is no longer so can be taken away from the broker, also
/// after a renaming and if the broker does not let it be read back.
struct RememberedTopics: Equatable, Sendable {
    private static let largest = 1 << 20

    let file: StateFile
    private let title: String

    /// What the file has, or will have when it is written.
    private(set) var topics: Set<String>

    /// What was announced to Home Assistant.
    static func announced(in directory: StateDirectory) -> RememberedTopics {
        RememberedTopics(.announcedTopics, title: "jostle announced topics 1", in: directory)
    }

    /// The names under which retained messages were published: what a device's topics begin with.
    static func deviceNames(in directory: StateDirectory) -> RememberedTopics {
        RememberedTopics(.deviceNames, title: "jostle device names 1", in: directory)
    }

    /// Reads what is remembered: nothing if there is no file that can be read.
    private init(_ file: StateFile, title: String, in directory: StateDirectory) {
        self.file = file
        self.title = title
        topics = []
        guard case .text(let text) = directory.read(file.rawValue, limit: RememberedTopics.largest) else { return }
        let lines = text.split(separator: "\n")
        guard lines.first == title[...] else { return }
        // What the client would never take would be tried again and again.
        topics = Set(lines.dropFirst().map(String.init).filter { MQTTTopic.isValid(name: $0) })
    }

    /// Remembers these topics and no others.
    ///
    /// - Returns: what is to be written; `nil` if nothing changes.
    mutating func remember(_ topics: Set<String>) -> [UInt8]? {
        guard topics != self.topics else { return nil }
        self.topics = topics
        let lines = [title] + topics.sorted()
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }
}
