import BrokerTestSupport
import Foundation
import IMUDrivers
import LinuxSensors
import MotionCore
import MotionTestSupport
import Testing

@testable import MotionKit

extension FakeIIO {
    var places: SystemPlaces { SystemPlaces(devices: devices, system: system) }

    /// The chosen sensor.
    func choice(named name: String? = nil) throws -> KernelSensorChoice {
        try #require(KernelSensorChoice(among: IIODevice.all(in: places), named: name))
    }
}

/// Requirement: a chip with a kernel driver works as any other sensor, also when it is lost and returns.
@Suite struct KernelSensorTests {
    private let fake: FakeIIO
    private var settings = IMUSettings()
    private let clock = SystemClock()

    init() throws {
        fake = try FakeIIO()
        settings.rate = 200
    }

    /// Polls as the sensor thread does, until there are `count` samples or an event that `ends`.
    ///
    /// It blocks its thread: a waiting task might be resumed so late that the samples are too old.
    private func poll(
        _ sensor: KernelSensor, samples count: Int = .max, ends: (SensorEvent) -> Bool = { _ in false }
    ) throws -> (samples: [MotionSample], events: [SensorEvent]) {
        var batch = SampleBatch(capacity: 128)
        var samples: [MotionSample] = []
        var events: [SensorEvent] = []
        let deadline = clock.now().advanced(bySeconds: 45)
        while samples.count < count {
            let poll = sensor.poll(into: &batch)
            for index in 0..<batch.count { samples.append(batch[index]) }
            batch.removeAll()
            if poll.event != .none { events.append(poll.event) }
            if ends(poll.event) { break }
            try #require(clock.now() < deadline, "\(samples.count) samples, \(events), \(sensor.status)")
            let pause = poll.next.seconds(since: clock.now())
            if pause > 0 { SystemClock.sleep(until: min(poll.next, clock.now().advanced(bySeconds: 0.05))) }
        }
        return (samples, events)
    }

    private func sensor() throws -> KernelSensor { try KernelSensor(try fake.choice(), settings, in: fake.places) }

    private func mpu6050() throws -> KernelSensor {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        return try sensor()
    }

    private func mpuFrame(_ values: [Int16], _ time: Timestamp) -> [UInt8] {
        FakeIIO.bytes(values, bigEndian: true, padding: 2, time: time.nanoseconds)
    }

    @Test("Without the gyroscope, it is not in the buffer, and samples have no rotation rate")
    func accelerationAlone() throws {
        var settings = settings
        settings.readsGyroscope = false
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let sensor = try KernelSensor(try fake.choice(), settings, in: fake.places)
        #expect(sensor.info.gyroscopeRange == 0)
        fake.feed(
            0, FakeIIO.bytes([0, -2, 4096, -521], bigEndian: true, padding: 0, time: clock.now().nanoseconds))
        let (samples, _) = try poll(sensor, samples: 1)
        #expect(samples.allSatisfy { !$0.flags.contains(.rotationRate) && $0.rotationRate == .zero })
        #expect(abs((samples.first?.acceleration.z ?? 0) - 4096.0 / 4096 * standardGravity) < 0.1)
    }

