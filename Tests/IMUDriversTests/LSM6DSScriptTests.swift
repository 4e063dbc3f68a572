import MotionCore
import MotionTestSupport
import Testing

@testable import IMUDrivers

/// Requirement: an LSM6DS is brought up by states with deadlines, and every register is verified. Only valid frames are
/// delivered, whole and in SI units.
@Suite struct LSM6DSScriptTests {
    @Test(
        "Writes the registers in order from the first poll to the first sample",
        arguments: [0x69, 0x6A, 0x6B, 0x6C] as [UInt8])
    func bringUp(identity: UInt8) {
        let rig = LSM6DSRig(identity)
        let start = rig.clock.now()
        rig.script.expectIdentification(identity)
        rig.poll()
        #expect(rig.status.state == .resetting)
        rig.script.expectConfiguration(of: identity)
        rig.poll()
        #expect(rig.status.state == .configuring)
        rig.script.expectFIFOStart(of: identity)
        rig.script.read(0x0A, isTaggedLSM6DS(identity) ? 0x06 : 0x2E)
        rig.poll()
        #expect(rig.status.state == .settling)
        #expect(rig.driver.info.identity == identity)
        #expect(rig.driver.info.nominalRate == 208)
        let other = LSM6DSRig(identity)
        other.stream()
        #expect(other.clock.now().seconds(since: start) < 0.3)
        #expect(other.status.state == .streaming)
    }

    @Test(
        "Delivers a frame's values on their axes, in SI units, with the temperature",
        arguments: [0x69, 0x6A, 0x6B, 0x6C] as [UInt8])
    func values(identity: UInt8) throws {
        let rig = LSM6DSRig(identity)
        rig.stream()
        let sample = try #require(rig.samples.first)
        let g = 9.80665
        let x = (sample.acceleration.x / (244e-6 * g)).rounded()
        #expect(x >= 1000 && x < 1100)
        #expect(abs(sample.acceleration.x - x * 244e-6 * g) < 1e-12)
        #expect(abs(sample.acceleration.y + 2000 * 244e-6 * g) < 1e-12)
        #expect(abs(sample.acceleration.z - 4096 * 244e-6 * g) < 1e-12)
        #expect(abs(sample.rotationRate.x + 164 * 0.07 * .pi / 180) < 1e-12)
        #expect(abs(sample.rotationRate.y - 328 * 0.07 * .pi / 180) < 1e-12)
        #expect(abs(sample.rotationRate.z + 820 * 0.07 * .pi / 180) < 1e-12)
        #expect(sample.temperature == 24)
        #expect(sample.flags.contains(.rotationRate))
    }

    @Test("Identifies the words of a time slot by their tags, not by their order")
    func taggedOrder() {
        let rig = LSM6DSRig(0x6C)
        rig.stream()
        rig.advance()
        let count = rig.due
        rig.expectCount(count)
        let bytes = LSM6DSFrame.run(count).enumerated().flatMap { index, frame in
            frame.tagged(slot: UInt8(index & 3), isReversed: index % 2 == 1)
        }
        rig.script.read(0x78, bytes)
        rig.script.expectRanges(of: 0x6C)
        rig.pollNow()
        #expect(rig.samples.count == count)
        for sample in rig.samples {
            #expect(abs(sample.acceleration.z - 4096 * 244e-6 * 9.80665) < 1e-12)
            #expect(abs(sample.rotationRate.z + 820 * 0.07 * .pi / 180) < 1e-12)
        }
    }

    @Test("Rejects words that are not a pair of one time slot", arguments: [0, 1, 2, 3])
    func taggedNonsense(kind: Int) {
        let rig = LSM6DSRig(0x6C)
        rig.stream()
        rig.advance()
        let count = rig.due
        rig.expectCount(count)
        var bytes = (0..<count).flatMap { LSM6DSFrame().tagged(slot: UInt8($0 & 3)) }
        switch kind {
        case 0: bytes[14] ^= 0x02
        case 1: bytes[21] = bytes[14]
        case 2: bytes[14] = 0x03 << 3 | bytes[14] & 0x07
        default: for index in bytes.indices { bytes[index] = 0 }
        }
        rig.script.read(0x78, bytes)
        rig.expectFIFOStart()
        rig.pollNow()
        #expect(rig.samples.isEmpty)
        #expect(rig.status.misalignments == 1)
    }

    @Test(
        "Restarts an untagged FIFO whose next word is not a frame's first", arguments: [0x69, 0x6A] as [UInt8])
    func pattern(identity: UInt8) {
        let rig = LSM6DSRig(identity)
        rig.stream()
        for attempt in 0..<3 {
            rig.advance()
            for _ in 0..<2 { rig.expectCount(rig.due, pattern: 3) }
            if attempt == 2 { rig.expectFIFOStart() }
            rig.pollNow()
            #expect(rig.samples.isEmpty)
        }
        #expect(rig.status.misalignments == 1)
    }

