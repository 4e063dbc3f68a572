import BrokerTestSupport
import Foundation
import Synchronization
import Testing

@testable import JostleAgent
@testable import LinuxSystem

/// Requirement: a rule's program runs without a shell, with the event in its environment and on its standard input, and
/// ends in time.
@Suite struct ProgramRequestTests {
    private static let event =
        #"{"id":"f00d-1","t":1795182603123,"gesture":"shake","phase":"began","strength":14.2,"simulated":true,"#
        + #""device":"dut","PATH":"/tmp","config":"x"}"#

    private func run(_ words: [String], seconds: Double = 20) -> (failure: String?, lines: [String]) {
        let request = ProgramRequest(title: "a", words: words, seconds: seconds, event: Self.event)
        let lines = Mutex<[String]>([])
        let failure = request.run { line in lines.withLock { $0.append(line) } }
        return (failure, lines.withLock { $0 })
    }

    @Test func programGetsTheEvent() {
        let program =
            #"printf '%s|' "$JOSTLE_GESTURE" "$JOSTLE_PHASE" "$JOSTLE_STRENGTH" "$JOSTLE_DEVICE" "$JOSTLE_ID" "$0"; cat"#
        let (failure, lines) = run(["/bin/sh", "-c", program, "$HOME; a 'b'"])
        #expect(failure == nil)
        #expect(lines == ["shake|began|14.2|dut|f00d-1|$HOME; a 'b'|\(Self.event)"])
    }

    /// A field of an event becomes no variable with another meaning.
    @Test func onlyFieldsOfEventsAreVariables() {
        let variables = ProgramRequest(title: "a", words: ["/a"], seconds: 1, event: Self.event).variables
        #expect(
            variables == [
                "JOSTLE_ID": "f00d-1", "JOSTLE_T": "1795182603123", "JOSTLE_GESTURE": "shake", "JOSTLE_PHASE": "began",
                "JOSTLE_STRENGTH": "14.2", "JOSTLE_SIMULATED": "true", "JOSTLE_DEVICE": "dut",
            ])
    }

    @Test func failuresAreNamed() {
        #expect(run(["/bin/sh", "-c", "echo bad >&2; exit 3"]) == ("/bin/sh exited with status 3", ["bad"]))
        #expect(run(["/bin/sh", "-c", "kill -9 $$"]).failure == "/bin/sh was killed by signal 9")
        #expect(run(["/none/such"]).failure == "/none/such: No such file or directory")
        #expect(run(["/etc/passwd"]).failure == "/etc/passwd: Permission denied")
    }

    /// Also what the program started is killed, and output that has no end is cut.
    @Test func limitsTimeAndOutput() throws {
        let directory = try TemporaryDirectory()
        let start = ContinuousClock.now
        let slow = run(["/bin/sh", "-c", "sleep 100 & echo $! >\(directory.path("pid")); wait"], seconds: 0.3)
        #expect(slow.failure == "/bin/sh was killed: it did not end within 0.3 s")
        #expect(ContinuousClock.now - start < .seconds(20))
        let child = try #require(
            Int32(try String(contentsOfFile: directory.path("pid"), encoding: .utf8).split(separator: "\n")[0]))
        #expect(eventuallyBlocking { kill(child, 0) != 0 || Self.isZombie(child) })
        let loud = run(["/bin/sh", "-c", "yes 0123456789 | head -n 100000"])
        #expect(loud.failure == nil && loud.lines.last?.contains("the rest is left out") == true)
        #expect(loud.lines.count < 2000)
    }

    private static func isZombie(_ process: Int32) -> Bool {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ") Z"
        return text.contains(") Z")
    }

    /// A program need not read its input.
    @Test func inputMayBeIgnored() {
        for _ in 1...20 { #expect(run(["/bin/true"]).failure == nil) }
    }

    @Test func requestIsReadAsWritten() throws {
        let request = ProgramRequest(title: "a \"b\"", words: ["/a", "", "ä\n", "$x"], seconds: 2.5, event: Self.event)
        #expect(ProgramRequest(request.bytes) == request)
        for text in [
            "", "{", "[]", "{}", #"{"title":"a","words":[],"seconds":1,"event":"{}"}"#,
            #"{"title":"a","words":["sh"],"seconds":1,"event":"{}"}"#,
            #"{"title":"a","words":["/a"],"seconds":1e9,"event":"{}"}"#,
            #"{"title":"a","words":["/a\u0000b"],"seconds":1,"event":"{}"}"#,
            #"{"title":"a","words":["/a"],"seconds":1,"event":7}"#,
        ] {
            #expect(ProgramRequest(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(try ProgramRequest.failure(in: ProgramRequest.answer(nil)) == nil)
        #expect(try ProgramRequest.failure(in: ProgramRequest.answer("no")) == "no")
        #expect(throws: (any Error).self) { _ = try ProgramRequest.failure(in: []) }
    }

    @Test func onlyListedProgramsRun() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write(
            "# /bin/no\n\n  /bin/yes \n/bin/with blank\n", to: "programs", permissions: 0o644)
        let list = ProgramList(path)
        #expect(list.refusal(of: "/bin/yes") == nil && list.refusal(of: "/bin/with blank") == nil)
        for program in ["/bin/no", "# /bin/no", "/bin/ye", "/bin/../bin/yes", "yes", "", "/bin/with"] {
            #expect(
                list.refusal(of: program)?.contains("is not in \(path), the list of programs") == true, "\(program)")
        }
        #expect(ProgramList(directory.path("none")).refusal(of: "/bin/yes")?.contains("No such file") == true)
        for mode in [0o664, 0o646] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(list.refusal(of: "/bin/yes")?.contains("others than root can change it") == true)
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a file away")) func listOfAnotherUserIsRefused() throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("/bin/yes\n", to: "programs", permissions: 0o644)
        #expect(chown(path, 65534, 65534) == 0)
        #expect(ProgramList(path).refusal(of: "/bin/yes")?.contains("others than root can change it") == true)
    }
}

/// Requirement: what curl says of a post is understood, and the URL is not repeated.
@Suite struct PostOutcomeTests {
    private func judge(_ end: ChildProgram.End, _ output: String = "", _ errors: String = "") -> ActionOutcome {
        ActionStarter.judge(.init(output: output, errors: errors, end: end, isCut: false), without: "http://a/token")
    }

    @Test func statusDecides() {
        #expect(judge(.exited(0), "204") == .done)
        #expect(judge(.exited(0), "500") == .failed("the web server answered 500", mayRetry: true))
        #expect(judge(.exited(0), "429") == .failed("the web server answered 429", mayRetry: true))
        #expect(judge(.exited(0), "404") == .failed("the web server answered 404", mayRetry: false))
        #expect(
            judge(.exited(0), "302")
                == .failed("the web server answered 302, a redirection, which is not followed", mayRetry: false))
        #expect(
            judge(.exited(6), "000", "curl: (6) Could not resolve host: http://a/token\nmore")
                == .failed("curl: (6) Could not resolve host: [URL]", mayRetry: true))
        #expect(judge(.exited(3), "000", "curl: (3) bad") == .failed("curl: (3) bad", mayRetry: false))
        #expect(judge(.stopped) == .failed("no answer within 10 s", mayRetry: true))
    }

    @Test func valuesAreQuotedForCurl() {
        #expect(ActionStarter.quoted("{\"a\":\"b\\n\"}\n") == #""{\"a\":\"b\\n\"}\n""#)
    }
}
