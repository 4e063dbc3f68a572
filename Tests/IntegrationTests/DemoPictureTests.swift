import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the picture of the demonstration in README shows the program as it is.
@Suite(.needsBroker) struct DemoPictureTests {
    private static let picture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../docs/demo.svg").standardized
    private static let size: (columns: UInt16, rows: UInt16) = (100, 30)

    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// With `JOSTLE_WRITE_DOCS` set, as `make docs-pictures` sets it, takes the picture before looking at it.
    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func thePictureOfTheDemonstrationIsOfThisVersion() async throws {
        let terminal = try Terminal()
        try terminal.resize(columns: Self.size.columns, rows: Self.size.rows)
        _ = try rig.run(
            on: terminal, in: directory,
            [
                "-u", "SSH_CONNECTION", "JOSTLE_CONFIG=/dev/null", "TMPDIR=/tmp", "LC_ALL=C.UTF-8", "TERM=xterm",
                Products.program.path, "demo", "--set", "device.id=demo-raspberrypi-fda4", "--for", "100",
            ])
        let shows = { (text: String) in self.rows(terminal).contains { $0.contains(text) } }
        try #require(await eventually { shows("● online") && shows("▼") }, "\(terminal.rows)")
        let command = rows(terminal).drop { !$0.hasPrefix("Listen from") }.dropFirst()
            .prefix { !$0.hasPrefix("No sensor") }
        try #require(command.contains { $0.contains("mosquitto_sub") }, "\(terminal.rows)")
        if ProcessInfo.processInfo.environment["JOSTLE_WRITE_DOCS"] != nil { try await take(terminal, Array(command)) }

        let picture = masked(try String(contentsOf: Self.picture, encoding: .utf8))
        // The address of the page, the title, and what a reader types.
        for row in rows(terminal).prefix(3) + command {
            #expect(picture.contains(masked(TerminalPicture.escaped(row))), "make docs-pictures: no \(row)")
        }
        for row in rows(terminal) {
            guard let label = row.split(separator: "│  ").dropFirst().first?.prefix(12) else { continue }
            #expect(picture.contains(masked(String(label))), "make docs-pictures: no \(label)")
        }
        #expect(picture.contains("No sensor: ") && picture.contains("More: jostle doctor</text> <rect"))
    }

    private func rows(_ terminal: Terminal) -> ArraySlice<String> { terminal.rows.prefix(Int(Self.size.rows)) }

    /// Takes the picture when the board was shaken and the subscriber has heard of it.
    private func take(_ terminal: Terminal, _ command: [String]) async throws {
        let heard = directory.path("heard")
        let subscriber = try ChildProcess(
            ["/bin/sh", "-c", "exec env \(command.joined(separator: "\n")) -W 60 >'\(heard)'"], in: directory)
        defer { subscriber.kill() }
        let messages = { ((try? String(contentsOfFile: heard, encoding: .utf8)) ?? "").split(separator: "\n") }
        try #require(
            await eventually {
                rows(terminal).contains { $0.contains("shake     ended") }
                    && messages().last?.contains(/shake.*"phase":"ended"/) == true
            }, "\(terminal.rows)")
        let board = ["\u{1B}[32m$ make run"] + terminal.styledRows.prefix(Int(Self.size.rows))
        let typed = command.enumerated().map { "\u{1B}[32m\($0.offset == 0 ? "$" : ">") \($0.element)" }
        let picture = TerminalPicture(
            columns: Int(Self.size.columns),
            windows: [
                .init(title: "the board", rows: board),
                .init(title: "another terminal there", rows: typed + messages().suffix(3).flatMap(wrapped)),
            ])
        try Data(picture.svg.utf8).write(to: Self.picture)
    }

    /// A line as a terminal shows it.
    private func wrapped(_ line: Substring) -> [String] {
        let columns = Int(Self.size.columns)
        return stride(from: 0, to: line.count, by: columns).map { String(line.dropFirst($0).prefix(columns)) }
    }

    /// A text without what is different each time: numbers, the token, the directory and the number of blanks.
    private func masked(_ text: String) -> String {
        text.replacing(/[0-9a-f]{24}/, with: "TOKEN").replacing(/jostle-demo-\w+/, with: "DIRECTORY")
            .replacing(/[0-9]+/, with: "0").replacing(/\s+/, with: " ").trimmingCharacters(in: .whitespaces)
    }
}
