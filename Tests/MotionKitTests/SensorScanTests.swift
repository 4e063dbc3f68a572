import IMUDrivers
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: chips are identified by reading only, and the best one is chosen with a reason.
@Suite struct SensorScanTests {
    /// A chip that has only registers. Missing ones read as zero, and a write fails the test.
    private struct Registers: RegisterBus {
        var content: [UInt8: UInt8] = [:]
        var failure: BusError?
        var reads: [UInt8] = []
        let maximumReadLength = 1

        mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) throws(BusError) {
            reads.append(register)
            if let failure { throw failure }
            for index in buffer.indices { buffer[index] = content[register, default: 0] }
        }

        mutating func write(_ register: UInt8, _ value: UInt8) throws(BusError) {
            Issue.record("\(value) was written to \(register)")
        }
    }

    private static func family(
        _ family: IMUFamily, register: UInt8, addresses: [UInt8] = [0x68, 0x69], _ parts: [UInt8: StaticString]
    ) -> RegisteredChip {
        RegisteredChip(
            family: family, addresses: addresses, identityRegister: register, name: { parts[$0] }, usual: nil,
            abandonedBanks: { [] }, open: { _, _, _ in SimulatedDevice() })
    }

    private final class SimulatedDevice: SensorDevice {
        let title = "", storageName = ""
        let isSimulated = true
        let info = IMUInfo(
            name: "none", identity: 0, nominalRate: 1, accelerometerRange: 1, gyroscopeRange: 1, bandwidth: 1)
        let status = IMUStatus()
        func poll(into batch: inout SampleBatch) -> IMUPoll { IMUPoll(next: Timestamp(nanoseconds: 0)) }
        func stop() throws(BusError) {}
    }

    /// Three families, two of which share an identity register.
    private static let chips = [
        family(.mpu6050, register: 0x75, [0x68: "MPU-6050", 0x70: "MPU-6500"]),
        family(.mpu6050, register: 0x00, addresses: [0x68, 0x69, 0x6A], [0xD1: "second"]),
        family(.mpu6050, register: 0x75, [0x47: "third"]),
    ]

    private func identify(_ content: [UInt8: UInt8]) throws -> (IMUIdentity, reads: [UInt8]) {
        var bus = Registers(content: content)
        let identity = try #require(try ChipRegistry.identify(&bus, among: Self.chips))
        return (identity, bus.reads)
    }

    @Test(
        "An identity of only zeros or ones is a stuck line, not a copy of a chip", arguments: [0x00, 0xFF] as [UInt8])
    func lineLevels(identity: UInt8) throws {
        let registers = Dictionary(uniqueKeysWithValues: (UInt8.min...UInt8.max).map { ($0, identity) })
        let (found, _) = try identify(registers)
        #expect(found.isLineLevel && !found.isSupported)
        #expect(found.explanation.contains("data line (SDA) is stuck \(identity == 0 ? "low" : "high")"))
        let report = SensorScan.BusReport(
            path: "/dev/i2c-1", chips: [SensorScan.ChipReport(address: 0x68, finding: .chip(found))])
        let text = SensorScan([report], chips: ChipRegistry.all).explanation(in: .library)
        #expect(text.contains("is stuck") && !text.contains("copy"), "\(text)")
    }

    /// 12:34:24 on Friday, 27 November 2026, as a DS3231 and a PCF8523 hold it; a DS1307 that was never set.
    private static let ds3231: [UInt8: UInt8] = [
        0: 0x24, 1: 0x34, 2: 0x12, 3: 5, 4: 0x27, 5: 0x91, 6: 0x26, 0x11: 0x19,
    ]
    private static let pcf8523: [UInt8: UInt8] = [3: 0xA4, 4: 0x34, 5: 0x12, 6: 0x27, 7: 5, 8: 0x11, 9: 0x26]
    /// 11 in the evening, in the mode of 12 hours.
    private static let evening: [UInt8: UInt8] = [0: 0x24, 1: 0x34, 2: 0x71, 3: 5, 4: 0x27, 5: 0x91, 6: 0x26]
    private static let ds1307: [UInt8: UInt8] = [0: 0x80, 1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 6: 0, 0x35: 0x70, 0x75: 0x70]

    @Test(
        "A clock is a clock, whatever its registers hold in this second", arguments: [ds3231, pcf8523, ds1307, evening])
    func clocks(content: [UInt8: UInt8]) throws {
        for second in UInt8(0)...59 {
            var registers = content
            let bcd = second / 10 << 4 | second % 10
            if registers[9] == nil { registers[0] = bcd } else { registers[3] = bcd }
            var bus = Registers(content: registers)
            let candidates = ChipRegistry.candidates(at: 0x68, named: nil, of: ChipRegistry.all)
            let identity = try #require(try ChipRegistry.identify(&bus, among: candidates))
            #expect(!identity.isSupported && identity.stranger == .clock && identity.name == nil)
            // Not even if somebody names the identity of a copy.
            let scan = SensorScan(
                found([(1, 0x68, identity)]), chips: ChipRegistry.all, family: .mpu6050, assumedIdentity: 0x68)
            #expect(scan.choice == nil)
            let text = scan.explanation(in: .agent)
            #expect(text.contains("0x68: a real-time clock, and no sensor") && !text.contains("copy"), "\(text)")
        }
    }

    @Test("What is not stuck is not called so; a memory that holds the identity of a chip is none")
    func strangers() throws {
        func identity(at address: UInt8, _ content: [UInt8: UInt8]) throws -> IMUIdentity {
            var bus = Registers(content: content)
            let candidates = ChipRegistry.candidates(at: address, named: nil, of: ChipRegistry.all)
            return try #require(try ChipRegistry.identify(&bus, among: candidates))
        }
        // A memory, as on a PC's memory module, and one that begins with the identity of an ADXL345.
        let memory = try identity(at: 0x53, [0x01: 0x11, 0x1A: 0x08, 0x6B: 0x30])
        #expect(memory.stranger == .unknown && memory.explanation.contains("EEPROM"))
        #expect(!(try identity(at: 0x53, [0x00: 0xE5, 0x2C: 0xFF, 0x2D: 0xFF]).isSupported))
        #expect(try identity(at: 0x53, [0x00: 0xE5, 0x2C: 0x0A, 0x30: 0x02]).isSupported)
        // An ICM-20948 in bank 2.
        let bank = try identity(at: 0x68, [0x7F: 0x20, 0x01: 0x08])
        #expect(bank.stranger == .otherBank && bank.explanation.contains("ICM-20948"))
    }

    @Test("An address that the adapter does not know is free as long as the adapter is there")
    func absentAddress() {
        for (kind, isListed, isSilent) in [
            (.notAcknowledged, true, true), (.absent, true, true), (.absent, false, false), (.timedOut, true, false),
        ] as [(BusError.Kind, Bool, Bool)] {
            let finding = SensorScan.finding(of: BusError(kind), isBusListed: isListed)
            if case .silent = finding { #expect(isSilent) } else { #expect(!isSilent) }
        }
    }

    @Test(
        "The first register that is known decides, each is read once, and nothing is written",
        arguments: [
            ([0x75: 0x70], "MPU-6500", [0x75]), ([0x75: 0x47], "third", [0x75]),
            ([0x00: 0xD1], "second", [0x75, 0x00]),
            // Chips with another identity register are named too, if nothing else is known.
            ([0x72: 0xE9], "ICM-45686", [0x75, 0x00, 0x72]),
            // Register 0 of an MPU-6500 holds a factory value.
            ([0x75: 0x68, 0x00: 0xD1], "MPU-6050", [0x75]),
            // So does that of a chip that is known by name only.
            ([0x75: 0x20, 0x00: 0xD1], "ICM-20690", [0x75]), ([0x00: 0xEA], "ICM-20948", [0x75, 0x00]),
        ] as [([UInt8: UInt8], String, [UInt8])])
    func identification(content: [UInt8: UInt8], name: String, reads: [UInt8]) throws {
        let (identity, read) = try identify(content)
        #expect(identity.name.map { "\($0)" } == name)
        #expect(identity.isSupported == !name.hasPrefix("ICM"))
        // Two more show that it is no clock.
        #expect(read == reads + [3, 6])
    }

    @Test(
        "Recognises a chip in which a program left another bank selected by the values that this program's driver writes",
        arguments: [
            (0x69, [0x7F: 0x20, 0x00: 4, 0x01: 0x17, 0x09: 1, 0x11: 4, 0x14: 0x15], "ICM-20948"),
            (0x68, [0x76: 1, 0x7C: 0x50], "ICM-42688-P"),
            (0x68, [0x76: 2, 0x03: 126, 0x04: 0x80, 0x05: 0x3F], "ICM-42688-P"),
            // Something else has been there, or it is another chip.
            (0x69, [0x7F: 0x20, 0x00: 4, 0x01: 0x17, 0x11: 4, 0x14: 0x15], nil), (0x68, [0x76: 1, 0x7C: 0x5F], nil),
            (0x68, [0x7F: 0x10, 0x09: 1, 0x01: 0x17, 0x14: 0x15], nil),
        ] as [(UInt8, [UInt8: UInt8], String?)])
    func abandonedBank(address: UInt8, content: [UInt8: UInt8], name: String?) throws {
        var bus = Registers(content: content)
        let candidates = ChipRegistry.candidates(at: address, named: nil, of: ChipRegistry.all)
        let identity = try #require(try ChipRegistry.identify(&bus, among: candidates))
        #expect(identity.isSupported == (name != nil) && identity.name.map { "\($0)" } == name)
    }

    @Test(
        "Names chips without a driver at the addresses where they are, and says what to do",
        arguments: [
            (0x68, [0x00: 0x24], "BMI270", "echo bmi270 0x68 | sudo tee /sys/bus/i2c/devices/i2c-1/new_device"),
            (0x68, [0x75: 0x20], "ICM-20690", "sudo modprobe inv-mpu6050-i2c; echo icm20690 0x68"),
            (0x69, [0x75: 0x42, 0x00: 0x24], "ICM-42605", ""), (0x69, [0x00: 0xE1], "ICM-20649", "docs/chips.md"),
            (0x6A, [0x0F: 0x70], "LSM6DSV", "echo lsm6dsv 0x6A"),
            (0x6B, [0x00: 0x05], "QMI8658", "docs/chips.md"), (0x1D, [0x00: 0xAD], "ADXL355", "docs/chips.md"),
            // The identity of a copy is not overruled by what its register 0 holds.
            (0x68, [0x75: 0x13, 0x00: 0x24], nil, "sensor.identity"), (0x53, [0x00: 0x24], nil, "sensor.identity"),
            (0x68, [0x00: 0x05], nil, "sensor.identity"), (0x6A, [0x00: 0x24], nil, "sensor.identity"),
        ] as [(UInt8, [UInt8: UInt8], String?, String)])
    func unsupported(address: UInt8, content: [UInt8: UInt8], name: String?, advice: String) throws {
        var bus = Registers(content: content)
        let candidates = ChipRegistry.candidates(at: address, named: nil, of: ChipRegistry.all)
        let identity = try #require(try ChipRegistry.identify(&bus, among: candidates))
        #expect(identity.name.map { "\($0)" } == name)
        let scan = SensorScan(found([(1, address, identity)]), chips: ChipRegistry.all)
        #expect((scan.choice == nil) == !advice.isEmpty)
        #expect(advice.isEmpty || scan.explanation(in: .agent).contains(advice), "\(scan.explanation(in: .agent))")
    }

    @Test(
        "Says which parts a chip could be, and how that was decided",
        arguments: [
            (0x69, nil, "could be LSM6DS3, LSM6DS3H or LSM6DS33: they have the same identity and are driven alike"),
            (
                0x33, nil,
                "could be LIS3DH, LIS2DH12, LSM303DLHC, LSM303AGR or LIS2DE12: no register tells them apart, and LIS3DH is assumed; "
                    + "for LSM303AGR, set sensor.driver: lsm303agr; for LIS2DE12, set sensor.driver: lis2de12"
            ),
            (
                0x33, .lis2de12,
                "is driven as the LIS2DE12 that was named; LIS3DH, LIS2DH12, LSM303DLHC or LSM303AGR would answer alike"
            ),
            (
                0x6B, nil,
                "could be ISM330DHCX, LSM6DSR, LSM6DSRX or ASM330LHH: they have the same identity and are driven alike"
            ),
            (
                0x6C, nil,
                "could be LSM6DSO, LSM6DSOX or LSM6DSO32: no register tells them apart, and LSM6DSO is assumed; "
                    + "for LSM6DSO32, set sensor.driver: lsm6dso32"
            ),
            (0x6C, .lsm6dso32, "is driven as the LSM6DSO32 that was named; LSM6DSO or LSM6DSOX would answer alike"),
        ] as [(UInt8, IMUFamily?, String)])
    func sharedIdentity(byte: UInt8, family: IMUFamily?, note: String) throws {
        var bus = Registers(content: [0x0F: byte])
        let candidates = ChipRegistry.candidates(at: byte == 0x33 ? 0x19 : 0x6A, named: family, of: ChipRegistry.all)
        let identity = try #require(try ChipRegistry.identify(&bus, among: candidates))
        #expect(identity.sharedNote(in: .agent) == note)
        let name = try #require(identity.name).description
        #expect(SharedIdentity(of: byte, in: 0x0F)?.parts.contains(name) == true)
    }

    @Test("Families that the user must name have the name of their part")
    func families() throws {
        for identity in [(0x0F, 0x6C), (0x00, 0xE5), (0x0F, 0x33)] as [(UInt8, UInt8)] {
            for family in try #require(SharedIdentity(of: identity.1, in: identity.0)).named {
                let chip = try #require(ChipRegistry.all.first { $0.family == family })
                #expect(chip.name(identity.1).map { "\($0)" } == family.partName)
            }
        }
    }

    @Test("Chips that answer for themselves have no note")
    func ownIdentity() {
        #expect(mpu6500.sharedNote(in: .agent) == nil && unknown.sharedNote(in: .agent) == nil)
        #expect(SharedIdentity(of: 0x6C, in: 0x75) == nil)
    }

    @Test(
        "Says which constants of a chip no source confirms",
        arguments: [
            (0x75, 0x68, .mpu6050, nil), (0x75, 0x70, .mpu6050, nil),
            (0x75, 0x12, .mpu6050, "delays of the low-passes"),
            (0x75, 0x11, .mpu6050, "bandwidths and delays of the low-passes"),
            (0x75, 0x72, .mpu6050, "everything but the identity"),
            (0x0F, 0x6A, .lsm6ds, "delays of the low-passes at 12.5 and 26 Hz"),
            (0x00, 0xE5, .adxl345, "delay of the low-pass"),
            (0x00, 0xE5, .adxl375, "delay of the low-pass, scale and offset at 3.3 V"),
        ] as [(UInt8, UInt8, IMUFamily, String?)])
    func unsourced(register: UInt8, byte: UInt8, family: IMUFamily, words: String?) {
        #expect(IMUIdentity(register: register, identity: byte, name: "chip", family: family).unsourced == words)
        #expect(IMUIdentity(register: register, identity: byte).unsourced == nil)
    }

    @Test("Reports an unknown chip with the identity in the first register")
    func unknownChip() throws {
        let (identity, reads) = try identify([0x75: 0x75, 0x00: 0x11])
        #expect(identity.name == nil && identity.register == 0x75 && identity.identity == 0x75)
        #expect(reads == [0x75, 0x00, 0x72, 3, 6])
    }

    @Test("Ends the search if no chip answers")
    func silence() {
        var bus = Registers(failure: BusError(.notAcknowledged))
        var failure: BusError?
        do throws(BusError) {
            _ = try ChipRegistry.identify(&bus, among: Self.chips)
        } catch {
            failure = error
        }
        #expect(failure == BusError(.notAcknowledged) && bus.reads == [0x75])
    }

    @Test("Tries the families that use an address, or the named one")
    func candidates() {
        func names(_ address: UInt8, _ family: IMUFamily?) -> Int {
            ChipRegistry.candidates(at: address, named: family, of: Self.chips).count
        }
        #expect(names(0x68, nil) == 3 && names(0x6A, nil) == 1)
        #expect(names(0x70, nil) == 0 && names(0x70, .mpu6050) == 3)
        #expect(SensorScan.addresses.contains(0x68) && SensorScan.addresses.contains(0x69))
        #expect(Set(SensorScan.families) == Set(IMUFamily.allCases))
    }

    @Test(
        "A chip is taken for another one with the same identity only if the user names that",
        arguments: [
            (0x6A, 0x0F, 0x6C, IMUFamily?.none, "LSM6DSO"), (0x6A, 0x0F, 0x6C, .lsm6dso32, "LSM6DSO32"),
            (0x53, 0x00, 0xE5, nil, "ADXL345"), (0x53, 0x00, 0xE5, .adxl375, "ADXL375"),
            (0x6A, 0x0F, 0x6C, .lsm6ds, "LSM6DSO"),
            // The identity of an MPU-6050 in another register, at an address that no MPU-6050 has.
            (0x6A, 0x0F, 0x68, nil, "LSM9DS1"), (0x6B, 0x0F, 0x68, .lsm9ds1, "LSM9DS1"),
            (0x18, 0x0F, 0x33, nil, "LIS3DH"), (0x19, 0x0F, 0x33, .lsm303agr, "LSM303AGR"),
            (0x19, 0x0F, 0x33, .lis2de12, "LIS2DE12"), (0x68, 0x75, 0x68, nil, "MPU-6050"),
        ] as [(UInt8, UInt8, UInt8, IMUFamily?, String)])
    func sameIdentity(address: UInt8, register: UInt8, byte: UInt8, family: IMUFamily?, name: String) throws {
        var bus = Registers(content: [register: byte])
        let candidates = ChipRegistry.candidates(at: address, named: family, of: ChipRegistry.all)
        let identity = try #require(try ChipRegistry.identify(&bus, among: candidates))
        #expect(identity.name.map { "\($0)" } == name)
        let scan = SensorScan(found([(1, address, identity)]), chips: ChipRegistry.all, family: family)
        let choice = try #require(scan.choice)
        #expect(choice.name == name && choice.family == (family ?? identity.family) && !choice.isAssumed)
    }

    @Test("The usual part of every family has an identity for messages")
    func usual() {
        for chip in ChipRegistry.all {
            let usual = chip.usual
            #expect(usual != nil)
        }
        #expect(ChipRegistry.all.first { $0.family == .mpu6050 }?.usual?.identity == 0x68)
    }

    // MARK: Choice

    private func found(_ places: [(bus: Int, address: UInt8, identity: IMUIdentity)]) -> [SensorScan.BusReport] {
        Set(places.map(\.bus)).sorted().map { bus in
            SensorScan.BusReport(
                path: "/dev/i2c-\(bus)", name: nil, clockFrequency: nil, failure: nil,
                chips: places.filter { $0.bus == bus }.map {
                    SensorScan.ChipReport(address: $0.address, finding: .chip($0.identity))
                })
        }
    }

    private let mpu6500 = IMUIdentity(register: 0x75, identity: 0x70, name: "MPU-6500", family: .mpu6050)
    private let unknown = IMUIdentity(register: 0x75, identity: 0x75)

    @Test("Chooses the only supported chip, and no unsupported one")
    func onlyOne() throws {
        let scan = SensorScan(
            found([(0, 0x68, unknown), (1, 0x69, mpu6500)]), chips: ChipRegistry.all)
        let choice = try #require(scan.choice)
        #expect(choice.place == SensorScan.ChipAddress(bus: "/dev/i2c-1", address: 0x69))
        #expect(choice.family == .mpu6050 && choice.name == "MPU-6500" && choice.identity == 0x70)
        #expect(!choice.isAssumed && choice.reason == "the only chip with a driver")
    }

    @Test("Chooses the first of two chips of a family by bus and address")
    func firstOfTwo() throws {
        let scan = SensorScan(found([(0, 0x69, mpu6500), (1, 0x68, mpu6500)]), chips: ChipRegistry.all)
        let choice = try #require(scan.choice)
        #expect(choice.place == SensorScan.ChipAddress(bus: "/dev/i2c-0", address: 0x69))
        #expect(choice.reason == "of 2 chips the first by bus and address in the family mpu6050")
    }

    @Test("Treats a chip with an unknown identity as the part that the user configured")
    func assumedIdentity() throws {
        let buses = found([(1, 0x68, unknown)])
        #expect(SensorScan(buses, chips: ChipRegistry.all).choice == nil)
        #expect(SensorScan(buses, chips: ChipRegistry.all, family: .mpu6050).choice == nil)
        #expect(SensorScan(buses, chips: ChipRegistry.all, assumedIdentity: 0x70).choice == nil)
        #expect(SensorScan(buses, chips: ChipRegistry.all, family: .mpu6050, assumedIdentity: 0x99).choice == nil)
        let choice = try #require(
            SensorScan(buses, chips: ChipRegistry.all, family: .mpu6050, assumedIdentity: 0x70).choice)
        #expect(choice.isAssumed && choice.name == "MPU-6500" && choice.identity == 0x75)
        #expect(choice.reason.contains("0x75"))
        // A known chip is preferred, wherever it is.
        let both = SensorScan(
            found([(0, 0x68, unknown), (1, 0x68, mpu6500)]), chips: ChipRegistry.all, family: .mpu6050,
            assumedIdentity: 0x68)
        #expect(both.choice?.place.bus == "/dev/i2c-1" && both.choice?.name == "MPU-6500")
    }

    @Test("The message about an unknown chip says what to configure")
    func advice() {
        let scan = SensorScan(found([(1, 0x68, unknown)]), chips: ChipRegistry.all)
        #expect(scan.explanation(in: .agent).contains("/dev/i2c-1 0x68: identity 0x75, which is not known"))
        #expect(
            scan.explanation(in: .agent).contains("sensor.driver: mpu6050 and sensor.identity: 0x68 for the MPU-6050"))
    }

    @Test("Reports a chip of another family, and an address without a chip")
    func unsupportedChips() {
        let known = IMUIdentity(register: 0x75, identity: 0x68, name: "MPU-6050", family: .mpu6050)
        let other = SensorScan(found([(1, 0x68, known)]), chips: ChipRegistry.all, family: .bmi160)
        #expect(other.choice == nil)
        #expect(other.explanation(in: .agent).contains("0x68: MPU-6050, which is what sensor.driver: mpu6050 drives"))
        let silent = [0x69, 0x68].map { SensorScan.ChipReport(address: $0, finding: .silent) }
        var bus = SensorScan.BusReport(path: "/dev/i2c-1", chips: silent)
        let named = SensorScan([bus], chips: ChipRegistry.all).explanation(in: .agent)
        #expect(named.hasPrefix("no chip answers at 0x68 or 0x69 on /dev/i2c-1: check the four wires"))
        #expect(named.hasSuffix("jostle scan looks at all addresses"))
        bus.chips = SensorScan.addresses.map { SensorScan.ChipReport(address: $0, finding: .silent) }
        let everywhere = SensorScan([bus], chips: ChipRegistry.all).explanation(in: .agent)
        #expect(everywhere.hasPrefix("no chip answers on /dev/i2c-1: check"))
    }

    @Test("Forms a file name of letters, digits and hyphens from a part's name")
    func storageName() {
        #expect(SensorSelection.storageName(bus: "/dev/i2c-1", address: 0x68, part: "MPU-6050") == "i2c-1-0x68-MPU6050")
        #expect(
            SensorSelection.storageName(bus: "/dev/i2c-1", address: 0x68, part: "MPU-6050 copy (0x72)")
                == "i2c-1-0x68-MPU6050copy0x72")
    }
}
