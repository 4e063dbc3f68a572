internal import MotionCore

/// One sample as it lies in the FIFO: accelerometer, temperature and gyroscope in the order of their registers, each value
/// two bytes with the high one first (RM p. 16, 29…31).
struct MPU6050Frame: Equatable, BitwiseCopyable {
    var acceleration: (Int16, Int16, Int16)
    var temperature: Int16
    var rotation: (Int16, Int16, Int16)

    /// Bytes of a frame.
    static var length: Int { 14 }

    /// Counts from either end of the scale at which an axis counts as clipped.
    static var clippingMargin: Int16 { 8 }

    /// Takes the frame that begins at `offset`.
    init(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        func value(_ index: Int) -> Int16 {
            Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 2 * index, as: Int16.self))
        }
        acceleration = (value(0), value(1), value(2))
        temperature = value(3)
        rotation = (value(4), value(5), value(6))
    }

    static func == (a: MPU6050Frame, b: MPU6050Frame) -> Bool {
        a.temperature == b.temperature && a.acceleration == b.acceleration && a.rotation == b.rotation
    }

    /// Whether all bytes are the same: an empty FIFO repeats its last byte, a chip in reset sends zeros, and a bus without
    /// an answer reads as ones (RM p. 44).
    var isOneByteRepeated: Bool {
        let word = UInt16(bitPattern: temperature)
        return word >> 8 == word & 0xFF && acceleration == (temperature, temperature, temperature)
            && rotation == (temperature, temperature, temperature)
    }

    /// Whether the temperature can be one of the chip and follow one of `last` counts a moment ago, where that is known.
    ///
    /// A FIFO that slipped by some bytes has something else here. ArduPilot uses the same limit of 800 counts, 2.4 °C.
    func isPlausible(after last: Int16?) -> Bool {
        Self.isPlausible(temperature: temperature) && abs(Int32(temperature) - Int32(last ?? temperature)) <= 800
    }

    /// Whether a temperature is within -45…90 °C, the operating range (PS 6.3) and some tolerance.
    static func isPlausible(temperature: Int16) -> Bool {
        (-45...90).contains(celsius(temperature))
    }

    /// Degrees Celsius of a raw temperature (RM p. 30).
    static func celsius(_ raw: Int16) -> Double { Double(raw) / 340 + 36.53 }

    /// The frame in SI units.
    func sample(at timestamp: Timestamp, _ configuration: MPU6050Configuration) -> MotionSample {
        let a = configuration.accelerometerScale
        let g = configuration.gyroscopeScale
        return MotionSample(
            timestamp: timestamp,
            acceleration: Vector3(
                Double(acceleration.0) * a, Double(acceleration.1) * a, Double(acceleration.2) * a),
            rotationRate: Vector3(Double(rotation.0) * g, Double(rotation.1) * g, Double(rotation.2) * g),
            temperature: Self.celsius(temperature), flags: flags)
    }

    private var flags: MotionSample.Flags {
        func clipped(_ value: Int16) -> Bool {
            value >= .max - Self.clippingMargin || value <= .min + Self.clippingMargin
        }
        var flags = MotionSample.Flags.rotationRate
        if clipped(acceleration.0) { flags.insert(.accelerationClipped(axis: 0)) }
        if clipped(acceleration.1) { flags.insert(.accelerationClipped(axis: 1)) }
        if clipped(acceleration.2) { flags.insert(.accelerationClipped(axis: 2)) }
        if clipped(rotation.0) { flags.insert(.rotationRateClipped(axis: 0)) }
        if clipped(rotation.1) { flags.insert(.rotationRateClipped(axis: 1)) }
        if clipped(rotation.2) { flags.insert(.rotationRateClipped(axis: 2)) }
        return flags
    }
}
