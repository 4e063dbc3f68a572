import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the command line explains itself; usage errors end with status 64 and say what is correct.
@Suite(.needsProgram) struct CommandLineTests {
    private static let commands = [
        "run", "demo", "simulate", "watch", "setup", "doctor", "scan", "record", "replay", "calibrate", "noise",
        "check-config",
        "fleet",
    ]

    @Test(arguments: commands)
    func everyCommandHasHelp(command: String) async throws {
        for words in [[command, "--help"], [command, "-h"], ["help", command]] {
            let program = try await JostleProgram(words).outcome().expect(status: 0)
            #expect(program.output.hasPrefix("usage: jostle \(command)"), "\(program.output)")
            #expect(program.output.contains("--help") && program.errors.isEmpty)
        }
    }

    @Test(arguments: ["--help", "-h", "help"])
    func helpListsEveryCommand(word: String) async throws {
        let outcome = try await jostle(word).expect(status: 0)
        for command in Self.commands { #expect(outcome.output.contains("\n  \(command) ")) }
    }

    @Test(arguments: [["fleet", "--help"], ["help", "fleet"]])
    func helpOfGroupListsItsCommands(words: [String]) async throws {
        let program = try await JostleProgram(words).outcome().expect(status: 0)
        #expect(program.output.hasPrefix("usage: jostle fleet COMMAND "), "\(program.output)")
        for command in ["list", "set", "apply", "group"] { #expect(program.output.contains("\n  \(command) ")) }
        #expect(!program.output.contains("complete "))
    }

    @Test(arguments: [["fleet", "group", "add", "--help"], ["help", "fleet", "group", "add"]])
    func commandOfGroupHasHelp(words: [String]) async throws {
        let program = try await JostleProgram(words).outcome().expect(status: 0)
        #expect(program.output.hasPrefix("usage: jostle fleet group add GROUP ID… [OPTION]…\n"), "\(program.output)")
    }

    @Test func printsVersion() async throws {
        let outcome = try await jostle("--version").expect(status: 0)
        // The commit is left out where it is not known, as in a tree without git.
        var lines = outcome.output.split(separator: "\n")
        #expect(lines.removeFirst().wholeMatch(of: /jostle \d+\.\d+\.\d+(-dev)?/) != nil)
        if lines.first?.wholeMatch(of: #/  commit +[0-9a-f]{7,40}\+?/#) != nil { lines.removeFirst() }
        let names = lines.map { $0.split(separator: " ")[0] }
        #expect(names == ["Swift", "libmosquitto", "libyaml", "SQLite", "OpenSSL"])
        #expect(lines.allSatisfy { $0.wholeMatch(of: #/  \w+ +\d+\.\d+(\.\d+)?/#) != nil }, "\(outcome.output)")
    }

    @Test func listsCommandsWithoutArguments() async throws {
        let program = try await JostleProgram([]).outcome().expect(status: 64, errors: "check-config")
        #expect(program.output.isEmpty)
    }

    @Test(
        arguments: [
            (["shout"], "unknown command \"shout\""), (["help", "shout"], "unknown command \"shout\""),
            (["fleet"], "a command is missing"),
            (["fleet", "sing"], "unknown command \"sing\""),
            (["help", "fleet", "sing"], "unknown command \"sing\""), (["fleet", "group"], "a command is missing"),
            (["fleet", "group", "add", "floor-2"], "ID is missing"),
            (["fleet", "set", "--loud", "a=1"], "unknown option --loud"),
            (["run", "--loud"], "unknown option --loud"), (["scan", "-j"], "unknown option -j"),
            (["replay"], "FILE is missing"), (["replay", "a", "b"], "unexpected argument \"b\""),
            (["run", "--config"], "--config needs a value"), (["scan", "--json=yes"], "--json takes no value"),
            (["run", "--config", "a", "--config", "b"], "--config is given twice"),
            (["run", "--for", "soon"], "--for is \"soon\""), (["run", "--for=0"], "--for is \"0\""),
            (["demo", "--for=-3"], "--for is \"-3\""), (["record", "x", "--for", "1e300"], "--for is \"1e300\""),
            (["scan", "--address", "0x80"], "--address is \"0x80\""),
            (["scan", "--address", "x"], "--address is \"x\""),
            (["simulate", "shake", "--count", "2"], "--count needs --on"),
            (["simulate", "shake", "--once", "--for", "3"], "--once and --for"),
            (["simulate", "walk", "--once"], "walk has no end"),
            (["simulate", "moonwalk", "--once"], "there is no trajectory \"moonwalk\""),
            (["simulate", "shake", "--on", "a/b"], "--on is \"a/b\""),
            (["simulate", "shake", "--on", "#"], "--on is \"#\""),
            (["simulate", "shake", "--on", "dut", "--once"], "with --on, a movement is made only once"),
            (["watch", "--device", "a/+"], "--device is \"a/+\""),
            (["watch", "--plain", "--json"], "--plain, --json and --raw"),
            (["simulate", "shake", "--on", "dut", "--count", "99"], "--count is \"99\""),
        ] as [([String], String)])
    func usageErrorsAreStatus64(words: [String], message: String) async throws {
        let program = try await JostleProgram(words).outcome().expect(status: 64)
        #expect(program.errors.hasPrefix("jostle: \(message)"), "\(program.errors)")
        #expect(program.output.isEmpty)
    }

    /// The installed configuration is for root and the agent alone.
    @Test func unreadableConfigurationSaysHowToReadIt() async throws {
        let directory = try TemporaryDirectory()
        let path = try directory.write("{}\n", to: "jostle.yaml")
        try #require(chmod(path, 0) == 0)
        // Root may read every file unless it loses these capabilities.
        let capabilities = "-dac_override,-dac_read_search"
        let launcher =
            geteuid() == 0 ? ["setpriv", "--bounding-set=\(capabilities)", "--inh-caps=\(capabilities)"] : []
        try await JostleProgram(["check-config", path], launcher: launcher).outcome().expect(
            status: 66, errors: "\(path): Permission denied; use sudo")
    }

    @Test func unknownTrajectoryIsUsageOrConfigurationError() async throws {
        let simulated = try await jostle("simulate", "moonwalk").expect(status: 64)
        let configured = try await jostle(
            "run", "--set", "sensor.driver=virtual", "--set", "sensor.trajectory=moonwalk"
        ).expect(status: 78)
        for outcome in [simulated, configured] {
            #expect(outcome.errors.contains("\"moonwalk\""), "\(outcome.errors)")
            for name in ["rest", "shake", "demo", "slow-turn"] { #expect(outcome.errors.contains(name)) }
        }
    }

    @Test func namesMissingRecording() async throws {
        try await jostle("simulate", "/nowhere/washer.csv").expect(status: 66, errors: "/nowhere/washer.csv")
    }

    @Test func configurationErrorInSimulationIsStatus78() async throws {
        try await jostle(
            "simulate", "rest", "--set", "mqtt.username=me", "--set", "mqtt.password_file=/nowhere/password"
        ).expect(status: 78, errors: "/nowhere/password")
    }
}

/// Requirement: a program whose output is lost says so.
@Suite struct OutputTests {
    @Test(arguments: [["--version"], ["help"], ["config", "show", "--origin"]])
    func fullDisk(words: [String]) async throws {
        try await JostleProgram(words, launcher: ["/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full"])
            .outcome().expect(status: 73, errors: "standard output cannot be written")
    }

    @Test func stateDirectoryMustExist() async throws {
        let program = try await JostleProgram(["config", "show", "--state", "/nonexistent"]).outcome().expect(
            status: 66)
        #expect(program.errors == "jostle: /nonexistent: no such directory\n" && program.output.isEmpty)
    }
}

/// Requirement: `jostle check-config` reports every problem with its position, and shows the configuration in force.
@Suite(.needsProgram) struct CheckConfigTests {
    private let directory = TemporaryDirectory.new()

    @Test func validFileIsAccepted() async throws {
        let file = try directory.write("sensor:\n  rate: 100 Hz\n", to: "good.yaml")
        for words in [[file], ["--config", file]] {
            let program = try await JostleProgram(["check-config"] + words).outcome().expect(status: 0)
            #expect(program.output == "\(file): valid\n" && program.errors.isEmpty)
        }
    }

    @Test func problemsHavePositionAndAdvice() async throws {
        let file = try directory.write(
            "sensor:\n  rate: fast\n  adress: 0x68\npublish:\n  loud: true\n", to: "bad.yaml")
        let outcome = try await jostle("check-config", file).expect(
            status: 78, errors: "\(file):2:9: sensor.rate: \"fast\"", "\(file):3:3: sensor.adress: ",
            "did you mean \"address\"?", "\(file):5:3: publish.loud: ")
        #expect(outcome.output.isEmpty)
    }

    @Test func invalidYAMLHasPosition() async throws {
        let file = try directory.write("sensor:\n  rate: [1, 2\n", to: "broken.yaml")
        try await jostle("check-config", file).expect(status: 78, errors: "\(file):")
    }

    @Test func reportsUnknownKeyInOverride() async throws {
        try await jostle("check-config", "--set", "sensor.rat=1").expect(status: 78, errors: "did you mean \"rate\"?")
    }

    @Test func missingFileIsStatus66() async throws {
        let path = directory.path("nowhere.yaml")
        for words in [["check-config", path], ["run", "--config", path], ["replay", "-", "--config", path]] {
            try await JostleProgram(words).outcome().expect(status: 66, errors: "\(path): No such file or directory")
        }
    }

    /// Nobody writes into the pipe, so the program must not wait for ever.
    @Test(arguments: ["check-config", "replay", "noise", "tune shake --ordinary /dev/null --shown"])
    func pipeWithoutWriterIsStatus66(command: String) async throws {
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let words = command.split(separator: " ").map(String.init)
        let program = try await JostleProgram(words + [path]).outcome().expect(status: 66)
        #expect(program.errors.contains("\(path): No program writes into this pipe"), "\(program.errors)")
    }

    @Test func pipeIsRead() async throws {
        let path = directory.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let writer = ["/bin/sh", "-c", "{ sleep 1; echo 'sensor: { rate: 50 Hz }'; } >\(path) & exec \"$@\"", "sh"]
        let program = try await JostleProgram(["check-config", path], launcher: writer).outcome().expect(status: 0)
        #expect(program.output == "\(path): valid\n" && program.errors.isEmpty)
    }

    @Test func environmentSelectsFile() async throws {
        let file = try directory.write("sensor: { rate: 50 Hz }\n", to: "named.yaml")
        try await jostle("check-config", "--show", environment: ["JOSTLE_CONFIG": file]).expect(
            status: 0, output: "rate: 50 Hz  # \(file):1:")
    }

    @Test func filesOfConfDAreCheckedTogetherAndAlone() async throws {
        let main = try directory.write("mqtt: { username: u }\n", to: "jostle.yaml")
        let file = try directory.write("mqtt: { password_file: p }\nsensor: { rate: 50 Hz }\n", to: "conf.d/a.yaml")
        let other = try directory.write("", to: "conf.d/b.yml")
        let all = try await jostle("check-config", "--no-files", environment: ["JOSTLE_CONFIG": main]).expect(
            status: 0, output: "note: \(other) is not read: its name does not end in .yaml\n")
        #expect(all.output.hasPrefix("\(main), \(file): valid\n"), "\(all)")
        let shown = try await jostle("check-config", main, "--show")
        #expect(shown.output.contains("rate: 50 Hz  # \(file):2:"), "\(shown)")
        #expect(shown.output.contains("username: u  # \(main):1:"), "\(shown)")
        let alone = try await jostle("check-config", file, "--no-files").expect(status: 0)
        #expect(alone.output.hasPrefix("\(file): valid, alone\n"), "\(alone)")
        try directory.write("sensor: { rate: fast }\n", to: "conf.d/a.yaml")
        for words in [["check-config", file], ["check-config", main], ["run", "--config", main]] {
            try await JostleProgram(words).outcome().expect(status: 78, errors: "\(file):1:17: sensor.rate: \"fast\"")
        }
    }

    @Test func shownConfigurationRoundTrips() async throws {
        let shown = try await jostle("check-config", "--show", "--set", "device.id=washer-1").expect(
            status: 0, output: "id: washer-1", "# built-in default")
        let file = try directory.write(shown.output, to: "shown.yaml")
        let again = try await jostle("check-config", file, "--show")
        let values = { (text: String) in text.split(separator: "\n").map { $0.prefix { $0 != "#" } } }
        #expect(values(again.output) == values(shown.output))
    }

    @Test func schemaIsJSON() async throws {
        let outcome = try await jostle("check-config", "--schema").expect(status: 0)
        let schema = try #require(try JSON.object(outcome.output))
        let properties = try #require(schema["properties"] as? [String: Any])
        #expect(Set(properties.keys).isSuperset(of: ["device", "sensor", "gestures", "publish", "mqtt"]))
    }

    // MARK: - Readers and users

    /// Whoever reads the output may have enough of it, as `head` does.
    @Test(arguments: [
        ["config", "show"], ["check-config", "--schema"], ["check-config", "--show"], ["help"],
        ["replay", "recording.csv", "--attitude", "-"], ["replay", "recording.csv", "--events", "-"],
    ])
    func endsQuietlyWhenItsReaderIsGone(words: [String]) async throws {
        let directory = try TemporaryDirectory()
        let rows = (0..<3000).map { "\(Double($0) / 100),0,0,9.8,0,0,0\n" }.joined()
        let recording = try directory.write("t_s,ax,ay,az,gx,gy,gz\n" + rows, to: "recording.csv")
        // The reader has closed the pipe before the program writes into it.
        let launcher = ["bash", "-c", "exec 3> >(exec <&-); wait $!; exec \"$@\" >&3", "bash"]
        let outcome = try await JostleProgram(
            words.map { $0 == "recording.csv" ? recording : $0 }, launcher: launcher
        ).outcome().expect(status: 0)
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
    }

    /// Requirement: a user who may not read the configuration of the board can do everything that needs none of it, is told
    /// that it is left out, and otherwise in which group to be.
    @Test(
        .enabled(if: geteuid() == 0, "only root can be another user"),
        arguments: [
            // What fails without the file, and what goes on: with what the command line says, or anyway.
            (["watch", "--for", "1"], nil), (["fleet", "list"], nil), (["config", "show"], nil),
            (["check-config"], nil),
            (["check-config", "--config", "/etc/jostle/jostle.yaml", "--set", "sensor.rate=50Hz"], nil),
            (["watch", "--for", "1", "--broker", "mqtt://127.0.0.1:9"], 0),
            (["fleet", "list", "--broker", "mqtt://127.0.0.1:9"], 69),
            (["simulate", "shake", "--on", "x", "--broker", "mqtt://127.0.0.1:9"], 69),
            (["recordings", "list", "--on", "x", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], 69),
            (["stop", "--on", "x", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], 69),
            (["check-config", "--set", "sensor.rate=50Hz"], 0), (["replay", "/dev/null"], 65),
            (["learn", "circle", "--from", "/dev/null", "--from", "/dev/null", "--output", "-"], 65),
            (["learn", "circle", "--on", "x", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], 69),
            (["record", "/dev/null", "--for", "2", "--set", "sensor.driver=virtual"], 0),
            (["run", "--for", "0.1", "--set", "sensor.driver=virtual", "--set", "mqtt.broker=mqtt://127.0.0.1:9"], 0),
        ] as [([String], Int32?)])
    func leavesOutTheFileOfTheBoard(words: [String], status: Int32?) async throws {
        let script = """
            mount -t tmpfs tmpfs /mnt && cp -a /etc /mnt && mount --bind /mnt/etc /etc || exit 99
            mkdir -p /etc/jostle
            echo 'device: { id: secret }' >/etc/jostle/jostle.yaml && chmod 640 /etc/jostle/jostle.yaml
            install -d -o 65534 /mnt/state
            exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
            """
        let outcome = try await JostleProgram(
            words, environment: ["JOSTLE_CONFIG": "", "STATE_DIRECTORY": "/mnt/state"],
            launcher: ["unshare", "--mount", "sh", "-c", script, "sh"]
        ).outcome()
        let group = "Permission denied; the group jostle may read it: sudo adduser $USER jostle, then log in again"
        outcome.expect(status: status ?? 66, errors: "/etc/jostle/jostle.yaml: \(group)")
        let goesOn = outcome.errors.hasPrefix("jostle: going on without the configuration of this board: ")
        #expect(goesOn == (status != nil), "\(outcome.errors)")
        #expect(outcome.errors.components(separatedBy: group).count == 2, "\(outcome.errors)")
    }
}
