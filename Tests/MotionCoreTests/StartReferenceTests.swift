import MotionCore
import Testing

/// The reference policy `.start`: taken at the first rest, when the gyroscope's bias is known.
@Suite struct StartReferenceTests {
    /// Samples of a board in `pose` with a gyroscope's bias, 200 a second.
    private struct Feed: ~Copyable {
        var pipeline: MotionPipeline
        var time = 3.0
        let hasGyroscope: Bool

        init(hasGyroscope: Bool = true) {
            var settings = MotionSettings()
            settings.reference = .start
            pipeline = MotionPipeline(settings: settings)
            self.hasGyroscope = hasGyroscope
        }

        /// Feeds samples; `shaking` is the amplitude of a movement along y, m/s².
        mutating func feed(
            _ seconds: Double, pose: Quaternion, bias: Vector3 = .zero, shaking: Double = 0
        ) {
            for index in 0..<Int(seconds * 200) {
                time += 0.005
                // A triangle wave at 1 Hz.
                let phase = Double(index % 200) / 200
                let sway = shaking * (phase < 0.5 ? 4 * phase - 1 : 3 - 4 * phase)
                let force = pose.unrotate(Vector3(0, 0, standardGravity)) + Vector3(0, sway, 0)
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: time), acceleration: force,
                    rotationRate: hasGyroscope ? bias + Vector3(0, 0, 0.1 * sway) : .zero,
                    flags: hasGyroscope ? .rotationRate : [])
                pipeline.process(sample) { _ in }
            }
        }
    }

    private let pose = Quaternion(roll: 0.4, pitch: -0.3, yaw: 0)

    /// A cold start with a bias of 6 °/s: one second after it the filter's tilt is wrong by several degrees.
    @Test func restingBoardReadsZeroDespiteTheBias() {
        var feed = Feed()
        let bias = Vector3(5, -3, 2) * radiansPerDegree
        feed.feed(1.2, pose: pose, bias: bias)
        #expect(!feed.pipeline.state.hasReference && feed.pipeline.reference.isAwaitingRest)
        feed.feed(10, pose: pose, bias: bias)
        #expect(feed.pipeline.reference.origin == .rest)
        let angles = feed.pipeline.state.relativeAttitude.eulerAngles
        #expect(abs(angles.roll) < 0.1 * radiansPerDegree && abs(angles.pitch) < 0.1 * radiansPerDegree)
    }

    @Test func movingBoardGetsItsReferenceWhenItRests() {
        var feed = Feed()
        feed.feed(8, pose: pose, shaking: 3)
        #expect(!feed.pipeline.state.hasReference)
        feed.feed(12, pose: pose)
        #expect(feed.pipeline.reference.origin == .rest)
    }

    @Test func deadlineEndsTheWait() {
        var feed = Feed()
        feed.feed(29, pose: pose, shaking: 3)
        #expect(feed.pipeline.reference.origin == .none && !feed.pipeline.state.hasReference)
        feed.feed(1.5, pose: pose, shaking: 3)
        #expect(feed.pipeline.reference.origin == .deadline && feed.pipeline.state.hasReference)
    }

    @Test func accelerometerAloneTakesItAtRestToo() {
        var feed = Feed(hasGyroscope: false)
        feed.feed(10, pose: pose)
        #expect(feed.pipeline.reference.origin == .rest)
        #expect(feed.pipeline.state.tilt < 0.1 * radiansPerDegree)
    }

    @Test func requestEndsTheWait() {
        var feed = Feed()
        feed.feed(1, pose: pose)
        feed.pipeline.takeReference()
        #expect(feed.pipeline.reference.origin == .request && !feed.pipeline.reference.isAwaitingRest)
        feed.pipeline.clearReference()
        feed.feed(10, pose: pose)
        #expect(!feed.pipeline.state.hasReference)
    }
}
