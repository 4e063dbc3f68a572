internal import Glibc

/// The I/O readiness of a descriptor, awaited or reported.
package struct MQTTReadiness: OptionSet, Sendable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = MQTTReadiness(rawValue: 1)
    package static let writable = MQTTReadiness(rawValue: 2)

    /// The readiness that `poll` or `epoll` reported (POLLIN, POLLOUT). An error or a hang-up counts as readable,
    /// because reading detects it.
    package init(pollEvents: Int16) {
        self = []
        if pollEvents & Int16(POLLIN | POLLERR | POLLHUP) != 0 { insert(.readable) }
        if pollEvents & Int16(POLLOUT) != 0 { insert(.writable) }
    }

    /// The events to request from `poll` or `epoll` (POLLIN, POLLOUT).
    package var pollEvents: Int16 {
        (contains(.readable) ? Int16(POLLIN) : 0) | (contains(.writable) ? Int16(POLLOUT) : 0)
    }
}

/// A descriptor and the readiness to wait for.
package struct MQTTInterest: Equatable, Sendable {
    package var descriptor: Int32
    package var readiness: MQTTReadiness
}

extension Duration {
    /// As a timeout for `poll`: whole milliseconds, rounded up, at least zero and at most an hour.
    var pollMilliseconds: Int32 {
        let clamped = min(max(self, .zero), .seconds(3600))
        let (seconds, attoseconds) = clamped.components
        return Int32(seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    /// Whole seconds, rounded down and clamped to 32 bits.
    var wholeSeconds: UInt32 { UInt32(clamping: components.seconds) }
}
