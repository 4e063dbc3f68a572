/// Finds readings that cannot be measurements, along the sensor's axes.
///
/// What it reports it has seen for seconds. Until then it doubts: a doubtful sample is no reason for a gesture.
struct MeasurementCheck: Sendable, BitwiseCopyable {
    /// The judgement of a sample.
    enum Verdict: Sendable, BitwiseCopyable {
        case plausible
        /// No gesture may follow from it.
        case doubtful
        /// Nothing may follow from it: there is a `fault`.
        case impossible
    }

    /// What is wrong; `nil` if nothing is.
    private(set) var fault: MeasurementFault?

    private var accelerometer = AxesCheck()
    private var gyroscope = AxesCheck()
    /// Whether an axis repeated its value, was clipped or may have been zero when the last sample was processed.
    private var isSuspicious = true
    /// Seconds of plausible samples since the fault was last seen.
    private var plausibleTime = 0.0
    /// Samples in the current block, and whether the sensor was at rest when it began.
    private var blockCount = 0
    private var isBlockAtRest = false

    /// Samples in a block, at whose end each axis's noise is judged.
    private static let blockLength = 128
    /// Seconds of plausible samples that end a fault.
    private static let recovery = 1.0

    /// Judges a sample that is `interval` seconds later than the one before. `isAtRest`: whether the sensor was at rest then.
    @inline(__always)
    mutating func judge(_ sample: MotionSample, interval: Double, isAtRest: Bool) -> Verdict {
        blockCount += 1
        if !isSuspicious, blockCount < Self.blockLength, sample.flags.isDisjoint(with: .clipped),
            accelerometer.differs(from: sample.acceleration),
            gyroscope.differs(from: sample.rotationRate) || !sample.flags.contains(.rotationRate)
        {
            accelerometer.last = sample.acceleration
            gyroscope.last = sample.rotationRate
            return .plausible
        }
        return examine(sample, interval: interval, isAtRest: isAtRest)
    }

    @inline(never)
    private mutating func examine(_ sample: MotionSample, interval: Double, isAtRest: Bool) -> Verdict {
        let flags = Int(sample.flags.rawValue >> 2)
        accelerometer.update(sample.acceleration, clipped: flags & 0b111, interval: interval)
        if sample.flags.contains(.rotationRate) {
            gyroscope.update(sample.rotationRate, clipped: flags >> 3 & 0b111, interval: interval)
        }
        if blockCount >= Self.blockLength {
            accelerometer.endBlock(of: blockCount, isAtRest: isAtRest && isBlockAtRest)
            gyroscope.endBlock(of: blockCount, isAtRest: isAtRest && isBlockAtRest)
            blockCount = 0
            isBlockAtRest = isAtRest
        }
        isSuspicious = true
        if let found = found {
            fault = found
            plausibleTime = 0
            return .impossible
        }
        let isDoubtful = accelerometer.isDoubtful || gyroscope.isDoubtful || accelerometer.mayBeZero
        if fault != nil {
            plausibleTime = isDoubtful ? 0 : plausibleTime + interval
            guard plausibleTime >= Self.recovery else { return .impossible }
            fault = nil
        }
        isSuspicious = accelerometer.isSuspicious || gyroscope.isSuspicious || accelerometer.mayBeZero
        return isDoubtful ? .doubtful : .plausible
    }

    private var found: MeasurementFault? {
        if accelerometer.isZero { return MeasurementFault(.accelerometer, axis: 0, .zero) }
        if let (axis, kind) = accelerometer.fault { return MeasurementFault(.accelerometer, axis: axis, kind) }
        if let (axis, kind) = gyroscope.fault { return MeasurementFault(.gyroscope, axis: axis, kind) }
        return nil
    }
}

/// The three axes of one sensor: which of them are clipped, and which repeat a value although they have noise.
private struct AxesCheck: Sendable, BitwiseCopyable {
    var last = Vector3.unknown
    /// Seconds for which each axis has been clipped, and has had the same value; the samples of the latter.
    private var clippedTime = Vector3.zero
    private var constantTime = Vector3.zero
    private var constantCount = Vector3.zero
    /// Seconds and samples for which all axes have been zero, and whether they ever were not.
    private var zeroTime = 0.0
    private var zeroCount = 0
    private var hasMeasured = false
    /// Repetitions in the current block, and the axes that seldom repeat a value at rest: bit 0 for x.
    private var repetitions = Vector3.zero
    private var noisyAxes = 0
    /// The axis whose neighbours are watched while it keeps its value: their extremes, the samples in which they changed, and
    /// the smallest change.
    private var watched: Int?
    private var lowest = Vector3.zero
    private var highest = Vector3.zero
    private var changes = Vector3.zero
    private var smallestChange = Double.infinity

