internal import CLinuxSystem
internal import Glibc

/// Wakes the main thread out of its wait for signals: eventfd(2).
final class Bell: Sendable {
    let descriptor: Int32

    /// Makes a bell that nobody has rung, or `nil` with errno set where the system has no descriptor left.
    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Ends the wait that is under way, or the next one at once. Never waits; for any thread.
    func ring() {
        var one: UInt64 = 1
        // The only failure is a counter at its end, and then the wait ends anyway.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes the ringing back.
    func silence() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
