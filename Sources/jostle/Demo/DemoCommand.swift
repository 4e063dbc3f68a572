internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionKit

/// `jostle demo`: the agent with a live view; substitutes a missing sensor, and does not disturb the service.
enum DemoCommand {
    static let usage = CommandUsage(
        name: "demo",
        summary: "run with a live view; on a virtual sensor if there is none, with a private broker",
        details: """
            A demonstration does not disturb the service on the same board: it has an id of its own, demo-…, a private
            broker, temporary state, no actions and no Home Assistant discovery. Sensor, attitude and gestures are those
            of the configuration of this board. If the chip is missing or in use, a virtual one replaces it.

            A web page shows the same live, with the address that is printed first: at 127.0.0.1:8088, or at a free port if
            that is in use. It needs the program jostle-page, and the private broker. --set page.listen=HOST:PORT and the
            other keys of the section page apply to it.

            With --broker or --set mqtt.broker=URL it publishes there; with --config FILE, everything but the id is that
            of the file. Ctrl-C or q stops it. Without a terminal it prints lines.
            """,
        options: CommandUsage.configurationOptions + [
            BrokerArgument.option,
            Option("for", value: "SECONDS", help: "stop after this time"),
            Option("no-page", help: "start no web page"),
        ])

    static func run(_ arguments: Arguments) throws {
        let seconds = try arguments.seconds("for")
        var configuration = try DemoConfiguration.load(arguments)
        let signals = SignalWaiter()
        let isTold = configuration.loaded.isArgument("sensor.driver")
        if let reason = DemoSensor.substitute(in: &configuration.loaded, isTold: isTold) {
            configuration.missingSensor = reason
        }
        let settings = arguments.has("no-page") ? nil : arguments.values("set").filter { $0.hasPrefix("page") }
        try LiveRun.run(configuration, for: seconds, pageSettings: settings, signals: signals)
    }
}

/// Runs the agent with a view in the terminal and a temporary state directory.
enum LiveRun {
    /// `pageSettings` are those of a web page beside it, `key=value`; `nil` for none.
    static func run(
        _ configuration: DemoConfiguration, for seconds: Double?, pageSettings: [String]? = nil, signals: SignalWaiter
    ) throws {
        var loaded = configuration.loaded
        let last = configuration.missingSensor.map(DemoScreen.LastLine.init)
        for note in [last?.text].compactMap({ $0 }) + configuration.notes { Output.line(Glyphs.ofTerminal.clean(note)) }
        let state = try RunState(nil, name: "demo")
        defer { state.remove() }
        let login = loaded.settings.mqtt.broker == .embedded ? try DemoLogin(in: state.path, loaded.settings) : nil
        login?.apply(to: &loaded.settings.mqtt)
        let view = LiveView(prefix: loaded.settings.mqtt.prefix)
        let agent = try Agent(
            configuration: loaded, version: version, stateDirectory: state.path,
            log: Log(level: min(.warning, loaded.settings.log.level)), observer: view.observer)
        var notes = configuration.notes
        let page = pageSettings.flatMap { settings in
            startPage(settings, login, loaded, agent, state, &notes, signals)
        }
        view.begin(agent: agent, login: login, page: page, notes: notes, last: last)
        defer {
            view.end()
            page?.stop()
        }
        try agent.run(for: seconds, signals: signals)
    }

    /// Starts the page at the private broker. At another one, it would show and control the boards of others.
    private static func startPage(
        _ settings: [String], _ login: DemoLogin?, _ loaded: LoadedConfiguration, _ agent: Agent, _ state: RunState,
        _ notes: inout [String], _ signals: SignalWaiter
    ) -> DemoPage? {
        guard let login, let broker = agent.brokers.first else { return nil }
        do {
            let plan = DemoPage.Plan(
                broker: broker, prefix: loaded.settings.mqtt.prefix, settings: login.settings + settings,
                hasAddress: loaded.isArgument("page.listen"), directory: "\(state.path)/page")
            return try DemoPage(plan, signals: signals)
        } catch {
            if !signals.isPending {
                let note = "No web page: \(error)"
                Output.line(Glyphs.ofTerminal.clean(note))
                notes.append(note)
            }
            return nil
        }
    }
}

/// The sensor of a demonstration: the configured one if it can be used now, else a virtual one.
enum DemoSensor {
    /// Makes the configuration use a virtual chip if the configured one is missing or in use, for example by the service.
    /// A driver from the command line stays.
    ///
    /// - Returns: why the sensor is virtual; `nil` if it is not, or if that was requested.
    static func substitute(in configuration: inout LoadedConfiguration, isTold: Bool) -> String? {
        let settings = configuration.settings
        guard !isTold, settings.sensor.driver != .virtual else { return nil }
        let reason: String
        do {
            // A chip that another process has locked is not accessed.
            _ = try settings.sensorSelection.open(settings.imu)
            return nil
        } catch {
            reason = error.description(in: .agent)
        }
        configuration.settings.sensor.driver = .virtual
        configuration.settings.sensor.trajectory = JostleSettings.Sensor().trajectory
        configuration.settings.imu.assumedIdentity = nil
        return reason
    }
}

/// The login with which programs of this user reach the private broker of a demonstration: nobody else on the machine can
/// command its agent.
struct DemoLogin {
    private let userName: String

    /// The directory of its files, which only this user can enter.
    private let directory: String

    /// The file whose first line is the password.
    private var passwordFile: String { "\(directory)/password" }

    /// Writes its files into a directory that only this user can enter. What `settings` do not say, it makes.
    ///
    /// - Throws: status 78 if the files of `settings` cannot be read, 73 if its own cannot be written.
    init(in directory: String, _ settings: JostleSettings) throws {
        self.directory = directory
        let login = try settings.login()
        userName = login?.userName ?? "demo"
        let password = login?.password ?? BoardEnrolment.newPassword()
        let options = "-u \(userName)\n-P \(password)\n"
        let files = ["password": "\(password)\n", "mosquitto_sub": options, "mosquitto_pub": options]
        for (name, text) in files {
            try Failure.about("\(directory)/\(name)", .cannotCreate) {
                try FileContents.create("\(directory)/\(name)", with: Array(text.utf8), mode: 0o600)
            }
        }
    }

    /// Makes an agent use it, and the broker that it starts ask for it.
    func apply(to mqtt: inout JostleSettings.MQTT) {
        (mqtt.username, mqtt.passwordFile) = (userName, passwordFile)
    }

    /// The settings with which another program uses it: `key=value`.
    var settings: [String] { ["mqtt.username=\(userName)", "mqtt.password_file=\(passwordFile)"] }

    /// What precedes mosquitto_sub or mosquitto_pub, which read options from a file of their name: on the command line every
    /// user would see a password.
    var environment: String { "\(privilege)XDG_CONFIG_HOME=\(DemoLogin.word(directory)) " }

    /// What precedes a command that reads the files: with sudo they are those of root.
    var privilege: String { geteuid() == 0 && Configuration.variable("SUDO_USER") != nil ? "sudo " : "" }

    /// A word as it is typed in a shell.
    static func word(_ text: String) -> String {
        let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || "/._-=".contains($0) }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }

    /// How a person logs in with other programs.
    var description: String { "\(userName), with the password in \(passwordFile)" }
}
