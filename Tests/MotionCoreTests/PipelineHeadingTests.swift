import MotionCore
import Testing

/// Requirement: readings of a magnetometer turn the published attitude to north, whenever they arrive; inclination and gestures
/// do not change.
@Suite struct PipelineHeadingTests {
    private static let field = Vector3(20, 0, -44)

    /// A board that turns to and fro about all axes, 30° off north at the start, with readings at 20 Hz.
    private struct Feed: ~Copyable {
        var pipeline: MotionPipeline
        var time = 10.0
        var attitude = Quaternion(angle: 0.5, axis: Vector3(0, 0, 1))
        private var step = 0
        /// Readings arrive this many samples late.
        var lateness = 0
        private var late: [(due: Int, reading: MagneticSample)] = []
        var hasMagnetometer = true
        var hardIron = Vector3.zero
        var bias = Vector3.zero
        /// The largest error since it was set to zero, degrees.
        var worst = 0.0

        init(
            _ settings: MotionSettings = MotionSettings(), magnetometer: MagneticCalibration = MagneticCalibration()
        ) {
            pipeline = MotionPipeline(settings: settings, magnetometer: magnetometer)
        }

        mutating func run(_ seconds: Double, moving: Bool = true, pace: Double = 1) {
            for _ in 0..<Int(seconds * 200) {
                step += 1
                time += 0.005
                let phase = Double(step) * 0.005
                let swing = Quaternion(angle: phase, axis: Vector3(0, 0, 1)).rotate(Vector3(1, 0, 0))
                let slow = Quaternion(angle: 0.61 * phase, axis: Vector3(0, 0, 1)).rotate(Vector3(1, 0, 0))
                let rate = moving ? pace * Vector3(0.9 * swing.x, 0.7 * slow.y, 1.1 * swing.y) : .zero
                attitude = (attitude * Quaternion(rotationVector: 0.005 * rate)).normalized
                let now = Timestamp(seconds: time)
                if step % 10 == 0, hasMagnetometer {
                    let reading = attitude.unrotate(PipelineHeadingTests.field) + hardIron
                    late.append((step + lateness, MagneticSample(timestamp: now, field: reading)))
                }
                while let first = late.first, first.due <= step {
                    pipeline.process(first.reading)
                    late.removeFirst()
                }
                pipeline.process(
                    MotionSample(
                        timestamp: now, acceleration: attitude.unrotate(Vector3(0, 0, standardGravity)),
                        rotationRate: rate + bias)
                ) { _ in }
                worst = max(worst, error)
            }
        }

        /// The attitude's error against north, degrees.
        var error: Double { pipeline.state.attitude.angle(to: attitude) * degreesPerRadian }
    }

    /// At rest, the six-axis filter finds the bias about the vertical, and turns its heading back by what it has turned.
    @Test(arguments: [0.1, -0.2, 0.4]) func biasThatIsFoundLateDoesNotTurnTheHeading(degreesPerSecond: Double) {
        var feed = Feed()
        feed.bias = degreesPerSecond * radiansPerDegree * Vector3(0, 0, 1)
        feed.run(20)
        feed.run(60, pace: 0.1)
        let before = feed.error
        feed.worst = 0
        feed.run(20, moving: false)
        #expect(before < 3 && feed.worst < before + 0.5, "\(before), \(feed.worst)")
    }

    @Test func attitudePointsToNorth() {
        var feed = Feed()
        #expect(feed.pipeline.state.heading == nil)
        feed.run(20)
        let error = feed.error
        let heading = feed.pipeline.state.heading
        #expect(error < 1.5 && heading?.quality == .tracking && abs((heading?.field ?? 0) - 48.3) < 1)
    }

    @Test func withoutReadingsHeadingIsThatOfTheStart() {
        var feed = Feed()
        feed.hasMagnetometer = false
        feed.run(20)
        let error = feed.error
        let heading = feed.pipeline.state.heading
        #expect(abs(error - 0.5 * degreesPerRadian) < 1 && heading == nil)
    }

    /// A reading that arrives after samples of its time is used as it was then: a late one does not turn the heading.
    @Test func readingsAreUsedAtTheirTime() {
        var feed = Feed()
        feed.lateness = 8
        feed.run(30)
        #expect(feed.error < 1.5)
    }

    @Test func inclinationAndGesturesDoNotChange() {
        var with = Feed()
        var without = Feed()
        without.hasMagnetometer = false
        with.run(15)
        without.run(15)
        let difference = with.pipeline.state.attitude.inclination(to: without.pipeline.state.attitude)
        let (a, b) = (with.pipeline.state.gravity, without.pipeline.state.gravity)
        #expect(difference < 1e-9 && (a - b).length < 1e-9)
    }

    @Test func calibrationAndMountingApply() {
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        let calibration = MagneticCalibration(
            hardIron: Vector3(30, -20, 10),
            place: MagneticFieldFigures(
                strength: Self.field.length, dip: Vector3(1, 0, 0).angle(to: Self.field)))
        var feed = Feed(settings, magnetometer: calibration)
        feed.hardIron = Vector3(30, -20, 10)
        feed.run(20)
        // The body's x axis is the sensor's y axis.
        let body = feed.attitude * Quaternion(angle: .pi / 2, axis: Vector3(0, 0, 1))
        let error = feed.pipeline.state.attitude.angle(to: body) * degreesPerRadian
        let quality = feed.pipeline.state.heading?.quality
        #expect(error < 1.5 && quality == .tracking)
    }

    @Test func newMountingBeginsAgain() {
        var feed = Feed()
        feed.run(5)
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(-1, 0, 0), Vector3(0, -1, 0), Vector3(0, 0, 1))
        feed.pipeline.apply(settings) { _ in }
        let between = feed.pipeline.state.heading
        feed.run(15)
        let body = feed.attitude * Quaternion(angle: .pi, axis: Vector3(0, 0, 1))
        let error = feed.pipeline.state.attitude.angle(to: body) * degreesPerRadian
        #expect(between == nil && error < 2)
    }
}
