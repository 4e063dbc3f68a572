internal import MotionCore

/// An ICM-20948's banks 0 and 2 and its FIFO, according to DS-000189 r1.3 as far as it was at hand (pages 12, 25, 37), and to
/// the headers of PX4 and ArduPilot.
///
/// What the datasheet does not say is modelled from other drivers and punished: a frame that is put into a FIFO with 32
/// frames or more is corrupt (ArduPilot Invensensev2). Unsourced: the delays of the low-passes, here those of the
/// MPU-9250 (RM-MPU-9250A-00 r1.6) in proportion to the base rates. Not modelled: the DMP, duty cycles,
/// different rates of the two sensors, the sensors without low-pass.
struct VirtualICM20948Registers: ByteFIFORegisters {
    /// Duration of a reset, seconds.
    private static let resetTime = 0.005

    var registers = RegisterFile(count: 128, defaults: [0x00: 0xEA, 0x05: 0x40, 0x06: 0x41])
    private var bank2 = RegisterFile(count: 128, defaults: [0x01: 0x01, 0x14: 0x01])
    var fifo = ByteFIFO(capacity: 512)
    var frame = FrameWriter()

    var identityRegister: UInt8 { 0x00 }
    var retainedSamples: Int { fifo.capacity / 12 + 2 }

    /// BYPASS_EN of INT_PIN_CFG, while I2C_MST_EN of USER_CTRL is clear.
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool {
        registers[0x0F] & 0x02 != 0 && registers[0x03] & 0x20 == 0 && !registers.isResetting(at: now)
    }

    mutating func begin(_ engine: inout SensorEngine) {
        bank2.powerUp()
        clearFIFO()
        configure(&engine)
        engine.resetFilters()
    }

    private mutating func clearFIFO() {
        fifo.removeAll()
        frame.discardRest()
    }

    private var bank: UInt8 { registers[0x7F] >> 4 & 0x03 }
    private var isFIFOEnabled: Bool { registers[0x03] & 0x40 != 0 }
    /// The FIFO is held in reset by any bit of FIFO_RST.
    private var isFIFOHeld: Bool { registers[0x68] & 0x1F != 0 }
    /// A FIFO that is held takes nothing, not even in the fault `.fifoOverflow`.
    var fills: Bool { isFIFOEnabled && !isFIFOHeld }

