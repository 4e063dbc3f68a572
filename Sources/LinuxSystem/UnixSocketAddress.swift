internal import Glibc

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

    /// Gives a socket this address, as bind(2) does.
    package func bind(_ descriptor: Int32) -> Int32 { withPointer { Glibc.bind(descriptor, $0, $1) } }

    /// Connects a socket to this address, as connect(2) does.
    package func connect(_ descriptor: Int32) -> Int32 { withPointer { Glibc.connect(descriptor, $0, $1) } }

    /// Sends a datagram to this address, as sendto(2) does.
    @discardableResult
    package func send(_ text: String, through descriptor: Int32, flags: Int32) -> Int {
        withPointer { sendto(descriptor, text, text.utf8.count, flags, $0, $1) }
    }

    private func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}
