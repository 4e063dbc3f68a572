/// An I2C bus as the system lists it. Creating a value opens nothing.
package struct I2CBus: Equatable, Sendable {
    /// The device file, `/dev/i2c-1`.
    package var path: String

    /// The bus number.
    package var number: Int

    /// The adapter's name according to its kernel driver, such as `bcm2835 (i2c@7e804000)`; `nil` if unknown.
    package var name: String?

    /// The bus clock in the device tree, Hz; `nil` if unknown.
    ///
    /// The default is 100 kHz; on a Raspberry Pi, `dtparam=i2c_arm_baudrate=400000` changes it.
    package var clockFrequency: Int?

    /// The locations of the system's files; tests use others.
    package struct Places: Sendable {
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

    /// All buses in the order of their numbers; empty if i2c-dev is not loaded or I2C is disabled.
    package static func all(in places: Places = Places()) -> [I2CBus] {
        SystemFiles.names(in: places.devices)
            .compactMap(number(inName:))
            .sorted()
            .map { I2CBus(number: $0, in: places) }
    }

    /// Looks up the bus with this number, which need not exist.
    package init(number: Int, in places: Places = Places()) {
        self.number = number
        path = "\(places.devices)/i2c-\(number)"
        let adapter = "\(places.system)/class/i2c-dev/i2c-\(number)"
        name = SystemFiles.line(of: "\(adapter)/name")
        // A device tree's cells are 32 bits, big-endian (Devicetree Specification 0.4, section 2.2.4).
        if let cell = SystemFiles.bytes(of: "\(adapter)/device/of_node/clock-frequency"), cell.count == 4 {
            clockFrequency = cell.reduce(0) { $0 << 8 | Int($1) }
        }
    }

    /// Looks up the bus with this device file, which need not exist; `nil` if the path does not lead to a numbered bus.
    package init?(path: String) {
        let name = SystemFiles.lastComponent(of: SystemFiles.resolved(path) ?? path)
        guard let number = I2CBus.number(inName: name) else { return nil }
        self.init(number: number)
    }

    /// The name of the kernel driver bound to a chip on this bus; `nil` if there is none.
    package func kernelDriver(at address: UInt8, in places: Places = Places()) -> String? {
        let digits = String(address, radix: 16)
        let device = "\(number)-\(String(repeating: "0", count: 4 - digits.count))\(digits)"
        return SystemFiles.resolved("\(places.system)/bus/i2c/devices/\(device)/driver")
            .map(SystemFiles.lastComponent(of:))
    }

    /// The number in a device file's name; `nil` if it is not an adapter's.
    static func number(inName name: String) -> Int? {
        let prefix = "i2c-"
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count)
        // `Int` alone would also accept a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(digits)
    }
}
