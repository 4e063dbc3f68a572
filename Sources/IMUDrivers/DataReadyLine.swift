package import MotionCore

/// The wire from a chip's data-ready pin, as a driver sees it: a queue of rising edges, each with its instant.
///
/// A driver owns its line by value and is never woken by it: when a batch is due it takes the edges that have queued up.
/// No call waits, allocates or fails; a line that cannot be read is a silent one.
package protocol DataReadyLine: ~Copyable {
    /// Whether there is a wire: a constant, so that nothing is left of the work for one where there is none.
    static var isWired: Bool { get }

    /// Takes the oldest edges out of the queue, as many as `edges` has room for; returns how many there were.
    mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int
}

/// A rising edge of a data-ready line.
package struct DataReadyEdge: Equatable, Sendable, BitwiseCopyable {
    /// When it rose, on the clock of the driver.
    package var time: Timestamp

    /// Its number, one more than that of the edge before: a gap tells of edges that the queue had no room for. It wraps.
    package var number: UInt32

    /// Makes an edge.
    @inlinable
    package init(time: Timestamp, number: UInt32) {
        self.time = time
        self.number = number
    }
}

/// The line of a chip whose data-ready pin leads nowhere.
package struct NoDataReadyLine: DataReadyLine, BitwiseCopyable, Sendable {
    /// Makes no line.
    @inlinable
    package init() {}

    @inlinable
    package static var isWired: Bool { false }

    @inlinable
    package mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int { 0 }
}

/// What becomes of a data-ready line.
public struct DataReadyStatus: Equatable, Sendable, BitwiseCopyable {
    /// Where samples' instants come from.
    public enum State: UInt8, Sendable, BitwiseCopyable {
        /// There is no line: from the FIFO's count.
        case none
        /// It is being found out which edge belongs to which sample: from the FIFO's count until then.
        case seeking
        /// From the line's edges.
        case used
        /// From the FIFO's count, since the line is of no use; it is tried again after a pause and after a FIFO reset.
        case unused
    }

    public var state = State.none

    /// Edges that came, and those of which only a gap in the numbers tells.
    public var edges: UInt64 = 0
    public var lostEdges: UInt64 = 0

    /// Edges that did not come when their sample was due, and were not believed.
    public var oddEdges: UInt64 = 0

    /// Samples that have the instant of an edge.
    public var timedSamples: UInt64 = 0

    /// Times that the line was given up, and why the last time.
    public var failures: UInt64 = 0
    public var lastFault: DataReadyFault?

    /// Makes the status of no line.
    @inlinable
    public init() {}
}

/// Why a data-ready line is of no use.
public enum DataReadyFault: UInt8, Error, Sendable, BitwiseCopyable {
    /// Samples come and edges do not.
    case silent
    /// Edges come that do not fit the samples.
    case mismatched
    /// The chip's pin cannot tell when a sample is there.
    case unsupported
}

/// When a data-ready line pulses.
package enum DataReadyPulse: UInt8, Sendable, BitwiseCopyable {
    /// With every sample.
    case everySample
    /// With the first sample since the FIFO was read empty: the pin stays high while there is something in it.
    case whenFilled
    /// Never: the pin can be made to rise, but nothing that a reader of the FIFO does lets it fall again.
    case never
}
