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
        registers = RegisterFile(count: LSM6DSAddress.count, defaults: kind.defaults)
        fifo = ByteFIFO(capacity: kind.words * kind.wordLength)
    }

    var identityRegister: UInt8 { LSM6DSAddress.identity }

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
        let code = max(registers[Int(LSM6DSAddress.accelerometer)], registers[Int(LSM6DSAddress.gyroscope)]) >> 4
        guard (1...8).contains(code) else { return engine.run(nil) }
        let isFiltered = registers[Int(LSM6DSAddress.control4)] & 0x02 != 0
        engine.run(
            SensorModel.Setup(
                lowPass: kind.lowPass(code: code, filtersGyroscope: isFiltered),
                period: 1 / VirtualLSM6DSModel.rates[Int(code) - 1]))
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
        guard registers[Int(LSM6DSAddress.control3)] & 0x04 != 0 else { return address }
        if kind.isTagged { return address == 0x7E ? LSM6DSAddress.taggedData : (address + 1) & 0x7F }
        return address == 0x3F ? LSM6DSAddress.untaggedData : (address + 1) & 0x7F
    }

    private func isWritable(_ address: UInt8) -> Bool {
        address != LSM6DSAddress.identity
            && !(LSM6DSAddress.firstReadOnly...LSM6DSAddress.lastReadOnly).contains(address)
            && address < LSM6DSAddress.taggedData
    }

    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        let value = registers[Int(address)]
        switch address {
        case LSM6DSAddress.control3 where value & 0x01 != 0:
            reset(for: Self.resetTime, &engine)
        case LSM6DSAddress.gyroscope:
            if before >> 4 == 0, value >> 4 != 0 {
                engine.gyroscopeStart = engine.now
                firstGyroscopeIndex = nil
            }
            configure(&engine)
        case LSM6DSAddress.accelerometer:
            if before >> 4 == 0, value >> 4 != 0 { firstAccelerometerIndex = engine.nextIndex }
            configure(&engine)
        case LSM6DSAddress.control4:
            configure(&engine)
        case LSM6DSAddress.mode:
            if mode == 0 { clearFIFO() }
        default:
            break
        }
    }

    /// The FIFO's mode, in the same register of both kinds: 0 off, 1 stops when full, 6 keeps the newest.
    private var mode: UInt8 { registers[Int(LSM6DSAddress.mode)] & 0x07 }

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        let words = fifo.count / kind.wordLength
        let isFull = words == kind.words
        switch address {
        case LSM6DSAddress.control3:
            return registers[Int(address)] | (registers.isResetting(at: now) ? 0x01 : 0)
        case LSM6DSAddress.fifoStatus1:
            return UInt8(words & 0xFF)
        case LSM6DSAddress.fifoStatus2 where kind.isTagged:
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (isOverrunLatched ? 0x08 : 0)
            isOverrunLatched = false
            return flags | UInt8(words >> 8 & 0x03)
        case LSM6DSAddress.fifoStatus2:
            let flags: UInt8 = (isOverrun ? 0x40 : 0) | (isFull ? 0x20 : 0) | (words == 0 ? 0x10 : 0)
            return flags | UInt8(words >> 8 & (kind == .lsm6ds3 ? 0x0F : 0x07))
        case LSM6DSAddress.fifoStatus3 where !kind.isTagged:
            // The next word's position in the pattern.
            return UInt8(fifo.removed / 2 % 6)
        case LSM6DSAddress.untaggedData...LSM6DSAddress.lastReadOnly where !kind.isTagged,
            LSM6DSAddress.taggedData...0x7E where kind.isTagged:
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

    /// INT1_DRDY_G, pulsed, which an LSM6DS3 does not support; H_LACTIVE and PP_OD clear. DRDY_MASK masks it until the
    /// gyroscope has settled; here until it has turned on.
    var raisesPin: Bool {
        if masks, firstGyroscopeIndex == nil { return false }
        return kind.pulsesDataReady && registers[Int(LSM6DSAddress.interrupt1)] & 0x02 != 0
            && registers[Int(LSM6DSAddress.dataReadyPulse)] & 0x80 != 0
            && registers[Int(LSM6DSAddress.control3)] & 0x30 == 0
            && registers[Int(LSM6DSAddress.gyroscope)] >> 4 != 0
    }

    /// DRDY_MASK.
    private var masks: Bool { registers[Int(LSM6DSAddress.control4)] & 0x08 != 0 }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        let code = registers[Int(LSM6DSAddress.gyroscope)] >> 4
        let turnOn = kind.settling(code: code).turnOn
        if code != 0, firstGyroscopeIndex == nil, sample.time.seconds(since: engine.gyroscopeStart) >= turnOn {
            firstGyroscopeIndex = sample.index
        }
        if let reading = sample.reading { storeOutputs(reading, sample.index) }
        registers[Int(LSM6DSAddress.status)] |= 0x07
        guard mode != 0 else { return }
        writeFrame(until: nil, engine)
        frame.begin(at: sample.time)
        appendToFrame(tag: 0x01, LSM6DSAddress.gyroscopeOutput, isIncluded: includesGyroscope)
        appendToFrame(tag: 0x02, LSM6DSAddress.accelerometerOutput, isIncluded: includesAccelerometer)
        slot = (slot + 1) & 0x03
    }

    private var includesGyroscope: Bool {
        guard registers[Int(LSM6DSAddress.gyroscope)] >> 4 != 0 else { return false }
        return kind.isTagged
            ? registers[Int(LSM6DSAddress.batchRates)] >> 4 != 0
            : registers[Int(LSM6DSAddress.decimation)] & 0x38 != 0 && isFIFOClocked
    }

    private var includesAccelerometer: Bool {
        guard registers[Int(LSM6DSAddress.accelerometer)] >> 4 != 0 else { return false }
        return kind.isTagged
            ? registers[Int(LSM6DSAddress.batchRates)] & 0x0F != 0
            : registers[Int(LSM6DSAddress.decimation)] & 0x07 != 0 && isFIFOClocked
    }

    /// Whether ODR_FIFO is not off.
    private var isFIFOClocked: Bool { registers[Int(LSM6DSAddress.mode)] & 0x78 != 0 }

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
        let force = registers[Int(LSM6DSAddress.accelerometer)]
        let rotation = registers[Int(LSM6DSAddress.gyroscope)]
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
                store(
                    forceIsSettled ? value : unsettled(value, isMarked: true),
                    LSM6DSAddress.accelerometerOutput + 2 * UInt8(axis))
            }
            if rotation >> 4 != 0 {
                let value = reading.rate[axis] * rateScale
                store(
                    samples >= settling.all ? value : unsettled(value, isMarked: samples < settling.marked),
                    LSM6DSAddress.gyroscopeOutput + 2 * UInt8(axis))
            }
        }
        store(kind.temperatureCounts(reading.temperature), LSM6DSAddress.temperatureOutput)
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
        self == .lsm6ds3 && register == LSM6DSAddress.dataReadyPulse ? 0x3F : 0xFF
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
        return [
            LSM6DSAddress.identity: identity, LSM6DSAddress.control3: 0x04,
            LSM6DSAddress.control9: isFirst ? 0x38 : 0xE0, LSM6DSAddress.control10: isFirst ? 0x38 : 0,
        ]
    }

    /// Converts °C to counts.
    func temperatureCounts(_ celsius: Double) -> Double { (celsius - 25) * (self == .lsm6ds3 ? 16 : 256) }

    /// The low-passes at the rate of a code from 1 to 8.
    ///
    /// Accelerometer: half the rate; the LSM6DS3's analogue filter goes from 50 to 400 Hz. Gyroscope: AN5130 Rev 1, table
    /// 11, with LPF1 off, and with FTYPE 0; its phase at 20 Hz gives the delay. Unsourced: the delays that the table
    /// leaves open, here a period plus 0.67 ms with LPF1 and a period without it, and everything about the LSM6DS3's
    /// low-pass; see the driver's `LSM6DSConfiguration`.
    func lowPass(code: UInt8, filtersGyroscope: Bool) -> LowPassSetting {
        let index = Int(max(1, min(code, 8))) - 1
        let period = 1 / Self.rates[index]
        let accelerometer = self == .lsm6ds3 ? [50, 50, 50, 50, 100, 200, 400, 400][index] : 0.5 / period
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
    static let rates = [12.5, 26, 52, 104, 208, 416, 833, 1660]
}

