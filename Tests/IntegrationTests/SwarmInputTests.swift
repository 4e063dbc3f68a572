import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a wrong option or order is explained and changes nothing, and a seed repeats a run.
@Suite(.needsBroker) struct SwarmInputTests {
    private let rig = Rig()

    /// Runs the program to its end.
    private func swarm(_ options: [String], launcher: [String] = []) async throws -> Outcome {
        try await JostleProgram(options, launcher: launcher, program: Products.swarmProgram).outcome()
    }

    @Test("The command becomes the program, and names its package where it is not installed")
    func commandIsTheProgram() async throws {
        let command = try await jostle("swarm", "--devices", "0").expect(status: 64)
        #expect(command.errors.hasPrefix("jostle-swarm: --devices is \"0\""))
        let directory = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: Products.program.path, toPath: directory.path("jostle"))
        let alone = try await JostleProgram(
            ["swarm", "--devices", "1"], program: URL(fileURLWithPath: directory.path("jostle"))
        ).outcome().expect(status: 69)
        #expect(
            alone.errors
                == "jostle: the program jostle-swarm is not installed; install its package: sudo apt install ./jostle-tools_*.deb\n"
        )
    }

    @Test func versionNamesTheProgram() async throws {
        let version = try await jostle("--version").expect(status: 0).lines[0]
        #expect(try await swarm(["--version"]).output == version.replacing("jostle", with: "jostle-swarm") + "\n")
    }

    @Test("The help names what was typed")
    func helpNamesWhatWasTyped() async throws {
        let help = try await jostle("swarm", "--help").expect(status: 0).output
        #expect(help.hasPrefix("usage: jostle swarm [OPTION]…\n"))
        #expect(try await swarm(["--help"]).output == help.replacing("jostle swarm [", with: "jostle-swarm ["))
        let errors = try await swarm(["--device"]).expect(status: 64).errors
        #expect(errors.contains("usage: jostle-swarm [OPTION]…\n") && errors.hasSuffix("More: jostle-swarm --help\n"))
    }

    @Test func wrongLinesChangeNothing() async throws {
        let rig = try await SwarmRig(devices: 3, "--json")
        let lines = ["dei 1", "", "die 4", "die swarm-0004", "slow-disk x", "start 1", "die \u{1B}[2J"]
        for line in lines { rig.order(line) }
        for text in [
            "line 1: there is no order \"dei\"", "line 3: die 4: only 3 of 3 boards are not stopped",
            "line 4: there is no board \"swarm-0004\"; the boards are swarm-0001 … swarm-0003",
            "line 5: slow-disk x: the seconds must be 0 to 60", "line 6: start 1: only 0 of 3 boards are not started",
            "line 7: there is no board \"\\u{1b}[2J\"",
        ] {
            #expect(await rig.swarm.logs(text), "\(text): \(rig.swarm.errors)")
        }
        rig.order("status")
        #expect(await rig.says("reconnect_seconds"))
        // The broker passes a board's availability on before it acknowledges it to the board.
        #expect(await eventually { (try? rig.figures())?["online"] as? Int == 3 })
        #expect(try rig.figures()["deaths"] as? Int == 0)
        rig.order("quit")
        #expect(await rig.swarm.exitStatus() == 0)
    }

    @Test func seedRepeatsTheChoiceOfVictims() async throws {
        func victims(seed: String) async throws -> Substring {
            let rig = try await SwarmRig(devices: 30, "--seed", seed)
            rig.order("die 6")
            #expect(await rig.says("die: "))
            rig.order("quit")
            #expect(await rig.swarm.exitStatus() == 0)
            return try #require(rig.swarm.output.split(separator: "\n").first { $0.hasPrefix("die: ") })
        }
        let first = try await victims(seed: "4")
        #expect(first.split(separator: ",").count == 6)
        let second = try await victims(seed: "4")
        let third = try await victims(seed: "5")
        #expect(first == second)
        #expect(first != third)
    }

    @Test(arguments: [
        (["--broker", "mqtt://127.0.0.1:1"], "--devices is missing"),
        (["--devices", "0"], "not an integer from 1 to 100000"),
        (["--devices", "many"], "not an integer"),
        (["--devices", "5", "--id-prefix", "a/b"], "does not make ids"),
        (["--devices", "5", "--groups", "a,_b"], "is not a group's name"),
        (["--devices", "5", "--connect-rate", "0"], "not a number from 0.1 to 100000"),
        (["--devices", "5", "--deaths", "-1"], "not a number from 0 to 1000000"),
        (["--devices", "5", "--events", "nan"], "not a number"),
        (["--devices", "5", "--seed", "x"], "not an integer"),
        (["--devices", "5", "--death-pause", "0"], "not a number of seconds"),
    ])
    func explainsWrongOption(_ options: [String], _ text: String) async throws {
        let program = try await swarm(options).expect(status: 64)
        #expect(program.errors.contains(text), "\(program.errors)")
    }

    /// Orders that arrive faster than they are carried out wait at their writer, and a signal does not wait for them.
    @Test func waitingOrdersAreBounded() async throws {
        let directory = try TemporaryDirectory()
        let descriptors = try ["orders", "output"].map { name in
            try #require(mkfifo(directory.path(name), 0o600) == 0)
            // Open for both, so that nobody waits for the other end.
            return open(directory.path(name), O_RDWR | O_CLOEXEC | O_NONBLOCK)
        }
        defer { for descriptor in descriptors { close(descriptor) } }
        let (orders, output) = (descriptors[0], descriptors[1])
        try #require(orders >= 0 && output >= 0)
        let swarm = try rig.run(
            ["--devices", "2", "--broker", "mqtt://127.0.0.1:1", "--json"],
            launcher: [
                "/bin/sh", "-c",
                "exec \"$0\" \"$@\" <'\(directory.path("orders"))' >'\(directory.path("output"))'",
            ], program: Products.swarmProgram)
        // Nobody reads the output, so that the swarm waits with the answer to an order.
        let order = Array("status\n".utf8)
        var written = 0
        var since = ContinuousClock.now
        let isFull = await eventually {
            let before = written
            while written < 100_000, write(orders, order, order.count) == order.count { written += 1 }
            // The swarm has answered as much as fits, and for a second not a single order more is taken.
            var answered: Int32 = 0
            _ = ioctl(output, UInt(FIONREAD), &answered)
            if written > before || answered < 40_000 { since = .now }
            return written == 100_000 || since.duration(to: .now) > .seconds(1)
        }
        #expect(isFull && written < 30_000, "\(written)")
        // The output has room for some answers again, but not for all.
        swarm.signal(SIGTERM)
        var answers = [UInt8](repeating: 0, count: 32_768)
        #expect(read(output, &answers, answers.count) == answers.count)
        #expect(await swarm.exitStatus() == 0)
    }

    @Test func refusesBrokersAndDirectoriesThatItCannotUse() async throws {
        let embedded = try await swarm(["--devices", "2", "--set", "mqtt.broker=embedded"]).expect(status: 78)
        #expect(embedded.errors.contains("not an embedded one"))
        try await swarm(["--devices", "2", "--broker", "http://x"]).expect(status: 78)
        let state = try await swarm(["--devices", "2", "--broker", "mqtt://127.0.0.1:1", "--state", "/proc/none"])
            .expect(status: 73)
        #expect(state.errors.contains("--state /proc/none"))
    }

    @Test func refusesMoreBoardsThanDescriptors() async throws {
        let program = try await swarm(
            ["--devices", "100", "--broker", "mqtt://127.0.0.1:1"],
            launcher: ["/bin/sh", "-c", "ulimit -n 220; exec \"$0\" \"$@\""]
        ).expect(status: 71)
        #expect(program.errors.contains("100 boards need 500 file descriptors"), "\(program.errors)")
        #expect(program.errors.contains("at most 30 boards"), "\(program.errors)")
    }
}
