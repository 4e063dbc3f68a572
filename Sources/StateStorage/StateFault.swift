package import LinuxSystem

/// Something that must last and is not on the disk yet.
package struct StateFault: Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The last attempt failed; it is tried again.
        case failed(SystemFailure)
        /// The disk has not answered for more than a second.
        case stuck
    }

    /// The file; `nil` for jobs.
    package var path: String?
    package var reason: Reason

    /// Since when: the first attempt that failed, or the beginning of the one that is stuck.
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
