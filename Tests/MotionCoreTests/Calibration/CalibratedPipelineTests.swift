import MotionCore
import Testing
import VirtualIMU

/// Requirement: a calibrated chip measures turns correctly, and its heading does not drift.
@Suite struct CalibratedPipelineTests {
    private static let z = Vector3(0, 0, 1)

    /// Calibrates the chip: eight poses in which every axis is level in some turn, then a full turn each way.
    private func calibrated(_ chip: Imperfections) throws -> ChipCalibration {
        let poses = posing(faces + slants.prefix(2))
        let path = MotionSequence([
            poses, Turn(axis: Vector3(-1, 0, -1), angle: 0.25 * .pi, duration: 1), Rest(4),
        ])
        let (found, turns) = CalibrationRig(path, chip).collect(path.duration)
        var accelerometer = AccelerometerFit()
        for pose in found.prefix(8) { try accelerometer.add(pose) }
        for turn in turns { accelerometer.add(turn) }
        let solution = try accelerometer.solve()
        var gyroscope = GyroscopeFit(accelerometer: solution.calibration)
        for turn in turns { try gyroscope.add(turn) }
        let spin = MotionSequence([
            Rest(4), Turn(axis: Self.z, angle: 2 * .pi, duration: 5), Rest(4),
            Turn(axis: Self.z, angle: -2 * .pi, duration: 5), Rest(4),
        ])
        for var turn in CalibrationRig(spin, chip, seed: 2).collect(spin.duration).turns {
            turn.fullTurns = 1
            try gyroscope.add(turn)
        }
        return ChipCalibration(
            accelerometer: solution.calibration, gyroscope: try gyroscope.solve().calibration)
    }

    /// The target: with 2 % oscillator error, 5 °/s bias and 3 % scale error, 360° reads 360° ± 1° about any axis.
    @Test func fullTurnReads360Degrees() throws {
        let chip = badChip()
        let calibration = try calibrated(chip)
        for axis in [Self.z, -Self.z, Vector3(1, 0, 0), Vector3(0, -1, 0), Vector3(1, 1, 1)] {
            let path = MotionSequence([Rest(6), Turn(axis: axis, angle: 2 * .pi, duration: 4), Rest(1)])
            let rig = CalibrationRig(path, chip, seed: 5)
            var pipeline = MotionPipeline(calibration: calibration)
            var before: Quaternion?
            var turned = 0.0
            var last = Quaternion.identity
            rig.run(path.duration) { sample in
                pipeline.process(sample) { _ in }
                let attitude = pipeline.state.attitude
                if before == nil, sample.timestamp.seconds > 105.8 { before = attitude }
                if before != nil { turned += (last.conjugate * attitude).rotationVector.dot(axis) / axis.length }
                last = attitude
            }
            let error = try #require(before).angle(to: pipeline.state.attitude) * degreesPerRadian
            #expect(error < 1, "about \(axis)")
            // The number of full turns, and the angle about this very axis. How the axes as a whole are turned, here by
            // 3°, is a convention, and the turn about them is shorter by the cosine.
            #expect(abs(turned * degreesPerRadian - 360) < 1, "about \(axis)")
        }
    }

    /// The target: the heading of a resting board drifts less than 1° in ten minutes, while the chip warms up.
    @Test func headingOfRestingBoardDoesNotDrift() throws {
        let chip = badChip()
        let calibration = try calibrated(chip)
        let rig = CalibrationRig(Rest(), chip, seed: 7)
        var pipeline = MotionPipeline(calibration: calibration)
        var start: Double?
        var largest = 0.0
        rig.run(600) { sample in
            pipeline.process(sample) { _ in }
            let heading = pipeline.state.attitude.eulerAngles.yaw * degreesPerRadian
            if start == nil { start = heading }
            largest = max(largest, abs(heading - (start ?? 0)))
        }
        #expect(largest < 1)
        #expect(pipeline.state.isAtRest)
    }

