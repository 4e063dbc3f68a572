internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

// The steps that test what the user answers, and ask again.
extension Setup {
    // MARK: Sensor

    /// Looks for the sensor until it is there, or until the user goes on without.
    mutating func findSensor() throws {
        dialogue.say("Sensor")
        while true {
            let examination = SensorExamination(try candidate().settings, reader: .ownProcess)
            let failure = show(examination.findings)
            guard failure != nil, !arguments.has("no-test") else { return }
            guard asks else { throw Failure(.unavailable, "there is no usable sensor, so nothing was written") }
            guard try dialogue.ask("Look again?") else {
                dialogue.say("Going on without a sensor. jostle doctor examines it later.")
                return
            }
        }
    }

    // MARK: Broker

    /// Asks for the broker and tests it, until it works.
    mutating func findBroker(proposal: LoadedConfiguration) throws {
        dialogue.say("\nBroker")
        let configured = Setup.configuredBroker(proposal)
        var proposal = configured
        if asks, answers["mqtt.broker"] == nil {
            let found = BrokerSearch.run()
            for broker in found {
                dialogue.say("  \(broker.url)  (\(broker.isHomeAssistant ? "Home Assistant " : "")\(broker.name))")
            }
            proposal = proposal ?? found.first?.url
        }
        if asks, let user = answers["mqtt.username"], !user.isEmpty, answers["mqtt.broker"] != nil {
            try askPassword(of: user)
        }
        while true {
            if answers["mqtt.broker"] == nil { try askBroker(proposal, configured: configured) }
            guard !arguments.has("no-test") else { return }
            guard let failure = try testBroker() else { return }
            guard asks else {
                throw Failure(failure.status, "the broker cannot be used, so nothing was written")
            }
            if try dialogue.ask("Use it nevertheless?") { return }
            proposal = answers["mqtt.broker"] ?? proposal
            answers["mqtt.broker"] = nil
        }
    }

    /// Takes the answer. What the configuration says already, perhaps with several brokers, stays as it is.
    private mutating func askBroker(_ proposal: String?, configured: String?) throws {
        guard asks else {
            guard configured != nil else { throw Failure(.usage, "without a terminal, --broker URL is needed") }
            return
        }
        let answer = Setup.url(
            try dialogue.ask(
                "Address of the broker that Home Assistant uses", proposal: proposal ?? "mqtt://homeassistant.local"))
        if answer != configured { answers["mqtt.broker"] = answer }
        try askUser()
    }

    /// The first configured broker; `nil` if there is none that can be asked.
    private static func configuredBroker(_ loaded: LoadedConfiguration) -> String? {
        guard case .remote(let addresses)? = loaded.settings.mqtt.broker, let first = addresses.first else {
            return nil
        }
        return "\(first)"
    }

    private mutating func askUser() throws {
        let known = try candidate().settings.mqtt.username ?? ""
        let name = try dialogue.ask("User name at the broker, - for none", proposal: known)
        guard name != "-", !name.isEmpty else {
            answers["mqtt.username"] = name == "-" ? "" : nil
            return
        }
        answers["mqtt.username"] = name
        try askPassword(of: name)
    }

    /// Asks for the password, unless it was given.
    private mutating func askPassword(of user: String) throws {
        guard arguments.value("password-file") == nil else { return }
        let secret = try dialogue.askSecret("Password of \(user), which is not shown; empty to leave it as it is")
        if !secret.isEmpty { password = secret }
    }

    /// Connects as the agent would.
    ///
    /// - Returns: the first failure; `nil` if it works.
    private func testBroker() throws -> Finding? {
        let staging = try RunState(nil, name: "setup")
        defer { staging.remove() }
        var file: String?
        if let password {
            let path = "\(staging.path)/password"
            try Failure.about(path, .cannotCreate) {
                try FileContents.create(path, with: Array("\(password)\n".utf8), mode: 0o600)
            }
            file = path
        }
        let settings = try candidate(password: file).settings
        let agent = ExaminedAgent(file: files.configuration, unitName: nil)
        let examination = try BrokerExamination(
            settings, id: settings.device.id ?? DeviceName.ofThisMachine(), isRunning: agent.isRunning, signals: signals
        )
        return show(examination.findings)
    }

