import Foundation
import JostleConfiguration
import JostleMessages
import JostleRuntime
import MosquittoClient
import MotionCore
import Synchronization
import Testing

@testable import JostleAgent
@testable import MotionKit

/// Requirement: the rules of `actions` take part in the responder chain, in order and before the publisher, and their
/// messages go through the outbox like events.
@Suite struct ActionTests {
    /// A manager's responder chain with rules, followed by the composer, whose messages are collected.
    private struct Rig {
        let manager = MotionManager(sensor: .virtual("rest"))
        private let responders: ActionResponders
        private let box = Box()

        /// The composer and the published messages. The chain calls its handlers on the test's own thread.
        private final class Box: Sendable {
            struct State {
                var composer = EventComposer(
                    topics: Topics(prefix: "jostle", id: "dut"), prefix: "jostle", run: "f00d", isSimulated: true)
                var updates: [Outbox.Update] = []
                var refusals: [String] = []
            }

            let state = Mutex(State())
        }

        init(_ rules: String) throws {
            let box = self.box
            responders = ActionResponders { action, event in
                box.state.withLock { state in
                    do {
                        let message = try state.composer.message(for: action, on: event, at: .now())
                        if let message { state.updates.append(.add(message)) }
                    } catch {
                        state.refusals.append("\(error)")
                    }
                }
            }
            manager.setDefaultResponder { event in
                box.state.withLock { $0.updates += $0.composer.updates(for: event, at: .now()) }
            }
            try install(rules)
        }

        func install(_ rules: String) throws {
            let actions = try JostleSettings.load(file: nil, overrides: ["actions=[\(rules)]"]).settings.actions
            responders.install(actions, in: manager)
        }

        func deliver(_ gesture: Gesture, _ phase: GesturePhase, _ change: (inout GestureEvent) -> Void = { _ in }) {
            var event = GestureEvent(gesture, phase, at: WallClock.monotonic)
            change(&event)
            manager.handlers.chain.deliver(event)
        }

        /// Adds a handler as a program would; it publishes too.
        func addProgramHandler(of recognizer: Recognizer, topic: String) {
            manager.addRecognizer(recognizer) { [box] event in
                let now = ClockReading.now()
                let message = OutgoingMessage(
                    topic: topic, content: .fixed(Array("0".utf8)), time: EventTime(event.timestamp, now))
                box.state.withLock { $0.updates.append(.add(message)) }
                return .passOn
            }
        }

        /// The messages since the last call as "topic payload"; for events, the topic and the phase.
        func takePublished() -> [String] {
            messages().map { message in
                let text = message.payload.text
                guard message.topic.hasPrefix("jostle/dut/") else { return "\(message.topic) \(text)" }
                let phase = GesturePhase.allCases.first { text.contains("\"phase\":\"\($0.word)\"") }
                return "\(message.topic.replacing("jostle/dut/", with: "")) \(phase?.word ?? text)"
            }
        }

        func messages() -> [MQTTMessage] {
            updates().compactMap { update in
                guard case .add(let message) = update else { return nil }
                return message.message(at: .now(), eventExpiry: 3600)
            }
        }

        func updates() -> [Outbox.Update] {
            box.state.withLock { state in
                defer { state.updates = [] }
                return state.updates
            }
        }

        var refusals: [String] { box.state.withLock { $0.refusals } }
    }

    /// A gesture with the name of a value has another topic.
    @Test func plainPhaseFollowsTheEvent() {
        var composer = EventComposer(
            topics: Topics(prefix: "jostle", id: "dut"), prefix: "jostle", run: "f00d", isSimulated: false)
        composer.publishesPlain = true
        for (gesture, phase, topic) in [
            (Gesture.shake, GesturePhase.began, "shake"), (.tap, .recognized, "tap"), (.tilt, .ended, "tilt_event"),
        ] {
            let event = GestureEvent(gesture, phase, at: WallClock.monotonic)
            let messages = composer.updates(for: event, at: .now()).compactMap { update -> OutgoingMessage? in
                if case .add(let message) = update { message } else { nil }
            }
            #expect(messages.map(\.topic) == ["jostle/dut/event/\(gesture.word)", "jostle/dut/plain/\(topic)"])
            #expect(messages.last?.content == .fixed(Array(phase.word.utf8)))
            #expect(messages.last?.lifetime == 30 && messages.last?.isRetained == false)
        }
    }

