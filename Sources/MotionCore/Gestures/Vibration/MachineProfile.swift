/// What kind of machine it is: how long it may pause within a run.
///
/// Only the washer's waits were measured, on three programmes of one machine; the others are from what their users report.
public enum MachineProfile: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// As a washer, until five runs have shown no pause: then as a steady machine, with a minute's patience.
    case auto
    case washer
    case dryer
    case dishwasher
    case printer
    /// A fan or a pump, which is off as soon as it stops.
    case steady

    /// Seconds without vibration until the machine is done: shortly after a spin, or the quickest part of a run, and
    /// otherwise.
    var waits: (afterSpin: Double, otherwise: Double) {
        switch self {
        case .auto, .washer: (300, 1500)
        case .dryer: (300, 600)
        case .dishwasher: (300, 3600)
        case .printer: (120, 1200)
        case .steady: (10, 10)
        }
    }

    private static let runsWithoutPause = 5
    private static let patience = 60.0

    /// Seconds without vibration until a run with such a course is done.
    func wait(after course: MachineCourse, _ experience: MachineExperience) -> Double {
        if self == .auto, experience.count >= MachineProfile.runsWithoutPause,
            Double(experience.longestPause) < MachineProfile.patience, course.longestPause < MachineProfile.patience
        {
            return MachineProfile.patience
        }
        return course.hasSpun ? waits.afterSpin : waits.otherwise
    }
}

/// The class of a machine: the limits by which its velocity is judged.
///
/// The limits are for the housing of the bearings, where the sensor sits on a stud or is glued. On anything else a zone is
/// a convention.
public enum MachineClass: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case none
    /// Up to 15 kW: class I of ISO 10816-1.
    case small
    /// 15 to 300 kW: group 2 of ISO 20816-3, on a rigid or a flexible foundation.
    case mediumRigid, mediumFlexible
    /// Above 300 kW: group 1 of ISO 20816-3.
    case largeRigid, largeFlexible

    /// The upper limits of zones A, B and C, m/s RMS; `nil` for no class.
    package var limits: [Double]? {
        switch self {
        case .none: nil
        case .small: [0.71e-3, 1.8e-3, 4.5e-3]
        case .mediumRigid: [1.4e-3, 2.8e-3, 4.5e-3]
        case .mediumFlexible, .largeRigid: [2.3e-3, 4.5e-3, 7.1e-3]
        case .largeFlexible: [3.5e-3, 7.1e-3, 11e-3]
        }
    }
}

/// How a machine is.
public enum MachinePhase: UInt8, Sendable, BitwiseCopyable {
    case off, running
    /// It has been quiet for half a minute, and is not done yet.
    case paused
}

/// What somebody says about the machine, so that the board need not learn it by itself.
public enum MachineStatement: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    case off, running
    /// What deviates from earlier runs is as it should be.
    case fine
}

/// What is known of the present run of a machine.
struct MachineCourse: BitwiseCopyable {
    private enum Rule {
        /// The share of the highest level, and dB above the floor, that a spin reaches.
        static let share = 0.6
        static let rise: Float = 9
        /// The frames of three minutes, in which a spin must be for the wait to be short.
        static let frames = 18
        /// With three runs behind it, the highest level is what they have taught, and a short part of a run is not its end.
        static let runs = 3
        static let shortest = 0.5
    }

    /// The longest pause, s, and the highest level of 30 s, m/s².
    private(set) var longestPause = 0.0
    private(set) var peak = 0.0
    /// Whether the machine spun in the last three minutes of vibration.
    private(set) var hasSpun = false

    private var levels = SIMD32<Float>.zero
    private var rises = SIMD32<Float>.zero
    private var frames = 0

    /// Adds a frame of vibration, ten seconds with a level in m/s² and a rise above the floor in dB, so many seconds after the
    /// run began.
    mutating func add(level: Double, rise: Float, after duration: Double, known: MachineExperience) {
        levels[frames % Rule.frames] = Float(level)
        rises[frames % Rule.frames] = rise
        frames += 1
        if frames >= 3 { peak = max(peak, Double(median(frames - 1))) }
        var highest: Float = 0
        var second: Float = 0
        var highestRise: Float = 0
        var secondRise: Float = 0
        for index in 0..<Rule.frames {
            second = max(second, min(highest, levels[index]))
            highest = max(highest, levels[index])
            secondRise = max(secondRise, min(highestRise, rises[index]))
            highestRise = max(highestRise, rises[index])
        }
        let isKnown = known.count >= Rule.runs
        let reference = isKnown ? max(peak, Double(known.peak)) : peak
        hasSpun = Double(second) >= Rule.share * reference && secondRise >= Rule.rise
        if isKnown, duration < Rule.shortest * Double(known.shortest) { hasSpun = false }
    }

    /// The machine vibrates again.
    mutating func endPause(seconds: Double) {
        longestPause = max(longestPause, seconds)
        let missed = min(Rule.frames, Int(seconds / 10))
        for _ in 0..<missed {
            levels[frames % Rule.frames] = 0
            rises[frames % Rule.frames] = 0
            frames += 1
        }
    }

    /// The median of a frame and the two before it.
    private func median(_ last: Int) -> Float {
        let a = levels[last % Rule.frames]
        let b = levels[(last - 1) % Rule.frames]
        let c = levels[(last - 2) % Rule.frames]
        return max(min(a, b), min(max(a, b), c))
    }
}

/// How the machine is, once a minute while it runs and whenever its phase changes.
public struct MachineReport: Equatable, Sendable, BitwiseCopyable {
    public var timestamp: Timestamp
    public var phase: MachinePhase
    /// Whether the board has yet to see the machine off for five minutes and three of its runs.
    public var isLearning = true
    /// Seconds since the run began and, in a pause, since it last vibrated.
    public var duration = 0.0
    public var quietFor = 0.0
    /// The runs that were learnt.
    public var runs = 0
    /// The last minute of the run; `nil` before its first, and when it is over.
    public var measurement: MachineMeasurement?
    public var deviation: MachineDeviation?

    package init(timestamp: Timestamp, phase: MachinePhase) {
        self.timestamp = timestamp
        self.phase = phase
    }
}
