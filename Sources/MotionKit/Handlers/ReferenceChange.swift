public import MotionCore

/// The reference attitude was taken or cleared.
public struct ReferenceChange: Equatable, Sendable, BitwiseCopyable {
    /// The reference, which reads zero from now on; `nil` if it was cleared.
    public var attitude: Quaternion?

    /// How it came about.
    public var origin: ReferenceOrigin

    /// Whether the policy is `.stored`: the reference is then kept in the state directory.
    public var isStored: Bool
}

/// Why the reference attitude cannot be changed.
public enum ReferenceError: Error, Equatable, Sendable {
    /// The manager is not running: there is no attitude to take.
    case notRunning
    /// The policy is `.stored`, and the manager was created without a state directory.
    case noStateDirectory
}

extension ReferenceError: CustomStringConvertible {
    /// What is wrong, and what to do about it.
    public var description: String {
        switch self {
        case .notRunning: "the reference attitude cannot be changed: the manager is not running; call start() first"
        case .noStateDirectory:
            "the reference attitude cannot be stored: pass a stateDirectory to MotionManager, or use another policy"
        }
    }
}
