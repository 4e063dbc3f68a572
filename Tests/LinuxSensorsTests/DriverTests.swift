import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSensors
import MotionCore
import Testing

/// Requirement: the MPU-6050's driver delivers the chip's samples over /dev/i2c-N, whatever the adapter can do.
@Suite struct DriverTests {
    /// Adapters, all with a bus at 400 kHz.
    enum Adapter: CaseIterable {
        case raspberryPi4, shortReads, smbusBlocks

        func configure(_ settings: inout fake_i2c_settings) {
            settings.clock_hz = 400_000
            switch self {
            case .raspberryPi4: settings.single_read_message = true
            case .shortReads: settings.longest_read = 60
            case .smbusBlocks: settings.functionality = FakeAdapter.smbusBlocks
            }
        }
    }

    @Test(arguments: Adapter.allCases)
    func theChipsSamplesArrive(through adapter: Adapter) throws {
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

    // As many as make it give up and try again at least once; it repeats what nobody answered.
    @Test(arguments: [(ETIMEDOUT, 18), (EIO, 18), (EREMOTEIO, 54)] as [(Int32, UInt64)])
    func itComesBackAfterABusFailure(code: Int32, transactions: UInt64) throws {
        let fake = try FakeAdapter(Adapter.raspberryPi4.configure)
        var run = Run(try I2CDevice(path: fake.path, address: 0x68))
        run.poll { $0 >= 20 }
        fake.fail(with: code, times: transactions)
        run.poll { $0 >= 40 }
        #expect(run.samples.count >= 40)
        #expect(run.status.busErrors.total == transactions)
        let failed = run.failed
        #expect(failed)
        #expect(run.status.recoveries >= 1)
        #expect(run.samples.contains { $0.flags.contains(.afterGap) })
        #expect(run.samples.allSatisfy(isAtRest))
    }

    /// Whether a sample is what the fake's chip reads at rest (mpu6050.c), within its noise and half a step.
    private func isAtRest(_ sample: MotionSample) -> Bool {
        isNear(sample.acceleration * (1 / standardGravity), Vector3(0.021, -0.034, 1.047), within: 0.0042)
            && isNear(sample.rotationRate * (180 / .pi), Vector3(1.3, -2.1, 0.7), within: 0.12)
    }

    private func isNear(_ a: Vector3, _ b: Vector3, within tolerance: Double) -> Bool {
        abs(a.x - b.x) < tolerance && abs(a.y - b.y) < tolerance && abs(a.z - b.z) < tolerance
    }
}

/// A driver of a chip, polled by the system's clock.
private struct Run: ~Copyable {
    private var driver: MPU6050<I2CDevice, SystemClock>
    private var batch = SampleBatch(capacity: 256)
    let start: Timestamp
    private(set) var samples: [MotionSample] = []
    private(set) var failed = false

    init(_ device: consuming I2CDevice) {
        start = SystemClock().now()
        driver = MPU6050(bus: device, clock: SystemClock(), settings: IMUSettings())
    }

    var status: IMUStatus { driver.status }
    var info: IMUInfo { driver.info }

    /// Polls when it is due, until there are as many samples as wanted, for 30 seconds at most.
    mutating func poll(until isEnough: (Int) -> Bool) {
        let deadline = SystemClock().now().advanced(bySeconds: 30)
        while !isEnough(samples.count) && SystemClock().now() < deadline {
            batch.removeAll()
            let result = driver.poll(into: &batch)
            for index in 0..<batch.count { samples.append(batch[index]) }
            if case .failed = result.event { failed = true }
            SystemClock.sleep(until: min(result.next, deadline))
        }
    }
}
