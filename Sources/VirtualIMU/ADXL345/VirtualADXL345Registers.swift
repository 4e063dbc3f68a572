internal import MotionCore

/// An ADXL345's registers and its FIFO of 32 entries (data sheet, Rev. G), supplied with 3.3 V; or an ADXL375's, with one
/// range of ±200 g (data sheet, Rev. B). Unsourced: the delay of their low-pass, here that of a second-order one, and the
/// ADXL375's figures at 3.3 V.
struct VirtualADXL345Registers: VirtualRegisters {
    private let isHighG: Bool
    var registers = RegisterFile(count: 64, defaults: [0x00: 0xE5, 0x2C: 0x0A, 0x30: 0x02])
    private var fifo = FrameFIFO(capacity: 192, frameLength: 6)
    private var lastEntry = [UInt8](repeating: 0, count: 6)

    init(isHighG: Bool) { self.isHighG = isHighG }

    var identityRegister: UInt8 { 0x00 }
    var retainedSamples: Int { fifo.capacity / fifo.frameLength + 2 }

    mutating func begin(_ engine: inout SensorEngine) {
        fifo.removeAll()
        configure(&engine)
    }

    /// A read that begins in the output registers removes an entry, whatever its length (p. 27).
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        registers[0x39] = UInt8(fifo.count / 6)
        if (0x32...0x37).contains(register) { fifo.moveFirst(to: &registers, 0x32) }
        for index in buffer.indices { buffer[index] = registers[(Int(register) + index) & 0x3F] }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        guard (0x1D...0x2F).contains(register) || register == 0x31 || register == 0x38 else { return }
        registers[Int(register)] = value
        if register == 0x38, value & 0xC0 == 0 { fifo.removeAll() }
        configure(&engine)
    }

    /// 100 Hz at code 10; the bandwidth is half the rate (table 7).
    func configure(_ engine: inout SensorEngine) {
        let code = Int(registers[0x2C] & 0x0F)
        let rate = 100 * (code >= 10 ? Double(1 << (code - 10)) : 1 / Double(1 << (10 - code)))
        let bandwidth = rate / 2
        let lowPass = LowPassSetting(bandwidth, bandwidth)
        let measures = registers[0x2D] & 0x0C == 0x08
        engine.run(measures ? SensorModel.Setup(lowPass: lowPass, period: 1 / rate) : nil)
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading) }
        switch registers[0x38] & 0xC0 {
        case 0x00: registers.store(lastEntry, at: 0x32)
        case 0x80: fifo.append(lastEntry)
        default: break
        }
    }

    /// Converts a reading to an entry.
    private mutating func convert(_ reading: SensorEngine.Reading) {
        let range = 2 << Int(registers[0x31] & 0x03)
        let isFull = registers[0x31] & 0x08 != 0
        // Ten bits over the range, or 256 LSB/g for every range. At 3.3 V, x and y have 265 LSB/g and an offset of 25 mg, z
        // one of -20 mg (p. 34).
        let unit = isHighG ? 0.049 : isFull ? 1.0 / 256 : Double(range) / 512
        let end = isHighG ? 4096 : isFull ? Double(range) * 256 : 512
        var entry: [UInt8] = []
        for axis in 0..<3 {
            let isZ = axis == 2
            let scale = isHighG || isZ ? unit : unit * 256 / 265
            let offset = isHighG ? 0 : isZ ? -0.020 : 0.025
            let gravities = reading.force[axis] / standardGravity + offset
            entry.appendLittleEndian(counts(gravities, scale: scale, within: -end...end - 1))
        }
        lastEntry = entry
    }

    /// DATA_READY on INT1, active high: it stays high while the FIFO has an entry.
    var raisesPin: Bool {
        registers[0x2E] & 0x80 != 0 && registers[0x2F] & 0x80 == 0 && registers[0x31] & 0x20 == 0 && fifo.count == 0
    }

    mutating func overflow() {
        for _ in 0...32 { fifo.append(lastEntry) }
    }

    /// Entries are removed only as a whole.
    mutating func dropOldest(_ bytes: Int) { fifo.drop((bytes + 5) / 6 * 6) }
}
