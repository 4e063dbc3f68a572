import MosquittoClient
import MotionCore
import Testing

@testable import JostleOperator

/// Requirement: a view knows the state of devices at once, without making a fleet answer all together.
@Suite struct StateRequestsTests {
    private let start = Timestamp(nanoseconds: 1_000_000_000)

    private func model(_ messages: [(String, String)], onlyDevice: String? = nil) -> FleetModel {
        var model = FleetModel(prefix: "jostle", onlyDevice: onlyDevice)
        for (topic, text) in messages {
            _ = model.update(with: MQTTMessage(topic: "jostle/\(topic)", text: text), at: start)
        }
        return model
    }

    @Test func asksOnlyWhatIsMissing() {
        let attitude = #"{"roll":1,"pitch":2,"yaw":3}"#
        var requests = StateRequests()
        #expect(requests.due(model([("a/availability", "online")], onlyDevice: "a"), at: start) == ["a"])
        // Not again until it had time to answer.
        let later = start.advanced(bySeconds: 29)
        #expect(requests.due(model([("a/availability", "online")], onlyDevice: "a"), at: later).isEmpty)
        #expect(
            requests.due(model([("a/availability", "online")], onlyDevice: "a"), at: start.advanced(bySeconds: 31))
                == ["a"])
        // A device that does not answer is asked no more, until it starts again.
        let silent = model([("a/availability", "online")], onlyDevice: "a")
        #expect(requests.due(silent, at: start.advanced(bySeconds: 62)) == ["a"])
        for minute in 2...10 {
            #expect(requests.due(silent, at: start.advanced(bySeconds: Double(minute) * 60)).isEmpty)
        }
        let late = start.advanced(bySeconds: 700)
        #expect(requests.due(model([("a/availability", "offline")], onlyDevice: "a"), at: late).isEmpty)
        #expect(requests.due(silent, at: late) == ["a"])
        var others = StateRequests()
        for known in [
            [("a/availability", "offline")], [("a/availability", "online"), ("a/attitude", attitude)], [],
        ] {
            #expect(others.due(model(known, onlyDevice: "a"), at: start).isEmpty, "\(known)")
        }
        #expect(others.due(model([("a/availability", "online"), ("a/state", "{}")]), at: start).isEmpty)
    }

    @Test func spreadsRequestsToFleet() {
        let fleet = model((10..<30).map { ("board-\($0)/availability", "online") })
        var requests = StateRequests()
        #expect(requests.due(fleet, at: start) == (10..<15).map { "board-\($0)" })
        #expect(requests.due(fleet, at: start).isEmpty)
        #expect(requests.due(fleet, at: start.advanced(bySeconds: 1)) == (15..<20).map { "board-\($0)" })
    }

    @Test func takesStateFromAnswer() {
        let answer = #"""
            {"ok":true,"attitude":{"t":1,"roll":1.5,"pitch":2,"yaw":3},"state":{"side":"+x","moving":false}}
            """#
        let device = model([("a/availability", "online"), ("a/command/get-state/result", answer)], onlyDevice: "a")
            .boards["a"]
        #expect(device?.attitude?.roll == 1.5 && device?.state?.side == "+x")
        // The attitude is what was asked for, whether or not the state has changed too.
        var known = model([("a/state", #"{"side":"-x","moving":false}"#)], onlyDevice: "a")
        let message = MQTTMessage(topic: "jostle/a/command/get-state/result", text: answer)
        let change = known.update(with: message, at: start)
        #expect(change?.change == .attitude && known.boards["a"]?.state?.side == "+x")
        let refused = model([("a/command/get-state/result", #"{"ok":false,"state":{"side":"+x"}}"#)], onlyDevice: "a")
        #expect(refused.boards["a"]?.state == nil && refused.boards["a"]?.malformedMessages ?? 0 == 0)
    }

    @Test func remembersOtherDevices() {
        let other = model([("b/availability", "offline"), ("c/state", "{}"), ("d/availability", "")], onlyDevice: "a")
        #expect(other.otherDevices == ["b"] && other.boards.isEmpty)
    }

    @Test func notesWhenDeviceWentOffline() {
        var model = model([("a/availability", "online"), ("a/health", #"{"t":1795182603123}"#)], onlyDevice: "a")
        #expect(model.boards["a"]?.lastReport == 1_795_182_603_123 && model.boards["a"]?.offlineSince == nil)
        let later = start.advanced(bySeconds: 5)
        _ = model.update(with: MQTTMessage(topic: "jostle/a/availability", text: "offline"), at: later)
        #expect(model.boards["a"]?.offlineSince == later)
        var retained = FleetModel(prefix: "jostle", onlyDevice: "a")
        let message = MQTTMessage(topic: "jostle/a/availability", text: "offline", qos: .atLeastOnce, retain: true)
        _ = retained.update(with: message, at: start)
        #expect(retained.boards["a"]?.isOnline == false && retained.boards["a"]?.offlineSince == nil)
    }
}
