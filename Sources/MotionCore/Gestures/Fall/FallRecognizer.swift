/// Recognises falls: free fall, and the impact at its end.
///
/// In free fall an accelerometer reads nearly zero, whatever the attitude. A swung arm, a jogger and a shaken board
/// also read low values, but for a shorter time, farther from zero, and not after a quiet period. So weightlessness is
/// weighted: the closer to zero, the more a moment counts.
///
/// A fall begins in one of three cases:
/// - The weighted time is long enough to be certain. It takes longer after a push, which may be a throw or a jump of
///   the person who carries the board.
/// - A hard impact ends a short weightlessness that followed a quiet period.
/// - Flight follows a blow, as for an object that was struck or bounces.
///
/// A fall ends shortly after the impact. It is cancelled if there is no impact.
struct FallRecognizer: ~Copyable {
    var settings: FallSettings { didSet { gain = settings.common.gain(step: Rule.sensitivityStep) } }

    private var freeFall = FreeFall()
    private var gain: Double
    private var time = 0.0
    private var state = State.armed

    /// The latest blow: its highest squared specific force and the linear acceleration at that moment (m/s²), and when
    /// it began.
    private var blow = Peak()
    private var blowBegan = -Double.infinity
    /// The peak of the samples in the current cell.
    private var peak = Peak()
    private var isClipped = false
    /// The mean interval of the samples, s.
    private var interval = 0.0

    /// The fall in progress: its length in cells, when the body was last weightless, and when it landed.
    private var length = 0
    private var lastWeightless = 0.0
    private var landed: Double?
    /// Whether the fall began with a blow, so that it need not land hard.
    private var wasStruck = false
    /// Until this time only a bounce counts as another fall.
    private var onlyBounceUntil = -Double.infinity
    private var hasNotedMiss = false

    private struct Peak {
        var square = 0.0
        var linear = Vector3.zero
    }

    private enum State {
        case armed
        case falling
        /// A fall was too long: waits for its end.
        case tooLong
    }

    init(settings: FallSettings) {
        self.settings = settings
        gain = settings.common.gain(step: Rule.sensitivityStep)
    }

    /// Whether it may have begun to fall.
    var isUndecided: Bool { state == .armed && freeFall.start != nil }

    /// Resets the recognizer without an event; the caller cancels a fall in progress.
    mutating func reset() {
        freeFall.reset()
        state = .armed
        blow = Peak()
        blowBegan = -.infinity
        peak = Peak()
        isClipped = false
        landed = nil
        onlyBounceUntil = -.infinity
        hasNotedMiss = false
    }

    /// Whether the samples are so far apart that the line between two of them hides how suddenly a flight begins and ends,
    /// and whether it also hides a blow.
    private var isSparse: Bool { Rule.sparse.contains(interval) }
    private var isCoarse: Bool { Rule.coarse.contains(interval) }

    /// Takes the peak of short blows from the samples; everything else is computed from cells.
    mutating func observe(_ sample: GestureSample) {
        let square = sample.acceleration.lengthSquared
        if square > peak.square {
            peak = Peak(square: square, linear: sample.acceleration - sample.gravity)
        }
        if sample.isClipped { isClipped = true }
        // A lost sample is no lower rate.
        interval = interval == 0 ? sample.interval : interval + Rule.smoothing * (sample.interval - interval)
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        let couldFall = freeFall.start
        let certainty = freeFall.certainty
        let magnitude = freeFall.append(
            isSparse ? cell.nearest : cell.acceleration, rotationRate: cell.rotationRate)
        noteBlow()
        defer { isClipped = false }
        switch state {
        case .falling:
            return follow(magnitude, at: cell.timestamp)
        case .tooLong:
            if freeFall.start == nil { state = .armed }
            return nil
        case .armed:
            let blow = isSparse && !isCoarse ? cell.acceleration.length / standardGravity : magnitude
            if let event = beginning(blow, at: cell.timestamp, &misses) { return event }
            if couldFall != nil, freeFall.start == nil {
                noteShortness(certainty, at: cell.timestamp, &misses)
                hasNotedMiss = false
            }
            return nil
        }
    }
}