    @Test("An MPU-6050's samples have the kernel's times, and its settings are reported")
    func single() throws {
        let sensor = try mpu6050()
        #expect(sensor.title == "iio:device0 (mpu6050), trigger mpu6050-dev0")
        #expect(sensor.storageName == "iio-1-0068-mpu6050" && !sensor.isSimulated && sensor.mountMatrix == nil)
        #expect(sensor.info.nominalRate == 200)
        #expect(abs(sensor.info.accelerometerRange - 8 * standardGravity) < 0.1)
        #expect(abs(sensor.info.gyroscopeRange - 2000 * .pi / 180) < 0.1)
        let start = clock.now().advanced(bySeconds: -0.05)
        let times = (0..<5).map { start.advanced(bySeconds: 0.005 * Double($0)) }
        for (index, time) in times.enumerated() {
            fake.feed(0, mpuFrame([Int16(index), -2, 4096, -521, 3, -4, 5], time))
        }
        let (samples, events) = try poll(sensor, samples: 5)
        #expect(events == [.streaming(afterGap: 0)])
        #expect(samples.map(\.timestamp) == times)
        #expect(samples[3].acceleration == Vector3(3 * 0.002392, -2 * 0.002392, 4096 * 0.002392))
        #expect(samples[3].rotationRate == Vector3(3 * 0.001064724, -4 * 0.001064724, 5 * 0.001064724))
        #expect(samples.allSatisfy { $0.flags == .rotationRate && abs($0.temperature - 35) < 0.01 })
        #expect(sensor.status.state == .streaming && sensor.status.samples == 5 && sensor.status.gaps == 0)
        try sensor.stop()
        #expect(sensor.status.state == .asleep && fake.value("iio:device0", "buffer0/enable") == "0")
        #expect(fake.value("iio:device0", "sampling_frequency") == "50")
        // A poll after stop wakes the driver.
        _ = try poll(sensor) { _ in fake.value("iio:device0", "buffer0/enable") == "1" }
        try sensor.stop()
    }

    @Test("Reports gaps, leaves out samples with impossible times, and puts equal times in order")
    func times() throws {
        let sensor = try mpu6050()
        let start = clock.now().advanced(bySeconds: -0.1)
        // Seconds after the start. The third is in the future, the fourth is too old, and the fifth equals the second.
        for (index, offset) in [0, 0.005, 3600, -60, 0.005, 0.045].enumerated() {
            fake.feed(0, mpuFrame([Int16(index), 1, 2, 3, 4, 5, 6], start.advanced(bySeconds: offset)))
        }
        let (samples, events) = try poll(sensor, samples: 4)
        #expect(samples.map { ($0.acceleration.x / 0.002392).rounded() } == [0, 1, 4, 5])
        #expect(samples[2].timestamp.nanoseconds == samples[1].timestamp.nanoseconds + 1)
        #expect(samples[3].flags == [.rotationRate, .afterGap])
        // Both came with one poll, which reports the last one.
        guard case .gap(let seconds, .stalled) = events.last else { throw Unexpected(events) }
        #expect(abs(seconds - 0.04) < 1e-6)
        #expect(sensor.status.gaps == 1 && sensor.status.lostSamples == 7 && sensor.status.misalignments == 2)
    }

    /// inv_mpu6050 does this after a change of the rate: its times run away into the future.
    @Test("If the kernel's times are wrong, they come from when the samples arrive", arguments: [4, 0.25])
    func wrongTimes(factor: Double) throws {
        let sensor = try mpu6050()
        let start = clock.now()
        var fed = 0
        var batch = SampleBatch(capacity: 128)
        var samples: [MotionSample] = []
        var delay = 0.0
        // The longest time between two polls: the machine may be busy.
        var pause = 0.0
        var last = start
        while clock.now().seconds(since: start) < 4 {
            let now = clock.now()
            pause = max(pause, now.seconds(since: last))
            last = now
            while start.advanced(bySeconds: 0.005 * Double(fed + 1)) <= now {
                fed += 1
                let time = start.advanced(bySeconds: factor * 0.005 * Double(fed) - (factor < 1 ? 12 : 0))
                fake.feed(0, mpuFrame([Int16(fed), 1, 2, 3, 4, 5, 6], time))
            }
            let poll = sensor.poll(into: &batch)
            for index in 0..<batch.count {
                samples.append(batch[index])
                let number = (batch[index].acceleration.x / 0.002392).rounded()
                let error = batch[index].timestamp.seconds(since: start.advanced(bySeconds: 0.005 * number))
                if clock.now().seconds(since: start) > 2.5 { delay = max(delay, abs(error)) }
            }
            batch.removeAll()
            if case .failed(let fault) = poll.event, pause < 0.1 { Issue.record("\(fault)") }
            SystemClock.sleep(until: min(poll.next, clock.now().advanced(bySeconds: 0.02)))
        }
        // None for about a second, then all.
        #expect(samples.count > 450 && samples.count <= fed, "\(samples.count) of \(fed)")
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(delay < 0.02 + pause, "\(delay) s, \(pause) s between two polls")
        #expect(sensor.status.state == .streaming && sensor.status.misalignments > 100)
        #expect(abs(sensor.status.period - 0.005) < 0.0001)
        try sensor.stop()
    }

