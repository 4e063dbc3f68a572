import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

extension Rig {
    /// Starts both sensors of an ICM-42688-P at 1 kHz with a FIFO that can be read in pieces, and flushes it.
    fileprivate func start(content: UInt8 = 0x47) throws {
        try write((0x5F, content), (0x16, 0x40), (0x4E, 0x0F))
        wait(0.1)
        try write(0x4B, 0x02)
    }

    fileprivate func samples(_ count: Int) { wait((Double(count) + 0.5) / 1000) }
}

/// Requirement: the virtual ICM-42688-P behaves according to DS-000347, independently of the driver. The ICM-42605 has
/// anti-alias filters of its own.
@Suite struct ICM42688Tests {
    @Test("The first count after a flush is 0, the next one is right (Linux inv_icm42600_buffer.c)")
    func firstCount() throws {
        let bench = Rig(part: .icm42688)
        try bench.start()
        bench.samples(3)
        #expect(try bench.fifoCount(0x2E) == 0)
        #expect(try bench.fifoCount(0x2E) == 48)
    }

    @Test("Holds 2032 bytes while nothing is read, and then sets FIFO_FULL_INT until INT_STATUS is read (6.3, 14.21)")
    func full() throws {
        let bench = Rig(part: .icm42688)
        try bench.start()
        _ = try bench.read(0x2D, count: 3)
        bench.samples(126)
        #expect(try bench.read(0x2D) & 0x02 == 0)
        bench.samples(400)
        #expect(try bench.read(0x2D, count: 3) == [0x02, 0x07, 0xF0])
        // Overwritten packets do not make it fuller, and the flag is set again.
        bench.samples(1)
        #expect(try bench.read(0x2D) & 0x02 != 0)
    }

    @Test(
        "Without FIFO_RESUME_PARTIAL_RD, a read of a part must be repeated (14.45)", arguments: [0x07, 0x47] as [UInt8])
    func partialRead(content: UInt8) throws {
        let bench = Rig(part: .icm42688)
        try bench.start(content: content)
        _ = try bench.fifoCount(0x2E)
        bench.samples(4)
        let before = try bench.fifoCount(0x2E)
        _ = try bench.read(0x30, count: 16)
        #expect(try bench.fifoCount(0x2E) == (content == 0x47 ? before - 16 : before))
    }

    @Test("While a sensor runs, only rate, range and power can be changed (12.9)")
    func runningWrites() throws {
        let bench = Rig(part: .icm42688)
        try bench.start()
        for (register, value) in [(0x52, 0x33), (0x16, 0x00), (0x65, 0x08), (0x4D, 0x51)] as [(UInt8, UInt8)] {
            let before = try bench.read(register)
            try bench.write(register, value)
            #expect(try bench.read(register) == before)
        }
        try bench.write(0x4F, 0x27)
        #expect(try bench.read(0x4F) == 0x27)
        try bench.write(0x4E, 0x00)
        try bench.write(0x52, 0x33)
        #expect(try bench.read(0x52) == 0x33)
    }

    @Test("Bank 1 has registers of its own; REG_BANK_SEL is in every bank, and a reset selects bank 0")
    func banks() throws {
        let bench = Rig(part: .icm42688)
        #expect(try bench.read(0x13) == 0x05)
        try bench.write(0x76, 0x01)
        #expect(try bench.read(0x7A, count: 3) == [0x83, 0x00, 0x5F])
        #expect(try bench.read(0x75) != 0x47)
        try bench.write(0x7C, 0x50)
        #expect(try bench.read(0x7C) == 0x50)
        #expect(try bench.read(0x76) == 0x01)
        try bench.write(0x76, 0x00)
        #expect(try bench.read(0x75) == 0x47)
        try bench.write(0x11, 0x01)
        bench.wait(0.002)
        try bench.write(0x76, 0x01)
        #expect(try bench.read(0x7C) == 0x5F)
    }

    @Test(
        "The anti-alias filters follow their registers, and a wrong combination is punished (5.3)",
        arguments: [
            (.icm42688, [UInt8](), 585), (.icm42605, [], 146), (.icm42605, [0x3F, 0x80, 0x3F], 995),
            (.icm42688, [0x15, 0xB8, 0x61], 997), (.icm42605, [0x15, 0xB8, 0x61], 249),
            (.icm42605, [0x3F, 0x80, 0x2F], 10),
        ] as [(VirtualPart, [UInt8], Double)])
    func antiAlias(part: VirtualPart, values: [UInt8], bandwidth: Double) throws {
        let bench = Rig(part: part)
        #expect(try bench.read(0x75) == (part == .icm42605 ? 0x42 : 0x47))
        try bench.write(0x76, 0x01)
        for (index, value) in values.enumerated() { try bench.write(0x0C + UInt8(index), value) }
        try bench.write(0x76, 0x00)
        try bench.start()
        _ = try bench.read(0x75)
        // 2.1 ms are those of the low-pass at 1 kHz.
        let own = bench.chip.readingDelay.gyroscope - 0.0021
        #expect(abs(own - 2.0.squareRoot() / (2 * .pi * bandwidth)) < 1e-6)
    }

    @Test("Bank 2 has registers of its own")
    func bank2() throws {
        let bench = Rig(part: .icm42688)
        try bench.write(0x76, 0x02)
        #expect(try bench.read(0x03, count: 3) == [0x30, 0x40, 0x62])
        try bench.write(0x03, 0x7E)
        #expect(try bench.read(0x03) == 0x7E)
        try bench.write(0x76, 0x01)
        #expect(try bench.read(0x03) == 0x00)
    }
}
