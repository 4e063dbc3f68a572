internal import JostleMessages
internal import LinuxSystem
internal import Synchronization

/// What a `TopicMemory` holds: read once, and written where it changes.
final class RememberedTopics: Sendable {
    private let memory: TopicMemory
    private let complaint: String
    private let log: Log
    /// What the file has, or should have.
    private let kept: Mutex<Set<String>>

    /// Reads what is remembered; `complaint` says what it means that it cannot be written.
    init(_ memory: TopicMemory, complaint: String, log: Log) {
        self.memory = memory
        self.complaint = complaint
        self.log = log
        kept = Mutex(memory.load())
    }

    var topics: Set<String> { kept.withLock { $0 } }

    /// Remembers these topics and no others.
    func keep(_ topics: Set<String>) {
        let isNews = kept.withLock { kept in
            defer { kept = topics }
            return kept != topics
        }
        // Where it cannot be written it is not tried each time: only what changes is.
        guard isNews else { return }
        let code = memory.save(topics)
        if code != 0 { log.warning("\(complaint): \(systemMessage(code))") }
    }
}
