internal import MotionCore

/// The part that all virtual magnetometers have behind their registers: an oscillator that makes measurements due, and
/// sensors that make them.
///
/// The content of a measurement depends on its index, not on when the chip is accessed. Only the newest one can be seen,
/// so those before it are not computed.
struct MagnetometerEngine: ChipEngine {
    let imperfections: MagnetometerImperfections
    private let surroundings: MagneticSurroundings
    private let trajectory: any Trajectory
    private let seed: UInt64
    /// The instant at which the trajectory begins.
    private let start: Timestamp

    /// The instant up to which the chip has been simulated.
    private(set) var now: Timestamp
    private var clock: SampleClock
    private var nextIndex: UInt64 = 0
    /// Seconds that a measurement takes.
    private var duration = 0.0

    /// Measurements that have been completed: how many, and the newest one.
    struct Completed {
        var count: UInt64
        /// The middle of the newest one.
        var time: Timestamp
        /// The field along the board's axes, µT.
        var field: Vector3
    }

    /// Creates an engine that makes no measurements.
    init(
        trajectory: any Trajectory, surroundings: MagneticSurroundings, imperfections: MagnetometerImperfections,
        seed: UInt64, start: Timestamp
    ) {
        self.trajectory = trajectory
        self.surroundings = surroundings
        self.imperfections = imperfections
        self.seed = seed
        self.start = start
        now = start
        clock = Self.clock(from: start, index: 0, period: nil, imperfections)
    }

    private static func clock(
        from origin: Timestamp, index: UInt64, period: Double?, _ imperfections: MagnetometerImperfections
    ) -> SampleClock {
        SampleClock(
            origin: origin, firstIndex: index, period: period, error: imperfections.oscillatorError * 1e-6, drift: 0,
            temperature: 25, finalTemperature: 25, timeConstant: 1)
    }

    /// Begins to measure now, every `period` seconds, or stops for `nil`. A measurement takes `duration` seconds, and its
    /// result is ready at the end of a period.
    mutating func run(every period: Double?, taking duration: Double) {
        self.duration = duration
        clock = Self.clock(from: now, index: nextIndex, period: period, imperfections)
    }

    /// Advances to `instant`. Returns the measurements completed since, `nil` if there are none.
    mutating func advance(to instant: Timestamp) -> Completed? {
        now = max(now, instant)
        guard let last = clock.lastIndex(at: now), last >= nextIndex else { return nil }
        let count = last + 1 - nextIndex
        nextIndex = last + 1
        let middle = clock.time(of: last).advanced(bySeconds: -duration / 2)
        let motion = trajectory.motion(at: middle.seconds(since: start))
        var random = RandomNumbers(seed: seed, stream: last)
        let (noise, _) = random.normalVectors()
        return Completed(
            count: count, time: middle,
            field: surroundings.field(at: motion.attitude) + imperfections.noise * noise)
    }
}

/// The registers of one kind of magnetometer.
protocol VirtualMagnetometerRegisters: EngineRegisters where Engine == MagnetometerEngine {
    /// The registers that decide whether and how often it measures.
    var modeRegisters: [UInt8] { get }

    /// Stores completed measurements. The outputs keep their values if they are frozen. Returns whether the newest one is in
    /// the outputs now.
    mutating func take(_ completed: MagnetometerEngine.Completed, isFrozen: Bool) -> Bool
}

extension VirtualMagnetometerRegisters {
    /// Inverts a bit of a register and applies the consequences.
    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout MagnetometerEngine) {
        guard register < registers.count else { return }
        registers.flip(bit: bit, of: Int(register))
        if modeRegisters.contains(register) { configure(&engine) }
    }
}
