import MotionCore
import Testing
import VirtualIMU

/// Requirement: rests are detected automatically, and movements are not taken for rests.
@Suite struct PoseCollectorTests {
    private func sample(
        _ index: Int, force: Vector3 = Vector3(0.1, -0.2, 9.7), rate: Vector3 = Vector3(0.1, 0.2, -0.3),
        flags: MotionSample.Flags = .rotationRate
    ) -> MotionSample {
        MotionSample(
            timestamp: Timestamp(seconds: 5 + Double(index) * 0.005), acceleration: force, rotationRate: rate,
            temperature: 30 + 0.001 * Double(index), flags: flags)
    }

    /// The pose of the first 1000 samples, or the last progress.
    private func outcome(_ make: (Int) -> MotionSample) -> PoseCollector.Progress {
        var collector = PoseCollector()
        var progress = PoseCollector.Progress.settling
        for index in 0..<1000 {
            progress = collector.take(make(index))
            if case .done = progress { return progress }
        }
        return progress
    }

    /// Noise of ±0.05 m/s² in turn, and a bias of 20 °/s: still a rest.
    @Test func averagesRestWithLargeBias() throws {
        let progress = outcome { index in
            sample(index, force: Vector3(index % 2 == 0 ? 0.15 : 0.05, -0.2, 9.7), rate: Vector3(0.35, 0, 0))
        }
        guard case .done(let pose) = progress else {
            Issue.record("no pose: \(progress)")
            return
        }
        #expect((pose.force - Vector3(0.1, -0.2, 9.7)).length < 1e-3)
        #expect((pose.rate - Vector3(0.35, 0, 0)).length < 1e-9)
        #expect(abs(pose.forceSpread - 0.05) < 1e-3)
        #expect(pose.rateSpread < 1e-6)
        // 0.5 s of settling, then two seconds of 200 Hz.
        #expect(pose.count == 401)
        #expect(abs(pose.temperature - 30.3) < 0.01)
    }

    @Test func progressIncreases() {
        var collector = PoseCollector()
        var parts: [Double] = []
        #expect(collector.take(sample(0)) == .settling)
        for index in 1..<500 {
            if case .averaging(let part) = collector.take(sample(index)) { parts.append(part) }
        }
        #expect(parts.first == 0 && parts == parts.sorted() && parts.count == 400)
    }

    @Test func doesNotTakeMovementForRest() {
        #expect(outcome { sample($0, rate: Vector3($0 % 100 == 99 ? 0.1 : 0, 0, 0)) } != outcome { sample($0) })
        let turning = outcome { sample($0, rate: Vector3(0, 0.5, 0)) }
        #expect(turning == .moving(.rotation))
        let shaken = outcome { sample($0, force: Vector3($0 % 50 == 49 ? 2 : 0, 0, 9.8)) }
        if case .done = shaken { Issue.record("a shaken board was taken for a resting one") }
        // 1 °/s looks like a bias, but gravity moves by 17 mg in a second.
        let leaning = outcome { index in
            let angle = Double(index) * 0.005 * radiansPerDegree
            return sample(index, force: Quaternion(roll: angle, pitch: 0, yaw: 0).unrotate(Vector3(0, 0, 9.8)))
        }
        if case .done = leaning { Issue.record("a slow turn was taken for a rest") }
    }

    @Test func doesNotTakeBadSamplesForRest() {
        #expect(outcome { sample($0, flags: [.rotationRate, .accelerationClipped(axis: 0)]) } == .moving(.badSamples))
        #expect(outcome { sample($0, force: Vector3(.nan, 0, 9.8)) } == .moving(.badSamples))
        var collector = PoseCollector()
        for index in 0..<300 { _ = collector.take(sample(index)) }
        #expect(collector.take(sample(300, flags: [.rotationRate, .afterGap])) == .moving(.badSamples))
        #expect(collector.take(sample(301)) == .settling)
    }

    /// A board that is not moved is one pose; the next one needs a movement, and comes with the turn that led to it.
    @Test func newPoseRequiresMovement() throws {
        let path = MotionSequence([Rest(12), Turn(axis: Vector3(1, 0, 0), angle: 1, duration: 1), Rest(4)])
        let rig = CalibrationRig(path, .typical)
        var sequence = PoseSequence()
        var poses: [RestingPose] = []
        var hasWaited = false
        rig.run(17) { sample in
            let progress = sequence.take(sample)
            if case .done(let pose) = progress { poses.append(pose) }
            if progress == .unmoved { hasWaited = true }
        }
        #expect(poses.count == 2 && hasWaited)
        let turn = try #require(sequence.lastTurn)
        #expect(abs(turn.measuredRotation.rotationVector.x - 1) < 0.03)
        #expect(sequence.lastDamage == nil)
        sequence = PoseSequence()
        #expect(sequence.lastPose == nil && sequence.lastTurn == nil)
    }
}
