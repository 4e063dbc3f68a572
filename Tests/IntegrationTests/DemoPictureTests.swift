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
        let rows = { terminal.rows.prefix(Int(Self.size.rows)) }
        try #require(
            await eventually { rows().contains { $0.contains("● online") } && rows().contains { $0.contains("▼") } })
        let command = rows().drop { !$0.hasPrefix("Listen from") }.dropFirst().prefix { !$0.hasPrefix("No sensor") }
        try #require(command.contains { $0.contains("mosquitto_sub") }, "\(rows())")
        if ProcessInfo.processInfo.environment["JOSTLE_WRITE_DOCS"] != nil {
            let listen = command.joined(separator: "\n") + " -C 3 -W 60 >'\(directory.path("heard"))'"
            try runCommand(["/bin/sh", "-c", listen], in: directory)
            let heard = try String(contentsOfFile: directory.path("heard"), encoding: .utf8)
            try #require(await eventually { rows().contains { $0.contains("shake     ended") } }, "\(rows())")
            let board = ["\u{1B}[32m$ make run"] + terminal.styledRows.prefix(Int(Self.size.rows))
            let typed = command.enumerated().map { "\u{1B}[32m\($0.offset == 0 ? "$" : ">") \($0.element)" }
            let picture = TerminalPicture(
                columns: Int(Self.size.columns),
                windows: [
                    .init(title: "the board", rows: board),
                    .init(title: "another terminal there", rows: typed + heard.split(separator: "\n").flatMap(wrapped)),
                ])
            try Data(picture.svg.utf8).write(to: Self.picture)
        }

        let picture = masked(try String(contentsOf: Self.picture, encoding: .utf8))
        for line in rows().filter({ !$0.contains("│") && !$0.hasPrefix("No sensor") }).prefix(3) + command
        where !line.isEmpty {
            #expect(picture.contains(masked(TerminalPicture.escaped(line))), "make docs-pictures: no \(line)")
        }
        for row in rows() {
            guard let label = row.split(separator: "│  ").dropFirst().first?.prefix(12) else { continue }
            #expect(picture.contains(masked(label.trimmingCharacters(in: .whitespaces))), "make docs-pictures: no \(label)")
        }
        #expect(picture.contains("No sensor: ") && picture.contains("More: jostle doctor</text>\n<rect"))
    }

    /// A line as a terminal shows it.
    private func wrapped(_ line: Substring) -> [String] {
        stride(from: 0, to: line.count, by: Int(Self.size.columns)).map { String(line.dropFirst($0).prefix(Int(Self.size.columns))) }
    }

    /// A text without what is different each time: numbers, the token, the directory and how many blanks are before them.
    private func masked(_ text: String) -> String {
        text.replacing(/[0-9a-f]{24}/, with: "TOKEN").replacing(/jostle-demo-\w+/, with: "DIRECTORY")
            .replacing(/[0-9]+/, with: "0").replacing(/\s+/, with: " ")
    }
}
