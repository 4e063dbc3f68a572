import BrokerTestSupport
import Foundation
import Testing

/// Requirement: systemd knows when the page is served, whether it has a broker, and whether its thread still runs.
@Suite(.needsPage) struct PageServiceTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    @Test func tellsSystemdWhatItDoes() async throws {
        let broker = try await rig.broker()
        let manager = try NotifySocket(in: directory)
        let page = try await rig.page(
            broker: broker.port,
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"])
        #expect(await manager.receives("READY=1"), "\(page.program.errors)")
        #expect(await manager.receives("STATUS=connected to the broker"), "\(page.program.errors)")
        for _ in 1...3 { #expect(await manager.receives("WATCHDOG=1"), "\(page.program.errors)") }
        broker.kill()
        #expect(await manager.receives { $0.hasPrefix("STATUS=no connection to the broker: ") })
        page.program.signal(SIGTERM)
        #expect(await manager.receives("STOPPING=1"))
        #expect(await page.program.exitStatus() == 0)
    }

    /// The journal keeps what it is given for months, and others may read it.
    @Test func keepsTheTokenOutOfTheJournal() async throws {
        let output = directory.path("journal")
        try Data().write(to: URL(fileURLWithPath: output))
        var status = stat()
        #expect(stat(output, &status) == 0)
        let child = try ChildProcess(
            [
                "/bin/sh", "-c",
                "exec env JOURNAL_STREAM=\(status.st_dev):\(status.st_ino) JOSTLE_CONFIG=/dev/null "
                    + "STATE_DIRECTORY=state \(Products.pageProgram.path) --broker mqtt://127.0.0.1:1 "
                    + "--listen 127.0.0.1:0 >>\(output)",
            ], in: directory, errors: directory.path("errors"))
        defer {
            kill(child.identifier, SIGKILL)
            child.wait()
        }
        let text = { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
        #expect(await eventually { text().hasSuffix("\n") })
        #expect(text().wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/\n/) != nil, "\(text())")
    }
}
