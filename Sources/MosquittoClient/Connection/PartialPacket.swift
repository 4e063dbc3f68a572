internal import Glibc

/// Notices a packet that is larger than the client takes while it still comes: libmosquitto reads and keeps any length,
/// whatever limit the broker was given.
///
/// The library does not say how much of a packet it has; the system counts what a connection received and what is unread.
struct PartialPacket {
    private let limit: UInt64
    /// What had been read when the last whole packet was.
    private var start: UInt64 = 0

    /// Watches for packets of more than `limit` bytes.
    init(limit: Int) {
        // TLS adds less than an eighth, but reads a record of up to 16 KiB ahead.
        self.limit = UInt64(limit + limit / 8 + 32_768)
    }

    /// Whether the packet that is incomplete after a read is too large by now.
    mutating func isTooLarge(afterReading isComplete: Bool, from socket: Int32) -> Bool {
        guard socket >= 0, let position = Self.bytesRead(from: socket) else { return false }
        if isComplete {
            start = position
            return false
        }
        return position > start + limit
    }

    /// What was read from a TCP connection in all (TCP_INFO of tcp(7), since Linux 4.1, and FIONREAD); `nil` if the system
    /// does not say.
    private static func bytesRead(from socket: Int32) -> UInt64? {
        // The place of tcpi_bytes_received in struct tcp_info of linux/tcp.h, of which glibc's header has the beginning.
        let offset = 128
        var size = socklen_t(offset + MemoryLayout<UInt64>.size)
        var unread: Int32 = 0
        guard ioctl(socket, UInt(FIONREAD), &unread) == 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: Int(size), alignment: 8) { buffer in
            guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, buffer.baseAddress, &size) == 0,
                Int(size) >= offset + MemoryLayout<UInt64>.size
            else { return nil }
            let received = buffer.load(fromByteOffset: offset, as: UInt64.self)
            return received - min(received, UInt64(clamping: unread))
        }
    }
}
