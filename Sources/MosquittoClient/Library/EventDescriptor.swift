internal import CMosquitto
internal import Glibc

/// An eventfd: one thread signals, another waits for it in `poll` together with its sockets.
///
/// A class, since both threads hold it; a noncopyable member of their common object also crashes Swift 6.0.3.
final class EventDescriptor: Sendable {
    let descriptor: Int32

    /// Opens one that is not signalled (`eventfd`).
    init() throws(MQTTError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw .system("eventfd", code: errno) }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Wakes whoever waits, now or later; never blocks.
    func signal() {
        var one: UInt64 = 1
        // It can only fail where the counter is full, that is, where it is signalled already.
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Takes the signal back.
    func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Waits for the signal; false where `deadline` came first.
    func wait(until deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            if poll(&entry, 1, left.pollMilliseconds) > 0 { return true }
            if left <= .zero { return false }
        }
    }
}

extension Duration {
    /// As an argument of `poll`: whole milliseconds, rounded up, not negative and at most an hour.
    var pollMilliseconds: Int32 {
        let clamped = min(max(self, .zero), .seconds(3600))
        let (seconds, attoseconds) = clamped.components
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Whole seconds, rounded down, as far as an unsigned 32-bit number goes.
    var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
