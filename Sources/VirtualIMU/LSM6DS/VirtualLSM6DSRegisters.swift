internal import MotionCore

/// The registers and the FIFO of an LSM6DS3, LSM6DS3TR-C or LSM6DSO, according to ST's register descriptions.
///
/// Not modelled: different rates of the two sensors, decimation, the embedded functions, self-test, and the temperature
/// in the FIFO.
struct VirtualLSM6DSRegisters: ByteFIFORegisters {
    /// Duration of a reset, seconds.
    private static let resetTime = 50e-6

    private let kind: VirtualLSM6DSModel

    var registers: RegisterFile
    var fifo: ByteFIFO

    /// FIFO flags: words were overwritten since data was last read, and since the status was last read.
    private var isOverrun = false
    private var isOverrunLatched = false

    /// TAG_CNT of the next frame.
    private var slot: UInt8 = 0

    var frame = FrameWriter()

    /// The first samples since the gyroscope has turned on, and since the accelerometer was started; `nil` until then.
    private var firstGyroscopeIndex: UInt64?
    private var firstAccelerometerIndex: UInt64 = 0

    init(_ kind: VirtualLSM6DSModel) {
        self.kind = kind
        registers = RegisterFile(count: 128, defaults: kind.defaults)
        fifo = ByteFIFO(capacity: kind.words * kind.wordLength)
    }

    var identityRegister: UInt8 { 0x0F }

    /// Both sensors are off.
    mutating func begin(_ engine: inout SensorEngine) {
        clearFIFO()
        configure(&engine)
        engine.resetFilters()
    }

    private mutating func clearFIFO() {
        fifo.removeAll()
        isOverrun = false
        slot = 0
        frame.discardRest()
    }

    /// Sets clock and filters according to the registers.
    ///
    /// Both sensors run at the faster one's rate: different rates are not modelled.
    mutating func configure(_ engine: inout SensorEngine) {
        // CTRL1_XL and CTRL2_G; LPF1_SEL_G of CTRL4_C.
        let code = max(registers[0x10], registers[0x11]) >> 4
        let hasGyroscope = registers[0x11] >> 4 != 0
        guard (1...(hasGyroscope ? 8 : 9)).contains(code) else { return engine.run(nil) }
        let period = 1 / VirtualLSM6DSModel.rates[Int(code) - 1]
        let isFiltered = registers[0x13] & 0x02 != 0
        engine.run(
            SensorModel.Setup(
                lowPass: hasGyroscope
                    ? kind.lowPass(code: code, filtersGyroscope: isFiltered)
                    : LowPassSetting(kind.accelerometerBandwidth(code), kind.accelerometerBandwidth(code)),
                period: period))
    }
}

