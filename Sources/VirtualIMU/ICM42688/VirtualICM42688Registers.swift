internal import Glibc
internal import MotionCore

/// An ICM-42688-P's or ICM-42605's banks 0 to 2 and its FIFO of packets (DS-000347 r1.8).
///
/// The ICM-42605 differs in its identity and its anti-alias filters. Unsourced: its reset values, here the same.
///
/// Where the datasheet only forbids something, the model punishes it: it ignores a write that 12.9 does not allow, and
/// without FIFO_RESUME_PARTIAL_RD a read that does not empty the FIFO consumes nothing. Two properties that it does not
/// mention are modelled from other drivers: the first count after a flush is 0 (Linux inv_icm42600_buffer.c), and with
/// the adaptive full scale the gyroscope stands still above 100 °/s (ArduPilot: there for 2 ms, here for as long).
struct VirtualICM42688Registers: VirtualRegisters {
    private let antiAlias: VirtualICM42688AntiAlias
    var registers: RegisterFile
    /// GYRO_CONFIG_STATIC2 to 5, INTF_CONFIG4 and 6.
    private var bank1 = RegisterFile(
        count: 128, defaults: [0x0B: 0xA0, 0x0C: 0x0D, 0x0D: 0xAA, 0x0E: 0x80, 0x7A: 0x83, 0x7C: 0x5F])
    /// ACCEL_CONFIG_STATIC2 to 4.
    private var bank2 = RegisterFile(count: 128, defaults: [0x03: 0x30, 0x04: 0x40, 0x05: 0x62])
    private var fifo = FrameFIFO(capacity: 2032, frameLength: 16)
    private var hidesCount = false
    private var lastPacket: [UInt8] = [0x68] + [UInt8](repeating: 0, count: 15)
    private var packets: UInt16 = 0

    init(isICM42605: Bool) {
        antiAlias = isICM42605 ? .icm42605 : .icm42688p
        registers = RegisterFile(
            count: 128,
            defaults: [
                0x13: 0x05, 0x1D: 0x80, 0x4C: 0x30, 0x4D: 0x91, 0x4F: 0x06, 0x50: 0x06, 0x51: 0x16, 0x52: 0x11,
                0x53: 0x0D, 0x54: 0x23, 0x56: 0x82, 0x64: 0x10, 0x65: 0x10, 0x75: isICM42605 ? 0x42 : 0x47,
            ])
    }

    var identityRegister: UInt8 { 0x75 }
    var retainedSamples: Int { fifo.capacity / fifo.frameLength + 2 }

    mutating func begin(_ engine: inout SensorEngine) {
        bank1.powerUp()
        bank2.powerUp()
        fifo.removeAll()
        hidesCount = true
        // INT_STATUS: the reset is done; after a soft reset, only when that has ended.
        if !registers.isResetting(at: engine.now) { registers[0x2D] = 0x10 }
        configure(&engine)
    }

    mutating func completePendingChanges(_ engine: inout SensorEngine) {
        if registers.hasEndedReset(by: engine.now) { registers[0x2D] |= 0x10 }
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = Int(register)
        let unread = fifo
        let count = hidesCount ? 0 : fifo.count
        for index in buffer.indices {
            switch (bank, address) {
            case (_, 0x76): buffer[index] = registers[address]
            case (0, 0x30): buffer[index] = fifo.removeFirst() ?? 0xFF
            case (0, 0x2E):
                buffer[index] = UInt8(count >> 8)
                hidesCount = false
            case (0, 0x2F): buffer[index] = UInt8(count & 0xFF)
            case (0, _): buffer[index] = registers[address]
            case (1, _): buffer[index] = bank1[address]
            case (2, _): buffer[index] = bank2[address]
            default: buffer[index] = 0
            }
            if bank == 0, address == 0x2D { registers[address] = 0 }
            if bank != 0 || address != 0x30 { address = (address + 1) & 0x7F }
        }
        if registers[0x5F] & 0x40 == 0, fifo.count > 0 { fifo = unread }
    }

