import JostleConfiguration
import Testing

@testable import JostleAgent

/// Requirement: a command is parsed completely or refused with the reason, whatever is sent.
@Suite struct RemoteCommandTests {
    private func refusal(of name: String, _ arguments: String) -> CommandRefusal? {
        do {
            _ = try RemoteCommands.read(name, Array(arguments.utf8))
            return nil
        } catch {
            return CommandRefusal(error)
        }
    }

    @Test(
        arguments: [
            ("", RemoteTare()), ("{}", RemoteTare()), (" {\"clear\": false} ", RemoteTare()),
            ("{\"clear\":true}", RemoteTare(clears: true)),
            ("{\"heading_only\":true}", RemoteTare(isHeadingOnly: true)),
            ("{\"heading_only\":true,\"clear\":false}", RemoteTare(isHeadingOnly: true)),
            ("{\"heading_only\":false,\"clear\":true}", RemoteTare(clears: true)),
        ])
    func parsesTare(arguments: String, meaning: RemoteTare) throws {
        #expect(try RemoteCommands.read("tare", Array(arguments.utf8)) as? RemoteTare == meaning)
    }

    @Test(
        arguments: [
            ("{\"movement\":\"shake\"}", "shake", 1), ("{\"count\":3,\"movement\":\"tap\"}", "tap", 3),
            ("{\"movement\":\"walk\",\"seconds\":7.5}", "walk", 1), ("{\"movement\":\"rest\",\"count\":1}", "rest", 1),
        ])
    func parsesSimulate(arguments: String, name: String, count: Int) throws {
        let command = try #require(try RemoteCommands.read("simulate", Array(arguments.utf8)) as? RemoteSimulate)
        guard case .movement(let movement) = command.order else { throw CommandRefusal(.badArguments, "no movement") }
        #expect(movement.name == name && movement.count == count)
    }

    @Test(
        arguments: [
            ("", "movement is missing; the movements are "), ("{\"count\":2}", "movement is missing"),
            ("{\"movement\":\"Moonwalk\"}", "there is no movement \"Moonwalk\"; the movements are "),
            ("{\"movement\":7}", "movement must be a string"), ("{\"movement\":null}", "movement must be a string"),
            ("{\"movement\":\"/etc/passwd\"}", "there is no movement"),
            ("{\"movement\":\"tap\",\"count\":0}", "the count must be 1 to 20, not 0"),
            ("{\"movement\":\"tap\",\"count\":21}", "the count must be 1 to 20, not 21"),
            ("{\"movement\":\"tap\",\"count\":1.5}", "count must be an integer"),
            ("{\"movement\":\"tap\",\"count\":1e99}", "count must be an integer"),
            ("{\"movement\":\"tap\",\"count\":\"2\"}", "count must be a number"),
            ("{\"movement\":\"tap\",\"seconds\":3}", "tap ends by itself"),
            ("{\"movement\":\"walk\",\"count\":2}", "walk does not end by itself"),
            ("{\"movement\":\"walk\",\"seconds\":1e9}", "the duration must be 1.0 to 600.0 s"),
            ("{\"movement\":\"walk\",\"seconds\":-1}", "the duration must be 1.0 to 600.0 s, not -1.0 s"),
            ("{\"movement\":\"machine\",\"count\":20}", "more than 900.0 s"),
            (
                "{\"movement\":\"tap\",\"times\":2}",
                "simulate has no argument \"times\"; it has movement, count, seconds and stop"
            ),
            ("[\"shake\"]", "not a JSON object"),
        ])
    func refusesInvalidSimulations(arguments: String, message: String) {
        let refusal = refusal(of: "simulate", arguments)
        #expect(refusal?.code == .badArguments)
        #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "accepted")")
    }

