import BrokerTestSupport
import Foundation
import JostleCommandLine
import JostleConfiguration
import Testing

@testable import jostle

/// Requirement: the manual describes every command, option and key, and man shows it.
@Suite struct ManualTests {
    private let pages = Dictionary(uniqueKeysWithValues: Manual(Command.all).pages.map { ($0.name, $0.page.source) })

    private func leaves(_ commands: [Command]) -> [Command] {
        commands.filter { !$0.usage.isHidden }.flatMap { $0.commands.isEmpty ? [$0] : leaves($0.commands) }
    }

    @Test func describesCommandsAndOptions() throws {
        let commands = leaves(Command.all)
        #expect(commands.count > 30 && pages["jostle-manual.1"] == nil)
        for command in commands {
            let word = try #require(command.usage.name.split(separator: " ").first)
            let page = try #require(pages["jostle-\(word).1"], "\(command.usage.name)")
            #expect(page.contains("\\fBjostle \(ManualPage.text(command.usage.name))\\fR"), "\(command.usage.name)")
            let program = command.usage.program
            #expect(page.contains("\n\\fB\(ManualPage.text(program))\\fR") == command.usage.isProgram, "\(program)")
            for option in command.usage.options {
                #expect(page.contains("\\fB\(ManualPage.text("--\(option.name)"))\\fR"), "\(word) --\(option.name)")
            }
        }
    }

    @Test func describesKeys() throws {
        let page = try #require(pages["jostle.yaml.5"])
        for key in ConfigurationSchema.keys where key.path != "actions" {
            let names = key.path.split(separator: ".")
            let shared = names[0] == "gestures" ? (["gestures", "<gesture>"] + names[2...]).joined(separator: ".") : ""
            let isDescribed = [key.path, shared].contains { page.contains("\\fB\(ManualPage.text($0))\\fR\n") }
            #expect(isDescribed, "\(key.path)")
        }
    }

    @Test(arguments: [nil, "https://codeberg.org/somebody/jostle"])
    func namesTheAddressOfTheProject(address: String?) throws {
        let page = try #require(Manual(Command.all, address: address).pages.first { $0.name == "jostle.1" }?.page)
        #expect(page.source.contains(".SH \"REPORTING BUGS\"\n") == (address != nil))
        #expect(page.source.contains("https://") == (address != nil))
    }

    @Test func escapesWhatHasAMeaning() {
        let escapes = [
            "a-b": "a\\-b", "\\n": "\\en", "'q'": "\\(aqq\\(aq", "\"x\"": "\\(dqx\\(dq", "`^~": "\\(ga\\(ha\\(ti",
        ]
        for (text, escaped) in escapes { #expect(ManualPage.text(text) == escaped) }
        var page = ManualPage(title: "x", section: 1, summary: "y", names: ["x"])
        page.paragraphs("first\n\n.TH second\n  a  table\n  b  table\nthird")
        #expect(
            page.source.hasSuffix(".P\nfirst\n.P\n\\&.TH second\n.P\n.EX\n  a  table\n  b  table\n.EE\n.P\nthird\n"))
    }

    private static let groff = "/usr/bin/groff"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: groff), "groff is not installed"))
    func groffFindsNoFault() throws {
        let directory = try TemporaryDirectory()
        for (name, source) in pages { try directory.write(source, to: name) }
        try runCommand(
            [
                "/bin/sh", "-c",
                "for page in *.[15]; do \(ManualTests.groff) -man -Tutf8 -ww -z -k $page; done >out 2>&1",
            ],
            in: directory)
        #expect(try String(contentsOfFile: directory.path("out"), encoding: .utf8) == "")
    }
}
