internal import MotionCore

/// The registers and the FIFOs of an LSM9DS1's accelerometer and gyroscope (datasheet, DocID025715 Rev 2).
///
/// The magnetometer is a device of its own. Not modelled: the interrupt pins, the second low-pass and the high-passes, low-power and sleep mode,
/// decimation, the accelerometer's high-resolution filter, self-test, temperatures in the FIFO, big-endian values.
struct VirtualLSM9DS1Registers: VirtualRegisters {
    /// Duration of a reset, seconds. The datasheet does not give it.
    private static let resetTime = 0.005

    var registers = RegisterFile(count: 128, defaults: [0x0F: 0x68, 0x1E: 0x38, 0x1F: 0x38, 0x22: 0x04])
    /// Each sensor has 32 slots (3.5).
    private var rotations = FrameFIFO(capacity: 192, frameLength: 6)
    private var forces = FrameFIFO(capacity: 192, frameLength: 6)
    private var lastRotation = [UInt8](repeating: 0, count: 6)
    private var lastForce = [UInt8](repeating: 0, count: 6)
    private var isOverrun = false
    /// The next samples when the sensors were started.
    private var rotationStart: UInt64 = 0
    private var forceStart: UInt64 = 0

    var identityRegister: UInt8 { 0x0F }
    var retainedSamples: Int { 34 }

    mutating func begin(_ engine: inout SensorEngine) {
        clearFIFO()
        configure(&engine)
        engine.resetFilters()
    }

    private mutating func clearFIFO() {
        rotations.removeAll()
        forces.removeAll()
        isOverrun = false
    }

    // MARK: Bus

    /// With IF_ADD_INC the address is incremented. A burst goes from the gyroscope's output on to the accelerometer's, and
    /// from there back to the gyroscope's, or to the accelerometer's if that runs alone (3.3).
    func address(after address: UInt8) -> UInt8 {
        guard registers[0x22] & 0x04 != 0 else { return address }
        switch address {
        case 0x1D: return 0x28
        case 0x2D: return rotates ? 0x18 : 0x28
        default: return (address + 1) & 0x7F
        }
    }

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 {
        switch address {
        case 0x18: rotations.moveFirst(to: &registers, 0x18)
        case 0x28: forces.moveFirst(to: &registers, 0x28)
        case 0x22: return registers[0x22] | (registers.isResetting(at: now) ? 0x01 : 0)
        case 0x2F: return (isOverrun && forces.count == 192 ? 0x40 : 0) | UInt8(forces.count / 6)
        default: break
        }
        if forces.count < 192 { isOverrun = false }
        return registers[Int(address)]
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        switch register {
        case 0x04...0x0D, 0x10...0x13, 0x1E...0x24, 0x2E, 0x30...0x37:
            let before = registers[Int(register)]
            registers[Int(register)] = value
            applySideEffects(of: register, before: before, &engine)
        default: break
        }
    }

    mutating func applySideEffects(of register: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        let value = registers[Int(register)]
        switch register {
        case 0x10:
            if before >> 5 == 0, value >> 5 != 0 {
                engine.gyroscopeStart = engine.now
                rotationStart = engine.nextIndex
                if registers[0x20] >> 5 == 0 { forceStart = engine.nextIndex }
            }
            configure(&engine)
        case 0x20:
            if before >> 5 == 0, value >> 5 != 0, !rotates { forceStart = engine.nextIndex }
            configure(&engine)
        case 0x22 where value & 0x01 != 0:
            reset(for: Self.resetTime, &engine)
        case 0x23, 0x2E:
            if !fills { clearFIFO() }
        default: break
        }
    }

    // MARK: Sampling

    /// Whether the gyroscope runs; the accelerometer then does at the same rate (3.1).
    private var rotates: Bool { registers[0x10] >> 5 != 0 }

    /// Whether the FIFO is enabled and not in bypass mode.
    private var fills: Bool { registers[0x23] & 0x02 != 0 && registers[0x2E] >> 5 != 0 }