    private var bank: UInt8 { registers[0x76] & 0x07 }
    private var isRunning: Bool { registers[0x4E] & 0x0F != 0 }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        if register == 0x76 {
            registers[0x76] = value
            return
        }
        guard bank == 0 else {
            if bank == 1, !isRunning { bank1[Int(register)] = value }
            if bank == 2, !isRunning { bank2[Int(register)] = value }
            return
        }
        switch register {
        case 0x11 where value & 1 != 0:
            return reset(for: 0.001, &engine)
        case 0x4B:
            guard value & 0x02 != 0 else { return }
            fifo.removeAll()
            hidesCount = true
        case 0x75, 0x1D...0x30: return
        case 0x4E...0x50:
            if register == 0x4E, registers[0x4E] & 0x0C == 0, value & 0x0C != 0 { engine.gyroscopeStart = engine.now }
            registers[Int(register)] = value
        default:
            guard !isRunning else { return }
            registers[Int(register)] = value
            if register == 0x16, value & 0xC0 == 0 { fifo.removeAll() }
            // One packet of the 2048 bytes is reserved while nothing is read (6.3).
            if register == 0x5F {
                let length = isGyroscopeIncluded ? 16 : 8
                fifo = FrameFIFO(capacity: 2048 - length, frameLength: length)
            }
        }
        configure(&engine)
    }

    /// GYRO_MODE, and FIFO_GYRO_EN of FIFO_CONFIG1.
    private var runsGyroscope: Bool { registers[0x4E] & 0x0C == 0x0C }
    private var isGyroscopeIncluded: Bool { registers[0x5F] & 0x02 != 0 }

    /// The gyroscope needs the accelerometer's rate; with different ones, or with the accelerometer off, nothing runs here.
    func configure(_ engine: inout SensorEngine) {
        let rate = VirtualICM42688Filter.rate(registers[0x50] & 0x0F)
        let force = VirtualICM42688Filter(
            rate: rate, code: registers[0x52] >> 4, order: registers[0x53] >> 3 & 0x03,
            antiAlias: antiAlias.bandwidth(delt: bank2[0x03] >> 1, low: bank2[0x04], high: bank2[0x05]))
        let turn = VirtualICM42688Filter(
            rate: rate, code: registers[0x52] & 0x0F, order: registers[0x51] >> 2 & 0x03,
            antiAlias: antiAlias.bandwidth(delt: bank1[0x0C], low: bank1[0x0D], high: bank1[0x0E]))
        let areAlike = !runsGyroscope || registers[0x4F] & 0x0F == registers[0x50] & 0x0F
        let runs = registers[0x4E] & 0x03 == 0x03 && areAlike && !registers.isResetting(at: engine.now)
        let timed = runsGyroscope ? turn : force
        let lowPass = LowPassSetting(force.bandwidth, timed.bandwidth, timed.delay)
        engine.run(runs ? SensorModel.Setup(lowPass: lowPass, period: 1 / rate) : nil)
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading) }
        packets &+= 1
        lastPacket[14] = UInt8(packets >> 8)
        lastPacket[15] = UInt8(packets & 0xFF)
        guard registers[0x16] & 0xC0 == 0x40, registers[0x5F] & 0x05 == 0x05 else { return }
        if runsGyroscope || !isGyroscopeIncluded { append() }
    }

    /// FIFO_FULL_INT is set when the FIFO becomes full, and stays set until it is read. Packets of structure 1 have the
    /// accelerometer and the temperature (6.1).
    private mutating func append() {
        fifo.append(isGyroscopeIncluded ? lastPacket : [0x40] + lastPacket[1..<7] + lastPacket[13..<14])
        if fifo.count + fifo.frameLength > fifo.capacity { registers[0x2D] |= 0x02 }
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
        // -32768 marks an invalid value (12.8).
        let valid = -32766.0...32767
        for axis in 0..<3 { append(counts(reading.force[axis], scale: forceRange / 32768, within: valid)) }
        let stands = registers[0x4D] & 0xC0 != 0x40 && reading.rate.length > 100 * radiansPerDegree
        if stands {
            packet += lastPacket[7..<13]
        } else {
            for axis in 0..<3 { append(counts(reading.rate[axis], scale: rateRange / 32768, within: valid)) }
        }
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
        for _ in 0...256 { append() }
    }

    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes) }
}