    @Test("Interpolates a separate gyroscope device at the accelerometer's times")
    func pair() throws {
        try fake.add(1, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer)
        try fake.add(2, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoGyroscope)
        let sensor = try sensor()
        #expect(sensor.title == "iio:device1 (lsm6dso_accel) with iio:device2 (lsm6dso_gyro)")
        #expect(sensor.info.nominalRate == 208)
        let start = clock.now().advanced(bySeconds: -0.05)
        func feed(_ device: Int, _ values: [Int16], _ milliseconds: Double) {
            let time = start.advanced(bySeconds: milliseconds / 1000).nanoseconds
            fake.feed(device, FakeIIO.bytes(values, bigEndian: false, padding: 2, time: time))
        }
        // The first is from before the gyroscope.
        for (index, time) in [0.0, 5, 10, 15].enumerated() { feed(1, [Int16(index), -10, 20], time) }
        for (index, time) in [4.0, 8, 12, 15].enumerated() {
            feed(2, [Int16(100 * index), -40, Int16(-8 * index)], time)
        }
        let (samples, _) = try poll(sensor, samples: 3)
        let scale = 0.001221730
        #expect(samples.map { ($0.acceleration.x / 0.002392).rounded() } == [1, 2, 3])
        // At 5 ms a quarter of the way from 4 ms to 8 ms, at 10 ms half of that from 8 ms to 12 ms, at 15 ms the reading.
        for (sample, expected) in zip(samples, [(25.0, -2.0), (150, -12), (300, -24)]) {
            #expect(abs(sample.rotationRate.x / scale - expected.0) < 1e-6)
            #expect(abs(sample.rotationRate.y / scale + 40) < 1e-6)
            #expect(abs(sample.rotationRate.z / scale - expected.1) < 1e-6)
            #expect(sample.flags == .rotationRate)
        }
        // The gyroscope's next reading is late, so the last one is used.
        feed(1, [9, -10, 20], 19)
        let (late, _) = try poll(sensor, samples: 1)
        #expect(abs(late[0].rotationRate.x / scale - 300) < 1e-6 && late[0].acceleration.z == 20 * 0.002392)
        try sensor.stop()
        #expect(fake.value("iio:device2", "buffer0/enable") == "0")
    }

    @Test("Reports a lost device once, and finds it again under another number")
    func lossAndReturn() throws {
        let sensor = try mpu6050()
        fake.feed(0, mpuFrame([1, 2, 3, 4, 5, 6, 7], clock.now()))
        let (first, _) = try poll(sensor, samples: 1)
        try fake.remove(0)
        let (_, events) = try poll(sensor) { if case .failed = $0 { true } else { false } }
        let gone = IMUFault.bus(BusError(.absent, code: ENODEV))
        #expect(events == [.failed(gone)] && sensor.status.state == .recovering && sensor.status.lastFault == gone)
        // A different chip that appears meanwhile is not used.
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345)
        let before = clock.now()
        let (_, more) = try poll(sensor) { _ in clock.now().seconds(since: before) > 0.5 }
        #expect(more.allSatisfy { if case .failed = $0 { true } else { false } } && more.count <= 1)
        try fake.add(7, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let isOn = { fake.value("iio:device7", "buffer0/enable") == "1" }
        _ = try poll(sensor) { _ in isOn() }
        fake.feed(7, mpuFrame([-1, 2, 3, 4, 5, 6, 7], clock.now()))
        let (second, back) = try poll(sensor, samples: 1)
        guard case .streaming(let gap) = back.last else { throw Unexpected(back) }
        #expect(abs(gap - second[0].timestamp.seconds(since: first[0].timestamp)) < 1e-6)
        #expect(second[0].flags.contains(.afterGap) && sensor.status.recoveries == 1 && sensor.status.gaps == 1)
        #expect(sensor.status.state == .streaming)
    }