extension VirtualLSM6DSRegisters {
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        guard isWritable(register) else { return }
        let before = registers[Int(register)]
        registers[Int(register)] = value & kind.writableBits(register)
        applySideEffects(of: register, before: before, &engine)
    }

    /// With IF_INC the address is incremented, and wraps around within the FIFO's data; without IF_INC it stays the
    /// same.
    func address(after address: UInt8) -> UInt8 {
        guard registers[0x12] & 0x04 != 0 else { return address }
        if kind.isTagged { return address == 0x7E ? 0x78 : (address + 1) & 0x7F }
        return address == 0x3F ? 0x3E : (address + 1) & 0x7F
    }

    /// All but WHO_AM_I, the status and output registers, and the tagged FIFO's data.
    private func isWritable(_ address: UInt8) -> Bool {
        address != 0x0F && !(0x1A...0x3F).contains(address) && address < 0x78
    }

    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        let value = registers[Int(address)]
        switch address {
        case 0x12 where value & 0x01 != 0:  // CTRL3_C: SW_RESET
            reset(for: Self.resetTime, &engine)
        case 0x11:  // CTRL2_G
            if before >> 4 == 0, value >> 4 != 0 {
                engine.gyroscopeStart = engine.now
                firstGyroscopeIndex = nil
            }
            configure(&engine)
        case 0x10:  // CTRL1_XL
            if before >> 4 == 0, value >> 4 != 0 { firstAccelerometerIndex = engine.nextIndex }
            configure(&engine)
        case 0x13:  // CTRL4_C
            configure(&engine)
        case 0x0A:  // FIFO_CTRL5, or FIFO_CTRL4 with tags
            if mode == 0 { clearFIFO() }
        default:
            break
        }
    }

    /// The FIFO's mode, in the same register of both kinds: 0 off, 1 stops when full, 6 keeps the newest.
    private var mode: UInt8 { registers[0x0A] & 0x07 }

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        let words = fifo.count / kind.wordLength
        let isFull = words == kind.words
        switch address {
        case 0x12:
            return registers[Int(address)] | (registers.isResetting(at: now) ? 0x01 : 0)
        case 0x3A:  // FIFO_STATUS1
            return UInt8(words & 0xFF)
        case 0x3B where kind.isTagged:  // FIFO_STATUS2
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (isOverrunLatched ? 0x08 : 0)
            isOverrunLatched = false
            return flags | UInt8(words >> 8 & 0x03)
        case 0x3B:
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (words == 0 ? 0x10 : 0)
            return flags | UInt8(words >> 8 & (kind == .lsm6ds3 ? 0x0F : 0x07))
        case 0x3C where !kind.isTagged:
            // The next word's position in the pattern.
            return UInt8(fifo.removed / 2 % (includesGyroscope && includesAccelerometer ? 6 : 3))
        case 0x3E...0x3F where !kind.isTagged, 0x78...0x7E where kind.isTagged:
            isOverrun = false
            return fifo.removeFirst()
        default:
            return registers[Int(address)]
        }
    }

    /// Appends a byte, and sets the overrun flags if it replaced the oldest one.
    mutating func push(_ byte: UInt8) {
        guard mode != 1 || fifo.count < fifo.capacity else { return }
        guard !fifo.append(byte) else { return }
        isOverrun = true
        isOverrunLatched = true
    }
}

extension VirtualLSM6DSRegisters {
    var fills: Bool { mode != 0 }
    var wordLength: Int { kind.wordLength }

    /// The frames of a single sensor that fit into the FIFO, or only the output registers.
    var retainedSamples: Int { mode == 0 ? 1 : fifo.capacity / (kind.isTagged ? 7 : 6) + 2 }

    /// INT1_DRDY_G or INT1_DRDY_XL, pulsed, which an LSM6DS3 does not support; H_LACTIVE and PP_OD clear. DRDY_MASK masks the
    /// gyroscope's until it has settled; here until it has turned on.
    var raisesPin: Bool {
        guard kind.pulsesDataReady, registers[0x0B] & 0x80 != 0, registers[0x12] & 0x30 == 0 else { return false }
        if registers[0x0D] & 0x02 != 0 { return registers[0x11] >> 4 != 0 && (!masks || firstGyroscopeIndex != nil) }
        return registers[0x0D] & 0x01 != 0 && registers[0x10] >> 4 != 0
    }

