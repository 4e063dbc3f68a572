internal import Glibc

/// A graceful disconnect: the DISCONNECT is written, and the broker is given time to close the connection.
///
/// The library closes its socket after writing the DISCONNECT. If unread data has arrived by then, the system resets
/// the connection and the broker may never receive the DISCONNECT. A duplicate descriptor keeps the socket open.
struct GracefulDisconnect {
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

    /// Whether the broker has closed the connection or the deadline has passed.
    private(set) var isOver = false

    /// How long the broker may take.
    let deadline: Instant

    /// Duplicates the library's socket; `nil` if there are no descriptors left.
    init?(socket: Int32, now: Instant) {
        // Closed on exec, because a child process would keep the connection open.
        let number = fcntl(socket, F_DUPFD_CLOEXEC, 0)
        if number < 0 { return nil }
        descriptor = Descriptor(number)
        deadline = now + .milliseconds(150)
    }

    /// The descriptor and the readiness to wait for.
    var interest: MQTTInterest {
        MQTTInterest(descriptor: descriptor.number, readiness: isWritten ? .readable : .writable)
    }

    /// The library has written its DISCONNECT and closed its socket.
    mutating func disconnectIsWritten() {
        isWritten = true
        shutdown(descriptor.number, Int32(SHUT_WR))
    }

    /// Reads and discards received data.
    mutating func step(now: Instant) {
        if now >= deadline { isOver = true }
        guard isWritten, !isOver else { return }
        isOver = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            // Bounded, so that other clients get their turn; the descriptor stays readable if there is more.
            for _ in 0..<16 {
                let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                if count == 0 { return true }
                if count < 0 { return errno != EAGAIN && errno != EINTR }
            }
            return false
        }
    }
}