    /// Seconds of clipping, of one value and of zero that are a fault.
    private static let longestClipping = 2.0
    private static let longestConstant = 10.0
    private static let longestZero = 1.0
    /// Seconds of clipping that are doubtful: longer than a swing of a shake or a blow lasts.
    private static let doubtfulClipping = 0.25
    /// Repetitions that are doubtful if the axis has noise: it hardly makes a third of them by chance.
    private static let doubtfulCount = 25.0
    private static let doubtfulZeros = 8
    /// The largest share of repetitions, in a block at rest, of an axis with noise: its standard deviation is a count or more.
    private static let noisyShare = 0.3
    /// By how many counts the neighbours of a constant axis vary, less half a count for rounding.
    private static let neighbourCounts = 3.5

    /// Whether no axis repeats its value.
    @inline(__always)
    func differs(from reading: Vector3) -> Bool {
        reading.x != last.x && reading.y != last.y && reading.z != last.z
    }

    mutating func update(_ reading: Vector3, clipped: Int, interval: Double) {
        if reading == .zero {
            zeroTime += interval
            zeroCount += 1
        } else {
            zeroTime = 0
            zeroCount = 0
            hasMeasured = true
        }
        for axis in 0..<3 {
            let isClipped = clipped & 1 << axis != 0
            clippedTime[axis] = isClipped ? clippedTime[axis] + interval : 0
            if reading[axis] == last[axis] { repetitions[axis] += 1 }
            // What is clipped repeats itself.
            if reading[axis] == last[axis], !isClipped {
                constantTime[axis] += interval
                constantCount[axis] += 1
            } else {
                constantTime[axis] = 0
                constantCount[axis] = 0
                if watched == axis { watched = nil }
            }
        }
        watchNeighbours(reading)
        last = reading
    }

    private mutating func watchNeighbours(_ reading: Vector3) {
        guard watched != nil else {
            for axis in 0..<3 where constantCount[axis] >= Self.doubtfulCount { watched = axis }
            lowest = reading
            highest = reading
            changes = .zero
            smallestChange = .infinity
            return
        }
        for axis in 0..<3 {
            lowest[axis] = min(lowest[axis], reading[axis])
            highest[axis] = max(highest[axis], reading[axis])
            let change = abs(reading[axis] - last[axis])
            guard change > 0 else { continue }
            changes[axis] += 1
            smallestChange = min(smallestChange, change)
        }
    }

    /// Judges each axis's noise by the repetitions in a block, unless the sensor moved. An axis that keeps its value now shows
    /// nothing about it.
    mutating func endBlock(of count: Int, isAtRest: Bool) {
        if isAtRest {
            for axis in 0..<3 where constantCount[axis] < Self.doubtfulCount {
                let isNoisy = repetitions[axis] < Self.noisyShare * Double(count)
                noisyAxes = isNoisy ? noisyAxes | 1 << axis : noisyAxes & ~(1 << axis)
            }
        }
        repetitions = .zero
    }

    // MARK: Judgement

    /// Whether an axis is clipped or repeats its value.
    var isSuspicious: Bool { constantCount != .zero || clippedTime != .zero }

    /// Whether all axes are zero and nothing else has been measured, or zero has no noise.
    var mayBeZero: Bool {
        !hasMeasured || zeroCount >= Self.doubtfulZeros && noisyAxes == 0b111
    }

    var isZero: Bool { zeroTime >= Self.longestZero }

    var isDoubtful: Bool {
        for axis in 0..<3 {
            if clippedTime[axis] >= Self.doubtfulClipping { return true }
            if isNoisy(axis), constantCount[axis] >= Self.doubtfulCount { return true }
        }
        return false
    }

    var fault: (axis: Int, kind: MeasurementFault.Kind)? {
        for axis in 0..<3 {
            if clippedTime[axis] >= Self.longestClipping { return (axis, .clipped) }
            if constantTime[axis] >= Self.longestConstant, isNoisy(axis) || watched == axis && haveNeighboursNoise {
                return (axis, .constant)
            }
        }
        return nil
    }

    private func isNoisy(_ axis: Int) -> Bool { noisyAxes & 1 << axis != 0 }

    /// Whether both other axes changed in most samples, by more than the noise of a coarse chip.
    private var haveNeighboursNoise: Bool {
        guard let watched else { return false }
        let least = Self.neighbourCounts * smallestChange
        for axis in 0..<3 where axis != watched {
            if changes[axis] < 0.5 * constantCount[watched] || highest[axis] - lowest[axis] < least { return false }
        }
        return true
    }
}