    @Test("Reports a silent device and a frozen one as failed")
    func silence() throws {
        let sensor = try mpu6050()
        fake.feed(0, mpuFrame([1, 2, 3, 4, 5, 6, 7], clock.now()))
        _ = try poll(sensor, samples: 1)
        let (_, events) = try poll(sensor) { if case .failed = $0 { true } else { false } }
        #expect(events == [.failed(.stalled)])
        #expect(fake.value("iio:device0", "buffer0/enable") == "0")

        _ = try poll(sensor) { _ in fake.value("iio:device0", "buffer0/enable") == "1" }
        let start = clock.now().advanced(bySeconds: -1.5)
        for index in 0..<300 {
            fake.feed(0, mpuFrame([1, 2, 3, 4, 5, 6, 7], start.advanced(bySeconds: 0.005 * Double(index))))
        }
        let (frozen, _) = try poll(sensor) { if case .failed = $0 { true } else { false } }
        #expect(sensor.status.lastFault == .stalled && frozen.count < 300)
    }

    /// Raspberry Pi OS declares an interrupt of an MPU-6050 on GPIO 4, which few people wire.
    @Test("Reads value by value if the buffer is never filled")
    func unwiredInterrupt() throws {
        let sensor = try mpu6050()
        let (none, events) = try poll(sensor) { if case .failed = $0 { true } else { false } }
        #expect(none.isEmpty && events == [.failed(.noTrigger)])
        #expect(IMUFault.noTrigger.explanation.contains("INT pin"))
        let (samples, more) = try poll(sensor, samples: 5)
        #expect(more.first == .streaming(afterGap: 0) && sensor.info.nominalRate == 50)
        #expect(samples.allSatisfy { $0.acceleration == Vector3(11 * 0.002392, -12 * 0.002392, 13 * 0.002392) })
        #expect(samples.allSatisfy { $0.rotationRate.x == 11 * 0.001064724 && $0.flags.contains(.rotationRate) })
        #expect(fake.value("iio:device0", "buffer0/enable") == "0")
        try sensor.stop()
    }

    @Test("Counts the clipped samples of either sensor")
    func clipping() throws {
        let sensor = try mpu6050()
        let start = clock.now().advanced(bySeconds: -0.05)
        let frames: [[Int16]] = [
            [1, 2, 3, 4, 5, 6, 7], [.max, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, .min, 7], [1, .max, 3, 4, 5, 6, .max],
        ]
        for (index, frame) in frames.enumerated() {
            fake.feed(0, mpuFrame(frame, start.advanced(bySeconds: 0.005 * Double(index))))
        }
        _ = try poll(sensor, samples: 4)
        #expect(sensor.status.clippedSamples == 3)
        #expect(sensor.status.clippedAccelerations == 2 && sensor.status.clippedRotationRates == 2)
    }

    @Test("Measures the period from the kernel's times")
    func period() throws {
        let sensor = try mpu6050()
        let start = clock.now().advanced(bySeconds: -4)
        for index in 0..<700 {
            let time = start.advanced(bySeconds: 0.005 * 1.01 * Double(index))
            fake.feed(0, mpuFrame([Int16(index % 3), 2, 3, 4, 5, 6, 7], time))
        }
        let (samples, _) = try poll(sensor, samples: 700)
        #expect(samples.count == 700 && abs(sensor.status.periodDeviation - 10_000) < 5)
        #expect(abs(sensor.status.period - 0.00505) < 1e-8)
    }

