internal import CMotionMath

/// What a board has learnt about its machine: how strong each band is while the machine is off, and what its runs are like.
///
/// It outlasts the program: `MotionPipeline` takes one when it is created, and gives it back.
package struct MachineMemory: ~Copyable {
    /// The histograms of the bands while the machine is off: seconds at each power, from −70 dB (m²/s⁴) in steps of 0.5 dB.
    package static let cells = 160
    package static let lowest: Float = -70
    package static let step: Float = 0.5
    /// After a week, a second counts half.
    private static let halfLife = 7 * 86_400.0
    /// The share of the time for which a band may be weaker than its floor.
    private static let share: Float = 0.1
    /// While a machine runs, its own vibration counts little. Yet it counts: if what seems to run is there for ever, it is
    /// the surroundings.
    private static let whileRunning: Float = 0.1

    /// Band by band.
    package let histograms = FixedBuffer<Float>(repeating: 0, count: VibrationBands.count * MachineMemory.cells)
    package var runs = MachineExperience()
    /// What a second counts now. It grows, so that what is older counts less.
    private var weight: Float = 1
    /// The sum of a histogram: seconds.
    private var total: Float = 0

    package init() {}

    /// Seconds for which the machine has been off, of which the recent ones count in full.
    var secondsOff: Float { total / weight }

    /// Adds the power of the bands, dB, for so many seconds; `times` says how often they count.
    mutating func add(_ levels: SIMD16<Float>, seconds: Double, isRunning: Bool, times: Float = 1) {
        weight *= Float(exp(seconds * 0.693147 / MachineMemory.halfLife))
        if weight > 1e6 { scale(by: 1 / weight) }
        let added = Float(seconds) * weight * times * (isRunning ? MachineMemory.whileRunning : 1)
        total += added
        for band in 0..<VibrationBands.count {
            let cell = (levels[band] - MachineMemory.lowest) / MachineMemory.step
            histograms[band * MachineMemory.cells + Int(max(0, min(Float(MachineMemory.cells - 1), cell)))] += added
        }
    }

    private mutating func scale(by factor: Float) {
        for index in 0..<(VibrationBands.count * MachineMemory.cells) { histograms[index] *= factor }
        total *= factor
        weight *= factor
    }

    /// The floor of a band, dB: what it is stronger than nine tenths of the time, and the middle of its power.
    func floor(of band: Int) -> (low: Float, middle: Float) {
        MachineMemory.floor(total: total) { histograms[band * MachineMemory.cells + $0] }
    }

    /// The same of a histogram with such a sum.
    package static func floor(total: Float, _ histogram: (Int) -> Float) -> (low: Float, middle: Float) {
        let low = share * total
        let middle = 0.5 * total
        var sum: Float = 0
        var result: (low: Float, middle: Float) = (lowest, lowest)
        for cell in 0..<cells {
            let here = histogram(cell)
            let power = lowest + (Float(cell) + 0.5) * step
            if sum < low, sum + here >= low { result.low = power }
            if sum < middle, sum + here >= middle {
                result.middle = power
                break
            }
            sum += here
        }
        return result
    }

    /// Takes what an earlier run of the program has learnt.
    package mutating func restore(_ experience: MachineExperience, histogram: (Int) -> Float) {
        runs = experience
        weight = 1
        total = 0
        for index in 0..<(VibrationBands.count * MachineMemory.cells) {
            histograms[index] = histogram(index)
            if index < MachineMemory.cells { total += histograms[index] }
        }
    }

    /// The seconds in a cell of the histograms, of which the recent ones count in full.
    package func seconds(at index: Int) -> Float { histograms[index] / weight }
}

/// What a machine's runs were like.
package struct MachineExperience: Equatable, Sendable, BitwiseCopyable {
    /// The runs that were seen from beginning to end.
    package var count = 0
    /// The shortest of them, s, the longest pause in one, s, and the mean of their peak levels, m/s².
    package var shortest: Float = 0
    package var longestPause: Float = 0
    package var peak: Float = 0
    /// The mean power of the bands while it runs, dB, and the seconds for which that was measured, at most a day.
    package var running = SIMD16<Float>.zero
    package var runningSeconds: Float = 0
    /// Whether somebody has said that it runs, when it did.
    package var isConfirmed = false
    /// How its octaves are at each speed.
    package var speeds = MachineSpeeds()
    /// The direction of gravity while it was off, along the sensor's axes; zero while it is not known.
    package var gravity = SIMD4<Float>.zero

    package init() {}

    /// Whether the machine has been seen running for long enough to know how strong it is.
    var knowsRunning: Bool { (isConfirmed || count >= 3) && runningSeconds >= 60 }

    /// Adds the bands of a running machine, dB.
    mutating func add(_ levels: SIMD16<Float>, seconds: Float) {
        runningSeconds = min(86_400, runningSeconds + seconds)
        running += (levels - running) * (seconds / runningSeconds)
    }

    /// Adds a run that has ended.
    mutating func add(duration: Float, pause: Float, peak: Float) {
        shortest = count == 0 ? duration : min(shortest, duration)
        longestPause = max(longestPause, pause)
        count = min(count + 1, 9999)
        self.peak += (peak - self.peak) / Float(min(count, 20))
    }
}
