/// Measures a running machine once a minute, and compares it with what its earlier runs have taught.
///
/// What is normal is a range for each octave at each speed, from the runs so far. It moves between days and mountings, so
/// nothing is judged before five runs, and the range has a margin. A machine that is damaged may be weaker in an octave as
/// well as stronger.
struct MachineHealth: ~Copyable {
    private enum Rule {
        static let minute = 60.0
        /// The runs at a speed before it is judged.
        static let runs = 5
        /// The least margin, dB, and the share of the range.
        static let margin: Float = 3
        static let shareOfRange: Float = 0.5
        /// Of the last fifteen minutes, how many must deviate for a deviation to begin, and how many may for it to end.
        static let remembered: UInt16 = 0x7FFF
        static let begins = 10
        static let ends = 3
        /// The first minute that is judged and learnt: before, the machine speeds up.
        static let leastMinutes = 2
    }

    /// The present deviation.
    private(set) var deviation: MachineDeviation?
    /// Whether `deviation` has changed since the last report.
    private(set) var hasChanged = false

    private var seconds = 0.0
    private var measured = 0.0
    private var acceleration = 0.0
    private var velocity = 0.0
    private var peak = 0.0
    private var kurtosis = 0.0
    private var levels = SIMD16<Float>.zero
    private var frames: Float = 0
    /// For each octave, which of the last minutes deviated.
    private var deviating = SIMD16<UInt16>.zero
    /// The ranges of the present run, and its minutes at each speed.
    private var run = MachineSpeeds()
    private var minutes = 0

    /// Adds a window of a running machine.
    mutating func add(_ reading: VibrationWindow.Reading) {
        measured += reading.seconds
        acceleration += reading.acceleration * reading.seconds
        velocity += reading.velocity * reading.seconds
        kurtosis += reading.kurtosis * reading.seconds
        peak = max(peak, reading.peak)
    }

    /// Adds a frame of a running machine. Returns whether a minute is complete, which `report` then reports.
    mutating func add(_ frame: MachineJudge.Frame) -> Bool {
        seconds += frame.seconds
        levels += frame.levels
        frames += 1
        return seconds + 0.5 * frame.seconds >= Rule.minute
    }

    /// Reports the complete minute, judges it, and begins the next one.
    mutating func report(
        at timestamp: Timestamp, rate: Double, density: Double,
        lines: (frequencies: SIMD4<Float>, levels: SIMD4<Float>), _ experience: MachineExperience
    ) -> MachineMeasurement {
        let octaves = frames > 0 ? levels / frames : SIMD16(repeating: -200)
        var result = MachineMeasurement(timestamp: timestamp, rate: rate, octaves: octaves)
        (result.highestAcceleration, result.highestVelocity) = VibrationWindow.highest(rate: rate)
        let noise = 3 * density * density
        let lowest = VibrationWindow.lowest
        let bandwidth = max(0, result.highestAcceleration - lowest)
        result.accelerationNoise = (noise * bandwidth).squareRoot()
        let reciprocal = 1 / lowest - 1 / max(lowest, result.highestVelocity)
        result.velocityNoise = (noise * reciprocal / (4 * .pi * .pi)).squareRoot()
        if measured > 0 {
            result.acceleration = Self.without(result.accelerationNoise, acceleration / measured)
            result.velocity = Self.without(result.velocityNoise, velocity / measured)
            result.kurtosis = kurtosis / measured
            let level = (acceleration / measured).squareRoot()
            result.crestFactor = level > 0 ? peak / level : 0
        }
        result.peak = peak
        result.lineFrequencies = lines.frequencies
        result.lineLevels = lines.levels
        minutes += 1
        if minutes >= Rule.leastMinutes {
            judge(octaves, at: lines.frequencies[0], timestamp, rate, experience)
            run.add(octaves, at: lines.frequencies[0])
        }
        beginMinute()
        return result
    }

    /// The RMS without the noise; 0 if it is not above the noise.
    private static func without(_ noise: Double, _ square: Double) -> Double {
        let rest = square - noise * noise
        return rest > noise * noise ? rest.squareRoot() : 0
    }

