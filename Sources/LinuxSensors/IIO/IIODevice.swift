internal import Glibc
public import IMUDrivers
public import LinuxSystem
package import MotionCore

/// A quantity that can be used here.
package enum IIOQuantity: String, Sendable {
    /// Specific force, m/s².
    case acceleration = "in_accel"
    /// Angular rate, rad/s.
    case rotationRate = "in_anglvel"
    /// Magnetic flux density, gauss.
    case magneticField = "in_magn"

    /// The channels of its axes: `in_accel_x`.
    var channels: [String] { ["x", "y", "z"].map { "\(rawValue)_\($0)" } }

    /// The kernel's unit in the one that is used here: SI, and µT.
    var unit: Double { if case .magneticField = self { 100 } else { 1 } }
}

/// A device of the kernel's industrial I/O subsystem (IIO), as sysfs lists it. Creating a value opens nothing.
package struct IIODevice: Equatable, Sendable {
    /// Its name in /sys/bus/iio/devices: "iio:device0".
    package var identifier: String

    /// The number in that name, which may change with each boot.
    package var number: Int

    /// The part's name according to its driver, such as "mpu6050". A part that consists of two devices has two names,
    /// such as "lsm6dso_accel".
    package var name: String?

    /// Its label in the device tree: "accel-display".
    package var label: String?

    /// Its directory in sysfs, without symbolic links.
    package var path: String

    /// The quantities of motion that it measures.
    package var quantities: [IIOQuantity]

    /// Whether it is, or has, a magnetometer of three axes.
    package var measuresField: Bool

    /// The directory of the underlying hardware: the chip on its bus.
    package var parent: String { SystemFiles.directory(of: path) }

    /// The name of the hardware on its bus: "1-0068" is the chip at 0x68 on /dev/i2c-1.
    package var hardware: String { SystemFiles.lastComponent(of: parent) }

    /// The directory of the chip. Devices that share it are parts of one chip.
    ///
    /// It is the hardware's directory, except behind a sensor hub (hid-sensor-hub.c), where every sensor is separate
    /// hardware.
    package var chip: String {
        guard hardware.hasPrefix("HID-SENSOR-") else { return parent }
        return SystemFiles.directory(of: parent)
    }

    /// The directory of the chip that this one is connected through, if its bus is behind one as that of an MPU-9250
    /// (i2c-gate); otherwise `nil`.
    package var gate: String? {
        realPath("\(SystemFiles.directory(of: parent))/mux_device")
    }

    /// The kernel driver bound to the hardware; `nil` if unknown.
    package var driver: String? {
        realPath("\(parent)/driver").map(SystemFiles.lastComponent(of:))
    }

    /// The bus number and address if the hardware is a chip on an I2C bus.
    package var i2cPlace: (bus: Int, address: UInt8)? {
        let parts = hardware.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 4, let bus = Int(parts[0]), bus >= 0,
            let address = UInt8(parts[1], radix: 16)
        else { return nil }
        return (bus, address)
    }

    /// All devices in the order of their numbers; empty if the kernel has no IIO or no driver has created a device.
    package static func all(in places: SystemPlaces = SystemPlaces()) -> [IIODevice] {
        SystemFiles.numbers(in: "\(places.system)/bus/iio/devices", after: "iio:device")
            .compactMap { IIODevice(number: $0, in: places) }
    }

    /// Looks up a device by its number; `nil` if there is none.
    private init?(number: Int, in places: SystemPlaces) {
        let identifier = "iio:device\(number)"
        guard let path = realPath("\(places.system)/bus/iio/devices/\(identifier)") else { return nil }
        self.identifier = identifier
        self.number = number
        self.path = path
        name = SystemFiles.line(of: "\(path)/name")
        label = SystemFiles.line(of: "\(path)/label")
        let names = Set(DirectoryContents.names(ofOptional: path))
        func measures(_ quantity: IIOQuantity) -> Bool {
            quantity.channels.allSatisfy { names.contains("\($0)_raw") }
        }
        quantities = [.acceleration, .rotationRate].filter(measures)
        measuresField = measures(.magneticField)
    }

    /// The device's name for messages: "iio:device0 (mpu6050)".
    package var title: String { name.map { "\(identifier) (\($0))" } ?? identifier }

    /// Whether a user's `text` names this device: its identifier, name or label.
    package func isNamed(_ text: String) -> Bool {
        text == identifier || text == name || text == label
    }
}

