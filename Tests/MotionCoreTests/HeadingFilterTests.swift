import MotionCore
import MotionTestSupport
import Testing

/// A board that turns in a field, with a six-axis attitude that drifts.
private struct HeadingRig: ~Copyable {
    /// North, west, up, µT: strength 48, dip 66°.
    static let field = Vector3(19.5, 0, -43.85)

    var filter: HeadingFilter
    /// Of the six-axis frame against north, rad, and its drift, rad/s.
    var trueOffset = 1.0
    var drift = 0.0
    var hardIron = Vector3.zero
    /// Added to the field of the place.
    var disturbance = Vector3.zero
    var noise = 0.5
    /// Whether the board turns to and fro about changing axes; otherwise it is still.
    var isMoving = true
    var hasReadings = true
    private(set) var time = 0.0
    private var random: UInt64 = 88_172_645_463_325_252
    private var attitude = Quaternion.identity
    private var last = 0.0
    /// The largest error since `forgetErrors`, rad.
    private(set) var worst = 0.0
    static let period = 0.005
    static let readingPeriod = 0.05

    init(_ place: MagneticFieldFigures? = nil) { filter = HeadingFilter(calibratedField: place) }

    static var place: MagneticFieldFigures {
        MagneticFieldFigures(strength: field.length, dip: Vector3(1, 0, 0).angle(to: field))
    }

    var error: Double {
        let angle = filter.offset + trueOffset
        return angle - (angle / (2 * .pi)).rounded() * 2 * .pi
    }

    mutating func forgetErrors() { worst = 0 }

    /// Runs, and returns the largest error meanwhile, rad.
    mutating func worstError(in seconds: Double) -> Double {
        forgetErrors()
        run(seconds)
        return worst
    }

    private mutating func normal() -> Double {
        var sum = 0.0
        for _ in 0..<12 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            sum += Double(random >> 11) / 9_007_199_254_740_992
        }
        return sum - 6
    }

    mutating func run(_ seconds: Double) {
        let end = time + seconds
        while time < end - 1e-9 {
            time += Self.period
            trueOffset += drift * Self.period
            let phase = 0.9 * time
            let rate =
                isMoving
                ? Vector3(1.1 * sine(phase), 0.9 * sine(0.7 * phase + 1), 1.3 * sine(0.43 * phase + 2)) : .zero
            attitude = (attitude * Quaternion(rotationVector: Self.period * rate)).normalized
            filter.turn(rate: rate.length, interval: Self.period)
            if hasReadings, time - last >= Self.readingPeriod - 1e-9 {
                // The attitude against north, and as the six axes have it.
                let there = Quaternion(angle: trueOffset, axis: Vector3(0, 0, -1)) * attitude
                var reading = there.unrotate(Self.field + disturbance) + hardIron
                reading += noise * Vector3(normal(), normal(), normal())
                filter.take(reading, attitude: attitude, rate: rate, interval: time - last)
                last = time
            }
            worst = max(worst, abs(error))
        }
    }

    private func sine(_ angle: Double) -> Double {
        let turned = Quaternion(angle: angle, axis: Vector3(0, 0, 1)).rotate(Vector3(1, 0, 0))
        return turned.y
    }
}

/// Requirement: with a magnetometer, the heading points to magnetic north, does not drift, and follows no disturbance.
@Suite struct HeadingFilterTests {
    private let degree = radiansPerDegree

    @Test("The turn by which the six-axis filter corrects its heading changes nothing that the field has shown")
    func corrections() {
        var rig = HeadingRig()
        rig.drift = 0.1 * degree
        rig.run(60)
        let before = rig.worstError(in: 10)
        rig.trueOffset -= 70 * rig.drift
        rig.filter.follow(correction: -70 * rig.drift)
        rig.drift = 0
        let after = rig.worstError(in: 60)
        #expect(before < 4 * degree && after < before + 0.5 * degree, "\(before / degree)°, \(after / degree)°")
    }

    @Test(
        "There is a heading from the first reading on, and it becomes exact as the board turns",
        arguments: [0, 1, 3, -2])
    func start(offset: Double) {
        var rig = HeadingRig()
        rig.trueOffset = offset
        let before = rig.filter.state
        let zero = rig.filter.offset
        #expect(before == nil && zero == 0)
        rig.run(0.2)
        let early = rig.error
        let state = rig.filter.state
        #expect(abs(early) < 5 * degree && state?.quality == .learning)
        rig.run(3)
        let known = rig.filter.state
        #expect(known?.quality == .tracking && (known?.deviation ?? 9) < 10 * degree)
        rig.run(57)
        let worst = rig.worstError(in: 60)
        let later = rig.filter.state
        #expect(worst < 1.5 * degree, "\(worst / degree)")
        #expect((later?.deviation ?? 9) < 3 * degree && abs((later?.field ?? 0) - 48) < 1)
    }

    @Test("A drift of the gyroscope is followed, moving or at rest", arguments: [true, false], [0.2, 2])
    func drift(isMoving: Bool, degreesPerMinute: Double) {
        var rig = HeadingRig()
        rig.drift = degreesPerMinute * degree / 60
        rig.run(60)
        rig.isMoving = isMoving
        rig.run(120)
        let worst = rig.worstError(in: 600)
        #expect(worst < 2.5 * degree, "\(worst / degree)")
    }

