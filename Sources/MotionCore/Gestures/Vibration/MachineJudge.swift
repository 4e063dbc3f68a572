internal import CMotionMath

/// Judges whether a machine runs, by what the board has learnt about its vibration when the machine is off and when it runs.
///
/// Windows are combined into frames of ten seconds, each with the median of every band, so that a door counts as one window
/// of seven. A frame shows a machine if a band is clearly stronger than its floor while the board is not moved, or if the
/// same line has stood in the spectrum for ten seconds: no hand keeps one.
struct MachineJudge: ~Copyable {
    private enum Rule {
        /// Seconds of a frame, and the most windows in one.
        static let frame = 10.0
        static let mostWindows = 16
        /// How far above its floor a band must be, dB: until the machine is known, when it is, and to stay running. Where
        /// aliasing folds a machine into a few hertz, little is left of it.
        static let rise: Float = 6
        static let slowRise: Float = 3
        static let most: Float = 10
        static let stays: Float = 2
        /// Until the floor is known: seconds of it, the rise, and how much weaker than usual the quietest window is, dB.
        static let learning: Float = 300
        static let coldRise: Float = 5
        static let quietest: Float = 3
        /// The noise of a sensor that is not known, m/s²/√Hz (PS-MPU-6000A-00 r3.4: 400 µg/√Hz), and how far above
        /// its figure a sensor's noise may be, dB.
        static let density = 400e-6 * 9.80665
        static let overDensity: Float = 2
        /// By how much what is usual of late follows a frame, dB: three decibels in ten minutes.
        static let follows: Float = 0.05
        /// The mean square on an axis that toggles between two counts, of the square of a count.
        static let toggling: Float = 0.25
        /// What is added to the floor that is reached nine tenths of the time, dB, and how wide what is usual may be.
        static let margin: Float = 1
        static let usualWidth: Float = 1.5
        static let mostWidth: Float = 2
        /// A steady line: its share of the band, its least mean square, and for how long it must stand, s.
        static let lineShare = 0.4
        static let line = 0.12 * 0.12
        static let lineTime = 10.0
        /// Its least RMS as a share of that of slow movement: a runner's step has a line, and moves much more.
        static let lineOfSlow = 0.8
        /// The largest kurtosis of a machine: 1.5 for a sine, 3 for noise, up to 8 for a drum; steps and knocks have more.
        static let kurtosis: Float = 10
        /// The share of a frame's windows in which the board must be still.
        static let still = 0.5
        /// Each step of sensitivity lowers the rise by this, dB; it stays above `leastRise`.
        static let sensitivityStep: Float = 1
        static let leastRise: Float = 2
    }

    /// What a frame shows.
    struct Frame {
        var seconds = 0.0
        /// Seconds from its beginning to the first window that shows a machine.
        var quietStart = 0.0
        /// Whether it shows a machine, and whether it shows that one goes on.
        var isOn = false
        var goesOn = false
        /// Whether somebody moved the board.
        var isHandled = false
        var hasLine = false
        /// How far the strongest band is above its floor, dB, and how far it must be.
        var rise: Float = 0
        var limit: Float = 0
        /// The bands, dB; the RMS of all of it, and of the vibration without the sensor's noise, m/s².
        var levels = SIMD16<Float>.zero
        var level = 0.0
        var vibration = 0.0
    }

    /// The sensor's noise, m/s²/√Hz per axis; `nil` if it is not known.
    var noiseDensity: Double?

    /// Whether it is still learning what off is.
    private(set) var isLearning = true

    /// Whether the last window was strong enough for a machine.
    private(set) var isRising = false

    /// The sensor's noise, m/s²/√Hz per axis, or what is assumed of it.
    var density: Double { noiseDensity ?? Rule.density }

    /// The floors of the bands, dB.
    private(set) var floors = SIMD16<Float>(repeating: -200)

    private let windows = FixedBuffer(repeating: SIMD16<Float>.zero, count: Rule.mostWindows)
    private let kurtoses = FixedBuffer<Float>(repeating: 0, count: Rule.mostWindows)
    private let sorted = FixedBuffer<Float>(repeating: 0, count: Rule.mostWindows)
    private var count = 0
    private var seconds = 0.0
    private var stillCount = 0
    /// Seconds at the beginning of the frame before a window showed a machine; `nil` if none has.
    private var quietStart: Double?
    private var square = 0.0
    private var vibrationSquare = 0.0
    /// The bands of the quietest two windows in a row, and of the last window, dB.
    private var quietest = SIMD16<Float>(repeating: .infinity)
    private var before = SIMD16<Float>.zero
    private var hasBefore = false
    /// The middle of what the bands were of late while no machine ran, dB. A machine starts within minutes; the surroundings
    /// change over hours.
    private var usual = SIMD16<Float>(repeating: -200)
    private var usualFrames: Float = 0
    /// The smallest change of the acceleration so far, m/s².
    private var step = Float.infinity
    private var judged = 0..<1
    private var rate = 0.0
    /// The line of the last windows: its frequency, Hz, and for how long it has stood, s.
    private var lineFrequency = 0.0
    private var lineTime = 0.0
    /// The windows of the frame with a line.
    private var lineCount = 0