    /// DRDY_MASK.
    private var masks: Bool { registers[0x13] & 0x08 != 0 }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        let code = registers[0x11] >> 4
        let turnOn = kind.settling(code: code).turnOn
        if code != 0, firstGyroscopeIndex == nil, sample.time.seconds(since: engine.gyroscopeStart) >= turnOn {
            firstGyroscopeIndex = sample.index
        }
        if let reading = sample.reading { storeOutputs(reading, sample.index) }
        registers[0x1E] |= 0x07
        guard mode != 0 else { return }
        writeFrame(until: nil, engine)
        frame.begin(at: sample.time)
        appendToFrame(tag: 0x01, 0x22, isIncluded: includesGyroscope)
        appendToFrame(tag: 0x02, 0x28, isIncluded: includesAccelerometer)
        slot = (slot + 1) & 0x03
    }

    /// FIFO_CTRL3: the batch rates if there are tags, otherwise the decimation.
    private var includesGyroscope: Bool {
        guard registers[0x11] >> 4 != 0 else { return false }
        return kind.isTagged ? registers[0x09] >> 4 != 0 : registers[0x08] & 0x38 != 0 && isFIFOClocked
    }

    private var includesAccelerometer: Bool {
        guard registers[0x10] >> 4 != 0 else { return false }
        return kind.isTagged ? registers[0x09] & 0x0F != 0 : registers[0x08] & 0x07 != 0 && isFIFOClocked
    }

    /// Whether ODR_FIFO is not off.
    private var isFIFOClocked: Bool { registers[0x0A] & 0x78 != 0 }

    /// Appends a sensor's six bytes. If the FIFO has tags, they follow a tag: the number of the sensor, the number of
    /// the time slot, and an even parity bit.
    private mutating func appendToFrame(tag: UInt8, _ first: UInt8, isIncluded: Bool) {
        guard isIncluded else { return }
        if kind.isTagged {
            let byte = tag << 3 | slot << 1
            frame.append(byte | UInt8(byte.nonzeroBitCount & 1))
        }
        for register in first..<first + 6 { frame.append(registers[Int(register)]) }
    }

    /// Stores a reading in the output registers as 16-bit values within the range.
    private mutating func storeOutputs(_ reading: SensorEngine.Reading, _ index: UInt64) {
        let ranges = kind.microgravities
        let force = registers[0x10]
        let rotation = registers[0x11]
        let forceScale = 1 / (ranges[Int(force >> 2 & 0x03)] * 1e-6 * standardGravity)
        // FS_125 in bit 1 overrides the others.
        let millidegrees = rotation & 0x02 != 0 ? 4.375 : 8.75 * Double(1 << Int(rotation >> 2 & 0x03))
        let rateScale = degreesPerRadian / (millidegrees * 1e-3)
        let forceIsSettled =
            index >= firstAccelerometerIndex + UInt64(kind.accelerometerSettling(code: force >> 4))
        let settling = kind.settling(code: rotation >> 4)
        let samples = firstGyroscopeIndex.map { Int(index - $0) } ?? -1
        for axis in 0..<3 {
            if force >> 4 != 0 {
                let value = reading.force[axis] * forceScale
                store(forceIsSettled ? value : unsettled(value, isMarked: true), 0x28 + 2 * UInt8(axis))
            }
            if rotation >> 4 != 0 {
                let value = reading.rate[axis] * rateScale
                store(
                    samples >= settling.all ? value : unsettled(value, isMarked: samples < settling.marked),
                    0x22 + 2 * UInt8(axis))
            }
        }
        store(kind.temperatureCounts(reading.temperature), 0x20)
    }

    /// The value of a filter that has not settled. DRDY_MASK replaces it by a mark, but not while only the gyroscope's first
    /// low-pass has not settled (AN5040 4.3.1).
    private func unsettled(_ value: Double, isMarked: Bool) -> Double {
        masks && isMarked ? 0x7FFF : 0.5 * value
    }

    private mutating func store(_ value: Double, _ register: UInt8) {
        registers.storeLittleEndian(counts(value, within: wholeRange), at: Int(register))
    }
}

/// A member of ST's LSM6DS family.
enum VirtualLSM6DSModel: Sendable {
    /// FIFO of 8 KiB without tags.
    case lsm6ds3
    /// FIFO of 4 KiB without tags.
    case lsm6ds3trc
    /// FIFO of 512 words with tags.
    case lsm6dso
    /// The same with twice the ranges of the accelerometer.
    case lsm6dso32
    /// The FIFO of an LSM6DSO, with an identity and a low-pass of its own.
    case ism330dhcx

    /// The value of WHO_AM_I.
    var identity: UInt8 {
        switch self {
        case .lsm6ds3: 0x69
        case .lsm6ds3trc: 0x6A
        case .lsm6dso, .lsm6dso32: 0x6C
        case .ism330dhcx: 0x6B
        }
    }

    /// Whether FIFO words have a tag: seven bytes instead of two.
    var isTagged: Bool { words == 512 }

    /// µg per count for FS_XL 0 to 3.
    var microgravities: [Double] { self == .lsm6dso32 ? [122, 976, 244, 488] : [61, 488, 122, 244] }

    /// Whether data-ready can be a pulse.
    var pulsesDataReady: Bool { self != .lsm6ds3 }

    /// The writable bits of a register: ORIENT_CFG_G has six; the other chips have the pulse in bit 7.
    func writableBits(_ register: UInt8) -> UInt8 {
        self == .lsm6ds3 && register == 0x0B ? 0x3F : 0xFF
    }

