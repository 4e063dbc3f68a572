import MotionCore
import Testing
import VirtualIMU

/// Requirement: after some runs in motion, a chip measures turns correctly from its next start on.
@Suite struct LearntScaleOnVirtualChipTests {
    /// An MPU-6050 with 3 % of scale error, and with bias, noise and clock of a typical one.
    private static var chip: Imperfections {
        var chip = Imperfections.typical
        chip.accelerometerBias = .zero
        chip.accelerometerBiasDrift = .zero
        chip.accelerometerMatrix = .identity
        chip.gyroscopeMatrix = Matrix3(
            Vector3(1.03, -0.006, 0.004), Vector3(0.003, 0.97, -0.005), Vector3(-0.004, 0.006, 1.03))
        return chip
    }

    /// Turns in all directions, one axis after another.
    private static var tumbling: any Trajectory {
        let axes = [
            Vector3(1, 0.2, 0), Vector3(0, 1, -0.3), Vector3(0.3, 0, 1), Vector3(-1, 1, 0.5), Vector3(0.4, -1, 1),
            Vector3(1, 0, -1), Vector3(-0.2, 0.6, -1),
        ]
        let turns = axes.enumerated().map { index, axis -> any Trajectory in
            Turn(axis: axis, angle: index % 2 == 0 ? 2.5 : -2, duration: 2.5)
        }
        return MotionSequence([Rest(3), Repeating(MotionSequence(turns))])
    }

    /// The error, rad, of a full turn about the vertical three seconds after the start.
    private func headingError(beginningWith learner: ScaleLearner) throws -> Double {
        let path = MotionSequence([Rest(3), Turn(axis: Vector3(0, 0, 1), angle: 2 * .pi, duration: 4), Rest(1)])
        let rig = CalibrationRig(path, Self.chip, seed: 5)
        var pipeline = MotionPipeline(learntScale: learner.prior)
        var before: Quaternion?
        rig.run(path.duration) { sample in
            pipeline.process(sample) { _ in }
            if before == nil, sample.timestamp.seconds > 102.8 { before = pipeline.state.attitude }
        }
        return try #require(before).angle(to: pipeline.state.attitude)
    }

    /// Three runs of five minutes: 10.8° before, 1.9°, 0.8° and 0.6° after them.
    @Test func firstTurnAfterStartIsAccurate() async throws {
        var errors = [try headingError(beginningWith: ScaleLearner()) * degreesPerRadian]
        var kept: ScaleEstimate?
        for run in 0..<3 {
            var learner = ScaleLearner(kept: kept)
            var pipeline = MotionPipeline(learntScale: learner.prior)
            let rig = CalibrationRig(Self.tumbling, Self.chip, seed: UInt64(run + 1))
            for _ in 0..<30 {
                rig.run(10) { sample in pipeline.process(sample) { _ in } }
                // Let tests that wait for other threads continue.
                await Task.yield()
            }
            learner.learn(pipeline.learntScale)
            kept = learner.kept
            errors.append(try headingError(beginningWith: ScaleLearner(kept: kept)) * degreesPerRadian)
        }
        #expect(errors[0] > 9 && errors[1] < 3 && errors[2] < 1.2 && errors[3] < 1, "\(errors)")
    }
}