    @Test(
        arguments: [
            ("identify", "{\"seconds\":0.5}", "seconds must be 1.0 to 60.0 s, not 0.5"),
            ("identify", "{\"stop\":true,\"seconds\":5}", "cannot be combined with other arguments"),
            ("identify", "{\"light\":\"ACT\"}", "identify has no argument \"light\"; it has seconds and stop"),
            ("record", "{\"seconds\":601}", "seconds must be 1.0 to 600.0 s, not 601.0"),
            ("record", "{\"seconds\":\"5\"}", "must be a number"),
            ("record", "{\"stop\":1}", "stop must be true or false"),
            ("keep", "{\"before\":-1}", "before must not be negative"),
            ("keep", "{\"after\":\"5\"}", "after must be a number"),
            ("keep", "{\"name\":\"../x\"}", "keep has no argument \"name\"; it has before, after and label"),
            ("keep", "{\"label\":\"a,b\"}", "label must be a gesture, \"not\" and a gesture, or another text"),
            ("keep", "{\"label\":\"\"}", "label must be a gesture"),
            ("recordings", "{\"list\":true,\"delete\":\"a\"}", "exclude one another"),
            ("recordings", "{\"list\":false}", "exclude one another"),
            ("recordings", "{\"delete\":7}", "delete must be a string"),
            ("recordings", "{\"label\":\"recording-1.csv\"}", "as is missing"),
            ("recordings", "{\"label\":\"recording-1.csv\",\"as\":\"a\\nb\"}", "as must be a gesture"),
            ("recordings", "{\"as\":\"shake\"}", "as is for label"),
            ("recordings", "{\"offset\":1}", "offset is for fetch"),
            ("recordings", "{\"fetch\":\"recording-1.csv\",\"offset\":-1}", "offset must not be negative"),
            ("stream", "{\"duration\":3601}", "duration must be 1.0 to 3600.0 s, not 3601.0"),
            ("stream", "{\"rate\":0}", "rate must be 1.0 to 1000.0 Hz, not 0.0"),
            ("stream", "{\"interval\":0.009}", "interval must be 0.01 to 1.0 s, not 0.009"),
            ("stream", "{\"interval\":1.1}", "interval must be 0.01 to 1.0 s, not 1.1"),
            ("stream", "{\"near_misses\":1}", "near_misses must be true or false"),
            ("stream", "{\"interval\":\"20 ms\"}", "interval must be a number"),
            ("stream", "{\"fields\":[]}", "fields must not be empty"),
            ("stream", "{\"fields\":\"rotation\"}", "fields must be an array of strings"),
            ("stream", "{\"fields\":[1]}", "fields must be an array of strings"),
            ("stream", "{\"fields\":[\"gravity\"]}", "the fields are acceleration, rotation, attitude and field"),
            ("stream", "{\"stop\":true,\"rate\":5}", "cannot be combined with other arguments"),
            ("stream", "{\"seconds\":5}", "stream has no argument \"seconds\""),
            ("calibrate", "", "what is missing: it must be gyroscope, accelerometer or magnetometer"),
            ("calibrate", "{\"what\":\"temperature\"}", "what must not be \"temperature\""),
            ("calibrate", "{\"what\":\"gyroscope\",\"poses\":8}", "poses cannot be combined"),
            ("calibrate", "{\"what\":\"magnetometer\",\"poses\":8}", "poses cannot be combined"),
            ("calibrate", "{\"what\":\"accelerometer\",\"poses\":5}", "poses must be 6 to 20, not 5"),
            ("calibrate", "{\"what\":\"accelerometer\",\"seconds\":5}", "seconds must be 20.0 to 1800.0 s, not 5.0"),
            ("learn", "", "name is missing"), ("learn", "{\"name\":\"shake\"}", "\"shake\" cannot be the name"),
            ("learn", "{\"name\":\"nod\",\"more\":true,\"force\":true}", "force replaces the gesture"),
            ("learn", "{\"name\":\"nod\",\"times\":9}", "times must be 2 to 8, not 9"),
            ("learn", "{\"name\":\"nod\",\"background\":7201}", "background must be 0.0 to 7200.0 s, not 7201.0"),
            ("learn", "{\"name\":\"nod\",\"seconds\":5}", "seconds must be 60.0 to 1800.0 s, not 5.0"),
            (
                "learn", "{\"name\":\"nod\",\"forget\":true,\"times\":3}",
                "forget cannot be combined with other arguments"
            ),
            ("learn", "{\"name\":\"nod\",\"template\":\"x\"}", "learn has no argument \"template\""),
            ("ping", "{\"t\":1}", "ping has no argument"), ("restart", "[]", "not a JSON object"),
            ("get-state", "{\"deep\":true}", "get-state has no argument"), ("start", "{\"now\":true}", "it has none"),
        ])
    func refusesInvalidArguments(name: String, arguments: String, message: String) {
        let refusal = refusal(of: name, arguments)
        #expect(refusal?.code == .badArguments)
        #expect(refusal?.message.contains(message) == true, "\(refusal?.message ?? "accepted")")
    }