    /// The bytes of a FIFO word, and the words of the FIFO.
    var wordLength: Int { isTagged ? 7 : 2 }
    var words: Int {
        switch self {
        case .lsm6ds3: 4096
        case .lsm6ds3trc: 2048
        case .lsm6dso, .lsm6dso32, .ism330dhcx: 512
        }
    }

    /// Registers whose value after a reset is not zero.
    var defaults: [UInt8: UInt8] {
        let isFirst = self == .lsm6ds3
        return [0x0F: identity, 0x12: 0x04, 0x18: isFirst ? 0x38 : 0xE0, 0x19: isFirst ? 0x38 : 0]
    }

    /// Converts °C to counts.
    func temperatureCounts(_ celsius: Double) -> Double { (celsius - 25) * (self == .lsm6ds3 ? 16 : 256) }

    /// The low-passes at the rate of a code from 1 to 8.
    ///
    /// Accelerometer: half the rate; the LSM6DS3's analogue filter goes from 50 to 400 Hz. Gyroscope: AN5130 Rev 1, table
    /// 11, with LPF1 off, and with FTYPE 0; its phase at 20 Hz gives the delay. Unsourced: the delays that the table
    /// leaves open, here a period plus 0.67 ms with LPF1 and a period without it, and everything about the LSM6DS3's
    /// low-pass; see the driver's `LSM6DSPart`.
    func lowPass(code: UInt8, filtersGyroscope: Bool) -> LowPassSetting {
        let index = Int(max(1, min(code, 8))) - 1
        let period = 1 / Self.rates[index]
        let accelerometer = accelerometerBandwidth(code)
        guard filtersGyroscope, self != .lsm6ds3 else {
            let bandwidth = [4.0, 8, 17, 33, 67, 137, 312, 988][index]
            let delay = phaseDelay(index, period) - 0.67e-3
            return LowPassSetting(accelerometer, bandwidth, delay, baseRate: 1 / period)
        }
        let bandwidths: [Double] =
            switch self {
            case .lsm6ds3, .lsm6ds3trc: [4, 8, 17, 33, 67, 138, 245, 315]
            // DocID032891 Rev 1, table 60.
            case .lsm6dso, .lsm6dso32: [4.2, 8.3, 16.6, 33, 67, 136.6, 239.2, 304.2]
            // DS13012 rev. 7, table 58.
            case .ism330dhcx: [4.3, 8.3, 16.7, 33, 67, 133, 222, 274]
            }
        return LowPassSetting(accelerometer, bandwidths[index], phaseDelay(index, period), baseRate: 1 / period)
    }

    /// The bandwidth of the accelerometer's low-pass at the rate of a code from 1 to 9, Hz.
    func accelerometerBandwidth(_ code: UInt8) -> Double {
        let index = Int(max(1, min(code, 9))) - 1
        return self == .lsm6ds3 ? [50, 50, 50, 50, 100, 200, 400, 400, 400][index] : 0.5 * Self.rates[index]
    }

    /// The delay of both low-passes, seconds: phases at 20 Hz, degrees.
    private func phaseDelay(_ index: Int, _ period: Double) -> Double {
        let phases: [Double?] = [nil, nil, 144, 75, 40, 23, 14, 10]
        return phases[index].map { $0 / 360 / 20 } ?? period + 0.67e-3
    }

    /// How the gyroscope settles at the rate of a code from 1 to 8: the turn-on time in seconds, then samples until the
    /// second low-pass has settled (AN5130 Rev 1, table 15), and until both have (table 16, FTYPE 0).
    func settling(code: UInt8) -> (turnOn: Double, marked: Int, all: Int) {
        let index = Int(max(1, min(code, 8))) - 1
        let marked = [2, 3, 3, 3, 3, 3, 3, 135][index]
        let all = [2, 3, 3, 4, 4, 5, 7, 135][index]
        return (0.07, marked, self == .lsm6ds3 ? marked : all)
    }

    /// The accelerometer's samples until it has settled (table 13).
    func accelerometerSettling(code: UInt8) -> Int { [0, 0, 1, 1, 1, 1, 1, 2][Int(max(1, min(code, 8))) - 1] }

    /// Sample rates by their code, from 1 on, Hz.
    static let rates = [12.5, 26, 52, 104, 208, 416, 833, 1660, 3330]
}
