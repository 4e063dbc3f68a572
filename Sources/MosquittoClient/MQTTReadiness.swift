internal import Glibc

/// What a descriptor is awaited for, or ready for.
public struct MQTTReadiness: OptionSet, Sendable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let readable = MQTTReadiness(rawValue: 1)
    public static let writable = MQTTReadiness(rawValue: 2)

    /// What `poll` or `epoll` reported (POLLIN, POLLOUT; an error or a hang-up is found by reading).
    public init(pollEvents: Int16) {
        self = []
        if pollEvents & Int16(POLLIN | POLLERR | POLLHUP) != 0 { insert(.readable) }
        if pollEvents & Int16(POLLOUT) != 0 { insert(.writable) }
    }

    /// What to ask `poll` or `epoll` for (POLLIN, POLLOUT).
    public var pollEvents: Int16 {
        (contains(.readable) ? Int16(POLLIN) : 0) | (contains(.writable) ? Int16(POLLOUT) : 0)
    }
}

/// A descriptor, and what it is awaited for.
public struct MQTTInterest: Equatable, Sendable {
    public var descriptor: Int32
    public var readiness: MQTTReadiness
}
