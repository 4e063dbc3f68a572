internal import MotionCore

extension ChipCore {
    /// Lets time pass until `instant`: takes the samples that are due.
    ///
    /// What a sample holds depends on its index, not on when the chip is looked at. After a long time of which nothing
    /// can be seen any more, only so many samples are taken as fill the FIFO and settle the filters.
    mutating func advance(to instant: Timestamp) {
        guard instant > now else { return }
        if nextTime <= instant {
            skipUnseenSamples(until: instant)
            while nextTime <= instant {
                takeSample()
                nextIndex += 1
                nextTime = clock.time(of: nextIndex)
            }
        }
        now = instant
        writeFrame(until: instant)
    }

    /// Goes to the first sample that matters at `instant`, if that is not the next.
    private mutating func skipUnseenSamples(until instant: Timestamp) {
        let frames = isFIFOEnabled && !frameRegisters.isEmpty ? fifo.capacity / frameRegisters.count + 2 : 1
        let seen = UInt64(frames + model.memory)
        guard let period = clock.period, instant.seconds(since: nextTime) > Double(seen) * period,
            let last = clock.lastIndex(at: instant), last >= nextIndex + seen
        else { return }
        nextIndex = last + 1 - seen
        nextTime = clock.time(of: nextIndex)
        model.reset()
    }

    /// Takes the sample that is due next.
    private mutating func takeSample() {
        guard !isStalled else { return model.reset() }
        if isFrozen {
            // The filters know nothing of what happens meanwhile.
            model.reset()
        } else {
            let temperature = clock.temperature(at: nextTime)
            model.take(
                nextIndex, at: nextTime.seconds(since: start), temperature: temperature, along: trajectory)
            storeOutputs(temperature: temperature + temperatureError)
        }
        registers[Int(Register.interruptStatus)] |= Bit.dataReady
        // Active high, push-pull and pulsed, with any other setting the host sees no edge (RM p. 26).
        if registers[Int(Register.interruptEnable)] & Bit.dataReady != 0,
            registers[Int(Register.interruptPin)] & 0xE0 == 0
        {
            wire?.raise(at: nextTime)
        }
        if isFIFOEnabled, !frameRegisters.isEmpty {
            writeFrame(until: nil)
            frame.removeAll(keepingCapacity: true)
            for register in frameRegisters { frame.append(registers[Int(register)]) }
            frameBytesWritten = 0
            frameTime = nextTime
        }
    }

    /// Writes as much of the newest frame into the FIFO as is there at `instant`; all of it for `nil`.
    private mutating func writeFrame(until instant: Timestamp?) {
        guard frameBytesWritten < frame.count, isFIFOEnabled else { return }
        var end = frame.count
        if let instant, imperfections.fifoWriteTime > 0 {
            let part = instant.seconds(since: frameTime) / imperfections.fifoWriteTime
            end = part < 1 ? Int(part * Double(frame.count)) : frame.count
        }
        while frameBytesWritten < end {
            appendToFIFO(frame[frameBytesWritten])
            frameBytesWritten += 1
        }
    }

    /// Puts the newest sample into the output registers, as 16 bits within the range.
    private mutating func storeOutputs(temperature: Double) {
        let standby = registers[Int(Register.powerManagement2)]
        let forceRange = registers[Int(Register.accelerometerConfiguration)] >> 3 & 0x03
        let forceScale = Double(16384 >> Int(forceRange)) / standardGravity
        let rateScale = Self.gyroscopeSensitivity(registers[Int(Register.gyroscopeConfiguration)] >> 3 & 0x03)
        let rate = model.rotationRate + model.startUpError(after: nextTime.seconds(since: gyroscopeStart))
        let isForceNew = isAccelerometerDue
        // An axis in standby keeps its last value. The bits of PWR_MGMT_2 from 5 down: x, y, z, x, y, z.
        for axis in 0..<3 {
            if isForceNew, standby & (0x20 >> UInt8(axis)) == 0 {
                store(model.specificForce[axis] * forceScale, Register.accelerometerOutput + 2 * UInt8(axis))
            }
            if standby & (0x04 >> UInt8(axis)) == 0 {
                store(rate[axis] * rateScale, Register.gyroscopeOutput + 2 * UInt8(axis))
            }
        }
        if registers[Int(Register.powerManagement1)] & Bit.temperatureDisable == 0 {
            store(variant.temperatureCounts(temperature), Register.temperatureOutput)
        }
    }

    /// Whether the accelerometer has a new value for the next sample: it has one every millisecond only, also where
    /// the gyroscope gives 8000 a second (RM p. 11).
    private var isAccelerometerDue: Bool {
        let divisor = UInt64(registers[Int(Register.sampleRateDivider)]) + 1
        guard setup.lowPass.baseRate > 1000, divisor < 8 else { return true }
        let ticks = (nextIndex - clock.firstIndex) * divisor
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

    /// Stores a value as a 16-bit number, high byte first, saturated.
    private mutating func store(_ value: Double, _ register: UInt8) {
        let limited = value.isFinite ? max(-32768, min(32767, value.rounded())) : 0
        let bits = UInt16(bitPattern: Int16(limited))
        registers[Int(register)] = UInt8(bits >> 8)
        registers[Int(register) + 1] = UInt8(bits & 0xFF)
    }
}
