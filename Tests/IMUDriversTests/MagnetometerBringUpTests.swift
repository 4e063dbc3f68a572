import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: a magnetometer is brought up by exactly these transactions, and its readings are decoded, turned and
/// time-stamped as the datasheets say.
@Suite struct MagnetometerBringUpTests {
    private static func bytes(_ values: [Int16]) -> [UInt8] {
        values.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    private static func isNear(_ a: Vector3?, _ b: Vector3) -> Bool { a.map { ($0 - b).length < 1e-9 } ?? false }

    /// Brings an AK8963 up, with the factory's values for 1.1875, 1 and 0.8125.
    private static func startedAK8963() -> ScriptedMagnetometerRig<AK8963> {
        let rig = ScriptedMagnetometerRig<AK8963>()
        rig.script.read(0x00, 0x48)
        rig.script.write(0x0B, 0x01)
        rig.poll()
        rig.script.read(0x0B, 0x00)
        rig.script.write(0x0A, 0x0F)
        #expect(abs(rig.poll() - 0.01) < 1e-9)
        rig.script.read(0x10, [176, 128, 80])
        rig.script.write(0x0A, 0x00)
        #expect(abs(rig.poll() - 0.001) < 1e-9)
        rig.expect([(0x0A, 0x16)])
        #expect(abs(rig.poll() - 0.001) < 1e-9)
        #expect(rig.status.state == .measuring)
        return rig
    }

    /// ST1 to ASTC of an AK8963.
    private static func reading(
        _ counts: [Int16], status1: UInt8 = 0x03, status2: UInt8 = 0x10, control: UInt8 = 0x16
    ) -> [UInt8] { [status1] + bytes(counts) + [status2, control, 0x00, 0x00] }

    @Test("AK8963: reset, factory values, continuous mode; x and y change places, z is inverted")
    func ak8963() {
        let rig = Self.startedAK8963()
        #expect(AK8963.name.description == "AK8963" && AK8963.figures.range == 4912)
        #expect(1 / AK8963.figures.interval == 20)
        rig.script.read(0x02, Self.reading([100, -200, 300]))
        #expect(abs(rig.poll() - 0.05) < 1e-9)
        #expect(Self.isNear(rig.sample?.field, Vector3(-30, 17.8125, -36.5625)))
        #expect(abs((rig.sample?.timestamp.seconds(since: rig.clock.now()) ?? 0) + 0.0086) < 1e-9)
        // No new measurement; too strong a field; the same counts again.
        rig.script.read(0x02, Self.reading([101, -200, 300], status1: 0x00))
        rig.script.read(0x02, Self.reading([101, -200, 300], status2: 0x18))
        rig.script.read(0x02, Self.reading([100, -200, 300]))
        for _ in 0..<3 {
            rig.poll()
            #expect(rig.sample == nil)
        }
        #expect(rig.status.overflows == 1 && rig.status.readings == 1)
        // A single wrong control register may be a bus error.
        rig.script.read(0x02, Self.reading([101, -200, 300], control: 0x06))
        rig.script.read(0x0A, [0x16, 0x00, 0x00])
        rig.poll()
        #expect(rig.sample == nil && rig.status.state == .measuring)
        rig.script.read(0x02, Self.reading([102, -200, 300]))
        rig.poll()
        #expect(rig.status.readings == 2)
        rig.script.read(0x02, Self.reading([103, -200, 300], control: 0x06))
        rig.script.read(0x0A, [0x06, 0x00, 0x00])
        rig.poll()
        #expect(rig.sample == nil && rig.status.lastFault == .configurationLost(register: 0x0A))
        #expect(rig.status.state == .recovering && rig.status.failures == 1)
        #expect(rig.script.remaining == 0)
    }

    @Test("AK09916: identity in two registers, reset, continuous mode; y and z are inverted")
    func ak09916() {
        let rig = ScriptedMagnetometerRig<AK09916>()
        rig.script.read(0x00, 0x48)
        rig.script.read(0x01, 0x09)
        rig.script.write(0x32, 0x01)
        rig.poll()
        rig.script.read(0x32, 0x01)
        rig.poll()
        rig.script.read(0x32, 0x00)
        rig.expect([(0x31, 0x08)])
        rig.poll()
        #expect(rig.status.state == .measuring)
        rig.script.read(0x10, [0x03] + Self.bytes([100, -200, 300]) + [0x00, 0x00])
        rig.script.read(0x31, 0x08)
        #expect(abs(rig.poll() - 0.05) < 1e-9)
        #expect(Self.isNear(rig.sample?.field, Vector3(15, 30, -45)))
        #expect(abs((rig.sample?.timestamp.seconds(since: rig.clock.now()) ?? 0) + 0.0086) < 1e-9)
        rig.script.read(0x10, [0x03] + Self.bytes([101, -200, 300]) + [0x00, 0x08])
        rig.script.read(0x31, 0x08)
        rig.poll()
        #expect(rig.sample == nil && rig.status.overflows == 1)
        // A chip that was reset has no new measurement: it is noticed when none comes for a quarter of a second.
        for _ in 0..<4 {
            rig.script.read(0x10, [UInt8](repeating: 0, count: 9))
            rig.poll()
            #expect(rig.status.state == .measuring)
        }
        rig.script.read(0x10, [UInt8](repeating: 0, count: 9))
        rig.script.read(0x31, 0x00)
        rig.script.read(0x31, 0x00)
        rig.poll()
        #expect(rig.status.lastFault == .configurationLost(register: 0x31) && rig.script.remaining == 0)
    }

    @Test("LSM9DS1: reset, offsets, configuration with read-back, start; bursts with bit 7; the axes are the driver's")
    func lsm9ds1() {
        let rig = ScriptedMagnetometerRig<LSM9DS1Magnetometer>()
        rig.script.read(0x0F, 0x3D)
        rig.script.write(0x21, 0x04)
        rig.poll()
        rig.script.read(0x21, 0x00)
        rig.script.read(0x85, [0, 0, 0, 0, 0, 0])
        rig.expect([(0x23, 0x0C), (0x24, 0x40), (0x21, 0x00), (0x20, 0xFC), (0x22, 0x00)])
        rig.poll()
        #expect(rig.status.state == .measuring && LSM9DS1Magnetometer.figures.range == 400)
        rig.script.read(0xA7, [0xFF] + Self.bytes([1000, -2000, 3000]))
        rig.script.read(0xA0, [0xFC, 0x00, 0x00, 0x0C, 0x40])
        #expect(abs(rig.poll() - 0.05) < 1e-9)
        #expect(Self.isNear(rig.sample?.field, Vector3(14, -28, 42)))
        #expect(abs((rig.sample?.timestamp.seconds(since: rig.clock.now()) ?? 0) + 0.009_45) < 1e-9)
        // 4 gauss.
        rig.script.read(0xA7, [0x0F] + Self.bytes([1000, -28572, 3000]))
        rig.script.read(0xA0, [0xFC, 0x00, 0x00, 0x0C, 0x40])
        rig.poll()
        #expect(rig.sample == nil && rig.status.overflows == 1)
        // Another range.
        rig.script.read(0xA7, [0x0F] + Self.bytes([500, -1000, 1500]))
        for _ in 0..<2 { rig.script.read(0xA0, [0xFC, 0x20, 0x00, 0x0C, 0x40]) }
        rig.poll()
        #expect(rig.sample == nil && rig.status.lastFault == .configurationLost(register: 0x21))
        #expect(rig.script.remaining == 0)
    }

    @Test("Nothing is written to a chip with another identity; pauses between attempts grow from 50 ms to 1 s")
    func foreignIdentity() {
        let rig = ScriptedMagnetometerRig<AK09916>()
        for pause in [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1, 1] {
            rig.script.read(0x00, 0x48)
            rig.script.read(0x01, 0x9A)
            #expect(abs(rig.poll() - pause) < 1e-9)
            #expect(rig.status.lastFault == .identity(found: 0x9A) && rig.status.state == .recovering)
        }
        #expect(rig.status.failures == 1 && rig.script.remaining == 0)
    }

    @Test("Factory values that no factory writes, a value that is not kept, and an endless reset are faults")
    func brokenBringUps() {
        let trim = ScriptedMagnetometerRig<AK8963>()
        trim.script.read(0x00, 0x48)
        trim.script.write(0x0B, 0x01)
        trim.poll()
        trim.script.read(0x0B, 0x00)
        trim.script.write(0x0A, 0x0F)
        trim.poll()
        trim.script.read(0x10, [176, 0x00, 80])
        trim.poll()
        #expect(trim.status.lastFault == .trim(found: 0x00))
        let kept = ScriptedMagnetometerRig<AK09916>()
        kept.script.read(0x00, 0x48)
        kept.script.read(0x01, 0x09)
        kept.script.write(0x32, 0x01)
        kept.poll()
        kept.script.read(0x32, 0x00)
        kept.script.write(0x31, 0x08)
        kept.script.read(0x31, 0x00)
        kept.poll()
        #expect(kept.status.lastFault == .readBack(register: 0x31, wrote: 0x08, read: 0x00))
        let reset = ScriptedMagnetometerRig<AK09916>()
        reset.script.read(0x00, 0x48)
        reset.script.read(0x01, 0x09)
        reset.script.write(0x32, 0x01)
        reset.poll()
        // A chip in reset may not answer.
        for _ in 0..<3 { reset.script.read(0x32, failing: BusError(.notAcknowledged)) }
        for _ in 0..<14 { reset.script.read(0x32, 0x01) }
        var polls = 0
        while reset.status.state == .starting && polls < 20 {
            reset.poll()
            polls += 1
        }
        #expect(polls == 15 && reset.status.lastFault == .deadline && reset.script.remaining == 0)
    }

    @Test("A transaction that fails is repeated; what was read after an interrupted one is not delivered")
    func repeatedTransactions() {
        let rig = Self.startedAK8963()
        for _ in 0..<2 { rig.script.read(0x02, count: 11, failing: BusError(.notAcknowledged)) }
        rig.script.read(0x02, Self.reading([100, -200, 300]))
        rig.poll()
        #expect(rig.sample != nil)
        rig.script.read(0x02, count: 11, failing: BusError(.inputOutput))
        rig.script.read(0x02, Self.reading([101, -200, 300]))
        rig.poll()
        #expect(rig.sample == nil)
        rig.script.read(0x02, Self.reading([102, -200, 300]))
        rig.poll()
        #expect(rig.sample != nil)
        for _ in 0..<3 { rig.script.read(0x02, count: 11, failing: BusError(.inputOutput)) }
        rig.poll()
        #expect(rig.sample == nil && rig.status.state == .measuring)
        rig.script.read(0x02, Self.reading([103, -200, 300]))
        rig.poll()
        #expect(rig.sample == nil)
        rig.script.read(0x02, Self.reading([104, -200, 300]))
        rig.poll()
        #expect(rig.sample != nil && rig.status.failures == 0)
        #expect(rig.status.busErrors.notAcknowledged == 2 && rig.status.busErrors.inputOutput == 4)
    }

    @Test(
        "The time stamp allows for the duration of the transaction; a very long one delivers nothing",
        arguments: [(0.001, true), (0.02, true), (0.03, false)])
    func longTransaction(seconds: Double, isDelivered: Bool) {
        let rig = Self.startedAK8963()
        rig.script.transactionTime = seconds
        rig.script.read(0x02, Self.reading([100, -200, 300]))
        rig.poll()
        #expect((rig.sample != nil) == isDelivered)
        let age = 0.0086 + seconds / 2
        if let sample = rig.sample { #expect(abs(rig.clock.now().seconds(since: sample.timestamp) - age) < 1e-9) }
    }

    @Test(
        "A poll that is not due does not use the bus; after a late one the next is due at least half an interval later")
    func duePolls() {
        let rig = Self.startedAK8963()
        rig.next = rig.clock.now().advanced(bySeconds: 0.03)
        rig.poll()
        #expect(rig.sample == nil && abs(rig.next.seconds(since: rig.clock.now()) - 0.02) < 1e-9)
        rig.clock.advance(bySeconds: 0.06)
        rig.script.read(0x02, Self.reading([100, -200, 300]))
        rig.poll()
        #expect(rig.sample != nil && abs(rig.next.seconds(since: rig.clock.now()) - 0.025) < 1e-9)
    }

    @Test(
        "A stopped driver has put the chip to sleep, and starts it again when it is polled; an unknown chip is left alone"
    )
    func stop() throws {
        let rig = Self.startedAK8963()
        rig.script.write(0x0A, 0x00)
        try rig.driver.stop()
        try rig.driver.stop()
        #expect(rig.status.state == .asleep)
        rig.script.read(0x00, 0x00)
        rig.poll()
        #expect(rig.status.state == .recovering)
        try rig.driver.stop()
        #expect(rig.status.state == .asleep && rig.script.remaining == 0)
    }

    @Test("A reading costs at most 3.4 % of a bus of 100 kHz")
    func busLoad() {
        #expect(AK8963.bitsPerSecond == 2580)
        #expect(AK09916.bitsPerSecond == 3000)
        #expect(LSM9DS1Magnetometer.bitsPerSecond == 3360)
    }
}
