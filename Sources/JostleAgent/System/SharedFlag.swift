internal import Synchronization

/// Something that happened on one thread and is looked after on another.
final class SharedFlag: Sendable {
    private let value = Atomic<Bool>(false)

    /// It happened.
    func raise() { value.store(true, ordering: .releasing) }

    /// Whether it happened since this was last asked.
    func take() -> Bool { value.exchange(false, ordering: .acquiringAndReleasing) }
}