extension FallRecognizer {
    /// Constants of the rule.
    private enum Rule {
        /// After a push above this, in g, free fall must be more certain by this factor: it may be a jump.
        static let push = 1.6
        static let pushFactor = 1.8
        /// Largest standard deviation of the acceleration beforehand, in g: for a long fall, and for one recognised by
        /// its impact.
        static let deviation = 0.8
        static let deviationBeforeBlow = 0.3
        /// The impact that reveals a short fall, in g: the weakest one, and the one that needs only `briefest` s of
        /// fall; weaker ones need more.
        static let leastBlow = 3.0
        static let hardBlow = 4.5
        static let briefest = 0.05
        /// A blow that strikes the body into the air, in g; the seconds of flight that confirm it; and the number of
        /// cells before the flight in which it must lie, which are fewer if the cells do not smooth its end.
        static let strike = 3.5
        static let struckFor = 0.06
        static let strikeCells = 6
        static let sparseStrikeCells = 4
        /// The mean intervals of samples, s, at which a cell is the sample nearest to its middle: that shows half an interval
        /// more of a flight at each end, and more of a blow. Below the second range, a mean shows enough of a blow, and an
        /// impact is told from a hand that hits a table. At 20 Hz, samples do not tell it from a swung arm.
        static let sparse = 0.019...0.045
        static let coarse = 0.028...0.045
        /// The share of a blow's peak that coarse samples show, compared with cells of finer ones.
        static let coarsePeak = 0.8
        /// The share of what an interval is longer than a cell by which a flight is longer than sparse samples show: the one in
        /// which it ends shows the blow too.
        static let unseen = 0.5
        /// The share of a sample in the mean interval.
        static let smoothing = 0.1
        /// Movement earlier than this many cells before a flight does not belong to the blow.
        static let strikeOnset = 10
        /// The weakest impact before a bounce, in g.
        static let bounce = 3.0
        /// Seconds from the beginning of a fall within which another one must be a bounce.
        static let rearmDelay = 1.0
        /// The weakest landing, in g, and the seconds from its first sign in which its peak is searched.
        static let landing = 1.5
        static let landingTime = 0.1
        /// Seconds after free fall in which the body must land: hands that catch it are slow.
        static let landingDelay = 0.5
        /// Seconds after which a blow counts as another one.
        static let blowLength = 0.15
        /// The share of the needed certainty that makes a near miss.
        static let nearMiss = 0.6
        /// Each step of sensitivity divides the required values by this.
        static let sensitivityStep = 1.12
    }

    /// Records the peak of a blow in the last samples.
    private mutating func noteBlow() {
        // At low sample rates, a blow during weightless cells is already the landing that ends them.
        guard freeFall.start == nil else { return }
        let cell = peak
        peak = Peak()
        let least = Rule.landing * standardGravity
        guard cell.square > least * least else { return }
        if time - blowBegan > Rule.blowLength {
            blowBegan = time
            blow = cell
        } else if cell.square > blow.square {
            blow = cell
        }
    }

