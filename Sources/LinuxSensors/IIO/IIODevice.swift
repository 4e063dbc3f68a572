/// Where the system's files are; another place in tests.
package struct IIOPlaces: Equatable, Sendable {
    /// The directory of device files.
    package var devices: String
    /// The mount point of sysfs.
    package var system: String

    /// Names the places; those of every Linux system by default.
    package init(devices: String = "/dev", system: String = "/sys") {
        self.devices = devices
        self.system = system
    }
}

/// What an IIO device measures that is of use here.
package enum IIOQuantity: String, CaseIterable, Sendable {
    /// Specific force, m/s².
    case acceleration = "in_accel"
    /// Angular rate, rad/s.
    case rotationRate = "in_anglvel"
}

/// A device of the kernel's industrial I/O subsystem (IIO), as sysfs lists it; nothing is opened.
package struct IIODevice: Equatable, Sendable {
    /// Its name in /sys/bus/iio/devices: "iio:device0".
    package var identifier: String

    /// The number in that name, which may be another after each start.
    package var number: Int

    /// The part's name as its driver gives it, "mpu6050"; a part of two devices has two, "lsm6dso_accel".
    package var name: String?

    /// What the device tree calls it: "accel-display".
    package var label: String?

    /// Its directory in sysfs, without symbolic links.
    package var path: String

    /// What it measures.
    package var quantities: [IIOQuantity]

    /// The directory of the hardware that it belongs to: that of the chip on its bus.
    package var parent: String { String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)) }

    /// The name of the hardware on its bus: "1-0068" is the chip at 0x68 on /dev/i2c-1.
    package var hardware: String { SystemFiles.lastComponent(of: parent) }

    /// The directory of the chip: devices that share it are parts of one.
    ///
    /// It is the hardware's, except behind a sensor hub (hid-sensor-hub.c), which makes a piece of hardware of each sensor.
    package var chip: String {
        guard hardware.hasPrefix("HID-SENSOR-") else { return parent }
        return String(parent.prefix(upTo: parent.lastIndex(of: "/") ?? parent.endIndex))
    }

    /// The kernel driver that is bound to the hardware, where the system tells.
    package var driver: String? {
        SystemFiles.resolved("\(parent)/driver").map(SystemFiles.lastComponent(of:))
    }

    /// The bus's number and the chip's address, where the hardware is a chip on an I2C bus.
    package var i2cPlace: (bus: Int, address: UInt8)? {
        let parts = hardware.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].count == 4, let bus = Int(parts[0]), bus >= 0,
            let address = UInt8(parts[1], radix: 16)
        else { return nil }
        return (bus, address)
    }

    /// All devices in the order of their numbers; none where the kernel has no IIO or no driver made one.
    package static func all(in places: IIOPlaces = IIOPlaces()) -> [IIODevice] {
        SystemFiles.names(in: "\(places.system)/bus/iio/devices")
            .compactMap { IIODevice($0, in: places) }
            .sorted { $0.number < $1.number }
    }

    /// Looks up the device that /sys/bus/iio/devices has under a name; `nil` where there is none.
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
        quantities = IIOQuantity.allCases.filter { quantity in
            ["x", "y", "z"].allSatisfy { names.contains("\(quantity.rawValue)_\($0)_raw") }
        }
    }

    /// Whether it is the one that a user names: by its identifier, its name or its label.
    package func isNamed(_ text: String) -> Bool {
        text == identifier || text == name || text == label
    }

    /// The digits after a prefix, as a number; `nil` where the text is anything else.
    static func number(in text: String, after prefix: String) -> Int? {
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        // Int alone would also take a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(digits)
    }
}
