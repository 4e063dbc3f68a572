internal import CLinuxSystem
internal import Glibc
internal import LinuxSystem
internal import MosquittoClient

/// Waits for the sockets of many members: epoll(7). Used on one thread.
final class SwarmPoller {
    /// Events taken at once.
    private static let batch = 256

    private let descriptor: Int32
    /// What is registered for each member.
    private var interests: [MQTTInterest?] = []
    private var buffer = [epoll_event](repeating: epoll_event(), count: SwarmPoller.batch)

    /// Waits for `wake` too; `nil`, with errno set, if the system has no descriptors left.
    init?(wake: WakeSignal) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.u64 = .max
        epoll_ctl(descriptor, EPOLL_CTL_ADD, wake.descriptor, &event)
    }

    deinit { close(descriptor) }

    /// Registers what a member waits for; `nil` for nothing.
    ///
    /// A descriptor that was closed has left epoll by itself, and its number may belong to another member of another
    /// poller. So the failure to change or to remove it is no error.
    func set(_ interest: MQTTInterest?, of member: Int) {
        while interests.count <= member { interests.append(nil) }
        let old = interests[member]
        guard interest != old else { return }
        interests[member] = interest
        var event = epoll_event()
        if let old, old.descriptor != interest?.descriptor {
            epoll_ctl(descriptor, EPOLL_CTL_DEL, old.descriptor, &event)
        }
        guard let interest else { return }
        event.events =
            (interest.readiness.contains(.readable) ? EPOLLIN.rawValue : 0)
            | (interest.readiness.contains(.writable) ? EPOLLOUT.rawValue : 0)
        event.data.u64 = UInt64(member)
        if epoll_ctl(descriptor, EPOLL_CTL_MOD, interest.descriptor, &event) != 0 {
            epoll_ctl(descriptor, EPOLL_CTL_ADD, interest.descriptor, &event)
        }
    }

    /// Waits until a member or the wake signal is ready, at most `seconds`; `nil` waits without a limit.
    ///
    /// - Returns: the members that are ready.
    func wait(seconds: Double?) -> [(member: Int, readiness: MQTTReadiness)] {
        // Rounded up: a wait that ends before the deadline would be repeated.
        let limit = seconds.map { Int32(min(max(0, $0) * 1000, 1e6).rounded(.up)) } ?? -1
        let count = epoll_wait(descriptor, &buffer, Int32(buffer.count), limit)
        return buffer.prefix(Int(max(0, count))).compactMap { event in
            guard event.data.u64 != .max else { return nil }
            var readiness: MQTTReadiness = []
            if event.events & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 {
                readiness.insert(.readable)
            }
            if event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
            return (Int(event.data.u64), readiness)
        }
    }
}
