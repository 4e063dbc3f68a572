internal import Glibc
package import IMUDrivers
internal import LinuxSystem
internal import MotionCore

/// A sensor without a buffer, read value by value from sysfs: a device, or two if the gyroscope is one of its own. Every value
/// is measured at a different time, so this is only suitable for slow movement.
///
/// Another program with other ranges would change the scale under this one, so the reader claims the devices.
///
/// To be used by one thread. Reading does not allocate.
package final class IIORawReader {
    /// The highest rate of reading, Hz: each value may be a transaction on a slow bus.
    package static let fastest = 50.0

    // Empty if the quantity is not measured.
    private var acceleration: [IIOValue]
    private var rotationRate: [IIOValue]
    private let setUps: [IIOSetUp]

    private init(_ values: [IIOQuantity: [IIOValue]], _ setUps: [IIOSetUp]) {
        acceleration = values[.acceleration] ?? []
        rotationRate = values[.rotationRate] ?? []
        self.setUps = setUps
    }

    /// Configures devices and opens their value files.
    ///
    /// - Throws: `IIOError`, with the holder if another program uses a device; the settings are then restored.
    package static func open(
        _ device: IIODevice, with gyroscope: IIODevice? = nil, _ settings: IMUSettings,
        in places: SystemPlaces = SystemPlaces()
    ) throws(IIOError) -> IIORawReader {
        var setUps: [IIOSetUp] = []
        var values: [IIOQuantity: [IIOValue]] = [:]
        for device in [device] + (gyroscope.map { [$0] } ?? []) {
            let setUp = try IIOSetUp.claim(device, in: places, needsFile: false)
            setUps.append(setUp)
            _ = try setUp.configure(settings)
            for quantity in device.quantities { values[quantity] = try IIOValue.axes(of: quantity, device) }
        }
        return IIORawReader(values, setUps)
    }

    /// Takes a measurement. The caller sets its timestamp.
    ///
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
    package func read() throws(BusError) -> IIOReading {
        var reading = IIOReading()
        if !acceleration.isEmpty { reading.acceleration = try IIORawReader.vector(acceleration) }
        if !rotationRate.isEmpty {
            reading.rotationRate = try IIORawReader.vector(rotationRate)
            reading.flags = .rotationRate
        }
        return reading
    }

    private static func vector(_ axes: [IIOValue]) throws(BusError) -> Vector3 {
        let x = try axes[0].read()
        let y = try axes[1].read()
        let z = try axes[2].read()
        return Vector3(x, y, z)
    }

    /// Closes the value files and restores the changed settings.
    ///
    /// - Throws: the kernel's error for the first setting that could not be restored.
    package func stop() throws(BusError) {
        acceleration = []
        rotationRate = []
        var failure: BusError?
        for setUp in setUps.reversed() {
            do { try setUp.end() } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
    }
}

/// A channel's value in an attribute that stays open: `(raw + bias) · scale`.
package final class IIOValue {
    private let file: Int32
    private let scale: Double
    private let bias: Double

    /// Opens the attribute.
    ///
    /// - Throws: `cannotRead`.
    init(_ channel: String, of device: IIODevice, scale: Double, bias: Double) throws(IIOError) {
        let attribute = "\(channel)_raw"
        let file = open("\(device.path)/\(attribute)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw IIOError(.cannotRead(attribute: attribute), device: device.title, SystemFailure(code: errno))
        }
        self.file = file
        self.scale = scale
        self.bias = bias
    }

    deinit { close(file) }

    /// Opens the three axes of a quantity, in SI units or µT. It changes nothing, so it does not claim the device.
    ///
    /// - Throws: `cannotRead` if a value cannot be opened, or if a field has no scale.
    package static func axes(of quantity: IIOQuantity, _ device: IIODevice) throws(IIOError) -> [IIOValue] {
        var axes: [IIOValue] = []
        for channel in quantity.channels {
            let (scale, bias) = device.conversion(of: channel, sharing: quantity.rawValue)
            guard scale != nil || quantity != .magneticField else {
                throw IIOError(.cannotRead(attribute: "\(quantity.rawValue)_scale"), device: device.title)
            }
            axes.append(try IIOValue(channel, of: device, scale: quantity.unit * (scale ?? 1), bias: bias))
        }
        return axes
    }

    /// Reads the attribute (`pread`). Each read from the beginning makes the kernel query the driver, which takes as
    /// long as that needs. It does not allocate.
    ///
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
    package func read() throws(BusError) -> Double {
        // 20 digits, a sign and a newline.
        var text: (UInt64, UInt64, UInt64) = (0, 0, 0)
        var code: Int32 = 0
        let number: Int64? = withUnsafeMutableBytes(of: &text) { text in
            var count: Int
            repeat { count = pread(file, text.baseAddress, text.count, 0) } while count < 0 && errno == EINTR
            if count < 0 { code = errno }
            return count > 0 ? IIOValue.parse(UnsafeRawBufferPointer(rebasing: text.prefix(count))) : nil
        }
        if code != 0 { throw .opening(SystemFailure(code: code)) }
        guard let number else { throw BusError(.inputOutput, code: EIO) }
        return (Double(number) + bias) * scale
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
    private let value: IIOValue

    /// Opens the attribute; `nil` if the device has no temperature.
    package init?(_ device: IIODevice) {
        let (scale, bias) = device.conversion(of: "in_temp", sharing: "in_temp")
        do {
            value = try IIOValue("in_temp", of: device, scale: scale ?? 1, bias: bias)
        } catch {
            return nil
        }
    }

    /// The temperature, °C; NaN if the driver cannot read it now. Many drivers cannot while their buffer is on.
    package func celsius() -> Double {
        do {
            return try value.read() / 1000
        } catch {
            return .nan
        }
    }
}