    /// The remaining bias is in body axes. Converted back to the sensor it is the whole bias.
    @Test func convertsRemainingBiasToSensorAxes() throws {
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        var chip = ChipCalibration()
        chip.gyroscope = GyroscopeCalibration(
            bias: Vector3(0.05, -0.02, 0.01), biasSlope: Vector3(0.001, 0, -0.002), referenceTemperature: 20,
            matrix: Matrix3(Vector3(1.03, 0.01, 0), Vector3(0, 0.97, -0.01), Vector3(0.02, 0, 1.01)))
        let truth = Vector3(0.07, -0.03, 0.02)
        var pipeline = MotionPipeline(settings: settings, calibration: chip)
        for index in 0..<12_000 {
            let sample = MotionSample(
                timestamp: Timestamp(seconds: 1 + Double(index) * 0.005), acceleration: Vector3(0, 0, standardGravity),
                rotationRate: truth, temperature: 28)
            pipeline.process(sample) { _ in }
        }
        let residual = pipeline.state.gyroscopeBias
        #expect((residual - settings.mount * chip.gyroscope.apply(truth, temperature: 28)).length < 1e-3)
        let whole = pipeline.calibration.sensorReading(ofRate: residual, temperature: 28)
        #expect((whole - truth).length < 1e-3)
    }

    @Test func correctsChipErrorsBeforeMounting() {
        let mount = Matrix3(Vector3(0, 0, -1), Vector3(0, 1, 0), Vector3(1, 0, 0))
        let chip = ChipCalibration(
            accelerometer: AccelerometerCalibration(
                offset: Vector3(0.5, -0.25, 1), matrix: Matrix3(Vector3(2, 0, 0), Vector3(0, 1, 0.5), Vector3(0, 0, 1))),
            gyroscope: GyroscopeCalibration(
                bias: Vector3(1, 2, 3), biasSlope: Vector3(0.5, 0, -0.5), referenceTemperature: 20,
                matrix: Matrix3(Vector3(1, 0, 0), Vector3(0, 2, 0), Vector3(0, 0, 4))))
        let calibration = SensorCalibration(mount: mount, chip: chip)
        var sample = MotionSample(
            timestamp: Timestamp(nanoseconds: 5), acceleration: Vector3(1.5, 2.75, 3), rotationRate: Vector3(4, 5, 6),
            temperature: 22, flags: [.rotationRate, .accelerationClipped(axis: 0)])
        let warm = calibration.apply(sample)
        #expect(warm.acceleration == Vector3(-2, 4, 2))
        #expect(warm.rotationRate == Vector3(-16, 6, 2))
        #expect(warm.flags == [.rotationRate, .accelerationClipped(axis: 2)])
        // If the temperature is unknown, the bias at the reference temperature is used.
        sample.temperature = .nan
        #expect(calibration.apply(sample).rotationRate == Vector3(-12, 6, 3))
        // Without a gyroscope no bias is subtracted.
        sample.flags = []
        sample.rotationRate = .zero
        #expect(calibration.apply(sample).rotationRate == .zero)
        #expect(calibration.apply(sample).acceleration == Vector3(-2, 4, 2))
    }

    /// Another calibration restarts attitude and reference; the same one has no effect.
    @Test func newCalibrationClearsReference() {
        var pipeline = MotionPipeline()
        func feed(_ seconds: Double, from start: Double, into pipeline: inout MotionPipeline) {
            for index in 0..<Int(seconds * 200) {
                let sample = MotionSample(
                    timestamp: Timestamp(seconds: start + Double(index) * 0.005),
                    acceleration: Vector3(0, 0, standardGravity), rotationRate: .zero)
                pipeline.process(sample) { _ in }
            }
        }
        feed(1, from: 1, into: &pipeline)
        pipeline.takeReference()
        feed(0.1, from: 2, into: &pipeline)
        #expect(pipeline.state.hasReference)
        pipeline.apply(ChipCalibration()) { _ in }
        feed(0.1, from: 3, into: &pipeline)
        #expect(pipeline.state.hasReference)
        var chip = ChipCalibration()
        chip.accelerometer.offset = Vector3(0, standardGravity, 0)
        pipeline.apply(chip) { _ in }
        feed(0.1, from: 4, into: &pipeline)
        #expect(!pipeline.state.hasReference)
        #expect(abs(pipeline.state.attitude.eulerAngles.roll + .pi / 4) < 0.01)
        // Other settings keep the calibration.
        var settings = MotionSettings()
        settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        pipeline.apply(settings) { _ in }
        #expect(pipeline.calibration.chip == chip)
    }
}
