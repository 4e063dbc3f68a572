internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle machine`: shows how the machine is that carries a board, and its runs; tells the board what it need not learn.
enum MachineCommand {
    static let usage = CommandUsage(
        name: "machine", summary: "show the machine that carries a board and its runs, or say how it is now",
        details: """
            Without WORD, the machine's phase, its last minute and its last runs. off and running say how it is now, so that the
            board need not learn it by itself; fine says that what deviates from earlier runs is as it should be; learn asks
            for the two states, one after the other. off and running need the command machine in commands.allow.
            The command is sent over mqtt.broker to this machine's agent, or to the one that --on names. --check needs neither:
            it says what the board would have reported in a recording.
            """,
        operands: [Operand("WORD", help: "off, running, fine or learn", isRequired: false)],
        options: CommandUsage.configurationOptions + [
            Option("on", value: "ID", help: "the agent with this device.id, wherever it runs"),
            Option("check", value: "FILE", help: "say when the machine runs in this recording"),
            Option("json", help: "print the answer as JSON"),
        ])

    /// Seconds within which the agent must answer.
    private static let answerTime = 5.0

    static func run(_ arguments: Arguments) throws {
        let word = arguments.operand(0)
        if let path = arguments.value("check") {
            guard word == nil, !arguments.has("on") else {
                throw Failure(.usage, "--check goes neither with \(word ?? "--on") nor with another board")
            }
            return try check(path, try Configuration.load(arguments, boardFile: .optional).settings.motion)
        }
        let words = MachineStatement.allCases.map(\.word) + ["learn"]
        if let word, !words.contains(word) {
            throw Failure(
                .usage,
                "\(word) is not a word for a machine: \(words.joined(separator: ", "))"
                    + EditDistance.suggestion(for: word, among: words))
        }
        let signals = SignalWaiter()
        let device = try RemoteDevice(arguments)
        let id = device.id
        func ask(_ now: String?) throws -> RemoteAnswer {
            var request = JSONObject()
            request.add("now", now)
            return try device.carryOut("machine", request, within: answerTime, signals: signals)
        }
        if word == "learn" { return try learn(id, Dialogue(signals: signals), ask) }
        let answer = try ask(word)
        if arguments.has("json") { return Output.line(String(decoding: answer.payload, as: UTF8.self)) }
        if let word { return Output.line("\(id): \(said(word))") }
        Output.text(text(of: answer, id))
    }

    private static func said(_ word: String) -> String {
        switch MachineStatement(word: word) {
        case .off: "noted: this is what it is like when it is off"
        case .running: "noted: this is what it is like when it runs"
        case .fine, nil: "noted: it is as it should be"
        }
    }

    /// Asks for the two states, one after the other.
    private static func learn(_ id: String, _ dialogue: Dialogue, _ ask: (String?) throws -> RemoteAnswer) throws {
        guard dialogue.isInteractive else {
            throw Failure(.usage, "learn needs a terminal; without one, use off and running")
        }
        for (word, question) in [
            ("off", "Is the machine off, and has it been for ten seconds?"),
            ("running", "Start it. Has it been running for half a minute?"),
        ] {
            guard try dialogue.ask(question) else {
                return dialogue.say("\(id): nothing more was noted")
            }
            _ = try ask(word)
            dialogue.say("\(id): \(said(word))")
        }
    }

    /// The answer for people. What a board says is not to be trusted.
    private static func text(of answer: RemoteAnswer, _ id: String) -> String {
        var text = "\(id): has not measured a machine yet\n"
        if let state = answer.value("state") {
            let learning = state["confidence"]?.text == "learning" ? ", the board is still learning it" : ""
            var words = ForeignText.excerpt(state["phase"]?.text ?? "unknown")
            if let seconds = state["duration"]?.number { words += " for \(durationText(seconds))" }
            if let quiet = state["quiet_for"]?.number { words += ", quiet for \(durationText(quiet))" }
            text = "\(id): \(words)\(learning)\n"
            if let deviation = state["deviation"], let octave = deviation["octave"]?.number,
                let decibels = deviation["decibels"]?.number
            {
                let change = "\(decimal(abs(decibels), 1)) dB \(decibels > 0 ? "more" : "less") than in earlier runs"
                text += "not as it was: \(change) from \(decimal(octave, 1)) to \(decimal(2 * octave, 1)) Hz\n"
            }
        }
        let rows = (answer.value("runs")?.elements ?? []).suffix(20).map { run in
            [
                String(WallClock.dateAndTime(milliseconds: run["t"]?.integer ?? 0).prefix(16)),
                durationText(run["duration"]?.number ?? 0), durationText(run["longest_pause"]?.number ?? 0),
                "\(decimal(run["peak"]?.number ?? 0, 2)) m/s²", run["spun"]?.bool == true ? "yes" : "no",
            ]
        }
        let header = ["ended", "ran", "longest pause", "peak", "spun"]
        return text + (rows.isEmpty ? "no run so far\n" : TextTable([header] + rows).description)
    }

    // MARK: Recordings

    /// Says when the machine runs in a recording.
    private static func check(_ path: String, _ settings: MotionSettings) throws {
        var reader = try RecordingReader(path: path)
        var settings = settings
        settings.gestures.vibration.common.isEnabled = true
        var pipeline = MotionPipeline(settings: settings, unknownRanges: reader.unknownRanges)
        pipeline.noiseDensity = reader.noiseDensity
        var hasRun = false
        func say(_ event: GestureEvent) {
            guard event.gesture == .vibration else { return }
            hasRun = true
            Output.line("\(reader.timeText) s: \(EventRow.sentence(event))")
        }
        while let sample = try reader.next() {
            pipeline.process(sample) { say($0) }
            guard let report = pipeline.takeMachineReport() else { continue }
            var words = "\(report.phase.word)\(report.isLearning ? ", learning" : "")"
            if let measurement = report.measurement, report.phase == .running {
                words += ", \(level(measurement.acceleration, above: measurement.accelerationNoise, decimals: 3)) m/s²"
                let noise = measurement.velocityNoise * 1000
                words += ", \(level(measurement.velocity * 1000, above: noise, decimals: 2)) mm/s"
                if measurement.lineLevels[0] > 0 {
                    words += ", strongest line \(decimal(Double(measurement.lineFrequencies[0]), 1)) Hz"
                }
            }
            if let deviation = report.deviation {
                words +=
                    ", deviates by \(decimal(Double(deviation.decibels), 1)) dB from \(decimal(deviation.octave, 1)) Hz"
            }
            Output.line("\(reader.timeText) s: \(words)")
        }
        pipeline.cancelGestures(.stopped) { say($0) }
        if !hasRun { Output.line("no machine was seen to begin or end") }
    }

    /// A level in words: below the sensor's noise it is 0.
    private static func level(_ value: Double, above noise: Double, decimals: Int) -> String {
        value > 0 ? decimal(value, decimals) : "below \(decimal(noise, decimals))"
    }
}
