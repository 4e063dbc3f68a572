import BrokerTestSupport
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Synchronization
import Testing

@testable import JostleAgent

/// Requirement: what the agent publishes about gestures, and what its rules publish, does not change.
@Suite final class GoldenEventTests {
    private var golden = GoldenText()
    private static let run = "00c0ffee00c0ffee"

    private func composer(isSimulated: Bool = false) -> EventComposer {
        EventComposer(
            topics: Topics(prefix: "jostle", id: "washer-1"), prefix: "jostle", run: Self.run, isSimulated: isSimulated)
    }

    private func event(
        _ gesture: Gesture, _ phase: GesturePhase, _ change: (inout GestureEvent) -> Void = { _ in }
    ) -> GestureEvent {
        var event = GestureEvent(gesture, phase, at: Timestamp(seconds: 99.5))
        change(&event)
        return event
    }

    /// An event with the fields that a gesture of this kind has.
    private func typical(_ gesture: Gesture, _ phase: GesturePhase) -> GestureEvent {
        event(gesture, phase) { event in
            if phase == .cancelled { event.reason = .tooShort }
            if phase != .recognized { event.duration = 1.2345 }
            switch gesture {
            case .shake:
                event.strength = 14.204
                event.axis = .x
                event.reversals = 4
            case .tap:
                event.strength = 9
                event.count = 2
                event.side = .plusZ
            case .flick:
                event.strength = 21.996
                event.direction = .left
                event.axis = .y
            case .turn:
                event.axis = .z
                event.direction = .right
                event.angle = -90.04 * radiansPerDegree
                event.rate = -112.34 * radiansPerDegree
            case .flip:
                event.from = .plusZ
                event.to = .minusZ
                event.angle = .pi
            case .tilt:
                event.angle = 0.5
                event.direction = .forward
            case .fall:
                event.height = 0.513
                event.strength = 80.05
            case .impact:
                event.strength = 120
                event.axis = .z
                event.side = .minusX
            case .motion: event.strength = 0.3
            case .vibration:
                event.level = 0.1234
                event.frequency = 24.666
            case .learned:
                event.name = GestureName("circle")
                event.strength = 9.25
                event.duration = 1.4
                event.confidence = 0.8125
            }
        }
    }

    /// The messages about an event, as they are sent at once.
    private func messages(of event: GestureEvent, _ composer: inout EventComposer) -> [MQTTMessage] {
        composer.updates(for: event, at: goldenClocks).compactMap { update in
            guard case .add(let message) = update else { return nil }
            return message.message(at: goldenClocks, eventExpiry: 3600)
        }
    }

    @Test("Events of all gestures, in all phases and with all fields, have the recorded payloads")
    func events() {
        var composer = composer()
        func add(_ name: String, _ event: GestureEvent) {
            golden.add(name, messages(of: event, &composer).map(\.goldenLine).joined(separator: "\n"))
        }
        for gesture in Gesture.allCases {
            golden.heading(gesture.word)
            for phase in GesturePhase.allCases { add(phase.word, typical(gesture, phase)) }
        }
        golden.heading("all fields")
        let all = event(.turn, .ended) { event in
            event.strength = 3
            event.axis = .z
            event.reversals = 4
            event.direction = .left
            event.side = .minusZ
            event.from = .plusX
            event.to = .minusY
            event.count = 2
            event.angle = -90.04 * radiansPerDegree
            event.rate = 112.34 * radiansPerDegree
            event.level = 0.1234
            event.frequency = 24.666
            event.height = 0.513
            event.duration = 1.5
            event.reason = .restarted
        }
        add("of the sensor", all)
        var simulated = all
        simulated.isSimulated = true
        add("simulated", simulated)
        add("found running", event(.vibration, .ended) { $0.beginning = .found })
        add("begun by an earlier run", event(.vibration, .ended) { $0.beginning = .reportedEarlier })
        golden.heading("words")
        for reason in CancellationReason.allCases { add(reason.word, event(.shake, .cancelled) { $0.reason = reason }) }
        for direction in MotionDirection.allCases {
            add(direction.word, event(.flick, .recognized) { $0.direction = direction })
        }
        for side in BodySide.allCases { add(side.word, event(.tap, .recognized) { $0.side = side }) }
        for axis in BodyAxis.allCases { add(axis.word, event(.shake, .began) { $0.axis = axis }) }
        golden.heading("numbers")
        for number in [0, -0.0, 0.005, -0.005, 0.004, 1e15, 9.1e15, 1e17, -1.5e300, .nan, .infinity] as [Double] {
            add("\(number)", event(.shake, .ended) { $0.strength = number })
        }
        var virtual = self.composer(isSimulated: true)
        golden.heading("a virtual sensor")
        golden.add("began", messages(of: event(.shake, .began), &virtual)[0].goldenLine)
        expectGolden(golden, "agent-events.txt")
    }

