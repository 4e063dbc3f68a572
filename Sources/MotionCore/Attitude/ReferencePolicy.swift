/// Where the reference attitude, which is published as zero, comes from.
public enum ReferencePolicy: UInt8, CaseIterable, Sendable {
    /// There is none until somebody takes one.
    case none
    /// The attitude at the first rest after each start: the gyroscope's bias is known then, and the board reads zero. If it
    /// does not rest within 30 s, the attitude at that time. Until then there is none.
    case start
    /// The one last taken, kept over restarts.
    case stored
}

/// How a reference attitude came about.
public enum ReferenceOrigin: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// There is none.
    case none
    /// A caller took this very attitude, now or in an earlier run.
    case request
    /// The policy `.start` took it at the first rest.
    case rest
    /// The policy `.start` took it because the body had not rested for 30 s: it may be off by some degrees.
    case deadline
}
