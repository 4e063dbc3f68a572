import Foundation
import IMUDrivers
import LinuxSystem
import MotionCore
import MotionTestSupport
import Testing

@testable import LinuxSensors

extension FakeIIO {
    var places: SystemPlaces { SystemPlaces(devices: devices, system: system) }

    /// The device with a number, which must exist.
    func device(_ number: Int) throws -> IIODevice {
        try #require(IIODevice.all(in: places).first { $0.number == number })
    }
}

private func failure<Value>(_ body: () throws -> Value) -> IIOError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? IIOError
    }
}

/// Requirement: a kernel driver's device is configured and read, and its settings are restored.
@Suite struct IIOCaptureTests {
    private let fake: FakeIIO
    private var settings = IMUSettings()

    init() throws {
        fake = try FakeIIO()
        settings.rate = 120
        settings.accelerometerRange = 4 * standardGravity
        settings.gyroscopeRange = 500 * .pi / 180
    }

    private let time: Int64 = 1_234_567_890_123

    @Test("Lists devices in order, with their quantities and locations")
    func list() throws {
        try fake.add(10, hardware: "i2c-1/1-001d", FakeIIO.adxl345)
        try fake.add(2, hardware: "soc/i2c-1/1-0068", FakeIIO.mpu6050.merging(["label": "lid"]) { $1 })
        try fake.add(3, hardware: "adc", ["name": "adc", "in_voltage0_raw": "1"])
        let devices = IIODevice.all(in: fake.places)
        #expect(devices.map(\.identifier) == ["iio:device2", "iio:device3", "iio:device10"])
        #expect(devices.map(\.quantities) == [[.acceleration, .rotationRate], [], [.acceleration]])
        #expect(devices[0].i2cPlace?.bus == 1 && devices[0].i2cPlace?.address == 0x68)
        #expect(devices[2].i2cPlace?.address == 0x1D && devices[1].i2cPlace == nil)
        #expect(devices[0].title == "iio:device2 (mpu6050)")
        #expect(devices[0].isNamed("lid") && devices[0].isNamed("mpu6050") && devices[0].isNamed("iio:device2"))
        #expect(!devices[2].isNamed("lid"))
        #expect(IIODevice.all(in: SystemPlaces(devices: "/nowhere", system: "/nowhere")).isEmpty)
    }

    @Test("Sets an MPU-6050 to the nearest rate and ranges, and distinguishes every axis")
    func capture() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let capture = try #require(try IIOCapture.open(try fake.device(0), settings, in: fake.places))
        let wanted = [
            "sampling_frequency": "200", "in_accel_scale": "0.001196", "in_anglvel_scale": "0.000266181",
            "current_timestamp_clock": "boottime", "buffer0/in_temp_en": "1", "buffer0/length": "200",
            "buffer0/watermark": "4", "buffer0/enable": "1",
        ]
        for (attribute, value) in wanted {
            #expect(fake.value("iio:device0", attribute) == value, "\(attribute)")
        }
        #expect(capture.rate == 200)
        #expect(abs(capture.accelerometerRange - 4 * standardGravity) < 0.1)
        #expect(abs(capture.gyroscopeRange - 500 * .pi / 180) < 0.01)
        #expect(capture.hasTime && capture.hasTemperature && capture.trigger == "mpu6050-dev0")

