import IMUDrivers
import JostleMessages
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
