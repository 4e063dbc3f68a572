internal import Glibc
internal import JostleMessages
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore

/// A mosquitto process on a free loopback port, for demonstrations and boards without a broker.
///
/// It accepts connections from this machine only, stores nothing on disk, and ends with the agent, however that ends.
package final class EmbeddedBroker {
    /// Whether the programs that it needs are installed.
    package static var isInstalled: Bool { find("mosquitto") != nil && find("setpriv") != nil }

    /// The port on which it listens.
    let port: UInt16
    private let path: String
    private let launcher: String
    private let users: MosquittoPasswords?
    /// The running broker; `nil` if it has ended or could not be started.
    private var program: CompanionProgram?
    /// The earliest time of the next attempt to restart it.
    private var nextTry = Timestamp(nanoseconds: .min)

    /// Starts a broker and waits until it accepts connections: those of `users`, or of everybody on this machine.
    ///
    /// Call it on the main thread: the kernel ends the broker when the thread that started it ends.
    init(users: MosquittoPasswords? = nil) throws {
        guard let program = EmbeddedBroker.find("mosquitto") else {
            throw Failure(
                .unavailable,
                "mqtt.broker is embedded, but mosquitto is not installed: sudo apt install mosquitto, or set mqtt.broker to "
                    + "a URL")
        }
        guard let launcher = EmbeddedBroker.find("setpriv") else {
            throw EmbeddedBroker.failure("setpriv (package util-linux) was not found")
        }
        guard let port = EmbeddedBroker.freePort() else {
            throw EmbeddedBroker.failure("no loopback port is free")
        }
        path = program
        self.launcher = launcher
        self.users = users
        self.port = port
        try launch()
    }

    deinit {
        stop()
    }

    /// Restarts the broker if it has ended. After a failed restart, the next attempt is made ten seconds later.
    ///
    /// - Returns: whether it was restarted.
    func restartIfEnded() throws -> Bool {
        if let program, program.exitStatus == nil { return false }
        program = nil
        let now = WallClock.monotonic
        guard now >= nextTry else { return false }
        nextTry = now.advanced(bySeconds: 10)
        try launch()
        return true
    }

    /// The broker's process; 0 if it is not running.
    var process: pid_t { program?.process ?? 0 }

    /// Stops the broker.
    func stop() {
        program?.stop(within: 0.5)
        program = nil
    }

    // MARK: Starting

    private func launch() throws {
        let account = EmbeddedBroker.unprivilegedAccount()
        let privileges = account.map { ["--reuid", "\($0.user)", "--regid", "\($0.group)", "--clear-groups"] } ?? []
        do {
            let directory = try FileContents.makeTemporaryDirectory("jostle-broker")
            defer { FileContents.removeDirectory(directory) }
            if let account { chown(directory, account.user, account.group) }
            func write(_ text: String, to name: String) throws {
                try FileContents.create(
                    "\(directory)/\(name)", with: Array(text.utf8), mode: 0o600,
                    owner: account.map { .init(user: $0.user, group: $0.group) })
            }
            var configuration = """
                listener \(port) 127.0.0.1
                allow_anonymous \(users == nil)
                persistence false
                set_tcp_nodelay true
                log_dest none

                """
            if let users {
                configuration += "password_file \(directory)/passwords\n"
                try write(users.text, to: "passwords")
            }
            try write(configuration, to: "mosquitto.conf")
            program = try CompanionProgram(
                path, ["-c", "\(directory)/mosquitto.conf"], launcher: [launcher] + privileges)
            try waitUntilItListens()
        } catch let error as SystemFailure {
            throw EmbeddedBroker.failure("\(path): \(error)")
        }
    }

    /// The user as which a broker that root starts runs; `nil` if there are no privileges to drop.
    ///
    /// mosquitto could drop them itself, but the kernel clears the parent-death signal when a process changes its user
    /// (prctl(2), PR_SET_PDEATHSIG).
    private static func unprivilegedAccount() -> (user: uid_t, group: gid_t)? {
        guard geteuid() == 0, let user = getpwnam("mosquitto") ?? getpwnam("nobody") else { return nil }
        return (user.pointee.pw_uid, user.pointee.pw_gid)
    }

    private func waitUntilItListens() throws {
        for _ in 0..<300 {
            if EmbeddedBroker.accepts(port: port) { return }
            if let status = program?.exitStatus {
                program = nil
                throw EmbeddedBroker.failure("\(path) ended at once, status \(status)")
            }
            usleep(10_000)
        }
        stop()
        throw EmbeddedBroker.failure("\(path) does not listen on port \(port)")
    }

    // MARK: Programs and ports

    /// The path of a program in PATH or in Debian's directories for administrators.
    private static func find(_ name: String) -> String? {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        for directory in path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/usr/bin"] {
            let candidate = "\(directory)/\(name)"
            if access(candidate, X_OK) == 0 { return candidate }
        }
        return nil
    }

    /// A free loopback port: the kernel's choice for a socket that is closed again.
    private static func freePort() -> UInt16? {
        loopback(port: 0) { socket, address, size in
            var size = size
            return bind(socket, address, size) == 0 && getsockname(socket, address, &size) == 0
        }
    }

    private static func accepts(port: UInt16) -> Bool { loopback(port: port) { connect($0, $1, $2) == 0 } != nil }

    /// Does something with a new socket and the loopback address with a port; returns the address's port afterwards, or
    /// `nil` if that failed.
    private static func loopback(
        port: UInt16, _ body: (_ socket: Int32, UnsafeMutablePointer<sockaddr>, _ size: socklen_t) -> Bool
    ) -> UInt16? {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return nil }
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let hasSucceeded = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return hasSucceeded ? UInt16(bigEndian: address.sin_port) : nil
    }

    private static func failure(_ reason: String) -> Failure {
        Failure(.unavailable, "the embedded broker cannot be started: \(reason)")
    }
}
