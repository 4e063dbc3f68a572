internal import CMotionMath

/// Recognises falls of the body: free fall, and the blow at its end.
///
/// In free fall an accelerometer reads nearly nothing, whatever the attitude. An arm that is swung, a jogger and a shaken
/// board read little too, but for a shorter time, less near zero, and not out of quiet. So weightlessness is weighed:
/// the nearer to zero, the more a moment counts. A fall has begun where that is enough for certainty, which takes longer
/// after a push (a throw, or the jump of somebody who carries the board); or where a hard blow ends a short
/// weightlessness out of quiet; or where a blow is followed by flight, as of a thing that was struck or bounces. It ends
/// a moment after it hit something, and is cancelled where it never did.
struct FallRecognizer: ~Copyable {
    /// How falls are recognised; see `apply(_:)`.
    private(set) var settings: FallSettings

    private var freeFall = FreeFall()
    private var gain: Double
    private var time = 0.0
    private var state = State.armed

    /// The latest blow: its highest squared specific force, the linear acceleration there, m/s², and when it began.
    private var blow = Peak()
    private var blowBegan = -Double.infinity
    /// The same of the samples of the present cell.
    private var peak = Peak()
    private var isClipped = false

    /// The fall under way: its length in cells, when the body was last weightless, and when it landed.
    private var length = 0
    private var lastWeightless = 0.0
    private var landed: Double?
    /// Whether it began with a blow, so that it need not land hard.
    private var wasStruck = false
    /// Until when only a bounce is another fall.
    private var spentUntil = -Double.infinity
    private var wasTold = false

    private struct Peak {
        var square = 0.0
        var linear = Vector3.zero
    }

    private enum State {
        case armed
        case falling
        /// Nothing is told of a fall that was too long until it ends.
        case tooLong
    }

    /// Makes a recognizer that has seen nothing.
    init(settings: FallSettings) {
        self.settings = settings
        gain = FallRecognizer.gain(settings)
    }

    /// Whether it may have begun to fall.
    var isUndecided: Bool { state == .armed && freeFall.start != nil }

    /// Takes over new settings.
    mutating func apply(_ settings: FallSettings) {
        self.settings = settings
        gain = FallRecognizer.gain(settings)
    }

    /// Forgets everything. A fall under way is none any more: whoever forgets tells so.
    mutating func reset() {
        freeFall.reset()
        state = .armed
        blow = Peak()
        blowBegan = -.infinity
        peak = Peak()
        isClipped = false
        landed = nil
        spentUntil = -.infinity
        wasTold = false
    }

    /// Takes a sample, for the height of short blows; cells tell the rest.
    mutating func observe(_ sample: GestureSample) {
        let square = sample.acceleration.lengthSquared
        if square > peak.square { peak = Peak(square: square, linear: sample.acceleration - sample.gravity) }
        if sample.isClipped { isClipped = true }
    }

    /// Takes a cell and tells what it brings about.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        time = cell.time
        let couldFall = freeFall.start
        let certainty = freeFall.certainty
        let magnitude = freeFall.append(cell.acceleration, rotationRate: cell.rotationRate)
        noteBlow()
        defer { isClipped = false }
        switch state {
        case .falling:
            return follow(magnitude, at: cell.timestamp)
        case .tooLong:
            if freeFall.start == nil { state = .armed }
            return nil
        case .armed:
            if let event = beginning(magnitude, at: cell.timestamp, &misses) { return event }
            if couldFall != nil, freeFall.start == nil {
                let needed = settings.minimumDuration / gain
                if !wasTold, certainty > Rule.nearMiss * needed {
                    misses.add(NearMiss(.fall, .tooShort, at: cell.timestamp, value: certainty, limit: needed))
                }
                wasTold = false
            }
            return nil
        }
    }
}