    // MARK: Name

    mutating func nameDevice(proposal: LoadedConfiguration) throws {
        guard asks else { return }
        let device = proposal.settings.device
        dialogue.say("\nName")
        for (key, question, known) in [
            ("device.name", "Name of the device for people", device.name),
            ("device.area", "Area that Home Assistant suggests", device.area),
        ] where answers[key] == nil {
            let text = try dialogue.ask("\(question), - for none", proposal: known ?? "")
            if !text.isEmpty { answers[key] = text == "-" ? "" : text }
        }
        let (key, home) = ("home_assistant.discovery_form", proposal.settings.homeAssistant)
        if answers[key] == nil, home.discovery, home.discoveryForm == .component,
            try dialogue.ask("Does Home Assistant 2024.11 or later use this broker? If you do not know: n")
        {
            answers[key] = "device"
        }
    }

    // MARK: Findings

    /// Says what was found.
    ///
    /// - Returns: the first failure.
    private func show(_ findings: [Finding]) -> Finding? {
        for finding in findings {
            dialogue.say("  \(finding.verdict.rawValue): \(finding.examination.title): \(finding.text)")
            for step in finding.steps { dialogue.say("      -> \(step)") }
        }
        return findings.first { $0.verdict == .failed }
    }
}

/// Finds brokers on the network with DNS-SD, if avahi-browse (package avahi-utils) is installed.
enum BrokerSearch {
    /// A broker that announces itself, or the host of a Home Assistant, which most often runs one.
    struct Found: Equatable {
        /// The broker as a URL.
        var url: String
        /// The name of the service.
        var name: String
        var isHomeAssistant: Bool
    }

    private static let services = [
        (type: "_secure-mqtt._tcp", scheme: "mqtts"), (type: "_mqtt._tcp", scheme: "mqtt"),
        (type: "_home-assistant._tcp", scheme: "mqtt"),
    ]

    /// Searches for some seconds. Without avahi it finds nothing.
    static func run() -> [Found] {
        var found: [Found] = []
        for (type, scheme) in services {
            let words = ["--resolve", "--parsable", "--no-db-lookup", "--terminate", type]
            do {
                let outcome = try ChildProgram("avahi-browse", words).run(within: 5)
                for broker in brokers(in: outcome.output, scheme: scheme, isHomeAssistant: type.hasPrefix("_home"))
                where !found.contains(where: { $0.url == broker.url }) {
                    found.append(broker)
                }
            } catch {
                return []
            }
        }
        return found
    }

    /// Reads the lines `=;eth0;IPv4;NAME;TYPE;local;HOST;ADDRESS;PORT;"TEXT"`. A Home Assistant tells the port of its web
    /// page, not of a broker.
    static func brokers(in text: String, scheme: String, isHomeAssistant: Bool) -> [Found] {
        var found: [Found] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 9, fields[0] == "=", isHost(fields[6]), let port = UInt16(fields[8]), port > 0 else {
                continue
            }
            let usual: UInt16 = scheme == "mqtts" ? 8883 : 1883
            let end = isHomeAssistant || port == usual ? "" : ":\(port)"
            let url = "\(scheme)://\(fields[6])\(end)"
            guard !found.contains(where: { $0.url == url }) else { continue }
            found.append(Found(url: url, name: unescaped(fields[3]), isHomeAssistant: isHomeAssistant))
        }
        return found
    }

    /// Whether a text from the network can be a host name.
    private static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && text.first != "-"
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") }
    }

    /// avahi-browse writes special characters as `\032`.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            let code = String(decoding: digits, as: UTF8.self)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let value = UInt8(code) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return ForeignText.excerpt(String(decoding: bytes, as: UTF8.self))
    }
}
