import Foundation
import LinuxSensors
import Testing

/// Requirement: a machine's buses are listed in order, with what the system reports about them.
@Suite struct I2CBusTests {
    let root: URL
    let places: SystemPlaces

    init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("i2c-bus-\(UUID().uuidString)")
        places = SystemPlaces(devices: root.path + "/dev", system: root.path + "/sys")
    }

    private func write(_ content: Data, to path: String) throws {
        let file = root.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try content.write(to: file)
    }

    @Test func listsBusesByNumber() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        for name in ["i2c-10", "i2c-2", "i2c-1", "i2c-", "i2c-x", "i2c--1", "i2c-+3", "i2c-4x", "spidev0.0", "i2c"] {
            try write(Data(), to: "dev/" + name)
        }
        let buses = I2CBus.all(in: places)
        #expect(buses.map(\.number) == [1, 2, 10])
        #expect(buses.map(\.path) == ["1", "2", "10"].map { "\(root.path)/dev/i2c-\($0)" })
        #expect(buses.allSatisfy { $0.name == nil && $0.clockFrequency == nil })
    }

    @Test func listsNothingWithoutADirectory() {
        #expect(I2CBus.all(in: places).isEmpty)
    }

    @Test func readsNameAndClockFromTheSystem() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let adapter = "sys/class/i2c-dev/i2c-1"
        try write(Data("bcm2835 (i2c@7e804000)\n".utf8), to: adapter + "/name")
        try write(Data([0x00, 0x06, 0x1A, 0x80]), to: adapter + "/device/of_node/clock-frequency")
        let bus = I2CBus(number: 1, in: places)
        #expect(bus.name == "bcm2835 (i2c@7e804000)")
        #expect(bus.clockFrequency == 400_000)
        // A property of another size is not a frequency.
        try write(Data([0x00, 0x06]), to: adapter + "/device/of_node/clock-frequency")
        #expect(I2CBus(number: 1, in: places).clockFrequency == nil)
    }

    @Test func namesTheKernelDriverOfAChip() throws {
        defer { try? FileManager.default.removeItem(at: root) }
        let driver = "sys/bus/i2c/drivers/inv-mpu6050-i2c"
        try write(Data(), to: driver + "/bind")
        try write(Data(), to: "sys/bus/i2c/devices/1-0068/name")
        try FileManager.default.createSymbolicLink(
            atPath: root.path + "/sys/bus/i2c/devices/1-0068/driver", withDestinationPath: root.path + "/" + driver)
        let bus = I2CBus(number: 1, in: places)
        #expect(bus.kernelDriver(at: 0x68, in: places) == "inv-mpu6050-i2c")
        #expect(bus.kernelDriver(at: 0x08, in: places) == nil)
    }
}