    /// Returns an event if a fall has begun.
    private mutating func beginning(
        _ magnitude: Double, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> GestureEvent? {
        let needed = settings.minimumDuration / gain
        let strikeCells = isSparse ? Rule.sparseStrikeCells : Rule.strikeCells
        let shown = isCoarse ? Rule.coarsePeak : 1
        let unseen = isSparse ? Rule.unseen * max(0, interval - CellGrid.cell) : 0
        if let start = freeFall.start {
            guard freeFall.certainty + unseen >= Rule.struckFor / gain else { return nil }
            if time < onlyBounceUntil {
                guard
                    freeFall.certainty >= needed,
                    freeFall.peak(before: start, cells: strikeCells) >= Rule.bounce / gain
                else { return nil }
                return begin(at: timestamp, wasStruck: true)
            }
            if freeFall.certainty >= needed {
                let wasPushed = freeFall.peak(before: start) > Rule.push * gain
                if !wasPushed || freeFall.certainty >= Rule.pushFactor * needed {
                    let deviation = freeFall.deviation(before: start)
                    if deviation < Rule.deviation * gain { return begin(at: timestamp) }
                    if !hasNotedMiss {
                        misses.add(
                            .fall, .noQuietBefore, at: timestamp, value: deviation * standardGravity,
                            limit: Rule.deviation * gain * standardGravity)
                    }
                    hasNotedMiss = true
                }
            }
            guard
                freeFall.peak(before: start, cells: strikeCells) >= Rule.strike * shown / gain,
                freeFall.deviation(before: start - Rule.strikeOnset) < Rule.deviationBeforeBlow * gain
            else { return nil }
            return begin(at: timestamp, wasStruck: true)
        }
        guard
            magnitude >= Rule.leastBlow * shown / gain, time >= onlyBounceUntil,
            let fall = freeFall.leadingToBlow(isCoarse: isCoarse)
        else { return nil }
        let hardness = isClipped ? max(magnitude, Rule.hardBlow) : magnitude
        let weakness = max(1, Rule.hardBlow / gain / hardness)
        guard
            fall.certainty + unseen >= Rule.briefest / gain * weakness * weakness,
            max(freeFall.peak(before: fall.start), fall.between) < Rule.push * gain,
            freeFall.deviation(before: fall.start) < Rule.deviationBeforeBlow * gain
        else { return nil }
        return begin(at: timestamp, length: fall.length)
    }

    /// Records that free fall was too short: as it was, or after a push.
    private func noteShortness(_ certainty: Double, at timestamp: Timestamp, _ misses: inout NearMisses) {
        let needed = settings.minimumDuration / gain
        guard !hasNotedMiss, certainty > Rule.nearMiss * needed else { return }
        if certainty < needed {
            misses.add(.fall, .tooShort, at: timestamp, value: certainty, limit: needed)
        } else if time < onlyBounceUntil {
            misses.add(
                .fall, .tooSoon, at: timestamp, value: time - onlyBounceUntil + Rule.rearmDelay,
                limit: Rule.rearmDelay)
        } else {
            let limit = Rule.pushFactor * needed
            misses.add(.fall, .tooShort, at: timestamp, value: min(certainty, limit), limit: limit)
        }
    }

    private mutating func begin(at timestamp: Timestamp, length: Int? = nil, wasStruck: Bool = false) -> GestureEvent {
        state = .falling
        hasNotedMiss = false
        onlyBounceUntil = time + Rule.rearmDelay
        self.length = length ?? freeFall.length
        lastWeightless = time
        self.wasStruck = wasStruck
        // A fall recognised by its impact has already landed.
        landed = length == nil ? nil : blowBegan
        return event(.began, at: timestamp)
    }

    /// Follows a fall in progress until it lands or is cancelled.
    private mutating func follow(_ magnitude: Double, at timestamp: Timestamp) -> GestureEvent? {
        if let landed {
            guard time - landed >= Rule.landingTime else { return nil }
            return close(.ended, reason: nil, at: timestamp)
        }
        if freeFall.start != nil {
            length = freeFall.length
            lastWeightless = time
            guard Double(length) * CellGrid.cell > settings.maximumDuration else { return nil }
            state = .tooLong
            return close(.cancelled, reason: .tooLong, at: timestamp)
        }
        if blowBegan >= lastWeightless {
            landed = blowBegan
        } else if time - lastWeightless > Rule.landingDelay {
            return wasStruck
                ? close(.ended, reason: nil, at: timestamp) : close(.cancelled, reason: .tooWeak, at: timestamp)
        }
        return nil
    }

    private mutating func close(
        _ phase: GesturePhase, reason: CancellationReason?, at timestamp: Timestamp
    ) -> GestureEvent {
        var last = event(phase, at: timestamp)
        last.reason = reason
        if phase == .ended { last.strength = blow.linear.length }
        if state == .falling { state = .armed }
        landed = nil
        return last
    }

    private func event(_ phase: GesturePhase, at timestamp: Timestamp) -> GestureEvent {
        var event = GestureEvent(.fall, phase, at: timestamp)
        // On average, half of the cell with the impact was still free fall.
        let duration = (Double(length) + (phase == .ended ? 0.5 : 0)) * CellGrid.cell
        event.duration = duration
        event.height = 0.5 * standardGravity * duration * duration
        return event
    }
}

/// Detects weightlessness cell by cell and keeps the magnitudes of acceleration before it, for 2.5 s.
struct FreeFall: ~Copyable {
    /// Cells in the buffer: a power of two so that an index wraps with a mask; more than `quietFrom` and the window of
    /// a blow.
    private static let capacity = 256
    private static let mask = capacity - 1

    /// Acceleration below which the body is weightless, in g. It is not 0, because a spinning body feels centrifugal
    /// force and air resistance slows it down.
    private static let limit = 0.48
    /// Acceleration that a single cell may have within a free fall, in g: the board brushed against a hand or an edge.
    private static let brushed = 1.2
    /// Distance of the sensor from the centre of a spinning board, m, and the largest acceleration in g that is
    /// attributed to spin.
    private static let offCentre = 0.02
    private static let spinLimit = 0.6

    /// Cells in which the body must have been quiet, counted back from the beginning of the fall: from 2.5 s to 0.6 s
    /// before.
    private static let quietFrom = 125
    private static let quietTo = 30
    /// Cells before the fall in which a push is searched.
    private static let pushed = 20
    /// Cells before an impact in which the preceding fall is searched, and the acceleration in g below which a cell
    /// counts.
    private static let searched = 20
    /// Cells in which the force of an impact rises; that of a swing takes longer. At coarse intervals it rises within one
    /// sample, which shows at most this share of it.
    private static let rising = 1
    private static let coarselyRising = 2
    private static let risen = 0.5
    private static let lowBeforeBlow = 0.6

    private let magnitudes = FixedBuffer(repeating: 1.0, count: FreeFall.capacity)

