internal import MotionCore

/// A LIS3DH's registers and its FIFO of 32 entries (datasheet, DocID17530 Rev 2, and ST's lis3dh_reg.h), or an LSM303AGR's or
/// LIS2DE12's (lsm303agr_reg.c, lis2de12_reg.c).
///
/// Not modelled: the interrupt pins, the high-pass, self-test, the auxiliary converter, big-endian values, and the modes of the
/// FIFO that a pin triggers.
struct VirtualLIS3DHRegisters: VirtualRegisters {
    enum Model { case lis3dh, lsm303agr, lis2de12 }

    private let model: Model
    var registers = RegisterFile(count: 64, defaults: [0x0F: 0x33, 0x1E: 0x10, 0x20: 0x07])
    private var fifo = FrameFIFO(capacity: 192, frameLength: 6)
    private var lastEntry = [UInt8](repeating: 0, count: 6)
    /// The next sample when measuring started.
    private var firstIndex: UInt64 = 0

    init(_ model: Model) { self.model = model }

    var identityRegister: UInt8 { 0x0F }
    var readMask: UInt8 { 0xFF }
    var retainedSamples: Int { 34 }

    mutating func begin(_ engine: inout SensorEngine) {
        fifo.removeAll()
        configure(&engine)
    }

    /// Bit 7 of the register number makes the address advance; in the output registers it returns to the first one.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = Int(register & 0x3F)
        for index in buffer.indices {
            if address == 0x28 { fifo.moveFirst(to: &registers, 0x28) }
            buffer[index] = address == 0x2F ? source : registers[address]
            if register & 0x80 != 0 { address = address == 0x2D ? 0x28 : (address + 1) & 0x3F }
        }
    }

    /// FIFO_SRC_REG: with 32 entries, FSS is 31 and OVRN_FIFO is set.
    private var source: UInt8 {
        let entries = fifo.count / 6
        return (entries == 32 ? 0x40 : 0) | (entries == 0 ? 0x20 : 0) | UInt8(min(31, entries))
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        let address = register & 0x3F
        guard (0x1E...0x26).contains(address) || address == 0x2E || address >= 0x30 else { return }
        let before = registers[Int(address)]
        registers[Int(address)] = value
        applySideEffects(of: address, before: before, &engine)
    }

    mutating func applySideEffects(of register: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        // Every change of the operating mode, too, makes the next samples settle.
        if register == 0x20 || register == 0x23, before != registers[Int(register)] { firstIndex = engine.nextIndex }
        if !fills { fifo.removeAll() }
        configure(&engine)
    }

    /// FIFO_EN, and a mode other than bypass.
    private var fills: Bool { registers[0x24] & 0x40 != 0 && registers[0x2E] >> 6 != 0 }

    /// The operating mode by LPen and HR: high resolution with 12 bits, normal with 10, low power with 8.
    private var bits: Int {
        if registers[0x20] & 0x08 != 0 { return 8 }
        return registers[0x23] & 0x08 != 0 ? 12 : 10
    }

    func configure(_ engine: inout SensorEngine) {
        let code = Int(registers[0x20] >> 4)
        let isLow = bits == 8
        let rates: [Double] = [0, 1, 10, 25, 50, 100, 200, 400, isLow ? 1620 : 0, isLow ? 5376 : 1344]
        // A LIS2DE12 has no other mode than low power. Unsourced: that it does not measure if another one is selected.
        guard code < rates.count, rates[code] > 0, isLow || model != .lis2de12 else { return engine.run(nil) }
        // A ninth of the rate with high resolution, otherwise half (table 10). Unsourced: the delay, here that of a
        // second-order low-pass.
        let bandwidth = rates[code] / (bits == 12 ? 9 : 2)
        let lowPass = LowPassSetting(bandwidth, bandwidth)
        engine.run(SensorModel.Setup(lowPass: lowPass, period: 1 / rates[code]))
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading, sample.index) }
        guard fills else {
            registers.store(lastEntry, at: 0x28)
            return
        }
        // FIFO mode stops when it is full.
        if registers[0x2E] >> 6 == 1, fifo.count == 192 { return }
        fifo.append(lastEntry)
    }

    /// Sizes of a count of twelve bits at the four ranges, mg: table 4, lsm303agr_reg.c, Linux st_accel_core.c. A
    /// LIS2DE12 has the upper eight of them.
    private var countSizes: [Double] {
        switch model {
        case .lis3dh: [1, 2, 4, 12]
        case .lsm303agr: [0.98, 1.95, 3.9, 11.72]
        case .lis2de12: [15.6, 31.2, 62.5, 187.5].map { $0 / 16 }
        }
    }

    /// Converts a reading to left-justified values. Twelve-bit values settle after seven samples (table 11).
    private mutating func convert(_ reading: SensorEngine.Reading, _ index: UInt64) {
        let range = Int(registers[0x23] >> 4 & 0x03)
        let unit = countSizes[range] * 1e-3 * Double(1 << (12 - bits)) * standardGravity
        // Also at ±16 g, where that is ±24 g.
        let end = Double(1 << (bits - 1)) - 1
        let isSettled = index >= firstIndex + (bits == 12 ? 7 : 1)
        var entry: [UInt8] = []
        for axis in 0..<3 {
            let isEnabled = registers[0x20] & 1 << axis != 0
            let force = isEnabled ? reading.force[axis] * (isSettled ? 1 : 0.5) : 0
            entry.appendLittleEndian(counts(force, scale: unit, within: -end...end) << (16 - bits))
        }
        lastEntry = entry
    }

    mutating func overflow() {
        guard fills else { return }
        for _ in 0...32 { fifo.append(lastEntry) }
    }

    /// Entries are removed only as a whole. Every read begins with one, so a slip of less has no effect.
    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes / 6 * 6) }
}