/// The registers of the LSM6DS family with special behaviour; all others are plain storage.
enum LSM6DSAddress {
    // Untagged FIFO: decimation of both sensors. Tagged FIFO: batch rates of both sensors. Mode, also of the tagged one.
    static let decimation: UInt8 = 0x08
    static let batchRates: UInt8 = 0x09
    static let mode: UInt8 = 0x0A
    static let dataReadyPulse: UInt8 = 0x0B
    static let interrupt1: UInt8 = 0x0D
    static let identity: UInt8 = 0x0F
    static let accelerometer: UInt8 = 0x10
    static let gyroscope: UInt8 = 0x11
    static let control3: UInt8 = 0x12
    static let control4: UInt8 = 0x13
    static let control9: UInt8 = 0x18
    static let control10: UInt8 = 0x19
    static let firstReadOnly: UInt8 = 0x1A
    static let status: UInt8 = 0x1E
    static let temperatureOutput: UInt8 = 0x20
    static let gyroscopeOutput: UInt8 = 0x22
    static let accelerometerOutput: UInt8 = 0x28
    static let fifoStatus1: UInt8 = 0x3A
    static let fifoStatus2: UInt8 = 0x3B
    static let fifoStatus3: UInt8 = 0x3C
    static let untaggedData: UInt8 = 0x3E
    static let lastReadOnly: UInt8 = 0x3F
    static let taggedData: UInt8 = 0x78

    static let count = 128
}
