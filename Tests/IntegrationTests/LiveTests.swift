import BrokerTestSupport
import Foundation
import Testing

/// Requirement: everything can be tried without hardware and without a broker.
@Suite(.needsBroker) struct LiveTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    @Test func demoPrintsHowToSubscribe() async throws {
        let outcome = try await jostle(
            "demo", "--for", "3", "--set", "sensor.driver=virtual", "--set", "sensor.rate=50Hz", "--set",
            "device.id=dut"
        ).expect(status: 0)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
        let listen = try #require(
            outcome.output.firstMatch(
                of: /Listen: XDG_CONFIG_HOME=\S+ mosquitto_sub -h 127\.0\.0\.1 -p (\d+) -v -t 'jostle\/dut\/event\/#'/))
        #expect(outcome.output.contains("connected to mqtt://127.0.0.1:\(listen.1)"))
        #expect(outcome.output.contains("attitude  roll"))
        // The output is not a terminal, so it contains no control characters.
        #expect(!outcome.output.contains("\u{1B}") && !outcome.output.contains("\r"))
        #expect(!Loopback.accepts(try #require(UInt16(listen.1))), "the broker outlived the demonstration")
    }

    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func demoUsesVirtualSensorWithoutHardware() async throws {
        let outcome = try await jostle("demo", "--for", "1").expect(status: 0)
        for line in [outcome.lines.first, outcome.lines.last] {
            let line = try #require(line)
            #expect(
                line.hasPrefix("No sensor: ") && line.hasSuffix("This one is virtual. More: jostle doctor"), "\(line)")
        }
    }

    @Test func recognisesSimulatedShake() async throws {
        let outcome = try await jostle("simulate", "shake", "--for", "6", "--set", "sensor.rate=50Hz").expect(
            status: 0, output: "shake began, axis x", "shake ended")
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
    }

    @Test func recordingCanBeReplayed() async throws {
        let file = directory.path("recording.csv")
        let recorded = try await jostle("record", file, "--for", "2", "--set", "sensor.driver=virtual").expect(
            status: 0)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("# accelerometer_range_m_s2: 78.45") && text.contains("# gyroscope_range_rad_s: 34.9"))
        #expect(text.contains("\nt_s,ax,ay,az,gx,gy,gz,temp_c\n0.0"))
        let rows = text.split(separator: "\n").filter { $0.first?.isNumber == true }.count
        #expect(recorded.errors.contains("\(rows) samples in \(file)") && rows > 10, "\(recorded.errors)")

        let replayed = try await jostle("replay", file, "--attitude", "-").expect(status: 0)
        #expect(replayed.lines.count == rows + 1, "\(replayed.errors)")
    }

    @Test func recordsToStandardOutputUntilSignal() async throws {
        let program = try rig.run(["record", "-", "--for", "120", "--set", "sensor.driver=virtual"])
        // The output is buffered and written when the buffer is full.
        #expect(await eventually { program.output.count > 4096 })
        #expect(await program.terminate() == 0)
        try await jostle("replay", "-", input: program.output).expect(status: 0)
    }

    @Test func unwritableRecordingIsStatus73() async throws {
        let path = directory.path("nowhere/recording.csv")
        let outcome = try await jostle("record", path, "--for", "30", "--set", "sensor.driver=virtual").expect(
            status: 73)
        #expect(outcome.errors.contains(path), "\(outcome.errors)")
    }
}
