import Foundation

/// A broker for one test on a free loopback port: a mosquitto, or one of another make. End it with `stop` or `kill`,
/// because Swift may release this object after its last use, before the end of the test. It dies with the test process
/// at the latest.
package final class TestBroker: @unchecked Sendable {
    /// The path of mosquitto; `nil` if it is not installed, in which case tests that need it must be skipped.
    package static let executable: String? = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/usr/bin/mosquitto"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether tests can use a broker here.
    package static var isAvailable: Bool { executable != nil }

    /// The port that it listens on, which survives a restart.
    package let port: UInt16

    /// A private directory for password files and certificates, removed with the broker.
    package let directory: TemporaryDirectory

    private let command: [String]
    private var shell: ChildProcess?
    private var identifier: pid_t = 0

    /// Prepares a broker that accepts every client; `start` runs it.
    ///
    /// - Parameters:
    ///   - directory: the directory of the files named in the configuration.
    ///   - listener: lines that follow the listener's, for example for TLS.
    ///   - settings: general lines; by default every client is accepted.
    ///   - isPersistent: whether sessions and retained messages are saved to a file every second.
    /// - Throws: if there is no directory or port available.
    package convenience init(
        directory: TemporaryDirectory? = nil, listener: String = "", settings: String = "allow_anonymous true",
        isPersistent: Bool = false
    ) throws {
        let directory = try directory ?? TemporaryDirectory()
        let persistence =
            isPersistent
            ? "persistence true\npersistence_location \(directory.path)/\nautosave_interval 1\nuser root"
            : "persistence false"
        let configuration = """
            listener {port} 127.0.0.1
            set_tcp_nodelay true
            \(listener)
            \(settings)
            \(persistence)
            log_dest none
            """
        try self.init(directory: directory, configuration: configuration)
    }

    /// Prepares a broker with a custom configuration, in which `{port}` stands for its port.
    package convenience init(directory: TemporaryDirectory, configuration: String) throws {
        try self.init(directory: directory) { port in
            guard let executable = Self.executable else { throw TestBrokerError.notInstalled }
            let text = configuration.replacingOccurrences(of: "{port}", with: "\(port)")
            return [executable, "-c", try directory.write(text, to: "mosquitto.conf")]
        }
    }

    /// Prepares a broker of another make that accepts every client.
    package convenience init(_ make: BrokerMake) throws {
        let directory = try TemporaryDirectory()
        try self.init(directory: directory) { try make.command(in: directory, port: $0) }
    }

    private init(directory: TemporaryDirectory, command: (_ port: UInt16) throws -> [String]) throws {
        self.directory = directory
        port = try Loopback.freePort()
        self.command = try command(port)
    }

    /// Prepares and starts a broker.
    package static func started(
        directory: TemporaryDirectory? = nil, listener: String = "", settings: String = "allow_anonymous true"
    ) async throws -> TestBroker {
        let broker = try TestBroker(directory: directory, listener: listener, settings: settings)
        try await broker.start()
        return broker
    }

    deinit {
        kill()
    }

    /// Runs it, and waits until it accepts connections.
    package func start() async throws {
        // The shell ends the broker when its input ends, which is with the test process, however that ends. A parent
        // death signal would come as soon as the thread that started it ends, and test threads come and go. The broker
        // has a group of processes for itself and its helpers. A signal for the group of the tests does not end the shell
        // before it has ended the broker.
        let script = """
            trap : HUP INT TERM
            setsid "$@" </dev/null >/dev/null & broker=$!
            echo $broker
            read -r how
            if [ "$how" = orderly ]; then signal=TERM; else signal=KILL; fi
            kill -s $signal -- -$broker 2>/dev/null || kill -s $signal $broker
            wait $broker
            """
        let shell = try ChildProcess(["/bin/sh", "-c", script, "broker"] + command, in: directory)
        guard let number = pid_t(shell.read().trimmingCharacters(in: .whitespacesAndNewlines))
        else { throw TestBrokerError.didNotStart }
        identifier = number
        self.shell = shell
        let port = port
        guard await eventually({ Loopback.accepts(port) }) else { throw TestBrokerError.didNotStart }
    }

    /// Ends it as a service manager would.
    package func stop() {
        finish("orderly\n")
    }

    /// Ends it as a power failure would.
    package func kill() {
        finish("now\n")
    }

    /// Makes it read its password file and access rules again.
    package func reload() {
        _ = Foundation.kill(identifier, SIGHUP)
    }

    /// Suspends its process: it keeps its connections but does not answer.
    package func freeze() {
        _ = Foundation.kill(identifier, SIGSTOP)
    }

    /// Resumes a frozen broker.
    package func thaw() {
        _ = Foundation.kill(identifier, SIGCONT)
    }

    private func finish(_ command: String) {
        guard let shell else { return }
        shell.write(command)
        _ = shell.wait()
        self.shell = nil
    }
}

/// Why a broker is not available.
package enum TestBrokerError: Error {
    case notInstalled
    case didNotStart
    case noPort
    case commandFailed(String)
}
