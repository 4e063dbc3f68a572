/// The locations of the system's files; tests use others.
package struct IIOPlaces: Equatable, Sendable {
    /// The directory of device files.
    package var devices: String
    /// The mount point of sysfs.
    package var system: String

    /// Creates the locations; by default those of every Linux system.
    package init(devices: String = "/dev", system: String = "/sys") {
        self.devices = devices
        self.system = system
    }
}

/// A quantity that can be used here.
package enum IIOQuantity: String, Sendable {
    /// Specific force, m/s².
    case acceleration = "in_accel"
    /// Angular rate, rad/s.
    case rotationRate = "in_anglvel"
    /// Magnetic flux density, gauss.
    case magneticField = "in_magn"
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
    package var parent: String { String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)) }

    /// The name of the hardware on its bus: "1-0068" is the chip at 0x68 on /dev/i2c-1.
    package var hardware: String { SystemFiles.lastComponent(of: parent) }

    /// The directory of the chip. Devices that share it are parts of one chip.
    ///
    /// It is the hardware's directory, except behind a sensor hub (hid-sensor-hub.c), where every sensor is separate
    /// hardware.
    package var chip: String {
        guard hardware.hasPrefix("HID-SENSOR-") else { return parent }
        return String(parent.prefix(upTo: parent.lastIndex(of: "/") ?? parent.endIndex))
    }

    /// The directory of the chip that this one is connected through, if its bus is behind one as that of an MPU-9250
    /// (i2c-gate); otherwise `nil`.
    package var gate: String? {
        let bus = String(parent.prefix(upTo: parent.lastIndex(of: "/") ?? parent.endIndex))
        return SystemFiles.resolved("\(bus)/mux_device")
    }

    /// The kernel driver bound to the hardware; `nil` if unknown.
    package var driver: String? {
        SystemFiles.resolved("\(parent)/driver").map(SystemFiles.lastComponent(of:))
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
    package static func all(in places: IIOPlaces = IIOPlaces()) -> [IIODevice] {
        SystemFiles.names(in: "\(places.system)/bus/iio/devices")
            .compactMap { IIODevice($0, in: places) }
            .sorted { $0.number < $1.number }
    }

    /// Looks up a device by its name in /sys/bus/iio/devices; `nil` if there is none.
    init?(_ identifier: String, in places: IIOPlaces) {
        guard let number = IIODevice.number(in: identifier, after: "iio:device"),
            let path = SystemFiles.resolved("\(places.system)/bus/iio/devices/\(identifier)")
        else { return nil }
        self.identifier = identifier
        self.number = number
        self.path = path
        name = SystemFiles.line(of: "\(path)/name")
        label = SystemFiles.line(of: "\(path)/label")
        let names = Set(SystemFiles.names(in: path))
        func measures(_ quantity: IIOQuantity) -> Bool {
            ["x", "y", "z"].allSatisfy { names.contains("\(quantity.rawValue)_\($0)_raw") }
        }
        quantities = [.acceleration, .rotationRate].filter(measures)
        measuresField = measures(.magneticField)
    }

    /// Whether a user's `text` names this device: its identifier, name or label.
    package func isNamed(_ text: String) -> Bool {
        text == identifier || text == name || text == label
    }

    /// The digits after a prefix, as a number; `nil` if the text has any other form.
    static func number(in text: String, after prefix: String) -> Int? {
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        // `Int` alone would also accept a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(digits)
    }
}
