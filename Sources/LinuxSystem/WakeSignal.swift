internal import CLinuxSystem
internal import Glibc

/// A thread's alarm clock that others may ring: eventfd(2) and ppoll(2).
package final class WakeSignal: Sendable {
    /// Readable while somebody has rung: for who waits for other descriptors, too.
    package let descriptor: Int32

    /// Makes a signal that nobody has rung, or `nil` with errno set where the system has no descriptor left.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Wakes the waiting thread, or lets its next wait return at once. Never waits.
    package func ring() {
        var one: UInt64 = 1
        // The only failure is a counter at its end, and then the thread is woken anyway.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Waits until somebody rings or `seconds` have passed, and takes the ringing back; `nil` waits for a ring alone.
    package func wait(seconds: Double?) {
        if seconds.map({ $0 > 0 }) ?? true { _ = isRung(within: seconds) }
        silence()
    }

    /// Waits until somebody rings or `seconds` have passed, and leaves the ringing to others who wait.
    ///
    /// - Returns: whether somebody has rung; a signal's handler may end the wait before.
    package func isRung(within seconds: Double?) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard let seconds else { return ppoll(&poll, 1, nil, nil) > 0 }
        let limit = max(0, seconds)
        let whole = limit.rounded(.down)
        var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((limit - whole) * 1e9))
        return ppoll(&poll, 1, &timeout, nil) > 0
    }

    /// Takes the ringing back.
    package func silence() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
