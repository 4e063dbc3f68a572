/// Finds readings that cannot be measurements, along the sensor's axes.
///
/// Samples are judged in blocks of eight. A fault takes seconds to show. Until then its samples are doubtful: no gesture may
/// follow from them.
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

    private var verdict = Verdict.doubtful
    /// Whether the last block left nothing to remember but the noise.
    private var isUnremarkable = false
    /// Seconds without doubt since the fault was last seen.
    private var plausibleTime = 0.0

    // The present block: its first reading, its samples and seconds, and as bit sets, 0 to 2 for the accelerometer's axes and
    // 3 to 5 for the gyroscope's, the axes that had another value since, and those that were always clipped.
    private var first = SixAxes()
    private var count = 0
    private var duration = 0.0
    private var changed = 0
    private var clipped = 0

    /// Seconds for which each axis has been clipped; seconds and blocks for which it has had the same value.
    private var clippedTime = SixAxes()
    private var constantTime = SixAxes()
    private var constantBlocks = SixAxes()
    /// Seconds for which the whole accelerometer has been zero, and whether it ever was not.
    private var zeroTime = 0.0
    private var hasForce = false

    /// The axes with so much noise at rest that one value is no chance.
    private var noisyAxes = 0
    /// The rest that is being judged: its blocks, the axes that changed in all of them, the extremes of the blocks' first readings
    /// and the smallest difference of two in a row.
    private var blocksAtRest = 0
    private var changedAtRest = Self.all
    private var lowestAtRest = SixAxes()
    private var highestAtRest = SixAxes()
    private var previousAtRest = SixAxes()
    private var stepAtRest = SixAxes()

    /// The axis of the accelerometer whose neighbours are watched while it keeps its value: their extremes, their changes from
    /// block to block, how often these changed their sign, and the smallest.
    private var watched: Int?
    private var lowest = Vector3.zero
    private var highest = Vector3.zero
    private var previous = Vector3.zero
    private var change = Vector3.zero
    private var reversals = Vector3.zero
    private var smallestChange = Double.infinity

    private static var all: Int { 0b111111 }
    private static var accelerometer: Int { 0b111 }
    private static var gyroscope: Int { 0b111000 }

    /// Judges a sample that is `interval` seconds later than the one before. `isAtRest`: whether the sensor was at rest then.
    @inline(__always)
    mutating func judge(_ sample: MotionSample, interval: Double, isAtRest: Bool) -> Verdict {
        if count == 0 {
            first = SixAxes(sample.acceleration, sample.rotationRate)
            changed = sample.flags.contains(.rotationRate) ? 0 : Self.gyroscope
            clipped = Self.all
        } else if changed != Self.all {
            changed |= first.differences(sample.acceleration, sample.rotationRate)
        }
        clipped &= sample.flags.clippedAxes
        count += 1
        // What was in a gap is not known.
        duration += min(interval, Self.longestInterval)
        if count >= Self.blockLength || !hasForce { endBlock(sample, isAtRest: isAtRest) }
        return verdict
    }

    @inline(never)
    private mutating func endBlock(_ sample: MotionSample, isAtRest: Bool) {
        defer {
            count = 0
            duration = 0
        }
        learnNoise(isAtRest: isAtRest)
        // Shortcut: in most blocks nothing is remarkable.
        if isUnremarkable, changed == Self.all, clipped == 0 { return }
        // A block of one sample changes nothing.
        let constant = count > 1 ? ~changed & Self.all : 0
        let isZero = sample.acceleration == .zero && (constant & Self.accelerometer == Self.accelerometer || !hasForce)
        zeroTime = isZero ? zeroTime + duration : 0
        hasForce = hasForce || sample.acceleration != .zero
        for axis in 0..<6 {
            let bit = 1 << axis
            clippedTime[axis] = clipped & bit != 0 ? clippedTime[axis] + duration : 0
            // What is clipped repeats itself.
            if constant & ~clipped & bit != 0 {
                constantTime[axis] += duration
                constantBlocks[axis] += 1
            } else {
                constantTime[axis] = 0
                constantBlocks[axis] = 0
                if watched == axis { watched = nil }
            }
        }
        watchNeighbours(sample.acceleration)
        judgeBlock()
        isUnremarkable = fault == nil && changed == Self.all && clipped == 0 && hasForce
    }

    private mutating func judgeBlock() {
        if let found {
            fault = found
            plausibleTime = 0
            verdict = .impossible
            return
        }
        verdict = isDoubtful ? .doubtful : .plausible
        guard fault != nil else { return }
        plausibleTime = isDoubtful ? 0 : plausibleTime + duration
        if plausibleTime >= Self.recovery { fault = nil } else { verdict = .impossible }
    }

    // MARK: Noise

    /// Finds the axes that change in all blocks of a rest, and by several counts: one whose mean lies between two counts changes,
    /// too, and is constant after the next movement. A block in which an axis may be frozen shows nothing about it.
    private mutating func learnNoise(isAtRest: Bool) {
        guard isAtRest, verdict == .plausible else {
            blocksAtRest = 0
            return
        }
        if blocksAtRest == 0 {
            changedAtRest = Self.all
            lowestAtRest = first
            highestAtRest = first
            previousAtRest = first
            stepAtRest = SixAxes(Vector3(.infinity, .infinity, .infinity), Vector3(.infinity, .infinity, .infinity))
        }
        changedAtRest &= changed
        for axis in 0..<6 {
            let value = first[axis]
            let step = abs(value - previousAtRest[axis])
            if step > 0 { stepAtRest[axis] = min(stepAtRest[axis], step) }
            lowestAtRest[axis] = min(lowestAtRest[axis], value)
            highestAtRest[axis] = max(highestAtRest[axis], value)
        }
        previousAtRest = first
        blocksAtRest += 1
        guard blocksAtRest >= Self.blocksOfNoise else { return }
        blocksAtRest = 0
        noisyAxes = 0
        for axis in 0..<6 where changedAtRest & 1 << axis != 0 {
            let span = highestAtRest[axis] - lowestAtRest[axis]
            if span >= Self.noisyCounts * stepAtRest[axis] { noisyAxes |= 1 << axis }
        }
    }

    /// Observes the other axes of the accelerometer while one keeps its value. The noise of most gyroscopes is less than a count
    /// in the usual range.
    private mutating func watchNeighbours(_ reading: Vector3) {
        defer { previous = reading }
        guard let watched else {
            for axis in 0..<3 where constantBlocks[axis] > 0 { self.watched = axis }
            lowest = reading
            highest = reading
            reversals = .zero
            smallestChange = .infinity
            return
        }
        for axis in 0..<3 where axis != watched {
            lowest[axis] = min(lowest[axis], reading[axis])
            highest[axis] = max(highest[axis], reading[axis])
            let step = reading[axis] - previous[axis]
            guard step != 0 else { continue }
            if step * change[axis] < 0 { reversals[axis] += 1 }
            change[axis] = step
            smallestChange = min(smallestChange, abs(step))
        }
    }

    /// Whether both neighbours of the watched axis have noise: they often went back, and by more than a coarse chip's. A smooth
    /// movement without any noise is calculated, and may keep an axis where it is.
    private var haveNeighboursNoise: Bool {
        // With larger counts, a machine that shakes two axes may not show in the third one.
        guard let watched, smallestChange <= Self.largestCount else { return false }
        let least = Self.neighbourCounts * smallestChange
        for axis in 0..<3 where axis != watched {
            let isNoisy = reversals[axis] >= Self.reversalShare * constantBlocks[watched]
            if !isNoisy || highest[axis] - lowest[axis] < least { return false }
        }
        return true
    }

    // MARK: Judgement

    private var isDoubtful: Bool {
        if !hasForce || zeroTime > 0 && noisyAxes & Self.accelerometer == Self.accelerometer { return true }
        for axis in 0..<6 {
            if clippedTime[axis] >= Self.doubtfulClipping { return true }
            if noisyAxes & 1 << axis != 0, constantBlocks[axis] >= Self.doubtfulBlocks { return true }
        }
        return false
    }

    private var found: MeasurementFault? {
        if zeroTime >= Self.longestZero { return MeasurementFault(.accelerometer, axis: 0, .zero) }
        for axis in 0..<6 {
            if clippedTime[axis] >= Self.longestClipping { return fault(axis, .clipped) }
            let isLong = constantTime[axis] >= Self.longestConstant && constantBlocks[axis] >= Self.fewestBlocks
            if isLong, noisyAxes & 1 << axis != 0 || watched == axis && haveNeighboursNoise {
                return fault(axis, .constant)
            }
        }
        return nil
    }

    private func fault(_ axis: Int, _ kind: MeasurementFault.Kind) -> MeasurementFault {
        MeasurementFault(axis < 3 ? .accelerometer : .gyroscope, axis: axis % 3, kind)
    }

    // MARK: Limits

    private static var blockLength: Int { 8 }
    /// Seconds from sample to sample at the lowest rate.
    private static var longestInterval: Double { 0.25 }
    /// Seconds of clipping, of one value and of zero that are a fault; and of plausible samples that end it.
    private static var longestClipping: Double { 2 }
    private static var longestConstant: Double { 10 }
    private static var longestZero: Double { 2 }
    private static var recovery: Double { 1 }
    /// Seconds of clipping that are doubtful: longer than a swing of a shake or a blow lasts.
    private static var doubtfulClipping: Double { 0.25 }
    /// Blocks of one value that are doubtful if the axis has noise: it hardly has a single one by chance.
    private static var doubtfulBlocks: Double { 3 }
    /// The fewest blocks of one value that are a fault, at rates of a few samples a second.
    private static var fewestBlocks: Double { 12 }
    /// Blocks of rest in all of which an axis with noise changes, and the counts that it spans: two or three times its standard
    /// deviation.
    private static var blocksOfNoise: Int { 16 }
    private static var noisyCounts: Double { 2.5 }
    /// The largest count that is finer than the noise of every accelerometer, m/s²: ±8 g in 16 bits.
    private static var largestCount: Double { 0.0026 }
    /// The share of blocks in which the neighbours of a constant axis go back, two thirds by noise alone; and by how many counts
    /// they vary, less half a count for rounding.
    private static var reversalShare: Double { 0.2 }
    private static var neighbourCounts: Double { 3.5 }
}

