import MotionCore
import Testing

/// The path of a sample through the core, its reference attitude and its commands.
@Suite struct MotionPipelineTests {
    private struct Feed: ~Copyable {
        var pipeline: MotionPipeline
        var time = 10.0
        var events: [GestureEvent] = []

        init(_ settings: MotionSettings = MotionSettings(), storedReference: Quaternion? = nil) {
            pipeline = MotionPipeline(settings: settings, storedReference: storedReference)
        }

        mutating func feed(
            seconds: Double, attitude: Quaternion = .identity, rate: Vector3 = .zero,
            linear: (Double) -> Vector3 = { _ in .zero }
        ) {
            for index in 0..<Int(seconds * 200) {
                time += 0.005
                let earth = linear(Double(index) * 0.005) + Vector3(0, 0, standardGravity)
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: time), acceleration: attitude.unrotate(earth), rotationRate: rate,
                    temperature: 31.5)
                var new: [GestureEvent] = []
                pipeline.process(sample) { new.append($0) }
                events += new
            }
        }
    }

    @Test func gravityPlusLinearAccelerationIsMeasuredForce() {
        var settings = MotionSettings()
        settings.accelerationLowPass = 0
        var feed = Feed(settings)
        let pose = Quaternion(roll: 0.4, pitch: -0.2, yaw: 0)
        feed.feed(seconds: 3, attitude: pose)
        #expect((feed.pipeline.state.gravity - pose.unrotate(Vector3(0, 0, standardGravity))).length < 1e-3)
        #expect(feed.pipeline.state.linearAcceleration.length < 1e-3)
        #expect(feed.pipeline.state.temperature == 31.5)
    }

    @Test func mountRotatesSensorAxesIntoBodyAxes() {
        var settings = MotionSettings()
        // Sensor x points along the body's z axis: each row of the mount gives the sensor axis of one body axis.
        settings.mount = Matrix3(Vector3(0, 0, -1), Vector3(0, 1, 0), Vector3(1, 0, 0))
        var feed = Feed(settings)
        let sensor = Quaternion(roll: 0, pitch: -.pi / 2, yaw: 0)
        feed.feed(seconds: 2, attitude: sensor)
        // The sensor's x axis is up, and that is the body's z axis.
        #expect(feed.pipeline.state.side == .plusZ)
        #expect(feed.pipeline.state.attitude.inclination(to: .identity) < 1e-6)
    }

    @Test func clippedAxesFollowTheMount() {
        let calibration = SensorCalibration(mount: Matrix3(Vector3(0, 0, -1), Vector3(0, 1, 0), Vector3(1, 0, 0)))
        let sample = MotionSample(
            timestamp: Timestamp(nanoseconds: 5), acceleration: Vector3(1, 2, 3), rotationRate: Vector3(4, 5, 6),
            flags: [.rotationRate, .accelerationClipped(axis: 0), .rotationRateClipped(axis: 2)])
        let turned = calibration.apply(sample)
        #expect(turned.acceleration == Vector3(-3, 2, 1))
        #expect(turned.rotationRate == Vector3(-6, 5, 4))
        #expect(turned.flags == [.rotationRate, .accelerationClipped(axis: 2), .rotationRateClipped(axis: 0)])
    }

    @Test func referenceMakesCurrentAttitudeZero() {
        var feed = Feed()
        let pose = Quaternion(roll: 0.5, pitch: 0.3, yaw: 0)
        feed.feed(seconds: 2, attitude: pose)
        #expect(feed.pipeline.state.tilt > 0.5)
        feed.pipeline.takeReference()
        feed.feed(seconds: 0.5, attitude: pose)
        #expect(feed.pipeline.state.hasReference)
        #expect(feed.pipeline.state.relativeAttitude.angle(to: .identity) < 1e-6)
        feed.pipeline.clearReference()
        feed.feed(seconds: 0.5, attitude: pose)
        #expect(!feed.pipeline.state.hasReference)
        #expect(feed.pipeline.state.tilt > 0.5)
    }

    /// Requirement: the heading alone can be set to zero, while roll and pitch stay relative to the vertical.
    @Test func headingOnlyReferenceKeepsVertical() {
        var feed = Feed()
        let pose = Quaternion(roll: 0.5, pitch: -0.3, yaw: 0)
        feed.feed(seconds: 2, attitude: pose)
        // A turn about the vertical by 0.8 rad, as the tilted gyroscope measures it.
        let turned = Quaternion(roll: 0.5, pitch: -0.3, yaw: 0.8)
        feed.feed(seconds: 0.2, attitude: pose, rate: pose.unrotate(Vector3(0, 0, 4)))
        feed.feed(seconds: 2, attitude: turned)
        #expect(abs(feed.pipeline.state.relativeAttitude.eulerAngles.yaw - 0.8) < 0.1)
        feed.pipeline.takeReference(headingOnly: true)
        feed.feed(seconds: 0.5, attitude: turned)
        #expect(feed.pipeline.state.hasReference)
        let angles = feed.pipeline.state.relativeAttitude.eulerAngles
        #expect(abs(angles.yaw) < 1e-3 && abs(angles.roll - 0.5) < 1e-2 && abs(angles.pitch + 0.3) < 1e-2)
        #expect(abs(feed.pipeline.state.tilt - pose.inclination(to: .identity)) < 1e-2)
        feed.pipeline.clearReference()
        feed.feed(seconds: 0.5, attitude: turned)
        #expect(abs(feed.pipeline.state.relativeAttitude.eulerAngles.yaw - 0.8) < 0.1)
    }

    @Test(arguments: [-1.5, -0.2, 0.7, 1.5])
    func headingOfReferenceIsPublishedYaw(pitch: Double) {
        var reference = ReferenceAttitude(policy: .none)
        let attitude = Quaternion(roll: 2.5, pitch: pitch, yaw: -1.9)
        reference.take(attitude, headingOnly: true)
        let angles = reference.relative(attitude).eulerAngles
        #expect(abs(angles.yaw) < 1e-9 && abs(angles.roll - 2.5) < 1e-9 && abs(angles.pitch - pitch) < 1e-9)
    }

    @Test func startPolicyTakesReferenceAutomatically() {
        var settings = MotionSettings()
        settings.reference = .start
        var feed = Feed(settings)
        let pose = Quaternion(roll: -0.8, pitch: 0.1, yaw: 0)
        feed.feed(seconds: 2.5, attitude: pose)
        #expect(!feed.pipeline.state.hasReference)
        feed.feed(seconds: 1.5, attitude: pose)
        #expect(feed.pipeline.state.hasReference)
        #expect(feed.pipeline.state.tilt < 1e-3)
    }

    @Test func storedPolicyStartsWithStoredReference() {
        var settings = MotionSettings()
        settings.reference = .stored
        let kept = Quaternion(roll: 0.3, pitch: 0, yaw: 0)
        var feed = Feed(settings, storedReference: kept)
        feed.feed(seconds: 1, attitude: kept)
        #expect(feed.pipeline.state.tilt < 1e-3)
        settings.reference = .none
        var other = Feed(settings, storedReference: kept)
        other.feed(seconds: 1, attitude: kept)
        #expect(abs(other.pipeline.state.tilt - 0.3) < 1e-3)
    }

    @Test func newMountingClearsReference() {
        var feed = Feed()
        feed.feed(seconds: 1, attitude: Quaternion(roll: 0.5, pitch: 0, yaw: 0))
        feed.pipeline.takeReference()
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        feed.pipeline.apply(settings) { _ in }
        feed.feed(seconds: 1)
        #expect(!feed.pipeline.state.hasReference)
    }

    @Test func sideChangesOnlyIfAnotherIsClearlyUp() {
        var feed = Feed()
        feed.feed(seconds: 1, attitude: Quaternion(roll: 44 * radiansPerDegree, pitch: 0, yaw: 0))
        #expect(feed.pipeline.state.side == .plusZ)
        // At 46° the y axis is a little more upward than z, which is not enough to leave z.
        var edge = Feed()
        edge.feed(seconds: 0.1)
        edge.feed(seconds: 3, attitude: Quaternion(roll: 46 * radiansPerDegree, pitch: 0, yaw: 0))
        #expect(edge.pipeline.state.side == .plusZ)
        edge.feed(seconds: 20, attitude: Quaternion(roll: 80 * radiansPerDegree, pitch: 0, yaw: 0))
        #expect(edge.pipeline.state.side == .plusY)
    }

    @Test func ignoresSampleWhoseTimeDoesNotIncrease() {
        var feed = Feed()
        feed.feed(seconds: 1)
        let before = feed.pipeline.state.timestamp
        let old = MotionSample(
            timestamp: before, acceleration: Vector3(50, 0, 0), rotationRate: Vector3(9, 9, 9))
        feed.pipeline.process(old) { _ in }
        #expect(feed.pipeline.state.timestamp == before)
        #expect(feed.pipeline.state.attitude.angle(to: .identity) < 1e-9)
    }

    @Test func reportsShakeAndCancelsItWhenSensorIsLost() {
        var feed = Feed()
        feed.feed(seconds: 2)
        feed.feed(
            seconds: 0.8,
            linear: { t in
                Vector3(0, 20 * Quaternion(angle: 20 * .pi * t, axis: Vector3(1, 0, 0)).x, 0)
            })
        // The board also moves.
        let shakes = feed.events.filter { $0.gesture == .shake }
        #expect(shakes.map(\.phase) == [.began])
        #expect(shakes.first?.axis == .y)
        #expect(Set(feed.events.map(\.gesture)) == [.shake, .motion])
        var cancelled: [GestureEvent] = []
        feed.pipeline.cancelGestures(.sensorLost) { cancelled.append($0) }
        #expect(Set(cancelled.map(\.gesture)) == [.shake, .motion])
        #expect(cancelled.map(\.reason) == [.sensorLost, .sensorLost])
        feed.pipeline.cancelGestures(.stopped) { cancelled.append($0) }
        #expect(cancelled.count == 2)
    }
}
