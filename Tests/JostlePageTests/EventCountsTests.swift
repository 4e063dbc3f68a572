import JostleOperator
import MosquittoClient
import MotionCore
import Testing

@testable import JostlePage

/// Requirement: events are counted once, and no board can make the metrics grow without end.
@Suite struct EventCountsTests {
    /// The events that a model reads from these messages.
    private func events(_ payloads: [String]) -> [WatchedEvent] {
        var model = FleetModel(prefix: "jostle")
        return payloads.compactMap { payload in
            let message = MQTTMessage(topic: "jostle/dut/event/x", text: payload, retain: false)
            guard case .event(let event)? = model.update(with: message, at: Timestamp(nanoseconds: 0))?.change else {
                return nil
            }
            return event
        }
    }

    private func counts(_ payloads: [String]) -> EventCounts {
        var counts = EventCounts()
        for event in events(payloads) { counts.count(event) }
        return counts
    }

    private func kind(_ gesture: String, _ phase: String, simulated: Bool = false) -> EventCounts.Kind {
        EventCounts.Kind(gesture: gesture, phase: phase, isSimulated: simulated)
    }

    @Test func countsByGesturePhaseAndSimulation() {
        let counts = counts([
            #"{"id":"a-1","gesture":"shake","phase":"began"}"#, #"{"id":"a-2","gesture":"shake","phase":"ended"}"#,
            #"{"id":"a-3","gesture":"shake","phase":"began"}"#,
            #"{"id":"a-4","gesture":"shake","phase":"began","simulated":true}"#,
        ])
        #expect(
            counts.counts == [
                kind("shake", "began"): 2, kind("shake", "ended"): 1, kind("shake", "began", simulated: true): 1,
            ])
    }

    /// An agent that lost its power sends the events of half a minute again.
    @Test func countsARepeatedEventOnce() {
        var counts = EventCounts()
        let all = events((0..<60).map { #"{"id":"a-\#($0)","gesture":"turn","phase":"changed"}"# })
        for event in all + all { counts.count(event) }
        #expect(all.count == 60 && counts.counts == [kind("turn", "changed"): 60])
    }

    @Test func countsEveryEventWithoutAnId() {
        var counts = EventCounts()
        for event in events([#"{"gesture":"tap","phase":"recognized"}"#]) { for _ in 0..<3 { counts.count(event) } }
        #expect(counts.counts == [kind("tap", "recognized"): 3])
    }

    @Test(
        arguments: ["", "Shake", "a b", "a\\\"b", "a\\nb", "ä", "a.b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a{b}"])
    func wordsThatAreNoneCountAsOther(_ text: String) {
        let counts = counts([#"{"gesture":"\#(text)","phase":"\#(text)"}"#])
        #expect(counts.counts == [kind("other", "other"): 1])
    }

    @Test func theNumberOfKindsIsBounded() {
        let counts = counts((0..<1000).map { #"{"id":"\#($0)","gesture":"g\#($0)","phase":"began"}"# })
        #expect(counts.counts.count == EventCounts.limit + 1)
        #expect(counts.counts[kind("other", "other")] == 1000 - EventCounts.limit)
        #expect(counts.counts[kind("g0", "began")] == 1)
    }

    /// All combinations of an agent fit.
    @Test func everyGestureHasAZeroFromTheStart() {
        let all = EventCounts().all(isSimulated: true)
        #expect(all.count == Gesture.builtIn.count && all.allSatisfy { $0.count == 0 && $0.kind.isSimulated })
        #expect(all.contains { $0.kind == kind("shake", "began", simulated: true) })
        #expect(all.contains { $0.kind == kind("tap", "recognized", simulated: true) })
        #expect(2 * Gesture.builtIn.count * 4 <= EventCounts.limit)
    }

    @Test func aCountReplacesItsZero() {
        let all = counts([#"{"gesture":"tap","phase":"recognized"}"#]).all(isSimulated: false)
        #expect(all.count == Gesture.builtIn.count)
        #expect(all.first { $0.kind == kind("tap", "recognized") }?.count == 1)
    }
}