    private mutating func beginMinute() {
        seconds = 0
        measured = 0
        acceleration = 0
        velocity = 0
        peak = 0
        kurtosis = 0
        levels = .zero
        frames = 0
    }

    private mutating func judge(
        _ octaves: SIMD16<Float>, at frequency: Float, _ timestamp: Timestamp, _ rate: Double,
        _ experience: MachineExperience
    ) {
        guard let known = experience.speeds.range(at: frequency), known.runs >= Rule.runs else { return }
        var worst = 0
        var most: Float = 0
        for band in VibrationBands.octaves(rate: rate) {
            let off = MachineHealth.deviation(of: octaves[band], from: known, band)
            deviating[band] = (deviating[band] << 1 | (off == 0 ? 0 : 1)) & Rule.remembered
            if deviating[band].nonzeroBitCount >= Rule.begins, abs(off) > abs(most) {
                worst = band
                most = off
            }
        }
        if let present = deviation {
            if deviating[present.band].nonzeroBitCount <= Rule.ends { end() }
        } else if worst > 0 {
            deviation = MachineDeviation(band: worst, decibels: most, since: timestamp)
            hasChanged = true
        }
    }

    /// How far outside the learnt range with its margin a band is, measured from the range, dB; 0 inside.
    private static func deviation(of level: Float, from known: MachineSpeeds.Range, _ band: Int) -> Float {
        let margin = max(Rule.margin, Rule.shareOfRange * (known.high[band] - known.low[band]))
        if level > known.high[band] + margin { return level - known.high[band] }
        if level < known.low[band] - margin { return level - known.low[band] }
        return 0
    }

    private mutating func end() {
        deviation = nil
        deviating = .zero
        hasChanged = true
    }

    /// Somebody says that the machine is fine as it is: what deviates now belongs to the range.
    mutating func acknowledge(_ experience: inout MachineExperience) {
        experience.speeds.extend(by: run)
        if deviation != nil { end() } else { deviating = .zero }
    }

    /// The run has ended: what it showed is learnt, unless it deviates.
    mutating func endRun(_ experience: inout MachineExperience) {
        if deviation == nil { experience.speeds.learn(run) }
    }

    /// A run begins. What the last one showed is kept until then: somebody may yet say that it was fine.
    mutating func beginRun() {
        run = MachineSpeeds()
        minutes = 0
        beginMinute()
    }

    /// The machine has stopped for a while, or samples are missing.
    mutating func interrupt() { beginMinute() }

    /// The change has been reported.
    mutating func reported() { hasChanged = false }

    /// Takes up a deviation that an earlier run of the program has reported.
    mutating func resume(_ deviation: MachineDeviation?) { self.deviation = deviation }
}

/// In what a machine deviates from its earlier runs.
public struct MachineDeviation: Equatable, Sendable, BitwiseCopyable {
    /// The band of `VibrationBands`.
    package var band: Int
    /// How far it is above (positive) or below the learnt range, dB.
    public var decibels: Float
    /// The first minute in which that was certain.
    public var since: Timestamp

    package init(band: Int, decibels: Float, since: Timestamp) {
        self.band = band
        self.decibels = decibels
        self.since = since
    }

    /// The lower end of the octave, Hz.
    public var octave: Double { VibrationBands.edge(band) }
}

/// How a machine vibrated during a minute.
public struct MachineMeasurement: Equatable, Sendable, BitwiseCopyable {
    /// The end of the minute.
    public var timestamp: Timestamp
    /// Samples a second.
    public var rate: Double
    /// RMS of the acceleration (m/s²) and of the velocity (m/s) from 10 Hz to the frequencies below, over all axes, without the
    /// sensor's noise; 0 if it is not above that.
    public var acceleration = 0.0
    public var velocity = 0.0
    public var highestAcceleration = 0.0
    public var highestVelocity = 0.0
    /// The sensor's noise in these bands, m/s² and m/s.
    public var accelerationNoise = 0.0
    public var velocityNoise = 0.0
    /// The largest magnitude of the acceleration, m/s², and its ratio to the RMS.
    public var peak = 0.0
    public var crestFactor = 0.0
    /// Of the strongest axis: 1.5 for a sine, 3 for noise, more for impacts.
    public var kurtosis = 0.0
    /// The power of the bands of `VibrationBands`, dB of 1 m²/s⁴.
    package var octaves: SIMD16<Float>
    /// The three strongest lines, strongest first: Hz, and RMS, m/s². 0 if there are fewer.
    package var lineFrequencies = SIMD4<Float>.zero
    package var lineLevels = SIMD4<Float>.zero
    /// The line near the speed of the settings, Hz; `nil` without a speed, or if there is no line.
    public var speed: Double?
}

