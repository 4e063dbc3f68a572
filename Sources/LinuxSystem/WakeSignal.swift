internal import CLinuxSystem
internal import Glibc

/// A signal with which other threads wake a waiting thread: eventfd(2) and ppoll(2).
package final class WakeSignal: Sendable {
    /// Readable while the signal is set, for a thread that also waits for other descriptors.
    package let descriptor: Int32

    /// Creates a signal that is not set; `nil`, with errno set, if the system has no descriptors left.
    package init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        if descriptor < 0 { return nil }
    }

    deinit {
        close(descriptor)
    }

    /// Sets the signal. This wakes the waiting thread, or makes its next wait return immediately. Never blocks.
    package func signal() {
        var one: UInt64 = 1
        // The only possible failure is a counter at its maximum, which wakes the thread too.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Waits until the signal is set or `seconds` have passed, and clears the signal. With `nil` there is no timeout.
    package func wait(seconds: Double?) {
        let mayWait = seconds.map { $0 > 0 } ?? true
        if !mayWait || isSignalled(within: seconds) { clear() }
    }

    /// Waits until the signal is set or `seconds` have passed, and leaves it set for other waiting threads.
    ///
    /// - Returns: whether the signal is set. A signal handler may end the wait early.
    package func isSignalled(within seconds: Double?) -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return LinuxSystem.wait(for: &poll, 1, within: seconds) > 0
    }

    /// Clears the signal.
    package func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}

/// Waits until one of some descriptors is ready, at most `seconds`; `nil` waits without a limit: ppoll(2).
func wait(for entries: UnsafeMutablePointer<pollfd>?, _ count: Int, within seconds: Double?) -> Int32 {
    guard let seconds else { return ppoll(entries, nfds_t(count), nil, nil) }
    let limit = min(max(0, seconds), 1e6)
    let whole = limit.rounded(.down)
    var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((limit - whole) * 1e9))
    return ppoll(entries, nfds_t(count), &timeout, nil)
}
