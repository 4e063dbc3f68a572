internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages

/// `jostle doctor`: examines everything that a working agent needs, and says what to do about what is missing.
enum DoctorCommand {
    static let usage = CommandUsage(
        name: "doctor", summary: "examine sensor, board, broker and service, and say what to do about each problem",
        details: """
            It examines the service, if one reads this configuration, else what `jostle run` of this user would find. If
            the service has the chip, the chip itself is not examined: stop the service for that, and let the board lie
            still. With sudo it sees everything that the service sees.

            At the broker it connects with a client id of its own and publishes empty messages that nobody reads.
            Nothing is changed. The chip is asleep afterwards.

            The exit status is 0 if nothing failed, else that of the first failure: 78 for the configuration, 66 if it
            cannot be read, 77 for permissions, 69 for everything else. A warning is no failure.
            """,
        options: CommandUsage.configurationOptions + [
            CommandUsage.Option(name: "json", help: "print JSON"),
            CommandUsage.Option(
                name: "unit", value: "NAME", help: "examine this service of systemd, for example jostle@left.service"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let signals = SignalWaiter()
        let file = Configuration.file(arguments)
        let agent = ExaminedAgent(file: file, unitName: arguments.value("unit"))
        var report = DoctorReport(device: DeviceName.ofThisMachine(), subject: agent.subject)
        let settings = loadedSettings(arguments, file, agent, &report)
        if !arguments.has("json") {
            Output.line("Examining \(report.subject) on this board, device \(report.device): some seconds")
            Output.flush()
        }
        try examine(settings ?? JostleSettings(), isKnown: settings != nil, agent, signals, &report)
        if arguments.has("json") {
            Output.json(report.json.description)
        } else {
            Output.text(report.text)
            Output.line(report.summary)
            if let advice = report.advice { Output.line(advice) }
        }
        if report.status != .success {
            throw CommandFailure(report.status, "not everything works: \(report.summary)")
        }
    }

    /// The settings in force, with a finding; `nil` if the files are not valid.
    private static func loadedSettings(
        _ arguments: Arguments, _ file: String?, _ agent: ExaminedAgent, _ report: inout DoctorReport
    ) -> JostleSettings? {
        let loaded: LoadedConfiguration
        do throws(CommandFailure) {
            loaded = try Configuration.load(arguments)
        } catch {
            report.add(error.lines.map { .failed(.configuration, $0, [], status: error.status) })
            return nil
        }
        let layers = LayersInForce(upon: loaded, file: file, directory: agent.stateDirectory)
        report.device = layers.id
        let resolution = layers.stack.resolution
        let inForce = LoadedConfiguration(
            settings: resolution.settings, provenance: resolution.provenance, files: loaded.files)
        report.add(ConfigurationExamination.findings(inForce, isOfService: agent.unit != nil))
        return inForce.settings
    }

    /// Everything after the configuration. Without a valid one, what the defaults say about the broker is left out.
    private static func examine(
        _ settings: JostleSettings, isKnown: Bool, _ agent: ExaminedAgent, _ signals: SignalWaiter,
        _ report: inout DoctorReport
    ) throws(CommandFailure) {
        report.add(agent.findings)
        let sensor = SensorExamination(settings, reader: agent.reader)
        report.add(sensor.findings)
        report.add([BoardExamination.clock, BoardExamination.memory])
        let disk = BoardExamination.disk(of: agent.stateDirectory)
        report.add([BoardExamination.finding(disk, of: agent.stateDirectory)])
        report.add(StateExamination.findings(agent.stateDirectory, reader: agent.reader, unit: agent.unit))
        if let subject = sensor.subject {
            report.add(
                try SensorMeasurement.findings(
                    subject, settings, stateDirectory: agent.stateDirectory, signals: signals))
        }
        guard isKnown else {
            report.add([.unknown(.broker, "the broker is in the configuration, which cannot be used")])
            return
        }
        let broker = try BrokerExamination(
            settings, id: report.device, isRunning: agent.isRunning, signals: signals)
        report.add(broker.findings)
        if let device = broker.device {
            let topic = "\(settings.mqtt.prefix)/\(report.device)"
            report.add(AgentExamination.findings(device, topic: topic, isService: agent.isServiceRunning))
        }
    }
}
