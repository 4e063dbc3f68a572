import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle scan` lists the devices on the buses and the chip that `auto` selects; if there is none, status
/// and advice say why.
@Suite(.needsFakeAdapter) struct ScanTests {
    private let rig = Rig()
    private let file: FakeBus
    var bus: String { file.path }

    init() throws {
        file = try FakeBus()
    }

    func scan(_ options: String, _ words: String...) async throws -> Outcome {
        return try await JostleProgram(["scan", "--bus", bus] + words, fake: (bus, options)).outcome()
    }

    @Test func findsChip() async throws {
        let outcome = try await scan("bcm2835").expect(status: 0)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.lines.first == bus)
        #expect(
            outcome.lines.dropFirst() == [
                "  address  chip      family   identity",
                "  0x68     MPU-6050  mpu6050  0x68 in 0x75  <- auto takes this",
                "  no answer at 0x18, 0x19, 0x1D, 0x53, 0x69, 0x6A, 0x6B",
                "auto takes the MPU-6050 at 0x68 on \(bus): the only chip with a driver",
                "200 Hz take 32 % of the bus, if it has 100 kHz; up to 500 Hz are possible",
            ], "\(outcome.output)")
    }

    @Test func findsChipAtOtherAddress() async throws {
        let outcome = try await scan("address=0x69", "--json").expect(status: 0)
        let choice = try #require(try JSON.object(outcome.output)?["choice"] as? [String: String])
        let rate = try #require(try JSON.object(outcome.output)?["rate"] as? [String: Int])
        #expect(rate == ["rate_hz": 200, "bus_percent": 32, "highest_rate_hz": 500])
        #expect(
            choice == [
                "bus": bus, "address": "0x69", "family": "mpu6050", "name": "MPU-6050",
                "reason": "the only chip with a driver",
            ])
    }

    /// I2C_FUNC_SMBUS_BYTE_DATA and no blocks, as i2c-piix4 has.
    @Test func namesAdapterThatReadsSingleBytes() async throws {
        try await scan("funcs=0x37f0000").expect(
            status: 69, errors: "connect the chip to another bus",
            output: "reads single bytes only (functionality 0x37f0000)", "MPU-6050", without: "auto takes")
        try await JostleProgram(
            ["run", "--set", "sensor.bus=\(bus)", "--set", "mqtt.broker=mqtt://127.0.0.1:9"],
            fake: (bus, "funcs=0x37f0000")
        ).outcome().expect(status: 69, errors: "the adapter reads single bytes only")
    }

    @Test func jsonMatchesTable() async throws {
        let outcome = try await scan("", "--json", "--address", "0x68").expect(status: 0)
        let report = try #require(try JSON.object(outcome.output))
        let buses = try #require(report["buses"] as? [[String: Any]])
        #expect(buses.count == 1 && buses.first?["path"] as? String == bus)
        let chips = try #require(buses.first?["chips"] as? [[String: Any]])
        #expect(chips.count == 1)
        #expect(chips.first?["address"] as? String == "0x68" && chips.first?["found"] as? Bool == true)
        #expect(chips.first?["identity"] as? String == "0x68" && chips.first?["supported"] as? Bool == true)
        #expect(chips.first?["name"] as? String == "MPU-6050")
        #expect(
            chips.first?["family"] as? String == "mpu6050" && chips.first?["identity_register"] as? String == "0x75")
    }

    @Test func saysWhichConstantsNoSourceConfirms() async throws {
        let usual = try await scan("", "--verbose")
        #expect(usual.lines.contains("  MPU-6050 at 0x68: a source for every constant"), "\(usual.output)")
        let other = try await scan("who=0x12", "--verbose")
        #expect(other.lines.contains("  ICM-20602 at 0x68: no source for delays of the low-passes"), "\(other.output)")
        try await scan("who=0x12").expect(status: 0, without: "no source")
        let json = try await scan("who=0x12", "--json", "--address", "0x68")
        let buses = try #require(try JSON.object(json.output)?["buses"] as? [[String: Any]])
        let chip = try #require((buses.first?["chips"] as? [[String: Any]])?.first)
        #expect(chip["unsourced"] as? String == "delays of the low-passes")
    }

    @Test func goodChipPassesSelfTest() async throws {
        let outcome = try await scan("selftest=4", "--self-test").expect(
            status: 0, output: "self-test of 0x68 on \(bus): passed\n")
        #expect(outcome.errors.isEmpty, "\(outcome)")
        let line = try #require(outcome.lines.first { $0.contains("gyroscope y") })
        let words = line.split(separator: " ").map(String.init)
        #expect(words.count == 9 && words[4] == "-51.3" && words.last == "passed", "\(line)")
        let deviation = Double(words[6]) ?? .nan
        #expect(abs(deviation - 4) < 1, "\(line)")
        let json = try await scan("selftest=4", "--self-test", "--json")
        let test = try #require(try JSON.object(json.output)?["self_test"] as? [String: Any])
        #expect(json.status == 0 && test["verdict"] as? String == "passed" && test["disturbance"] == nil)
        let sensor = try #require(test["accelerometer_g"] as? [String: [String: Any]])
        let trim = try #require(sensor["z"]?["factory_trim"] as? Double)
        #expect(abs(trim - 0.5234) < 1e-3)
        let percent = try #require(sensor["z"]?["deviation_percent"] as? Double)
        #expect(abs(percent - 4) < 1)
    }

    @Test func badChipFailsSelfTestWithStatus69() async throws {
        let outcome = try await scan("selftest=-20", "--self-test").expect(status: 69, errors: "failed its self-test")
        #expect(outcome.lines.filter { $0.hasSuffix("%  failed") }.count == 6, "\(outcome.output)")
    }

    @Test func doesNotJudgeChipWithoutFactoryTrim() async throws {
        let outcome = try await scan("", "--self-test").expect(status: 69, errors: "inconclusive")
        #expect(outcome.lines.filter { $0.hasSuffix("no factory trim") }.count == 7, "\(outcome.output)")
        let json = try await scan("", "--self-test", "--json")
        let test = try #require(try JSON.object(json.output)?["self_test"] as? [String: Any])
        #expect(json.status == 69 && test["verdict"] as? String == "no_trim")
    }

    @Test func refusesSelfTestOfMovingBoard() async throws {
        try await scan("selftest=0,shake=0-100:5:4", "--self-test").expect(
            status: 69, errors: "did not lie still", "accelerometer's x axis had a standard deviation of")
    }

    @Test func interruptedSelfTestHasNoVerdict() async throws {
        try await scan("selftest=0,fail=60x1000:ETIMEDOUT", "--self-test").expect(
            status: 69, errors: "was not finished", without: "passed")
    }

    @Test func doesNotTestChipInUse() async throws {
        let agent = try rig.run(
            ["run", "--set", "sensor.bus=\(bus)", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], fake: (bus, ""))
        #expect(await agent.logs("MPU-6050"), "\(agent.errors)")
        try await scan("selftest=0", "--self-test").expect(status: 69, errors: "uses it", without: "self-test")
    }

    @Test func namesUnsupportedChip() async throws {
        try await scan("who=0x20").expect(
            status: 69, errors: "0x20", "sudo modprobe inv-mpu6050-i2c", output: "0x20", without: "auto takes this")
        let json = try await scan("who=0x20", "--json")
        let report = try #require(try JSON.object(json.output))
        #expect(json.status == 69 && report["choice"] == nil)
    }

    @Test func acceptsCloneWithOtherIdentity() async throws {
        try await scan("who=0x70", "--driver", "mpu6050").expect(
            status: 0, output: "MPU-6500  mpu6050  0x70 in 0x75  <- auto", "the only chip of the family mpu6050")
    }

    @Test func advisesOnUnknownIdentity() async throws {
        try await scan("who=0x75").expect(
            status: 69, errors: "sensor.driver: mpu6050 and sensor.identity: 0x68 for the MPU-6050",
            output: "unknown  no driver  0x75 in 0x75")
    }

    @Test func drivesChipWithConfiguredIdentity() async throws {
        let agent = try rig.run(
            [
                "run", "--set", "sensor.bus=\(bus)", "--set", "sensor.driver=mpu6050", "--set", "sensor.identity=0x68",
                "--set", "mqtt.broker=mqtt://127.0.0.1:9",
            ], fake: (bus, "who=0x75"))
        #expect(await agent.logs("MPU-6050"), "\(agent.errors)")
    }

    @Test func selfTestNeedsMPU6050() async throws {
        try await scan("who=0x70,selftest=0", "--self-test").expect(
            status: 69, errors: "the self-test is only implemented for the MPU-6050", "MPU-6500")
    }

    @Test func skipsUnsupportedAddresses() async throws {
        try await scan("address=0x70", "--address", "0x70").expect(status: 69, output: "not read")
        try await scan("address=0x70", "--address", "0x70", "--driver", "mpu6050").expect(status: 0)
    }

    @Test func refusesUnknownFamily() async throws {
        try await scan("", "--driver", "mpu").expect(status: 64, errors: "mpu6050")
    }

    @Test func advisesToCheckWires() async throws {
        try await scan("address=0x40").expect(status: 69, errors: "check the four wires")
        let json = try await scan("address=0x40", "--json")
        let buses = try #require(try JSON.object(json.output)?["buses"] as? [[String: Any]])
        let chips = try #require(buses.first?["chips"] as? [[String: Any]])
        #expect(!chips.isEmpty && chips.allSatisfy { $0["found"] as? Bool == false })
    }

    @Test func reportsStuckBus() async throws {
        try await scan("fail=1x100:ETIMEDOUT").expect(status: 69, errors: "stuck")
    }

    @Test func missingPermissionIsStatus77() async throws {
        try await scan("open=EACCES").expect(status: 77, errors: "usermod -aG i2c")
        try await jostle("run", "--set", "sensor.bus=\(bus)", fake: (bus, "open=EACCES")).expect(
            status: 77, errors: "usermod -aG i2c")
    }

    @Test func namesKernelDriverInUse() async throws {
        try await scan("busy").expect(status: 69, errors: "kernel driver")
    }

    @Test func advisesHowToEnableBus() async throws {
        try await jostle("scan", "--bus", "/dev/i2c-99999").expect(status: 69, errors: "raspi-config")
    }

    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func advisesHowToEnableFirstBus() async throws {
        for command in ["scan", "run"] {
            try await jostle(command).expect(status: 69, errors: "raspi-config")
        }
    }
}
