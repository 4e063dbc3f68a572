/// Recognises that the body is tilted away from its reference attitude, and that it has come back.
///
/// The angle is between up according to the attitude filter and up in the reference attitude. Shaking hardly changes
/// it, and heading does not at all. A new reference ends a tilt just as putting the body back does. A tilt that was there
/// when the recognizer began is no event, nor is its end.
struct TiltRecognizer: Sendable, BitwiseCopyable {
    /// The settings, also of a tilt in progress. A body that is tilted only by new settings has not moved.
    var settings: TiltSettings {
        didSet {
            if isTilted == false, settings.angle != oldValue.angle { reset() }
            holdTime = TiltRecognizer.holdTime(settings)
        }
    }

    private var holdTime: Double
    /// `nil` while it is not known.
    private var isTilted: Bool?
    /// Up in the reference attitude to which `isTilted` belongs.
    private var referenceUp = Vector3.zero
    /// When the tilt began, and since when the angle has been beyond the limit that would change the state.
    private var began = 0.0
    private var contrarySince: Double?
    private var farthest = 0.0
    /// The angle, low-passed over some cells: a difference from it means that the angle is still changing.
    private var usual = 0.0

    /// Each step of sensitivity divides the hold time by this.
    private static let sensitivityStep = 1.2
    /// How far below the angle of a tilt a body that is found there counts as tilted, rad: noise does not begin one then.
    private static let doubt = radiansPerDegree
    /// The share of the angle that makes a near miss.
    private static let nearMiss = 0.8

    /// Without a gyroscope the angle lags. A tilt is then reported only when the angle changes by less than this, rad,
    /// in about 0.1 s, or after this many seconds.
    private static let settled = 1.5 * radiansPerDegree
    private static let settlingTime = 1.0

    init(settings: TiltSettings) {
        self.settings = settings
        holdTime = TiltRecognizer.holdTime(settings)
    }

    private static func holdTime(_ settings: TiltSettings) -> Double {
        settings.holdTime / settings.common.gain(step: sensitivityStep)
    }

    /// Whether it is tilted and has not been for long enough.
    var isUndecided: Bool { isTilted != true && contrarySince != nil }

    /// Resets the recognizer without an event; the caller cancels a tilt in progress.
    mutating func reset() {
        isTilted = nil
        contrarySince = nil
        farthest = 0
        usual = 0
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        let angle = cell.sample.gravity.angle(to: cell.sample.referenceUp)
        usual += (angle - usual) * 0.2
        guard let isTilted = wasTilted(at: angle, cell.sample) else { return nil }
        let isContrary = isTilted ? angle < settings.angle - settings.hysteresis : angle > settings.angle
        guard isContrary else {
            noteMiss(angle, cell, &misses)
            contrarySince = nil
            return nil
        }
        let since = contrarySince ?? cell.time
        contrarySince = since
        // A sum of cells may miss the time by rounding.
        guard cell.time - since >= holdTime - 1e-6 else { return nil }
        if !cell.sample.hasRotationRate, !isTilted, abs(angle - usual) > TiltRecognizer.settled,
            cell.time - since < holdTime + TiltRecognizer.settlingTime
        {
            return nil
        }
        contrarySince = nil
        farthest = 0
        self.isTilted = !isTilted
        var event = GestureEvent(.tilt, isTilted ? .ended : .began, at: cell.timestamp)
        event.angle = angle
        if !isTilted { began = since }
        event.duration = (isTilted ? since : cell.time) - began
        return event
    }

    /// Whether the body was tilted before this cell; `nil` if that is not known. What is found after the start, after missing
    /// samples and with another reference is no event.
    private mutating func wasTilted(at angle: Double, _ sample: GestureSample) -> Bool? {
        // A tilt in progress needs its end, whatever the reference becomes.
        if isTilted == true { return true }
        if isTilted == false, sample.isReferenceKnown, sample.referenceUp == referenceUp { return false }
        contrarySince = nil
        isTilted = nil
        guard sample.isVerticalKnown, sample.isReferenceKnown else { return nil }
        isTilted = angle > settings.angle - Self.doubt
        referenceUp = sample.referenceUp
        return isTilted
    }

    /// Records a near miss after a tilt that came close to the angle or did not stay.
    private mutating func noteMiss(_ angle: Double, _ cell: GestureCell, _ misses: inout NearMisses) {
        guard isTilted == false else { return }
        if let since = contrarySince {
            misses.add(.tilt, .tooShort, at: cell.timestamp, value: cell.time - since, limit: holdTime)
            farthest = 0
        } else if angle > TiltRecognizer.nearMiss * settings.angle {
            farthest = max(farthest, angle)
        } else if farthest > 0 {
            misses.add(.tilt, .tooSmallAngle, at: cell.timestamp, value: farthest, limit: settings.angle)
            farthest = 0
        }
    }
}

/// How a tilt away from the reference attitude is recognised.
public struct TiltSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; each step of sensitivity divides `holdTime` by 1.2. The default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// The angle at which a tilt begins, rad, between the vertical and its direction in the reference attitude. Default
    /// 30°. Smaller reports slighter tilts, larger only strong ones. Heading does not matter.
    public var angle = 30 * radiansPerDegree

    /// How far below `angle` a tilt ends, rad. Default 5°. Smaller ends a tilt sooner, but a hand close to the limit
    /// begins and ends it often; larger requires the body to be put back farther.
    public var hysteresis = 5 * radiansPerDegree

    /// Time for which the angle must stay beyond its limit, at sensitivity 5, to begin or to end a tilt, s. Default
    /// 0.3. Smaller reacts sooner; larger ignores more of walking and shaking.
    public var holdTime = 0.3

    /// Creates the default settings.
    public init() {}
}
