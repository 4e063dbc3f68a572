internal import MotionCore

/// A BMI160's registers and FIFO (BST-BMI160-DS000): commands take time, and frames have no headers.
struct VirtualBMI160Registers: VirtualRegisters {
    /// The reset values of section 2.11.
    var registers = RegisterFile(
        count: 128,
        defaults: [
            0x00: 0xD1, 0x21: 0x80, 0x40: 0x28, 0x41: 0x03, 0x42: 0x28, 0x45: 0x88, 0x46: 0x80, 0x47: 0x10,
        ])
    private var fifo = FrameFIFO(capacity: 1024, frameLength: 12)
    private var lastFrame = [UInt8](repeating: 0, count: 12)
    private var lastTemperature: Int16 = 0
    /// When accelerometer and gyroscope will enter normal mode.
    private var accelerometerReady: Timestamp?
    private var gyroscopeReady: Timestamp?

    var identityRegister: UInt8 { 0x00 }
    var retainedSamples: Int { fifo.capacity / fifo.frameLength + 2 }

    mutating func begin(_ engine: inout SensorEngine) {
        fifo.removeAll()
        accelerometerReady = nil
        gyroscopeReady = nil
        configure(&engine)
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        registers.storeLittleEndian(Int16(fifo.count), at: 0x22)
        var address = Int(register)
        for index in buffer.indices {
            if address == 0x24 {
                // Reading beyond the last frame returns 0x8000 repeatedly.
                buffer[index] = fifo.removeFirst() ?? (index % 2 == 0 ? 0x00 : 0x80)
            } else {
                buffer[index] = registers[address]
                address = (address + 1) & 0x7F
            }
        }
    }

    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine) {
        switch register {
        case 0x7E: command(value, &engine)
        case 0x40...0x47, 0x50...0x56:
            registers[Int(register)] = value
            configure(&engine)
        default: break
        }
    }

    private mutating func command(_ value: UInt8, _ engine: inout SensorEngine) {
        switch value {
        case 0xB6: return reset(for: 0.001, &engine)
        case 0xB0: fifo.removeAll()
        case 0x10: setPower(0x00, bits: 0x30)
        case 0x11: accelerometerReady = engine.now.advanced(bySeconds: 0.0038)
        case 0x14: setPower(0x00, bits: 0x0C)
        case 0x15:
            gyroscopeReady = engine.now.advanced(bySeconds: 0.055)
            engine.gyroscopeStart = engine.now
        default: registers[0x02] |= 0x40
        }
        configure(&engine)
    }

    private mutating func setPower(_ value: UInt8, bits: UInt8) {
        registers[0x03] = registers[0x03] & ~bits | value & bits
    }

    mutating func completePendingChanges(_ engine: inout SensorEngine) {
        if let ready = accelerometerReady, ready <= engine.now {
            accelerometerReady = nil
            setPower(0x10, bits: 0x30)
            configure(&engine)
        }
        if let ready = gyroscopeReady, ready <= engine.now {
            gyroscopeReady = nil
            setPower(0x04, bits: 0x0C)
            configure(&engine)
        }
    }

    /// Sets the engine to the gyroscope's rate, or to the accelerometer's if it runs alone.
    func configure(_ engine: inout SensorEngine) {
        let gyroscopeRuns = registers[0x03] & 0x0C == 0x04
        let runs = gyroscopeRuns || registers[0x03] & 0x30 == 0x10
        let code = Int(registers[gyroscopeRuns ? 0x42 : 0x40] & 0x0F)
        // 100 Hz at code 8; the -3 dB points of sections 2.4.1 and 2.4.2 as hanyazou/BMI160-Arduino has them, at 400 Hz
        // and more without the accelerometer's narrower z axis. Unsourced: the delay, here that of a second-order
        // low-pass.
        let rate = 100 * (code >= 8 ? Double(1 << (code - 8)) : 1 / Double(1 << (8 - code)))
        let bandwidths: (Double, Double) =
            switch code {
            case ...6: (10.12, 10.7)
            case 7: (20.25, 20.8)
            case 8: (40.5, 39.9)
            case 9: (80, 74.6)
            case 10: (162, 136.6)
            case 11: (324, 254.6)
            default: (684, 523.9)
            }
        let lowPass = LowPassSetting(bandwidths.0, bandwidths.1)
        engine.run(runs ? SensorModel.Setup(lowPass: lowPass, period: 1 / rate) : nil)
    }

    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine) {
        if let reading = sample.reading { convert(reading) }
        registers.store(lastFrame, at: 0x0C)
        registers.storeLittleEndian(lastTemperature, at: 0x20)
        // The drivers of this package do not use other FIFO contents.
        if registers[0x47] & 0xF0 == 0xC0 { fifo.append(lastFrame) }
    }

    /// Converts a reading to a frame and a temperature.
    private mutating func convert(_ reading: SensorEngine.Reading) {
        var frame: [UInt8] = []
        let forceRange: Double =
            switch registers[0x41] & 0x0F {
            case 0x5: 4
            case 0x8: 8
            case 0xC: 16
            default: 2
            }
        let rateScale = radiansPerDegree / (16.4 * Double(1 << Int(min(4, registers[0x43] & 0x07))))
        let hasRate = registers[0x03] & 0x0C == 0x04
        let hasForce = registers[0x03] & 0x30 == 0x10
        for axis in 0..<3 {
            frame.appendLittleEndian(hasRate ? counts(reading.rate[axis], scale: rateScale) : .min)
        }
        for axis in 0..<3 {
            let force = counts(reading.force[axis], scale: forceRange * standardGravity / 32768)
            frame.appendLittleEndian(hasForce ? force : .min)
        }
        lastFrame = frame
        lastTemperature = counts(reading.temperature - 23, scale: 1.0 / 512)
    }

    /// int_drdy_en, mapped to INT1, which drives its pin push-pull and active high, not latched.
    var raisesPin: Bool {
        registers[0x51] & 0x10 != 0 && registers[0x53] & 0x0F == 0x0A && registers[0x54] & 0x0F == 0
            && registers[0x56] & 0x80 != 0
    }

    mutating func overflow() {
        for _ in 0...fifo.capacity / fifo.frameLength { fifo.append(lastFrame) }
    }

    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes) }
}
