internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

// The steps that test what the user answers, and ask again.
extension Setup {
    // MARK: Sensor

    /// Looks for the sensor until it is there, or until the user goes on without.
    mutating func findSensor() throws(CommandFailure) {
        dialogue.say("Sensor")
        while true {
            let examination = SensorExamination(try candidate().settings, reader: .ownProcess)
            let failure = show(examination.findings)
            guard failure != nil, !arguments.has("no-test") else { return }
            guard asks else { throw CommandFailure(.unavailable, "there is no usable sensor, so nothing was written") }
            guard try dialogue.ask("Look again?") else {
                dialogue.say("Going on without a sensor. jostle doctor examines it later.")
                return
            }
        }
    }

    // MARK: Broker

    /// Asks for the broker and tests it, until it works.
    mutating func findBroker(proposal: LoadedConfiguration) throws(CommandFailure) {
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
                throw CommandFailure(failure.status, "the broker cannot be used, so nothing was written")
            }
            if try dialogue.ask("Use it nevertheless?") { return }
            proposal = answers["mqtt.broker"] ?? proposal
            answers["mqtt.broker"] = nil
        }
    }

    /// Takes the answer. What the configuration says already, perhaps with several brokers, stays as it is.
    private mutating func askBroker(_ proposal: String?, configured: String?) throws(CommandFailure) {
        guard asks else {
            guard configured != nil else { throw CommandFailure(.usage, "without a terminal, --broker URL is needed") }
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

    private mutating func askUser() throws(CommandFailure) {
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
    private mutating func askPassword(of user: String) throws(CommandFailure) {
        guard arguments.value("password-file") == nil else { return }
        let secret = try dialogue.askSecret("Password of \(user), which is not shown; empty to leave it as it is")
        if !secret.isEmpty { password = secret }
    }

    /// Connects as the agent would.
    ///
    /// - Returns: the first failure; `nil` if it works.
    private func testBroker() throws(CommandFailure) -> Finding? {
        let staging = try RunState(nil, name: "setup")
        defer { staging.remove() }
        var file: String?
        if let password {
            let path = "\(staging.path)/password"
            do throws(SystemFailure) {
                try FileContents.create(path, with: Array("\(password)\n".utf8), mode: 0o600)
            } catch {
                throw CommandFailure(.cannotCreate, "\(path): \(error)")
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

    mutating func nameDevice(proposal: LoadedConfiguration) throws(CommandFailure) {
        guard asks else { return }
        let device = proposal.settings.device
        dialogue.say("\nName")
        if answers["device.name"] == nil {
            let name = try dialogue.ask("Name of the device for people, - for none", proposal: device.name ?? "")
            if !name.isEmpty { answers["device.name"] = name == "-" ? "" : name }
        }
        if answers["device.area"] == nil {
            let area = try dialogue.ask("Area that Home Assistant suggests, - for none", proposal: device.area ?? "")
            if !area.isEmpty { answers["device.area"] = area == "-" ? "" : area }
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
