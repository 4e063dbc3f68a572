import MotionCore
import Testing

/// Requirement: after missing samples while the board turns, the heading is right within 3 s, and it is not called known before
/// it is.
@Suite struct HeadingGapTests {
    private static let field = Vector3(20, 0, -44)

    /// A board that turns about its vertical and rocks, with a magnetometer's noise.
    private struct Feed: ~Copyable {
        var pipeline = MotionPipeline()
        var time = 10.0
        var attitude = Quaternion(angle: 0.5, axis: Vector3(0, 0, 1))
        let turning: Double
        private var step = 0
        private var random: UInt64 = 9

        init(turning: Double) {
            self.turning = turning
        }

        private mutating func noise(_ size: Double) -> Vector3 {
            func next() -> Double {
                random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return size * (Double(random >> 11) / 4_503_599_627_370_496 - 1)
            }
            return Vector3(next(), next(), next())
        }

        /// Moves for 5 ms, with a sample and readings of the magnetometer unless they are missing.
        mutating func move(isMissing: Bool = false, isFieldMissing: Bool = false) {
            step += 1
            time += 0.005
            let rocking = turning > 0 ? 0.5 : 0
            let rate = Vector3(
                rocking * sine(0.4, time), rocking * sine(0.3, time + 1), turning * (1 + 0.2 * sine(0.2, time)))
            attitude = (attitude * Quaternion(rotationVector: 0.005 * rate)).normalized
            let now = Timestamp(seconds: time)
            if step % 10 == 0, !isFieldMissing {
                let reading = attitude.unrotate(HeadingGapTests.field) + noise(0.7)
                pipeline.process(MagneticSample(timestamp: now, field: reading))
            }
            guard !isMissing else { return }
            pipeline.process(
                MotionSample(
                    timestamp: now, acceleration: attitude.unrotate(Vector3(0, 0, standardGravity)) + noise(0.05),
                    rotationRate: rate + noise(0.002))
            ) { _ in }
        }

        /// The angle between the true and the published direction of north, seen from above, degrees.
        var error: Double {
            let published = pipeline.state.attitude * attitude.conjugate
            let north = published.rotate(Vector3(1, 0, 0))
            return abs(Vector3(north.x, north.y, 0).angle(to: Vector3(1, 0, 0))) * degreesPerRadian
        }
    }

    @Test(arguments: [1, 2, 4, 10], [0, 30, 100, 200, 400])
    func headingReturnsAfterAGap(seconds: Double, degreesPerSecond: Double) {
        for isFieldMissing in [true, false] {
            var feed = Feed(turning: degreesPerSecond * radiansPerDegree)
            for _ in 0..<Int(30 / 0.005) { feed.move() }
            let before = feed.error
            #expect(before < 5, "\(before)")
            for _ in 0..<Int(seconds / 0.005) { feed.move(isMissing: true, isFieldMissing: isFieldMissing) }
            var worst = (late: 0.0, tracking: 0.0)
            for index in 0..<Int(20 / 0.005) {
                feed.move()
                let (error, heading) = (feed.error, feed.pipeline.state.heading)
                if index > 600 { worst.late = max(worst.late, error) }
                if heading?.quality == .tracking { worst.tracking = max(worst.tracking, error) }
            }
            let quality = feed.pipeline.state.heading?.quality
            #expect(worst.late < 10 && worst.tracking < 10, "\(worst)")
            #expect(quality == .tracking)
        }
    }
}