    @Test func parsesEveryCommandByName() throws {
        let types: [JostleSettings.Command: any RemoteCommand.Type] = [
            .ping: RemotePing.self, .getState: RemoteGetState.self, .identify: RemoteIdentify.self,
            .tare: RemoteTare.self, .simulate: RemoteSimulate.self, .start: RemoteSensing.self,
            .stop: RemoteSensing.self, .stream: RemoteStream.self, .record: RemoteRecord.self,
            .keep: RemoteKeep.self, .recordings: RemoteRecordings.self, .calibrate: RemoteCalibrate.self,
            .learn: RemoteLearn.self, .machine: RemoteMachine.self, .log: RemoteLog.self, .restart: RemoteRestart.self,
        ]
        for command in JostleSettings.Command.allCases {
            let arguments =
                [
                    .simulate: "{\"movement\":\"tap\"}", .calibrate: "{\"what\":\"gyroscope\"}",
                    .learn: "{\"name\":\"nod\"}",
                ][command] ?? ""
            let read = try RemoteCommands.read(command.rawValue, Array(arguments.utf8))
            #expect(type(of: read) == types[command])
            if let sensing = read as? RemoteSensing { #expect(sensing.isWanted == (command == .start)) }
            let refusal = refusal(of: command.rawValue, "{\"no such argument\":1}")
            #expect(refusal?.code == .badArguments)
        }
    }

    @Test(
        arguments: [
            "{\"clear\":1}", "{\"clear\":null}", "{\"clear\":{}}", "{\"clean\":true}", "[]", "true", "\"clear\"", "{",
            "{\"clear\":true}}", "{\"clear\":true,\"clear\":false}", "\u{0}",
            "{\"heading_only\":1}", "{\"heading_only\":true,\"clear\":true}",
            "{\"clear\":" + String(repeating: " ", count: 4096) + "true}",
        ])
    func refusesMalformedArguments(arguments: String) {
        let refusal = refusal(of: "tare", arguments)
        #expect(refusal?.code == .badArguments && refusal?.message.isEmpty == false)
    }

    @Test func refusesUnknownCommandAndListsCommands() {
        let refusal = refusal(of: "reboot", "")
        #expect(refusal?.code == .unknownCommand)
        #expect(refusal?.message.contains("the commands are ping, get-state, ") == true)
        #expect(self.refusal(of: "simualte", "")?.message.hasSuffix("; did you mean \"simulate\"?") == true)
    }

    @Test(
        arguments: [
            ("", RemoteRecordings.Action.list), ("{\"list\":true}", .list),
            ("{\"fetch\":\"a\"}", .fetch("a", offset: 0)),
            ("{\"fetch\":\"a\",\"offset\":7}", .fetch("a", offset: 7)), ("{\"delete\":\"a\"}", .delete("a")),
            ("{\"label\":\"a\",\"as\":\"not shake\"}", .label("a", "not shake")),
            ("{\"label\":\"a\",\"as\":\"\"}", .label("a", nil)),
        ])
    func parsesRecordings(arguments: String, action: RemoteRecordings.Action) throws {
        let command = try RemoteCommands.read("recordings", Array(arguments.utf8)) as? RemoteRecordings
        #expect(command?.action == action)
    }

    /// `jostle calibrate` calls it gyro.
    @Test func calibrationHasOtherNames() throws {
        for (word, subject) in [
            ("gyro", "gyroscope"), ("gyroscope", "gyroscope"), ("accel", "accelerometer(poses: 8)"),
            ("magnetometer", "magnetometer"),
        ] {
            let command = try RemoteCommands.read("calibrate", Array("{\"what\":\"\(word)\"}".utf8))
            let calibrate = try #require(command as? RemoteCalibrate)
            #expect(calibrate.subject.map { "\($0)" } == subject)
        }
        #expect(self.refusal(of: "calibrate", "{\"what\":\"compass\"}")?.code == .badArguments)
    }
}
