import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle replay` follows the contract: rows, columns, digits, errors with their line, and reproducible
/// output.
@Suite(.needsProgram) struct ReplayTests {
    private let directory = TemporaryDirectory.new()
    private static let eventHeader =
        "t_s,gesture,phase,direction,side,count,axis,angle,strength,duration,reason,from,to,reversals,level,frequency,"
        + "height,rate"

    private func lines(_ name: String) throws -> [String] {
        let text = try String(contentsOfFile: directory.path(name), encoding: .utf8)
        #expect(text.hasSuffix("\n"))
        return text.split(separator: "\n").map(String.init)
    }

    @Test func attitudeHasOneRowPerInputRow() async throws {
        let recording = "# a comment\n" + Recording.turn() + "\n# another\n"
        let file = try directory.write(recording, to: "turn.csv")
        let outcome = try await jostle("replay", file, "--attitude", directory.path("attitude.csv")).expect(status: 0)
        #expect(outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
        let rows = try lines("attitude.csv")
        #expect(rows.first == "t_s,w,x,y,z")
        let times = recording.split(separator: "\n").filter { $0.first?.isNumber == true }
            .map { $0.prefix { $0 != "," } }
        #expect(rows.dropFirst().map { $0.prefix { $0 != "," } } == times)
        // A quarter turn about x, w first, from body to earth.
        let last = try #require(rows.last).split(separator: ",").compactMap { Double($0) }
        try #require(last.count == 5)
        #expect(abs(last[1] - 0.7071) < 0.02 && abs(last[2] - 0.7071) < 0.02, "\(last)")
        #expect(abs(last[3]) < 0.02 && abs(last[4]) < 0.02, "\(last)")
    }

    @Test func attitudeHasNineSignificantDigits() async throws {
        let file = try directory.write(Recording.turn(), to: "turn.csv")
        let outcome = try await jostle("replay", file, "--attitude", "-")
        var longest = 0
        for row in outcome.lines.dropFirst() {
            let fields = row.split(separator: ",").dropFirst().map(String.init)
            let values = fields.compactMap { Double($0) }
            try #require(values.count == 4, "\(row)")
            #expect(abs(values.reduce(0) { $0 + $1 * $1 } - 1) < 1e-8)
            for field in fields {
                let mantissa = field.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }
                longest = max(longest, mantissa.count)
            }
        }
        #expect(longest == 9)
    }

    /// The rows about shakes; a shaken board also moves.
    private static func shakes(_ lines: [String]) -> [String] {
        lines.filter { $0.contains(",shake,") }
    }

    @Test func eventsGoToStandardOutputByDefault() async throws {
        let outcome = try await jostle("replay", "-", input: Recording.shake()).expect(status: 0)
        #expect(outcome.lines.first == Self.eventHeader)
        let rows = Self.shakes(outcome.lines).map { $0.components(separatedBy: ",") }
        #expect(rows.map { $0[1] } == ["shake", "shake"])
        #expect(rows.map { $0[2] } == ["began", "ended"])
        for row in rows {
            try #require(row.count == 18)
            #expect(row[3...5].allSatisfy(\.isEmpty) && row[7].isEmpty && row[10].isEmpty, "\(row)")
            #expect(row[6] == "x")
            // The time is that of a row in the recording, digit for digit.
            #expect(Recording.shake().contains("\n\(row[0]),"))
            let strength = try #require(Double(row[8]))
            #expect((10...20).contains(strength))
            #expect(Double(row[9]) != nil)
        }
        let times = rows.compactMap { Double($0[0]) }
        #expect((1.0...1.8).contains(times[0]) && (1.8...2.6).contains(times[1]), "\(times)")
    }

    @Test func explanationsAreSentences() async throws {
        let recording = Recording.shake(until: 1.25, hasGyroscope: false)
        let outcome = try await jostle("replay", "-", "--explain", input: recording).expect(status: 0)
        #expect(outcome.lines.contains("1.040 s: motion began, after 0 s"), "\(outcome.lines)")
        let miss = /[\d.]+ s: no tap: it did not come to rest, [\d.]+ m\/s² but at most [\d.]+ m\/s² is allowed/
        let cancelled = /[\d.]+ s: shake cancelled, axis x, .* s, it stopped before the fourth swing/
        #expect(outcome.lines.contains { $0.wholeMatch(of: miss) != nil }, "\(outcome.lines)")
        #expect(outcome.lines.contains { $0.wholeMatch(of: cancelled) != nil }, "\(outcome.lines)")
        #expect(outcome.lines.contains { $0.contains("no gyroscope") })
        try await jostle("replay", "-", "--explain", "--events", "-", input: recording).expect(status: 64)
    }

    @Test func cancelsOpenGestureAtEnd() async throws {
        let recording = Recording.shake().split(separator: "\n").prefix(170).joined(separator: "\n") + "\n"
        let outcome = try await jostle("replay", "-", "--events", "-", input: recording)
        let shakes = Self.shakes(outcome.lines)
        let last = try #require(shakes.last)
        #expect(outcome.status == 0 && shakes.count == 2)
        #expect(last.hasPrefix("1.680,shake,cancelled,") && last.contains(",stopped,"), "\(last)")
    }

    @Test func accelerometerAloneGivesInclination() async throws {
        let recording =
            "t_s,ax,ay,az,gx,gy,gz,temp_c\n"
            + (0..<300).map { "\(Double($0) / 100),0,4.903325,8.492808,,,,21.5\n" }.joined()
        let outcome = try await jostle("replay", "-", "--attitude", "-", input: recording).expect(status: 0)
        #expect(outcome.lines.count == 301)
        let last = try #require(outcome.lines.last).split(separator: ",").compactMap { Double($0) }
        try #require(last.count == 5)
        // Rolled by 30 degrees, heading zero.
        #expect(abs(last[1] - cos(.pi / 12)) < 1e-3 && abs(last[2] - sin(.pi / 12)) < 1e-3, "\(last)")
        #expect(abs(last[3]) < 1e-3 && abs(last[4]) < 1e-3, "\(last)")
    }

    @Test func recognisesShakesWithoutGyroscope() async throws {
        let outcome = try await jostle("replay", "-", input: Recording.shake(hasGyroscope: false))
        #expect(Self.shakes(outcome.lines).count == 2, "\(outcome)")
    }

    @Test func outputIsReproducible() async throws {
        let file = try directory.write(Recording.shake(), to: "shake.csv")
        for run in ["1", "2"] {
            try await jostle(
                "replay", file, "--attitude", directory.path("a" + run), "--events", directory.path("e" + run)
            ).expect(status: 0)
        }
        for name in ["a", "e"] {
            #expect(
                FileManager.default.contentsEqual(
                    atPath: directory.path(name + "1"), andPath: directory.path(name + "2")))
        }
        #expect(Self.shakes(try lines("e1")).count == 2)
    }

    @Test func settingsApply() async throws {
        let off = try await jostle("replay", "-", "--set", "gestures.shake.enabled=false", input: Recording.shake())
            .expect(status: 0)
        #expect(off.lines.first == Self.eventHeader && Self.shakes(off.lines).isEmpty)
        let file = try directory.write("gestures: { shake: { enabled: false } }\n", to: "off.yaml")
        let fromFile = try await jostle("replay", "-", "--config", file, input: Recording.shake())
        #expect(fromFile.lines.first == Self.eventHeader && Self.shakes(fromFile.lines).isEmpty)
        let over = try await jostle(
            "replay", "-", "--config", file, "--set", "gestures.shake.enabled=true", input: Recording.shake())
        #expect(Self.shakes(over.lines).count == 2)
    }

    @Test func invalidConfigurationIsStatus78() async throws {
        let outcome = try await jostle(
            "replay", "-", "--set", "gestures.shake.sensitivity=11", input: Recording.shake()
        ).expect(status: 78, errors: "gestures.shake.sensitivity")
        #expect(outcome.output.isEmpty)
    }

    @Test(
        arguments: [
            ("0.02,1,2,x,0,0,0", "az"), ("0.02,1,2,3,0,0", "fields"), ("0.02,1,2,3,0,0,0,0", "fields"),
            ("0.02,1,2,3,0,,0", "gx"), ("0.02,,2,3,0,0,0", "ax"), ("0.02,1,2,nan,0,0,0", "az"),
            ("0.02,1,2,inf,0,0,0", "az"), ("0.02,1,2,1e999,0,0,0", "az"), ("0.01,1,2,3,0,0,0", "t_s"),
            ("0.005,1,2,3,0,0,0", "t_s"), ("1e300,1,2,3,0,0,0", "t_s"), ("hello", "t_s"),
        ])
    func reportsLineOfMalformedRow(row: String, word: String) async throws {
        let file = try directory.write(
            "# comment\n\(Recording.header)\n0,0,0,9.8,0,0,0\n0.01,0,0,9.8,0,0,0\n\(row)\n0.03,0,0,9.8,0,0,0\n",
            to: "wrong.csv")
        let outcome = try await jostle("replay", file, "--attitude", directory.path("attitude.csv")).expect(
            status: 65, errors: "wrong.csv:5: ")
        #expect(outcome.errors.contains(word), "\(outcome.errors)")
    }

    @Test(arguments: ["", "1,2,3\n", "t_s,ax,ay,az\n", "# accelerometer_range_m_s2: much\nt_s,ax,ay,az,gx,gy,gz\n"])
    func invalidRecordingIsStatus65(text: String) async throws {
        try await jostle("replay", "-", input: text).expect(status: 65, errors: "-:1: ")
    }

    @Test func missingFileIsStatus66() async throws {
        let path = directory.path("nowhere.csv")
        try await jostle("replay", path).expect(status: 66, errors: "\(path): No such file or directory")
    }

    @Test func unwritableFileIsStatus73() async throws {
        let path = directory.path("nowhere/attitude.csv")
        let outcome = try await jostle("replay", "-", "--attitude", path, input: Recording.turn()).expect(status: 73)
        #expect(outcome.errors.contains(path), "\(outcome)")
    }

    @Test func onlyOneOutputGoesToStandardOutput() async throws {
        let outcome = try await jostle("replay", "-", "--attitude", "-", "--events", "-", input: Recording.turn())
            .expect(status: 64)
        #expect(outcome.output.isEmpty)
    }
}
