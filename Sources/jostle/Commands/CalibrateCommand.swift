internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `jostle calibrate`: guides the user through measuring a chip's errors or its mounting.
///
/// It shows the new values beside the old and stores them only with the user's consent; until then the state directory
/// does not change.
enum CalibrateCommand {
    /// What can be calibrated.
    enum Subject: String, CaseIterable {
        case gyro
        case accelerometer
        case gyroScale = "gyro-scale"
        case magnetometer
        case mount
        case level

        /// Other words for it, which some people know it by.
        var otherNames: [String] {
            switch self {
            case .gyro: ["gyroscope"]
            case .accelerometer: ["accel"]
            case .gyroScale: ["gyroscope-scale"]
            case .magnetometer: ["mag", "compass"]
            case .mount: ["mounting"]
            case .level: []
            }
        }

        /// The subject that a word means; `nil` if there is none.
        init?(word: String) {
            let known = Subject.allCases.first { $0.rawValue == word || $0.otherNames.contains(word) }
            guard let known else { return nil }
            self = known
        }

        /// What the user does with the board, and the result.
        var summary: String {
            switch self {
            case .gyro: "lay it still for 10 s; measures the gyroscope's bias"
            case .accelerometer:
                "lay it still in eight orientations, in any order; measures offset, scale and cross-axis sensitivity"
            case .gyroScale:
                "turn it from rest to rest about three axes; measures the gyroscope's scale and misalignment"
            case .magnetometer: "turn it slowly in all directions; measures hard iron and soft iron of the magnetometer"
            case .mount: "place it as it is mounted, then tip it forward; prints sensor.mount_matrix"
            case .level: "lay it as it should read zero; stores its inclination as the reference attitude"
            }
        }
    }

    static let usage = CommandUsage(
        name: "calibrate", summary: "measure the chip's errors or its mounting by laying and turning the board",
        details: """
            WHAT is one of these:
            \(CommandUsage.table(Subject.allCases.map { ($0.rawValue, $0.summary) }))
            Begin with gyro, then accelerometer, then gyro-scale, which needs the results of both, then magnetometer, if
            there is one, where the board is used. The state directory
            keeps the result for the chip, and every later run uses it; the result of level is used if
            attitude.reference is stored. mount stores nothing: set the mounting in the configuration.

            Nothing is stored without confirmation or --yes; without a terminal --yes is required. Ctrl-C and the end of
            --for leave everything unchanged, with exit status 75. The service occupies the chip while it runs, and has
            its own state directory:

              sudo systemctl stop jostle
              sudo -u jostle env STATE_DIRECTORY=/var/lib/jostle jostle calibrate gyro
              sudo systemctl start jostle
            """,
        operands: [
            CommandUsage.Operand(
                name: "WHAT", help: Subject.allCases.map(\.rawValue).joined(separator: ", "),
                suggestions: .words(Subject.allCases.map(\.rawValue)))
        ],
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(
                name: "poses", value: "N", help: "accelerometer: the number of poses, 6 to 20; 8 by default"),
            CommandUsage.Option(
                name: "full-turns", value: "N", help: "gyro-scale: also one turn of N revolutions about the vertical"),
            CommandUsage.Option(name: "yes", help: "store the result without asking"),
            CommandUsage.Option(name: "for", value: "SECONDS", help: "give up after this time; 900 by default"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let subject = Subject(word: word) else {
            let known = Subject.allCases.map(\.rawValue)
            let suggestion = EditDistance.suggestion(for: word, among: known)
            throw CommandFailure(
                .usage, "unknown calibration \"\(word)\"; there are \(known.joined(separator: ", "))\(suggestion)")
        }
        let poses = try arguments.count("poses", within: 6...20) ?? 8
        let fullTurns = try arguments.count("full-turns", within: 1...20) ?? 0
        let limit = try arguments.seconds("for") ?? 900
        let settings = try Configuration.load(arguments).settings
        let dialogue = Dialogue(signals: signals)
        defer { dialogue.end() }
        if subject == .magnetometer {
            return try magnetometer(
                settings, dialogue: dialogue, limit: limit, storesWithoutAsking: arguments.has("yes"))
        }
        let measurement = try CalibrationMeasurement(
            settings, dialogue: dialogue, limit: limit, storesWithoutAsking: arguments.has("yes"))
        dialogue.say("Sensor: \(measurement.title)")
        switch subject {
        case .gyro: try gyroscopeBias(measurement)
        case .accelerometer: try accelerometer(measurement, poses: poses)
        case .gyroScale: try gyroscopeScale(measurement, fullTurns: fullTurns)
        case .magnetometer: break
        case .mount: try mount(measurement)
        case .level: try level(measurement)
        }
    }
}
