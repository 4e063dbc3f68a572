import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle scan` tells what is on the buses and which chip `auto` takes; where there is none, the status and
/// the advice say why.
@Suite(.needsFakeAdapter) struct ScanTests {
    private let bus = FakeBus.unusedPath()

    private func scan(_ options: String, _ words: String...) async throws -> Outcome {
        let program = try JostleProgram(["scan", "--bus", bus] + words, fake: (bus, options))
        defer { program.kill() }
        let status = await program.exitStatus()
        return Outcome(status: status, output: program.output, errors: program.errors)
    }

    @Test func aChipIsFound() async throws {
        let outcome = try await scan("bcm2835")
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(outcome.lines.first == bus)
        #expect(outcome.output.contains("0x68  MPU-6050 (WHO_AM_I 0x68)   <- auto takes this"), "\(outcome.output)")
        #expect(outcome.output.contains("0x69  -\n"))
    }

    @Test func aChipAtTheOtherAddressIsFound() async throws {
        let outcome = try await scan("address=0x69", "--json")
        #expect(outcome.status == 0)
        let choice = try #require(try JSON.object(outcome.output)?["choice"] as? [String: String])
        #expect(choice == ["bus": bus, "address": "0x69"])
    }

    @Test func jsonHasTheSame() async throws {
        let outcome = try await scan("", "--json", "--address", "0x68")
        #expect(outcome.status == 0)
        let report = try #require(try JSON.object(outcome.output))
        let buses = try #require(report["buses"] as? [[String: Any]])
        #expect(buses.count == 1 && buses.first?["path"] as? String == bus)
        let chips = try #require(buses.first?["chips"] as? [[String: Any]])
        #expect(chips.count == 1)
        #expect(chips.first?["address"] as? String == "0x68" && chips.first?["found"] as? Bool == true)
        #expect(chips.first?["identity"] as? String == "0x68" && chips.first?["supported"] as? Bool == true)
        #expect(chips.first?["name"] as? String == "MPU-6050")
    }

    @Test func anotherChipIsNamedAndNotTaken() async throws {
        let table = try await scan("who=0x42")
        #expect(table.status == 69)
        #expect(table.output.contains("0x42") && !table.output.contains("auto takes this"), "\(table.output)")
        #expect(table.errors.contains("0x42"))
        let json = try await scan("who=0x42", "--json")
        let report = try #require(try JSON.object(json.output))
        #expect(json.status == 69 && report["choice"] == nil)
    }

    @Test func whereNobodyAnswersTheWiresAreToBeChecked() async throws {
        let outcome = try await scan("address=0x40")
        #expect(outcome.status == 69 && outcome.errors.contains("check the four wires"), "\(outcome.errors)")
        let json = try await scan("address=0x40", "--json")
        let buses = try #require(try JSON.object(json.output)?["buses"] as? [[String: Any]])
        let chips = try #require(buses.first?["chips"] as? [[String: Any]])
        #expect(chips.map { $0["found"] as? Bool } == [false, false])
    }

    @Test func aStuckBusIsNoSilence() async throws {
        let outcome = try await scan("fail=1x100:ETIMEDOUT")
        #expect(outcome.status == 69 && outcome.errors.contains("stuck"), "\(outcome.errors)")
    }

    @Test func withoutPermissionTheStatusIs77AndTheGroupIsNamed() async throws {
        let outcome = try await scan("open=EACCES")
        #expect(outcome.status == 77 && outcome.errors.contains("usermod -aG i2c"), "\(outcome.errors)")
        let run = try await jostle("run", "--set", "sensor.bus=\(bus)", fake: (bus, "open=EACCES"))
        #expect(run.status == 77 && run.errors.contains("usermod -aG i2c"), "\(run.errors)")
    }

    @Test func aKernelDriverThatOwnsTheChipIsNamed() async throws {
        let outcome = try await scan("busy")
        #expect(outcome.status == 69 && outcome.errors.contains("kernel driver"), "\(outcome.errors)")
    }

    @Test func withoutTheBusTheAdviceSaysHowToEnableIt() async throws {
        let outcome = try await jostle("scan", "--bus", "/dev/i2c-99999")
        #expect(outcome.status == 69 && outcome.errors.contains("raspi-config"), "\(outcome.errors)")
    }

    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func withoutAnyBusTheAdviceSaysHowToEnableIt() async throws {
        for command in ["scan", "run"] {
            let outcome = try await jostle(command)
            #expect(outcome.status == 69 && outcome.errors.contains("raspi-config"), "\(outcome.errors)")
        }
    }
}
