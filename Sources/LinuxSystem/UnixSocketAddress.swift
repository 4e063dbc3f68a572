package import Glibc

/// The address of a Unix socket: a path, or an abstract name, which leaves no file behind.
package struct UnixSocketAddress: Sendable {
    private var storage = sockaddr_un()
    private let length: socklen_t

    /// The address as programs are given it: a path, or an abstract name behind `@`; `nil` if it is empty or has more than
    /// 107 bytes.
    package init?(_ text: String) {
        var path = Array(text.utf8)
        guard !path.isEmpty, path.count < MemoryLayout.size(ofValue: storage.sun_path) else { return nil }
        // An abstract name begins with a zero byte, and extends to the given length, not to the next zero.
        if path[0] == UInt8(ascii: "@") { path[0] = 0 }
        storage.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &storage.sun_path) { $0.copyBytes(from: path) }
        length = socklen_t(MemoryLayout<sa_family_t>.size + path.count)
    }

    /// Calls `body` with the address for `bind`, `connect` or `sendto`.
    package func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
