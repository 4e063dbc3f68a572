public import LinuxSystem

/// Something that must last and is not on the disk yet.
public struct StateFault: Equatable, Sendable {
    public enum Reason: Equatable, Sendable {
        /// The last attempt failed; it is tried again.
        case failed(SystemFailure)
        /// The disk has not answered for more than a second.
        case stuck
    }

    /// The file; `nil` for jobs.
    public var path: String?
    public var reason: Reason

    /// Since when: the first attempt that failed, or the beginning of the one that is stuck.
    public var since: ContinuousClock.Instant
}

extension StateFault: CustomStringConvertible {
    public var description: String {
        let what = path ?? "the disk"
        return switch reason {
        case .failed(let failure): "\(what): cannot be written: \(failure)"
        case .stuck: "\(what): the disk does not answer"
        }
    }
}