/// The values that an attribute accepts, according to its `…_available`.
enum IIOAvailable: Equatable, Sendable {
    /// A list of values, as the kernel writes them.
    case values([String])
    /// `[minimum step maximum]`.
    case range(minimum: Double, step: Double, maximum: Double)

    init?(_ text: String) {
        let isRange = text.hasPrefix("[") && text.hasSuffix("]")
        let words = text.split { $0 == " " || $0 == "[" || $0 == "]" }.map(String.init)
        guard !words.isEmpty, words.allSatisfy({ Double($0) != nil }) else { return nil }
        if isRange {
            guard words.count == 3, let minimum = Double(words[0]), let step = Double(words[1]),
                let maximum = Double(words[2]), step > 0, maximum >= minimum
            else { return nil }
            self = .range(minimum: minimum, step: step, maximum: maximum)
        } else {
            self = .values(words)
        }
    }

    /// The smallest value that is at least `wanted`, less a relative `tolerance`; the largest value if none is.
    func text(atLeast wanted: Double, tolerance: Double) -> String {
        let enough = wanted * (1 - tolerance)
        switch self {
        case .values(let texts):
            let values = texts.map { (text: $0, value: Double($0) ?? 0) }
            let best = values.filter { $0.value >= enough }.min { $0.value < $1.value }
            return (best ?? values.max { $0.value < $1.value })?.text ?? "0"
        case .range(let minimum, let step, let maximum):
            let steps = max(0, ((enough - minimum) / step).rounded(.up))
            return IIOAvailable.text(min(maximum, minimum + steps * step))
        }
    }

    /// Formats a number for drivers. Many reject a decimal point in a whole number.
    static func text(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e9 ? "\(Int(value))" : "\(value)"
    }
}

extension IIODevice {
    /// The first line of an attribute; `nil` if it cannot be read.
    func text(_ attribute: String) -> String? { SystemFiles.line(of: "\(path)/\(attribute)", limit: 4096) }

    /// The number in an attribute; `nil` if it cannot be read or is not a number.
    func number(_ attribute: String) -> Double? { text(attribute).flatMap { Double($0) } }

    /// The first of these attributes that exists.
    func first(of attributes: [String]) -> String? { attributes.first { text($0) != nil } }

    /// What turns a channel's raw value into the kernel's unit: `(raw + bias) · scale`. Its attributes may be shared by all
    /// axes: `in_accel_x_scale`, `in_accel_scale`. The scale is `nil` if there is none.
    func conversion(of channel: String, sharing prefix: String) -> (scale: Double?, bias: Double) {
        func value(_ kind: String) -> Double? { number("\(channel)_\(kind)") ?? number("\(prefix)_\(kind)") }
        return (value("scale"), value("offset") ?? 0)
    }

    /// The attribute that sets a quantity's sample rate; `nil` if the driver has none.
    func rateAttribute(of quantity: IIOQuantity) -> String? {
        first(of: ["\(quantity.rawValue)_sampling_frequency", "sampling_frequency"])
    }

    /// The values that an attribute accepts; `nil` if the driver does not list them.
    func available(_ attribute: String) -> IIOAvailable? { text("\(attribute)_available").flatMap { IIOAvailable($0) } }

    /// The matrix that rotates a quantity's axes to the board's, from the device tree or the firmware
    /// (Documentation/ABI/testing/sysfs-bus-iio, `mount_matrix`); `nil` if there is none, or it is not a rotation.
    package func mountMatrix(of quantity: IIOQuantity) -> Matrix3? {
        guard let text = mountMatrixText(of: quantity) else { return nil }
        let rows = text.split(separator: ";").map { row in
            row.split { $0 == "," || $0 == " " }.compactMap { Double($0) }
        }
        guard rows.count == 3, rows.allSatisfy({ $0.count == 3 }) else { return nil }
        let vectors = rows.map { Vector3($0[0], $0[1], $0[2]) }
        let matrix = Matrix3(vectors[0], vectors[1], vectors[2])
        return matrix.orthonormalityError <= 1e-3 && matrix.determinant > 0 ? matrix : nil
    }

