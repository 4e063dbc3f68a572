import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Synchronization
import Testing

/// A headless Chromium, controlled through chromedriver by the WebDriver protocol: JSON over HTTP.
final class Browser: @unchecked Sendable {
    /// Downloads go to `downloads` in it.
    let directory: TemporaryDirectory
    private let keeper: ChildProcess
    private let port: UInt16
    private let logsRequests: Bool
    private var session = ""

    /// What a test has left for the next one. To start takes a second of processor time.
    private static let spare = Mutex<Browser?>(nil)

    /// A browser with one empty window and without cookies. `logsRequests` records each request of a page, which slows it
    /// down.
    static func started(logsRequests: Bool = false) async throws -> Browser {
        if let left = spare.withLock({ $0.take() }), left.logsRequests == logsRequests, (try? left.renew()) != nil {
            return left
        }
        return try await Browser(logsRequests: logsRequests)
    }

    /// Leaves the browser to the next test.
    func leave() {
        Browser.spare.withLock { $0 = self }
    }

    enum Failure: Error, CustomStringConvertible {
        case didNotStart(String)
        /// The browser refused a command, or a script threw.
        case refused(command: String, answer: String)
        /// A script returned something else than expected.
        case unexpected(script: String, value: String)

        var description: String {
            switch self {
            case .didNotStart(let log): "chromedriver did not start: \(log)"
            case .refused(let command, let answer): "\(command): \(answer.prefix(1500))"
            case .unexpected(let script, let value): "\(script) returned \(value)"
            }
        }
    }

    /// The shell without the windows of Chromium needs a third less processor time.
    static let chromium = executable("chromium-headless-shell") ?? executable("chromium")
    static let chromedriver = executable("chromedriver")

    /// Starts the browser with an empty profile.
    private init(logsRequests: Bool) async throws {
        self.logsRequests = logsRequests
        directory = try TemporaryDirectory()
        keeper = try ChildProcess(
            ["setsid", "/bin/sh", "-c", Browser.keeping, "keeper", Browser.chromedriver ?? "chromedriver", "--port=0"],
            in: directory)
        let log = directory.path("log")
        func text() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        var found: UInt16?
        _ = await eventually {
            let words = text().components(separatedBy: "started successfully on port ")
            found = words.count > 1 ? UInt16(words[1].prefix { $0.isNumber }) : nil
            return found != nil && words[1].contains("\n")
        }
        guard let found else { throw Failure.didNotStart(text()) }
        port = found
        var arguments = [
            "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--remote-debugging-pipe",
            "--no-first-run", "--disable-background-networking",
            "--window-size=1280,900", "--user-data-dir=\(directory.path("profile"))",
        ]
        // The sandbox of Chromium does not start as root, nor where users may not create namespaces, as in a container.
        if geteuid() == 0 || (try? runCommand(["unshare", "--user", "true"], in: directory)) == nil {
            arguments.append("--no-sandbox")
        }
        var options: [String: Any] = ["args": arguments]
        if let chromium = Browser.chromium {
            // The shell opens no page by itself, and chromedriver waits for one.
            options["binary"] = try directory.write(
                "#!/bin/sh\nexec \(chromium) \"$@\" about:blank\n", to: "browser", permissions: 0o755)
        }
        if logsRequests { options["perfLoggingPrefs"] = ["enableNetwork": true, "enablePage": false] }
        let capabilities: [String: Any] = [
            "goog:chromeOptions": options,
            "goog:loggingPrefs": logsRequests ? ["browser": "ALL", "performance": "ALL"] : ["browser": "ALL"],
            "timeouts": ["script": 30_000, "pageLoad": 30_000],
        ]
        let answer = try send("POST", "/session", ["capabilities": ["alwaysMatch": capabilities]])
        guard let id = (answer as? [String: Any])?["sessionId"] as? String else {
            throw Failure.unexpected(script: "/session", value: "\(answer)")
        }
        session = "/session/\(id)"
    }

    /// Ends the browser with all its processes, and waits for that.
    deinit {
        keeper.write("end\n")
        keeper.wait()
    }

    /// Replaces the window by a new one, which has nothing of the test before.
    private func renew() throws {
        try run("localStorage.clear(); sessionStorage.clear()")
        try chromium("Network.clearBrowserCookies")
        try chromium("Network.clearBrowserCache")
        let window = try command("POST", "/window/new", ["type": "window"]) as? [String: Any]
        try command("DELETE", "/window")
        try command("POST", "/window", ["handle": window?["handle"] ?? ""])
        try command("POST", "/window/rect", ["width": 1280, "height": 900])
        _ = try complaints()
        if logsRequests { _ = try requestEvents() }
    }

