import MotionCore
import Testing
import VirtualIMU

/// Requirement: what cannot be a measurement is a fault of the sensor, gives no gesture, and ends when the sensor measures
/// again; what a working sensor measures is none.
@Suite struct MeasurementCheckTests {
    /// What a broken sensor makes of its samples.
    enum Damage: CaseIterable {
        case zAtRail, zAtOtherRail, xFrozen, zero, gyroscopeAtRail, gyroscopeFrozen

        var fault: MeasurementFault {
            switch self {
            case .zAtRail, .zAtOtherRail: MeasurementFault(.accelerometer, axis: 2, .clipped)
            case .xFrozen: MeasurementFault(.accelerometer, axis: 0, .constant)
            case .zero: MeasurementFault(.accelerometer, axis: 0, .zero)
            case .gyroscopeAtRail: MeasurementFault(.gyroscope, axis: 1, .clipped)
            case .gyroscopeFrozen: MeasurementFault(.gyroscope, axis: 0, .constant)
            }
        }

        /// Seconds until it is reported.
        var delay: Double {
            switch fault.kind {
            case .clipped, .zero: 2
            case .constant: 10
            }
        }

        /// What two blocks of few samples a second look like.
        var gesturesAtFewSamples: GestureSet {
            switch self {
            case .zero: .fall
            case .gyroscopeAtRail: GestureSet.flick.union(.tilt)
            default: []
            }
        }

        func change(_ sample: inout MotionSample) {
            switch self {
            case .zAtRail, .zAtOtherRail:
                sample.acceleration.z = (self == .zAtRail ? 8 : -8) * standardGravity
                sample.flags.insert(.accelerationClipped(axis: 2))
            case .xFrozen: sample.acceleration.x = 5
            case .zero: sample.acceleration = .zero
            case .gyroscopeAtRail:
                sample.rotationRate.y = -34.9
                sample.flags.insert(.rotationRateClipped(axis: 1))
            case .gyroscopeFrozen: sample.rotationRate.x = 0.05
            }
        }
    }

    private func feed(rate: Double) -> TrajectoryFeed {
        var settings = GestureSettings()
        for gesture in Gesture.allCases { settings[gesture].isEnabled = true }
        return TrajectoryFeed(settings: settings, rate: rate)
    }

    /// Gestures that a blow or a start of movement may be as well as the beginning of a fault.
    private static let sudden: GestureSet = GestureSet.impact.union(.tap).union(.motion)

    @Test(arguments: Damage.allCases, [12.5, 50, 200, 1000])
    func impossibleReadingsAreAFault(damage: Damage, rate: Double) {
        // The noise of a gyroscope has to be known.
        for start in damage == .gyroscopeFrozen ? [30.0] : [0, 30] {
            var feed = feed(rate: rate)
            feed.rest(start)
            #expect(feed.pipeline.fault == nil && feed.events.isEmpty)
            feed.distort = { damage.change(&$0) }
            // Two blocks of eight samples.
            let late = max(0.2, 16 / rate)
            feed.rest(max(0, damage.delay - late))
            #expect(feed.pipeline.fault == nil)
            feed.rest(2 * late)
            #expect(feed.pipeline.fault == damage.fault)
            // The sudden begin of a fault may look like a blow.
            var possible = start == 0 ? [] : Self.sudden
            // It takes two blocks of eight samples to doubt. At few samples a second, that is longer than a fall or a flick.
            if rate < 100 { possible.formUnion(damage.gesturesAtFewSamples) }
            let wrong = feed.events.filter { !possible.contains($0.gesture) }.map { "\($0.gesture) \($0.phase)" }
            #expect(wrong.isEmpty, "\(start): \(wrong)")
            feed.rest(30)
            #expect(feed.pipeline.fault == damage.fault)
            let before = feed.events.count
            feed.distort = { _ in }
            feed.rest(1.2 + late)
            #expect(feed.pipeline.fault == nil)
            feed.rest(20)
            let after = feed.events.dropFirst(before).map { "\($0.gesture) \($0.phase)" }
            #expect(after.isEmpty, "\(start): \(after)")
            #expect(feed.pipeline.state.tilt < 1 * radiansPerDegree)
        }
    }