    @Test("Events that are sent later say so in the recorded way")
    func laterEvents() throws {
        var composer = composer()
        let updates = composer.updates(for: typical(.tap, .recognized), at: goldenClocks)
        guard case .add(var message)? = updates.first else { throw Unexpected(updates) }
        func add(_ name: String, at clocks: ClockReading, isOvertaken: Bool = false) {
            golden.add(
                name, message.message(at: clocks, eventExpiry: 3600, isOvertaken: isOvertaken).goldenLine)
        }
        add("at once", at: goldenClocks)
        add("overtaken", at: goldenClocks, isOvertaken: true)
        var later = goldenClocks
        later.monotonic = Timestamp(seconds: 130)
        later.wall += 30_000
        add("half a minute later", at: later)
        var unset = later
        unset.isSet = false
        message.time.isClockSet = false
        add("clock unset", at: unset)
        add("clock set meanwhile", at: later)
        message.time = EventTime(
            boot: "boot-0", sinceBoot: Timestamp(nanoseconds: 7), wall: 1_795_182_603_123, isClockSet: false)
        add("of another boot, clock unset", at: later)
        message.time.isClockSet = true
        add("of another boot", at: later)
        message.lifetime = 12.5
        add("with a lifetime", at: later)
        expectGolden(golden, "agent-events-later.txt")
    }

