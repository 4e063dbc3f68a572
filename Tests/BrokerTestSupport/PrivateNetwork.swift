import Foundation
import Synchronization

/// A network of its own for one thread and the threads that it starts: a network namespace (unshare(2)) that has only a
/// loopback interface, which is down. Needs the permissions of root.
package enum PrivateNetwork {
    /// Whether this process may create one.
    package static let isAvailable: Bool = {
        let result = Mutex(false)
        run { result.withLock { $0 = true } }
        return result.withLock { $0 }
    }()

    /// Runs `body` on a thread in a new namespace, and waits for its end. Does nothing if that is not permitted.
    package static func run(_ body: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        let thread = Thread {
            // CLONE_NEWNET of sched.h.
            if unshare(0x4000_0000) { body() }
            isDone.signal()
        }
        thread.start()
        isDone.wait()
    }

    /// Switches the loopback interface of the calling thread's network on or off (SIOCSIFFLAGS of netdevice(7)).
    ///
    /// - Returns: whether that succeeded.
    package static func setLoopback(isUp: Bool) -> Bool {
        let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        // struct ifreq: the name, then the flags; IFF_UP is 1.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<2, with: Array("lo".utf8))
        request[16] = isUp ? 1 : 0
        return ioctl(socket, 0x8914, &request) == 0
    }
}
