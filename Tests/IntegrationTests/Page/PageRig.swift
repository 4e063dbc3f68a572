import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Requests that a well-behaved client would not send.
typealias RawHTTP = HTTPTestSupport.RawHTTP

/// A running `jostle-page` at a free port, read and controlled by raw requests.
final class PageRig: Sendable {
    let port: UInt16
    let program: JostleProgram
    /// The token in the address that it printed at its start, until `signIn` uses it.
    let token: String

    /// The address without the token.
    var base: String { "http://127.0.0.1:\(port)" }

    /// Starts the program at a broker, with further settings such as `page.control=true`, and waits for its address. It
    /// listens at a free port unless one is given. `launcher` is as for `JostleProgram`.
    init(
        broker: UInt16, _ settings: [String] = [], port: UInt16 = 0, arguments: [String] = [],
        environment: [String: String] = [:], launcher: [String] = []
    ) async throws {
        let listen = "127.0.0.1:\(port)"
        let program = try JostleProgram(
            ["--broker", "mqtt://127.0.0.1:\(broker)", "--listen", listen] + arguments
                + settings.flatMap { ["--set", $0] },
            environment: environment, launcher: launcher, program: Products.pageProgram)
        _ = await eventually { program.output.hasSuffix("\n") || !program.isRunning }
        let line = program.output.split(separator: "\n").first.map(String.init) ?? ""
        guard let url = URLComponents(string: line), let port = url.port.flatMap({ UInt16(exactly: $0) }),
            let token = url.queryItems?.first(where: { $0.name == "token" })?.value
        else {
            program.kill()
            throw PageRigError.noAddress(program.output + program.errors)
        }
        self.program = program
        self.port = port
        self.token = token
    }

    enum PageRigError: Error {
        /// The program printed no address with a token.
        case noAddress(String)
        /// The token did not sign in.
        case refused(Int)
    }

    /// Signs in with the token of the first address; returns the header that carries the cookie.
    func signIn() throws -> RawHTTP.Header {
        let reply = try RawHTTP.get(port, "/?token=\(token)")
        guard reply.status == 303, let cookie = reply.header("Set-Cookie")?.split(separator: ";").first else {
            throw PageRigError.refused(reply.status)
        }
        return ("Cookie", String(cookie))
    }

    /// Posts JSON as the page itself does.
    func post(_ path: String, _ json: String, _ cookie: RawHTTP.Header) throws -> RawHTTP.Reply {
        try RawHTTP.send(
            port, "POST", path,
            [cookie, ("Content-Type", "application/json"), ("X-Jostle", "1"), ("Origin", base)], body: json)
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the programs were not built, or mosquitto is not installed.
    static var needsPage: Self {
        .enabled(
            if: Products.hasProgram && FileManager.default.isExecutableFile(atPath: Products.pageProgram.path)
                && TestBroker.isAvailable, "jostle-page was not built, or there is no mosquitto")
    }
}