    func configure(_ engine: inout SensorEngine) {
        let code = Int((rotates ? registers[0x10] : registers[0x20]) >> 5)
        guard (1...6).contains(code) else { return engine.run(nil) }
        // Tables 46 and 68.
        let rates: [Double] = rotates ? [14.9, 59.5, 119, 238, 476, 952] : [10, 50, 119, 238, 476, 952]
        let rate = rates[code - 1]
        // Table 67: chosen, or by the rate.
        let chosen: [Double] = [408, 211, 105, 50]
        let usual: [Double] = [408, 408, 50, 105, 211, 408]
        let force = registers[0x20] & 0x04 != 0 ? chosen[Int(registers[0x20] & 0x03)] : usual[code - 1]
        let rotations: [Double] = [5, 19, 38, 76, 100, 100]
        // Unsourced: the delay, here that of a second-order low-pass.
        let lowPass = LowPassSetting(force, rotations[code - 1], baseRate: rate)
        engine.run(SensorModel.Setup(lowPass: lowPass, period: 1 / rate))
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading, sample.index) }
        guard fills else {
            registers.store(lastRotation, at: 0x18)
            registers.store(lastForce, at: 0x28)
            return
        }
        // Mode 1 stops when the FIFO is full; the others are not used here.
        if forces.count == 192 {
            if registers[0x2E] >> 5 == 1 { return }
            isOverrun = true
        }
        rotations.append(lastRotation)
        forces.append(lastForce)
    }

    /// Converts a reading to values of both sensors. Their x axis points the other way than that of a right-handed system
    /// with the same y and z (figure 1).
    private mutating func convert(_ reading: SensorEngine.Reading, _ index: UInt64) {
        let code = Int(max(1, min(6, (rotates ? registers[0x10] : registers[0x20]) >> 5)))
        let forceRange = Int(registers[0x20] >> 3 & 0x03)
        let micrograms: [Double] = [61, 732, 122, 244]
        let forceScale = micrograms[forceRange] * 1e-6 * standardGravity
        let forceEnd = forceRange == 1 ? 16e6 / 732 : 32767
        // Code 2 is not available.
        let millidegrees: [Double] = [8.75, 17.5, 70, 70]
        let rateScale = millidegrees[Int(registers[0x10] >> 3 & 0x03)] * 1e-3 * radiansPerDegree
        // Samples to discard (tables 11 and 12): half of their value shows that they were not.
        let forceSamples: [UInt64] = [0, 0, 2, 2, 2, 2]
        let rateSamples: [UInt64] = [2, 3, 3, 4, 5, 8]
        let forceIsSettled = index >= forceStart + forceSamples[code - 1]
        let rateIsSettled = index >= rotationStart + rateSamples[code - 1]
        var force: [UInt8] = []
        var rotation: [UInt8] = []
        for axis in 0..<3 {
            let sign: Double = axis == 0 ? -1 : 1
            let f = sign * reading.force[axis] * (forceIsSettled ? 1 : 0.5)
            let r = sign * reading.rate[axis] * (rateIsSettled ? 1 : 0.5)
            force.appendLittleEndian(counts(f, scale: forceScale, within: -forceEnd...forceEnd))
            rotation.appendLittleEndian(rotates ? counts(r, scale: rateScale, within: wholeRange) : 0)
        }
        lastForce = force
        lastRotation = rotation
        registers.storeLittleEndian(counts(reading.temperature - 25, scale: 1.0 / 16), at: 0x15)
    }

    // MARK: Faults

    mutating func overflow() {
        guard fills else { return }
        for _ in 0...32 {
            rotations.append(lastRotation)
            forces.append(lastForce)
        }
        isOverrun = true
    }

    /// Entries are removed only as a whole. Every read begins with one, so a slip of less has no effect.
    mutating func dropOldest(_ bytes: Int) {
        let entries = bytes / 12
        rotations.drop(6 * entries)
        forces.drop(6 * entries)
    }
}

extension FrameFIFO {
    /// Moves the oldest entry into the registers from `register` on, if there is one.
    mutating func moveFirst(to registers: inout RegisterFile, _ register: Int) {
        guard count >= frameLength else { return }
        for index in 0..<frameLength { registers[register + index] = removeFirst() ?? 0 }
    }
}
