package import LinuxSensors
internal import LinuxSystem
internal import MosquittoClient
internal import StateStorage

/// Keeps a second agent out of a state directory: they would replace each other's files, and send events twice.
///
/// The lock ends with the agent. A state directory whose disk is full, broken or read-only cannot be locked for the first
/// time; the agent runs nevertheless, as it does without all other state.
package final class StateDirectoryLock {
    private let lock: FileLock

    private init(_ lock: consuming FileLock) {
        self.lock = lock
    }

    /// Locks a directory, which is created if it does not exist.
    ///
    /// - Parameters:
    ///   - directory: its path.
    ///   - warn: gets the reason if the directory cannot be locked although no other agent uses it.
    /// - Returns: the lock; `nil` after a warning.
    /// - Throws: if another agent uses it.
    static func acquire(_ directory: String, warn: (String) -> Void) throws -> StateDirectoryLock? {
        FileContents.makeDirectories(directory)
        do {
            return StateDirectoryLock(try FileLock.acquire(path(in: directory)))
        } catch {
            switch error {
            case .inUse(let holder):
                throw Failure(
                    .unavailable,
                    """
                    \(holder) uses the state directory \(directory); stop that agent first (the service: sudo systemctl stop \
                    jostle), or give this one another directory: STATE_DIRECTORY=DIRECTORY jostle …
                    """)
            case .system(let failure):
                warn(
                    "cannot lock \(path(in: directory)): \(failure); nothing keeps a second agent out of this directory"
                )
                return nil
            }
        }
    }

    /// The agent that uses a directory; `nil` if none does, or if the directory cannot be read.
    package static func holder(of directory: String) -> ChipLock.Holder? {
        FileLock.holder(of: path(in: directory))
    }

    private static func path(in directory: String) -> String { "\(directory)/agent.lock" }
}

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
