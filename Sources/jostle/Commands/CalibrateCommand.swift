internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `jostle calibrate`: leads somebody through finding out a chip's errors, or how it is mounted.
///
/// What is found is shown beside what it was, and stored only where that is wanted; everything up to there leaves the
/// state directory as it is.
enum CalibrateCommand {
    /// What can be calibrated.
    enum Subject: String, CaseIterable {
        case gyro
        case accelerometer
        case gyroScale = "gyro-scale"
        case mount
        case level

        /// What is to be done for it, and what comes of it.
        var summary: String {
            switch self {
            case .gyro: "lie still for 10 s: the gyroscope's bias"
            case .accelerometer:
                "lie still in eight orientations, in any order: offset, scale and cross-axis sensitivity"
            case .gyroScale: "be turned from rest to rest about three axes: the gyroscope's scale and misalignment"
            case .mount: "lie as it is mounted, then be tipped forward: prints sensor.mount_matrix"
            case .level: "lie as it should read zero: its inclination becomes the stored reference attitude"
            }
        }
    }

    static let usage = CommandUsage(
        name: "calibrate", summary: "find out the chip's errors, or how it is mounted, by laying and turning the board",
        details: """
            WHAT is one of these, and the board has to
            \(CommandUsage.table(Subject.allCases.map { ($0.rawValue, $0.summary) }))
            Begin with gyro, then accelerometer, then gyro-scale, which needs what came before. What is found is kept for
            the chip in the state directory, and every later run uses it; `level` is used where attitude.reference is
            stored. mount stores nothing: the mounting belongs into the configuration.

            Nothing is stored without a yes, or --yes where there is no terminal. Ctrl-C leaves everything as it was, with
            exit status 75, as does the end of --for. The service has the chip while it runs, and its own state directory:

              sudo systemctl stop jostle
              sudo -u jostle env STATE_DIRECTORY=/var/lib/jostle jostle calibrate gyro
              sudo systemctl start jostle
            """,
        operands: [
            CommandUsage.Operand(name: "WHAT", help: Subject.allCases.map(\.rawValue).joined(separator: ", "))
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "poses", value: "N", help: "accelerometer: how many poses, 6 to 20; 8 by default"),
            CommandUsage.Option(
                name: "full-turns", value: "N", help: "gyro-scale: also N times all the way round the vertical at once"),
            CommandUsage.Option(name: "yes", help: "store what was found without asking"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "give up after this time; 900 by default"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let subject = Subject(rawValue: word) else {
            let known = Subject.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "there is no calibration \"\(word)\"; there are \(known)")
        }
        let poses = try arguments.count("poses", within: 6...20) ?? 8
        let fullTurns = try arguments.count("full-turns", within: 1...20) ?? 0
        let limit = try arguments.seconds("for") ?? 900
        let settings = try Configuration.load(arguments).settings
        let dialogue = Dialogue(signals: signals)
        defer { dialogue.end() }
        let bench = try CalibrationBench(
            settings, dialogue: dialogue, limit: limit, storesWithoutAsking: arguments.has("yes"))
        dialogue.say("Sensor: \(bench.title)")
        switch subject {
        case .gyro: try gyroscopeBias(bench)
        case .accelerometer: try accelerometer(bench, poses: poses)
        case .gyroScale: try gyroscopeScale(bench, fullTurns: fullTurns)
        case .mount: try mount(bench)
        case .level: try level(bench)
        }
    }
}
