internal import Glibc
internal import MotionCore

/// An ICM-42688-P's bank 0 and its FIFO of packets (DS-000347).
struct VirtualICM42688Registers: VirtualRegisters {
    private var registers = RegisterFile(
        count: 128,
        defaults: [
            0x4C: 0x30, 0x4D: 0x91, 0x4F: 0x06, 0x50: 0x06, 0x51: 0x16, 0x52: 0x11, 0x53: 0x0D, 0x64: 0x10, 0x65: 0x10,
            0x75: 0x47,
        ])
    private var fifo = FrameFIFO(capacity: 2048, frameLength: 16)
    private var lastPacket: [UInt8] = [0x68] + [UInt8](repeating: 0, count: 15)
    private var packets: UInt16 = 0

    var identityRegister: UInt8 { 0x75 }
    var retainedSamples: Int { fifo.capacity / fifo.frameLength + 2 }

    mutating func powerCycle(_ engine: inout SensorEngine) {
        registers.powerUp()
        fifo.removeAll()
        registers[0x2D] = 0x10
        configure(&engine)
    }

    mutating func completePendingChanges(_ engine: inout SensorEngine) {
        if registers.hasEndedReset(by: engine.now) { registers[0x2D] |= 0x10 }
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = Int(register)
        for index in buffer.indices {
            switch address {
            case 0x30: buffer[index] = fifo.removeFirst() ?? 0xFF
            case 0x2E: buffer[index] = UInt8(fifo.count >> 8)
            case 0x2F: buffer[index] = UInt8(fifo.count & 0xFF)
            default: buffer[index] = registers[0x76] == 0 || address == 0x76 ? registers[address] : 0
            }
            if address == 0x2D { registers[address] = 0 }
            if address != 0x30 { address = (address + 1) & 0x7F }
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        guard !registers.isResetting(at: engine.now) else { return }
        guard register == 0x76 || registers[0x76] == 0 else { return }
        switch register {
        case 0x11 where value & 1 != 0:
            registers.reset(until: engine.now.advanced(bySeconds: 0.001))
            fifo.removeAll()
        case 0x4B:
            if value & 0x02 != 0 { fifo.removeAll() }
        case 0x75, 0x1D...0x30: return
        default:
            if register == 0x4E, registers[0x4E] & 0x0C == 0, value & 0x0C != 0 { engine.gyroscopeStart = engine.now }
            registers[Int(register)] = value
            if register == 0x16, value & 0xC0 == 0 { fifo.removeAll() }
        }
        configure(&engine)
    }

    private func configure(_ engine: inout SensorEngine) {
        let rate: Double =
            switch registers[0x4F] & 0x0F {
            case 7: 200
            case 8: 100
            case 9: 50
            case 10: 25
            case 11: 12.5
            case 15: 500
            default: 1000
            }
        func bandwidth(_ code: UInt8) -> Double {
            let divisors: [Double] = [2, 4, 5, 8, 10, 16, 20, 40]
            return (code == 0 ? rate : max(400, rate)) / divisors[Int(min(7, code))]
        }
        let force = bandwidth(registers[0x52] >> 4)
        let turn = bandwidth(registers[0x52] & 0x0F)
        // Delay of a Butterworth low-pass of the order in GYRO_UI_FILT_ORD.
        let order = Double(registers[0x51] >> 2 & 0x03) + 1
        let turnDelay = 1 / (sin(.pi / (2 * order)) * 2 * .pi * turn)
        let runs = registers[0x4E] & 0x0F == 0x0F && !registers.isResetting(at: engine.now)
        let lowPass = LowPassSetting(force, turn, turnDelay)
        engine.run(runs ? SensorModel.Setup(lowPass: lowPass, period: 1 / rate) : nil)
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading) }
        packets &+= 1
        lastPacket[14] = UInt8(packets >> 8)
        lastPacket[15] = UInt8(packets & 0xFF)
        if registers[0x16] & 0xC0 == 0x40, registers[0x5F] & 0x07 == 0x07 { fifo.append(lastPacket) }
    }

    /// Converts a reading to a packet without its timestamp.
    private mutating func convert(_ reading: SensorEngine.Reading) {
        let forceRange = Double(16 >> Int(min(3, registers[0x50] >> 5))) * standardGravity
        let rateRange = 2000 / Double(1 << Int(registers[0x4F] >> 5)) * radiansPerDegree
        var packet: [UInt8] = [0x68]
        func append(_ value: Int16) {
            packet.append(UInt8(truncatingIfNeeded: value >> 8))
            packet.append(UInt8(truncatingIfNeeded: value))
        }
        for axis in 0..<3 { append(counts(reading.force[axis], scale: forceRange / 32768)) }
        for axis in 0..<3 { append(counts(reading.rate[axis], scale: rateRange / 32768)) }
        packet.append(
            UInt8(truncatingIfNeeded: counts(reading.temperature - 25, scale: 1 / 2.07, within: -128...127)))
        append(0)
        lastPacket = packet
    }

    /// UI_DRDY_INT1_EN, pulsed, push-pull and active high; with INT_ASYNC_RESET set the pin does not work.
    var raisesPin: Bool {
        registers[0x65] & 0x08 != 0 && registers[0x14] & 0x07 == 0x03 && registers[0x64] & 0x10 == 0
    }

    mutating func overflow() {
        for _ in 0...128 { fifo.append(lastPacket) }
    }

    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes) }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        registers[Int(register & 0x7F)] ^= 1 << (bit & 7)
        configure(&engine)
    }
}