    /// Runs the command in a session of processes and, at a line of input or at the end of the test program, kills all
    /// processes of that session: Chromium moves some of them into groups of their own. With `--port=0`, chromedriver takes
    /// a free port of IPv6 and then the same of IPv4; if another program has that, it ends, and is started again.
    private static let keeping = """
        mkdir home downloads
        export HOME="$PWD/home" XDG_CONFIG_HOME="$PWD/home" XDG_CACHE_HOME="$PWD/home" TMPDIR="$PWD"
        while "$@" </dev/null >log 2>&1; grep -q 'Address already in use' log; do :; done &
        read -r line
        for file in /proc/[0-9]*/stat; do
            read -r stat <"$file" || continue
            set -- ${stat##*) }
            [ "$4" = $$ ] && id=${file%/stat} && id=${id#/proc/} && [ "$id" != $$ ] && kill -KILL "$id"
        done 2>/dev/null
        wait
        """

    private static func executable(_ name: String) -> String? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    // MARK: Commands

    /// Sends a command of the session; returns the value of the answer.
    @discardableResult
    func command(_ method: String, _ path: String, _ parameters: [String: Any] = [:]) throws -> Any {
        try send(method, session + path, parameters)
    }

    private func send(_ method: String, _ path: String, _ parameters: [String: Any]) throws -> Any {
        let body = method == "POST" ? try JSONSerialization.data(withJSONObject: parameters) : Data()
        let connection = try RawHTTP.Connection(port)
        // Longer than chromedriver itself waits.
        var timeout = timeval(tv_sec: 90, tv_usec: 0)
        setsockopt(connection.descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        connection.write(
            "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.count)\r\n\r\n")
        connection.write([UInt8](body))
        let reply = try connection.readReply()
        let object = try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: Any]
        guard reply.status == 200, let value = object?["value"] else {
            throw Failure.refused(command: "\(method) \(path)", answer: reply.body)
        }
        return value
    }

    /// Opens an address and waits until it has been loaded.
    func open(_ address: String) throws {
        try command("POST", "/url", ["url": address])
    }

    /// Runs the body of a function; returns its result. `arguments` are its arguments.
    @discardableResult
    func run(_ script: String, _ arguments: Any...) throws -> Any {
        try command("POST", "/execute/sync", ["script": script, "args": arguments])
    }

    /// Runs the body of an asynchronous function, which may wait; returns its result.
    @discardableResult
    func runAndWait(_ script: String, _ arguments: Any...) throws -> Any {
        let wrapped = """
            const done = arguments[arguments.length - 1];
            (async () => { \(script) })().then(done, (error) => done({ failure: String(error?.stack ?? error) }));
            """
        let value = try command("POST", "/execute/async", ["script": wrapped, "args": arguments])
        if let failure = (value as? [String: Any])?["failure"] as? String {
            throw Failure.unexpected(script: script, value: failure)
        }
        return value
    }

    /// The value of an expression.
    func value<Value>(_ expression: String, as type: Value.Type = Value.self) throws -> Value {
        let value = try run("return \(expression)")
        guard let typed = value as? Value else { throw Failure.unexpected(script: expression, value: "\(value)") }
        return typed
    }

    /// Waits until an expression is true.
    func shows(_ expression: String, within limit: Duration = patience) async -> Bool {
        let deadline = ContinuousClock.now + limit
        while true {
            if let isTrue = try? run("return Boolean(\(expression))") as? Bool, isTrue { return true }
            guard ContinuousClock.now < deadline else {
                let state = "[document.visibilityState, window.jostlePage?.frames, document.body.innerText]"
                print("browser: \(expression) is not true; \((try? run("return \(state)")) ?? "no answer")")
                return false
            }
            try? await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Sends a command of Chromium's own protocol (CDP).
    @discardableResult
    func chromium(_ name: String, _ parameters: [String: Any] = [:]) throws -> Any {
        try command("POST", "/goog/cdp/execute", ["cmd": name, "params": parameters])
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the programs were not built, or mosquitto or a browser is not installed.
    static var needsBrowser: Self {
        .enabled(
            if: Products.hasProgram && FileManager.default.isExecutableFile(atPath: Products.pageProgram.path)
                && TestBroker.isAvailable && Browser.chromium != nil && Browser.chromedriver != nil,
            "the tests in a browser need jostle-page, mosquitto, chromium and chromedriver (Debian: chromium-driver)")
    }
}