/// The learnt ranges of the octaves, for up to four speeds of a machine, told apart by its strongest line.
package struct MachineSpeeds: Equatable, Sendable, BitwiseCopyable {
    package struct Range: Equatable, Sendable, BitwiseCopyable {
        /// The strongest line, Hz; 0 for none.
        package var frequency: Float
        /// The runs that it is made of, or the minutes.
        package var runs = 0
        package var low = SIMD16<Float>.zero
        package var high = SIMD16<Float>.zero

        package init(frequency: Float = 0) { self.frequency = frequency }

        fileprivate mutating func extend(_ low: SIMD16<Float>, _ high: SIMD16<Float>, by count: Int) {
            self.low = runs == 0 ? low : pointwiseMin(self.low, low)
            self.high = runs == 0 ? high : pointwiseMax(self.high, high)
            runs = min(runs + count, 9999)
        }
    }

    package static let count = 4
    /// Two lines within this share of each other are the same speed.
    private static let same: Float = 0.1

    // Not an array, which would be on the heap.
    private var first = Range()
    private var second = Range()
    private var third = Range()
    private var fourth = Range()

    package init() {}

    package subscript(index: Int) -> Range {
        get {
            switch index {
            case 0: first
            case 1: second
            case 2: third
            default: fourth
            }
        }
        set {
            switch index {
            case 0: first = newValue
            case 1: second = newValue
            case 2: third = newValue
            default: fourth = newValue
            }
        }
    }

    /// The range that is made of most runs.
    package var mostSeen: Range? {
        var best = 0
        for index in 1..<MachineSpeeds.count where self[index].runs > self[best].runs { best = index }
        return self[best].runs > 0 ? self[best] : nil
    }

    /// The range at the speed of a line.
    func range(at frequency: Float) -> Range? { index(of: frequency).map { self[$0] } }

    private func index(of frequency: Float) -> Int? {
        for index in 0..<MachineSpeeds.count
        where self[index].runs > 0
            && abs(self[index].frequency - frequency) <= MachineSpeeds.same * self[index].frequency
        {
            return index
        }
        return nil
    }

    /// The place of a speed: its own, a free one, or the one that was seen least.
    private func place(for frequency: Float) -> (index: Int, isNew: Bool) {
        if let index = index(of: frequency) { return (index, false) }
        var least = 0
        for index in 1..<MachineSpeeds.count where self[index].runs < self[least].runs { least = index }
        return (least, true)
    }

    /// Adds a minute.
    mutating func add(_ octaves: SIMD16<Float>, at frequency: Float) {
        let place = place(for: frequency)
        if place.isNew { self[place.index] = Range(frequency: frequency) }
        self[place.index].extend(octaves, octaves, by: 1)
    }

    /// Learns the minutes of a run. A speed of a single minute is none.
    mutating func learn(_ run: MachineSpeeds) {
        for index in 0..<MachineSpeeds.count where run[index].runs > 1 { take(run[index], by: 1) }
    }

    /// Extends the ranges without another run.
    mutating func extend(by run: MachineSpeeds) {
        for index in 0..<MachineSpeeds.count where run[index].runs > 0 { take(run[index], by: 0) }
    }

    private mutating func take(_ range: Range, by count: Int) {
        let place = place(for: range.frequency)
        if place.isNew {
            // A speed that is known well is not given up for one that was seen once.
            guard self[place.index].runs < 3 else { return }
            self[place.index] = Range(frequency: range.frequency)
        }
        self[place.index].extend(range.low, range.high, by: max(count, place.isNew ? 1 : 0))
    }
}
