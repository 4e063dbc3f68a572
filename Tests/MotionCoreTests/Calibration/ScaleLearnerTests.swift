import MotionCore
import Testing

/// Requirement: what movement reveals about scale and misalignment improves from start to start, and does not drift
/// away whatever the movement.
@Suite(.serialized) struct ScaleLearnerTests {
    /// 3 % of scale and 1 % off the diagonal, with different elements.
    private static let truth = Matrix3(
        Vector3(0.03, 0.01, -0.005), Vector3(-0.008, -0.028, 0.006), Vector3(0.004, -0.009, 0.025))

    /// A matrix of equal elements.
    private func matrix(_ element: Double) -> Matrix3 {
        let row = Vector3(element, element, element)
        return Matrix3(row, row, row)
    }

    private func estimate(_ scale: Double, deviation: Double) -> ScaleEstimate {
        ScaleEstimate(scale: matrix(scale), deviation: matrix(deviation))
    }

    /// The stored estimate after each of several runs; each run starts from that of the previous one.
    private func runs(
        _ count: Int, _ rig: ScaleRig, _ movement: ScaleRig.Movement, seconds: Double, from first: ScaleEstimate? = nil
    ) async -> [ScaleEstimate?] {
        var kept = [first]
        for run in 0..<count {
            var learner = ScaleLearner(kept: kept[run])
            rig.run(movement, seconds: seconds, seed: UInt64(run), &learner)
            kept.append(learner.kept)
            // Let tests that wait for other threads continue.
            await Task.yield()
        }
        return Array(kept.dropFirst())
    }

    // MARK: Twenty starts

    /// Ten minutes in hands at a time, with a chip at the bounds of its specification.
    @Test func learnsFromHandMovementAndStaysAccurate() async throws {
        let kept = await runs(20, ScaleRig(scale: Self.truth), .hands, seconds: 600)
        for estimate in kept.suffix(12) {
            let distance = try #require(estimate).scale.distance(to: Self.truth)
            #expect(distance < 0.0005, "\(kept.map { $0?.scale.distance(to: Self.truth) ?? .nan })")
        }
    }

    /// Endless circling pulls the filter by per cents within a run, but nothing of that is stored.
    @Test(arguments: [0.3, 1])
    func learnsNothingFromCircling(turnsPerSecond: Double) async {
        let movement = ScaleRig.Movement.circling(radius: 0.3, turnsPerSecond: turnsPerSecond)
        let kept = await runs(20, ScaleRig(), movement, seconds: 120)
        #expect(kept.allSatisfy { $0 == nil })
    }

    /// It neither spoils the stored estimate nor makes it less certain.
    @Test(arguments: [ScaleRig.Movement.circling(radius: 0.3, turnsPerSecond: 0.3), .resting])
    func uninformativeMovementDoesNotChangeStoredEstimate(movement: ScaleRig.Movement) async {
        let good = ScaleEstimate(scale: Self.truth, deviation: matrix(0.0006))
        let kept = await runs(20, ScaleRig(scale: Self.truth), movement, seconds: 60, from: good)
        #expect(kept.allSatisfy { $0 == good })
    }

    /// If the accelerometer is 50 ms late, five times the filter's limit, every run learns something wrong, but the
    /// error does not grow.
    @Test func lateAccelerometerDoesNotCauseDrift() async {
        let kept = await runs(20, ScaleRig(), .lateForce(seconds: 0.05), seconds: 200)
        #expect(kept.allSatisfy { ($0?.scale.distance(to: matrix(0)) ?? 0) < 0.006 })
    }

    // MARK: What is taken

    @Test func storesOnlyElementsWithSmallDeviation() {
        var learner = ScaleLearner()
        #expect(learner.prior == nil)
        var taken = [learner.learn(estimate(0.01, deviation: 0.0011))]
        var mixed = estimate(0.01, deviation: 0.0012)
        mixed.scale.row1.z = -0.02
        mixed.deviation.row1.z = 0.0009
        taken.append(learner.learn(mixed))
        var expected = estimate(0, deviation: 0.002)
        expected.scale.row1.z = -0.02
        expected.deviation.row1.z = 0.0009
        #expect(learner.kept == expected)
        // A later estimate with more uncertainty is not an improvement; one with less is.
        taken.append(learner.learn(estimate(0.01, deviation: 0.00101)))
        taken.append(learner.learn(estimate(0.015, deviation: 0.0008)))
        #expect(taken == [false, true, false, true])
        #expect(learner.kept == estimate(0.015, deviation: 0.0008))
    }

