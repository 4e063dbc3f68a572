internal import Glibc
package import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// A device that has no buffer, read value by value out of sysfs: each is a measurement of its own, so that this serves
/// for slow movement only.
///
/// One thread uses it. Reading allocates nothing.
package final class IIORawReader {
    /// The device that is read.
    package let device: IIODevice

    /// The fastest that it is read, Hz: each value may be a transaction on a slow bus.
    package static let fastest = 50.0

    private struct Value {
        var file: Int32
        var scale: Double
        var bias: Double
    }

    private var values: [Value]
    private var changes: IIOChanges

    private init(_ device: IIODevice, _ values: [Value], _ changes: IIOChanges) {
        self.device = device
        self.values = values
        self.changes = changes
    }

    deinit {
        for value in values { close(value.file) }
        changes.undo()
    }

    /// Configures a device and opens its values.
    ///
    /// - Throws: `IIOError`; the device is then as it was.
    package static func open(
        _ device: IIODevice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()
    ) throws(IIOError) -> IIORawReader {
        var setUp = IIOSetUp(device, in: places)
        var values: [Value] = []
        do throws(IIOError) {
            _ = try setUp.configure(settings)
            for quantity in device.quantities {
                for letter in ["x", "y", "z"] {
                    values.append(try open("\(quantity.rawValue)_\(letter)_raw", of: device, quantity, letter))
                }
            }
        } catch {
            for value in values { close(value.file) }
            setUp.changes.undo()
            throw error
        }
        return IIORawReader(device, values, setUp.changes)
    }

    private static func open(
        _ attribute: String, of device: IIODevice, _ quantity: IIOQuantity, _ letter: String
    ) throws(IIOError) -> Value {
        let file = Glibc.open("\(device.path)/\(attribute)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw IIOError(.cannotRead(attribute: attribute), device: device.title, SystemFailure(code: errno))
        }
        return Value(
            file: file, scale: device.number(of: quantity, axis: letter, "scale") ?? 1,
            bias: device.number(of: quantity, axis: letter, "offset") ?? 0)
    }

    /// Takes a measurement, whose time is for the caller to tell.
    ///
    /// - Throws: `absent` where the driver was unbound or the chip unplugged, or what the kernel answered.
    package func read() throws(BusError) -> IIOReading {
        var reading = IIOReading()
        var first = 0
        if device.quantities.contains(.acceleration) {
            reading.acceleration = try vector(from: first)
            first += 3
        }
        if device.quantities.contains(.rotationRate) {
            reading.rotationRate = try vector(from: first)
            reading.flags = .rotationRate
        }
        return reading
    }

    private func vector(from first: Int) throws(BusError) -> Vector3 {
        let x = try value(first)
        let y = try value(first + 1)
        let z = try value(first + 2)
        return Vector3(x, y, z)
    }

    private func value(_ index: Int) throws(BusError) -> Double {
        let value = values[index]
        let raw = try IIONumber.read(value.file)
        return (Double(raw) + value.bias) * value.scale
    }

    /// Closes the values and puts back what was changed.
    ///
    /// - Throws: what the kernel answered to the first change that could not be put back.
    package func stop() throws(BusError) {
        for value in values { close(value.file) }
        values = []
        if let failure = changes.undo() { throw .opening(failure) }
    }
}

/// A whole number out of an attribute that is open already.
enum IIONumber {
    /// Reads it anew (`pread`): the kernel asks the driver at each read from the beginning.
    static func read(_ file: Int32) throws(BusError) -> Int64 {
        // 20 digits, a sign and the line's end.
        var text: (UInt64, UInt64, UInt64) = (0, 0, 0)
        var code: Int32 = 0
        let number: Int64? = withUnsafeMutableBytes(of: &text) { text in
            var count: Int
            repeat { count = pread(file, text.baseAddress, text.count, 0) } while count < 0 && errno == EINTR
            if count < 0 { code = errno }
            return count > 0 ? parse(UnsafeRawBufferPointer(rebasing: text.prefix(count))) : nil
        }
        if code != 0 { throw .opening(SystemFailure(code: code)) }
        guard let number else { throw BusError(.inputOutput, code: EIO) }
        return number
    }

    /// The number in some digits, of which the first may be a sign; `nil` where it is none.
    private static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        var magnitude: Int64 = 0
        var digits = 0
        var isNegative = false
        for (position, byte) in text.enumerated() {
            switch byte {
            case UInt8(ascii: "-") where position == 0: isNegative = true
            case UInt8(ascii: "0")...UInt8(ascii: "9") where digits < 18:
                magnitude = magnitude * 10 + Int64(byte - UInt8(ascii: "0"))
                digits += 1
            case UInt8(ascii: "\n"): return digits > 0 ? (isNegative ? -magnitude : magnitude) : nil
            default: return nil
            }
        }
        return digits > 0 ? (isNegative ? -magnitude : magnitude) : nil
    }
}

/// A device's temperature, where it is not in its frames.
package final class IIOThermometer {
    private let file: Int32
    private let scale: Double
    private let bias: Double

    /// Opens it; `nil` where the device has none.
    package init?(_ device: IIODevice) {
        file = open("\(device.path)/in_temp_raw", O_RDONLY | O_CLOEXEC)
        scale = device.number("in_temp_scale") ?? 1
        bias = device.number("in_temp_offset") ?? 0
        if file < 0 { return nil }
    }

    deinit { if file >= 0 { close(file) } }

    /// °C; not-a-number where the driver cannot say at the moment: many cannot while their buffer is on.
    package func celsius() -> Double {
        do throws(BusError) {
            let raw = try IIONumber.read(file)
            return (Double(raw) + bias) * scale / 1000
        } catch {
            return .nan
        }
    }
}