    @Test func shakeTogglesLampAndIsPublished() throws {
        let rig = try Rig("{on: shake, publish: {topic: cmnd/lamp/POWER, payload: TOGGLE}}")
        rig.deliver(.shake, .began)
        rig.deliver(.shake, .ended)
        rig.deliver(.tap, .recognized)
        #expect(
            rig.takePublished() == [
                "cmnd/lamp/POWER TOGGLE", "event/shake began", "event/shake ended", "event/tap recognized",
            ])
    }

    /// A rule that is switched off neither acts nor consumes, and the gestures of the other rules go on.
    @Test func switchingARuleDoesNotDisturbTheOthers() throws {
        func rules(_ isOn: Bool) -> String {
            "{on: shake, name: a, enabled: \(isOn), publish: {topic: a, payload: 1}}, "
                + "{on: tap, name: b, enabled: \(isOn), consume: true}, "
                + "{on: shake, phase: ended, publish: {topic: c, payload: '${reason:-none}'}}"
        }
        let rig = try Rig(rules(true))
        rig.deliver(.shake, .began)
        rig.deliver(.tap, .recognized)
        #expect(rig.takePublished() == ["a 1", "event/shake began"])
        try rig.install(rules(false))
        rig.deliver(.shake, .ended)
        #expect(rig.takePublished() == ["c none", "event/shake ended"])
        rig.deliver(.shake, .began)
        rig.deliver(.tap, .recognized)
        #expect(rig.takePublished() == ["event/shake began", "event/tap recognized"])
        try rig.install(rules(true))
        rig.deliver(.shake, .ended)
        rig.deliver(.shake, .began)
        #expect(rig.takePublished() == ["c none", "event/shake ended", "a 1", "event/shake began"])
    }

    @Test func rulesRunInOrderAfterProgramHandlers() throws {
        let rig = try Rig(
            "{on: tap, publish: {topic: a, payload: 1}}, {on: tap, publish: {topic: b, payload: 2}}")
        rig.addProgramHandler(of: .tap, topic: "program")
        rig.deliver(.tap, .recognized)
        #expect(rig.takePublished() == ["program 0", "a 1", "b 2", "event/tap recognized"])
    }

    @Test func consumedEventsReachNoRule() throws {
        let rig = try Rig("{on: tap, publish: {topic: a, payload: 1}}")
        rig.manager.addRecognizer(.tap) { _ in .consume }
        rig.deliver(.tap, .recognized)
        #expect(rig.takePublished().isEmpty)
    }

    /// Consuming a beginning takes the whole gesture: later responders receive neither the beginning nor the end.
    @Test(arguments: ["began", "ended"])
    func consumingRuleGetsGestureAlone(_ phase: String) throws {
        let rig = try Rig(
            "{on: shake, publish: {topic: above, payload: '${phase}'}}, "
                + "{on: shake, phase: \(phase), consume: true, publish: {topic: taken, payload: '${phase}'}}, "
                + "{on: shake, phase: ended, publish: {topic: below, payload: x}}")
        rig.deliver(.shake, .began)
        rig.deliver(.shake, .ended)
        #expect(
            rig.takePublished()
                == (phase == "began" ? ["above began", "taken began"] : ["above began", "taken ended"]))
        rig.deliver(.tap, .recognized)
        #expect(rig.takePublished() == ["event/tap recognized"])
    }

    @Test func cancellationOfConsumedGestureStaysConsumed() throws {
        let rig = try Rig("{on: shake, phase: ended, consume: true, publish: {topic: a, payload: x}}")
        rig.deliver(.shake, .began)
        rig.deliver(.shake, .cancelled) { $0.reason = .tooWeak }
        #expect(rig.takePublished().isEmpty)
    }

    /// A consuming rule applies its filter at the beginning, and the result holds for the whole gesture.
    @Test func consumingFiltersDecideAtBeginning() throws {
        let rig = try Rig(
            "{on: turn, direction: left, phase: ended, consume: true, publish: {topic: left, payload: x}}, "
                + "{on: turn, angle_above: 20, phase: began, publish: {topic: far, payload: x}}")
        rig.deliver(.turn, .began) {
            $0.direction = .left
            $0.angle = 1
        }
        rig.deliver(.turn, .changed) { $0.direction = .right }
        rig.deliver(.turn, .ended) { $0.direction = .right }
        #expect(rig.takePublished() == ["left x"])
        rig.deliver(.turn, .began) {
            $0.direction = .right
            $0.angle = -0.5
        }
        rig.deliver(.turn, .ended) { $0.direction = .left }
        #expect(rig.takePublished() == ["far x", "event/turn began", "event/turn ended"])
    }

    /// A rule that does not consume applies its filter to the phase on which it acts.
    @Test func otherFiltersApplyToTheirPhase() throws {
        let rig = try Rig("{on: shake, phase: ended, strength_above: 2 g, publish: {topic: strong, payload: x}}")
        rig.deliver(.shake, .began) { $0.strength = 15 }
        rig.deliver(.shake, .ended) { $0.strength = 25 }
        #expect(rig.takePublished() == ["event/shake began", "strong x", "event/shake ended"])
        rig.deliver(.shake, .began) { $0.strength = 25 }
        rig.deliver(.shake, .ended) { $0.strength = 15 }
        #expect(rig.takePublished() == ["event/shake began", "event/shake ended"])
    }

    @Test func filtersMatchTheirFields() throws {
        var event = GestureEvent(.turn, .ended, at: Timestamp(seconds: 1))
        var filter = JostleSettings.EventFilter()
        #expect(filter.accepts(event))
        filter.counts = [2, 3]
        filter.axes = [.y]
        filter.directions = [.left, .up]
        filter.sides = [.minusX]
        filter.from = [.plusY]
        filter.to = [.minusZ]
        filter.strengthAbove = 5
        filter.angleAbove = 1
        filter.durationAbove = 0.5
        event.count = 3
        event.axis = .y
        event.direction = .up
        event.side = .minusX
        event.from = .plusY
        event.to = .minusZ
        event.strength = 5.1
        event.angle = -1.1
        event.duration = 0.6
        #expect(filter.accepts(event))
        func refuses(_ change: (inout GestureEvent) -> Void) -> Bool {
            var other = event
            change(&other)
            return !filter.accepts(other)
        }
        #expect(refuses { $0.count = 1 } && refuses { $0.count = nil })
        #expect(refuses { $0.axis = .x } && refuses { $0.axis = nil })
        #expect(refuses { $0.direction = .down } && refuses { $0.direction = nil })
        #expect(refuses { $0.side = .plusX } && refuses { $0.side = nil })
        #expect(refuses { $0.from = .minusY } && refuses { $0.from = nil })
        #expect(refuses { $0.to = .plusZ } && refuses { $0.to = nil })
        #expect(refuses { $0.strength = 5 } && refuses { $0.strength = nil } && refuses { $0.strength = .nan })
        #expect(refuses { $0.angle = 1 } && refuses { $0.angle = nil })
        #expect(refuses { $0.duration = 0.5 } && refuses { $0.duration = nil })
    }

    @Test func rulesCanBeReplacedDuringGesture() throws {
        let rig = try Rig(
            "{on: shake, phase: ended, publish: {topic: old, payload: x}}, "
                + "{on: shake, phase: cancelled, publish: {topic: old, payload: '${reason}'}}")
        rig.deliver(.shake, .began)
        try rig.install("{on: shake, phase: ended, publish: {topic: new, payload: y}}")
        rig.deliver(.shake, .ended)
        #expect(rig.takePublished() == ["event/shake began", "old disabled", "event/shake ended"])
        rig.deliver(.shake, .began)
        rig.deliver(.shake, .ended)
        #expect(rig.takePublished() == ["event/shake began", "new y", "event/shake ended"])
    }

    // MARK: Publishing

    @Test func actionSetsQoSRetainAndLifetime() throws {
        let rig = try Rig(
            "{on: tap, publish: {topic: a}}, {on: tap, publish: {topic: b, qos: 0, retain: true}}, "
                + "{on: tap, publish: {topic: c, expires: 5 s}}, {on: tap, publish: {topic: d, expires: 0}}")
        rig.deliver(.tap, .recognized)
        let messages = rig.messages()
        #expect(messages.map(\.topic) == ["a", "b", "c", "d", "jostle/dut/event/tap"])
        #expect(messages.map(\.qos.rawValue) == [1, 0, 1, 1, 1])
        #expect(messages.map(\.retain) == [false, true, false, false, false])
        #expect(messages.map(\.properties.messageExpiry) == [30, nil, 5, nil, 3600])
    }

    @Test func actionExpiresWhileDisconnected() throws {
        let rig = try Rig("{on: tap, publish: {topic: a, payload: x, expires: 30 s}}")
        // One tap a minute ago, and one now.
        rig.manager.handlers.chain.deliver(
            GestureEvent(.tap, .recognized, at: WallClock.monotonic.advanced(bySeconds: -60)))
        rig.deliver(.tap, .recognized)
        var bench = ParticipantBench(
            Outbox(OutboxFile.OpenResult(failure: "no disk"), limits: JostleSettings.Outbox(), eventExpiry: 3600))
        bench.clocks = .now()
        bench.carryOut(bench.participant.apply(rig.updates(), at: bench.clocks))
        bench.deliver(.connected)
        #expect(bench.topics() == ["jostle/dut/event/tap", "a", "jostle/dut/event/tap"])
        #expect(bench.participant.statistics.expired == 1 && bench.participant.statistics.dropped == 0)
    }

    @Test func actionAndEventShareIdAndTime() throws {
        let rig = try Rig("{on: tap, publish: {topic: a}}, {on: tap, publish: {topic: b, payload: '${id} ${t}'}}")
        rig.deliver(.tap, .recognized) {
            $0.count = 2
            $0.side = .minusX
        }
        let messages = rig.messages()
        try #require(messages.count == 3)
        #expect(messages[0].payload == messages[2].payload)
        let object = try JSONSerialization.jsonObject(with: Data(messages[2].payload)) as? [String: Any]
        let time = try #require(object?["t"] as? Int)
        #expect(String(decoding: messages[1].payload, as: UTF8.self) == "f00d-1 \(time)")
        rig.deliver(.tap, .recognized)
        #expect(rig.messages().last.map { String(decoding: $0.payload, as: UTF8.self).contains("\"f00d-2\"") } == true)
    }

    @Test func refusesRenderedTopicsOfTheDevice() throws {
        // The device's id was not known when the configuration was read.
        let rig = try Rig(
            "{on: flick, publish: {topic: jostle/dut/command/tare, payload: ''}}, "
                + "{on: flick, publish: {topic: 'lamp/${direction}', payload: x}}")
        rig.deliver(.flick, .recognized) { $0.direction = .left }
        #expect(rig.takePublished() == ["lamp/left x", "event/flick recognized"] && rig.refusals.count == 1)
    }

    @Test func refusesUnsendableMessages() throws {
        let many = String(repeating: "${event}", count: 2000)
        let rig = try Rig(
            "{on: flick, publish: {topic: '${direction}', payload: x}}, {on: flick, publish: {topic: big, payload: '\(many)'}}"
        )
        rig.deliver(.flick, .recognized)
        #expect(rig.takePublished() == ["event/flick recognized"])
    }

    // MARK: Templates

    @Test func templateFieldsMatchPayload() throws {
        var event = GestureEvent(.turn, .cancelled, at: Timestamp(seconds: 1))
        event.strength = 12.3456
        event.axis = .y
        event.reversals = 4
        event.direction = .right
        event.side = .minusZ
        event.from = .plusX
        event.to = .minusY
        event.count = 3
        event.angle = -0.5
        event.rate = 1.2
        event.level = 1.23456
        event.frequency = 49.987
        event.height = 0.754
        event.duration = 1.23456
        event.confidence = 0.8125
        event.reason = .tooLong
        let facts = EventFacts(
            event: event, stamp: EventStamp(id: "f00d-7", time: 1_795_182_603_123), device: "dut", isSimulated: true)
        let whole = try #require(facts.text(of: .event))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(whole.utf8)) as? [String: Any])
        // Each of the payload's fields, one by one.
        let fields = Set(Template.Field.allCases.map(\.rawValue)).subtracting(["event", "device"])
        #expect(Set(object.keys) == fields)
        for field in Template.Field.allCases where fields.contains(field.rawValue) {
            let text = try #require(facts.text(of: field))
            #expect(
                whole.contains("\"\(field.rawValue)\":\(text)") || whole.contains("\"\(field.rawValue)\":\"\(text)\""))
        }
        #expect(facts.text(of: .device) == "dut")
        let template = try Template("${gesture}/${angle} {\"a\":${strength}} $5")
        #expect(template.text(of: facts) == "turn/-28.6 {\"a\":12.35} $5")
    }

    @Test func missingFieldsRenderDefault() throws {
        let event = GestureEvent(.shake, .ended, at: Timestamp(seconds: 1))
        let facts = EventFacts(event: event, stamp: EventStamp(id: "a", time: 1), device: "d", isSimulated: false)
        #expect(try Template("[${reason}] ${reason:-null} ${simulated}").text(of: facts) == "[] null false")
    }

    /// The configuration has its own list of these words.
    @Test func configurationWordsMatchPayloads() throws {
        func action(_ fields: String) throws -> JostleSettings.Action? {
            let overrides = ["actions=[{on: \(fields), consume: true}]"]
            return try JostleSettings.load(file: nil, overrides: overrides).settings.actions.first
        }
        for gesture in Gesture.builtIn { #expect(try action(gesture.word)?.gesture == gesture) }
        for direction in MotionDirection.allCases {
            #expect(try action("flick, direction: \(direction.word)")?.filter.directions == [direction])
        }
        for side in BodySide.allCases { #expect(try action("tap, side: \(side.word)")?.filter.sides == [side]) }
        for phase in [GesturePhase.began, .changed, .ended, .cancelled, .recognized] {
            let gesture = phase == .recognized ? "tap" : "turn"
            #expect(try action("\(gesture), phase: \(phase.word)")?.phase == phase)
        }
        for axis in [BodyAxis.x, .y, .z] { #expect(try action("shake, axis: \(axis.word)")?.filter.axes == [axis]) }
    }
}

/// Requirement: an event has a unique id and the time at which it was measured, and open gestures are tracked.
@Suite struct EventComposerTests {
    private func composer(isSimulated: Bool = false) -> EventComposer {
        EventComposer(
            topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", run: "f00d", isSimulated: isSimulated)
    }

    private func object(_ update: Outbox.Update?) throws -> [String: Any] {
        guard case .add(let message) = try #require(update) else { return [:] }
        let payload = message.message(at: .now(), eventExpiry: nil).payload
        return try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any])
    }

    @Test func eventIdsContainRunAndNumber() throws {
        var composer = composer()
        let ids = try [GesturePhase.began, .ended, .began].map { phase in
            let updates = composer.updates(for: GestureEvent(.shake, phase, at: WallClock.monotonic), at: .now())
            return try object(updates.last)["id"] as? String
        }
        #expect(ids == ["f00d-1", "f00d-2", "f00d-3"])
    }

    @Test func tracksOpenGestures() {
        var composer = composer()
        func isOpen(_ phase: GesturePhase) -> Bool? {
            let updates = composer.updates(for: GestureEvent(.shake, phase, at: WallClock.monotonic), at: .now())
            guard case .setGesture(let gesture, let isOpen) = updates.first else { return nil }
            #expect(gesture == OpenGesture(gesture: .shake, isSimulated: false) && updates.count == 2)
            return isOpen
        }
        #expect(isOpen(.began) == true && isOpen(.ended) == false && isOpen(.cancelled) == false)
        #expect(isOpen(.changed) == nil && isOpen(.recognized) == nil)
    }

    /// A simulated gesture of a real sensor is marked; a real one beside it is not.
    @Test func marksSimulatedEvents() throws {
        var composer = composer()
        var simulated = GestureEvent(.shake, .began, at: WallClock.monotonic)
        simulated.isSimulated = true
        #expect(try object(composer.updates(for: simulated, at: .now()).last)["simulated"] as? Bool == true)
        let real = GestureEvent(.shake, .began, at: WallClock.monotonic)
        #expect(try object(composer.updates(for: real, at: .now()).last)["simulated"] == nil)
    }

    @Test func runNamesAreUnique64BitHexadecimal() {
        let runs = (0..<100).map { _ in RunName.new() }
        #expect(runs.allSatisfy { $0.count == 16 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(runs).count == 100)
    }
}