    @Test("What rules publish is rendered in the recorded way")
    func actions() throws {
        let fields = Template.Field.allCases.map(\.rawValue).filter { $0 != "event" }
        let every = fields.map { "\($0)=${\($0)}" }.joined(separator: " ")
        let otherwise = fields.map { "\($0)=${\($0):-none}" }.joined(separator: " ")
        let rules = [
            ("turn", #"{on: turn, phase: ended, publish: {topic: "a/${direction}", payload: "${event}"}}"#),
            (
                "vibration",
                #"{on: vibration, publish: {topic: b, payload: "${level} ${frequency:-?} $${x} {\"a\":1}"}}"#
            ),
            ("shake", "{on: shake, publish: {topic: cmnd/lamp/POWER, payload: TOGGLE, qos: 0, retain: true}}"),
            ("shake", "{on: shake, publish: {topic: \"l/${device}\", payload: \"${id} ${phase}\", expires: 5 s}}"),
        ]
        for (name, rule) in rules {
            let actions = try JostleSettings.load(file: nil, overrides: ["actions=[\(rule)]"]).settings.actions
            let action = try #require(actions.first)
            var composer = composer()
            let event = typical(action.gesture, name == "turn" ? .ended : .began)
            let message = try composer.message(for: action, on: event, at: goldenClocks)
            let sent = try #require(message).message(at: goldenClocks, eventExpiry: 3600)
            golden.add(rule, sent.goldenLine.withoutTimes)
        }
        golden.heading("every field, of every gesture")
        for gesture in Gesture.allCases {
            for isSimulated in [false, true] {
                var action = JostleSettings.Action()
                action.on = GestureKind(gesture, gesture == .learned ? GestureName("circle") : nil)
                action.publish.topic = try Template("t/${gesture}")
                action.publish.payload = try Template(isSimulated ? otherwise : every)
                var composer = composer(isSimulated: isSimulated)
                let message = try composer.message(for: action, on: typical(gesture, .ended), at: goldenClocks)
                let sent = try #require(message).message(at: goldenClocks, eventExpiry: 3600)
                golden.add(gesture.word, sent.goldenLine.replacing(/\ t=[0-9]+/, with: " t=T"))
            }
        }
        expectGolden(golden, "agent-actions.txt")
    }

    // MARK: Near misses

    /// The near misses that are published for these.
    private func published(_ misses: [NearMiss], isSimulated: Bool = false) -> [MQTTMessage] {
        let messages = Mutex<[MQTTMessage]>([])
        let output = StreamOutput(
            topic: "jostle/washer-1/near-miss",
            send: { message in
                messages.withLock { $0.append(message) }
                return true
            }, backlog: { 0 })
        let sender = NearMissSender(output: output, isSimulated: isSimulated)
        for (index, miss) in misses.enumerated() {
            var miss = miss
            // Few are published in a second.
            miss.timestamp = Timestamp(seconds: 100 + 10 * Double(index))
            sender.send(miss)
        }
        return messages.withLock { $0 }
    }

    private func miss(_ gesture: Gesture, _ reason: NearMiss.Reason, isReversed: Bool = false) -> NearMiss {
        var miss = NearMiss(gesture, reason, at: Timestamp(nanoseconds: 0))
        let figures: (Double, Double) =
            switch miss.unit {
            case .one: (2, 3)
            case .acceleration: (3.1, 5)
            case .seconds: (0.25, 2)
            case .angle: (.pi / 6, .pi / 4)
            case .rate: (.pi / 3, .pi / 2)
            }
        (miss.value, miss.limit) = isReversed ? (figures.1, figures.0) : figures
        return miss
    }

    @Test("Near misses of all gestures, for all reasons, have the recorded payloads")
    func nearMisses() {
        func add(_ misses: [NearMiss], isSimulated: Bool = false) {
            let messages = published(misses, isSimulated: isSimulated)
            #expect(messages.count == misses.count)
            for (miss, message) in zip(misses, messages) {
                golden.add("\(miss.gesture.word) \(miss.reason.word)", message.goldenLine.withoutTimes)
            }
        }
        golden.heading("with figures")
        for gesture in Gesture.builtIn { add(NearMiss.Reason.allCases.map { miss(gesture, $0) }) }
        golden.heading("with a value above the limit")
        add(NearMiss.Reason.allCases.map { miss(.shake, $0, isReversed: true) })
        golden.heading("without figures")
        add(NearMiss.Reason.allCases.map { NearMiss(.tap, $0, at: Timestamp(nanoseconds: 0)) })
        golden.heading("units")
        let units: [NearMiss.Unit] = [.one, .acceleration, .seconds, .angle, .rate]
        for reason in [NearMiss.Reason.tooWeak, .noQuietBefore] {
            add(
                units.map { unit in
                    NearMiss(.turn, reason, at: Timestamp(nanoseconds: 0), value: 0.5, limit: 0.75, unit: unit)
                })
        }
        golden.heading("one figure, and figures that are alike")
        let bounds: [(Double, Double)] = [
            (0.5, .infinity), (.nan, 0.5), (4.899, 4.903), (4.9, 4.9), (1e17, 2e17), (-0.0004, 0),
        ]
        add(bounds.map { NearMiss(.shake, .tooWeak, at: Timestamp(nanoseconds: 0), value: $0.0, limit: $0.1) })
        golden.heading("directions, precedence and gates")
        add(
            MotionDirection.allCases.map { direction in
                var miss = miss(.flick, .otherDirection)
                miss.direction = direction
                return miss
            })
        add(
            Gesture.allCases.map { precedence in
                var miss = NearMiss(.tap, .excluded, at: Timestamp(nanoseconds: 0))
                miss.precedence = precedence
                return miss
            })
        add(
            NearMiss.GateCondition.allCases.map { gate in
                var miss = miss(.shake, .gateClosed)
                miss.gate = gate
                return miss
            })
        golden.heading("simulated")
        var simulated = miss(.shake, .tooWeak)
        simulated.isSimulated = true
        add([simulated])
        add([miss(.shake, .tooWeak)], isSimulated: true)
        expectGolden(golden, "near-misses.txt")
    }
}
