/// Where the reference attitude, which is published as zero, comes from.
public enum ReferencePolicy: UInt8, CaseIterable, Sendable {
    /// There is none until somebody takes one.
    case none
    /// The attitude shortly after each start; cleared by stop.
    case start
    /// The one last taken, kept over restarts.
    case stored
}
