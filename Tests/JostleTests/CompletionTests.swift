import BrokerTestSupport
import JostleCommandLine
import JostleConfiguration
import JostleOperator
import Testing

@testable import jostle

/// Requirement: what a shell suggests is what the command takes.
@Suite struct CompletionTests {
    private func completion(_ words: String...) throws -> Completion {
        let directory = try TemporaryDirectory()
        try directory.write("id door\nid washer-1\ngroup laundry\n", to: "fleet-names")
        return Completion(of: words, among: Command.all, names: FleetNames(stateDirectory: directory.path))
    }

    private func texts(_ words: String...) throws -> [String] {
        let directory = try TemporaryDirectory()
        try directory.write("id door\nid washer-1\ngroup laundry\n", to: "fleet-names")
        return Completion(of: words, among: Command.all, names: FleetNames(stateDirectory: directory.path)).words
            .map(\.text)
    }

    @Test func suggestsCommandsThatPeopleUse() throws {
        let words = try texts("")
        #expect(words.contains("run") && words.contains("fleet"))
        #expect(!words.contains("complete") && !words.contains("manual"))
        #expect(try completion("ru").words.first?.summary.isEmpty == false)
        #expect(try texts("--") == ["--help", "--version"])
        #expect(try texts("fleet", "group", "") == ["add", "remove"])
        #expect(try texts("nonsense", "").isEmpty)
    }

    @Test func suggestsOptionsThatMayFollow() throws {
        let all = try texts("fleet", "set", "--")
        #expect(all.contains("--wait") && all.contains("--device") && all.last == "--help")
        let rest = try texts("fleet", "set", "--wait", "5s", "--device", "door", "--")
        #expect(!rest.contains("--wait") && rest.contains("--device"))
        // After --, everything is an operand.
        #expect(try texts("fleet", "set", "--all", "--", "--").isEmpty)
    }

    @Test func suggestsValues() throws {
        #expect(try texts("watch", "--device", "") == ["door", "washer-1"])
        #expect(try texts("watch", "--device=w") == ["--device=washer-1"])
        #expect(try texts("fleet", "list", "--group", "").contains("laundry"))
        #expect(
            try texts("run", "--set=gestures.tap.enabled=")
                == ["true", "false"].map { "--set=gestures.tap.enabled=\($0)" })
        #expect(
            try texts("run", "--set", "attitude.reference=s") == [
                "attitude.reference=start", "attitude.reference=stored",
            ])
        #expect(try completion("run", "--set", "log.le").hasNoSpace)
        #expect(try !completion("run", "--set", "log.level=").hasNoSpace)
        #expect(try completion("run", "--config", "").includesFiles)
        #expect(try completion("fleet", "apply", "").includesDirectories)
        #expect(try texts("watch", "--for", "").isEmpty)
    }

    @Test func suggestsOperandsInTheirPlaces() throws {
        #expect(try texts("fleet", "group", "add", "") == ["laundry"])
        #expect(try texts("fleet", "group", "add", "laundry", "door", "w") == ["washer-1"])
        #expect(try texts("calibrate", "gyro", "").isEmpty)
        let movements = try completion("simulate", "")
        #expect(movements.words.contains { $0.text == "shake" } && movements.includesFiles)
    }

    /// Every option with a closed set of values is completed with these.
    @Test func choicesAreThoseOfTheSchema() {
        #expect(ConfigurationSchema.choices(of: "log.level") == ["error", "warning", "info", "debug"])
        #expect(ConfigurationSchema.choices(of: "gestures.shake.enabled") == ["true", "false"])
        #expect(ConfigurationSchema.choices(of: "sensor.rate").isEmpty)
        #expect(ConfigurationSchema.choices(of: "no.such.key").isEmpty)
    }
}
