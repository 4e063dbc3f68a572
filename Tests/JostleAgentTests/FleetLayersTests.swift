import Foundation
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleAgent

/// Requirement: a fleet's layers change a board's configuration as docs/fleet-protocol.md says, and cannot leave it broken.
@Suite struct FleetLayersTests {
    private static let all = "jostle/_all/config"

    // MARK: Merging

    @Test func higherLayersOverrideLowerOnes() throws {
        var board = try FleetBench(
            "device: { groups: [laundry, floor-2] }\ngestures: { shake: { sensitivity: 1 }, tap: { sensitivity: 2 } }",
            retained: [
                Self.all: layer(1, sensitivity: 3), "jostle/_group/laundry/config": layer(1, sensitivity: 4),
                "jostle/_group/floor-2/config": layer(1, #"{"gestures":{"shake":{"cooldown":"2 s"}}}"#),
                "jostle/a/config/desired": layer(1, #"{"gestures":{"tap":{"enabled":false}}}"#),
            ])
        #expect(board.sensitivity == 4 && board.settings.motion.gestures.shake.common.cooldown == 2)
        #expect(!board.settings.motion.gestures.tap.common.isEnabled)
        let report = try board.report()
        #expect(report["groups"] as? [String] == ["laundry", "floor-2"])
        let origins = try #require(report["origins"] as? [String: String])
        #expect(
            origins == [
                "device.groups": "file", "gestures.shake.sensitivity": "group:laundry",
                "gestures.shake.cooldown": "group:floor-2", "gestures.tap.enabled": "device",
                "gestures.tap.sensitivity": "file",
            ])
        for name in ["all", "group:laundry", "group:floor-2", "device"] {
            #expect(try board.status(name) == "applied 1")
        }
    }

    /// All layers that the broker retains are applied at once.
    @Test func appliesEverythingOnce() throws {
        var board = try FleetBench(connects: false)
        board.retained = [Self.all: layer(1, sensitivity: 3), "jostle/a/config/desired": layer(1, sensitivity: 4)]
        try board.connect()
        #expect(board.takeRequests() == [.apply(board.settings)] && board.sensitivity == 4)
    }

    @Test func nullRestoresTheDefault() throws {
        var board = try FleetBench("gestures: { shake: { sensitivity: 9, cooldown: 3 s } }")
        try board.publish(.device, layer(1, #"{"gestures":{"shake":{"sensitivity":null}}}"#))
        #expect(board.sensitivity == 5 && board.settings.motion.gestures.shake.common.cooldown == 3)
        try board.publish(.device, layer(2, #"{"gestures":{"shake":null}}"#))
        #expect(board.settings.motion.gestures.shake == JostleSettings().motion.gestures.shake)
        try board.publish(.device, layer(3, "{}"))
        #expect(board.sensitivity == 9)
    }

    /// The layers of the fleet are above the values set at home, and keep them from being changed there.
    @Test func homeCannotSetWhatTheFleetSets() throws {
        var board = try FleetBench()
        try board.receive("jostle/a/set/gestures.shake.sensitivity", "8")
        try board.publish(.all, layer(1, sensitivity: 3))
        #expect(board.sensitivity == 3)
        try board.receive("jostle/a/set/gestures.shake.sensitivity", "7")
        let refused = try #require(try board.report()["refused"] as? [[String: String]])
        #expect(refused.count == 1 && refused[0]["reason"] == "is set by the fleet's layer all")
        // Not stored: the value from before is in force again when the layer is removed.
        try board.publish(.all, layer(2, "{}"))
        #expect(board.sensitivity == 8)
    }

    /// A value of the home that a layer's values exclude would disable the whole layer.
    @Test func homeCannotDisableALayer() throws {
        var board = try FleetBench()
        try board.publish(
            .device, layer(1, #"{"gestures":{"shake":{"sensitivity":8},"tap":{"when":{"tilt_above":30}}}}"#))
        try board.receive("jostle/a/set/gestures.tap.when.tilt_below", "10")
        let refused = try #require(try board.report()["refused"] as? [[String: String]])
        #expect(refused.first?["reason"]?.hasPrefix("conflicts with the fleet's layer device: gestures.tap") == true)
        #expect(try board.status("device") == "applied 1" && board.sensitivity == 8)
        try board.receive("jostle/a/set/gestures.tap.when.tilt_below", "40")
        #expect(try board.report()["refused"] as? [[String: String]] == [])
    }

    // MARK: Refusing

    @Test(arguments: [
        (#"{"gestures":{"shake":{"sensitivity":70}}}"#, "gestures.shake.sensitivity", "is out of bounds"),
        (#"{"gestures":{"shake":{"sensitivty":7}}}"#, "gestures.shake.sensitivty", "did you mean"),
        (#"{"mqtt":{"broker":"mqtt://elsewhere"}}"#, "mqtt.broker", "cannot be set over MQTT"),
        (#"{"fleet":{"remote":[]}}"#, "fleet.remote", "cannot be set over MQTT"),
        (#"{"sensor":{"driver":"virtual"}}"#, "sensor.driver", "cannot be set over MQTT"),
        (#"{"commands":{"allow":["restart"]}}"#, "commands.allow", "cannot be set over MQTT"),
        (#"{"recorder":{"on":["fall"]}}"#, "recorder.on", "cannot be set over MQTT"),
        (#"{"actions":[]}"#, "actions", "cannot be set over MQTT"),
        (
            #"{"gestures":{"shake":{"when":{"tilt_above":50,"tilt_below":40}}}}"#, "gestures.shake.when.tilt_above",
            "can never be met"
        ),
        (#"{"gestures":7}"#, "gestures", "is not a mapping"),
    ]) func rejectsAsAWhole(config: String, path: String, reason: String) throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        // A valid key beside the invalid one is not applied either.
        let valid = #""publish":{"attitude":{"rate":1}},"#
        try board.publish(.all, layer(2, "{" + valid + config.dropFirst()))
        #expect(board.sensitivity == 3 && board.settings.publish.attitude.rate == 10)
        let found = try board.layer("all")
        #expect(
            found["status"] as? String == "rejected" && found["revision"] as? Int == 2 && found["in_force"] as? Int == 1
        )
        let errors = try #require(found["errors"] as? [[String: String]])
        #expect(errors[0]["path"] == path && errors[0]["reason"]?.contains(reason) == true, "\(errors)")
        // A rejected revision may be published again, corrected, under the next number.
        try board.publish(.all, layer(3, sensitivity: 4))
        #expect(try board.status("all") == "applied 3" && board.sensitivity == 4)
    }

    @Test(arguments: [
        ("", "none"), ("{", "rejected"), ("7", "rejected"), (#"{"schema":2,"revision":1,"config":{}}"#, "rejected 1"),
        (#"{"schema":1,"config":{}}"#, "rejected"), (#"{"schema":1,"revision":0,"config":{}}"#, "rejected"),
        (#"{"schema":1,"revision":1.5,"config":{}}"#, "rejected"), (#"{"schema":1,"revision":1}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"config":[]}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"confg":{}}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"config":{},"config":{}}"#, "rejected"),
        (#"{"schema":1,"revision":9007199254740993,"config":{}}"#, "rejected"),
        (#"{"schema":1,"revision":1,"config":{},"unknown":"maybe"}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"config":{},"candidate":{"config":{}}}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":101,"seed":"x"}}"#, "rejected 1"),
        (#"{"schema":1,"revision":1,"config":{},"note":"a\u0007b"}"#, "rejected 1"),
    ]) func rejectsInvalidDocument(text: String, status: String) throws {
        var board = try FleetBench()
        try board.publish(.all, text)
        #expect(try board.status("all") == status)
        #expect(board.settings == JostleSettings())
        try board.publish(.all, layer(1, sensitivity: 3))
        #expect(try board.status("all") == "applied 1")
    }

    /// 64 KiB, a depth of 16, a thousand keys.
    @Test func limitsDocuments() throws {
        var board = try FleetBench()
        let long = String(repeating: " ", count: 65_536)
        let deep = String(repeating: #"{"a":"#, count: 20) + "1" + String(repeating: "}", count: 20)
        let keys = (0..<1001).map { "\"k\($0)\":1" }.joined(separator: ",")
        for (index, config) in ["{\(long)}", deep, "{\(keys)}"].enumerated() {
            try board.publish(.all, layer(index + 1, config))
            let errors = try #require(try board.layer("all")["errors"] as? [[String: String]])
            let reason = try #require(errors.first?["reason"])
            #expect(
                reason.contains(["longer than 65536", "nested too deeply", "more than 1000 keys"][index]), "\(reason)")
        }
    }

    @Test func leavesOutUnknownKeysIfAllowed() throws {
        var board = try FleetBench()
        let config = #"{"gestures":{"shake":{"sensitivity":7,"future":1},"wink":{"a":1}}}"#
        try board.publish(.all, layer(1, config, #""unknown":"ignore""#))
        #expect(board.sensitivity == 7)
        let found = try board.layer("all")
        #expect(found["status"] as? String == "applied")
        #expect(found["unknown_keys"] as? [String] == ["gestures.shake.future", "gestures.wink"])
        // What no message may touch is rejected all the same.
        try board.publish(.all, layer(2, #"{"mqtt":{"prefix":"x"}}"#, #""unknown":"ignore""#))
        #expect(try board.status("all") == "rejected 2")
    }

    /// A document that contradicts a lower layer is judged again when that layer changes.
    @Test func judgesAgainWhenLowerLayerChanges() throws {
        var board = try FleetBench()
        try board.publish(.all, layer(1, #"{"gestures":{"shake":{"when":{"tilt_above":50}}}}"#))
        try board.publish(.device, layer(1, #"{"gestures":{"shake":{"when":{"tilt_below":40}}}}"#))
        #expect(try board.status("device") == "rejected 1")
        try board.publish(.all, layer(2, #"{"gestures":{"shake":{"when":{"tilt_above":30}}}}"#))
        #expect(try board.status("device") == "applied 1")
        #expect(try board.status("all") == "applied 2")
    }

    /// The result depends on the documents, not on the order in which they arrive.
    @Test func lowerLayerCanInvalidateHigherOne() throws {
        var board = try FleetBench()
        try board.publish(.device, layer(1, #"{"gestures":{"shake":{"sensitivity":8,"when":{"tilt_below":40}}}}"#))
        try board.publish(.all, layer(1, #"{"gestures":{"shake":{"when":{"tilt_above":50}}}}"#))
        #expect(try board.status("all") == "applied 1")
        #expect(try board.status("device") == "rejected 1")
        #expect(board.sensitivity == 5)
        try board.publish(.all, layer(2, "{}"))
        #expect(try board.status("device") == "applied 1" && board.sensitivity == 8)
    }

    // MARK: Revisions

    @Test func stale() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3)])
        try board.receive(Self.all, layer(11, sensitivity: 9))
        #expect(try board.status("all") == "stale 11" && board.sensitivity == 3)
        // The retained one, read again.
        try board.receive(Self.all, layer(12, sensitivity: 3))
        #expect(try board.status("all") == "applied 12")
        try board.restart()
        try board.receive(Self.all, layer(11, sensitivity: 9))
        #expect(board.sensitivity == 3, "the revision survives a restart")
    }

    @Test func conflict() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3)])
        try board.publish(.all, layer(12, sensitivity: 4))
        #expect(try board.status("all") == "conflict 12" && board.sensitivity == 3)
        // The same content with another spelling is the same document.
        try board.publish(.all, #"{"config":{"gestures":{"shake":{"sensitivity":3.0}}}, "revision":12, "schema":1}"#)
        #expect(try board.status("all") == "applied 12")
    }

    @Test func missing() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3)])
        try board.publish(.all, "")
        #expect(try board.status("all") == "missing 12" && board.sensitivity == 3)
        try board.restart()
        #expect(board.sensitivity == 3)
        #expect(try board.status("all") == "missing 12")
        try board.publish(.all, layer(12, sensitivity: 3))
        #expect(try board.status("all") == "applied 12")
    }

    @Test func removed() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3)])
        try board.publish(.all, layer(13, "{}"))
        #expect(try board.status("all") == "applied 13" && board.sensitivity == 5)
    }

    /// The broker lost its store: nothing changes on the boards, and the operator can publish everything again.
    @Test func lostStore() throws {
        var board = try FleetBench(retained: [
            Self.all: layer(12, sensitivity: 3), "jostle/a/config/desired": layer(4, "{}"),
        ])
        board.disconnect()
        board.retained = [:]
        try board.connect()
        #expect(board.sensitivity == 3)
        #expect(try board.status("all") == "missing 12")
        #expect(try board.status("device") == "missing 4")
        // With MQTT 5 a message that is too large is missing in the same way.
        #expect(board.bench.lines.contains { $0.contains("layer all: not received: removed from the broker, or too") })
        // An operator who does not look starts at 1.
        try board.publish(.all, layer(1, sensitivity: 9))
        #expect(try board.status("all") == "stale 1" && board.sensitivity == 3)
        try board.publish(.all, layer(13, sensitivity: 4))
        #expect(try board.status("all") == "applied 13" && board.sensitivity == 4)
    }

    /// A board that lost its state, or is new, accepts any revision that leaves room for the next ones.
    @Test func lostStateOfBoard() throws {
        let first = (1 << 31) - 2
        var board = try FleetBench(retained: [
            Self.all: layer(first, sensitivity: 3),
            "jostle/_registry/a": #"{"schema":1,"revision":\#(first),"groups":["b"]}"#,
        ])
        try board.answerSubscriptions()
        try board.pass(4)
        #expect(try board.status("all") == "applied \(first)")
        #expect(try board.report()["groups"] as? [String] == ["b"])
        try board.publish(.all, layer(first + 2, sensitivity: 4))
        #expect(try board.status("all") == "rejected \(first + 2)" && board.sensitivity == 3)
        try board.publish(.all, layer(first + 1, sensitivity: 4))
        #expect(try board.status("all") == "applied \(first + 1)")
        // Also the first one.
        board = try FleetBench(retained: [Self.all: layer(1 << 31, sensitivity: 3)])
        #expect(try board.status("all") == "rejected \(1 << 31)")
    }

    /// A document and its removal arrive before the document is on the disk.
    @Test func removedWhileItIsStored() throws {
        var board = try FleetBench()
        board.bench.receive(Self.all, layer(1, sensitivity: 3))
        board.bench.receive(Self.all, "")
        try board.storeFiles()
        #expect(try board.status("all") == "missing 1" && board.sensitivity == 3)
        // Until it is stored, nothing is accepted that could be missing.
        board = try FleetBench()
        board.hasWorkingDisk = false
        try board.publish(.all, layer(1, sensitivity: 3))
        try board.publish(.all, "")
        #expect(try board.status("all") == "none")
        try board.repairDisk()
        #expect(try board.status("all") == "missing 1")
        // It comes back while an earlier one is being written.
        board.bench.receive(Self.all, layer(2, sensitivity: 4))
        board.bench.receive(Self.all, "")
        board.bench.receive(Self.all, layer(2, sensitivity: 4))
        try board.storeFiles()
        #expect(try board.status("all") == "applied 2")
    }

    // MARK: Epochs

    /// The wall clock of the bench, milliseconds.
    private static let now = 1_795_000_000_000

    private func epoch(_ name: String, at: Int) -> String { #""epoch":"\#(name)","at":\#(at)"# }

    @Test func laterEpochBeginsTheCountAgain() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3, #""at":\#(Self.now)"#)])
        let first = layer(1, sensitivity: 4, epoch("0123abcd", at: Self.now + 1))
        try board.publish(.all, first)
        let report = try board.layer("all")
        #expect(report["status"] as? String == "applied" && report["revision"] as? Int == 1)
        #expect(report["epoch"] as? String == "0123abcd" && board.sensitivity == 4)
        #expect(try board.report()["epochs"] as? Bool == true)
        // Within the epoch, numbers decide, whatever the time.
        try board.publish(.all, layer(3, sensitivity: 6, epoch("0123abcd", at: Self.now)))
        #expect(try board.status("all") == "applied 3" && board.sensitivity == 6)
        try board.publish(.all, layer(3, sensitivity: 7, epoch("0123abcd", at: Self.now + 9)))
        #expect(try board.status("all") == "conflict 3")
        try board.publish(.all, layer(4, sensitivity: 7, epoch("0123abcd", at: Self.now + 9)))
        // The next one comes from a machine whose clock is behind.
        try board.publish(.all, layer(5, sensitivity: 7, epoch("0123abcd", at: Self.now - 9)))
        try board.pass(70)
        // What a bridged broker brings back is older: the document before, and an epoch before.
        for old in [
            layer(12, sensitivity: 3, #""at":\#(Self.now)"#), layer(13, sensitivity: 3), first,
            layer(900, sensitivity: 3, epoch("ffff0000", at: Self.now + 8)),
            layer(900, sensitivity: 3, epoch("ffff0000", at: Self.now + 9)),
        ] {
            try board.receive(Self.all, old)
            let stale = try board.layer("all")
            #expect(stale["status"] as? String == "stale" && stale["in_force"] as? Int == 5, "\(old)")
            let isOwn = stale["epoch"] as? String == "0123abcd"
            #expect(isOwn != (stale["accepted_epoch"] as? String == "0123abcd"))
            try board.restart()
            #expect(board.sensitivity == 7)
        }
        try board.publish(.all, layer(1, sensitivity: 8, epoch("ffff0000", at: Self.now + 10)))
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 8)
        // Groups follow the same rules.
        for (text, groups) in [
            (#"{"schema":1,"revision":9,"groups":["b"]}"#, ["b"]),
            (#"{"schema":1,"revision":1,"groups":["c"],\#(epoch("0123abcd", at: Self.now))}"#, ["c"]),
            (#"{"schema":1,"revision":10,"groups":["b"]}"#, ["c"]),
        ] {
            try board.receive("jostle/_registry/a", text)
            #expect(try board.report()["groups"] as? [String] == groups)
        }
    }

    /// A document from the future would keep all later epochs out. It is not remembered.
    @Test func documentFromTheFutureIsRefused() throws {
        var board = try FleetBench()
        for more in [#""at":\#(Self.now + 90_000_000)"#, epoch("ffff0000", at: 1 << 53)] {
            try board.publish(.all, layer(7, sensitivity: 3, more))
            let report = try board.layer("all")
            #expect(report["status"] as? String == "rejected" && report["in_force"] == nil && report["highest"] == nil)
            let error = try #require((report["errors"] as? [[String: Any]])?.first)
            #expect(error["path"] as? String == "at")
        }
        try board.publish(.all, layer(1, sensitivity: 4, epoch("0123abcd", at: Self.now)))
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 4)
        // A day later, it is no longer from the future.
        let tomorrow = layer(1, sensitivity: 5, epoch("eeee0000", at: Self.now + 90_000_000))
        try board.publish(.all, tomorrow)
        #expect(try board.status("all") == "rejected 1" && board.sensitivity == 4)
        board.bench.clocks.wall += 86_400_000
        try board.publish(.all, tomorrow)
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 5)
        try board.publish("jostle/_registry/a", #"{"schema":1,"revision":1,"groups":["b"],"at":\#(1 << 53)}"#)
        #expect((try board.report()["registry"] as? [String: Any])?["status"] as? String == "rejected")
        #expect(try board.report()["groups"] as? [String] == [])
    }

    /// Without a clock the board cannot know which time is right, so a new epoch reaches it whatever its time, and one that
    /// it had before does not. Once the clock is set, what came from the future keeps nothing out.
    @Test func futureWithoutAClock() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 2, #""at":\#(Self.now)"#)])
        board.bench.clocks.isSet = false
        let future = layer(7, sensitivity: 3, epoch("ffff0000", at: 1 << 53))
        try board.publish(.all, future)
        #expect(try board.status("all") == "applied 7")
        try board.publish(.all, layer(1, sensitivity: 4, epoch("0123abcd", at: Self.now)))
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 4)
        try board.pass(70)
        try board.restart(connects: false)
        board.bench.clocks.isSet = false
        try board.connect()
        // What a bridged broker brings back.
        for old in [
            future, layer(8, sensitivity: 3, epoch("ffff0000", at: 1 << 53)),
            layer(13, sensitivity: 2, #""at":\#(Self.now + 1)"#),
        ] {
            try board.receive(Self.all, old)
            #expect(try board.layer("all")["status"] as? String == "stale" && board.sensitivity == 4, "\(old)")
        }
        try board.publish(.all, layer(7, sensitivity: 3, epoch("eeee0000", at: 1 << 53)))
        let later = layer(2, sensitivity: 5, epoch("0123abcd", at: Self.now + 1))
        try board.publish(.all, later)
        #expect(try board.status("all") == "stale 2")
        // It is read again.
        board.bench.clocks.isSet = true
        try board.answerSubscriptions()
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 5)
        try board.publish(.all, layer(1, sensitivity: 6, epoch("dddd0000", at: Self.now + 2)))
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 6)
        board.bench.clocks.isSet = false
        for (revision, epoch, at) in [(1, "ffff0000", 1 << 53), (1, "0123abcd", Self.now)] {
            try board.publish(
                "jostle/_registry/a",
                #"{"schema":1,"revision":\#(revision),"groups":["\#(epoch)"],\#(self.epoch(epoch, at: at))}"#)
            #expect(try board.report()["groups"] as? [String] == [epoch])
        }
    }

    /// The time of the last accepted document is reported: from a clock that was some hours ahead, it keeps other epochs out
    /// until then, or until one is published that is later still.
    @Test func acceptedTimeIsReported() throws {
        let ahead = Self.now + 36_000_000
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3, #""at":\#(ahead)"#)])
        try board.publish(.all, layer(13, sensitivity: 3, #""at":\#(Self.now)"#))
        try board.publish(.all, layer(1, sensitivity: 4, epoch("0123abcd", at: Self.now)))
        let stale = try board.layer("all")
        #expect(stale["status"] as? String == "stale" && stale["accepted_at"] as? Int == ahead)
        try board.publish(.all, layer(1, sensitivity: 4, epoch("0123abcd", at: ahead + 1)))
        let applied = try board.layer("all")
        #expect(applied["status"] as? String == "applied" && applied["accepted_at"] as? Int == ahead + 1)
        try board.publish(.all, "")
        #expect(try board.layer("all")["accepted_at"] as? Int == ahead + 1)
        #expect(try board.layer("device")["accepted_at"] == nil)
        // Of groups, too. Their time does not go back within an epoch either.
        for (text, groups) in [
            (#"{"schema":1,"revision":3,"groups":["b"],\#(epoch("0123abcd", at: ahead))}"#, ["b"]),
            (#"{"schema":1,"revision":4,"groups":["c"],\#(epoch("0123abcd", at: Self.now))}"#, ["c"]),
            (#"{"schema":1,"revision":1,"groups":["d"],\#(epoch("ffff0000", at: ahead))}"#, ["c"]),
        ] {
            try board.publish("jostle/_registry/a", text)
            let report = try board.report()
            #expect(report["groups"] as? [String] == groups)
            #expect((report["registry"] as? [String: Any])?["accepted_at"] as? Int == ahead)
            try board.restart()
        }
    }

    /// An earlier program accepted revisions up to 2^53.
    @Test func boardAtTheLastRevisionIsFreed() throws {
        let last = 1 << 53 - 1
        var stored = StoredLayer(.all)
        let text = Array(layer(last, sensitivity: 3).utf8)
        let document = try LayerDocument(reading: text, layer: "all", isStored: true)
        stored.accept(LayerContent(document: document), at: .start)
        stored.proven = nil
        var fleet = StoredFleet(layers: [Self.all: stored])
        let groups = Array(#"{"schema":1,"revision":\#(last),"groups":["b"]}"#.utf8)
        let registry = try RegistryDocument(reading: groups, isStored: true)
        fleet.registry = StoredRegistry(
            topic: "jostle/_registry/a", document: registry, accepted: AcceptedRevision(registry.revision))
        var board = try FleetBench(connects: false)
        try board.directory.write(String(decoding: fleet.bytes, as: UTF8.self), to: "fleet-layers.json")
        try board.restart()
        #expect(try board.status("all") == "missing \(last)" && board.sensitivity == 3)
        try board.publish(.all, layer(13, sensitivity: 4))
        #expect(try board.status("all") == "stale 13")
        try board.publish(.all, layer(1, sensitivity: 4, epoch("0123abcd", at: Self.now)))
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 4)
        try board.publish(
            "jostle/_registry/a", #"{"schema":1,"revision":1,"groups":[],\#(epoch("0123abcd", at: Self.now))}"#)
        #expect(try board.report()["groups"] as? [String] == [])
        try board.restart()
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 4)
    }

    /// An epoch that begins with a wrong document, or with one that is undone, has not begun.
    @Test func epochBeginsWithAnAcceptedDocument() throws {
        var board = try FleetBench(retained: [Self.all: layer(12, sensitivity: 3, #""at":\#(Self.now)"#)])
        try board.publish(.all, layer(1, sensitivity: 70, epoch("0123abcd", at: Self.now + 1)))
        let rejected = try board.layer("all")
        #expect(rejected["status"] as? String == "rejected" && rejected["epoch"] as? String == "0123abcd")
        #expect(rejected["in_force"] as? Int == 12 && rejected["accepted_epoch"] as? String == "")
        try board.publish(.all, layer(13, sensitivity: 4))
        #expect(try board.status("all") == "applied 13" && board.sensitivity == 4)
    }

    /// Nothing was ever accepted, and what was rejected is gone.
    @Test func rejectedDocumentThatIsGone() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 70)])
        #expect(try board.status("all") == "rejected 1")
        board.disconnect()
        board.retained = [:]
        try board.connect()
        #expect(try board.status("all") == "none")
    }

    // MARK: Groups

    @Test func registryReplacesGroupsOfFile() throws {
        var board = try FleetBench(
            "device: { groups: [laundry] }",
            retained: [
                "jostle/_group/laundry/config": layer(1, sensitivity: 2),
                "jostle/_group/attic/config": layer(1, sensitivity: 7),
            ])
        #expect(board.sensitivity == 2)
        try board.publish("jostle/_registry/a", #"{"schema":1,"revision":3,"groups":["attic"]}"#)
        #expect(board.sensitivity == 2, "until the new group's layer is read")
        try board.answerSubscriptions()
        let report = try board.report()
        #expect(report["groups"] as? [String] == ["attic"] && board.sensitivity == 7)
        #expect((report["layers"] as? [String: Any])?["group:laundry"] == nil)
        #expect((report["registry"] as? [String: Any])?["revision"] as? Int == 3)
        // Missing keeps the last groups, an empty list empties them.
        try board.publish("jostle/_registry/a", "")
        try board.restart()
        #expect(board.sensitivity == 7)
        try board.publish("jostle/_registry/a", #"{"schema":1,"revision":4,"groups":[]}"#)
        try board.pass(4)
        #expect(board.sensitivity == 5)
        #expect(try board.report()["groups"] as? [String] == [])
    }

    @Test func registryFollowsRevisions() throws {
        var board = try FleetBench(retained: ["jostle/_registry/a": #"{"schema":1,"revision":3,"groups":["b"]}"#])
        for (text, status) in [
            (#"{"schema":1,"revision":2,"groups":["c"]}"#, "stale"),
            (#"{"schema":1,"revision":3,"groups":["c"]}"#, "conflict"),
            (#"{"schema":1,"revision":4,"groups":["c","c"]}"#, "rejected"),
            (#"{"schema":1,"revision":4,"groups":["_all"]}"#, "rejected"),
            (#"{"schema":1,"revision":3,"groups":["b"]}"#, "applied"),
        ] {
            try board.receive("jostle/_registry/a", text)
            let report = try board.report()
            #expect((report["registry"] as? [String: Any])?["status"] as? String == status)
            #expect(report["groups"] as? [String] == ["b"])
        }
    }

    /// Who leaves a group drops its layer at once, and forgets its revisions.
    @Test func leftGroup() throws {
        var board = try FleetBench(
            retained: [
                "jostle/_registry/a": #"{"schema":1,"revision":1,"groups":["g"]}"#,
                "jostle/_group/g/config": layer(8, sensitivity: 9),
            ])
        try board.answerSubscriptions()
        try board.pass(4)
        #expect(board.sensitivity == 9)
        try board.publish("jostle/_registry/a", #"{"schema":1,"revision":2,"groups":[]}"#)
        try board.pass(4)
        #expect(board.sensitivity == 5)
        try board.receive("jostle/_group/g/config", layer(9, sensitivity: 1))
        #expect(board.sensitivity == 5, "the board no longer reads that topic")
        try board.publish("jostle/_registry/a", #"{"schema":1,"revision":3,"groups":["g"]}"#)
        try board.answerSubscriptions()
        try board.pass(4)
        #expect(try board.status("group:g") == "applied 8")
    }

    // MARK: Reading

    /// A refused subscription takes no other layer with it.
    @Test func refusedSubscription() throws {
        var board = try FleetBench(connects: false)
        board.retained = [Self.all: layer(1, sensitivity: 3), "jostle/a/config/desired": layer(1, sensitivity: 4)]
        board.deliver(.connected)
        try board.answerSubscriptions(except: ["jostle/a/config/desired"])
        try board.pass(2.9)
        #expect(board.sensitivity == 5, "an answer is awaited for three seconds")
        try board.pass(0.2)
        #expect(board.sensitivity == 3)
        #expect(try board.status("device") == "none")
    }

    /// Of a topic that may not be read, nothing is known: the broker may still have the document.
    @Test func refusedSubscriptionIsNotMissing() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        board.disconnect()
        board.deliver(.connected)
        try board.answerSubscriptions(except: [Self.all])
        board.deliver(.subscriptionAnswered(filter: Self.all, isGranted: false))
        try board.pass(2)
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 3)
    }

    /// A change can be missed while subscribing: everything is read again soon, and then every ten minutes.
    @Test func readsAgain() throws {
        var board = try FleetBench()
        board.retained[Self.all] = layer(1, sensitivity: 3)
        try board.pass(5)
        try board.answerSubscriptions()
        #expect(board.sensitivity == 3)
        board.retained[Self.all] = layer(2, sensitivity: 4)
        let before = board.bench.subscriptions.count
        try board.pass(530)
        #expect(board.bench.subscriptions.count == before)
        try board.pass(140)
        #expect(board.bench.subscriptions.count > before)
        try board.answerSubscriptions()
        #expect(board.sensitivity == 4)
    }

    /// Ten documents a second: those beyond are read again later.
    @Test func limitsFlood() throws {
        var board = try FleetBench()
        try board.pass(20)
        for revision in 1...300 { try board.receive(Self.all, layer(revision, sensitivity: revision % 10 + 1)) }
        #expect(try board.status("all") != "applied 300")
        board.retained[Self.all] = layer(300, sensitivity: 2)
        try board.pass(3)
        try board.answerSubscriptions()
        #expect(try board.status("all") == "applied 300")
    }

    /// Documents that were discarded because too many came are read soon, also if a regular reading was under way.
    @Test func readsAgainAfterFlood() throws {
        var board = try FleetBench()
        try board.pass(5)
        let before = board.bench.subscriptions.count
        for revision in 1...60 { try board.receive(Self.all, layer(revision, sensitivity: 1 + revision % 9)) }
        try board.pass(4)
        #expect(board.bench.subscriptions.count > before)
    }
}