    /// Forgets the windows of the present frame.
    mutating func reset() {
        beginFrame()
        hasBefore = false
        lineTime = 0
    }

    private mutating func beginFrame() {
        count = 0
        seconds = 0
        stillCount = 0
        lineCount = 0
        quietStart = nil
        square = 0
        vibrationSquare = 0
    }

    /// The ratio of two RMS values that differ by so many dB.
    static func factor(_ decibels: Float) -> Double { exp(Double(decibels) / 8.6858896) }

    static func decibels(_ power: Float) -> Float { 4.3429448 * Float(log(Double(max(power, 1e-12)))) }

    /// Adds a window; returns the frame that it completes.
    mutating func add(
        _ reading: VibrationWindow.Reading, isStill: Bool, rate: Double, sensitivity: Int, memory: inout MachineMemory,
        isRunning: Bool
    ) -> Frame? {
        if abs(rate - self.rate) > 0.2 * rate { begin(rate: rate, memory) }
        var bands = SIMD16<Float>(repeating: -200)
        for band in 0..<VibrationBands.count where VibrationBands.width(of: band, rate: rate) > 0 {
            bands[band] = MachineJudge.decibels(reading.bands[band])
        }
        if hasBefore { quietest = pointwiseMin(quietest, 0.5 * (bands + before)) }
        step = min(step, reading.step)
        before = bands
        hasBefore = true
        if isLearning { learnFloors(memory) }
        followLine(reading)
        let known = knownBand(memory)
        isRising = rise(of: bands, known) >= limit(sensitivity, known, memory)
        if quietStart == nil, isRising { quietStart = seconds }
        if count < Rule.mostWindows {
            windows[count] = bands
            kurtoses[count] = Float(reading.kurtosis)
            count += 1
        }
        if isStill { stillCount += 1 }
        seconds += reading.seconds
        square += Double(reading.bands[0]) * reading.seconds
        vibrationSquare += reading.level * reading.level * reading.seconds
        guard seconds + 0.5 * reading.seconds >= Rule.frame else { return nil }
        return close(sensitivity, &memory, isRunning: isRunning)
    }

    private mutating func begin(rate: Double, _ memory: borrowing MachineMemory) {
        self.rate = rate
        judged = VibrationBands.judged(rate: rate)
        quietest = SIMD16(repeating: .infinity)
        usualFrames = 0
        step = .infinity
        reset()
        learnFloors(memory)
    }

    /// A steady line stands at the same frequency from window to window, within one bin.
    private mutating func followLine(_ reading: VibrationWindow.Reading) {
        let slow = Rule.lineOfSlow * reading.slow
        guard rate >= VibrationBands.slowRate, reading.lineShare >= Rule.lineShare,
            reading.line >= max(Rule.line, slow * slow)
        else {
            lineTime = 0
            return
        }
        lineCount += 1
        let isSame = abs(reading.lineFrequency - lineFrequency) <= 1.1 / reading.seconds
        lineTime = isSame ? lineTime + reading.seconds : reading.seconds
        lineFrequency = reading.lineFrequency
    }

    private mutating func close(_ sensitivity: Int, _ memory: inout MachineMemory, isRunning: Bool) -> Frame {
        var frame = Frame()
        frame.seconds = seconds
        frame.quietStart = quietStart ?? 0
        frame.levels = SIMD16<Float>(repeating: -200)
        for band in 0..<VibrationBands.count { frame.levels[band] = median { windows[$0][band] } }
        let isBlows = median { kurtoses[$0] } > Rule.kurtosis
        frame.level = (square / seconds).squareRoot()
        frame.vibration = (vibrationSquare / seconds).squareRoot()
        frame.hasLine = lineTime >= Rule.lineTime
        let isStill = Double(stillCount) >= Rule.still * Double(count)
        frame.isHandled = !isStill && !frame.hasLine
        let known = knownBand(memory)
        frame.limit = limit(sensitivity, known, memory)
        frame.rise = rise(of: frame.levels, known)
        let stays = rate >= VibrationBands.slowRate ? frame.limit - Rule.stays : frame.limit
        frame.isOn = !frame.isHandled && (frame.rise >= frame.limit && !isBlows || frame.hasLine)
        let hasSomeLine = 2 * lineCount >= count
        frame.goesOn = isStill && frame.rise >= max(Rule.leastRise, stays) || hasSomeLine
        memory.add(frame.levels, seconds: seconds, isRunning: isRunning)
        if !isRunning { followUsual(frame.levels) }
        learnFloors(memory)
        beginFrame()
        return frame
    }