    @Test("Reads an accelerometer without a buffer value by value")
    func values() throws {
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345)
        let sensor = try sensor()
        #expect(sensor.title == "iio:device0 (adxl345), value by value (no buffer, or no trigger to fill it)")
        #expect(sensor.info.nominalRate == 50 && sensor.info.gyroscopeRange == 0)
        let before = clock.now()
        let (samples, events) = try poll(sensor, samples: 6)
        // Five intervals of 20 ms.
        #expect(clock.now().seconds(since: before) > 0.09)
        #expect(events.first == .streaming(afterGap: 0))
        #expect(samples.allSatisfy { $0.acceleration == Vector3(31 * 0.0383, -62 * 0.0383, 256 * 0.0383) })
        #expect(samples.allSatisfy { !$0.flags.contains(.rotationRate) && $0.timestamp > before })
    }

    @Test("Reads two devices without buffers value by value")
    func pairOfValues() throws {
        let isValue = { (attribute: (key: String, value: String)) in !attribute.key.hasPrefix("buffer0") }
        try fake.add(0, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer.filter(isValue))
        try fake.add(1, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoGyroscope.filter(isValue))
        let sensor = try sensor()
        let (samples, _) = try poll(sensor, samples: 2)
        #expect(samples[1].acceleration == Vector3(11 * 0.000598, -12 * 0.000598, 13 * 0.000598))
        #expect(samples[1].rotationRate == Vector3(11 * 0.000152716, -12 * 0.000152716, 13 * 0.000152716))
        #expect(samples[1].flags.contains(.rotationRate) && sensor.info.gyroscopeRange.isInfinite)
        // If the gyroscope fails, the accelerometer alone does not replace the sensor.
        try fake.set("iio:device1", "in_anglvel_y_raw", to: "gone")
        let (_, events) = try poll(sensor) { if case .failed = $0 { true } else { false } }
        #expect(events == [.failed(.bus(BusError(.inputOutput, code: EIO)))])
    }

    @Test(
        "Without a mount matrix in the settings the kernel's holds; the gyroscope's axes are made the accelerometer's")
    func mounting() throws {
        let quarter = "0, 1, 0; -1, 0, 0; 0, 0, 1"
        try fake.add(
            0, hardware: "i2c-1/1-0068",
            FakeIIO.mpu6050.merging([
                "in_accel_mount_matrix": quarter, "in_anglvel_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1",
            ]) { $1 })
        let sensor = try sensor()
        let matrix = Matrix3(Vector3(0, 1, 0), Vector3(-1, 0, 0), Vector3(0, 0, 1))
        #expect(sensor.mountMatrix == matrix && matrix.rows == "[[0, 1, 0], [-1, 0, 0], [0, 0, 1]]")
        var motion = MotionSettings()
        #expect(sensor.effective(motion).mount == matrix)
        motion.mount = matrix.transposed
        #expect(sensor.effective(motion).mount == matrix.transposed)
        fake.feed(0, mpuFrame([1, 2, 3, 4, 50, -60, 70], clock.now()))
        let (samples, _) = try poll(sensor, samples: 1)
        // With its matrix, each sensor's reading is along the board's axes.
        let rate = (1 / 0.001064724) * (matrix * samples[0].rotationRate)
        #expect(abs(rate.x - 50) < 1e-6 && abs(rate.y + 60) < 1e-6 && abs(rate.z - 70) < 1e-6)
        try sensor.stop()
        try fake.set("iio:device0", "in_accel_mount_matrix", to: "1, 0, 0; 0, 1, 0; 0, 0, -1")
        let mirrored = try self.sensor()
        #expect(mirrored.mountMatrix == nil)
        #expect(
            mirrored.title.hasSuffix("its mount matrix \"1, 0, 0; 0, 1, 0; 0, 0, -1\" is not a rotation and is ignored")
        )
    }
}

/// Requirement: the choice among the kernel's devices is deterministic and has a reason.
@Suite struct KernelSensorChoiceTests {
    private let fake: FakeIIO

    init() throws {
        fake = try FakeIIO()
    }

    private var devices: [IIODevice] { IIODevice.all(in: fake.places) }

