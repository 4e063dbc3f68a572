public import IMUDrivers
public import MotionCore
internal import Synchronization

/// An MPU-6050, or another member of its family, at register level, moved along a trajectory: a driver cannot tell it from the chip.
///
/// It behaves as RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4 say; what the others have differently is in
/// `VirtualMPUModel`. At every access it is brought up to the instant of
/// that access and takes the samples that its own oscillator made due. The same seed and the same accesses at the same
/// instants give the same bytes; what a sample holds depends on the seed and its index, not on the accesses (after a
/// pause of seconds, to rounding far below an LSB).
///
/// Safe to use from several threads: the driver's, and one that brings about faults or asks for the truth.
public final class VirtualMPU6050: VirtualChip {
    private struct State {
        var core: ChipCore
        var faults: FaultSchedule
    }

    private let state: Mutex<State>
    private let trajectory: any Trajectory
    private let start: Timestamp

    /// Makes a chip that is powered at `start`, when its trajectory begins too.
    public init(
        _ model: VirtualMPUModel = .mpu6050, trajectory: any Trajectory, imperfections: Imperfections = .typical,
        seed: UInt64 = 1, start: Timestamp
    ) {
        self.trajectory = trajectory
        self.start = start
        state = Mutex(
            State(
                core: ChipCore(model, trajectory: trajectory, imperfections: imperfections, seed: seed, start: start),
                faults: FaultSchedule(seed: seed)))
    }

    /// Reads `buffer.count` registers beginning with `register` at the instant `now`, in one transaction.
    ///
    /// - Throws: what a fault makes of it.
    public func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, at now: Timestamp) throws(BusError)
    {
        try transact(at: now) { state in
            state.core.read(register, into: buffer)
            // The address stops at FIFO_R_W: a burst that begins elsewhere never gets to the identity.
            state.faults.distort(buffer, isIdentity: register & 0x7F == Register.identity, at: now)
        }
    }

    /// Writes registers beginning with `register` at the instant `now`, in one transaction.
    ///
    /// - Throws: what a fault makes of it.
    public func write(_ register: UInt8, _ values: UInt8..., at now: Timestamp) throws(BusError) {
        try transact(at: now) { state in state.core.write(register, values) }
    }

    public func write(_ value: UInt8, to register: UInt8, at now: Timestamp) throws(BusError) {
        try write(register, value, at: now)
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
extension VirtualMPU6050 {
    /// The true motion at an instant.
    public func truth(at instant: Timestamp) -> TrueMotion {
        trajectory.motion(at: instant.seconds(since: start))
    }

    /// Samples taken up to the latest access; the newest has this index less one.
    public var sampleCount: UInt64 { state.withLock { $0.core.nextIndex } }

    /// The true instant of the sample `index`; `nil` where it is not taken yet, or so long ago that it is forgotten
    /// (64 changes of the rate).
    public func trueSampleTime(_ index: UInt64) -> Timestamp? {
        state.withLock { $0.core.time(ofSample: index) }
    }

    /// Seconds by which the readings of slow movements come behind `trueSampleTime` in the present configuration: the
    /// group delays of the low-pass.
    public var readingDelay: (accelerometer: Double, gyroscope: Double) {
        state.withLock { $0.core.model.delay }
    }

    /// The chip's true temperature at the latest access, °C.
    public var temperature: Double {
        state.withLock { $0.core.clock.temperature(at: $0.core.now) + $0.core.temperatureError }
    }
}

extension ChipCore: SimulatedChip {
    /// Lets an event happen now.
    mutating func suffer(_ event: FaultEvent) {
        switch event {
        case .brownOut:
            powerCycle()
        case .fifoOverflow:
            guard isFIFOEnabled else { return }
            // The newest frame again and again, and the first that there is no room for.
            let filler = frame.isEmpty ? [0] : frame
            for _ in 0...(fifo.capacity - fifo.count) / filler.count {
                for byte in filler { appendToFIFO(byte) }
            }
        case .fifoSlip(let bytes):
            fifo.drop(bytes)
        case .bitFlip(let register, let bit):
            flip(bit: bit, of: register)
        case .temperatureJump(let difference):
            temperatureError += difference
        }
    }
}
