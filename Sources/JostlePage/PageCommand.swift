internal import Glibc
internal import HTTPServer
package import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem

/// The program `jostle-page`: serves the page until a signal ends it.
package enum PageCommand {
    package static var command: Command { Command(usage: PageUsage.usage, run: run) }

    private static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        if let word = arguments.operand(0), word != PageUsage.link {
            throw Failure(.usage, "unknown operand \"\(word)\"; the only one is \(PageUsage.link)")
        }
        if arguments.operand(0) == PageUsage.link { return try printLink() }
        let settings = try Configuration.ofBroker(
            arguments, overrides: arguments.value("listen").map { ["page.listen=\($0)"] } ?? [])
        let secrets = try settings.pageSecrets()
        let socket = try listen(settings.page.listen)
        let certificate = try certificate(secrets, socket, arguments, settings)
        let isInsecure = !socket.isLoopback && certificate == nil
        let rules = PageAccess.Rules(
            hosts: HostNames(settings.page.hosts, machine: DeviceName.hostName()), password: secrets.password,
            metricsToken: secrets.metricsToken, usesTLS: certificate != nil,
            mayControl: settings.page.mayControl && !isInsecure, port: socket.address.port,
            basePath: settings.page.basePath ?? "", proxies: settings.page.trustedProxies)
        let log = Log(level: settings.log.level)
        FileContents.makeDirectories(PageFiles.links)
        var links = LinkTokens(directory: PageFiles.links)
        let token = links.makeInitial()
        let access = PageAccess(
            rules, sessions: Sessions(file: PageFiles.key, password: secrets.password), links: links)
        let listener = try BrokerView(settings, name: "page")
        try listener.subscribe(to: PageServer.filters(prefix: settings.mqtt.prefix))
        let running = RunningHoursStore(
            directory: PageFiles.state, log: log, at: WallClock.monotonic, milliseconds: PageServer.milliseconds)
        var history: History?
        if settings.page.history.maximumAge > 0 {
            history = History(
                directory: PageFiles.state, settings.page.history, wake: listener.wake, log: log)
        }
        let fleet = FleetDocuments(prefix: settings.mqtt.prefix, trustedKeys: settings.fleet.trustedKeys)
        // Without them, the page shows what boards report of the layers, so that it does not matter if the broker refuses.
        try listener.subscribe(to: fleet.filters.map { .init($0, isReliable: true) }, awaitsAnswer: false)
        let server = PageServer(
            prefix: settings.mqtt.prefix, discoveryPrefix: settings.homeAssistant.prefix, access, listener: listener,
            fleet: fleet, running: running, history: history, log: log)
        let routes = PageRoutes(server: server)
        let http: HTTPServer
        do {
            http = try HTTPServer(socket, certificate: certificate) { routes.reply(to: $0) }
        } catch {
            switch error {
            case .certificate:
                throw Failure(
                    .configuration, "page.certificate_file and page.key_file: not a PEM certificate and its PEM key")
            case .start(let failure): throw Failure(.system, "the HTTP server cannot start: \(failure)")
            }
        }
        try listener.start()
        defer {
            http.stop()
            listener.stop()
        }
        let base = "\(certificate == nil ? "http" : "https")://\(reachable(http.address).text)\(rules.basePath)"
        note(base, log)
        announce(base, token)
        server.run(http, signals: signals)
    }

    // MARK: The start

    /// Prints the address. The token in it is a secret, so it does not go to a log.
    private static func announce(_ base: String, _ token: String) {
        Output.line(Journal.isStandardOutput ? "\(base)/" : "\(base)/?token=\(token)")
        Output.flush()
    }

    /// The address for people: the machine's name in place of "all addresses".
    private static func reachable(_ address: ListeningAddress) -> ListeningAddress {
        let name = DeviceName.hostName()
        guard ["0.0.0.0", "::"].contains(address.host), !name.isEmpty else { return address }
        return ListeningAddress(host: name, port: address.port)
    }

    /// Leaves the address for `jostle page link`.
    private static func note(_ base: String, _ log: Log) {
        do {
            try FileContents.replace(PageFiles.address, with: Array(base.utf8))
        } catch {
            log.warning("\(PageFiles.address): \(error); jostle page link cannot print the address")
        }
    }

    private static func listen(_ address: ListeningAddress) throws -> ListeningSocket {
        do {
            return try ListeningSocket(address)
        } catch {
            switch error {
            case .resolution(let reason):
                throw Failure(.unavailable, "page.listen: \(address.host): \(reason)")
            case .system(let failure) where failure.code == EADDRINUSE:
                throw Failure(
                    .unavailable,
                    "page.listen: another program uses \(address.text); choose another port, or stop it")
            case .system(let failure) where failure.code == EACCES:
                throw Failure(
                    .permission, "page.listen: \(address.text): \(failure); ports below 1024 are root's")
            case .system(let failure):
                throw Failure(.unavailable, "page.listen: \(address.text): \(failure)")
            }
        }
    }

    /// The certificate, or why the page must not be served without it.
    private static func certificate(
        _ secrets: JostleSettings.PageSecrets, _ socket: ListeningSocket, _ arguments: Arguments,
        _ settings: JostleSettings
    ) throws -> HTTPServer.Certificate? {
        var certificate: HTTPServer.Certificate?
        if let text = secrets.certificate, let key = secrets.key {
            certificate = HTTPServer.Certificate(certificate: text, key: key)
        }
        guard !socket.isLoopback else { return certificate }
        var missing: [String] = []
        if secrets.password == nil { missing.append("page.password_file") }
        if certificate == nil, !arguments.has("insecure-http") {
            missing.append("page.certificate_file and page.key_file")
        }
        guard missing.isEmpty else {
            throw Failure(
                .configuration,
                lines: [
                    "\(settings.page.listen.text) can be reached from other machines, which needs "
                        + missing.joined(separator: ", "),
                    "Use 127.0.0.1 for this machine alone. In a network that you trust, --insecure-http permits a page "
                        + "without a certificate, to look at and not to control.",
                ])
        }
        return certificate
    }

    // MARK: Links

    /// Prints a link to the server that runs already, or ran last.
    private static func printLink() throws {
        let token: String
        let base: String
        do {
            base = try FileContents.text(of: PageFiles.address, limit: 512)
            token = try LinkTokens.make(in: PageFiles.links)
        } catch {
            throw Failure(
                error.code == EACCES || error.code == EPERM ? .permission : .unavailable,
                "\(PageFiles.links): \(error); the page must run already, and this command needs its user or root")
        }
        Output.line("\(base)/?token=\(token)")
    }
}

/// The files of the program.
enum PageFiles {
    /// The key that signs cookies: in the state directory.
    static var key: String { "\(state)/page-key" }

    /// The directory of links that wait for their browser. It is made with the key.
    static var links: String { "\(state)/page-links" }

    /// The address of the page while it is served, for `jostle page link`.
    static var address: String { "\(state)/page-address" }

    /// The state directory of the service, which root uses for it.
    private static let installed = "/var/lib/jostle-page"

    /// The state directory.
    static var state: String {
        if Configuration.variable("STATE_DIRECTORY") == nil, Configuration.isRoot, access(installed, F_OK) == 0 {
            return installed
        }
        return Configuration.stateDirectory
    }
}
