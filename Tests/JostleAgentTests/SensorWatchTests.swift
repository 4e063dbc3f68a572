import IMUDrivers
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: the log says which range to set if readings are clipped, and reports a problem with the data-ready line
/// once.
@Suite struct SensorWatchTests {
    private func info(_ acceleration: Double, _ rotation: Double) -> IMUInfo {
        IMUInfo(
            name: "MPU-6050", identity: 0x68, nominalRate: 200, accelerometerRange: acceleration * standardGravity,
            gyroscopeRange: rotation * radiansPerDegree, bandwidth: 98)
    }

    private func instant(_ seconds: Double) -> Timestamp { Timestamp(seconds: 100 + seconds) }

    @Test func reportsClippingWithAdviceOncePerMinute() {
        var watch = SensorWatch()
        var status = IMUStatus()
        #expect(watch.remarks(on: status, info(8, 500), at: instant(0)).isEmpty)
        status.clippedAccelerations = 7
        #expect(
            watch.remarks(on: status, info(8, 500), at: instant(1)).map(\.text) == [
                "7 samples of the accelerometer were clipped: set sensor.accelerometer_range: 16 g"
            ])
        status.clippedAccelerations = 9
        status.clippedRotationRates = 3
        #expect(watch.remarks(on: status, info(8, 500), at: instant(60)).isEmpty)
        #expect(
            watch.remarks(on: status, info(8, 500), at: instant(61)).map(\.text) == [
                "2 samples of the accelerometer were clipped: set sensor.accelerometer_range: 16 g",
                "3 samples of the gyroscope were clipped: set sensor.gyroscope_range: 1000 °/s",
            ])
        #expect(watch.remarks(on: status, info(8, 500), at: instant(200)).isEmpty)
    }

    @Test func reportsClippingAtLargestRange() {
        var watch = SensorWatch()
        var status = IMUStatus()
        status.clippedAccelerations = 1
        status.clippedRotationRates = 2
        // An LSM6DS's ±2000 °/s is 2293.8 °/s in counts.
        #expect(
            watch.remarks(on: status, info(16, 2000), at: instant(0)).map(\.text) == [
                "1 samples of the accelerometer were clipped: ±16 g is already the largest range",
                "2 samples of the gyroscope were clipped: ±2000 °/s is already the largest range",
            ])
        #expect(SensorWatch.advice("key", 4, [2, 4, 8, 16], "g") == "set key: 8 g")
    }

    @Test func reportsDataReadyChangesOnce() {
        var watch = SensorWatch()
        var status = IMUStatus()
        func texts(_ second: Double) -> [SensorWatch.Remark] {
            watch.remarks(on: status, info(8, 2000), at: instant(second))
        }
        status.dataReady.state = .seeking
        #expect(texts(0).isEmpty)
        status.dataReady.state = .unused
        status.dataReady.failures = 1
        status.dataReady.lastFault = .silent
        let silent = texts(1)
        #expect(silent.count == 1 && silent[0].isWarning && silent[0].text.contains("check sensor.interrupt"))
        status.dataReady.failures = 2
        #expect(texts(2).isEmpty)
        status.dataReady.state = .used
        #expect(texts(3).map(\.isWarning) == [false])
        #expect(texts(4).isEmpty)
        status.dataReady.state = .unused
        status.dataReady.failures = 3
        status.dataReady.lastFault = .mismatched
        #expect(texts(5).map(\.isWarning) == [true])
    }

    @Test func reportsUnsupportedDataReadyOnce() {
        var watch = SensorWatch()
        var status = IMUStatus()
        status.dataReady.state = .unused
        status.dataReady.failures = 1
        status.dataReady.lastFault = .unsupported
        let remarks = watch.remarks(on: status, info(8, 2000), at: instant(0))
        #expect(remarks.map(\.isWarning) == [true] && remarks[0].text.contains("sensor.interrupt"))
        #expect(watch.remarks(on: status, info(8, 2000), at: instant(1)).isEmpty)
        #expect(DataReadyFault.unsupported.word == "unsupported")
    }

    /// Requirement: an accelerometer that does not measure gravity at rest is named, with its factor and what to do.
    @Test(
        arguments: [
            ("LSM6DSO", 4.9, "LSM6DSO32", "driver: lsm6dso32"), ("LSM6DSO32", 19.6, "LSM6DSO", "driver: lsm6ds"),
            ("ADXL345", 0.8, "ADXL375", "driver: adxl375"), ("ADXL375", 120, "ADXL345", "driver: adxl345"),
            ("MPU-6050", 19.6, nil, "calibrate accelerometer"), ("BMI160", 12.45, nil, "calibrate accelerometer"),
            ("LIS3DH", 4.9, nil, "calibrate accelerometer"), ("LSM9DS1", 2, nil, "replace it"),
        ] as [(StaticString, Double, String?, String)])
    func namesWhatIsNotGravity(name: StaticString, length: Double, likely: String?, step: String) throws {
        var watch = SensorWatch()
        var info = info(8, 2000)
        info.name = name
        #expect(watch.remark(onRest: nil, info) == nil && watch.gravity == nil)
        let first = watch.remark(onRest: length, info)
        let remark = try #require(first)
        let factor = (length / standardGravity).rounded(to: 2)
        #expect(remark.isWarning && remark.text.contains("\(factor) times gravity"), "\(remark.text)")
        #expect(remark.text.hasSuffix(step), "\(remark.text)")
        #expect(likely.map { remark.text.contains("a chip \($0),") } ?? true, "\(remark.text)")
        var facts = HealthFacts()
        facts.status.state = .streaming
        facts.gravity = watch.gravity
        let now = ClockReading(
            boot: "a", monotonic: instant(1), wall: 1, isSet: true)
        var health = HealthReporter(version: "0", interval: 60, processorTime: 0, at: now)
        let report = String(decoding: health.report(facts, at: now).bytes, as: UTF8.self)
        #expect(
            report.contains(likely == nil ? #""problems":["sensor_scale"]"# : #""problems":["sensor_scale","chip"]"#))
        #expect(report.contains("\"gravity_factor\":") && report.contains(step), "\(report)")
        // Once is enough, until gravity is right.
        #expect(watch.remark(onRest: length * 1.01, info) == nil)
        #expect(watch.remark(onRest: 9.7, info)?.isWarning == false)
        #expect(watch.gravity == nil)
    }

    @Test func suspectsNoOtherChip() {
        for (name, length) in [
            ("LSM6DSO", 9.3), ("MPU-6050", 8.5), ("MPU-6050", 11.2), ("ADXL345", 9.1), ("ADXL375", 9.0),
            ("LSM6DSO32", 10.2),
        ] as [(StaticString, Double)] {
            var watch = SensorWatch()
            var info = info(8, 2000)
            info.name = name
            for _ in 0..<5 { #expect(watch.remark(onRest: length, info) == nil) }
            #expect(watch.gravity == nil)
        }
    }

    @Test func saysThatAMagnetometerDoesNotMeasure() throws {
        var watch = SensorWatch()
        var status = MagnetometerStatus()
        #expect(watch.remark(onMagnetometer: nil, status) == nil && watch.remark(onMagnetometer: "AK8963", nil) == nil)
        status.state = .recovering
        status.lastFault = .bus(BusError(.notAcknowledged))
        let silent = watch.remark(onMagnetometer: "AK8963", status)
        #expect(silent?.isWarning == true)
        #expect(silent?.text.hasPrefix("the magnetometer AK8963 does not measure: the chip does not answer") == true)
        #expect(watch.remark(onMagnetometer: "AK8963", status) == nil)
        status.state = .measuring
        #expect(watch.remark(onMagnetometer: "AK8963", status)?.isWarning == false)
        #expect(watch.remark(onMagnetometer: "AK8963", status) == nil)
    }

    @Test func healthDescribesDataReady() {
        var status = DataReadyStatus()
        #expect(HealthReporter.dataReady(status) == nil)
        status.state = .unused
        status.lastFault = .silent
        status.failures = 2
        status.edges = 5
        status.lostEdges = 1
        status.outlierEdges = 3
        status.timedSamples = 4
        #expect(
            HealthReporter.dataReady(status)?.description
                == #"{"state":"unused","fault":"silent","failures":2,"edges":5,"lost_edges":1,"odd_edges":3,"timed_samples":4}"#
        )
    }
}