    @Test func rejectsImplausibleEstimates() {
        var learner = ScaleLearner(kept: estimate(0.01, deviation: 0.0009))
        let hopeless = [(0.041, 1e-4), (-0.041, 1e-4), (.nan, 1e-4), (0.01, 0), (0.01, .nan), (0.01, -1e-4)]
        for (scale, deviation) in hopeless {
            let isTaken = learner.learn(estimate(scale, deviation: deviation))
            #expect(!isTaken)
            #expect(ScaleLearner(kept: estimate(scale, deviation: deviation)).kept == nil)
        }
        // One element is enough: whatever pulled it also pulled the others.
        var pulled = estimate(0.01, deviation: 1e-4)
        pulled.scale.row0.z = -0.05
        let isTaken = learner.learn(pulled)
        #expect(!isTaken)
        #expect(learner.kept == estimate(0.01, deviation: 0.0009))
    }

    /// A chip ages between two runs: the stored estimate is trusted less, but at least as much as no estimate.
    @Test func increasesDeviationOfStoredEstimate() throws {
        let prior = try #require(ScaleLearner(kept: estimate(0.01, deviation: 0.0004)).prior)
        #expect(prior.scale == matrix(0.01))
        #expect(prior.deviation.distance(to: matrix(0.0013)) < 1e-9)
        let doubtful = try #require(ScaleLearner(kept: estimate(0.01, deviation: 0.0009)).prior)
        #expect(doubtful.deviation == matrix(AttitudeParameters().initialScale))
        // Half of the variance at the start of the run must be gone: 0.0013 / √2.
        var learner = ScaleLearner(kept: estimate(0.01, deviation: 0.0004))
        let taken = [0.00093, 0.00091].map { learner.learn(estimate(0.012, deviation: $0)) }
        #expect(taken == [false, true])
    }

    // MARK: Axes

    /// Elements are transformed with their axes, and so are their deviations.
    @Test func estimateTransformsWithAxes() {
        let mount = Matrix3(Vector3(0, -1, 0), Vector3(0, 0, 1), Vector3(-1, 0, 0))
        let deviation = Matrix3(Vector3(1, 2, 3), Vector3(4, 5, 6), Vector3(7, 8, 9))
        let sensor = ScaleEstimate(scale: Self.truth, deviation: deviation)
        let body = sensor.turned(by: mount)
        let rate = Vector3(0.3, -1.1, 0.7)
        #expect((body.scale * (mount * rate) - mount * (Self.truth * rate)).length < 1e-12)
        // Body x is -y of the sensor, y is z, z is -x.
        #expect(body.deviation == Matrix3(Vector3(5, 6, 4), Vector3(8, 9, 7), Vector3(2, 3, 1)))
        let back = body.turned(by: mount.transposed)
        #expect(back.scale.distance(to: Self.truth) < 1e-12 && back.deviation == deviation)
    }

    /// The same chip in another mounting: the stored estimate is the same.
    @Test func storedEstimateIsIndependentOfMounting() async throws {
        let mounts = [
            Matrix3(Vector3(0, 0, -1), Vector3(1, 0, 0), Vector3(0, -1, 0)),
            Quaternion(angle: 0.8, axis: Vector3(1, -2, 0.5).normalized ?? .zero).matrix,
        ]
        for mount in mounts {
            let rig = ScaleRig(scale: Self.truth, mount: mount)
            let last: ScaleEstimate? = await runs(5, rig, .hands, seconds: 600).last ?? nil
            let kept = try #require(last)
            #expect(kept.scale.distance(to: Self.truth) < 0.001)
            // Starts upright, in the axes of another body.
            var learner = ScaleLearner(kept: kept)
            let other = ScaleRig(scale: Self.truth).run(.hands, seconds: 60, seed: 9, &learner)
            #expect(other.scale.distance(to: Self.truth) < 0.001)
        }
    }

    /// A second of rest.
    private func rest(_ pipeline: inout MotionPipeline, from start: Double) {
        for index in 0..<100 {
            let sample = MotionSample(
                timestamp: Timestamp(seconds: start + Double(index) / 100),
                acceleration: Vector3(0, 0, standardGravity), rotationRate: .zero)
            pipeline.process(sample) { _ in }
        }
    }

    /// A new mounting keeps what the run has learnt; another calibration of the chip starts from scratch.
    @Test func newMountingWhileRunningKeepsEstimate() {
        let prior = ScaleEstimate(scale: Self.truth, deviation: matrix(0.001))
        var pipeline = MotionPipeline(learntScale: prior)
        rest(&pipeline, from: 1)
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        pipeline.apply(settings) { _ in }
        rest(&pipeline, from: 2)
        let mounted = pipeline.learntScale
        #expect(mounted.scale.distance(to: Self.truth) < 1e-4)
        #expect(mounted.deviation.distance(to: matrix(0.001)) < 1e-4)
        var chip = ChipCalibration()
        chip.gyroscope.matrix = Matrix3(Vector3(1.02, 0, 0), Vector3(0, 0.97, 0), Vector3(0, 0, 1.01))
        pipeline.apply(chip) { _ in }
        rest(&pipeline, from: 3)
        #expect(pipeline.learntScale.scale.distance(to: matrix(0)) < 1e-4)
    }
}