/// A value for each axis: 0 to 2 of the accelerometer, 3 to 5 of the gyroscope.
private struct SixAxes: Sendable, BitwiseCopyable {
    var acceleration: Vector3
    var rotationRate: Vector3

    init(_ acceleration: Vector3 = .zero, _ rotationRate: Vector3 = .zero) {
        self.acceleration = acceleration
        self.rotationRate = rotationRate
    }

    subscript(axis: Int) -> Double {
        get { axis < 3 ? acceleration[axis] : rotationRate[axis - 3] }
        set { if axis < 3 { acceleration[axis] = newValue } else { rotationRate[axis - 3] = newValue } }
    }

    /// The axes whose values differ, as a bit set.
    @inline(__always)
    func differences(_ force: Vector3, _ rate: Vector3) -> Int {
        var axes = 0
        if force.x != acceleration.x { axes |= 1 }
        if force.y != acceleration.y { axes |= 2 }
        if force.z != acceleration.z { axes |= 4 }
        if rate.x != rotationRate.x { axes |= 8 }
        if rate.y != rotationRate.y { axes |= 16 }
        if rate.z != rotationRate.z { axes |= 32 }
        return axes
    }
}

/// What the readings of a sensor show that no movement can: the chip, its supply or its wires are broken.
public struct MeasurementFault: Equatable, Sendable, BitwiseCopyable {
    /// A sensor of the chip.
    public enum Sensor: Sendable, BitwiseCopyable {
        case accelerometer
        case gyroscope
    }

    /// What is impossible about the readings.
    public enum Kind: Sendable, BitwiseCopyable {
        /// The axis was at the end of its range in every sample for 2 s.
        case clipped
        /// The axis kept exactly one value for 10 s, without the noise that it had before or that the other axes have.
        case constant
        /// All axes have been exactly zero for 2 s: even in free fall a sensor has noise.
        case zero
    }

    public var sensor: Sensor
    /// 0, 1 or 2: the sensor's axis x, y or z.
    public var axis: Int
    public var kind: Kind

    @inlinable
    public init(_ sensor: Sensor, axis: Int, _ kind: Kind) {
        self.sensor = sensor
        self.axis = axis
        self.kind = kind
    }
}
