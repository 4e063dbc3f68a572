internal import LinuxSystem

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

    /// All buses in the order of their numbers; empty if i2c-dev is not loaded or I2C is disabled.
    package static func all(in places: SystemPlaces = SystemPlaces()) -> [I2CBus] {
        SystemFiles.numbers(in: places.devices, after: "i2c-").map { I2CBus(number: $0, in: places) }
    }

    /// Looks up the bus with this number, which need not exist.
    package init(number: Int, in places: SystemPlaces = SystemPlaces()) {
        self.number = number
        path = "\(places.devices)/i2c-\(number)"
        let adapter = "\(places.system)/class/i2c-dev/i2c-\(number)"
        name = SystemFiles.line(of: "\(adapter)/name")
        // A device tree's cells are 32 bits, big-endian (Devicetree Specification 0.4, section 2.2.4).
        let cell = try? FileContents.bytes(of: "\(adapter)/device/of_node/clock-frequency", limit: 256)
        if let cell, cell.count == 4 {
            clockFrequency = cell.reduce(0) { $0 << 8 | Int($1) }
        }
    }

    /// Looks up the bus with this device file, which need not exist; `nil` if the path does not lead to a numbered bus.
    package init?(path: String) {
        let name = SystemFiles.lastComponent(of: realPath(path) ?? path)
        guard let number = SystemFiles.number(in: name, after: "i2c-") else { return nil }
        self.init(number: number)
    }

    /// The name of the kernel driver bound to a chip on this bus; `nil` if there is none.
    package func kernelDriver(at address: UInt8, in places: SystemPlaces = SystemPlaces()) -> String? {
        let digits = String(address, radix: 16)
        let device = "\(number)-\(String(repeating: "0", count: 4 - digits.count))\(digits)"
        return realPath("\(places.system)/bus/i2c/devices/\(device)/driver")
            .map(SystemFiles.lastComponent(of:))
    }
}
