import JostleOperator
import MosquittoClient
import MotionCore
import Testing

/// Requirement: the model holds what devices publish, and no message from outside can do harm.
@Suite struct WatchedBoardTests {
    private let now = Timestamp(nanoseconds: 1_000_000_000)

    private func message(_ topic: String, _ text: String, retain: Bool = false) -> MQTTMessage {
        MQTTMessage(topic: topic, text: text, retain: retain)
    }

    /// A model after these messages, and what the last one changed.
    private func model(
        onlyDevice: String? = "dut", _ messages: [(String, String)]
    ) -> (model: FleetModel, change: FleetModel.Change?) {
        var model = FleetModel(prefix: "jostle", onlyDevice: onlyDevice)
        var change: FleetModel.Change?
        for (topic, text) in messages { change = model.update(with: message("jostle/" + topic, text), at: now)?.change }
        return (model, change)
    }

    @Test func recordsWhatDevicePublishes() throws {
        let result = model([
            ("dut/availability", "online"), ("dut/attitude", "{\"t\":1,\"roll\":1.5,\"pitch\":-4.25,\"yaw\":78.5}"),
            ("dut/motion", "{\"acceleration\":[2,-3,6],\"rotation\":[0,3,-4],\"temperature\":23.4}"),
            ("dut/state", "{\"moving\":true,\"side\":\"-y\",\"tilt\":3.1,\"vibrating\":false,\"stopped\":true}"),
            (
                "dut/health",
                "{\"rate\":199.8,\"period_ppm\":-120,\"bus_errors\":{\"timed_out\":2,\"other\":3},\"problems\":[\"clock\"]}"
            ),
        ])
        let device = try #require(result.model.boards["dut"])
        #expect(result.change == .health)
        #expect(device.isOnline == true && device.isStopped && device.needsAttention)
        #expect(device.attitude?.roll == 1.5 && device.attitude?.pitch == -4.25 && device.attitude?.yaw == 78.5)
        #expect(device.motion?.acceleration == 7 && device.motion?.rotation == 5 && device.motion?.temperature == 23.4)
        #expect(device.state?.side == "-y" && device.state?.isMoving == true && device.state?.tilt == 3.1)
        #expect(device.health?.rate == 199.8 && device.health?.period == -120 && device.health?.busErrors == 5)
        #expect(device.health?.problems == ["clock"])
    }