    // MARK: Bus

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        switch (bank, address) {
        case (_, 0x7F): registers[0x7F]
        case (0, 0x06): registers[0x06] | (registers.isResetting(at: now) ? 0x80 : 0)
        case (0, 0x70): UInt8(fifo.count >> 8)
        case (0, 0x71): UInt8(fifo.count & 0xFF)
        case (0, 0x72): isFIFOEnabled ? fifo.removeFirst() : fifo.lastRead
        case (0, _): registers[Int(address)]
        case (2, _): bank2[Int(address)]
        default: 0
        }
    }

    func address(after register: UInt8) -> UInt8 {
        bank == 0 && register == 0x72 ? register : (register + 1) & 0x7F
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        switch (bank, register) {
        case (_, 0x7F):
            registers[0x7F] = value & 0x30
        case (0, 0x06) where value & 0x80 != 0:
            reset(for: Self.resetTime, &engine)
        case (0, 0x00), (0, 0x17...0x52), (0, 0x70...0x74):
            return
        case (0, _):
            let wakes = register == 0x06 && registers[0x06] & 0x40 != 0 && value & 0x40 == 0
            if wakes { engine.gyroscopeStart = engine.now }
            registers[Int(register)] = value
            if register == 0x68, isFIFOHeld { clearFIFO() }
            configure(&engine)
        case (2, _):
            bank2[Int(register)] = register == 0x10 ? value & 0x0F : value
            configure(&engine)
        default:
            return
        }
    }

    // MARK: Configuration

    /// Runs at the gyroscope's rate while awake with both low-passes on.
    func configure(_ engine: inout SensorEngine) {
        let gyroscope = bank2[0x01]
        let accelerometer = bank2[0x14]
        let isAwake = registers[0x06] & 0x40 == 0 && registers[0x06] & 0x07 != 7
        let runs = isAwake && gyroscope & 1 != 0 && accelerometer & 1 != 0 && !registers.isResetting(at: engine.now)
        let code = Int(gyroscope >> 3 & 0x07)
        let lowPass = LowPassSetting(
            Self.accelerometerBandwidths[Int(accelerometer >> 3 & 0x07)], Self.gyroscopeBandwidths[code],
            Self.gyroscopeDelays[code] / 1125, baseRate: 1125)
        engine.run(
            runs ? SensorModel.Setup(lowPass: lowPass, period: (1 + Double(bank2[0x00])) / 1125) : nil,
            isAwake: isAwake)
    }

    /// -3 dB bandwidths by GYRO_DLPFCFG and ACCEL_DLPFCFG, Hz.
    private static let gyroscopeBandwidths = [196.6, 151.8, 119.5, 51.2, 23.9, 11.6, 5.7, 361.4]
    private static let accelerometerBandwidths = [246.0, 246, 111.4, 50.4, 23.9, 11.5, 5.7, 473]

    /// The gyroscope's delays by GYRO_DLPFCFG, samples at the base rate: the MPU-9250's for its widest filter at 1 kHz and for
    /// its first-order low-passes, which are the codes 3 to 6. The codes 1 and 2 add 0.26/0.74 and 0.42/0.58 samples of first-order
    /// low-passes to the widest; code 7 is half a sample faster.
    private static let gyroscopeDelays = [2.9, 3.25, 3.62, 5.9, 9.9, 17.85, 33.48, 2.4]

    // MARK: Sampling

    /// RAW_DATA_0_RDY_EN; active high, push-pull and pulsed.
    var raisesPin: Bool { registers[0x11] & 0x01 != 0 && registers[0x0F] & 0xE0 == 0 }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { store(reading) }
        let enabled = registers[0x67]
        guard fills, enabled & 0x1F != 0 else { return }
        writeFrame(until: nil, engine)
        let isCorrupt = fifo.count >= 32 * 14
        frame.begin(at: sample.time)
        // In the order of the registers: accelerometer, gyroscope by axis, temperature.
        if enabled & 0x10 != 0 { append(0x2D..<0x33, isCorrupt) }
        for axis in 0..<3 where enabled & 0x02 << UInt8(axis) != 0 {
            append(0x33 + 2 * axis..<0x35 + 2 * axis, isCorrupt)
        }
        if enabled & 0x01 != 0 { append(0x39..<0x3B, false) }
    }

    private mutating func append(_ addresses: Range<Int>, _ isCorrupt: Bool) {
        for address in addresses { frame.append(isCorrupt ? 0x11 : registers[address]) }
    }

    /// In snapshot mode, a full FIFO keeps what it has.
    mutating func push(_ byte: UInt8) {
        guard registers[0x69] & 0x01 == 0 || fifo.count < fifo.capacity else { return }
        _ = fifo.append(byte)
    }

    private mutating func store(_ reading: SensorEngine.Reading) {
        let standby = registers[0x07]
        let forceScale = Double(16384 >> Int(bank2[0x14] >> 1 & 0x03)) / standardGravity
        let rateScale = 131 / Double(1 << Int(bank2[0x01] >> 1 & 0x03)) * degreesPerRadian
        for axis in 0..<3 {
            if standby & 0x38 == 0 { put(reading.force[axis] * forceScale, 0x2D + 2 * axis) }
            if standby & 0x07 == 0 { put(reading.rate[axis] * rateScale, 0x33 + 2 * axis) }
        }
        if registers[0x06] & 0x08 == 0 { put((reading.temperature - 21) * 333.87, 0x39) }
    }

    private mutating func put(_ value: Double, _ address: Int) {
        registers.storeBigEndian(counts(value, within: wholeRange), at: address)
    }
}
