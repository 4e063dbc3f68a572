import Foundation

/// A mosquitto of the test's own on a free loopback port, to be ended with `stop` or `kill`: Swift may release it after its
/// last use, which is seldom the end of the test. It dies with the test process at the latest.
package final class TestBroker: @unchecked Sendable {
    /// Where the program is; nil where it is not installed, and the tests that need it are to be skipped.
    package static let executable: String? = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/usr/bin/mosquitto"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    /// Whether tests can use a broker here.
    package static var isAvailable: Bool { executable != nil }

    /// The port that it listens on; the same after a restart.
    package let port: UInt16

    /// A directory of its own for password files and certificates, removed with it.
    package let directory: TemporaryDirectory

    private let configuration: String
    private var shell: ChildProcess?
    private var identifier: pid_t = 0

    /// Prepares a broker that everybody may use; `start` runs it.
    ///
    /// - Parameters:
    ///   - directory: where files that the configuration names are.
    ///   - listener: lines that follow the listener's, for TLS for instance.
    ///   - settings: general lines; by default anybody is let in.
    ///   - isPersistent: whether it keeps sessions and retained messages in a file, and writes that every second.
    /// - Throws: where there is no directory or port to be had.
    package init(
        directory: TemporaryDirectory? = nil, listener: String = "", settings: String = "allow_anonymous true",
        isPersistent: Bool = false
    ) throws {
        self.directory = try directory ?? TemporaryDirectory()
        port = try Loopback.freePort()
        let persistence =
            isPersistent
            ? "persistence true\npersistence_location \(self.directory.path)/\nautosave_interval 1\nuser root"
            : "persistence false"
        configuration = """
            listener \(port) 127.0.0.1
            set_tcp_nodelay true
            \(listener)
            \(settings)
            \(persistence)
            log_dest none
            """
    }

    /// Prepares a broker with a configuration of its own, in which `{port}` stands for its port.
    package init(directory: TemporaryDirectory, configuration: String) throws {
        self.directory = directory
        port = try Loopback.freePort()
        self.configuration = configuration.replacingOccurrences(of: "{port}", with: "\(port)")
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
        guard let executable = Self.executable else { throw TestBrokerError.notInstalled }
        let file = directory.path("mosquitto.conf")
        try configuration.write(toFile: file, atomically: true, encoding: .utf8)

        // The shell ends the broker when its input ends, that is, with the test process, however that ends. A parent
        // death signal would come as soon as the thread that started it ends, and test threads come and go.
        let script = """
            "$0" -c "$1" </dev/null & broker=$!
            echo $broker
            read -r how
            if [ "$how" = orderly ]; then kill -TERM $broker; else kill -KILL $broker; fi
            wait $broker
            """
        let shell = try ChildProcess(["/bin/sh", "-c", script, executable, file], in: directory)
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

    /// Stops its process: it keeps its connections and answers nothing.
    package func freeze() {
        _ = Foundation.kill(identifier, SIGSTOP)
    }

    /// Lets a frozen one go on.
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

/// Why there is no broker.
package enum TestBrokerError: Error {
    case notInstalled
    case didNotStart
    case noPort
    case commandFailed(String)
}

/// A directory that is removed with the last reference to it.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path.
    package let path: String

    /// Makes an empty one.
    package init() throws {
        path = NSTemporaryDirectory() + "jostle-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of a file in it.
    package func path(_ name: String) -> String { path + "/" + name }

    /// Writes a file into it, and returns its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }
}

/// Waits until a condition holds; false where it does not within the time.
///
/// A test passes as soon as it can: the limit only says when it has failed.
package func eventually(within limit: Duration = .seconds(45), _ condition: () -> Bool) async -> Bool {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        if ContinuousClock.now >= deadline { return false }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return true
}