extension FallRecognizer {
    /// Constants of the rule: what each means and what it guards against.
    private enum Rule {
        /// After a push above this, in g, free fall must be this many times as certain: it may be a jump.
        static let push = 1.6
        static let pushFactor = 1.8
        /// Standard deviation of the acceleration before, in g: of a long fall, and of one known by its blow.
        static let unrest = 0.8
        static let unrestBeforeBlow = 0.3
        /// A blow that tells a short fall, in g: at least; and that needs just `briefest` s of fall, weaker ones more.
        static let leastBlow = 3.0
        static let hardBlow = 4.5
        static let briefest = 0.05
        /// A blow that strikes the body into the air, in g, the seconds of flight that tell it, and the cells before
        /// the flight in which it was.
        static let strike = 3.5
        static let struckFor = 0.06
        static let strikeCells = 6
        /// The cells before a flight after which unrest is no more of the blow.
        static let strikeOnset = 10
        /// A blow before a bounce, in g.
        static let bounce = 3.0
        /// Seconds from the beginning of a fall within which another must be a bounce.
        static let rearmDelay = 1.0
        /// Acceleration of a landing, in g, and the seconds from its first sign in which its peak is looked for.
        static let landing = 1.5
        static let landingTime = 0.1
        /// Seconds after free fall in which it must land: hands that catch it are slow.
        static let landingDelay = 0.5
        /// Seconds after which a blow is another one.
        static let blowLength = 0.15
        /// The share of what is needed that makes a near miss.
        static let nearMiss = 0.6
        /// Each step of sensitivity divides what is needed by this.
        static let sensitivityStep = 1.12
    }

    private static func gain(_ settings: FallSettings) -> Double {
        pow(Rule.sensitivityStep, Double(settings.common.sensitivity - 5))
    }

    /// Keeps the height of a blow that the last samples were part of.
    private mutating func noteBlow() {
        // What is felt while cells are still weightless, at low rates, is the landing that ends it.
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

    /// Whether a fall has begun.
    private mutating func beginning(
        _ magnitude: Double, at timestamp: Timestamp, _ misses: inout NearMisses
    ) -> GestureEvent? {
        let needed = settings.minimumDuration / gain
        if let start = freeFall.start {
            guard freeFall.certainty >= Rule.struckFor / gain else { return nil }
            if time < spentUntil {
                guard
                    freeFall.certainty >= needed,
                    freeFall.peak(before: start, cells: Rule.strikeCells) >= Rule.bounce / gain
                else { return nil }
                return begin(at: timestamp, wasStruck: true)
            }
            if freeFall.certainty >= needed {
                let wasPushed = freeFall.peak(before: start) > Rule.push * gain
                if !wasPushed || freeFall.certainty >= Rule.pushFactor * needed {
                    let unrest = freeFall.unrest(before: start)
                    if unrest < Rule.unrest * gain { return begin(at: timestamp) }
                    note(
                        NearMiss(
                            .fall, .noQuietBefore, at: timestamp, value: unrest * standardGravity,
                            limit: Rule.unrest * gain * standardGravity), &misses)
                }
            }
            guard
                freeFall.peak(before: start, cells: Rule.strikeCells) >= Rule.strike / gain,
                freeFall.unrest(before: start - Rule.strikeOnset) < Rule.unrestBeforeBlow * gain
            else { return nil }
            return begin(at: timestamp, wasStruck: true)
        }
        guard magnitude >= Rule.leastBlow / gain, time >= spentUntil, let fall = freeFall.leadingToBlow() else {
            return nil
        }
        let hardness = isClipped ? max(magnitude, Rule.hardBlow) : magnitude
        let weakness = max(1, Rule.hardBlow / gain / hardness)
        guard
            fall.certainty >= Rule.briefest / gain * weakness * weakness,
            freeFall.peak(before: fall.start) < Rule.push * gain,
            freeFall.unrest(before: fall.start) < Rule.unrestBeforeBlow * gain
        else { return nil }
        return begin(at: timestamp, length: fall.length)
    }

    private mutating func note(_ miss: NearMiss, _ misses: inout NearMisses) {
        guard !wasTold else { return }
        wasTold = true
        misses.add(miss)
    }

    private mutating func begin(at timestamp: Timestamp, length: Int? = nil, wasStruck: Bool = false) -> GestureEvent {
        state = .falling
        wasTold = false
        spentUntil = time + Rule.rearmDelay
        self.length = length ?? freeFall.length
        lastWeightless = time
        self.wasStruck = wasStruck
        // A fall that is known by its blow has landed.
        landed = length == nil ? nil : blowBegan
        return event(.began, at: timestamp)
    }

    /// A fall under way: does it go on, land, or come to nothing?
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
        // Of the cell in which it hits something half was free fall, on average.
        let duration = (Double(length) + (phase == .ended ? 0.5 : 0)) * CellGrid.cell
        event.duration = duration
        event.height = 0.5 * standardGravity * duration * duration
        return event
    }
}
