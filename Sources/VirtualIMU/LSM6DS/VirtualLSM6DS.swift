public import IMUDrivers
public import MotionCore
internal import Synchronization

/// An LSM6DS3, LSM6DS3TR-C or LSM6DSO at register level, moved along a trajectory: a driver cannot tell it from the chip.
///
/// As with `VirtualMPU6050`, the same seed and the same accesses at the same instants give the same bytes, and several
/// threads may use it. Not modelled: different rates of the two sensors, decimation, the embedded functions, self-test,
/// and the temperature in the FIFO.
public final class VirtualLSM6DS: VirtualChip {
    private struct State {
        var core: LSM6DSCore
        var faults: FaultSchedule
    }

    private let state: Mutex<State>
    private let trajectory: any Trajectory
    private let start: Timestamp

    /// Makes a chip that is powered at `start`, when its trajectory begins too.
    public init(
        _ model: LSM6DSModel, trajectory: any Trajectory, imperfections: Imperfections = .typical, seed: UInt64 = 1,
        start: Timestamp
    ) {
        self.trajectory = trajectory
        self.start = start
        state = Mutex(
            State(
                core: LSM6DSCore(
                    model, trajectory: trajectory, imperfections: imperfections, seed: seed, start: start),
                faults: FaultSchedule(seed: seed)))
    }

    public func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)
    {
        try transact(at: now) { state in
            state.core.read(register, into: buffer)
            state.faults.distort(buffer, isIdentity: register & 0x7F == LSM6DSAddress.identity, at: now)
        }
    }

    public func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        try transact(at: now) { state in state.core.write(value, to: register) }
    }

    /// Leads the data-ready pin somewhere.
    public func connect(_ wire: VirtualWire) { state.withLock { $0.core.wire = wire } }

    /// Brings about a fault from the instant `start` on, or from the latest that the chip has seen.
    public func inject(
        _ condition: FaultCondition, from start: Timestamp? = nil, lasting extent: FaultExtent = .untilCleared
    ) {
        state.withLock { state in
            state.faults.add(condition, from: start ?? state.core.now, lasting: extent)
        }
    }

    /// Lets an event happen at `instant`, or at the latest instant that the chip has seen.
    public func inject(_ event: FaultEvent, at instant: Timestamp? = nil) {
        state.withLock { state in
            state.faults.add(event, at: instant ?? state.core.now)
        }
    }

    /// Ends all faults, also those that were still to come; what they have done to the chip stays done.
    public func clearFaults() {
        state.withLock { state in
            state.faults.removeAll()
            state.core.isFrozen = false
            state.core.isStalled = false
        }
    }

    /// Does one transaction at the instant `now`.
    private func transact(at now: Timestamp, _ body: (inout State) -> Void) throws(BusError) {
        let failure: BusError? = state.withLock { state in
            let failure = state.faults.beginTransaction(with: &state.core, at: now)
            if failure == nil { body(&state) }
            state.faults.endTransaction(with: &state.core)
            return failure
        }
        if let failure { throw failure }
    }
}

// What a test wants to know and a driver never gets to know.
extension VirtualLSM6DS {
    /// The true motion at an instant.
    public func truth(at instant: Timestamp) -> TrueMotion {
        trajectory.motion(at: instant.seconds(since: start))
    }

    /// Samples taken up to the latest access; the newest has this index less one.
    public var sampleCount: UInt64 { state.withLock { $0.core.nextIndex } }

    /// The true instant of the sample `index`; `nil` where it is not taken yet, or so long ago that it is forgotten.
    public func trueSampleTime(_ index: UInt64) -> Timestamp? {
        state.withLock { $0.core.time(ofSample: index) }
    }

    /// Seconds by which the readings of slow movements come behind `trueSampleTime` in the present configuration.
    public var readingDelay: (accelerometer: Double, gyroscope: Double) {
        state.withLock { $0.core.model.delay }
    }

    /// The chip's true temperature at the latest access, °C.
    public var temperature: Double {
        state.withLock { $0.core.clock.temperature(at: $0.core.now) + $0.core.temperatureError }
    }
}
