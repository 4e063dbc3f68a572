package import MotionCore

/// The content of one frame of a kernel driver's device, along the sensor's axes.
package struct IIOReading: Equatable, Sendable, BitwiseCopyable {
    /// When it was measured; `nil` if the frame has no timestamp.
    package var time: Timestamp?
    /// m/s²; zero if the device has no accelerometer.
    package var acceleration = Vector3.zero
    /// rad/s; zero if the device has no gyroscope.
    package var rotationRate = Vector3.zero
    /// µT, along the magnetometer's axes; `nil` if the frame has no field, or it was too strong.
    package var field: Vector3?
    /// °C; NaN if the frame has no temperature.
    package var temperature = Double.nan
    /// Which axes were clipped, and whether there is a rotation rate.
    package var flags: MotionSample.Flags = []

    /// Creates an empty reading.
    package init() {}
}

/// One axis of a frame: `(raw + bias) · scale` is in SI units, or in m°C for a temperature.
struct IIOAxis: Sendable, BitwiseCopyable {
    var offset: Int
    var type: IIOScanType
    var scale: Double
    var bias: Double
    /// Raw values at or beyond these limits count as clipped.
    var high: Int64
    var low: Int64

    init(offset: Int, type: IIOScanType, scale: Double, bias: Double) {
        self.offset = offset
        self.type = type
        self.scale = scale
        self.bias = bias
        // The chip's filters and factory trim end the range slightly before the last number.
        let margin = type.maximum / (type.isSigned ? 1024 : 2048)
        high = type.maximum - margin
        low = type.minimum + max(1, margin)
    }

    /// Full scale, in the axis's unit.
    var range: Double {
        let top = abs(Double(type.maximum) + 1 + bias)
        return abs(scale) * max(top, abs(Double(type.minimum) + bias))
    }

    @inline(__always)
    func value(_ raw: Int64) -> Double { (Double(raw) + bias) * scale }

    @inline(__always)
    func isClipped(_ raw: Int64) -> Bool { raw >= high || raw <= low }
}

/// The three axes of a quantity.
struct IIOAxes: Sendable, BitwiseCopyable {
    var x: IIOAxis
    var y: IIOAxis
    var z: IIOAxis

    /// The smallest full scale of the three axes, in the quantity's unit.
    var range: Double { min(x.range, y.range, z.range) }

    /// The values of a frame, and a mask of the clipped axes: bit 0 is x.
    @inline(__always)
    func values(at frame: UnsafeRawPointer) -> (values: Vector3, clipped: UInt16) {
        let a = x.type.value(at: frame + x.offset)
        let b = y.type.value(at: frame + y.offset)
        let c = z.type.value(at: frame + z.offset)
        var clipped: UInt16 = 0
        if x.isClipped(a) { clipped |= 1 }
        if y.isClipped(b) { clipped |= 2 }
        if z.isClipped(c) { clipped |= 4 }
        return (Vector3(x.value(a), y.value(b), z.value(c)), clipped)
    }
}

/// The position of every element in a frame.
struct IIOFrame: Sendable, BitwiseCopyable {
    var length: Int
    var acceleration: IIOAxes?
    var rotationRate: IIOAxes?
    var field: IIOAxes?
    var temperature: IIOAxis?
    var time: IIOAxis?

    /// Decodes a frame. `clockOffset` is added to its timestamp, ns.
    @inline(__always)
    func reading(at frame: UnsafeRawPointer, clockOffset: Int64) -> IIOReading {
        var reading = IIOReading()
        if let acceleration {
            let (values, clipped) = acceleration.values(at: frame)
            reading.acceleration = values
            reading.flags = MotionSample.Flags(rawValue: reading.flags.rawValue | clipped << 2)
        }
        if let rotationRate {
            let (values, clipped) = rotationRate.values(at: frame)
            reading.rotationRate = values
            reading.flags = MotionSample.Flags(
                rawValue: reading.flags.rawValue | clipped << 5 | MotionSample.Flags.rotationRate.rawValue)
        }
        if let field {
            let (values, clipped) = field.values(at: frame)
            if clipped == 0 { reading.field = IIOQuantity.magneticField.unit * values }
        }
        if let temperature {
            reading.temperature = temperature.value(temperature.type.value(at: frame + temperature.offset)) / 1000
        }
        if let time {
            reading.time = Timestamp(nanoseconds: time.type.value(at: frame + time.offset) &+ clockOffset)
        }
        return reading
    }
}
