internal import MotionCore

extension VirtualMPURegisters {
    /// The frames that fit into the FIFO, or only the output registers.
    var retainedSamples: Int { isFIFOEnabled && !frameRegisters.isEmpty ? fifo.capacity / frameRegisters.count + 2 : 1 }

    /// Active high, push-pull and pulsed; with any other setting the host sees no edge (RM p. 26).
    var raisesPin: Bool {
        registers[Int(Register.interruptEnable)] & Bit.dataReady != 0
            && registers[Int(Register.interruptPin)] & 0xE0 == 0
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading {
            storeOutputs(reading, isForceNew: isAccelerometerDue(sample.index, engine))
        }
        registers[Int(Register.interruptStatus)] |= Bit.dataReady
        guard isFIFOEnabled, !frameRegisters.isEmpty else { return }
        writeFrame(until: nil, engine)
        frame.begin(at: sample.time)
        for register in frameRegisters { frame.append(registers[Int(register)]) }
    }

    mutating func completePendingChanges(_ engine: inout SensorEngine) { writeFrame(until: engine.now, engine) }

    /// Writes the part of the newest frame that is due at `instant` into the FIFO; all of it for `nil`.
    private mutating func writeFrame(until instant: Timestamp?, _ engine: SensorEngine) {
        guard isFIFOEnabled else { return }
        for index in frame.takeDue(at: instant, taking: engine.imperfections.fifoWriteTime) {
            appendToFIFO(frame.bytes[index])
        }
    }

    /// Stores a reading in the output registers as 16-bit values within the range.
    private mutating func storeOutputs(_ reading: SensorEngine.Reading, isForceNew: Bool) {
        let standby = registers[Int(Register.powerManagement2)]
        let forceRange = registers[Int(Register.accelerometerConfiguration)] >> 3 & 0x03
        let forceScale = Double(16384 >> Int(forceRange)) / standardGravity
        let rateScale = Self.gyroscopeSensitivity(registers[Int(Register.gyroscopeConfiguration)] >> 3 & 0x03)
        // An axis in standby keeps its last value. The bits of PWR_MGMT_2 from 5 down: x, y, z, x, y, z.
        for axis in 0..<3 {
            if isForceNew, standby & (0x20 >> UInt8(axis)) == 0 {
                let force = reading.force[axis] + (axis == 1 ? yError : 0)
                store(force * forceScale, Register.accelerometerOutput + 2 * UInt8(axis))
            }
            if standby & (0x04 >> UInt8(axis)) == 0 {
                store(reading.rate[axis] * rateScale, Register.gyroscopeOutput + 2 * UInt8(axis))
            }
        }
        if registers[Int(Register.powerManagement1)] & Bit.temperatureDisable == 0 {
            store(variant.temperatureCounts(reading.temperature), Register.temperatureOutput)
        }
    }

    /// The error of an ICM-20602's y axis, m/s²: of the undocumented register, unless it is 0xC9 (ArduPilot), and of a change
    /// of YA_OFFS_H, whose count is taken as 2⁷ times 0.98 mg.
    private var yError: Double {
        guard let factory = variant.factoryYOffset else { return 0 }
        let change = Double(registers[Int(Register.yOffset)]) - Double(factory)
        return (registers[Int(Register.undocumented)] == 0xC9 ? 0 : 2.7) + change * 128 * 0.00098 * standardGravity
    }

    /// Whether the accelerometer has a new value for a sample: it has one per millisecond, even if the gyroscope
    /// delivers 8000 a second (RM p. 11).
    private func isAccelerometerDue(_ index: UInt64, _ engine: SensorEngine) -> Bool {
        let divisor = UInt64(registers[Int(Register.sampleRateDivider)]) + 1
        guard engine.setup.lowPass.baseRate > 1000, divisor < 8 else { return true }
        let ticks = (index - engine.clock.firstIndex) * divisor
        return ticks == 0 || (ticks + divisor) / 8 != ticks / 8
    }

    /// LSB per rad/s for FS_SEL (PS p. 12).
    private static func gyroscopeSensitivity(_ range: UInt8) -> Double {
        switch range {
        case 0: 131 * degreesPerRadian
        case 1: 65.5 * degreesPerRadian
        case 2: 32.8 * degreesPerRadian
        default: 16.4 * degreesPerRadian
        }
    }

    /// Stores a value as a saturated 16-bit number, high byte first.
    private mutating func store(_ value: Double, _ register: UInt8) {
        let bits = UInt16(bitPattern: counts(value, scale: 1, within: -32768...32767))
        registers[Int(register)] = UInt8(bits >> 8)
        registers[Int(register) + 1] = UInt8(bits & 0xFF)
    }
}
