package import MotionCore

/// A chip's data-ready line as a driver sees it: a queue of rising edges, each with a timestamp.
///
/// A driver owns its line by value and is never woken by it: when a batch is due, it takes the edges queued so far. No
/// call blocks, allocates or fails. A line that cannot be read counts as silent.
package protocol DataReadyLine: ~Copyable {
    /// Whether a line is connected. A constant, so the compiler removes all edge handling from drivers without a line.
    static var isWired: Bool { get }

    /// Moves the oldest edges, up to the size of `edges`, out of the queue. Returns how many were moved.
    mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int
}

/// A rising edge of a data-ready line.
package struct DataReadyEdge: Equatable, Sendable, BitwiseCopyable {
    /// When it rose, on the driver's clock.
    package var time: Timestamp

    /// Sequence number, one more than the previous edge's. A gap means that the queue was full and edges were lost. It
    /// wraps.
    package var number: UInt32

    /// Creates an edge.
    @inlinable
    package init(time: Timestamp, number: UInt32) {
        self.time = time
        self.number = number
    }
}

/// No data-ready line: the chip's pin is not connected.
package struct NoDataReadyLine: DataReadyLine, BitwiseCopyable, Sendable {
    /// Creates the absent line.
    @inlinable
    package init() {}

    @inlinable
    package static var isWired: Bool { false }

    @inlinable
    package mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int { 0 }
}

/// State and counters of a data-ready line.
public struct DataReadyStatus: Equatable, Sendable, BitwiseCopyable {
    /// Where sample timestamps come from. Payloads have the names of the cases.
    public enum State: UInt8, Sendable, BitwiseCopyable {
        /// There is no line; timestamps come from the FIFO's count.
        case none
        /// The driver is still matching edges to samples; until then timestamps come from the FIFO's count.
        case seeking
        /// From the line's edges.
        case used
        /// The line is unusable; timestamps come from the FIFO's count. The driver tries the line again after a pause
        /// and after each FIFO reset.
        case unused
    }

    public var state = State.none

    /// Edges received, and edges known to be lost from gaps in the numbers.
    public var edges: UInt64 = 0
    public var lostEdges: UInt64 = 0

    /// Edges that were ignored because they did not arrive when their sample was due.
    public var outlierEdges: UInt64 = 0

    /// Samples timed by an edge.
    public var timedSamples: UInt64 = 0

    /// How often the driver gave the line up, and the latest reason.
    public var failures: UInt64 = 0
    public var lastFault: DataReadyFault?

    /// Creates the status of an absent line.
    @inlinable
    public init() {}
}

/// Why a data-ready line is unusable. Payloads have the names of the cases.
public enum DataReadyFault: UInt8, Error, Sendable, BitwiseCopyable {
    /// Samples arrive but edges do not.
    case silent
    /// Edges arrive but do not fit the samples.
    case mismatched
    /// The chip's pin cannot signal each new sample.
    case unsupported
}

/// When a chip's data-ready pin pulses.
package enum DataReadyPulse: UInt8, Sendable, BitwiseCopyable {
    /// With every sample.
    case everySample
    /// With the first sample after the FIFO was emptied. The pin stays high while the FIFO holds data.
    case whenFilled
    /// Never: the pin can rise, but reading the FIFO does not make it fall again.
    case never
}
