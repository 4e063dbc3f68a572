internal import Glibc

/// The last moments of a connection: the DISCONNECT is written, and the broker's end of the connection awaited.
///
/// The library closes its socket once the DISCONNECT is written; if something unread has come by then, the system resets
/// the connection, and the broker may never see it. A second descriptor keeps the socket open.
struct OrderlyEnd {
    typealias Instant = ContinuousClock.Instant

    private final class Descriptor {
        let number: Int32

        init(_ number: Int32) {
            self.number = number
        }

        deinit {
            close(number)
        }
    }

    private let descriptor: Descriptor
    private var isWritten = false

    /// Whether the broker has closed the connection, or the time is up.
    private(set) var isOver = false

    /// How long the broker is given.
    let deadline: Instant

    /// Begins with a socket of the library's; `nil` if no descriptor is left.
    init?(socket: Int32, now: Instant) {
        // Beyond exec it would keep the connection open.
        let number = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        if number < 0 { return nil }
        descriptor = Descriptor(number)
        deadline = now + .milliseconds(150)
    }

    /// What is awaited.
    var interest: MQTTInterest {
        MQTTInterest(descriptor: descriptor.number, readiness: isWritten ? .readable : .writable)
    }

    /// The library has written its DISCONNECT and closed its socket.
    mutating func disconnectIsWritten() {
        isWritten = true
        shutdown(descriptor.number, Int32(SHUT_WR))
    }

    /// Reads and drops what has come.
    mutating func step(now: Instant) {
        if now >= deadline { isOver = true }
        guard isWritten, !isOver else { return }
        isOver = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // As much as one message at most; the descriptor stays readable if there is more.
            for _ in 0..<16 {
                let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count == 0 { return true }
                if count < 0 { return errno != EAGAIN && errno != EINTR }
            }
            return false
        }
    }
}
