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
        let outcome = try await scan("bcm2835")
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
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
        let outcome = try await scan("funcs=0x37f0000").expect(status: 69)
        #expect(outcome.output.contains("reads single bytes only (functionality 0x37f0000)"), "\(outcome.output)")
        #expect(outcome.output.contains("MPU-6050") && !outcome.output.contains("auto takes"), "\(outcome.output)")
        #expect(outcome.errors.contains("connect the chip to another bus"), "\(outcome.errors)")
        let agent = try await JostleProgram(
            ["run", "--set", "sensor.bus=\(bus)", "--set", "mqtt.broker=mqtt://127.0.0.1:9"],
            fake: (bus, "funcs=0x37f0000")
        ).outcome().expect(status: 69)
        #expect(agent.errors.contains("the adapter reads single bytes only"), "\(agent.errors)")
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
        let brief = try await scan("who=0x12")
        #expect(brief.status == 0 && !brief.output.contains("no source"), "\(brief.output)")
        let json = try await scan("who=0x12", "--json", "--address", "0x68")
        let buses = try #require(try JSON.object(json.output)?["buses"] as? [[String: Any]])
        let chip = try #require((buses.first?["chips"] as? [[String: Any]])?.first)
        #expect(chip["unsourced"] as? String == "delays of the low-passes")
    }

    @Test func goodChipPassesSelfTest() async throws {
        let outcome = try await scan("selftest=4", "--self-test")
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        #expect(outcome.output.contains("self-test of 0x68 on \(bus): passed\n"), "\(outcome.output)")
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
        let outcome = try await scan("selftest=-20", "--self-test")
        #expect(outcome.status == 69 && outcome.errors.contains("failed its self-test"), "\(outcome)")
        #expect(outcome.lines.filter { $0.hasSuffix("%  failed") }.count == 6, "\(outcome.output)")
    }

    @Test func doesNotJudgeChipWithoutFactoryTrim() async throws {
        let outcome = try await scan("", "--self-test")
        #expect(outcome.status == 69 && outcome.errors.contains("inconclusive"), "\(outcome)")
        #expect(outcome.lines.filter { $0.hasSuffix("no factory trim") }.count == 7, "\(outcome.output)")
        let json = try await scan("", "--self-test", "--json")
        let test = try #require(try JSON.object(json.output)?["self_test"] as? [String: Any])
        #expect(json.status == 69 && test["verdict"] as? String == "no_trim")
    }

    @Test func refusesSelfTestOfMovingBoard() async throws {
        let outcome = try await scan("selftest=0,shake=0-100:5:4", "--self-test")
        #expect(outcome.status == 69 && outcome.errors.contains("did not lie still"), "\(outcome)")
        #expect(outcome.errors.contains("accelerometer's x axis had a standard deviation of"), "\(outcome.errors)")
    }

    @Test func interruptedSelfTestHasNoVerdict() async throws {
        let outcome = try await scan("selftest=0,fail=60x1000:ETIMEDOUT", "--self-test")
        #expect(outcome.status == 69 && outcome.errors.contains("was not finished"), "\(outcome)")
        #expect(!outcome.output.contains("passed"))
    }

    @Test func doesNotTestChipInUse() async throws {
        let agent = try rig.run(
            ["run", "--set", "sensor.bus=\(bus)", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], fake: (bus, ""))
        #expect(await agent.logs("MPU-6050"), "\(agent.errors)")
        let outcome = try await scan("selftest=0", "--self-test")
        #expect(outcome.status == 69 && outcome.errors.contains("uses it"), "\(outcome)")
        #expect(!outcome.output.contains("self-test"))
    }

    @Test func namesUnsupportedChip() async throws {
        let table = try await scan("who=0x20").expect(status: 69)
        #expect(table.output.contains("0x20") && !table.output.contains("auto takes this"), "\(table.output)")
        #expect(table.errors.contains("0x20") && table.errors.contains("sudo modprobe inv-mpu6050-i2c"), "\(table)")
        let json = try await scan("who=0x20", "--json")
        let report = try #require(try JSON.object(json.output))
        #expect(json.status == 69 && report["choice"] == nil)
    }

    @Test func acceptsCloneWithOtherIdentity() async throws {
        let table = try await scan("who=0x70", "--driver", "mpu6050")
        #expect(table.status == 0 && table.output.contains("MPU-6500  mpu6050  0x70 in 0x75  <- auto"), "\(table)")
        #expect(table.output.contains("the only chip of the family mpu6050"))
    }

    @Test func advisesOnUnknownIdentity() async throws {
        let outcome = try await scan("who=0x75")
        #expect(outcome.status == 69 && outcome.output.contains("unknown  no driver  0x75 in 0x75"), "\(outcome)")
        #expect(outcome.errors.contains("sensor.driver: mpu6050 and sensor.identity: 0x68 for the MPU-6050"))
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
        let outcome = try await scan("who=0x70,selftest=0", "--self-test")
        #expect(
            outcome.status == 69 && outcome.errors.contains("the self-test is only implemented for the MPU-6050"),
            "\(outcome)")
        #expect(outcome.errors.contains("MPU-6500"))
    }

    @Test func skipsUnsupportedAddresses() async throws {
        let outcome = try await scan("address=0x70", "--address", "0x70")
        #expect(outcome.status == 69 && outcome.output.contains("not read"), "\(outcome)")
        try await scan("address=0x70", "--address", "0x70", "--driver", "mpu6050").expect(status: 0)
    }

    @Test func refusesUnknownFamily() async throws {
        let outcome = try await scan("", "--driver", "mpu")
        #expect(outcome.status == 64 && outcome.errors.contains("mpu6050"), "\(outcome)")
    }

    @Test func advisesToCheckWires() async throws {
        let outcome = try await scan("address=0x40")
        #expect(outcome.status == 69 && outcome.errors.contains("check the four wires"), "\(outcome.errors)")
        let json = try await scan("address=0x40", "--json")
        let buses = try #require(try JSON.object(json.output)?["buses"] as? [[String: Any]])
        let chips = try #require(buses.first?["chips"] as? [[String: Any]])
        #expect(!chips.isEmpty && chips.allSatisfy { $0["found"] as? Bool == false })
    }

    @Test func reportsStuckBus() async throws {
        let outcome = try await scan("fail=1x100:ETIMEDOUT")
        #expect(outcome.status == 69 && outcome.errors.contains("stuck"), "\(outcome.errors)")
    }

    @Test func missingPermissionIsStatus77() async throws {
        let outcome = try await scan("open=EACCES")
        #expect(outcome.status == 77 && outcome.errors.contains("usermod -aG i2c"), "\(outcome.errors)")
        let run = try await jostle("run", "--set", "sensor.bus=\(bus)", fake: (bus, "open=EACCES"))
        #expect(run.status == 77 && run.errors.contains("usermod -aG i2c"), "\(run.errors)")
    }

    @Test func namesKernelDriverInUse() async throws {
        let outcome = try await scan("busy")
        #expect(outcome.status == 69 && outcome.errors.contains("kernel driver"), "\(outcome.errors)")
    }

    @Test func advisesHowToEnableBus() async throws {
        let outcome = try await jostle("scan", "--bus", "/dev/i2c-99999")
        #expect(outcome.status == 69 && outcome.errors.contains("raspi-config"), "\(outcome.errors)")
    }

    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func advisesHowToEnableFirstBus() async throws {
        for command in ["scan", "run"] {
            let outcome = try await jostle(command)
            #expect(outcome.status == 69 && outcome.errors.contains("raspi-config"), "\(outcome.errors)")
        }
    }
}