    /// The matrix as the kernel reports it, valid or not; `nil` if there is none.
    package func mountMatrixText(of quantity: IIOQuantity) -> String? {
        let names = ["\(quantity.rawValue)_mount_matrix", "in_mount_matrix", "mount_matrix"]
        return first(of: names).flatMap { text($0) }
    }
}

/// Why a kernel driver's device cannot be used, with advice for the user.
public struct IIOError: Error, Equatable, Sendable {
    /// The cause.
    package enum Reason: Equatable, Sendable {
        /// No device has this name, or none has an accelerometer; the devices that exist.
        case notFound(known: [String])
        /// The device file cannot be opened.
        case cannotOpen
        /// Another process uses the device.
        case inUse(by: ChipLock.Holder)
        /// An attribute cannot be set.
        case cannotWrite(attribute: String)
        /// A required attribute cannot be read.
        case cannotRead(attribute: String)
        /// An attribute did not keep the written value.
        case notKept(attribute: String, value: String, found: String)
        /// A channel has a storage format that is not supported.
        case unknownFormat(channel: String, String)
        /// The samples carry wall-clock timestamps, and the device accepts no other clock.
        case wallClock(String)
    }

    package var reason: Reason

    /// The device: "iio:device0 (mpu6050)", or the name that was asked for.
    public var device: String

    /// The failure of the system call; `nil` if none failed.
    public var failure: SystemFailure?

    /// Creates an error from its cause, the device and the underlying failure.
    package init(_ reason: Reason, device: String, _ failure: SystemFailure? = nil) {
        self.reason = reason
        self.device = device
        self.failure = failure
    }

    /// The corresponding driver-level error.
    public var busError: BusError {
        if case .notFound = reason { return BusError(.absent, code: ENODEV) }
        return failure.map { .opening($0) } ?? BusError(.unsupported)
    }
}

extension IIOError: CustomStringConvertible {
    /// One sentence that states the problem, without advice.
    public var description: String {
        switch reason {
        case .notFound(let known):
            let there = known.isEmpty ? "there is none" : "there is \(known.joined(separator: ", "))"
            return device == "auto"
                ? "no kernel driver has an accelerometer; of its kind of device (IIO) \(there)"
                : "no kernel driver's device with an accelerometer is called \"\(device)\"; \(there)"
        case .cannotOpen: return "\(device): cannot be opened\(cause)"
        case .inUse(let holder): return "\(device): \(holder) uses it"
        case .cannotWrite(let attribute): return "\(device): \(attribute) cannot be set\(cause)"
        case .cannotRead(let attribute): return "\(device): \(attribute) cannot be read\(cause)"
        case .notKept(let attribute, let value, let found):
            return "\(device): \(attribute) is \(found) after \(value) was written"
        case .unknownFormat(let channel, let text):
            return "\(device): \(channel) is stored as \"\(text)\", which is not supported"
        case .wallClock(let clock):
            return "\(device): its samples carry the time of the clock \"\(clock)\", which can be set"
        }
    }

    /// The system's error message, as the end of a sentence.
    private var cause: String { failure.map { ": \($0)" } ?? "" }

    /// What to do about it; `nil` if there is no advice.
    public var advice: String? { advice(in: .library) }

    /// The advice in the words of its reader.
    package func advice(in vocabulary: SensorVocabulary) -> String? {
        switch reason {
        case .cannotOpen where busError.kind == .accessDenied, .cannotWrite where busError.kind == .accessDenied:
            return """
                install Jostle's udev rule, which gives such devices to group iio (sudo make install, or \
                deploy/udev/60-jostle.rules), add the user to it: sudo usermod -aG iio $USER, then log in again
                """
        case .inUse(let holder):
            guard holder.processIdentifier == nil else { return holder.advice(in: vocabulary) }
            return """
                stop the program that uses it, perhaps another Jostle, or iio-sensor-proxy: sudo systemctl stop \
                iio-sensor-proxy
                """
        case .cannotWrite where busError.kind == .busy:
            return "another program uses the device: stop it"
        case .notFound:
            return "\(vocabulary.scan) lists the available devices"
        case .wallClock:
            return "set it as root: echo monotonic | sudo tee /sys/bus/iio/devices/iio:device*/current_timestamp_clock"
        case .cannotOpen, .cannotWrite, .cannotRead, .notKept, .unknownFormat:
            return nil
        }
    }
}
