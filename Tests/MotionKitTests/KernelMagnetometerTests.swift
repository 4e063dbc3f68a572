import Foundation
import IMUDrivers
import LinuxSensors
import MotionCore
import MotionTestSupport
import Testing

@testable import MotionKit

/// Requirement: the magnetometer of a kernel driver is read in the axes of the accelerometer, and does not disturb its
/// samples.
@Suite struct KernelMagnetometerTests {
    private let fake: FakeIIO
    private var settings = IMUSettings()
    private let clock = SystemClock()

    init() throws {
        fake = try FakeIIO()
        settings.rate = 200
        settings.connectsMagnetometer = true
    }

    private func sensor() throws -> KernelSensor {
        try KernelSensor(try fake.choice(), settings, in: fake.places, .agent)
    }

    private func addSensorAndMagnetometer() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        try fake.add(1, hardware: "i2c-1/1-000c", FakeIIO.magnetometer("ak8963", [100, 200, 300]), hasFile: false)
    }

    private func sensorWithMagnetometer() throws -> KernelSensor {
        try addSensorAndMagnetometer()
        return try sensor()
    }

    /// Polls as the sensor thread does for some seconds, or until the readings and the status are as wanted. The sensor
    /// gets a sample every 10 ms if it is device 0 and has a buffer.
    private func poll(
        _ sensor: KernelSensor, seconds: Double, samples: Int = 0, feeds: Bool = true,
        until isDone: ([MagneticSample]) -> Bool = { _ in false }
    ) -> (fields: [MagneticSample], samples: Int, failures: Int) {
        var batch = SampleBatch(capacity: 128)
        var result = (fields: [MagneticSample](), samples: 0, failures: 0)
        let end = clock.now().advanced(bySeconds: seconds)
        var count = 0
        while clock.now() < end, result.samples < samples || !isDone(result.fields) {
            count += 1
            if feeds {
                fake.feed(
                    0,
                    FakeIIO.bytes(
                        [Int16(count % 100), 2, 3, 4, 5, 6, 7], bigEndian: true, padding: 2,
                        time: clock.now().nanoseconds))
            }
            let poll = sensor.poll(into: &batch)
            if case .failed = poll.event { result.failures += 1 }
            while let field = sensor.takeField() { result.fields.append(field) }
            result.samples += batch.count
            batch.removeAll()
            SystemClock.sleep(until: clock.now().advanced(bySeconds: 0.01))
        }
        return result
    }

    private func isClose(_ a: Vector3?, _ b: Vector3) -> Bool { a.map { ($0 - b).length < 1e-6 } ?? false }

    // MARK: The sensor's own device

    @Test("The field of an MPU-9250 comes with its samples, in the axes of its accelerometer, when it was measured")
    func ownDevice() throws {
        // The kernel's matrix of the magnetometer is wrong if that of the chip is not the identity: it is not used.
        let matrices = [
            "in_accel_mount_matrix": "0, 0, 1; 1, 0, 0; 0, 1, 0", "in_magn_mount_matrix": "1, 0, 0; 0, 0, 1; 0, -1, 0",
        ]
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu9250.merging(matrices) { $1 })
        try fake.bind("i2c-1/1-0068", to: "inv-mpu6050-i2c")
        // Another one on the bus is further away.
        try fake.add(1, hardware: "i2c-1/1-000c", FakeIIO.magnetometer("ak8963", [1, 2, 3]), hasFile: false)
        let sensor = try sensor()
        #expect(sensor.magnetometerName == "iio:device0 (mpu9250)" && sensor.notes.isEmpty)
        #expect(["x", "y", "z"].allSatisfy { fake.value("iio:device0", "buffer0/in_magn_\($0)_en") == "1" })
        let start = clock.now().advanced(bySeconds: -0.4)
        func feed(_ field: [Int16], at seconds: Double) {
            let time = start.advanced(bySeconds: seconds).nanoseconds
            fake.feed(
                0,
                FakeIIO.bytes(
                    [Int16(seconds * 1000), 2, 4096, 4, 5, 6, 7] + field, bigEndian: true, padding: 4, time: time))
        }
        // The chip repeats a measurement until there is another one.
        var fields: [MagneticSample] = []
        var batch = SampleBatch(capacity: 128)
        func read() {
            _ = sensor.poll(into: &batch)
            while let field = sensor.takeField() { fields.append(field) }
        }
        feed([100, 200, -300], at: 0)
        read()
        feed([100, 200, -300], at: 0.2)
        read()
        feed([110, 200, -300], at: 0.205)
        read()
        feed([120, 200, -300], at: 0.225)
        read()
        // Zero and full scale are no fields.
        feed([0, 0, 0], at: 0.32)
        read()
        feed([32767, 5, 6], at: 0.33)
        read()
        #expect(
            batch.count == 6 && batch[0].acceleration.z == 4096 * 0.002392 && batch[0].rotationRate.z == 7 * 0.001064724
        )
        try #require(fields.count == 2, "\(fields)")
        #expect(isClose(fields[0].field, Vector3(30, 15, 45)))
        #expect(isClose(fields[1].field, Vector3(30, 16.5, 45)))
        // At 200 Hz a measurement was started 20 ms before, and lasted 7.2 ms.
        #expect(abs(start.seconds(since: fields[0].timestamp) - 0.0164) < 1e-6)
        #expect(abs(fields[1].timestamp.seconds(since: fields[0].timestamp) - 0.205) < 1e-6)
        #expect(sensor.magnetometerStatus?.state == .measuring && sensor.magnetometerStatus?.readings == 2)
        try sensor.stop()
        #expect(sensor.magnetometerStatus?.state == .asleep)
        #expect(["x", "y", "z"].allSatisfy { fake.value("iio:device0", "buffer0/in_magn_\($0)_en") == "0" })
    }

    @Test("Without the setting nothing is enabled or read")
    mutating func notAsked() throws {
        settings.connectsMagnetometer = false
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu9250)
        let sensor = try sensor()
        #expect(sensor.magnetometerName == nil && sensor.magnetometerStatus == nil && sensor.notes.isEmpty)
        #expect(fake.value("iio:device0", "buffer0/in_magn_x_en") == "0")
        #expect(fake.value("iio:device0", "buffer0/in_accel_x_en") == "1")
    }

    @Test("A device without a buffer is read value by value; that of inv_mpu6050 is too slow for that")
    func ownValues() throws {
        let isValue = { (attribute: (key: String, value: String)) in !attribute.key.hasPrefix("buffer0") }
        try fake.add(0, hardware: "i2c-1/1-0028", FakeIIO.mpu9250.filter(isValue).merging(["name": "bno055"]) { $1 })
        let sensor = try sensor()
        #expect(sensor.notes.isEmpty)
        let result = poll(sensor, seconds: 20, samples: 4, feeds: false) { $0.count >= 2 }
        #expect(isClose(result.fields.last?.field, Vector3(15, -30, 45)) && result.samples >= 4)
        try sensor.stop()
        try fake.bind("i2c-1/1-0028", to: "inv-mpu6050-i2c")
        let slow = try self.sensor()
        let note =
            "sensor.magnetometer: iio:device0 (bno055) has the field only in its buffer, and cannot be read through it"
        #expect(slow.notes == [note] && slow.magnetometerStatus?.state == .recovering)
        #expect(poll(slow, seconds: 0.3, feeds: false).fields.isEmpty)
    }

    // MARK: Another device

    @Test("A magnetometer on the same bus is read up to ten times a second, in the axes of the accelerometer")
    func otherDevice() throws {
        // The accelerometer's x is the board's y; the magnetometer's x is the board's z.
        let accelerometer = ["in_accel_mount_matrix": "0, -1, 0; 1, 0, 0; 0, 0, 1"]
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050.merging(accelerometer) { $1 })
        let magnetometer = ["in_magn_mount_matrix": "0, 1, 0; 0, 0, 1; 1, 0, 0", "in_magn_x_offset": "20"]
        try fake.add(
            1, hardware: "i2c-1/1-000c",
            FakeIIO.magnetometer("ak8963", [80, 200, 300]).merging(magnetometer) { $1 }, hasFile: false)
        let sensor = try sensor()
        #expect(sensor.magnetometerName == "iio:device1 (ak8963)" && sensor.notes.isEmpty)
        let before = clock.now()
        let result = poll(sensor, seconds: 1)
        let seconds = clock.now().seconds(since: before)
        // Its own axes 15, 30, 45 µT; the board's 30, 45, 15; the accelerometer's 45, -30, 15.
        #expect(!result.fields.isEmpty && result.fields.allSatisfy { isClose($0.field, Vector3(45, -30, 15)) })
        #expect(Double(result.fields.count) <= 10 * seconds + 2, "\(result.fields.count) in \(seconds) s")
        #expect(result.fields.allSatisfy { $0.timestamp >= before && $0.timestamp < clock.now() })
        #expect(result.samples > 10 && result.failures == 0)
        #expect(sensor.magnetometerStatus?.readings == UInt64(result.fields.count))
        try sensor.stop()
        #expect(sensor.magnetometerStatus?.state == .asleep)
        // It is opened again with the sensor.
        #expect(!poll(sensor, seconds: 20) { !$0.isEmpty }.fields.isEmpty)
    }

    @Test("A matrix that is not a rotation is ignored and reported")
    func mirroredMatrix() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let mirror = ["in_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, -1"]
        try fake.add(
            1, hardware: "i2c-1/1-000c", FakeIIO.magnetometer("ak8963", [100, 200, 300]).merging(mirror) { $1 },
            hasFile: false)
        let sensor = try sensor()
        let note =
            "the mount matrix \"1, 0, 0; 0, 1, 0; 0, 0, -1\" of iio:device1 (ak8963) is not a rotation and is ignored"
        #expect(sensor.notes == ["sensor.magnetometer: \(note)"])
        #expect(isClose(poll(sensor, seconds: 20) { !$0.isEmpty }.fields.first?.field, Vector3(15, 30, 45)))
    }

    @Test("That on another bus is not taken, and a missing one is reported")
    func missing() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        try fake.add(1, hardware: "i2c-3/3-000c", FakeIIO.magnetometer("ak8963", [100, 200, 300]), hasFile: false)
        let sensor = try sensor()
        #expect(sensor.magnetometerName == nil && sensor.magnetometerStatus == nil)
        let note = "sensor.magnetometer: iio:device0 (mpu6050) has no magnetometer, nor is there another on i2c-1"
        #expect(sensor.notes == [note])
    }

    @Test("A value that cannot be opened is reported with the reason")
    func unreadable() throws {
        try addSensorAndMagnetometer()
        try fake.link("iio:device1", "in_magn_y_raw", to: "/nowhere/at/all")
        let sensor = try sensor()
        #expect(sensor.magnetometerName == nil)
        let reason = "iio:device1 (ak8963): in_magn_y_raw cannot be read: No such file or directory"
        #expect(
            sensor.notes.count == 1 && sensor.notes[0].hasPrefix("sensor.magnetometer: \(reason)"), "\(sensor.notes)")
    }

    // MARK: Failures

    @Test("A failing value ends the readings until it is right again, and the samples go on")
    func failingValue() throws {
        let sensor = try sensorWithMagnetometer()
        #expect(!poll(sensor, seconds: 20) { !$0.isEmpty }.fields.isEmpty)
        try fake.set("iio:device1", "in_magn_z_raw", to: "gone")
        let failing = poll(sensor, seconds: 20) { _ in sensor.magnetometerStatus?.state == .recovering }
        #expect(failing.fields.count <= 1 && failing.failures == 0 && failing.samples > 5)
        let status = try #require(sensor.magnetometerStatus)
        #expect(status.failures == 1 && status.recoveries == 0 && status.busErrors.inputOutput == 3)
        #expect(status.lastFault == .bus(BusError(.inputOutput, code: EIO)))
        // The pause.
        let paused = poll(sensor, seconds: 0.5)
        #expect(paused.fields.isEmpty && paused.samples > 5 && sensor.magnetometerStatus?.busErrors.inputOutput == 3)
        try fake.set("iio:device1", "in_magn_z_raw", to: "310")
        let again = poll(sensor, seconds: 20) { !$0.isEmpty }
        #expect(isClose(again.fields.first?.field, Vector3(15, 30, 46.5)) && again.failures == 0)
        #expect(sensor.magnetometerStatus?.recoveries == 1 && sensor.magnetometerStatus?.state == .measuring)
        #expect(sensor.status.state == .streaming && sensor.status.busErrors.total == 0)
    }

    @Test("A magnetometer that was bound again is found under another number, and another one is not taken for it")
    func lossAndReturn() throws {
        let sensor = try sensorWithMagnetometer()
        #expect(!poll(sensor, seconds: 20) { !$0.isEmpty }.fields.isEmpty)
        // A removed file can still be read here; a removed attribute of the kernel cannot.
        try fake.set("iio:device1", "in_magn_x_raw", to: "gone")
        try fake.remove(1)
        try fake.add(2, hardware: "i2c-1/1-001e", FakeIIO.magnetometer("hmc5883", [7, 7, 7]), hasFile: false)
        let lost = poll(sensor, seconds: 20) { _ in
            sensor.magnetometerStatus?.lastFault == .bus(BusError(.absent))
        }
        #expect(sensor.magnetometerStatus?.lastFault == .bus(BusError(.absent)) && lost.failures == 0)
        try fake.add(5, hardware: "i2c-1/1-000c", FakeIIO.magnetometer("ak8963", [100, 200, 310]), hasFile: false)
        let found = poll(sensor, seconds: 20) { !$0.isEmpty }
        #expect(isClose(found.fields.first?.field, Vector3(15, 30, 46.5)))
        #expect(sensor.magnetometerStatus?.failures == 1 && sensor.magnetometerStatus?.recoveries == 1)
    }

    @Test("A magnetometer of which no bit changes does not measure")
    func frozen() throws {
        let sensor = try sensorWithMagnetometer()
        _ = poll(sensor, seconds: 30) { _ in sensor.magnetometerStatus?.state == .recovering }
        #expect(sensor.magnetometerStatus?.lastFault == .stalled && sensor.status.state == .streaming)
        try fake.set("iio:device1", "in_magn_x_raw", to: "101")
        #expect(!poll(sensor, seconds: 20) { !$0.isEmpty }.fields.isEmpty)
    }

    // MARK: The choice

    @Test("Of several the closest is chosen, and among equals the one with the lowest address")
    func choice() throws {
        let values = [100, 200, 300]
        try fake.add(
            0, hardware: "i2c-1/1-006a", FakeIIO.lsm6dso("in_accel", name: "lsm9ds1_accel", scale: "1", scales: "1"))
        func chosen() throws -> String? {
            let devices = IIODevice.all(in: fake.places)
            let accelerometer = try #require(devices.first { $0.number == 0 })
            return KernelMagnetometerChoice(for: accelerometer, among: devices)?.device.identifier
        }
        try fake.add(1, hardware: "i2c-2/2-000c", FakeIIO.magnetometer("lsm9ds1_magn", values), hasFile: false)
        #expect(try chosen() == nil)
        try fake.add(2, hardware: "i2c-1/1-001e", FakeIIO.magnetometer("lis3mdl", values), hasFile: false)
        #expect(try chosen() == "iio:device2")
        try fake.add(3, hardware: "i2c-1/1-000d", FakeIIO.magnetometer("qmc5883l", values), hasFile: false)
        #expect(try chosen() == "iio:device3")
        try fake.add(4, hardware: "i2c-1/1-001c", FakeIIO.magnetometer("lsm9ds1_magn", values), hasFile: false)
        #expect(try chosen() == "iio:device4")
        try fake.add(5, hardware: "i2c-1/i2c-11/11-000c", FakeIIO.magnetometer("ak8963", values), hasFile: false)
        #expect(try chosen() == "iio:device4")
        try fake.linkHardware("i2c-1/i2c-11/mux_device", to: "i2c-1/1-006a")
        #expect(try chosen() == "iio:device5")
        try fake.add(6, hardware: "i2c-1/1-006a", FakeIIO.magnetometer("lsm9ds1_shub", values), hasFile: false)
        #expect(try chosen() == "iio:device6")
    }
}

