import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSensors
import MotionCore
import Testing

/// Requirement: the MPU-6050 driver delivers the chip's samples over /dev/i2c-N, whatever the adapter supports.
@Suite struct DriverTests {
    /// Adapters, all with a bus at 400 kHz.
    enum Adapter: CaseIterable {
        case raspberryPi4, severalReads, shortReads, smbusBlocks

        func configure(_ settings: inout fake_i2c_settings) {
            settings.clock_hz = 400_000
            switch self {
            case .raspberryPi4: settings.single_read_message = true
            case .severalReads: break
            case .shortReads: settings.longest_read = 60
            case .smbusBlocks: settings.functionality = FakeAdapter.smbusBlocks
            }
        }
    }

    @Test(arguments: Adapter.allCases)
    func deliversTheChipsSamples(through adapter: Adapter) throws {
        let fake = try FakeAdapter(adapter.configure)
        var run = Run(try I2CDevice(path: fake.path, address: 0x68))
        run.poll { $0 >= 60 }
        #expect(run.samples.count >= 60)
        #expect(run.status.state == .streaming)
        #expect(run.info.identity == 0x68)

        let first = run.samples.first?.timestamp ?? Timestamp(nanoseconds: 0)
        #expect(zip(run.samples, run.samples.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        #expect(first >= run.start && (run.samples.last?.timestamp ?? first) <= SystemClock().now())

        #expect(run.samples.allSatisfy(isAtRest))
        #expect(run.samples.allSatisfy { abs($0.temperature - 24.5) < 0.1 || $0.temperature.isNaN })
        #expect(fake.rudeRequests == 0)
    }

    // Enough failures to exceed the retries and abandon at least one attempt; a timeout is retried once, the others twice.
    @Test(arguments: [(ETIMEDOUT, 18), (EIO, 54), (EREMOTEIO, 54)] as [(Int32, UInt64)])
    func recoversFromABusFailure(code: Int32, transactions: UInt64) throws {
        let fake = try FakeAdapter(Adapter.raspberryPi4.configure)
        var run = Run(try I2CDevice(path: fake.path, address: 0x68))
        run.poll { $0 >= 20 }
        fake.fail(with: code, times: transactions)
        let before = run.samples.count
        run.poll { $0 >= before + 20 }
        #expect(run.samples.count >= before + 20)
        #expect(run.status.busErrors.total == transactions)
        let failed = run.failed
        #expect(failed)
        #expect(run.status.recoveries >= 1)
        #expect(run.samples.contains { $0.flags.contains(.afterGap) })
        #expect(run.samples.allSatisfy(isAtRest))
    }

    // The errors that different adapter drivers return for descriptors opened before the removal.
    @Test(arguments: [ENODEV, ENXIO, EIO, ESHUTDOWN] as [Int32])
    func closesAndReopensAnUnpluggedAdapter(code: Int32) throws {
        let fake = try FakeAdapter {
            Adapter.raspberryPi4.configure(&$0)
            $0.gone_error = code
        }
        var run = Run(try I2CDevice(path: fake.path, address: 0x68))
        run.poll { $0 >= 20 }
        fake.setPulledOut(true)
        // The kernel removes the adapter only when all its descriptors are closed.
        run.poll { _ in fake.openDescriptors == 0 }
        run.poll(seconds: 0.3)
        let fault = run.status.lastFault
        #expect(fault == .bus(BusError(.absent, code: ENODEV)))
        #expect(fake.openDescriptors == 0)
        let before = run.samples.count
        fake.setPulledOut(false)
        run.poll { $0 >= before + 20 }
        #expect(run.samples.count >= before + 20)
        let failed = run.failed
        #expect(failed)
        #expect(run.status.recoveries == 1 && run.status.gaps == 1)
        #expect(run.samples[before].flags.contains(.afterGap))
        #expect(run.samples.allSatisfy(isAtRest))
        #expect(fake.openDescriptors == 1)
    }

