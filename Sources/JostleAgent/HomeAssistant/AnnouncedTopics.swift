internal import MosquittoClient
internal import MotionKit

/// Remembers in a file of the state directory, `announced-topics`, what was announced: so that what is no longer so can be
/// taken away, also after a renaming and where the broker does not let it be read back.
struct AnnouncedTopics: Sendable {
    private static let fileName = "announced-topics"
    private static let title = "jostle announced topics 1"
    private static let largest = 1 << 20

    private let directory: StateDirectory

    init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory)
    }

    /// The topics that are remembered; none where there is no file that can be read.
    func load() -> Set<String> {
        guard case .text(let text) = directory.read(AnnouncedTopics.fileName, limit: AnnouncedTopics.largest) else {
            return []
        }
        let lines = text.split(separator: "\n")
        guard lines.first == AnnouncedTopics.title[...] else { return [] }
        return Set(lines.dropFirst().map(String.init).filter(isName))
    }

    /// Whether a line is a topic: what the client would never take would be tried again and again.
    private func isName(_ line: String) -> Bool {
        do throws(MQTTError) {
            try MQTTTopic.validate(name: line)
            return true
        } catch {
            return false
        }
    }

    /// Remembers these topics and no others.
    ///
    /// - Returns: 0, or the errno of what failed; the old file is then still there.
    func save(_ topics: Set<String>) -> Int32 {
        let lines = [AnnouncedTopics.title] + topics.sorted()
        return directory.write(lines.joined(separator: "\n") + "\n", to: AnnouncedTopics.fileName)
    }
}
