internal import Glibc

/// What a descriptor is awaited for, or ready for.
package struct MQTTReadiness: OptionSet, Sendable {
    package var rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let readable = MQTTReadiness(rawValue: 1)
    package static let writable = MQTTReadiness(rawValue: 2)

    /// What `poll` or `epoll` reported (POLLIN, POLLOUT; an error or a hang-up is found by reading).
    package init(pollEvents: Int16) {
        self = []
        if pollEvents & Int16(POLLIN | POLLERR | POLLHUP) != 0 { insert(.readable) }
        if pollEvents & Int16(POLLOUT) != 0 { insert(.writable) }
    }

    /// What to ask `poll` or `epoll` for (POLLIN, POLLOUT).
    package var pollEvents: Int16 {
        (contains(.readable) ? Int16(POLLIN) : 0) | (contains(.writable) ? Int16(POLLOUT) : 0)
    }
}

/// A descriptor, and what it is awaited for.
package struct MQTTInterest: Equatable, Sendable {
    package var descriptor: Int32
    package var readiness: MQTTReadiness
}
