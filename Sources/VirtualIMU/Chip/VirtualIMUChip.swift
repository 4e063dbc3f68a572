package import IMUDrivers
package import MotionCore
internal import Synchronization

/// A chip at register level, moved along a trajectory: a driver cannot tell it from the chip.
///
/// At every access it is brought up to the instant of that access and takes the samples that its own oscillator made due.
/// The same seed and the same accesses at the same instants give the same bytes; what a sample holds depends on the seed
/// and its index, not on the accesses (after a pause of seconds, to rounding far below an LSB).
///
/// Safe to use from several threads: the driver's, and one that brings about faults or asks for the truth.
package final class VirtualIMUChip: VirtualChip {
    private struct State {
        var core: any SimulatedChip
        var faults: FaultSchedule
    }

    private let state: Mutex<State>
    private let trajectory: any Trajectory
    private let start: Timestamp

    /// Makes a chip that is powered at `start`, when its trajectory begins too.
    package init(
        _ part: VirtualPart = .mpu6050, trajectory: any Trajectory, imperfections: Imperfections = .typical,
        seed: UInt64 = 1, start: Timestamp
    ) {
        self.trajectory = trajectory
        self.start = start
        let engine = SensorEngine(
            trajectory: trajectory, imperfections: imperfections, seed: seed, start: start)
        state = Mutex(State(core: part.core(engine), faults: FaultSchedule(seed: seed)))
    }

    package func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)
    {
        try transact(at: now) { state in
            state.core.read(register, into: buffer)
            // A burst that begins elsewhere is not taken for one that asks who is there.
            let isIdentity = register & 0x7F == state.core.identityRegister
            state.faults.distort(buffer, isIdentity: isIdentity, at: now)
        }
    }

    /// Writes registers beginning with `register` at the instant `now`, in one transaction.
    ///
    /// - Throws: what a fault makes of it.
    package func write(_ register: UInt8, _ values: UInt8..., at now: Timestamp) throws(BusError) {
        try transact(at: now) { state in
            values.withUnsafeBufferPointer { state.core.write(register, $0) }
        }
    }

    package func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        try transact(at: now) { state in
            withUnsafePointer(to: value) {
                state.core.write(register, UnsafeBufferPointer(start: $0, count: 1))
            }
        }
    }

    /// Leads the data-ready pin somewhere.
    package func connect(_ wire: VirtualWire) { state.withLock { $0.core.engine.wire = wire } }

    /// Brings about a fault from the instant `start` on, or from the latest that the chip has seen.
    package func inject(
        _ condition: FaultCondition, from start: Timestamp? = nil, lasting extent: FaultExtent = .untilCleared
    ) {
        state.withLock { state in
            state.faults.add(condition, from: start ?? state.core.engine.now, lasting: extent)
        }
    }

    /// Lets an event happen at `instant`, or at the latest instant that the chip has seen.
    package func inject(_ event: FaultEvent, at instant: Timestamp? = nil) {
        state.withLock { state in
            state.faults.add(event, at: instant ?? state.core.engine.now)
        }
    }

    /// Ends all faults, also those that were still to come; what they have done to the chip stays done.
    package func clearFaults() {
        state.withLock { state in
            state.faults.removeAll()
            state.core.engine.isFrozen = false
            state.core.engine.isStalled = false
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

/// The names of old of chips that had shells of their own.
package typealias VirtualMPU6050 = VirtualIMUChip
package typealias VirtualLSM6DS = VirtualIMUChip

// What a test wants to know and a driver never gets to know.
extension VirtualIMUChip {
    /// The true motion at an instant.
    package func truth(at instant: Timestamp) -> TrueMotion {
        trajectory.motion(at: instant.seconds(since: start))
    }

    /// Samples taken up to the latest access; the newest has this index less one.
    package var sampleCount: UInt64 { state.withLock { $0.core.engine.nextIndex } }

    /// The true instant of the sample `index`; `nil` where it is not taken yet, or so long ago that it is forgotten
    /// (64 changes of the rate).
    package func trueSampleTime(_ index: UInt64) -> Timestamp? {
        state.withLock { $0.core.engine.time(ofSample: index) }
    }

    /// Seconds by which the readings of slow movements come behind `trueSampleTime` in the present configuration: the
    /// group delays of the low-pass.
    package var readingDelay: (accelerometer: Double, gyroscope: Double) {
        state.withLock { $0.core.engine.delay }
    }

    /// The chip's true temperature at the latest access, °C.
    package var temperature: Double { state.withLock { $0.core.engine.temperature } }
}
