import BrokerTestSupport
import Foundation
import LinuxSystem
import Testing

/// The service manager's end of sd_notify(3).
final class NotifySocket {
    let path: String
    private let descriptor: Int32

    init(in directory: TemporaryDirectory) throws {
        path = directory.path("n")
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        try #require(UnixSocketAddress(path)?.bind(descriptor) == 0, "\(path)")
    }

    deinit {
        close(descriptor)
    }

    /// Waits for a message.
    func receives(_ text: String) async -> Bool { await receives { $0 == text } }

    /// Waits for a message that satisfies a condition.
    func receives(_ condition: (String) -> Bool) async -> Bool {
        await eventually {
            var buffer = [UInt8](repeating: 0, count: 256)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            return count > 0 && condition(String(decoding: buffer.prefix(count), as: UTF8.self))
        }
    }

    /// Discards the messages received so far.
    func drain() {
        var buffer = [UInt8](repeating: 0, count: 256)
        while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
    }
}
