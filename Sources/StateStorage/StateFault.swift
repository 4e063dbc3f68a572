package import LinuxSystem

/// A write that has not reached the disk.
package struct StateFault: Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The last attempt failed and will be retried.
        case failed(SystemFailure)
        /// The disk has not answered for more than a second.
        case stuck
    }

    /// The file; `nil` for a job.
    package var path: String?
    package var reason: Reason

    /// The time of the first failed attempt, or the start of the attempt that is stuck.
    package var since: ContinuousClock.Instant
}

extension StateFault: CustomStringConvertible {
    package var description: String {
        let what = path ?? "the disk"
        return switch reason {
        case .failed(let failure): "\(what): cannot be written: \(failure)"
        case .stuck: "\(what): the disk does not answer"
        }
    }
}