    /// Shakes along x for two seconds.
    private func shake(_ feed: inout TrajectoryFeed, acceleration: Double) {
        for number in 0..<Int(2 * feed.rate) {
            let swing = sine(3, Double(number) / feed.rate)
            feed.take(Vector3(acceleration * swing, 2 * swing, standardGravity), Vector3(0, 0, swing))
        }
    }

    /// A gesture that is open when the sensor fails is cancelled like one at a loss of the sensor.
    @Test func faultCancelsOpenGestures() {
        var feed = feed(rate: 200)
        feed.rest(10)
        shake(&feed, acceleration: 15)
        #expect(feed.events.contains { $0.gesture == .shake && $0.phase == .began })
        feed.distort = { Damage.zero.change(&$0) }
        feed.rest(3)
        let last = feed.events.last { $0.gesture == .shake || $0.gesture == .motion }
        #expect(last?.phase == .cancelled || last?.phase == .ended)
        #expect(feed.pipeline.openGestures.isEmpty)
    }

    /// Counts so large that an axis at rest hardly ever changes, as of a chip with 8 bits or in its largest range.
    private func coarse(_ count: Double) -> (inout MotionSample) -> Void {
        { sample in
            for axis in 0..<3 { sample.acceleration[axis] = count * (sample.acceleration[axis] / count).rounded() }
        }
    }

    @Test(arguments: [0.02, 0.15, 0.5])
    func aCoarseChipHasNoFault(count: Double) {
        var feed = feed(rate: 100)
        feed.distort = coarse(count)
        feed.rest(60)
        // Along one axis only.
        for number in 0..<4000 {
            feed.take(Vector3(0, 0, standardGravity + (number % 4 < 2 ? 2 : -2)), .zero)
            #expect(feed.pipeline.fault == nil)
        }
        feed.rest(30)
        #expect(feed.pipeline.fault == nil)
        #expect(feed.events.contains { $0.gesture == .vibration || $0.gesture == .motion })
    }

    /// A calculated movement without noise: two turns about x in 40 s.
    @Test func aPerfectSensorHasNoFault() {
        var feed = MovementFeed()
        feed.move(Rest(3), Turn(axis: Vector3(1, 0, 0), angle: 4 * .pi, duration: 40), Rest(3))
        #expect(feed.pipeline.fault == nil)
    }

    /// An accelerometer whose noise is a tenth of a count: an axis that lies between two counts changes all the time, and is
    /// constant after the board was laid down otherwise.
    @Test(arguments: [25.0, 100, 200])
    func anAxisBetweenTwoCountsHasNoFault(rate: Double) {
        var feed = feed(rate: rate)
        feed.distort = coarse(0.4)
        for placement in 0..<12 {
            let share = Double(placement % 4) / 4
            for _ in 0..<Int(40 * rate) {
                feed.take(Vector3(0.4 * (3 + share), 0.4 * (5.5 - share), 9.5), .zero)
            }
            #expect(feed.pipeline.fault == nil, "\(placement)")
            feed.follow(Rest(1))
        }
    }

    /// A machine that shakes two axes, and the third one by less than a count.
    @Test(arguments: [1.0, 3, 7, 11.3], [50.0, 100])
    func aMachineInOnePlaneHasNoFault(frequency: Double, rate: Double) {
        var feed = feed(rate: rate)
        feed.distort = coarse(0.118)
        for number in 0..<Int(40 * rate) {
            let swing = sine(frequency, Double(number) / rate)
            feed.take(Vector3(0.01 * swing, 0.6 * swing, standardGravity + 0.4 * swing), .zero)
        }
        #expect(feed.pipeline.fault == nil)
    }

    /// A blow before and one after a minute without samples.
    @Test func aGapIsNoClipping() {
        var feed = feed(rate: 200)
        feed.rest(10)
        for _ in 0..<2 {
            feed.distort = { Damage.zAtRail.change(&$0) }
            feed.rest(0.05)
            feed.time += 60
            feed.rest(0.05)
            #expect(feed.pipeline.fault == nil)
            feed.distort = { _ in }
            feed.rest(1)
        }
    }

    /// A shake whose every swing is clipped.
    @Test func aShakeBeyondTheRangeIsAShake() {
        var feed = feed(rate: 200)
        feed.rest(10)
        shake(&feed, acceleration: 120)
        feed.rest(3)
        #expect(feed.pipeline.fault == nil)
        #expect(feed.events.filter { $0.gesture == .shake }.map(\.phase) == [.began, .ended])
    }
}
