internal import LinuxSystem
internal import MosquittoClient
internal import StateStorage

/// Remembers topics in a file of the state directory: so that what is no longer so can be taken away from the broker, also
/// after a renaming and where the broker does not let it be read back.
struct TopicMemory: Sendable {
    private static let largest = 1 << 20

    private let directory: StateDirectory
    private let fileName: String
    private let title: String

    private init(_ stateDirectory: String, fileName: String, title: String) {
        directory = StateDirectory(path: stateDirectory)
        self.fileName = fileName
        self.title = title
    }

    /// What was announced to Home Assistant.
    static func announced(stateDirectory: String) -> TopicMemory {
        TopicMemory(stateDirectory, fileName: "announced-topics", title: "jostle announced topics 1")
    }

    /// The names under which retained messages were published: what a device's topics begin with.
    static func names(stateDirectory: String) -> TopicMemory {
        TopicMemory(stateDirectory, fileName: "device-names", title: "jostle device names 1")
    }

    /// The topics that are remembered; none where there is no file that can be read.
    func load() -> Set<String> {
        guard case .text(let text) = directory.read(fileName, limit: TopicMemory.largest) else { return [] }
        let lines = text.split(separator: "\n")
        guard lines.first == title[...] else { return [] }
        // What the client would never take would be tried again and again.
        return Set(lines.dropFirst().map(String.init).filter { MQTTTopic.isValid(name: $0) })
    }

    /// Remembers these topics and no others.
    ///
    /// - Returns: 0, or the errno of what failed; the old file is then still there.
    func save(_ topics: Set<String>) -> Int32 {
        let lines = [title] + topics.sorted()
        do throws(SystemFailure) {
            try directory.write(lines.joined(separator: "\n") + "\n", to: fileName)
            return 0
        } catch {
            return error.code
        }
    }
}