        #expect(try capture.read(atMost: 10) == 0)
        // Seven values of 2 bytes, two bytes of padding, the timestamp: 24 bytes.
        fake.feed(
            0, FakeIIO.bytes([8192, -4096, 2048, -521, 300, -200, 100], bigEndian: true, padding: 2, time: time))
        fake.feed(
            0, FakeIIO.bytes([32767, 1, -32768, -521, 0, -32768, 0], bigEndian: true, padding: 2, time: time + 5))
        #expect(try capture.read(atMost: 1) == 1)
        let first = capture.reading(at: 0)
        #expect(first.acceleration == Vector3(8192 * 0.001196, -4096 * 0.001196, 2048 * 0.001196))
        #expect(first.rotationRate == Vector3(300 * 0.000266181, -200 * 0.000266181, 100 * 0.000266181))
        // (-521 + 12420) · 2.941176 m°C.
        #expect(abs(first.temperature - 34.997) < 0.001)
        #expect(first.time == Timestamp(nanoseconds: time) && first.flags == .rotationRate)
        #expect(try capture.read(atMost: 10) == 1)
        let second = capture.reading(at: 0)
        #expect(second.time == Timestamp(nanoseconds: time + 5))
        let clipped: [MotionSample.Flags] = [
            .rotationRate, .accelerationClipped(axis: 0), .accelerationClipped(axis: 2), .rotationRateClipped(axis: 1),
        ]
        #expect(second.flags == clipped.reduce([]) { $0.union($1) })
        #expect(try capture.read(atMost: 10) == 0)