/// A low-pass of the ICM-42688-P: the tables of DS-000347 r1.8, 5.5, and the anti-alias filter of 5.3 before it.
/// Unsourced: that of the ICM-42605, here the same.
struct VirtualICM42688Filter {
    /// Hz, and the group delay of slow signals in seconds.
    let bandwidth: Double
    let delay: Double

    /// `code` is UI_FILT_BW, `order` UI_FILT_ORD, `antiAlias` the bandwidth of the second-order anti-alias filter, Hz.
    init(rate: Double, code: UInt8, order: UInt8, antiAlias: Double) {
        let column = Int(min(7, code))
        let row = rate >= 1000 ? 0 : rate >= 500 ? 1 : 2
        // Above 1 kHz they follow the rate (14.40).
        let speed = max(1, rate / 1000)
        // Code 0 follows the rate below 200 Hz, the others do not.
        let isHalfRate = column == 0 && row == 2
        let stretch = isHalfRate ? 200 / max(rate, 25) : 1
        bandwidth = speed * Self.bandwidths[row][column] / stretch
        let second = (isHalfRate ? Self.halfRateDelays(rate) : Self.delays[row][column]) / speed
        // The tables of the other orders are not modelled: delays of Butterworth filters.
        let perHertz = 1 / (2 * .pi * sin(.pi / (2 * (Double(order) + 1))))
        let own = order == 1 ? second * 1e-3 : perHertz / bandwidth
        delay = own + 2.0.squareRoot() / (2 * .pi * antiAlias)
    }

    /// The rate of a code in GYRO_ODR and ACCEL_ODR, Hz.
    static func rate(_ code: UInt8) -> Double {
        switch code {
        case 4: 4000
        case 5: 2000
        case 7: 200
        case 8: 100
        case 9: 50
        case 10: 25
        case 11: 12.5
        case 15: 500
        default: 1000
        }
    }

    /// -3 dB bandwidths of the second order, Hz: at 1000, 500 and 200 Hz, for the codes 0 to 7.
    private static let bandwidths = [
        [493.3, 230.7, 191.6, 117.5, 97.1, 59.6, 48.0, 21.3], [246.7, 115.3, 95.8, 58.8, 48.5, 29.8, 24.0, 10.6],
        [98.7, 92.3, 76.6, 47.0, 38.8, 23.8, 19.2, 8.5],
    ]

    /// Their group delays, ms.
    private static let delays = [
        [0.7, 2.1, 2.4, 3.2, 3.7, 5.2, 6.1, 12.0], [1.3, 4.1, 4.7, 6.4, 7.3, 10.4, 12.2, 24.0],
        [3.3, 5.1, 5.8, 8.0, 9.1, 12.9, 15.3, 30.0],
    ]

    /// The group delay of code 0, ms.
    private static func halfRateDelays(_ rate: Double) -> Double {
        switch rate {
        case 200...: 3.3
        case 100...: 6.5
        case 50...: 12.9
        default: 25.7
        }
    }
}

/// The anti-alias filter of an ICM-42688-P or ICM-42605, as its registers set it.
enum VirtualICM42688AntiAlias {
    /// DS-000347 r1.8, 5.3.
    case icm42688p
    /// DS-000292 v1.7, 5.3, as INAV's `aafLUT42605` has it. Unsourced: the first two rows, here a quarter of the
    /// ICM-42688-P's.
    case icm42605

    private var rows: [(delt: UInt8, square: UInt16, shift: UInt8, bandwidth: Double)] {
        switch self {
        case .icm42688p: [(13, 170, 8, 585), (24, 576, 6, 1163), (21, 440, 6, 997), (37, 1376, 4, 1962)]
        case .icm42605:
            [(13, 170, 8, 146), (24, 576, 6, 291), (21, 440, 6, 249), (39, 1536, 4, 524), (63, 3968, 3, 995)]
        }
    }

    /// -3 dB bandwidth, Hz, for DELT, the low byte of DELTSQR, and BITSHIFT with the high bits of DELTSQR. Values that are
    /// not of one row of the table are punished by 10 Hz.
    func bandwidth(delt: UInt8, low: UInt8, high: UInt8) -> Double {
        let square = UInt16(high & 0x0F) << 8 | UInt16(low)
        return rows.first { $0.delt == delt & 0x3F && $0.square == square && $0.shift == high >> 4 }?.bandwidth ?? 10
    }
}
