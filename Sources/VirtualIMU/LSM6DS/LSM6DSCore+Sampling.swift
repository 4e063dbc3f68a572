internal import MotionCore

extension LSM6DSCore {
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
        let frames = mode == 0 ? 1 : fifo.capacity / (kind.isTagged ? 7 : 6) + 2
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
            model.take(nextIndex, at: nextTime.seconds(since: start), temperature: temperature, along: trajectory)
            storeOutputs(temperature: temperature + temperatureError)
        }
        registers[Int(LSM6DSAddress.status)] |= 0x07
        // INT1_DRDY_G, pulsed, which an LSM6DS3 cannot be; H_LACTIVE and PP_OD clear.
        if kind.pulsesDataReady, registers[Int(LSM6DSAddress.interrupt1)] & 0x02 != 0,
            registers[Int(LSM6DSAddress.dataReadyPulse)] & 0x80 != 0,
            registers[Int(LSM6DSAddress.control3)] & 0x30 == 0, registers[Int(LSM6DSAddress.gyroscope)] >> 4 != 0
        {
            wire?.raise(at: nextTime)
        }
        guard mode != 0 else { return }
        writeFrame(until: nil)
        frame.removeAll(keepingCapacity: true)
        appendToFrame(tag: 0x01, LSM6DSAddress.gyroscopeOutput, isIncluded: includesGyroscope)
        appendToFrame(tag: 0x02, LSM6DSAddress.accelerometerOutput, isIncluded: includesAccelerometer)
        slot = (slot + 1) & 0x03
        frameBytesWritten = 0
        frameTime = nextTime
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
    private var isFIFOClocked: Bool { registers[Int(LSM6DSAddress.untaggedMode)] & 0x78 != 0 }

    /// Appends a sensor's six bytes, behind a tag where the FIFO has them: the number of the sensor, that of the time slot,
    /// and a bit that makes the ones even.
    private mutating func appendToFrame(tag: UInt8, _ first: UInt8, isIncluded: Bool) {
        guard isIncluded else { return }
        if kind.isTagged {
            let byte = tag << 3 | slot << 1
            frame.append(byte | UInt8(byte.nonzeroBitCount & 1))
        }
        for register in first..<first + 6 { frame.append(registers[Int(register)]) }
    }

    /// Writes as many words of the newest frame into the FIFO as are there at `instant`; all of them for `nil`.
    private mutating func writeFrame(until instant: Timestamp?) {
        guard frameBytesWritten < frame.count, mode != 0 else { return }
        var end = frame.count
        if let instant, imperfections.fifoWriteTime > 0 {
            let part = instant.seconds(since: frameTime) / imperfections.fifoWriteTime
            let words = frame.count / kind.wordLength
            end = part < 1 ? Int(part * Double(words)) * kind.wordLength : frame.count
        }
        while frameBytesWritten < end {
            appendToFIFO(frame[frameBytesWritten])
            frameBytesWritten += 1
        }
    }

    /// Puts the newest sample into the output registers, as 16 bits within the range.
    private mutating func storeOutputs(temperature: Double) {
        let ranges: [Double] = [61, 488, 122, 244]
        let force = registers[Int(LSM6DSAddress.accelerometer)]
        let rotation = registers[Int(LSM6DSAddress.gyroscope)]
        let forceScale = 1 / (ranges[Int(force >> 2 & 0x03)] * 1e-6 * standardGravity)
        // FS_125 in bit 1 overrides the others.
        let millidegrees = rotation & 0x02 != 0 ? 4.375 : 8.75 * Double(1 << Int(rotation >> 2 & 0x03))
        let rateScale = degreesPerRadian / (millidegrees * 1e-3)
        let rate = model.rotationRate + model.startUpError(after: nextTime.seconds(since: gyroscopeStart))
        // The first samples of a sensor that starts say "none" (Linux, "invalid sample during bootstrap phase").
        let isStarting = nextIndex < firstGyroscopeIndex + 2
        for axis in 0..<3 {
            if force >> 4 != 0 {
                store(model.specificForce[axis] * forceScale, LSM6DSAddress.accelerometerOutput + 2 * UInt8(axis))
            }
            if rotation >> 4 != 0 {
                store(isStarting ? 32767 : rate[axis] * rateScale, LSM6DSAddress.gyroscopeOutput + 2 * UInt8(axis))
            }
        }
        store(kind.temperatureCounts(temperature), LSM6DSAddress.temperatureOutput)
    }

    /// Stores a value as a 16-bit number, low byte first, saturated.
    private mutating func store(_ value: Double, _ register: UInt8) {
        let limited = value.isFinite ? max(-32768, min(32767, value.rounded())) : 0
        let bits = UInt16(bitPattern: Int16(limited))
        registers[Int(register)] = UInt8(bits & 0xFF)
        registers[Int(register) + 1] = UInt8(bits >> 8)
    }
}
