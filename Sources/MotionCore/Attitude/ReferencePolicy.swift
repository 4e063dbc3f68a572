/// Where the reference attitude, which is published as zero, comes from.
public enum ReferencePolicy: UInt8, CaseIterable, Sendable {
    /// No reference until a user takes one.
    case none
    /// The attitude shortly after each start. It is not kept when the source stops.
    case start
    /// The reference last taken, kept across restarts.
    case stored
}
