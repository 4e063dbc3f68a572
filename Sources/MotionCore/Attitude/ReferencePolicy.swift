/// Where the reference attitude, which is published as zero, comes from.
public enum ReferencePolicy: UInt8, CaseIterable, Sendable {
    /// No reference until a user takes one.
    case none
    /// The attitude at the first rest after each start: the gyroscope's bias is known then, and the board reads zero. If it
    /// does not rest within 30 s, the attitude at that time. Until then there is none.
    case start
    /// The reference last taken, kept across restarts.
    case stored
}

/// How a reference attitude came about.
public enum ReferenceOrigin: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// There is none.
    case none
    /// A user took it, in this run or an earlier one.
    case request
    /// The policy `.start` took it at the first rest.
    case rest
    /// The policy `.start` took it because the body had not rested for 30 s. It may be off by some degrees.
    case deadline
}
