import BrokerTestSupport
import LinuxSystem
import MotionCore
import Synchronization
import Testing

@testable import MotionKit

/// Requirement: the newest responder comes first, until one consumes; a responder with a begin gets exactly one end.
@Suite(.timeLimit(.minutes(1))) struct ResponderChainTests {
    private let rig = Rig()

    /// A chain whose events the test delivers itself, and a log of what its handlers received, as "name phase".
    private struct Rig {
        let chain = ResponderChain()
        let received = Journal<String>()
        let reasons = Journal<CancellationReason?>()

        func responder(
            _ name: String, for recognizer: Recognizer? = .shake, _ response: GestureResponse = .passOn,
            then act: @escaping @Sendable (GestureEvent) -> Void = { _ in }
        ) -> Responder {
            Responder(recognizer: recognizer) { [received, reasons] event in
                received.append("\(name) \(event.phase)")
                if event.phase == .cancelled { reasons.append(event.reason) }
                act(event)
                return response
            }
        }

        @discardableResult
        func add(
            _ name: String, for recognizer: Recognizer = .shake, _ response: GestureResponse = .passOn,
            then act: @escaping @Sendable (GestureEvent) -> Void = { _ in }
        ) -> RecognizerToken {
            let responder = responder(name, for: recognizer, response, then: act)
            chain.add(responder)
            return RecognizerToken(chain: chain, responder: responder) { _ in }
        }

        /// Delivers events with these phases, one after the other.
        func deliver(_ first: GesturePhase, _ second: GesturePhase, _ others: GesturePhase...) {
            for phase in [first, second] + others { deliver(phase) }
        }

        func deliver(
            _ phase: GesturePhase, strength: Double? = nil, reason: CancellationReason? = nil, isSimulated: Bool = false
        ) {
            var event = GestureEvent(.shake, phase, at: Timestamp(seconds: 7))
            event.isSimulated = isSimulated
            event.strength = strength
            event.reason = reason
            chain.deliver(event)
        }
    }

    @Test func callsNewestFirstAndDefaultLast() {
        rig.chain.setLast(rig.responder("default", for: nil))
        rig.add("old")
        rig.add("new")
        rig.deliver(.began, .changed, .ended)
        #expect(
            rig.received.entries == [
                "new began", "old began", "default began", "new changed", "old changed", "default changed",
                "new ended", "old ended", "default ended",
            ])
    }

    @Test func consumedBeginHidesGestureFromOthers() {
        rig.chain.setLast(rig.responder("default", for: nil))
        rig.add("below")
        rig.add("consumer", .consume)
        rig.add("above")
        rig.deliver(.began, .ended, .recognized)
        #expect(
            rig.received.entries == [
                "above began", "consumer began", "above ended", "consumer ended", "above recognized",
                "consumer recognized",
            ])
    }

    /// Consuming an end does not hide it from responders below that received the begin.
    @Test func endReachesEveryParticipant() {
        rig.add("below")
        let responder = Responder(recognizer: .shake) { [received = rig.received] event in
            received.append("above \(event.phase)")
            return event.phase == .ended ? .consume : .passOn
        }
        rig.chain.add(responder)
        rig.deliver(.began, .ended)
        #expect(rig.received.entries == ["above began", "below began", "above ended", "below ended"])
    }

    /// A predicate only decides about the begin. If it accepts that, the end is delivered in any case.
    @Test func predicateDecidesAtBegin() {
        rig.add("any")
        rig.add("strong", for: .shake.when { ($0.strength ?? 0) > 10 })
        rig.add("medium", for: .shake.when { ($0.strength ?? 0) > 10 }.when { ($0.strength ?? 0) < 20 })
        rig.deliver(.began, strength: 25)
        rig.deliver(.ended, strength: 5)
        rig.deliver(.began, strength: 5)
        rig.deliver(.ended, strength: 25)
        rig.deliver(.recognized, strength: 15)
        #expect(
            rig.received.entries == [
                "strong began", "any began", "strong ended", "any ended", "any began", "any ended",
                "medium recognized", "strong recognized", "any recognized",
            ])
    }

    /// A handler that is disabled during a gesture receives a cancellation and nothing else of that gesture.
    @Test func disabledHandlerReceivesCancellation() {
        rig.add("stays")
        let token = rig.add("leaves")
        rig.deliver(.began, strength: 12)
        rig.deliver(.changed)
        token.isEnabled = false
        #expect(!token.isEnabled)
        rig.deliver(.changed, .ended, .began)
        #expect(
            rig.received.entries == [
                "leaves began", "stays began", "leaves changed", "stays changed", "leaves cancelled", "stays changed",
                "stays ended", "stays began",
            ])
        #expect(rig.reasons.entries == [.disabled])
    }

    @Test func removedHandlerReceivesCancellation() {
        let token = rig.add("leaves")
        rig.deliver(.began)
        token.remove()
        token.remove()
        rig.deliver(.ended, .began)
        #expect(rig.received.entries == ["leaves began", "leaves cancelled"])
        #expect(rig.reasons.entries == [.disabled])
    }

    /// A handler that is enabled again does not receive the gesture that disabling cancelled, but the next one.
    @Test func reenabledHandlerWaitsForNextGesture() {
        let token = rig.add("handler")
        rig.deliver(.began)
        token.isEnabled = false
        token.isEnabled = true
        rig.deliver(.changed, .ended, .began, .ended)
        #expect(rig.received.entries == ["handler began", "handler cancelled", "handler began", "handler ended"])
    }

    @Test func replacedDefaultResponderReceivesCancellation() {
        rig.chain.setLast(rig.responder("first", for: nil))
        rig.deliver(.began)
        rig.chain.setLast(rig.responder("second", for: nil))
        rig.deliver(.ended, .began)
        rig.chain.setLast(nil)
        rig.deliver(.ended, .began)
        #expect(rig.received.entries == ["first began", "first cancelled", "second began", "second cancelled"])
        #expect(rig.reasons.entries == [.disabled, .disabled])
    }

    @Test func lateHandlerReceivesNoEnd() {
        rig.add("early") { [rig] event in
            if event.phase == .began { rig.add("from within") }
        }
        rig.deliver(.began)
        rig.add("late")
        rig.deliver(.ended)
        #expect(rig.received.entries == ["early began", "early ended"])
        rig.deliver(.began)
        #expect(rig.received.entries.dropFirst(2) == ["late began", "from within began", "early began"])
    }

    /// A handler that changes the chain while it is called causes no deadlock, and still gets one end.
    @Test func handlerMayRemoveItself() {
        let token = Mutex<RecognizerToken?>(nil)
        let leaving = rig.add("leaves") { event in
            if event.phase == .began { token.withLock { $0 }?.remove() }
        }
        token.withLock { $0 = leaving }
        rig.deliver(.began, .ended, .began)
        #expect(rig.received.entries == ["leaves began", "leaves cancelled"])
    }

    @Test func handlerRemovedBeforeItsTurnReceivesNothing() {
        let below = rig.add("below")
        rig.add("above") { event in
            if event.phase == .began { below.remove() }
        }
        rig.deliver(.began, .ended)
        #expect(rig.received.entries == ["above began", "above ended"])
    }

    /// A handler that is disabled and enabled again before its turn is enabled at the begin, so it receives the real end.
    @Test func handlerReenabledBeforeItsTurnReceivesEnd() {
        let below = rig.add("below")
        rig.add("above") { event in
            guard event.phase == .began else { return }
            below.isEnabled = false
            below.isEnabled = true
        }
        rig.deliver(.began, .ended)
        #expect(rig.received.entries == ["above began", "below began", "above ended", "below ended"])
    }

    @Test func handlerRemovedDuringEndReceivesOneEnd() {
        let below = rig.add("below")
        rig.add("above") { event in
            if event.phase == .ended { below.remove() }
        }
        rig.deliver(.began, .ended)
        rig.chain.deliverCancellations()
        #expect(rig.received.entries == ["above began", "below began", "above ended", "below cancelled"])
    }

    /// If an end is lost, a cancellation replaces it when the next gesture begins or delivery ends.
    @Test func cancelsGestureWithoutEnd() {
        rig.add("handler")
        rig.deliver(.began, .began)
        rig.chain.cancelAll(.stopped)
        rig.chain.cancelAll(.stopped)
        rig.deliver(.ended)
        #expect(rig.received.entries == ["handler began", "handler cancelled", "handler began", "handler cancelled"])
        #expect(rig.reasons.entries == [.interrupted, .stopped])
    }

    /// The end of a simulated gesture does not end a real one of the same kind, nor the reverse.
    @Test func separatesRealAndSimulatedGestures() {
        let isSimulated = Journal<Bool>()
        let token = rig.add("handler") { isSimulated.append($0.isSimulated) }
        rig.deliver(.began)
        rig.deliver(.began, isSimulated: true)
        rig.deliver(.changed, .ended, .ended, .began)
        rig.deliver(.ended, isSimulated: true)
        rig.deliver(.began, isSimulated: true)
        token.remove()
        rig.chain.deliverCancellations()
        rig.chain.cancelAll(.stopped)
        #expect(
            rig.received.entries.map { $0.split(separator: " ")[1] } == [
                "began", "began", "changed", "ended", "began", "ended", "began", "cancelled", "cancelled",
            ])
        #expect(isSimulated.entries == [false, true, false, false, false, true, true, false, true])
    }

    @Test func recognizedGestureHasNoEnd() {
        let token = rig.add("handler")
        rig.deliver(.recognized)
        token.remove()
        rig.chain.cancelAll(.stopped)
        #expect(rig.received.entries == ["handler recognized"])
    }

    /// While other threads disable and enable handlers, begins and ends alternate for each handler.
    @Test func everyBeginHasOneEndUnderConcurrency() throws {
        let phases = (0..<4).map { _ in Journal<GesturePhase>() }
        let tokens = phases.map { phases in
            let responder = Responder(recognizer: .shake) { event in
                phases.append(event.phase)
                return .passOn
            }
            rig.chain.add(responder)
            return RecognizerToken(chain: rig.chain, responder: responder) { _ in }
        }
        let isOver = Flag()
        let thread = try #require(
            WorkerThread(name: "switcher") {
                var turn = 0
                while !isOver.isSet {
                    tokens[turn % tokens.count].isEnabled.toggle()
                    turn += 1
                }
            })
        for _ in 0..<2000 {
            rig.deliver(.began, .ended)
        }
        isOver.set()
        #expect(thread.join(within: 10))
        rig.chain.cancelAll(.stopped)
        for phases in phases {
            let received = phases.entries
            #expect(received.count % 2 == 0)
            for (index, phase) in received.enumerated() { #expect((phase == .began) == (index % 2 == 0)) }
        }
    }
}
