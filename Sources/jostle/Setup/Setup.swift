internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionKit

/// The steps of `jostle setup`. What is asked is in `SetupQuestions`, what is written in `SetupFiles`.
struct Setup {
    let arguments: Arguments
    let dialogue: Dialogue
    let signals: SignalWaiter
    let files: SetupFiles

    /// Whether questions are asked.
    let asks: Bool

    /// The answers, by keys of the configuration.
    var answers: [String: String] = [:]

    /// The password, as far as one was given; `nil` to leave it as it is.
    var password: String?

    /// The keys that are answered, in the order of the file.
    private static let keys = [
        "device.id", "device.name", "device.area", "sensor.driver", "sensor.bus", "sensor.address", "mqtt.broker",
        "mqtt.username", "mqtt.password_file", "mqtt.ca_file", "home_assistant.discovery_form",
    ]

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        signals = SignalWaiter()
        dialogue = Dialogue(signals: signals)
        asks = dialogue.isInteractive && !arguments.has("yes")
        files = SetupFiles(directory: try arguments.value("output").map(Setup.absolute) ?? "/etc/jostle")
        if files.isSystem, geteuid() != 0 {
            throw Failure(
                .permission, "only root can write to /etc/jostle: sudo jostle setup, or --output DIR to try it out")
        }
        if let id = arguments.value("id") { try DeviceIDArgument.check(id, option: "id") }
        for key in ["id", "name", "area"] { take(key, as: "device.\(key)") }
        for key in ["driver", "bus", "address"] { take(key, as: "sensor.\(key)") }
        take("broker", as: "mqtt.broker")
        take("username", as: "mqtt.username")
        take("ca-file", as: "mqtt.ca_file")
        take("discovery-form", as: "home_assistant.discovery_form")
        if let path = arguments.value("password-file") { password = try Setup.password(in: path) }
        if let url = answers["mqtt.broker"] { answers["mqtt.broker"] = Setup.url(url) }
    }

    private mutating func take(_ option: String, as key: String) {
        if let value = arguments.value(option) { answers[key] = value }
    }

    // MARK: Steps

    mutating func run() throws {
        let before = try candidate()
        if arguments.has("calibrate"), before.settings.sensor.driver == .virtual {
            throw Failure(
                .usage, "--calibrate is for a sensor: the gyroscope of a virtual one has no errors to measure")
        }
        try findSensor()
        try findBroker(proposal: before)
        try nameDevice(proposal: before)
        let loaded = try write()
        try calibrate()
        try addUser()
        try startService(loaded)
    }

    /// The configuration as it would be with the answers so far.
    func candidate(password file: String? = nil) throws -> LoadedConfiguration {
        var overrides = Setup.keys.compactMap { key in answers[key].map { "\(key)=\($0)" } }
        if let file { overrides.append("mqtt.password_file=\(file)") }
        let isThere = access(files.configuration, F_OK) == 0 || access(files.answers, F_OK) == 0
        do {
            return try JostleSettings.load(file: isThere ? files.configuration : nil, overrides: overrides)
        } catch {
            switch error {
            case .unreadable: throw Failure(.noInput, "\(error)")
            case .invalid(let problems): throw Failure(.configuration, lines: problems.map(\.description))
            }
        }
    }

    /// Writes the answers, after a last question.
    private mutating func write() throws -> LoadedConfiguration {
        let current = try candidate()
        // What the files set already, and nobody changed, stays where it is, except in the file that is replaced.
        let kept = Setup.keys.filter { answers[$0] == nil && current.isSet($0, in: files.answers) }
        for key in kept { answers[key] = current.text(of: key) }
        if password != nil { answers["mqtt.password_file"] = files.passwordSetting }
        let values = Setup.keys.compactMap { key in answers[key].map { (key: key, value: $0) } }
        // An empty answer means none.
        let text = SetupFiles.text(values.filter { !$0.value.isEmpty })
        dialogue.say("\n\(files.answers):")
        for line in text.split(separator: "\n") where !line.hasPrefix("#") { dialogue.say("  \(line)") }
        if asks, try !dialogue.ask("Write this?") {
            throw Failure(.temporary, "nothing was written")
        }
        let loaded = try files.write(text, password: password)
        dialogue.say("Written." + (password == nil ? "" : " The password is in \(files.passwordFile), mode 600."))
        for (key, value) in values where loaded.text(of: key) != current.text(of: key) && key != "mqtt.password_file" {
            let place = loaded.file(of: key) ?? "another file"
            dialogue.say(
                "warning: \(place) also sets \(key), so that \(value.isEmpty ? "none" : value) is not in force")
        }
        return loaded
    }

    // MARK: Parts

    /// The first line of a file with a password.
    private static func password(in path: String) throws -> String {
        guard path == "-" else {
            do {
                return try JostleSettings.firstLine(ofFile: path)
            } catch {
                throw Failure(.noInput, "--password-file \(path): \(error.reason)")
            }
        }
        let line = readLine() ?? ""
        guard !line.isEmpty else { throw Failure(.noInput, "--password-file -: its first line is empty") }
        return line
    }

    /// A directory as an absolute path, because the configuration names a file in it.
    private static func absolute(_ path: String) throws -> String {
        guard !path.isEmpty else { throw Failure(.usage, "--output is empty, not a directory") }
        let path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        guard !path.hasPrefix("/") else { return path }
        guard let working = getcwd(nil, 0) else {
            throw Failure(.noInput, "the working directory is unknown: \(systemMessage(errno))")
        }
        defer { free(working) }
        return "\(String(cString: working))/\(path)"
    }

    /// A broker as people write it: a host is enough.
    static func url(_ text: String) -> String {
        text.contains(text: "://") || text == "embedded" ? text : "mqtt://\(text)"
    }
}

