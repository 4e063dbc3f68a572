import Foundation
import IMUDrivers
import MotionCore
import MotionKit
import Testing

/// Requirement: a sensor with a magnetometer is calibrated while a hand turns it, from its samples and readings alone.
@Suite struct MagnetometerMeasurementTests {
    private static let hardIron = Vector3(22, -31, 14)
    private static let shape = Matrix3(
        Vector3(1.05, 0.02, -0.03), Vector3(0.02, 0.96, 0.01), Vector3(-0.03, 0.01, 1.02))
    private static let earth = Vector3(0, 19.5, -43.8)

    /// A board that lies still for eight seconds and is then turned in all directions; 100 samples and 20 readings a second.
    /// Samples come in batches of a tenth of a second, after readings of their time.
    private final class TurnedBoard: SensorDevice, @unchecked Sendable {
        let title = "turned board"
        let storageName = "turned"
        let isSimulated = true
        let magnetometerName: String?
        let info: IMUInfo
        var status = IMUStatus()
        /// Turns per second are this times the usual ones.
        let speed: Double
        private typealias Tests = MagnetometerMeasurementTests
        private let bias = Vector3(0.03, -0.02, 0.04)
        private var time = 0.0
        private var attitude = Quaternion.identity
        private var fields: [MagneticSample] = []

        init(hasMagnetometer: Bool = true, gyroscopeRange: Double = 35, speed: Double = 1) {
            magnetometerName = hasMagnetometer ? "AK0000" : nil
            info = IMUInfo(
                name: "TURNED", identity: 1, nominalRate: 100, accelerometerRange: 78, gyroscopeRange: gyroscopeRange,
                bandwidth: 50)
            self.speed = speed
        }

        private func rate(_ time: Double) -> Vector3 {
            guard time >= 8 else { return .zero }
            let t = time - 8
            let (a, b, c) = (sin(0.31 * speed * t), cos(0.23 * speed * t), sin(0.17 * speed * t + 1))
            return 0.6 * speed * min(1, t) * Vector3(a, b, c)
        }

        func poll(into batch: inout SampleBatch) -> IMUPoll {
            for _ in 0..<10 {
                let next = time + 0.01
                attitude = (attitude * Quaternion(rotationVector: 0.01 * rate(time + 0.005))).normalized
                time = next
                let timestamp = Timestamp(seconds: time)
                // A little noise, always the same: a real sensor at rest does not repeat itself.
                let step = (time * 100).rounded()
                let noise = Vector3(sin(12.9 * step), sin(78.2 * step), sin(37.7 * step))
                batch.append(
                    MotionSample(
                        timestamp: timestamp,
                        acceleration: attitude.unrotate(Vector3(0, 0, standardGravity)) + 0.02 * noise,
                        rotationRate: rate(time) + bias + 0.001 * noise, flags: .rotationRate))
                if Int(step) % 5 == 0 {
                    let field = Tests.shape * attitude.unrotate(Tests.earth) + Tests.hardIron + 0.5 * noise
                    // Between two samples.
                    fields.append(MagneticSample(timestamp: timestamp.advanced(bySeconds: 0.002), field: field))
                }
            }
            return IMUPoll(next: Timestamp(seconds: time), event: .none)
        }

        func takeField() -> MagneticSample? { fields.isEmpty ? nil : fields.removeFirst() }
        func stop() throws(BusError) { status.state = .asleep }
    }

    @Test func findsErrorsFromSamplesAndReadings() throws {
        let board = TurnedBoard()
        let measurement = try MagnetometerMeasurement(board, known: StoredCalibration())
        for _ in 0..<20 { _ = measurement.poll() }
        guard case .resting = measurement.phase else {
            Issue.record("\(measurement.phase)")
            return
        }
        #expect(measurement.fit.readings == 0)
        for _ in 0..<900 { _ = measurement.poll() }
        #expect(measurement.phase == .turning && measurement.count > 1800)
        #expect(measurement.fit.restNoise > 0.2 && measurement.fit.restNoise < 0.5)
        let solution = try measurement.fit.solve()
        let calibration = solution.calibration
        #expect((calibration.hardIron - Self.hardIron).length < 0.3, "\(solution)")
        #expect(solution.residual < 0.6 && solution.headingDeviation * degreesPerRadian < 1.5, "\(solution)")
        let place = try #require(calibration.place)
        #expect(abs(place.dip - atan2(43.8, 19.5)) < 0.02, "\(solution)")
        // The corrected field points to where it points, in every direction.
        for side in BodySide.allCases {
            let field = place.strength * side.direction
            let corrected = calibration.apply(Self.shape * field + Self.hardIron)
            #expect(corrected.angle(to: field) < 0.02, "\(solution)")
        }
        try measurement.stop()
        #expect(board.status.state == .asleep)
    }

    @Test func leavesOutFastTurns() throws {
        let measurement = try MagnetometerMeasurement(TurnedBoard(speed: 8), known: StoredCalibration())
        for _ in 0..<400 { _ = measurement.poll() }
        var wasTooFast = false
        var before = measurement.fit.readings
        for _ in 0..<200 {
            _ = measurement.poll()
            if measurement.phase == .tooFast { wasTooFast = true }
        }
        #expect(wasTooFast)
        before = measurement.fit.readings - before
        // 20 s at 250 °/s are 1000 turns of five degrees, but only 400 readings, most of them too fast.
        #expect(before < 200)
    }

    @Test func needsMagnetometerAndGyroscope() {
        #expect(throws: MagnetometerMeasurement.Unsuitable.noMagnetometer(sensor: "turned board")) {
            try MagnetometerMeasurement(TurnedBoard(hasMagnetometer: false), known: StoredCalibration())
        }
        #expect(throws: MagnetometerMeasurement.Unsuitable.noGyroscope(sensor: "turned board")) {
            try MagnetometerMeasurement(TurnedBoard(gyroscopeRange: 0), known: StoredCalibration())
        }
    }
}
