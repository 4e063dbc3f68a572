import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

extension Rig {
    /// Turns on both sensors of an LSM6DS at 104 Hz and ±2 g, ±250 °/s, and its FIFO, and waits for 50 samples to settle.
    fileprivate func start(isTagged: Bool) throws {
        try write((0x11, 0x40), (0x10, 0x40), isTagged ? (0x09, 0x44) : (0x08, 0x09))
        wait(0.5)
        try write(0x0A, isTagged ? 0x06 : 0x26)
    }

    fileprivate func samples(_ count: Int) { wait((Double(count) + 0.5) / 104) }
}

/// Requirement: the virtual LSM6DS behaves according to ST's register descriptions, independently of the driver.
@Suite struct LSM6DSTests {
    private func isTagged(_ model: VirtualPart) -> Bool { model == .lsm6dso || model == .ism330dhcx }

    private func identity(of model: VirtualPart) -> UInt8 {
        switch model {
        case .lsm6ds3: 0x69
        case .lsm6ds3trc: 0x6A
        case .ism330dhcx: 0x6B
        default: 0x6C
        }
    }

    @Test("After power-on both sensors are off and the FIFO is empty", arguments: VirtualPart.parts(of: .lsm6ds))
    func defaults(model: VirtualPart) throws {
        let bench = Rig(part: model)
        bench.wait(1)
        #expect(bench.chip.sampleCount == 0)
        #expect(try bench.read(0x0F) == identity(of: model))
        #expect(try bench.read(0x10, count: 3) == [0, 0, 0x04])
        #expect(try bench.read(0x3A, count: 2) == [0, isTagged(model) ? 0 : 0x10])
    }

    @Test("A reset restores the defaults, and its bit clears itself", arguments: VirtualPart.parts(of: .lsm6ds))
    func reset(model: VirtualPart) throws {
        let bench = Rig(part: model)
        try bench.start(isTagged: isTagged(model))
        try bench.write(0x12, 0x05)
        #expect(try bench.read(0x12) == 0x05)
        bench.wait(0.001)
        #expect(try bench.read(0x12) == 0x04)
        #expect(try bench.read(0x0A) == 0)
        #expect(try bench.read(0x10, count: 2) == [0, 0])
    }

    @Test(
        "Untagged: three words per sensor, the gyroscope first, and the pattern shows which is next",
        arguments: [.lsm6ds3, .lsm6ds3trc] as [VirtualPart])
    func untagged(model: VirtualPart) throws {
        let bench = Rig(part: model)
        try bench.start(isTagged: false)
        bench.samples(2)
        #expect(try bench.read(0x3A, count: 4) == [12, 0, 0, 0])
        let first = try bench.read(0x3E, count: 2)
        #expect(try bench.read(0x3A, count: 4) == [11, 0, 1, 0])
        let rest = try bench.read(0x3E, count: 22)
        #expect(try bench.read(0x3A, count: 4) == [0, 0x10, 0, 0])
        #expect(try Array((first + rest).suffix(12)) == bench.read(0x22, count: 12))
        // 1 g on z: 16393 counts of 61 µg.
        #expect(Array(rest.suffix(2)) == [0x09, 0x40])
    }

    @Test("Tagged: one word per sensor, with its number, the time slot and even parity")
    func tagged() throws {
        let bench = Rig(part: .lsm6dso)
        try bench.start(isTagged: true)
        bench.samples(6)
        #expect(try bench.read(0x3A, count: 2) == [12, 0])
        let bytes = try bench.read(0x78, count: 84)
        let tags = stride(from: 0, to: 84, by: 7).map { bytes[$0] }
        #expect(tags.map { $0 >> 3 } == [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2])
        #expect(tags.map { $0 >> 1 & 3 } == [0, 0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 1])
        #expect(tags.allSatisfy { $0.nonzeroBitCount % 2 == 0 })
        #expect(try Array(bytes[71..<77] + bytes[78..<84]) == bench.read(0x22, count: 12))
        #expect(try bench.read(0x3A, count: 2) == [0, 0])
    }

    @Test("An overrun sets the flag; a disabled FIFO is empty", arguments: VirtualPart.parts(of: .lsm6ds))
    func overrun(model: VirtualPart) throws {
        let bench = Rig(part: model)
        let isTagged = self.isTagged(model)
        try bench.start(isTagged: isTagged)
        bench.samples(isTagged ? 300 : 800)
        let flags = try bench.read(0x3A, count: 2)
        #expect(flags[1] & 0x60 == 0x60)
        // The capacity in words, truncated to the bits of the status field.
        let mask: UInt8 = model == .lsm6ds3 ? 0x0F : model == .lsm6ds3trc ? 0x07 : 0x03
        #expect([flags[0], flags[1] & mask] == [0, isTagged ? 2 : 0])
        if isTagged {
            #expect(flags[1] & 0x08 != 0)
            #expect(try bench.read(0x3B) & 0x48 == 0x40)
        }
        try bench.write(0x0A, 0)
        #expect(try bench.read(0x3A, count: 2) == [0, isTagged ? 0 : 0x10])
        try bench.write(0x0A, isTagged ? 0x06 : 0x26)
        bench.wait(1.0 / 104)
        #expect(try bench.read(0x3A) == (isTagged ? 2 : 6))
    }

    @Test("Temperature counts start at 25 °C", arguments: VirtualPart.parts(of: .lsm6ds))
    func temperature(model: VirtualPart) throws {
        var imperfections = Imperfections.ideal
        imperfections.ambientTemperature = 21.5
        let bench = Rig(Rest(), imperfections, part: model)
        try bench.write(0x10, 0x40)
        bench.wait(0.1)
        let raw = try littleEndianWords(bench.read(0x20, count: 2))[0]
        #expect(Double(raw) == -3.5 * (model == .lsm6ds3 ? 16 : 256))
    }
}
