import IMUDrivers
import MotionCore
import Testing

@testable import VirtualIMU

/// Every fault that a driver must survive can be injected, at any time and for any duration.
@Suite("Virtual MPU-6050: injected faults")
struct FaultTests {
    private static let noAnswer = BusError(.notAcknowledged, code: 121)

    /// A chip that streams distinct constant values.
    private static func streaming(_ trajectory: any Trajectory = Steady()) throws -> Rig {
        let rig = Rig(trajectory)
        try rig.start(fifo: 0x78)
        rig.wait(0.1001)
        _ = try rig.read(0x75)
        return rig
    }

    @Test("one or several transactions are not acknowledged, both reads and writes")
    func counted() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.notAcknowledged, lasting: .transactions(1))
        #expect(throws: Self.noAnswer) { try rig.read(0x75) }
        #expect(try rig.read(0x75) == 0x68)
        rig.chip.inject(.notAcknowledged, lasting: .transactions(3))
        #expect(throws: Self.noAnswer) { try rig.write(0x19, 7) }
        #expect(throws: Self.noAnswer) { try rig.read(0x74, count: 24) }
        #expect(throws: Self.noAnswer) { try rig.read(0x19) }
        #expect(try rig.read(0x19) == 4)
        // The rejected transactions removed nothing from the FIFO.
        #expect(try rig.fifoCount() == 240)
    }

    @Test("a fault begins at its start and lasts for its duration")
    func timed() throws {
        let rig = try Self.streaming()
        let start = rig.clock.now().advanced(bySeconds: 0.5)
        rig.chip.inject(.stuckBus, from: start, lasting: .seconds(0.25))
        rig.wait(0.4999)
        #expect(try rig.read(0x75) == 0x68)
        rig.wait(0.0001)
        #expect(throws: BusError(.timedOut, code: 110)) { try rig.read(0x75) }
        rig.wait(0.2499)
        #expect(throws: BusError(.timedOut, code: 110)) { try rig.read(0x75) }
        rig.wait(0.0001)
        #expect(try rig.read(0x75) == 0x68)
        // The chip continued meanwhile.
        #expect(rig.chip.sampleCount == 170)
    }

    @Test("a scheduled counted fault counts from its start")
    func countedLater() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.notAcknowledged, from: rig.clock.now().advanced(bySeconds: 1), lasting: .transactions(1))
        #expect(try rig.read(0x75) == 0x68)
        rig.wait(1)
        #expect(throws: Self.noAnswer) { try rig.read(0x75) }
        #expect(try rig.read(0x75) == 0x68)
    }

    @Test("random failures have their probability and are the same for the same seed")
    func random() throws {
        func pattern() throws -> [Bool] {
            let rig = try Self.streaming()
            rig.chip.inject(.randomlyNotAcknowledged(probability: 0.2))
            return (0..<2000).map { _ in
                do { return try rig.read(0x75) != 0x68 } catch { return true }
            }
        }
        let failures = try pattern()
        let count = failures.filter { $0 }.count
        #expect(count > 340 && count < 460)
        #expect(try pattern() == failures)
    }

    @Test("brown-out: defaults and asleep at its instant, without a bus error")
    func brownOut() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.brownOut, at: rig.clock.now().advanced(bySeconds: 0.05))
        rig.wait(1)
        #expect(try rig.read(0x6B) == 0x40)
        #expect(try rig.read(0x23) == 0)
        #expect(try rig.fifoCount() == 0)
        #expect(rig.chip.sampleCount == 30)
    }

    @Test("unplugged: no answer, then a freshly powered chip; without the adapter: absent")
    func unplugged() throws {
        for (condition, error) in [
            (FaultCondition.unplugged, Self.noAnswer), (.adapterAbsent, BusError(.absent, code: 19)),
        ] {
            let rig = try Self.streaming()
            rig.chip.inject(condition, lasting: .seconds(2))
            #expect(throws: error) { try rig.read(0x75) }
            rig.wait(1.999)
            #expect(throws: error) { try rig.write(0x6B, 0x01) }
            rig.wait(0.002)
            #expect(try rig.read(0x6B) == 0x40)
            #expect(try rig.read(0x19) == 0)
            #expect(rig.chip.sampleCount == 20)
        }
    }

    @Test("forced overflow: full, not aligned, and set in INT_STATUS")
    func overflow() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.fifoOverflow)
        #expect(try rig.read(0x3A) & 0x10 != 0)
        #expect(try rig.fifoCount() == 1024)
        let content = try rig.drainFIFO()
        #expect(Array(content.prefix(6)) != [2048, -1024, 3072, 1640, -820, 410])
        #expect(content.contains(3072))
    }

    @Test("FIFO slip: the oldest bytes are missing")
    func slip() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.fifoSlip(bytes: 2))
        #expect(try rig.fifoCount() == 238)
        #expect(Array(try rig.drainFIFO().prefix(6)) == [-1024, 3072, 1640, -820, 410, 2048])
        rig.chip.inject(.fifoSlip(bytes: 5000))
        rig.wait(0.005)
        #expect(try rig.fifoCount() == 12)
    }

    @Test("frozen outputs: samples on time with the previous values")
    func frozen() throws {
        let rig = try Self.streaming(Ramp())
        let before = try rig.outputs()
        rig.chip.inject(.frozenOutput, lasting: .seconds(0.2))
        rig.wait(0.19)
        #expect(try rig.outputs() == before)
        #expect(rig.chip.sampleCount == 58)
        rig.wait(0.1)
        #expect(try rig.outputs()[0] > before[0] + 50)
        rig.chip.inject(.frozenOutput, lasting: .transactions(2))
        let still = try rig.outputs()
        rig.wait(0.1)
        #expect(try rig.outputs() == still)
        rig.wait(0.1)
        #expect(try rig.outputs()[0] > still[0])
    }

    @Test("stalled: the outputs do not change, the settings remain, and sampling resumes afterwards")
    func stalled() throws {
        let rig = try Self.streaming(Ramp())
        _ = try rig.drainFIFO()
        rig.chip.inject(.stalled, lasting: .seconds(0.2))
        rig.wait(0.1)
        #expect(try rig.fifoCount() == 0)
        #expect(try rig.read(0x19) == 4)
        rig.wait(0.2)
        #expect(try rig.fifoCount() == 240)
        rig.chip.inject(.stalled)
        rig.chip.clearFaults()
        rig.wait(0.005)
        #expect(try rig.fifoCount() == 252)
    }

    @Test("all ones: reads return ones, writes work")
    func ones() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.onesRead, lasting: .seconds(0.1))
        #expect(try rig.read(0x75) == 0xFF)
        #expect(try rig.read(0x72, count: 2) == [0xFF, 0xFF])
        try rig.write(0x19, 9)
        rig.wait(0.1)
        #expect(try rig.read(0x19) == 9)
    }

    @Test("the temperature jumps")
    func temperature() throws {
        let rig = try Self.streaming()
        let before = try rig.read(0x41, count: 2)
        let truth = rig.chip.temperature
        rig.chip.inject(.temperatureJump(by: 30))
        rig.wait(0.01)
        let after = try rig.read(0x41, count: 2)
        func counts(_ bytes: [UInt8]) -> Int { Int(Int16(bitPattern: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))) }
        #expect(abs(counts(after) - counts(before) - 30 * 340) <= 2)
        #expect(abs(rig.chip.temperature - truth - 30) < 0.01)
    }

    @Test("wrong identity: FIFO data in a longer burst is unchanged")
    func identity() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.wrongIdentity(0x70))
        #expect(try rig.read(0x75) == 0x70)
        #expect(try rig.read(0x73, count: 5) == [0, 0x08, 0x00, 0xFC, 0x00])
        rig.chip.clearFaults()
        #expect(try rig.read(0x75) == 0x68)
    }

    @Test("a flipped bit changes the rate or range, or puts the chip to sleep")
    func bitFlip() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.bitFlip(register: 0x1C, bit: 4))
        rig.wait(0.005)
        #expect(try rig.read(0x1C) == 0x00)
        #expect(try rig.outputs()[0] == 8192)
        rig.chip.inject(.bitFlip(register: 0x6B, bit: 6))
        let count = rig.chip.sampleCount
        rig.wait(1)
        #expect(try rig.read(0x6B) == 0x41)
        #expect(rig.chip.sampleCount == count)
        rig.chip.inject(.bitFlip(register: 0x6B, bit: 7))
        #expect(try rig.read(0x6B) == 0xC0)
        #expect(try rig.read(0x19) == 0)
    }

    @Test("clearing also removes scheduled faults")
    func clear() throws {
        let rig = try Self.streaming()
        rig.chip.inject(.notAcknowledged)
        rig.chip.inject(.brownOut, at: rig.clock.now().advanced(bySeconds: 1))
        #expect(throws: Self.noAnswer) { try rig.read(0x75) }
        rig.chip.clearFaults()
        rig.wait(2)
        #expect(try rig.read(0x6B) == 0x01)
    }

    @Test("other threads may inject faults while the driver reads")
    func threads() async throws {
        let rig = try Self.streaming()
        let chip = rig.chip
        let start = rig.clock.now()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<3 {
                group.addTask {
                    for k in 0..<300 {
                        chip.inject(.fifoSlip(bytes: worker + 1))
                        chip.inject(.notAcknowledged, lasting: .transactions(1))
                        _ = chip.sampleCount + UInt64(k)
                    }
                }
            }
        }
        // The same transaction counts down every condition.
        #expect(Self.failure(of: chip, at: start) == Self.noAnswer)
        #expect(Self.failure(of: chip, at: start) == nil)
    }

    /// The error of a read of the identity register through the chip's own interface, which any thread may use.
    private static func failure(of chip: VirtualIMUChip, at instant: Timestamp) -> BusError? {
        var identity: UInt8 = 0
        return withUnsafeMutableBytes(of: &identity) { buffer in
            do throws(BusError) {
                try chip.read(0x75, into: buffer, at: instant)
                return nil
            } catch {
                return error
            }
        }
    }
}