/// Requirement: a slow magnetometer holds up the sensor for one axis at a time, and axes far apart are not one field.
@Suite struct KernelFieldReadingTests {
    private let clock = ManualClock()

    private func advance(
        _ reading: inout KernelFieldReading, seconds: Double, failsAt failing: Int? = nil
    ) throws(BusError) -> KernelFieldReading.Progress {
        try reading.advance(clock) { (axis: Int) throws(BusError) in
            clock.advance(bySeconds: seconds)
            if axis == failing { throw BusError(.inputOutput) }
            return Double(axis + 1)
        }
    }

    @Test("Quick axes are read in one poll, slow ones in three; the time is the middle", arguments: [0.001, 0.012])
    func polls(seconds: Double) throws {
        var reading = KernelFieldReading()
        for _ in 0..<2 {
            let start = clock.now()
            if seconds > 0.005 {
                for _ in 0..<2 {
                    let before = clock.now()
                    let progress = try advance(&reading, seconds: seconds)
                    #expect(progress == .incomplete && reading.isBegun)
                    #expect(abs(clock.now().seconds(since: before) - seconds) < 1e-9)
                }
            }
            let progress = try advance(&reading, seconds: seconds)
            #expect(progress == .complete && !reading.isBegun && reading.field == Vector3(1, 2, 3))
            #expect(abs(reading.time.seconds(since: start) - 1.5 * seconds) < 1e-6)
        }
    }

    @Test("Axes more than 50 ms apart are late, and a failed one is begun again")
    func lateOrFailed() throws {
        var reading = KernelFieldReading()
        for expected in [KernelFieldReading.Progress.incomplete, .incomplete, .late] {
            let progress = try advance(&reading, seconds: 0.026)
            #expect(progress == expected)
        }
        #expect(!reading.isBegun && abs(reading.span - 0.052) < 1e-6)
        let slow = try advance(&reading, seconds: 0.06)
        #expect(slow == .late && !reading.isBegun)
        #expect(throws: BusError(.inputOutput)) { try advance(&reading, seconds: 0.001, failsAt: 1) }
        #expect(!reading.isBegun)
        let progress = try advance(&reading, seconds: 0.001)
        #expect(progress == .complete && abs(reading.span - 0.002) < 1e-6)
    }
}