    /// Follows the median of the bands: by a step up or down.
    private mutating func followUsual(_ levels: SIMD16<Float>) {
        usualFrames = min(usualFrames + 1, 1 / Rule.follows)
        let step = 1 / usualFrames
        for band in 0..<VibrationBands.count {
            let off = levels[band] - usual[band]
            usual[band] = usualFrames == 1 ? levels[band] : usual[band] + max(-step, min(step, off))
        }
    }

    /// The median of a value over the frame's windows.
    private func median(_ value: (Int) -> Float) -> Float {
        for index in 0..<count {
            let new = value(index)
            var place = index
            while place > 0, sorted[place - 1] > new {
                sorted[place] = sorted[place - 1]
                place -= 1
            }
            sorted[place] = new
        }
        return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2])
    }

    private mutating func learnFloors(_ memory: borrowing MachineMemory) {
        isLearning = memory.secondsOff < Rule.learning
        for band in 0..<VibrationBands.count {
            defer { floors[band] = max(floors[band], countNoise(of: band)) }
            if isLearning {
                floors[band] = min(quietest[band] + Rule.quietest, noise(of: band))
            } else {
                let floor = memory.floor(of: band)
                let width = rate >= VibrationBands.slowRate ? floor.middle - floor.low - Rule.usualWidth : 0
                floors[band] = max(floor.low + Rule.margin + max(0, min(Rule.mostWidth, width)), usual[band])
            }
        }
    }

    /// The power of a reading that toggles between two counts, in a band, dB: a coarse sensor does so at times, and is silent at
    /// others.
    private func countNoise(of band: Int) -> Float {
        guard step < .infinity, rate > 0 else { return -200 }
        let share = Float(VibrationBands.width(of: band, rate: rate) / (0.5 * rate))
        return MachineJudge.decibels(3 * Rule.toggling * step * step * share)
    }

    /// The power of the sensor's own noise in a band, dB.
    private func noise(of band: Int) -> Float {
        var power = 3 * density * density * VibrationBands.width(of: band, rate: rate)
        if rate < VibrationBands.slowRate {
            // Aliasing folds all of it into the band.
            power = max(power, VibrationWindow.slowNoise * VibrationWindow.slowNoise)
        }
        return MachineJudge.decibels(Float(power)) + Rule.overDensity
    }

    /// How far a band must be above its floor, dB.
    private func limit(_ sensitivity: Int, _ known: Int?, _ memory: borrowing MachineMemory) -> Float {
        let isSlow = rate < VibrationBands.slowRate
        var limit = isSlow ? Rule.slowRise : isLearning ? Rule.coldRise : Rule.rise
        if let known {
            limit = max(Rule.slowRise, min(Rule.most, 0.5 * (memory.runs.running[known] - floors[known])))
        }
        return max(Rule.leastRise, limit - Rule.sensitivityStep * Float(sensitivity - 5))
    }

    /// The band that distinguishes the running machine best, once it is known.
    private func knownBand(_ memory: borrowing MachineMemory) -> Int? {
        // With a single band there is no better one, and little is left of the machine in it.
        guard !isLearning, rate >= VibrationBands.slowRate, memory.runs.knowsRunning else { return nil }
        var best = judged.lowerBound
        for band in judged
        where memory.runs.running[band] - floors[band] > memory.runs.running[best] - floors[best] { best = band }
        return best
    }

    /// How far the known band is above its floor, or the strongest one, dB.
    private func rise(of levels: SIMD16<Float>, _ known: Int?) -> Float {
        if let known { return levels[known] - floors[known] }
        var most: Float = -200
        for band in judged { most = max(most, levels[band] - floors[band]) }
        return most
    }

    /// Somebody says that the machine is off: the last frame counts as long as it takes to learn a floor.
    mutating func learnOff(_ memory: inout MachineMemory, _ frame: Frame) {
        guard frame.seconds > 0 else { return }
        memory.add(
            frame.levels, seconds: frame.seconds, isRunning: false, times: Rule.learning / Float(frame.seconds))
        learnFloors(memory)
    }
}