    @Test("Prefers a device with a gyroscope, unless a name decides; either device of a chip may be named")
    func choice() throws {
        #expect(KernelSensorChoice(among: devices) == nil)
        try fake.add(0, hardware: "i2c-1/1-001d", FakeIIO.adxl345.merging(["label": "lid"]) { $1 })
        let only = try fake.choice()
        #expect(only.name == "iio:device0 (adxl345)" && !only.hasGyroscope)
        #expect(only.reason == "the only device of a kernel driver with an accelerometer")
        try fake.add(1, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoGyroscope)
        try fake.add(2, hardware: "i2c-1/1-006a", FakeIIO.lsm6dsoAccelerometer)
        let best = try fake.choice()
        #expect(best.accelerometer.number == 2 && best.gyroscope?.number == 1 && best.hasGyroscope)
        #expect(best.reason == "the first of 2 kernel devices with an accelerometer that has a gyroscope, too")
        #expect(try fake.choice(named: "lid").accelerometer.number == 0)
        #expect(try fake.choice(named: "lsm6dso_gyro").accelerometer.number == 2)
        #expect(try fake.choice(named: "iio:device2").reason == "the one called iio:device2")
        #expect(KernelSensorChoice(among: devices, named: "mpu6050") == nil)
        #expect(KernelSensorChoice(among: devices, bus: 1, address: 0x1D)?.accelerometer.number == 0)
        #expect(KernelSensorChoice(among: devices, bus: 2) == nil)
    }

    @Test("Combines the two devices behind a sensor hub into one sensor")
    func hub() throws {
        let hub = "0018:1234:5678.0001"
        try fake.add(0, hardware: "\(hub)/HID-SENSOR-200073.1.auto", FakeIIO.lsm6dsoAccelerometer)
        try fake.add(1, hardware: "\(hub)/HID-SENSOR-200076.2.auto", FakeIIO.lsm6dsoGyroscope)
        try fake.add(2, hardware: "other/HID-SENSOR-200076.3.auto", FakeIIO.lsm6dsoGyroscope)
        #expect(try fake.choice().gyroscope?.number == 1)
    }

    private let taken = SensorScan.BusReport(
        path: "/dev/i2c-1", name: nil, clockFrequency: nil, failure: nil,
        chips: [SensorScan.ChipReport(address: 0x68, finding: .failed(BusError(.busy, code: EBUSY)))])
    private let free = SensorScan.BusReport(
        path: "/dev/i2c-1", name: nil, clockFrequency: nil, failure: nil,
        chips: [
            SensorScan.ChipReport(
                address: 0x69,
                finding: .chip(IMUIdentity(register: 0x75, identity: 0x68, name: "MPU-6050", family: .mpu6050)))
        ])

    @Test("Prefers a free chip to a kernel device; if a family is named, only advises the kernel device")
    func scan() throws {
        try fake.add(0, hardware: "i2c-1/1-0068", FakeIIO.mpu6050)
        let owned = SensorScan([taken], chips: ChipRegistry.all, kernelDevices: devices)
        #expect(owned.choice == nil && owned.kernelChoice?.accelerometer.identifier == "iio:device0")
        let both = SensorScan([free], chips: ChipRegistry.all, kernelDevices: devices)
        #expect(both.choice?.name == "MPU-6050")
        let named = SensorScan([taken], chips: ChipRegistry.all, family: .mpu6050, kernelDevices: devices)
        #expect(named.choice == nil && named.kernelChoice == nil)
        #expect(
            named.explanation(in: .agent).hasSuffix(
                "a kernel driver has iio:device0 (mpu6050), which sensor.driver: iio reads"))
        let elsewhere = SensorScan([], chips: ChipRegistry.all, kernelDevices: devices, address: 0x6A)
        #expect(elsewhere.kernelChoice == nil)
        #expect(
            SensorScan([], chips: ChipRegistry.all, kernelDevices: devices, bus: "/dev/i2c-1", address: 0x68)
                .kernelChoice != nil)
        #expect(
            SensorScan([], chips: ChipRegistry.all, kernelDevices: devices, bus: "/dev/i2c-2").kernelChoice == nil)
    }

    @Test("The error for an unknown device lists the known ones")
    func unknown() throws {
        var message = ""
        do throws(SensorError) {
            _ = try SensorSelection.kernel(device: "no such device").open(IMUSettings())
        } catch {
            message = "\(error)"
        }
        #expect(message.contains("is called \"no such device\"") && message.contains("ls /sys/bus/iio/devices"))
    }
}
