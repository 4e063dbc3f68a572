import BrokerTestSupport
import Testing

/// Requirement: words that somebody mistypes are answered with those that were meant.
@Suite(.needsProgram) struct SuggestionTests {
    private let rig = Rig()

    @Test(arguments: [
        (["wach"], "did you mean \"watch\"?"), (["fleet", "lsit"], "did you mean \"list\"?"),
        (["demo", "--brokre", "x"], "did you mean \"--broker\"?"), (["simulate", "shaek"], "did you mean \"shake\"?"),
        (["calibrate", "gyrp"], "did you mean \"gyro\"?"), (["tune", "tpa"], "did you mean \"tap\"?"),
        (["scan", "--driver", "mpu9250"], "did you mean \"mpu6050\"?"),
        (["scan", "--driver", "bmi16"], "did you mean \"bmi160\"?"),
        (["config", "clear", "gestures.shake.sensitivty"], "did you mean \"gestures.shake.sensitivity\"?"),
    ])
    func suggestsWords(words: [String], suggestion: String) async throws {
        let program = try await JostleProgram(words).outcome().expect(status: 64)
        #expect(program.errors.contains(suggestion), "\(program.errors)")
    }

    @Test(.needsBroker) func suggestsDeviceAndMovement() async throws {
        let rig = try await AgentRig()
        let broker = ["--broker", "mqtt://127.0.0.1:\(rig.broker.port)"]
        for (words, status, text) in [
            (["simulate", "shake", "--on", "dtu"], Int32(69), "it knows dut; did you mean \"dut\"?"),
            (["simulate", "shaek", "--on", "dut"], 64, "did you mean \"shake\"?"),
            (["fleet", "show", "dtu"], 69, "did you mean \"dut\"?"),
        ] {
            let program = try await JostleProgram(words + broker).outcome()
            #expect(program.status == status)
            #expect(program.errors.contains(text), "\(program.errors)")
        }
    }
}