    /// The number of cells so far.
    private(set) var count = 0
    /// The cell in which the current free fall began; `nil` if there is none.
    private(set) var start: Int?
    /// The certainty of the free fall, in seconds: each cell counts by how close to zero it is, fully at zero.
    private(set) var certainty = 0.0
    /// The length of the free fall, in cells, including cells in which the board brushed something.
    private(set) var length = 0
    private var brushes = 0

    /// Resets to the initial state.
    mutating func reset() {
        count = 0
        start = nil
        certainty = 0
        length = 0
    }

    /// Adds the mean acceleration and rotation rate of a cell; returns the magnitude of the acceleration in g, without
    /// the part attributed to spin.
    mutating func append(_ acceleration: Vector3, rotationRate: Vector3) -> Double {
        var magnitude = acceleration.length / standardGravity
        if magnitude < 1 {
            let spin = rotationRate.lengthSquared * FreeFall.offCentre / standardGravity
            magnitude = max(0, magnitude - min(spin, FreeFall.spinLimit))
        }
        magnitudes[count & FreeFall.mask] = magnitude
        if magnitude < FreeFall.limit {
            if start == nil {
                start = count
                certainty = 0
                length = 0
            }
            let weight = magnitude / FreeFall.limit
            certainty += (1 - weight * weight) * CellGrid.cell
            length = count + 1 - (start ?? count)
            brushes = 0
        } else if start != nil {
            brushes += 1
            if brushes > 1 || magnitude > FreeFall.brushed { start = nil }
        }
        count += 1
        return magnitude
    }

    /// Standard deviation of the magnitudes before the cell `index`, in g; 0 if there are too few cells.
    ///
    /// The deviation rather than the distance from 1 g, so that a badly calibrated sensor can also be quiet.
    func deviation(before index: Int) -> Double {
        let first = max(0, max(index - FreeFall.quietFrom, count - FreeFall.capacity))
        let end = index - FreeFall.quietTo
        guard end - first >= 5 else { return 0 }
        var sum = 0.0
        var squares = 0.0
        for cell in first..<end {
            let magnitude = magnitudes[cell & FreeFall.mask]
            sum += magnitude
            squares += magnitude * magnitude
        }
        let mean = sum / Double(end - first)
        return max(0, squares / Double(end - first) - mean * mean).squareRoot()
    }

    /// The highest of the `cells` magnitudes before the cell `index`, in g; 0 if there are none.
    func peak(before index: Int, cells: Int = FreeFall.pushed) -> Double {
        var peak = 0.0
        let first = max(0, max(index - cells, count - FreeFall.capacity))
        guard first < index else { return 0 }
        for cell in first..<index {
            peak = max(peak, magnitudes[cell & FreeFall.mask])
        }
        return peak
    }

    /// The fall, continuous or not, that preceded an impact in the latest cell: its first cell, its number of cells, its
    /// certainty, s, and the highest magnitude between it and the rise of the impact. `nil` if there is none.
    func leadingToBlow(isCoarse: Bool) -> (start: Int, length: Int, certainty: Double, between: Double)? {
        var found: Int?
        var length = 0
        var last = 0
        var sum = 0.0
        let end = count - 1
        for cell in max(0, end - FreeFall.searched)..<end {
            let weight = magnitudes[cell & FreeFall.mask] / FreeFall.lowBeforeBlow
            guard weight < 1 else { continue }
            if found == nil { found = cell }
            length += 1
            last = cell
            sum += (1 - weight * weight) * CellGrid.cell
        }
        guard let found else { return nil }
        let rising = isCoarse ? FreeFall.coarselyRising : FreeFall.rising
        if isCoarse, peak(before: end, cells: rising) > FreeFall.risen * magnitudes[end & FreeFall.mask] { return nil }
        let before = max(last, end - rising)
        return (found, length, sum, peak(before: before, cells: before - last))
    }
}

/// How falls are recognised.
public struct FallSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides the required certainty by 1.12. The default cooldown is 0 s,
    /// so a bounce that flies as long as a fall counts as another fall. A cooldown of one second merges a fall with its
    /// bounces.
    public var common = RecognizerSettings(cooldown: 0)

    /// Free fall after which a fall from rest is certain even before the impact, at sensitivity 5, s. Default 0.19,
    /// which is 18 cm; a shorter fall is reported when it ends in a hard impact. Smaller reports falls earlier, but
    /// also takes swung arms for falls; larger waits for the impact.
    public var minimumDuration = 0.19

    /// The longest free fall, s. A longer one is cancelled as too long. Default 1.5, which is 11 m. Smaller gives up
    /// earlier on a sensor that reads zero; larger allows falls from greater heights.
    public var maximumDuration = 1.5

    /// Creates the default settings.
    public init() {}
}
