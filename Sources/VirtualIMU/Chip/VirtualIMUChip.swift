package import IMUDrivers
package import MotionCore
internal import Synchronization

/// A chip simulated at register level and moved along a trajectory. A driver cannot distinguish it from the real chip.
///
/// Every access first advances the chip to the instant of the access and takes the samples that its oscillator has made
/// due. The same seed and the same accesses at the same instants give the same bytes. The contents of a sample depend
/// on the seed and its index, not on the accesses (after a pause of seconds, up to rounding far below an LSB).
///
/// Safe to use from several threads: the driver's, and one that injects faults or reads the truth.
package final class VirtualIMUChip: VirtualChip {
    private struct State {
        var core: any SimulatedChip
        var faults: FaultSchedule
    }

    private let state: Mutex<State>
    private let trajectory: any Trajectory
    private let start: Timestamp

    /// The chip is powered at `start`, when its trajectory also begins.
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
        let failure = state.withLock { $0.faults.read(register, of: &$0.core, into: buffer, at: now) }
        if let failure { throw failure }
    }

    /// Writes registers from `register` on at the instant `now`, in one transaction.
    ///
    /// - Throws: the error of a fault, if there is one.
    package func write(_ register: UInt8, _ values: UInt8..., at now: Timestamp) throws(BusError) {
        if let failure = values.withUnsafeBufferPointer({ write(register, $0, at: now) }) { throw failure }
    }

    package func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        let failure = withUnsafePointer(to: value) {
            write(register, UnsafeBufferPointer(start: $0, count: 1), at: now)
        }
        if let failure { throw failure }
    }

    private func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>, at now: Timestamp) -> BusError? {
        state.withLock { $0.faults.write(register, of: &$0.core, values, at: now) }
    }

    /// Connects the data-ready pin to a wire.
    package func connect(_ wire: VirtualWire) { state.withLock { $0.core.engine.wire = wire } }

    /// Injects a fault from the instant `start` on, by default from the latest instant that the chip has reached.
    package func inject(
        _ condition: FaultCondition, from start: Timestamp? = nil, lasting extent: FaultExtent = .untilCleared
    ) {
        state.withLock { state in
            state.faults.add(condition, from: start ?? state.core.engine.now, lasting: extent)
        }
    }

    /// Injects an event at `instant`, by default at the latest instant that the chip has reached.
    package func inject(_ event: FaultEvent, at instant: Timestamp? = nil) {
        state.withLock { state in
            state.faults.add(event, at: instant ?? state.core.engine.now)
        }
    }

    /// Ends all faults, including scheduled ones. Their effects on the chip remain.
    package func clearFaults() {
        state.withLock { state in state.faults.clear(&state.core) }
    }

    /// Whether the devices on the chip's auxiliary bus are connected with the host's bus at the instant `now`.
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool {
        state.withLock { state in
            state.faults.advance(&state.core, to: now)
            return state.core.connectsAuxiliaryBus
        }
    }
}

// For tests: the truth, which drivers cannot see.
extension VirtualIMUChip {
    /// The true motion at an instant.
    package func truth(at instant: Timestamp) -> TrueMotion {
        trajectory.motion(at: instant.seconds(since: start))
    }

    /// The number of samples taken up to the latest access; the newest has this index minus one.
    package var sampleCount: UInt64 { state.withLock { $0.core.engine.nextIndex } }

    /// The true instant of the sample `index`; `nil` if it has not been taken yet, or if the rate has changed more than
    /// 64 times since.
    package func trueSampleTime(_ index: UInt64) -> Timestamp? {
        state.withLock { $0.core.engine.time(ofSample: index) }
    }

    /// Delay of the readings of slow movements behind `trueSampleTime` in the current configuration, s: the group
    /// delays of the low-passes.
    package var readingDelay: (accelerometer: Double, gyroscope: Double) {
        state.withLock { $0.core.engine.delay }
    }

    /// The chip's true temperature at the latest access, °C.
    package var temperature: Double { state.withLock { $0.core.engine.temperature } }
}
