import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a demonstration shows a newcomer its web page first, and the page ends with it, however it ends.
@Suite(.needsPage) struct DemoPageTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// A demonstration on the virtual sensor, and the address of its page.
    private func demo(
        _ options: [String], environment: [String: String] = [:], program: URL = Products.program
    ) async throws -> (program: JostleProgram, page: URLComponents?) {
        let variables = ["SSH_CONNECTION": "", "TMPDIR": directory.path("")].merging(environment) { $1 }
        let program = try rig.run(
            ["demo", "--for", "100", "--set", "sensor.driver=virtual", "--set", "sensor.rate=50Hz"] + options,
            environment: variables, program: program)
        _ = await eventually { program.output.contains("the sensor is measuring") }
        let text = program.output.firstMatch(of: /\n {4}(http:\/\/127\.0\.0\.1:\d+\/\?token=[0-9a-f]{24})\n/)
        return (program, text.flatMap { URLComponents(string: String($0.1)) })
    }

    /// Whether something listens at the port.
    private func isServed(_ port: UInt16) -> Bool { (try? RawHTTP.get(port, "/login"))?.status == 200 }

    @Test func isShownFirstAndMayControl() async throws {
        let wanted = try Loopback.freePort()
        let (program, page) = try await demo(["--set", "page.listen=127.0.0.1:\(wanted)"])
        #expect(program.output.hasPrefix("\nWeb page: open this in a browser on this machine:\n"), "\(program.output)")
        let port = try #require(page?.port.flatMap { UInt16(exactly: $0) }, "\(program.output)\(program.errors)")
        #expect(port == wanted)
        let query = try #require(page?.query)
        let first = try RawHTTP.get(port, "/?\(query)")
        let field = try #require(first.header("Set-Cookie"))
        let cookie = String(try #require(field.split(separator: ";").first))
        let session = try RawHTTP.get(port, "/api/session", [("Cookie", cookie)])
        #expect(session.body.contains("\"control\":true"), "\(session.body)")
        // It has the login of the private broker.
        let seesBoard = await eventually {
            (try? RawHTTP.get(port, "/metrics"))?.body.contains("{board=\"demo-") == true
        }
        #expect(seesBoard, "\(program.errors)")
        #expect(await program.terminate() == 0)
        #expect(!isServed(port))
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path(""))
        #expect(left.isEmpty, "\(left)")
    }

    @Test func endsWithADemonstrationThatIsKilled() async throws {
        let (program, page) = try await demo(
            ["--set", "page.listen=127.0.0.1:0"], environment: ["SSH_CONNECTION": "192.0.2.7 50122 192.0.2.20 22"])
        let port = try #require(page?.port.flatMap { UInt16(exactly: $0) }, "\(program.output)\(program.errors)")
        #expect(program.output.contains(" -L \(port):127.0.0.1:\(port) "), "\(program.output)")
        #expect(program.output.contains("@192.0.2.20\n"), "\(program.output)")
        #expect(isServed(port))
        program.kill()
        #expect(await eventually { !isServed(port) })
    }

    @Test func theDemonstrationGoesOnWithoutIt() async throws {
        let (program, page) = try await demo(["--set", "page.listen=127.0.0.1:0"])
        #expect(page != nil, "\(program.output)\(program.errors)")
        let process = try #require(pageOf(program))
        kill(process, SIGKILL)
        #expect(await eventually { program.output.contains("The web page has ended, status 137") }, "\(program.output)")
        #expect(program.isRunning)
        #expect(await program.terminate() == 0)
    }

    @Test func takesAFreePortIfTheUsualOneIsInUse() async throws {
        // While another program has it, the rig ends; one that does not give it back is as good.
        var other: PageRig?
        for _ in 0..<50 where other == nil { other = try? await PageRig(broker: 1, port: 8088) }
        defer { other?.program.kill() }
        let (program, page) = try await demo([])
        let port = try #require(page?.port.flatMap { UInt16(exactly: $0) }, "\(program.output)\(program.errors)")
        #expect(port != 8088 && isServed(port))
        #expect(await program.terminate() == 0)
    }

    @Test func saysWhyThereIsNone() async throws {
        let alone = URL(fileURLWithPath: directory.path("jostle"))
        do {
            try FileManager.default.linkItem(at: Products.program, to: alone)
        } catch {
            try FileManager.default.copyItem(at: Products.program, to: alone)
        }
        let absent = try await demo([], environment: ["PATH": "/nowhere"], program: alone)
        defer { absent.program.kill() }
        #expect(absent.page == nil)
        #expect(
            absent.program.output.hasPrefix("No web page: the program jostle-page is not installed; "),
            "\(absent.program.output)")
        #expect(absent.program.output.contains("the sensor is measuring"))

        let refused = try await demo(["--set", "page.listen=0.0.0.0:0"])
        defer { refused.program.kill() }
        #expect(
            refused.program.output.hasPrefix("No web page: 0.0.0.0:0 can be reached from other machines"),
            "\(refused.program.output)")

        let none = try await demo(["--no-page"])
        defer { none.program.kill() }
        #expect(none.program.output.hasPrefix("Sensor: "), "\(none.program.output)")
        #expect(pageOf(none.program) == nil)
    }

    /// The process of the page: proc(5), the second and the fourth field of `stat`.
    private func pageOf(_ program: JostleProgram) -> pid_t? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.first { number in
            let stat = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return stat.contains("(jostle-page)") && fields.count > 1 && fields[1] == "\(program.processIdentifier)"
        }
    }
}