    @Test func findsTheChipOnAnAdapterWithANewNumber() throws {
        let directory = try DeviceFiles()
        defer { directory.remove() }
        // The chip cannot have moved to a bus that already existed, whatever is on it.
        let other = try FakeAdapter(at: try directory.file(3), Adapter.raspberryPi4.configure)
        let first = try FakeAdapter(at: try directory.file(4), Adapter.raspberryPi4.configure)
        let search = I2CDevice.Search(register: 0x75, identity: 0x68, in: SystemPlaces(devices: directory.path))
        var run = Run(try I2CDevice(path: first.path, address: 0x68, search: search))
        run.poll { $0 >= 20 }
        first.setPulledOut(true)
        directory.removeFile(4)
        // Of the new buses, one has another chip at the address, and another process uses one.
        let stranger = try FakeAdapter(at: try directory.file(5)) { $0.identity = 0x19 }
        let taken = try FakeAdapter(at: try directory.file(6), Adapter.raspberryPi4.configure)
        var user = try I2CAdapter(path: taken.path)
        try user.lock(0x68)
        run.poll(seconds: 0.5)
        #expect(other.transactions == 0 && taken.transactions == 0 && stranger.transactions > 0)
        #expect(stranger.openDescriptors == 0)
        let before = run.samples.count
        let second = try FakeAdapter(at: try directory.file(7), Adapter.raspberryPi4.configure)
        run.poll { $0 >= before + 20 }
        #expect(run.samples.count >= before + 20)
        let holder = try I2CAdapter(path: second.path).holder(at: 0x68)
        #expect(holder?.processIdentifier == getpid())
        #expect(first.openDescriptors == 0, "the lock was kept")
        _ = consume user
        // Back to the first bus.
        second.setPulledOut(true)
        directory.removeFile(7)
        _ = try directory.file(4)
        first.setPulledOut(false)
        let then = run.samples.count
        run.poll { $0 >= then + 20 }
        #expect(run.samples.count >= then + 20)
        #expect(run.samples.allSatisfy(isAtRest))
        #expect(other.transactions == 0)
    }

    /// A directory with device files named as in /dev.
    private struct DeviceFiles {
        let path: String

        init() throws {
            var template = Array("/tmp/jostle-dev-XXXXXX".utf8CString)
            let isMade = mkdtemp(&template) != nil
            try #require(isMade)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        /// Creates the device file of a bus.
        func file(_ number: Int) throws -> String {
            let path = "\(self.path)/i2c-\(number)"
            let descriptor = creat(path, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
            return path
        }

        func removeFile(_ number: Int) { unlink("\(path)/i2c-\(number)") }

        func remove() {
            for number in 0..<10 { removeFile(number) }
            rmdir(path)
        }
    }

    /// Whether a sample matches the fake chip's readings at rest (mpu6050.c), within its noise and half a count.
    private func isAtRest(_ sample: MotionSample) -> Bool {
        isNear(sample.acceleration * (1 / standardGravity), Vector3(0.021, -0.034, 1.047), within: 0.0042)
            && isNear(sample.rotationRate * (180 / .pi), Vector3(1.3, -2.1, 0.7), within: 0.12)
    }

    private func isNear(_ a: Vector3, _ b: Vector3, within tolerance: Double) -> Bool {
        abs(a.x - b.x) < tolerance && abs(a.y - b.y) < tolerance && abs(a.z - b.z) < tolerance
    }
}

/// A chip driver, polled by the system's clock.
private struct Run: ~Copyable {
    private var driver: MPU6050<I2CDevice, SystemClock>
    private var batch = SampleBatch(capacity: 256)
    let start: Timestamp
    private(set) var samples: [MotionSample] = []
    private(set) var failed = false

    init(_ device: consuming I2CDevice) {
        start = SystemClock().now()
        driver = MPU6050(bus: device, clock: SystemClock(), settings: IMUSettings(), line: NoDataReadyLine())
    }

    var status: IMUStatus { driver.status }
    var info: IMUInfo { driver.info }

    /// Polls when due until there are enough samples, for at most 30 seconds.
    mutating func poll(until isEnough: (Int) -> Bool) {
        poll(seconds: 30, until: isEnough)
    }

    mutating func poll(seconds: Double, until isEnough: (Int) -> Bool = { _ in false }) {
        let deadline = SystemClock().now().advanced(bySeconds: seconds)
        while !isEnough(samples.count) && SystemClock().now() < deadline {
            batch.removeAll()
            let result = driver.poll(into: &batch)
            for index in 0..<batch.count { samples.append(batch[index]) }
            if case .failed = result.event { failed = true }
            SystemClock.sleep(until: min(result.next, deadline))
        }
    }
}
