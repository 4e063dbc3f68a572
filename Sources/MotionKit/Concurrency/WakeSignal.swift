internal import CLinuxSystem
internal import Glibc
internal import MotionCore

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

    /// Waits until somebody rings or `seconds` have passed; `nil` waits for a ring alone.
    package func wait(seconds: Double?) {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        if let seconds {
            guard seconds > 0 else {
                silence()
                return
            }
            let whole = seconds.rounded(.down)
            var timeout = timespec(tv_sec: Int(whole), tv_nsec: Int((seconds - whole) * 1e9))
            _ = ppoll(&poll, 1, &timeout, nil)
        } else {
            _ = ppoll(&poll, 1, nil, nil)
        }
        silence()
    }

    /// Takes the ringing back.
    package func silence() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
