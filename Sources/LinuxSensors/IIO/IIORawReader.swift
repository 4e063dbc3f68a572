internal import Glibc
package import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// A device without a buffer, read value by value from sysfs. Every value is measured at a different time, so this is
/// only suitable for slow movement.
///
/// Another program with other ranges would change the scale under this one, so the reader claims the device.
///
/// To be used by one thread. Reading does not allocate.
package final class IIORawReader {
    /// The device that is read.
    package let device: IIODevice

    /// The highest rate of reading, Hz: each value may be a transaction on a slow bus.
    package static let fastest = 50.0

    private struct Value {
        var file: Int32
        var scale: Double
        var bias: Double
    }

    private var values: [Value]
    private var changes: IIOChanges
    private let lock: IIOLock

    private init(_ device: IIODevice, _ values: [Value], _ changes: IIOChanges, _ lock: IIOLock) {
        self.lock = lock
        self.device = device
        self.values = values
        self.changes = changes
    }

    deinit {
        for value in values { close(value.file) }
        changes.undo()
        lock.end()
    }

    /// Configures a device and opens its value files.
    ///
    /// - Throws: `IIOError`, with the holder if another program uses the device; its settings are then restored.
    package static func open(
        _ device: IIODevice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()
    ) throws(IIOError) -> IIORawReader {
        let lock = try IIOLock.make(device, in: places, needsFile: false)
        var setUp = IIOSetUp(device, in: places)
        var values: [Value] = []
        do {
            _ = try setUp.configure(settings)
            for quantity in device.quantities {
                for letter in ["x", "y", "z"] {
                    values.append(try open("\(quantity.rawValue)_\(letter)_raw", of: device, quantity, letter))
                }
            }
        } catch {
            for value in values { close(value.file) }
            setUp.changes.undo()
            lock.end()
            throw error
        }
        return IIORawReader(device, values, setUp.changes, lock)
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

    /// Takes a measurement. The caller sets its timestamp.
    ///
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
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

    /// Closes the value files and restores the changed settings.
    ///
    /// - Throws: the kernel's error for the first setting that could not be restored.
    package func stop() throws(BusError) {
        for value in values { close(value.file) }
        values = []
        let failure = changes.undo()
        lock.end()
        if let failure { throw .opening(failure) }
    }
}

/// Integers in attributes that are already open.
enum IIONumber {
    /// Reads an attribute (`pread`). Each read from the beginning makes the kernel query the driver.
    static func read(_ file: Int32) throws(BusError) -> Int64 {
        // 20 digits, a sign and a newline.
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

    /// Parses digits with an optional sign; `nil` if the text is not an integer.
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

/// A device's temperature, for devices that do not put it into their frames.
package final class IIOThermometer {
    private let file: Int32
    private let scale: Double
    private let bias: Double

    /// Opens the attribute; `nil` if the device has no temperature.
    package init?(_ device: IIODevice) {
        file = open("\(device.path)/in_temp_raw", O_RDONLY | O_CLOEXEC)
        scale = device.number("in_temp_scale") ?? 1
        bias = device.number("in_temp_offset") ?? 0
        if file < 0 { return nil }
    }

    deinit { if file >= 0 { close(file) } }

    /// The temperature, °C; NaN if the driver cannot read it now. Many drivers cannot while their buffer is on.
    package func celsius() -> Double {
        do {
            let raw = try IIONumber.read(file)
            return (Double(raw) + bias) * scale / 1000
        } catch {
            return .nan
        }
    }
}
