package import IMUDrivers
package import MotionCore
internal import Synchronization

/// A magnetometer that can be simulated.
package enum VirtualMagnetometerPart: String, CaseIterable, Sendable {
    case ak8963, ak09916, lsm9ds1

    fileprivate func registers(_ imperfections: MagnetometerImperfections) -> any VirtualMagnetometerRegisters {
        switch self {
        case .ak8963: VirtualAK8963Registers(sensitivityCodes: imperfections.sensitivityCodes)
        case .ak09916: VirtualAK09916Registers()
        case .lsm9ds1: VirtualLSM9DS1MagnetometerRegisters()
        }
    }
}

/// A magnetometer simulated at register level and turned along a trajectory. A driver cannot distinguish it from the real
/// chip. A `VirtualBus` is its bus.
///
/// The same seed and the same accesses at the same instants give the same bytes. Safe to use from several threads.
package final class VirtualMagnetometer: VirtualChip {
    private struct State {
        var core: Core
        var faults: FaultSchedule
        /// The motion chip whose auxiliary bus the magnetometer is on; `nil` if it is on the host's.
        var host: VirtualIMUChip?

        /// Whether the bus leads to the magnetometer at the instant `now`.
        func isReachable(at now: Timestamp) -> Bool { host.map { $0.connectsAuxiliaryBus(at: now) } ?? true }
    }

    private let state: Mutex<State>

    /// The chip is powered at `start`, when its trajectory also begins.
    package init(
        _ part: VirtualMagnetometerPart, trajectory: any Trajectory,
        surroundings: MagneticSurroundings = MagneticSurroundings(),
        imperfections: MagnetometerImperfections = .typical, seed: UInt64 = 1, start: Timestamp
    ) {
        let engine = MagnetometerEngine(
            trajectory: trajectory, surroundings: surroundings, imperfections: imperfections, seed: seed, start: start)
        let core = Core(part.registers(imperfections), engine)
        state = Mutex(State(core: core, faults: FaultSchedule(seed: seed), host: nil))
    }

    /// Connects the magnetometer with the auxiliary bus of a motion chip. From now on it answers only while that chip
    /// connects the bus with the host's.
    package func connect(behind host: VirtualIMUChip) { state.withLock { $0.host = host } }

    package func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)
    {
        let failure = state.withLock { state in
            let isReachable = state.isReachable(at: now)
            return state.faults.read(register, of: &state.core, into: buffer, at: now, isReachable: isReachable)
        }
        if let failure { throw failure }
    }

    package func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        let failure = withUnsafePointer(to: value) { value in
            state.withLock { state in
                let isReachable = state.isReachable(at: now)
                let values = UnsafeBufferPointer(start: value, count: 1)
                return state.faults.write(register, of: &state.core, values, at: now, isReachable: isReachable)
            }
        }
        if let failure { throw failure }
    }

    /// Injects a fault from the instant `start` on, by default from the latest instant that the chip has reached.
    package func inject(
        _ condition: FaultCondition, from start: Timestamp? = nil, lasting extent: FaultExtent = .untilCleared
    ) {
        state.withLock { state in
            state.faults.add(condition, from: start ?? state.core.now, lasting: extent)
        }
    }

    /// Injects an event at `instant`, by default at the latest instant that the chip has reached. Those of a FIFO and of a
    /// thermometer have no effect.
    package func inject(_ event: FaultEvent, at instant: Timestamp? = nil) {
        state.withLock { state in state.faults.add(event, at: instant ?? state.core.now) }
    }

    /// Ends all faults, including scheduled ones. Their effects on the chip remain.
    package func clearFaults() {
        state.withLock { state in state.faults.clear(&state.core) }
    }

    /// For tests: the middle of the measurement that is in the outputs as of the latest access; `nil` if there is none.
    package var measurementTime: Timestamp? { state.withLock { $0.core.measurementTime } }
}

extension VirtualMagnetometer {
    /// An engine with the registers of one kind of magnetometer.
    private struct Core: FaultTarget {
        private var engine: MagnetometerEngine
        private var registers: any VirtualMagnetometerRegisters
        var isFrozen = false
        var isStalled = false
        private(set) var measurementTime: Timestamp?

        /// Creates a chip that was just powered.
        init(_ registers: any VirtualMagnetometerRegisters, _ engine: MagnetometerEngine) {
            self.registers = registers
            self.engine = engine
            self.registers.powerCycle(&self.engine)
        }

        var now: Timestamp { engine.now }
        var identityRegister: UInt8 { registers.identityRegister }

        mutating func advance(to instant: Timestamp) {
            guard let completed = engine.advance(to: instant), !isStalled else { return }
            if registers.take(completed, isFrozen: isFrozen), !isFrozen { measurementTime = completed.time }
        }

        mutating func apply(_ event: FaultEvent) {
            switch event {
            case .brownOut: registers.powerCycle(&engine)
            case .bitFlip(let register, let bit): registers.flip(bit: bit, of: register, &engine)
            case .fifoOverflow, .fifoSlip, .temperatureJump, .temperatureGlitch: break
            }
        }

        mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) {
            registers.read(register, into: buffer, &engine)
        }

        mutating func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>) {
            guard let value = values.first, !registers.registers.isResetting(at: engine.now) else { return }
            registers.write(register, value, &engine)
        }
    }
}