    @Test("The hard iron that calibration has left is found as the board turns")
    func hardIron() {
        var rig = HeadingRig()
        rig.hardIron = Vector3(1.5, -1, 1)
        rig.run(90)
        let worst = rig.worstError(in: 60)
        #expect(worst < 2 * degree, "\(worst / degree)")
    }

    @Test(
        "A disturbance is noticed, and the heading is kept, for a moment and for long; afterwards the field is used again",
        arguments: [1, 4, 60, 300])
    func disturbance(seconds: Double) {
        var rig = HeadingRig(HeadingRig.place)
        rig.drift = 0.1 * degree / 60
        rig.run(90)
        rig.forgetErrors()
        rig.disturbance = Vector3(0, -20, 0)
        rig.run(seconds)
        let during = rig.worst
        let quality = rig.filter.state?.quality
        #expect(seconds < 4 || quality == .disturbed)
        #expect(during < 3 * degree, "\(during / degree)")
        rig.disturbance = .zero
        rig.run(10)
        let after = rig.worstError(in: 60)
        let tracking = rig.filter.state?.quality
        #expect(after < 2.5 * degree && tracking == .tracking, "\(after / degree)")
    }

    @Test("A disturbance that grows slowly is traced back")
    func growingDisturbance() {
        var rig = HeadingRig()
        rig.run(90)
        for step in 1...60 {
            rig.disturbance = Vector3(0, -20 * Double(step) / 60, 0)
            rig.run(0.5)
        }
        rig.run(60)
        let kept = rig.error
        #expect(abs(kept) < 4 * degree, "\(kept / degree)")
    }

    @Test("A magnet that is attached to the board becomes hard iron")
    func attachedMagnet() {
        var rig = HeadingRig(HeadingRig.place)
        rig.run(90)
        rig.forgetErrors()
        rig.hardIron = Vector3(20, -10, 5)
        rig.run(240)
        let worst = rig.worst
        let quality = rig.filter.state?.quality
        #expect(worst < 4 * degree && quality == .tracking, "\(worst / degree)")
    }

    @Test("After a start in a field unlike that of the calibration, it waits for that one")
    func disturbedStart() {
        var rig = HeadingRig(HeadingRig.place)
        rig.disturbance = Vector3(0, -20, 0)
        rig.run(30)
        #expect(rig.filter.state?.quality != .tracking)
        rig.disturbance = .zero
        rig.run(20)
        let worst = rig.worstError(in: 60)
        let right = rig.filter.state?.quality
        #expect(worst < 3 * degree && right == .tracking, "\(worst / degree)")
    }

    @Test("If the gyroscope has lost the heading, the field finds it again")
    func lostHeading() {
        var rig = HeadingRig()
        rig.run(90)
        rig.trueOffset += 40 * degree
        rig.run(60)
        let worst = rig.worstError(in: 30)
        #expect(worst < 3 * degree, "\(worst / degree)")
    }

    @Test("While there are no readings, the gyroscope keeps the heading, and the deviation grows")
    func noReadings() {
        var rig = HeadingRig()
        rig.drift = 0.5 * degree / 60
        rig.run(120)
        rig.hasReadings = false
        let before = rig.filter.state?.deviation ?? 9
        rig.run(600)
        let state = rig.filter.state
        let error = rig.error
        // Five degrees of drift in ten minutes, of which the last estimate knows a minute.
        #expect(abs(error) < 7 * degree && state?.quality == .disturbed)
        #expect((state?.deviation ?? 0) > 2 * before && (state?.deviation ?? 9) < 15 * degree)
        rig.hasReadings = true
        rig.run(20)
        let worst = rig.worstError(in: 20)
        let quality = rig.filter.state?.quality
        #expect(worst < 3 * degree && quality == .tracking, "\(worst / degree)")
    }

    @Test("A vertical field, or none, gives no heading")
    func noDirection() {
        var filter = HeadingFilter()
        for field in [Vector3(0.5, 0, -50), Vector3(3, 0, -4), .zero, .unknown] {
            for _ in 0..<20 {
                filter.take(field, attitude: .identity, rate: .zero, interval: 0.05)
            }
        }
        #expect(filter.state == nil)
    }

    @Test("Whatever the readings, the heading is a number", arguments: 1...20 as ClosedRange<UInt64>)
    func nonsense(seed: UInt64) {
        var filter = HeadingFilter()
        var random = seed &* 0x9E37_79B9_7F4A_7C15
        func uniform() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / 4_503_599_627_370_496 - 1
        }
        for step in 0..<4000 {
            let scale = [1, 50, 1000, 1e5][step / 1000 % 4] as Double
            let field = scale * Vector3(uniform(), uniform(), uniform())
            let rate = 30 * Vector3(uniform(), uniform(), uniform())
            filter.turn(rate: rate.length, interval: 0.05, lostAngle: uniform() > 0.9 ? 1 : 0)
            filter.take(
                field, attitude: Quaternion(rotationVector: 3 * Vector3(uniform(), uniform(), uniform())), rate: rate,
                interval: step % 100 == 0 ? 20 : 0.05)
            let offset = filter.offset
            let deviation = filter.state?.deviation ?? 0
            guard offset.isFinite, deviation.isFinite, deviation >= 0 else {
                Issue.record("step \(step): \(offset), \(deviation)")
                return
            }
        }
    }
}