        try capture.stop()
        for (attribute, value) in FakeIIO.mpu6050 {
            #expect(fake.value("iio:device0", attribute) == value, "\(attribute)")
        }
    }

    /// The sequence of settings that these drivers need is tested with a real one (Scripts/test-on-kernel).
    @Test("A driver that needs another rate first has the wanted one in the end", arguments: ["50", "200"])
    func notedRate(old: String) throws {
        let attributes = FakeIIO.mpu6050.merging(["sampling_frequency": old]) { $1 }
        try fake.add(0, hardware: "i2c-1/1-0068", attributes)
        let driver = fake.system + "/inv-mpu6050-i2c"
        try FileManager.default.createDirectory(atPath: driver, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: fake.system + "/devices/i2c-1/1-0068/driver", withDestinationPath: driver)
        let device = try fake.device(0)
        #expect(device.driver == "inv-mpu6050-i2c")
        let capture = try #require(try IIOCapture.open(device, settings, in: fake.places))
        #expect(fake.value("iio:device0", "sampling_frequency") == "200" && capture.rate == 200)
        #expect(fake.value("iio:device0", "buffer0/enable") == "1")
        try capture.stop()
        for (attribute, value) in attributes {
            #expect(fake.value("iio:device0", attribute) == value, "\(attribute)")
        }
    }

    @Test("An incomplete frame waits for the rest")
    func half() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let capture = try #require(try IIOCapture.open(try fake.device(0), settings, in: fake.places))
        let frame = FakeIIO.bytes([1, -2, 3, 4, 5, -6, 7], bigEndian: true, padding: 2, time: time)
        fake.feed(0, Array(frame.prefix(9)))
        #expect(try capture.read(atMost: 4) == 0)
        fake.feed(0, Array(frame.dropFirst(9)) + Array(frame.prefix(5)))
        #expect(try capture.read(atMost: 4) == 1)
        fake.feed(0, Array(frame.dropFirst(5)))
        #expect(try capture.read(atMost: 4) == 1)
        #expect(capture.reading(at: 0).acceleration == Vector3(1 * 0.001196, -2 * 0.001196, 3 * 0.001196))
    }

    @Test("Supports a kernel without buffer0, an axis with its own scale and offset, and 12-bit shifted values")
    func oldKernel() throws {
        var attributes = FakeIIO.channels(
            "scan_elements",
            [
                ("in_accel_x", "le:s12/16>>4"), ("in_accel_y", "le:s12/16>>4"), ("in_accel_z", "le:s12/16>>4"),
                ("in_timestamp", "le:s64/64>>0"), ("in_voltage0", "le:u12/16>>0"),
            ])
        attributes["scan_elements/in_voltage0_en"] = "1"
        attributes.merge([
            "buffer/enable": "1", "buffer/length": "128", "current_timestamp_clock": "boottime", "name": "lis3dh",
            "in_accel_x_raw": "0", "in_accel_y_raw": "0", "in_accel_z_raw": "0", "in_accel_scale": "0.5",
            "in_accel_y_scale": "0.25", "in_accel_z_offset": "-10",
        ]) { $1 }
        try fake.add(0, hardware: "i2c-1/1-0018", attributes)
        let capture = try #require(try IIOCapture.open(try fake.device(0), settings, in: fake.places))
        // A killed program left the buffer on, with a channel that is not used.
        #expect(fake.value("iio:device0", "scan_elements/in_voltage0_en") == "0")
        #expect(capture.rate == nil && capture.gyroscopeRange == 0)
        fake.feed(0, FakeIIO.bytes([100 << 4, -100 << 4, 40 << 4], bigEndian: false, padding: 2, time: time))
        #expect(try capture.read(atMost: 4) == 1)
        let reading = capture.reading(at: 0)
        #expect(reading.acceleration == Vector3(50, -25, 15) && reading.flags == [] && reading.temperature.isNaN)
        try capture.stop()
        #expect(fake.value("iio:device0", "scan_elements/in_voltage0_en") == "1")
        #expect(fake.value("iio:device0", "buffer/enable") == "0")
    }

    /// A frame without a temperature: the attribute is read, (raw + offset) · scale in thousandths of a degree.
    @Test("Reads the temperature from its attributes, and NaN while the driver cannot tell it")
    func thermometer() throws {
        try fake.add(
            0, hardware: "i2c-1/1-0068",
            ["name": "mpu6050", "in_temp_raw": "-521", "in_temp_scale": "2.941176", "in_temp_offset": "12420"])
        try fake.add(1, hardware: "i2c-1/1-0018", ["name": "lis3dh"])
        let thermometer = try #require(IIOThermometer(try fake.device(0)))
        #expect(abs(thermometer.celsius() - 34.997) < 0.001)
        try fake.set("iio:device0", "in_temp_raw", to: "busy")
        #expect(thermometer.celsius().isNaN)
        #expect(IIOThermometer(try fake.device(1)) == nil)
    }

    @Test("Converts timestamps of the clock that stands still in suspend; refuses a wall clock that cannot be changed")
    func clocks() throws {
        try fake.add(0, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer)
        try fake.set("iio:device0", "current_timestamp_clock", to: "monotonic")
        let capture = try #require(try IIOCapture.open(try fake.device(0), settings, in: fake.places))
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let now = SystemClock().now()
        let monotonic = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        fake.feed(0, FakeIIO.bytes([1, 2, 3], bigEndian: false, padding: 2, time: monotonic))
        #expect(try capture.read(atMost: 4) == 1)
        let converted = try #require(capture.reading(at: 0).time)
        #expect(abs(converted.seconds(since: now)) < 0.01)
        try capture.stop()

        // No user, not even root, may write this file, and its content is not a clock name.
        try fake.link("iio:device0", "current_timestamp_clock", to: "/proc/sys/kernel/ostype")
        let device = try fake.device(0)
        let error = try #require(failure { try IIOCapture.open(device, settings, in: fake.places) })
        #expect(error.reason == .cannotWrite(attribute: "current_timestamp_clock"))
        #expect(error.busError.kind == .accessDenied && error.advice?.contains("usermod -aG iio") == true)
        // Earlier changes have been undone.
        #expect(fake.value("iio:device0", "sampling_frequency") == "12.500")
        #expect(fake.value("iio:device0", "buffer0/in_accel_x_en") == "0")
        #expect(IIOError(.wallClock("tai"), device: "d").advice?.contains("current_timestamp_clock") == true)
    }

    @Test("Asks a busy driver again, and goes on without it if it stays busy")
    func busyDriver() throws {
        var calls = 0
        func refusal(_ code: Int32) -> IIOError {
            IIOError(.cannotWrite(attribute: "sampling_frequency"), device: "d", SystemFailure(code: code))
        }
        let third = try IIOSetUp.whileBusy { () throws(IIOError) -> Int in
            calls += 1
            if calls < 3 { throw refusal(EAGAIN) }
            return calls
        }
        #expect(third == 3)
        #expect(try IIOSetUp.whileBusy { () throws(IIOError) -> Int in throw refusal(EAGAIN) } == nil)
        let error = failure { try IIOSetUp.whileBusy { () throws(IIOError) -> Int in throw refusal(EIO) } }
        #expect(error?.busError.code == EIO)
    }

    @Test("Prefers the device's own trigger, then an unused timer; without a trigger there is no buffer")
    func triggers() throws {
        let attributes = FakeIIO.mpu6050.merging(["trigger/current_trigger": ""]) { $1 }
        try fake.add(4, hardware: "i2c-1/1-0068", attributes)
        let device = try fake.device(4)
        #expect(try IIOCapture.open(device, settings, in: fake.places) == nil)
        #expect(fake.value("iio:device4", "sampling_frequency") == "50")

        try fake.addTrigger(0, hardware: "i2c-1/1-0068", ["name": "mpu6050-any-motion-dev4"])
        try fake.addTrigger(1, ["name": "taken", "sampling_frequency": "100"])
        try fake.addTrigger(2, ["name": "mine", "sampling_frequency": "100"])
        try fake.add(5, hardware: "i2c-1/1-001d", ["name": "other", "trigger/current_trigger": "taken"])
        let timed = try #require(try IIOCapture.open(device, settings, in: fake.places))
        #expect(timed.trigger == "mine" && timed.rate == 120)
        #expect(fake.value("iio:device4", "trigger/current_trigger") == "mine")
        #expect(fake.value("trigger2", "sampling_frequency") == "120")
        try timed.stop()
        #expect(fake.value("iio:device4", "trigger/current_trigger") == "")
        #expect(fake.value("trigger2", "sampling_frequency") == "100")

        try fake.addTrigger(3, hardware: "i2c-1/1-0068", ["name": "mpu6050-dev4"])
        let own = try #require(try IIOCapture.open(device, settings, in: fake.places))
        #expect(own.trigger == "mpu6050-dev4" && own.rate == 200)
    }

    @Test("Reports a missing device, an unsupported format and a missing attribute")
    func faults() throws {
        try fake.add(0, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer)
        let device = try fake.device(0)
        let capture = try #require(try IIOCapture.open(device, settings, in: fake.places))
        try fake.remove(0)
        var gone: BusError?
        do throws(BusError) { _ = try capture.read(atMost: 4) } catch { gone = error }
        #expect(gone?.kind == .absent)
        #expect(throws: BusError.self) { try capture.stop() }
        #expect(try IIOCapture.open(device, settings, in: fake.places) == nil)

        try fake.add(0, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer)
        try fake.set("iio:device0", "buffer0/in_accel_y_type", to: "le:f32/32>>0")
        let unknown = failure { try IIOCapture.open(device, settings, in: fake.places) }
        #expect(unknown?.reason == .unknownFormat(channel: "in_accel_y", "le:f32/32>>0"))
        try FileManager.default.removeItem(atPath: fake.devices + "/iio:device0")
        let missing = try #require(failure { try IIOCapture.open(device, settings, in: fake.places) })
        #expect(missing.reason == .cannotOpen && missing.busError.kind == .absent)
    }

    @Test("Reads values one by one without a buffer, always from the driver")
    func values() throws {
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345)
        let device = try fake.device(0)
        #expect(try IIOCapture.open(device, settings, in: fake.places) == nil)
        let reader = try IIORawReader.open(device, settings, in: fake.places)
        #expect(fake.value("iio:device0", "in_accel_sampling_frequency") == "200")
        #expect(try reader.read().acceleration == Vector3(31 * 0.0383, -62 * 0.0383, 256 * 0.0383))
        try fake.set("iio:device0", "in_accel_y_raw", to: "-4096")
        #expect(try reader.read().acceleration.y == -4096 * 0.0383)
        try fake.set("iio:device0", "in_accel_z_raw", to: "none")
        #expect(throws: BusError.self) { try reader.read() }
        try reader.stop()
        #expect(fake.value("iio:device0", "in_accel_sampling_frequency") == "100.000000")
    }

    /// Another range would change the scale of the first reader's values. The kernel's refusal to open a device file twice
    /// is not part of the fake, so it is the lock on the attribute that refuses.
    @Test(arguments: [true, false])
    func oneReaderOfValuesAtATime(hasFile: Bool) throws {
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345, hasFile: hasFile)
        let device = try fake.device(0)
        let first = try IIORawReader.open(device, settings, in: fake.places)
        #expect(openFiles() == (hasFile ? 1 : 0))
        var others = settings
        others.rate = 50
        let busy = try #require(failure { _ = try IIORawReader.open(device, others, in: fake.places) })
        expectInUseHere(busy)
        #expect(fake.value("iio:device0", "in_accel_sampling_frequency") == "200")
        try first.stop()
        #expect(openFiles() == 0)
        let second = try IIORawReader.open(device, others, in: fake.places)
        #expect(fake.value("iio:device0", "in_accel_sampling_frequency") != "200")
        try second.stop()
    }

    /// A device with a buffer that nothing fills is read value by value, until another program gives it a trigger.
    @Test func readerOfValuesExcludesCapture() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let device = try fake.device(0)
        let reader = try IIORawReader.open(device, settings, in: fake.places)
        expectInUseHere(try #require(failure { _ = try IIOCapture.open(device, settings, in: fake.places) }))
        try reader.stop()
        let capture = try #require(try IIOCapture.open(device, settings, in: fake.places))
        expectInUseHere(try #require(failure { _ = try IIORawReader.open(device, settings, in: fake.places) }))
        try capture.stop()
    }

    /// The device file is open in a program that is not ours.
    @Test func reportsProgramThatHasDeviceFile() throws {
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345)
        let device = try fake.device(0)
        do {
            let taken = try FakeAdapter(at: fake.devices + "/iio:device0") { $0.open_error = EBUSY }
            let busy = try #require(failure { _ = try IIORawReader.open(device, settings, in: fake.places) })
            #expect(busy.reason == .inUse(by: ChipLock.Holder()) && busy.busError == BusError(.busy, code: EBUSY))
            #expect("\(busy)" == "iio:device0 (adxl345): another process uses it")
            #expect(busy.advice?.contains("iio-sensor-proxy") == true)
            #expect(fake.value("iio:device0", "in_accel_sampling_frequency") == "100.000000")
            withExtendedLifetime(taken) {}
        }
        try IIORawReader.open(device, settings, in: fake.places).stop()
    }

    private func expectInUseHere(_ error: IIOError) {
        guard case .inUse(let holder) = error.reason else {
            Issue.record("\(error)")
            return
        }
        #expect(holder.processIdentifier == getpid() && holder.name?.isEmpty == false)
        #expect("\(error)".hasSuffix("(process \(getpid())) uses it") && error.busError.kind == .busy)
        #expect(
            error.advice(in: .agent) == "stop it: kill \(getpid()), or if it is the service, sudo systemctl stop jostle"
        )
    }

    /// How many descriptors of this process are the device file of the first device, besides the fake's own.
    private func openFiles() -> Int {
        let path = fake.devices + "/iio:device0"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
            - (FileManager.default.fileExists(atPath: path) ? 1 : 0)
    }

    @Test("Uses a quantity's own mount matrix or the common one; ignores one that is not a rotation")
    func mountMatrix() throws {
        let matrix = ["mount_matrix": "0, 1, 0; -1, 0, 0; 0, 0, 1"]
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050.merging(matrix) { $1 })
        let device = try fake.device(0)
        let quarter = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        #expect(device.mountMatrix(of: .acceleration) == quarter && device.mountMatrix(of: .rotationRate) == quarter)
        try fake.link("iio:device0", "in_accel_mount_matrix", to: "mount_matrix")
        try fake.set("iio:device0", "mount_matrix", to: "1, 0, 0; 0, 1, 0; 0, 0, -1")
        #expect(device.mountMatrix(of: .acceleration) == nil)
        try fake.set("iio:device0", "mount_matrix", to: "1, 0, 0; 0, 1, 0")
        #expect(device.mountMatrix(of: .acceleration) == nil)
    }
}