    /// Requirement: what a machine does is known with its units, and is not told again because of a new subscription.
    @Test func recordsTheMachine() throws {
        let text = """
            {"t":1795182603123,"phase":"running","runs_today":1,"duration":754,"v_10_90":1.5,"a_10_90":0.4,
            "below":["a_10_90"],"changed":true,"deviation":{"octave":22.4,"decibels":-4.2,"since":1}}
            """
        let result = model([("dut/machine", text)])
        let machine = try #require(result.model.boards["dut"]?.machine)
        #expect(result.change == .machine && machine.phase == .running && machine.isChanged)
        #expect(machine.velocity == 0.0015 && machine.acceleration == nil && machine.runsToday == 1)
        #expect(machine.seconds(at: 1_795_182_663_123) == 814)
        var watched = result.model
        let again = message("jostle/dut/machine", text, retain: true)
        #expect(watched.update(with: again, at: now) == nil)
        let paused = #"{"t":1795182703123,"phase":"paused","duration":800,"quiet_for":30}"#
        #expect(watched.update(with: message("jostle/dut/machine", paused), at: now)?.change == .machine)
        #expect(watched.boards["dut"]?.machine?.seconds(at: 1_795_182_713_123) == 40)
        let off = try #require(
            model([("dut/machine", #"{"phase":"off","duration":800}"#)]).model.boards["dut"]?.machine)
        #expect(off.seconds(at: 0) == nil && !off.isChanged)
    }

    /// Requirement: that a machine is not as it was is listed among the gestures.
    @Test func recordsAMachineThatIsNotAsItWas() throws {
        let text =
            #"{"id":"a-1","t":1795182603123,"gesture":"machine","phase":"began","octave":22.4,"decibels":-4.2,"since":1}"#
        let event = try #require(model([("dut/event/machine", text)]).model.boards["dut"]?.events.first)
        #expect(event.gesture == "machine" && event.phase == "began")
        #expect(event.remarks == "4.2 dB less from 22.4 to 44.8 Hz")
    }

    @Test func recordsLayersOfConfiguration() throws {
        let text = #"""
            {"t":1,"settings":{},"layers":{"all":{"status":"applied","revision":12,"hash":"0f3a"},
            "group:laundry":{"status":"rejected","revision":3,"in_force":2,
            "errors":[{"path":"gestures.shake.sensitivity","value":70,"allowed":"1 … 10","reason":"out of bounds"}]},
            "device":{"status":"none"}}}
            """#
        let result = model([("dut/config/reported", text)])
        let device = try #require(result.model.boards["dut"])
        #expect(result.change == .configuration && device.needsAttention)
        #expect(device.layers.map(\.name) == ["all", "group:laundry", "device"])
        #expect(device.layers.map(\.status.word) == ["applied", "rejected", "none"])
        #expect(device.layers.map(\.revision) == [12, 3, nil])
        #expect(device.layers.map(\.inForce) == [nil, 2, nil])
        #expect(device.layers[1].error == "gestures.shake.sensitivity out of bounds")
        #expect(device.worstStatus == .rejected)
        // The same report again, as after a new subscription.
        #expect(model([("dut/config/reported", text), ("dut/config/reported", text)]).change == nil)
        // A report of an agent without layers.
        #expect(model([("dut/config/reported", "{\"settings\":{}}")]).change == nil)
        #expect(model([("dut/config/reported", text), ("dut/config/reported", "{}")]).change == .configuration)
    }

    @Test(
        arguments: [
            ("applied", "none", "applied", false), ("pending", "applied", "pending", false),
            ("applied", "rolled_back", "rolled_back", true), ("conflict", "missing", "conflict", true),
            ("applied", "stale", "stale", true), ("none", "none", "none", false), ("applied", "new", "new", false),
        ])
    func worstStatusCounts(_ first: String, _ second: String, _ worst: String, _ needsAttention: Bool) throws {
        let text = "{\"layers\":{\"all\":{\"status\":\"\(first)\"},\"device\":{\"status\":\"\(second)\"}}}"
        let device = try #require(model([("dut/config/reported", text)]).model.boards["dut"])
        #expect(device.worstStatus?.word == worst && device.needsAttention == needsAttention)
    }

    @Test func boundsForeignLayers() throws {
        let names = (0..<100).map { "\"group:\($0)\\u001b[2J\":{\"status\":\"\\u001b]0;x\",\"revision\":1e300}" }
        let result = model([("dut/config/reported", "{\"layers\":{\(names.joined(separator: ","))}}")])
        let layers = try #require(result.model.boards["dut"]?.layers)
        #expect(layers.count == 64 && layers.allSatisfy { $0.revision == nil })
        for layer in layers {
            #expect((layer.name + layer.status.word).unicodeScalars.allSatisfy { $0.value >= 0x20 })
        }
        #expect(model([("dut/config/reported", "{\"layers\":{\"all\":7,\"device\":null}}")]).change == nil)
    }

    /// A broker that comes back may hold an older report.
    @Test func olderHealthThatTheBrokerHeldIsLeftOut() {
        var model = FleetModel(prefix: "jostle")
        func update(_ text: String, retain: Bool = true) -> FleetModel.Change? {
            model.update(with: message("jostle/dut/health", text, retain: retain), at: now)?.change
        }
        let first = #"{"t":1795182603123,"uptime":100}"#
        #expect(update(first) == .health && update(first) == nil)
        #expect(update(#"{"t":1795182703123,"uptime":5}"#) == .health, "the program was started again")
        #expect(update(first) == nil && update(first, retain: false) == .health)
        let withoutClock = #"{"clock":"unset","t":5,"uptime":99}"#
        #expect(update(withoutClock) == .health, "another run, before its clock is set")
        #expect(update(#"{"clock":"unset","t":5,"uptime":98}"#) == nil, "without a time, the uptime counts")
    }

    @Test func recordsEventOnce() throws {
        let text =
            "{\"id\":\"a-1\",\"t\":1795182603123,\"gesture\":\"shake\",\"phase\":\"cancelled\",\"strength\":14.25,"
            + "\"axis\":\"x\",\"reason\":\"too_weak\",\"simulated\":true,\"delayed\":true}"
        let once = model([("dut/event/shake", text)])
        let event = try #require(once.model.boards["dut"]?.events.first)
        #expect(event.time == 1_795_182_603_123 && event.isCancelled && event.isSimulated && event.isDelayed)
        #expect(event.remarks == "axis x, 14.3 m/s², it faded before it was certain, simulated, delayed")
        let twice = model([("dut/event/shake", text), ("dut/event/shake", text)])
        #expect(twice.change == nil && twice.model.boards["dut"]?.events.count == 1)
    }

    /// Requirement: a turn that goes on and on does not push the other gestures out.
    @Test func aLongTurnLeavesOtherGestures() throws {
        let shake = ("dut/event/shake", #"{"id":"a","gesture":"shake","phase":"ended"}"#)
        let turn = (0..<500).map { ("dut/event/turn", #"{"id":"\#($0)","gesture":"turn","phase":"changed"}"#) }
        let events = try #require(model([shake] + turn).model.boards["dut"]?.events)
        #expect(events.last?.gesture == "shake" && events.first?.id == "499" && events.count == 100)
    }

    @Test func recordsLastNearMissOfEachGesture() throws {
        let first = #"{"t":1795182603123,"gesture":"shake","reason":"too_weak","text":"no shake: too\u001b weak"}"#
        let second = #"{"t":1795182604123,"gesture":"tap","reason":"too_soon","text":"no tap","simulated":true}"#
        let result = model([("dut/near-miss", first)])
        let miss = try #require(result.model.boards["dut"]?.nearMisses.first)
        #expect(miss.text == "no shake: too\\u{1b} weak" && miss.time == 1_795_182_603_123)
        #expect(result.change == .nearMiss(miss))
        let last = try #require(model([("dut/near-miss", first), ("dut/near-miss", second)]).model.boards["dut"])
        #expect(last.nearMisses.map(\.text) == ["no tap, simulated", miss.text] && last.events.isEmpty)
        let again = model([("dut/near-miss", first), ("dut/near-miss", second), ("dut/near-miss", first)]).model
        #expect(again.boards["dut"]?.nearMisses.map(\.text) == [miss.text, "no tap, simulated"])
        var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
        #expect(model.update(with: message("jostle/dut/near-miss", second, retain: true), at: now) == nil)
    }

    @Test func ignoresRetainedEvents() {
        var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
        let event = message("jostle/dut/event/tap", "{\"gesture\":\"tap\",\"phase\":\"recognized\"}", retain: true)
        #expect(model.update(with: event, at: now) == nil && model.boards.isEmpty)
    }

    @Test(
        arguments: [
            ("attitude", "{"), ("config/reported", "online"), ("attitude", "[1]"),
            ("attitude", "{\"roll\":1,\"pitch\":2}"),
            ("attitude", "{\"roll\":1e999,\"pitch\":2,\"yaw\":3}"),
            ("attitude", "{\"roll\":\"1\",\"pitch\":2,\"yaw\":3}"), ("attitude", "{\"roll\":1,\"roll\":2}"),
            ("availability", "perhaps"), ("machine", "{}"), ("machine", "{\"phase\":\"on fire\"}"),
            ("near-miss", "{\"gesture\":\"shake\"}"),
            ("event/shake", "{\"phase\":\"began\"}"),
            ("state", "\u{1B}[2J"),
        ])
    func reportsMalformedMessages(topic: String, text: String) throws {
        let result = model([("dut/\(topic)", text)])
        let device = try #require(result.model.boards["dut"])
        guard case .malformed(let reason)? = result.change else {
            Issue.record("\(topic) \(text) was accepted")
            return
        }
        #expect(device.malformedMessages == 1 && device.lastProblem == reason)
        #expect(device.attitude == nil && device.events.isEmpty)
        #expect(reason.unicodeScalars.allSatisfy { $0.value >= 0x20 } && reason.contains(topic), "\(reason)")
    }

    @Test(
        arguments: [
            "other/dut/availability", "jostle/_all/availability", "jostle//availability", "jostle/a b/availability",
            "jostle/dut/command/ping", "jostle/dut/config/desired", "jostle", "jostle/other/availability",
        ])
    func ignoresOtherTopics(topic: String) {
        var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
        #expect(model.update(with: message(topic, "online"), at: now) == nil && model.boards.isEmpty)
    }

    @Test func newNameOrGroupsAreNoNewConfiguration() {
        var model = FleetModel(prefix: "jostle")
        func report(_ name: String, _ groups: String) -> FleetModel.Change? {
            let text = "{\"settings\":{\"device\":{\"name\":\"\(name)\"}},\"groups\":[\(groups)]}"
            return model.update(with: message("jostle/dut/config/reported", text), at: now)?.change
        }
        #expect(report("Washer", "") == .identity)
        #expect(report("Washer", "") == nil)
        #expect(report("Washer", "\"laundry\"") == .identity)
        #expect(model.boards["dut"]?.report?.name == "Washer" && model.boards["dut"]?.report?.groups == ["laundry"])
    }

    @Test func limitsTextsAndLists() throws {
        let long = String(repeating: "x", count: 5000)
        let list = Array(repeating: "\"\(long)\"", count: 50).joined(separator: ",")
        let refused = model([("dut/health", "{\"sensor\":\"\(long)\",\"problems\":[\(list)]}")])
        #expect(refused.model.boards["dut"]?.lastProblem?.contains("longer than") == true)
        let short = Array(repeating: "\"a\\u001bb\"", count: 50).joined(separator: ",")
        let accepted = model([("dut/health", "{\"sensor\":\"\(long)\",\"problems\":[\(short)]}")])
        let health = try #require(accepted.model.boards["dut"]?.health)
        #expect(health.sensor?.count == 201 && health.problems == Array(repeating: "a\\u{1b}b", count: 8))
    }

    @Test func limitsEventsAndDevices() {
        var model = FleetModel(prefix: "jostle")
        for index in 0..<(FleetModel.maximumWatched + 3) {
            _ = model.update(with: message("jostle/d\(index)/availability", "online"), at: now)
        }
        #expect(model.boards.count == FleetModel.maximumWatched && model.ignoredMessages == 3)
        #expect(model.leftOutText == "3 devices do not fit beside 5000 others")
        model.narrow(to: "d1")
        for index in 0..<300 {
            let text = "{\"id\":\"a-\(index)\",\"gesture\":\"tap\",\"phase\":\"recognized\"}"
            _ = model.update(with: message("jostle/d1/event/tap", text), at: now)
        }
        #expect(model.boards.count == 1 && model.ignoredMessages == 0 && model.leftOutText == nil)
        #expect(model.boards["d1"]?.events.count == 100 && model.boards["d1"]?.events.first?.id == "a-299")
    }
}
