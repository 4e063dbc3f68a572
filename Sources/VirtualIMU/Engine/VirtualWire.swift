package import IMUDrivers
package import MotionCore
internal import Synchronization

/// A wire from a virtual chip's data-ready pin to a host. The host queues rising edges as Linux does: with the
/// timestamp of the interrupt, which comes slightly after the edge, in a queue of limited capacity.
package final class VirtualWire: Sendable {
    /// Flaws of a wire and its host.
    package struct Flaws: Equatable, Sendable {
        /// The shortest and the longest time from an edge to its interrupt, seconds.
        package var latency = 0.000_005...0.000_04
        /// One edge in this many, chosen at random, is delayed by up to `longestDelay` seconds; zero for none.
        package var lateEvery = 0
        package var longestDelay = 0.000_8
        /// One edge in this many is missed entirely; zero for none.
        package var missedEvery = 0
        /// After one edge in this many follows one that the chip did not raise; zero for none.
        package var spuriousEvery = 0
        /// Whether the wire is disconnected.
        package var isBroken = false

        /// Creates a wire without flaws, except for the latency.
        package init() {}
    }

    private struct State {
        var flaws: Flaws
        var random: RandomNumbers
        var number: UInt32 = 0
        var edges: [DataReadyEdge] = []
        var raised = 0
    }

    private let state: Mutex<State>
    private let capacity: Int

    /// The host queues up to `capacity` edges; the same seed gives the same flaws.
    package init(_ flaws: Flaws = Flaws(), capacity: Int = 1024, seed: UInt64 = 1) {
        state = Mutex(State(flaws: flaws, random: RandomNumbers(seed: seed)))
        self.capacity = capacity
    }

    /// Changes the flaws from now on.
    package func set(_ flaws: Flaws) { state.withLock { $0.flaws = flaws } }

    /// The number of edges that the chip has raised.
    package var raised: Int { state.withLock { $0.raised } }

    /// Raises the pin.
    func raise(at instant: Timestamp) {
        state.withLock { state in
            state.raised += 1
            let flaws = state.flaws
            guard !flaws.isBroken else { return }
            func isOne(in every: Int) -> Bool {
                every > 0 && state.random.next() % UInt64(every) == 0
            }
            let share = 0.5 + 0.5 * state.random.symmetric()
            var delay = flaws.latency.lowerBound + share * (flaws.latency.upperBound - flaws.latency.lowerBound)
            if isOne(in: flaws.lateEvery) { delay = share * flaws.longestDelay }
            if !isOne(in: flaws.missedEvery) { queue(instant.advanced(bySeconds: delay), &state) }
            if isOne(in: flaws.spuriousEvery) { queue(instant.advanced(bySeconds: delay + 0.000_9), &state) }
        }
    }

    private func queue(_ instant: Timestamp, _ state: inout State) {
        state.number &+= 1
        if state.edges.count == capacity { state.edges.removeFirst() }
        // A delayed interrupt is never later than the next one.
        let time = max(instant, state.edges.last?.time ?? instant)
        state.edges.append(DataReadyEdge(time: time, number: state.number))
    }

    fileprivate func take(until now: Timestamp, into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int {
        state.withLock { state in
            var taken = 0
            while taken < min(edges.count, state.edges.count), state.edges[taken].time <= now {
                edges[taken] = state.edges[taken]
                taken += 1
            }
            state.edges.removeFirst(taken)
            return taken
        }
    }
}

/// The host's end of a `VirtualWire`: drivers use it in place of a GPIO line.
package struct VirtualDataReadyLine<Clock: MonotonicClock>: DataReadyLine, ~Copyable {
    private let wire: VirtualWire
    private let clock: Clock

    /// Edges whose interrupt is still to come are not visible yet.
    package init(_ wire: VirtualWire, clock: Clock) {
        self.wire = wire
        self.clock = clock
    }

    package static var isWired: Bool { true }

    package mutating func takeEdges(into edges: UnsafeMutableBufferPointer<DataReadyEdge>) -> Int {
        wire.take(until: clock.now(), into: edges)
    }
}
