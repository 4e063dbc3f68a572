public import IMUDrivers
public import MotionCore
internal import Synchronization

/// A chip at register level, other than an MPU-6050, moved along a trajectory: a driver cannot tell it from the chip.
///
/// At every access it is brought up to the instant of that access and takes the samples that its own oscillator made due.
/// The same seed and the same accesses at the same instants give the same bytes. Safe to use from several threads.
public final class VirtualIMUChip: VirtualChip {
    /// What there is.
    public enum Kind: String, CaseIterable, Sendable {
        case bmi160
        case adxl345
        case icm42688
    }

    private struct State {
        var engine: SensorEngine
        var registers: any VirtualRegisters
        var faults: FaultSchedule

        /// Lets time pass until `instant`, with all that happens to the chip meanwhile.
        mutating func advance(to instant: Timestamp) {
            while let due = faults.nextAction(until: instant) {
                sample(until: due.time)
                switch due.action {
                case .freeze(let isFrozen): engine.isFrozen = isFrozen
                case .stall(let isStalled): engine.isStalled = isStalled
                case .event(.brownOut): registers.powerCycle(&engine)
                case .event(.fifoOverflow): registers.overflow()
                case .event(.fifoSlip(let bytes)): registers.slip(bytes)
                case .event(.bitFlip(let register, let bit)): registers.flip(bit: bit, of: register, &engine)
                case .event(.temperatureJump(let difference)): engine.temperatureError += difference
                }
            }
            sample(until: instant)
        }

        private mutating func sample(until instant: Timestamp) {
            while let reading = engine.nextReading(until: instant) {
                if engine.isStalled { continue }
                if registers.raisesPin { engine.wire?.raise(at: engine.now) }
                registers.take(reading)
            }
            registers.settle(&engine)
        }
    }

    private let state: Mutex<State>
    private let trajectory: any Trajectory
    private let start: Timestamp

    /// Makes a chip that is powered at `start`, when its trajectory begins too.
    public init(
        _ kind: Kind, trajectory: any Trajectory, imperfections: Imperfections = .typical, seed: UInt64 = 1,
        start: Timestamp
    ) {
        self.trajectory = trajectory
        self.start = start
        let registers: any VirtualRegisters =
            switch kind {
            case .bmi160: BMI160Registers()
            case .adxl345: ADXL345Registers()
            case .icm42688: ICM42688Registers()
            }
        state = Mutex(
            State(
                engine: SensorEngine(
                    trajectory: trajectory, imperfections: imperfections, seed: seed, start: start),
                registers: registers, faults: FaultSchedule(seed: seed)))
    }

    public func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)
    {
        try transact(at: now) { state in
            state.registers.read(register, into: buffer, &state.engine)
            state.faults.distort(buffer, isIdentity: register == state.registers.identityRegister, at: now)
        }
    }

    public func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        try transact(at: now) { state in state.registers.write(register, value, &state.engine) }
    }

    /// Leads the data-ready pin somewhere.
    public func connect(_ wire: VirtualWire) { state.withLock { $0.engine.wire = wire } }

    /// Brings about a fault from the instant `start` on, or from the latest that the chip has seen.
    public func inject(
        _ condition: FaultCondition, from start: Timestamp? = nil, lasting extent: FaultExtent = .untilCleared
    ) {
        state.withLock { $0.faults.add(condition, from: start ?? $0.engine.now, lasting: extent) }
    }

    /// Lets an event happen at `instant`, or at the latest instant that the chip has seen.
    public func inject(_ event: FaultEvent, at instant: Timestamp? = nil) {
        state.withLock { $0.faults.add(event, at: instant ?? $0.engine.now) }
    }

    /// Does one transaction at the instant `now`.
    private func transact(at now: Timestamp, _ body: (inout State) -> Void) throws(BusError) {
        let failure: BusError? = state.withLock { state in
            state.advance(to: now)
            let (failure, thaws) = state.faults.transaction(at: now)
            if failure == nil { body(&state) }
            state.faults.removeExhausted()
            if thaws {
                state.engine.isFrozen = false
                state.engine.isStalled = false
            }
            return failure
        }
        if let failure { throw failure }
    }
}

// What a test wants to know and a driver never gets to know.
extension VirtualIMUChip {
    /// The true motion at an instant.
    public func truth(at instant: Timestamp) -> TrueMotion {
        trajectory.motion(at: instant.seconds(since: start))
    }

    /// Samples taken up to the latest access; the newest has this index less one.
    public var sampleCount: UInt64 { state.withLock { $0.engine.nextIndex } }

    /// The true instant of the sample `index`; `nil` where it is not taken yet or forgotten.
    public func trueSampleTime(_ index: UInt64) -> Timestamp? { state.withLock { $0.engine.time(ofSample: index) } }

    /// Seconds by which the readings of slow movements come behind `trueSampleTime`.
    public var readingDelay: (accelerometer: Double, gyroscope: Double) { state.withLock { $0.engine.delay } }

    /// The chip's true temperature at the latest access, °C.
    public var temperature: Double { state.withLock { $0.engine.temperature } }
}