    @Test("Detects an overflow by the chip's flag", arguments: [0x69, 0x6A, 0x6B, 0x6C] as [UInt8])
    func overflow(identity: UInt8) {
        for flag in isTaggedLSM6DS(identity) ? [0x40, 0x08] : [0x40] as [UInt8] {
            let rig = LSM6DSRig(identity)
            rig.stream()
            rig.advance()
            rig.expectCount(rig.due, flags: flag)
            rig.expectFIFOStart()
            rig.pollNow()
            #expect(rig.samples.isEmpty)
            #expect(rig.status.overflows == 1)
            #expect(rig.status.lastFault == .overflow)
        }
    }

    @Test(
        "Discards samples that the chip marks as unsettled, however long it does",
        arguments: [0x69, 0x6A, 0x6B, 0x6C] as [UInt8], [0, 1] as [Int])
    func marked(identity: UInt8, sensor: Int) {
        let rig = LSM6DSRig(identity)
        rig.bringUp()
        for _ in 0..<15 {
            rig.advance()
            let frames = LSM6DSFrame.run(rig.due).enumerated().map { index, frame in
                var frame = frame
                let mark = 0x7FFD + Int16(index % 3)
                if sensor == 0 { frame.rotation.1 = mark } else { frame.acceleration.2 = mark }
                return frame
            }
            rig.expectFIFO(frames)
            rig.pollNow()
            #expect(rig.samples.isEmpty)
        }
        rig.advance()
        rig.expectFIFO(LSM6DSFrame.run(rig.due))
        rig.pollNow()
        #expect(!rig.samples.isEmpty)
        #expect(rig.status.state == .streaming && rig.status.misalignments == 0)
    }

    @Test("Refuses another chip", arguments: [0x68, 0x6D, 0x33, 0xFF] as [UInt8])
    func wrongIdentity(found: UInt8) {
        let rig = LSM6DSRig(0x6A)
        rig.script.read(0x0F, found)
        #expect(rig.poll().event == .failed(.identity(found: found)))
    }

    @Test("A reset that never ends hits its deadline; missing acknowledgements are tolerated meanwhile")
    func resetDeadline() {
        let rig = LSM6DSRig(0x6A)
        rig.script.expectIdentification(0x6A)
        rig.poll()
        let start = rig.clock.now()
        for _ in 0..<3 { rig.script.read(0x12, failing: BusError(.notAcknowledged)) }
        #expect(rig.poll().event == .none)
        var event = SensorEvent.none
        while event == .none && rig.clock.now().seconds(since: start) < 1 {
            rig.script.read(0x12, 0x05)
            event = rig.poll().event
        }
        #expect(event == .failed(.deadline(.resetting)))
        #expect(rig.clock.now().seconds(since: start) < 0.2)
    }

    @Test("Detects a changed register within half a second", arguments: [0x69, 0x6C] as [UInt8])
    func changedRegister(identity: UInt8) {
        let rig = LSM6DSRig(identity)
        rig.stream()
        rig.clock.advance(bySeconds: 0.1)
        for _ in 0..<2 { rig.script.read(0x10, [0x5C, 0x0C, 0x44, identity == 0x69 ? 0x08 : 0x0A]) }
        #expect(rig.pollNow().event == .failed(.configurationLost(register: 0x11)))
    }

    @Test("Stopping switches FIFO and sensors off", arguments: [0x69, 0x6A, 0x6B, 0x6C] as [UInt8])
    func stop(identity: UInt8) throws {
        let rig = LSM6DSRig(identity)
        rig.stream()
        rig.script.write(0x0A, 0)
        rig.script.write(0x11, 0)
        rig.script.write(0x10, 0)
        try rig.driver.stop()
        #expect(rig.status.state == .asleep)
    }
}

/// Requirement: every known identity selects its variant, with its FIFO.
@Suite struct LSM6DSVariantTests {
    @Test("An LSM6DSO32 is one only by its family, with the identity of an LSM6DSO")
    func lsm6dso32() {
        #expect(IMUFamily.lsm6dso32.part()?.name.description == "LSM6DSO32")
        #expect(IMUFamily.lsm6dso32.part(0x6A) == nil)
    }

    @Test("More than an LSM6DS3H holds is an overflow, although an LSM6DS3 would hold it")
    func largeFIFO() {
        let rig = LSM6DSRig(0x69)
        rig.stream()
        rig.advance(lateBy: 1.7)
        rig.expectCount(rig.due)
        rig.expectFIFOStart()
        rig.pollNow()
        #expect(rig.status.overflows == 1)
    }

    @Test("Every known identity selects its variant; others select none")
    func identities() {
        for identity: UInt8 in 0...255 {
            let part = LSM6DSFamily(identity: identity, settings: IMUSettings())
            #expect((part != nil) == [0x69, 0x6A, 0x6B, 0x6C].contains(identity))
        }
        // As the LSM6DS3H, which has the same identity.
        #expect(LSM6DSFamily(identity: 0x69, settings: IMUSettings())?.fifo.size == 4096)
        #expect(LSM6DSFamily(identity: 0x6A, settings: IMUSettings())?.fifo.size == 4096)
        #expect(LSM6DSFamily(identity: 0x6B, settings: IMUSettings())?.fifo.size == 3584)
        #expect(LSM6DSFamily(identity: 0x6C, settings: IMUSettings())?.fifo.size == 3584)
        #expect(LSM6DSFamily(identity: 0x6B, settings: IMUSettings())?.name.description == "ISM330DHCX")
    }
}
