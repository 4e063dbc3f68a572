internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import Synchronization

/// A live view of an agent in the same process: a screen on a terminal that supports it, else lines.
final class LiveView: Sendable {
    private let prefix: String
    private let glyphs = Glyphs.ofTerminal
    private let state = Mutex(State())

    private struct State {
        var format: (any LiveFormat)?
        var page: DemoPage?
        var last: DemoScreen.LastLine?
    }

    /// Creates a view of an agent whose topics begin with `prefix`.
    init(prefix: String) {
        self.prefix = prefix
    }

    /// The callbacks through which the agent updates the view.
    var observer: Agent.Observer {
        var observer = Agent.Observer()
        observer.motion = { [self] motion in show { $0.show(motion) } }
        observer.gesture = { [self] event in show { $0.show(event) } }
        observer.sensor = { [self] event in show { $0.show(event) } }
        observer.connection = { [self] change in show { $0.show(change) } }
        return observer
    }

    /// Prints how to open the page, the sensor, the broker and how to subscribe, and takes over the terminal. The `login`
    /// is that of a private broker. The `notes` say what differs from the configuration, the `last` line why there is no
    /// sensor.
    func begin(agent: Agent, login: DemoLogin?, page: DemoPage?, notes: [String], last: DemoScreen.LastLine?) {
        let introduction = Introduction(
            sensor: agent.sensorTitle, broker: agent.brokers.first, login: login, topics: agent.topics,
            page: page.map { PageInvitation(address: $0.address) })
        let (glyphs, prefix, id) = (self.glyphs, self.prefix, agent.id)
        Output.text(introduction.lines.map { glyphs.clean($0) + "\n" }.joined() + "\n")
        Output.flush()
        let usesScreen = Output.isTerminal
        state.withLock { state in
            state.page = page
            state.last = last
            state.format =
                usesScreen
                ? LiveScreen(
                    id: id, prefix: prefix, glyphs: glyphs, introduction: introduction, notes: notes, last: last)
                : LiveLines(glyphs: glyphs)
        }
    }

    /// Restores the terminal, and prints why there was no sensor.
    func end() {
        state.withLock { state in
            state.format?.end()
            if let last = state.last { Output.line(glyphs.clean(last.text)) }
            state.format = nil
            state.page = nil
            state.last = nil
        }
        Output.flush()
    }

    private func show(_ change: @Sendable (any LiveFormat) -> Void) {
        state.withLock { state in
            guard let format = state.format else { return }
            if let end = state.page?.takeEnd() { format.note(end) }
            change(format)
        }
    }
}

/// What a demonstration says about itself: where its page is, which sensor and broker it uses, and how to subscribe.
struct Introduction {
    /// How to open the page; `nil` without one.
    let page: PageInvitation?
    /// The command that subscribes to the gestures.
    let listen: String
    let sensor: String
    let lines: [String]

    init(sensor: String, broker: BrokerAddress?, login: DemoLogin?, topics: Topics, page: PageInvitation?) {
        self.page = page
        listen = Introduction.listen(
            broker, login, topics, hasSubscriber: OtherProgram.subscriber.installedPath != nil)
        self.sensor = sensor
        let place = login == nil ? "" : ", for programs of this user on this machine only"
        let invitation = (page?.steps ?? []).flatMap { ["\($0.title):", "    \($0.text)"] }
        var lines = invitation.isEmpty ? [] : [""] + invitation + [""]
        lines += ["Sensor: \(sensor)", "Broker: \(broker.map { "\($0)" } ?? "none")\(place)"]
        if let login { lines.append("Login: \(login.description)") }
        lines += ["Listen: \(listen)", "Press Ctrl-C to stop."]
        self.lines = lines
    }

    /// The command that subscribes: to the gestures, with mosquitto_sub if this machine has it, or to the device.
    static func listen(
        _ broker: BrokerAddress?, _ login: DemoLogin?, _ topics: Topics, hasSubscriber: Bool
    ) -> String {
        guard hasSubscriber else {
            // As this program was called: it need not be installed.
            let program = CommandLine.arguments.first.flatMap { $0.contains("/") ? $0 : nil } ?? "jostle"
            let prefix = topics.root.dropLast(topics.device.count + 1)
            let settings = (prefix == "jostle" ? [] : ["mqtt.prefix=\(prefix)"]) + (login?.settings ?? [])
            let words =
                [program, "watch", "--raw", "--device", topics.device] + (broker.map { ["--broker", "\($0)"] } ?? [])
                + settings.flatMap { ["--set", $0] }
            return (login?.privilege ?? "") + words.map(DemoLogin.word).joined(separator: " ")
        }
        let host = broker?.host ?? "localhost"
        let port = broker.map { " -p \($0.port)" } ?? ""
        let tls = broker?.usesTLS == true ? " --capath /etc/ssl/certs" : ""
        return "\(login?.environment ?? "")mosquitto_sub -h \(host)\(port)\(tls) -v -t '\(topics.events)#'"
    }
}

/// How to open the web page of a demonstration: where its address leads to, and what to do first over SSH.
struct PageInvitation: Equatable {
    /// The address with which one browser signs in.
    let address: String
    /// The command for the reader's own machine, if this one is reached over SSH; `nil` for a browser here.
    let tunnel: String?

    /// `connection` is `$SSH_CONNECTION`: the address and port of the client, and those of this machine.
    init(address: String, connection: String?, user: String?) {
        self.address = address
        let words = (connection ?? "").split(separator: " ").map(String.init)
        let port = address.split(separator: "/").dropFirst().first?.split(separator: ":").last.flatMap { UInt16($0) }
        guard words.count == 4, let port, let sshPort = UInt16(words[3]), PageInvitation.isNumeric(words[2]) else {
            tunnel = nil
            return
        }
        let option = sshPort == 22 ? "" : "-p \(sshPort) "
        tunnel = "ssh \(option)-L \(port):127.0.0.1:\(port) \(user.map { "\($0)@" } ?? "")\(words[2])"
    }

    /// For this process.
    init(address: String) {
        self.init(
            address: address, connection: Configuration.variable("SSH_CONNECTION"),
            user: getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) })
    }

    /// The parts in the order in which they are read: what to do, and with what.
    var steps: [(title: String, text: String)] {
        guard let tunnel else { return [("Web page: open this in a browser on this machine", address)] }
        return [
            ("Web page: on your own computer, run", tunnel),
            ("and open this in a browser there", address),
        ]
    }

    /// Whether a text is a numeric address, and nothing that a shell would take for something else.
    private static func isNumeric(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isHexDigit || $0 == "." || $0 == ":") }
    }
}
