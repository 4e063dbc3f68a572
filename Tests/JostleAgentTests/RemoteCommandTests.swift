import Testing

@testable import JostleAgent

/// Requirement: a command is understood wholly or refused with the reason, whatever is sent.
@Suite struct RemoteCommandTests {
    private func command(_ name: String, _ arguments: String) throws(CommandRefusal) -> RemoteCommand {
        try RemoteCommand(name: name, arguments: Array(arguments.utf8))
    }

    private func refusal(of name: String, _ arguments: String) -> CommandRefusal? {
        do throws(CommandRefusal) {
            _ = try command(name, arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            ("", .takeReference(headingOnly: false)), ("{}", .takeReference(headingOnly: false)),
            (" {\"clear\": false} ", .takeReference(headingOnly: false)), ("{\"clear\":true}", .clearReference),
            ("{\"heading_only\":true}", .takeReference(headingOnly: true)),
            ("{\"heading_only\":true,\"clear\":false}", .takeReference(headingOnly: true)),
            ("{\"heading_only\":false,\"clear\":true}", .clearReference),
        ] as [(String, RemoteCommand)])
    func tareIsUnderstood(arguments: String, meaning: RemoteCommand) throws {
        #expect(try command("tare", arguments) == meaning)
    }

    @Test(
        arguments: [
            "{\"clear\":1}", "{\"clear\":null}", "{\"clear\":{}}", "{\"clean\":true}", "[]", "true", "\"clear\"", "{",
            "{\"clear\":true}}", "{\"clear\":true,\"clear\":false}", "\u{0}",
            "{\"heading_only\":1}", "{\"heading_only\":true,\"clear\":true}",
            "{\"clear\":" + String(repeating: " ", count: 4096) + "true}",
        ])
    func whatIsNoArgumentIsRefused(arguments: String) {
        let refusal = refusal(of: "tare", arguments)
        #expect(refusal?.code == .badArguments && refusal?.message.isEmpty == false)
    }

    @Test func anUnknownCommandIsRefusedAndTheKnownAreNamed() {
        let refusal = refusal(of: "reboot", "")
        #expect(refusal?.code == .unknownCommand && refusal?.message.contains("there is tare") == true)
    }
}

/// Requirement: a line of the log is a line, also where it quotes what somebody sent.
@Suite struct LogTests {
    @Test(
        arguments: [
            ("plain ü", "plain ü"), ("a\nb", "a\\u{a}b"), ("\r\n<0>all is lost", "\\u{d}\\u{a}<0>all is lost"),
            ("\u{1B}[2J\u{7F}", "\\u{1b}[2J\\u{7f}"),
        ])
    func controlCharactersAreSpeltOut(text: String, line: String) {
        #expect(Log.oneLine(text) == line)
    }
}
