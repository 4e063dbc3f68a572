import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle calibrate` estimates a chip's errors while the user moves the board, reports them before and
/// after, and stores nothing without consent.
@Suite(.needsProgram) struct CalibrateTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let state: String

    init() throws {
        state = directory.path("state")
    }

    /// Starts a calibration of the virtual chip. The low rate leaves it time on a machine that is busy with other
    /// tests.
    private func start(_ subject: String, _ trajectory: String, _ options: String...) throws -> JostleProgram {
        let settings = ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"]
        return try rig.run(
            ["calibrate", subject] + settings.flatMap { ["--set", $0] } + options,
            environment: ["STATE_DIRECTORY": state])
    }

    /// The text of a file in the state directory; `nil` if it does not exist.
    private func stored(_ path: String) -> String? {
        try? String(contentsOfFile: "\(state)/\(path)", encoding: .utf8)
    }

    private var hasStoredNothing: Bool { !FileManager.default.fileExists(atPath: state) }

    /// The numbers before the words "before" and "after" in the line that begins with `start`.
    private func figures(_ start: String, in output: String) throws -> (before: Double, after: Double) {
        let line = try #require(output.split(separator: "\n").first { $0.hasPrefix(start) }, "\(output)")
        let match = try #require(line.firstMatch(of: /([\d.]+)\S* ?\S* before, (?:by )?([\d.]+)\S* ?\S* after/))
        return (try #require(Double(match.1)), try #require(Double(match.2)))
    }

    // MARK: Results

    @Test func restEstimatesGyroscopeBias() async throws {
        let program = try await start("gyro", "rest", "--yes").outcome().expect(status: 0)
        let rates = try figures("At rest it reads", in: program.output)
        #expect(rates.before > 2 && rates.after < 0.05, "\(program.output)")
        #expect(program.output.contains("Stored in \(state)/calibration/virtual.txt"))
        #expect(stored("calibration/virtual.txt")?.contains("gyroscope-source rest: 10 s\n") == true)
        // The output is not a terminal, so it contains no control characters.
        #expect(!program.output.contains("\u{1B}") && !program.output.contains("\r") && program.errors.isEmpty)
    }

    @Test func posesEstimateAccelerometerErrors() async throws {
        let program = try await start("accelerometer", "calibration-poses", "--yes").outcome().expect(
            status: 0, output: "Pose 1 of 8: good; turn it onto a side it has not lain on yet, best with ",
            "Pose 8 of 8: good\n")
        let errors = try figures("Gravity error", in: program.output)
        #expect(errors.before > 20 && errors.after < 2, "\(program.output)")
        #expect(stored("calibration/virtual.txt")?.contains("accelerometer-source poses: 8, ") == true)
    }

    @Test func turnsEstimateGyroscopeScale() async throws {
        let program = try await start("gyro-scale", "calibration-turns", "--yes", "--full-turns", "1").outcome().expect(
            status: 0, output: "The accelerometer is not calibrated yet", "; now turn it all the way round once\n",
            "good, all the way round once\n")
        let errors = try figures("Gravity after a turn", in: program.output)
        #expect(errors.before > 1 && errors.after < 0.5, "\(program.output)")
        let turn = try figures("A turn of 360° reads", in: program.output)
        #expect(abs(turn.after - 360) < 1.5 && abs(turn.after - 360) <= abs(turn.before - 360), "\(program.output)")
        #expect(stored("calibration/virtual.txt")?.contains("gyroscope-source turns: ") == true)
    }

    @Test func twoPosesEstimateMountMatrix() async throws {
        let program = try await start("mount", "calibration-poses").outcome().expect(status: 0)
        let tilt = try figures("Level reads", in: program.output)
        #expect(tilt.before > 0.5 && tilt.after < 0.1, "\(program.output)")
        let line = try #require(program.output.firstMatch(of: /\n  (mount_matrix: \[.*\])\n/)).1
        let file = try directory.write("sensor:\n  \(line)\n", to: "mounted.yaml")
        try await jostle("check-config", file).expect(status: 0)
        #expect(hasStoredNothing)
    }

    @Test func levelReferenceAppliesFromNextStart() async throws {
        let tilted = try directory.write(Recording.tilted, to: "tilted.csv")
        let program = try await start("level", tilted, "--yes").outcome().expect(status: 0)
        let tilt = try figures("Tilt", in: program.output)
        #expect(abs(tilt.before - 30) < 6 && tilt.after == 0)
        #expect(program.output.contains("attitude.reference: stored in the configuration"))
        #expect(stored("reference-attitude") != nil)
        // Against the stored reference, the same board is level.
        let again = try await start("level", tilted, "--set", "attitude.reference=stored").outcome().expect(status: 0)
        #expect(try figures("Tilt", in: again.output).before < 0.3, "\(again.output)")
    }

    // MARK: Refusals

    @Test func storesNothingWithoutTerminalOrYes() async throws {
        try await start("level", "rest").outcome().expect(
            status: 0, output: "Not stored: there is no terminal for confirmation, and --yes was not given.")
        #expect(hasStoredNothing)
    }

    @Test func refusesMovingBoard() async throws {
        let program = try await start("gyro", "demo", "--yes", "--for", "12").outcome().expect(status: 75)
        #expect(
            program.output.contains(/Rest: it moves: (\d+ °\/s|it is shaken); starting again/), "\(program.output)")
        #expect(program.errors.contains("the time is up, and it "), "\(program.errors)")
        #expect(hasStoredNothing)
    }

    /// A board turned about the vertical only has the same pose as before, which adds no information.
    @Test func refusesRepeatedPose() async throws {
        let spun = try directory.write(Recording.spun, to: "spun.csv")
        try await start("accelerometer", spun, "--yes", "--for", "14").outcome().expect(
            status: 75, output: "Pose 1 of 8: good; turn it onto a side it has not lain on yet",
            "Pose 2 of 8: refused, only 0° from pose 1; turn it further")
        #expect(hasStoredNothing)
    }

    /// The board is in motion, so that no result precedes the interrupt, however late that comes.
    @Test func interruptChangesNothing() async throws {
        let program = try start("gyro", "walk", "--yes")
        #expect(await eventually { program.output.contains("Lay the board still") })
        program.signal(SIGINT)
        #expect(await program.exitStatus() == 75)
        #expect(program.errors.contains("interrupted: nothing was changed"))
        #expect(hasStoredNothing)
    }

    @Test(arguments: [("n", false), ("maybe\ny", true)])
    func asksAtTerminal(answer: String, isStored: Bool) async throws {
        let terminal = try Terminal()
        let settings = ["sensor.driver=virtual", "sensor.trajectory=rest", "sensor.rate=50Hz"]
        let child = try rig.run(
            on: terminal, in: directory,
            [
                "STATE_DIRECTORY=\(state)", "JOSTLE_CONFIG=/dev/null", Products.program.path, "calibrate", "level",
            ] + settings.flatMap { ["--set", $0] })
        #expect(await eventually { terminal.text.contains("Store this? [y/n]") })
        #expect(terminal.text.contains("Level: [###"), "\(terminal.text)")
        #expect(hasStoredNothing)
        terminal.write(answer + "\n")
        #expect(await terminal.exitStatus(of: child) == 0)
        #expect((stored("reference-attitude") != nil) == isStored, "\(terminal.text)")
    }

    @Test func refusesSensorWithoutMagnetometer() async throws {
        let file = try FakeBus()
        try await JostleProgram(
            [
                "calibrate", "magnetometer", "--yes", "--set", "sensor.driver=mpu6050", "--set",
                "sensor.bus=\(file.path)",
            ],
            environment: ["STATE_DIRECTORY": state], fake: (file.path, "bcm2835")
        ).outcome().expect(
            status: 69, errors: "has no magnetometer; MPU-9250, MPU-9255, ICM-20948 and LSM9DS1 have one")
        #expect(hasStoredNothing)
    }

    // MARK: Arguments

    @Test(
        arguments: [
            (["calibrate"], "WHAT is missing"), (["calibrate", "barometer"], "unknown calibration \"barometer\""),
            (["calibrate", "accelerometer", "--poses", "5"], "--poses is \"5\", not an integer from 6 to 20"),
            (["calibrate", "gyro-scale", "--full-turns=x"], "--full-turns is \"x\""),
        ])
    func usageErrorsAreStatus64(words: [String], message: String) async throws {
        let program = try await JostleProgram(words).outcome().expect(status: 64)
        #expect(program.errors.hasPrefix("jostle: \(message)"), "\(program.errors)")
    }

    @Test func unwritableDirectoryIsStatus73() async throws {
        try await JostleProgram(
            ["calibrate", "level", "--yes", "--set", "sensor.driver=virtual", "--set", "sensor.trajectory=rest"],
            environment: ["STATE_DIRECTORY": "/dev/null/state"]
        ).outcome().expect(status: 73, errors: "/dev/null/state")
    }
}

/// Requirement: the next run uses and reports the calibration; if the chip is in use, the error says what to do.
@Suite(.needsBroker) struct CalibratedRunTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private static let calibration = """
        jostle calibration 1
        accelerometer-source poses: 9, residual: 0.40 mg
        accelerometer-offset 0.0 0.0 0.0
        accelerometer-matrix 2.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
        gyroscope-source turns: 6, residual: 0.20 degrees
        gyroscope-bias 0.0 0.0 0.0
        gyroscope-bias-slope 0.0 0.0 0.0
        gyroscope-temperature 25.0
        gyroscope-matrix 1.0 0.0 0.0 0.0 1.0 0.0 0.0 0.0 1.0
        learnt-scale 0.001 0.0 0.0 0.0 -0.0123 0.0 0.0 0.0 0.002
        learnt-scale-deviation 0.0005 0.002 0.002 0.002 0.0004 0.002 0.002 0.002 0.0006
        magnetometer-source readings: 312, residual: 0.45 uT, heading: 0.8 degrees
        magnetometer-hard-iron -31.5 12.25 210.0
        magnetometer-matrix 1.04 -0.02 0.01 -0.03 0.96 0.0 0.01 0.005 1.1
        magnetometer-strength 48.75
        magnetometer-dip -1.125
        end

        """

    /// An agent on a virtual chip that shakes with 2 g along x, with the test's state directory.
    private func agent(_ broker: TestBroker, state: String) throws -> JostleProgram {
        try rig.virtualAgent(
            broker: broker.port, "shake", ["publish.health.interval=1 s", "log.level=info"], state: state)
    }

    @Test func appliesAndReportsCalibration() async throws {
        let broker = try await rig.broker()
        try directory.write(Self.calibration, to: "calibration/virtual.txt")
        let observer = try await Observer(broker.port)
        let agent = try agent(broker, state: directory.path)
        #expect(
            await agent.logs(
                "calibrated: accelerometer (poses: 9, residual: 0.40 mg), gyroscope (turns: 6, residual: 0.20 degrees), "
                    + "magnetometer (readings: 312, residual: 0.45 uT, heading: 0.8 degrees)"),
            "\(agent.errors)")
        await observer.expect { try $0.shakes().contains { $0.phase == "ended" } && $0.texts("health").count > 1 }
        // The calibration doubles x, so 2 g along x read 4 g.
        let strengths = try observer.objects("event/shake").compactMap { $0["strength"] as? Double }
        #expect((strengths.max() ?? 0) > 30, "\(strengths)")
        let health = try #require(try observer.objects("health").last?["calibration"] as? [String: String])
        #expect(health["accelerometer"] == "poses: 9, residual: 0.40 mg")
        #expect(health["gyroscope"] == "turns: 6, residual: 0.20 degrees")
        #expect(health["magnetometer"] == "readings: 312, residual: 0.45 uT, heading: 0.8 degrees")
        #expect(health["learnt_scale"] == "elements: 3 of 9, largest: -1.23 %, uncertainty: 0.06 %")
        #expect(await agent.terminate() == 0)
    }

    @Test func reportsNothingWithoutCalibration() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, state: directory.path("none"))
        #expect(await agent.logs("the chip is not calibrated"), "\(agent.errors)")
        #expect(await observer.sees { $0.messages("health").count > 1 })
        #expect(try observer.objects("health").allSatisfy { $0["calibration"] == nil })
        #expect(await agent.terminate() == 0)
    }

    @Test func logsAndIgnoresTornCalibration() async throws {
        let broker = try await rig.broker()
        try directory.write(String(Self.calibration.dropLast(9)), to: "calibration/virtual.txt")
        let agent = try agent(broker, state: directory.path)
        #expect(await agent.logs("calibration/virtual.txt: the calibration is damaged"), "\(agent.errors)")
        #expect(await agent.logs("the chip is not calibrated"))
        #expect(await agent.terminate() == 0)
    }

    @Test(.needsFakeAdapter) func explainsChipInUse() async throws {
        let broker = try await rig.broker()
        let file = try FakeBus()
        defer { file.remove() }
        let bus = file.path
        let agent = try rig.agent(broker: broker.port, ["sensor.bus=\(bus)"], fake: (bus, ""))
        #expect(await agent.logs("reading MPU-6050"), "\(agent.errors)")
        try await jostle("calibrate", "gyro", "--set", "sensor.bus=\(bus)", fake: (bus, "")).expect(
            status: 69, errors: "jostle (process \(agent.processIdentifier)) uses it",
            "sudo systemctl stop jostle, calibrate, sudo systemctl start jostle")
        #expect(await agent.terminate() == 0)
    }
}
