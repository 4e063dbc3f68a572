internal import Glibc

/// Detects an oversized packet while it is still being received. libmosquitto reads and stores packets of any length,
/// whatever limit the broker was given.
///
/// The library does not report how much of a packet it has. The system does count the received and the unread bytes of
/// a connection.
struct PartialPacket {
    private let limit: UInt64
    /// The bytes that had been read when the last packet was complete.
    private var start: UInt64 = 0

    /// Detects packets of more than `limit` bytes.
    init(limit: Int) {
        // TLS adds less than an eighth, but reads ahead by a record of up to 16 KiB.
        self.limit = UInt64(limit + limit / 8 + 32_768)
    }

    /// Whether the packet that is still incomplete after a read is already too large.
    mutating func isTooLarge(afterReading isComplete: Bool, from socket: Int32) -> Bool {
        guard socket >= 0, let position = Self.bytesRead(from: socket) else { return false }
        if isComplete {
            start = position
            return false
        }
        return position > start + limit
    }

    /// The total bytes read from a TCP connection (TCP_INFO of tcp(7), since Linux 4.1, and FIONREAD); `nil` if the
    /// system does not report them.
    private static func bytesRead(from socket: Int32) -> UInt64? {
        // The offset of tcpi_bytes_received in struct tcp_info of linux/tcp.h. glibc's header declares only the
        // beginning of it.
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
