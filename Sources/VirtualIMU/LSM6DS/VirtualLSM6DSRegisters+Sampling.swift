internal import MotionCore

extension VirtualLSM6DSRegisters {
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

    mutating func completePendingChanges(_ engine: inout SensorEngine) { writeFrame(until: engine.now, engine) }

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
    private var isFIFOClocked: Bool { registers[Int(LSM6DSAddress.untaggedMode)] & 0x78 != 0 }

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

    /// Writes the words of the newest frame that are due at `instant` into the FIFO; all of them for `nil`.
    private mutating func writeFrame(until instant: Timestamp?, _ engine: SensorEngine) {
        guard mode != 0 else { return }
        let duration = engine.imperfections.fifoWriteTime
        for index in frame.takeDue(at: instant, taking: duration, word: kind.wordLength) {
            appendToFIFO(frame.bytes[index])
        }
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

    /// Stores a value as a saturated 16-bit number, low byte first.
    private mutating func store(_ value: Double, _ register: UInt8) {
        let bits = UInt16(bitPattern: counts(value, scale: 1, within: -32768...32767))
        registers[Int(register)] = UInt8(bits & 0xFF)
        registers[Int(register) + 1] = UInt8(bits >> 8)
    }
}