extension LoadedConfiguration {
    /// Whether a file sets a key.
    fileprivate func isSet(_ key: String, in file: String) -> Bool { self.file(of: key) == file }

    /// The file that sets a key; `nil` if none does.
    fileprivate func file(of key: String) -> String? {
        if case .file(let path)? = provenance[key]?.source { path } else { nil }
    }

    /// The value of a key as it is written in a configuration.
    fileprivate func text(of key: String) -> String? {
        ConfigurationStack(self, layers: []).value(of: key).flatMap { value in
            value.string ?? (value.isNull ? nil : value.compactText)
        }
    }
}

/// `jostle setup`: a guided start, from the wires to the running service.
enum SetupCommand {
    static let usage = CommandUsage(
        name: "setup", summary: "set a board up step by step: sensor, broker, name, calibration, service",
        details: """
            It looks for the sensor, or says how to wire it, asks for the broker, tests both, and writes a few lines to
            /etc/jostle/conf.d/10-setup.yaml and the password to a file that only root can read. Then it offers to
            calibrate the gyroscope and to let you read the configuration without sudo, starts the service and waits until the
            device is online. Run it again to change an answer: it proposes the values in force.

            Every answer is also an option. Without a terminal, or with --yes, nothing is asked: an answer without option is
            the value in force, and --calibrate, --group and --no-enable decide on the last steps. Nothing is written before
            sensor and broker work, unless --no-test says so.
            """,
        options: [
            Option(
                "broker", value: "URL", help: "mqtt://HOST or mqtts://HOST; found with avahi if it announces itself"),
            Option("username", value: "NAME", help: "the user at the broker; empty for none"),
            Option("password-file", value: "FILE", help: "a file with the password; - for standard input"),
            Option("ca-file", value: "FILE", help: "the CA of an mqtts broker, unless the system has it"),
            Option("id", value: "TEXT", help: "the device's id in topics"),
            Option("name", value: "TEXT", help: "the device's name for people"),
            Option("area", value: "TEXT", help: "the area that Home Assistant suggests"),
            Option(
                "discovery-form", value: "FORM",
                help: "device for Home Assistant 2024.11 or later; component otherwise",
                suggestions: .words(["component", "device"])),
            Option(
                "driver", value: "NAME",
                help: "a family of chips, iio, or virtual for a trial without a sensor; auto otherwise",
                suggestions: .words(["auto", "iio", "virtual"] + SensorScan.families.map(\.name))),
            Option("bus", value: "PATH", help: "the I2C bus, for example /dev/i2c-1; all otherwise"),
            Option("address", value: "ADDRESS", help: "the chip's address; all usual ones otherwise"),
            Option("calibrate", help: "calibrate the gyroscope, without asking"),
            Option("no-calibrate", help: "do not offer that"),
            Option("group", help: "let who called sudo read the configuration, without asking: the group jostle"),
            Option("enable", help: "start the service, now and with the board, without asking"),
            Option("no-enable", help: "leave the service as it is"),
            Option("no-test", help: "write the answers even if sensor or broker do not work"),
            Option("yes", help: "ask nothing"),
            Option("output", value: "DIR", help: "write to this directory instead of /etc/jostle, and start nothing"),
        ])

    static func run(_ arguments: Arguments) throws {
        try arguments.exclude("calibrate", "no-calibrate")
        try arguments.exclude("enable", "no-enable")
        var setup = try Setup(arguments)
        try setup.run()
    }
}
