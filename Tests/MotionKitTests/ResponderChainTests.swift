import LinuxSystem
import MotionCore
import Synchronization
import SystemTestSupport
import Testing

@testable import MotionKit

/// The responder chain: newest first, until one consumes; whoever heard a beginning hears exactly one end.
@Suite(.timeLimit(.minutes(1))) struct ResponderChainTests {
    /// A chain whose events the test delivers itself, and what its handlers heard, as "name phase".
    private struct Rig {
        let chain = ResponderChain()
        let heard = Journal<String>()
        let reasons = Journal<CancellationReason?>()

        func responder(
            _ name: String, for recognizer: Recognizer? = .shake, _ response: GestureResponse = .passOn,
            then act: @escaping @Sendable (GestureEvent) -> Void = { _ in }
        ) -> Responder {
            Responder(recognizer: recognizer) { [heard, reasons] event in
                heard.append("\(name) \(event.phase)")
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

    @Test func newestHearsFirstAndTheDefaultResponderLast() {
        let rig = Rig()
        rig.chain.setLast(rig.responder("default", for: nil))
        rig.add("old")
        rig.add("new")
        rig.deliver(.began)
        rig.deliver(.changed)
        rig.deliver(.ended)
        #expect(
            rig.heard.entries == [
                "new began", "old began", "default began", "new changed", "old changed", "default changed",
                "new ended", "old ended", "default ended",
            ])
    }

    @Test func whoConsumesABeginningKeepsTheGestureToItself() {
        let rig = Rig()
        rig.chain.setLast(rig.responder("default", for: nil))
        rig.add("below")
        rig.add("consumer", .consume)
        rig.add("above")
        rig.deliver(.began)
        rig.deliver(.ended)
        rig.deliver(.recognized)
        #expect(
            rig.heard.entries == [
                "above began", "consumer began", "above ended", "consumer ended", "above recognized",
                "consumer recognized",
            ])
    }

    /// Consuming an end does not take it from those below who heard the beginning.
    @Test func anEndReachesEverybodyWhoHeardTheBeginning() {
        let rig = Rig()
        rig.add("below")
        let responder = Responder(recognizer: .shake) { [heard = rig.heard] event in
            heard.append("above \(event.phase)")
            return event.phase == .ended ? .consume : .passOn
        }
        rig.chain.add(responder)
        rig.deliver(.began)
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["above began", "below began", "above ended", "below ended"])
    }

    /// A predicate looks at the beginning; the end of what it let through comes in any case.
    @Test func aPredicateDecidesWhereAGestureBegins() {
        let rig = Rig()
        rig.add("any")
        rig.add("strong", for: .shake.when { ($0.strength ?? 0) > 10 })
        rig.add("medium", for: .shake.when { ($0.strength ?? 0) > 10 }.when { ($0.strength ?? 0) < 20 })
        rig.deliver(.began, strength: 25)
        rig.deliver(.ended, strength: 5)
        rig.deliver(.began, strength: 5)
        rig.deliver(.ended, strength: 25)
        rig.deliver(.recognized, strength: 15)
        #expect(
            rig.heard.entries == [
                "strong began", "any began", "strong ended", "any ended", "any began", "any ended",
                "medium recognized", "strong recognized", "any recognized",
            ])
    }

    /// Switched off in between, it hears a cancellation, and the rest of the gesture not at all.
    @Test func whoIsSwitchedOffHearsACancellation() {
        let rig = Rig()
        rig.add("stays")
        let token = rig.add("leaves")
        rig.deliver(.began, strength: 12)
        rig.deliver(.changed)
        token.isEnabled = false
        #expect(!token.isEnabled)
        rig.deliver(.changed)
        rig.deliver(.ended)
        rig.deliver(.began)
        #expect(
            rig.heard.entries == [
                "leaves began", "stays began", "leaves changed", "stays changed", "leaves cancelled", "stays changed",
                "stays ended", "stays began",
            ])
        #expect(rig.reasons.entries == [.disabled])
    }

    @Test func whoIsRemovedHearsACancellation() {
        let rig = Rig()
        let token = rig.add("leaves")
        rig.deliver(.began)
        token.remove()
        token.remove()
        rig.deliver(.ended)
        rig.deliver(.began)
        #expect(rig.heard.entries == ["leaves began", "leaves cancelled"])
        #expect(rig.reasons.entries == [.disabled])
    }

    /// A gesture that was cancelled by switching off does not come back by switching on; the next one does.
    @Test func whoIsSwitchedOnAgainWaitsForTheNextGesture() {
        let rig = Rig()
        let token = rig.add("handler")
        rig.deliver(.began)
        token.isEnabled = false
        token.isEnabled = true
        rig.deliver(.changed)
        rig.deliver(.ended)
        rig.deliver(.began)
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["handler began", "handler cancelled", "handler began", "handler ended"])
    }

    @Test func aReplacedDefaultResponderHearsACancellationAndItsSuccessorNothing() {
        let rig = Rig()
        rig.chain.setLast(rig.responder("first", for: nil))
        rig.deliver(.began)
        rig.chain.setLast(rig.responder("second", for: nil))
        rig.deliver(.ended)
        rig.deliver(.began)
        rig.chain.setLast(nil)
        rig.deliver(.ended)
        rig.deliver(.began)
        #expect(rig.heard.entries == ["first began", "first cancelled", "second began", "second cancelled"])
        #expect(rig.reasons.entries == [.disabled, .disabled])
    }

    @Test func whoComesDuringAGestureDoesNotHearItsEnd() {
        let rig = Rig()
        rig.add("early") { [rig] event in
            if event.phase == .began { rig.add("from within") }
        }
        rig.deliver(.began)
        rig.add("late")
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["early began", "early ended"])
        rig.deliver(.began)
        #expect(rig.heard.entries.dropFirst(2) == ["late began", "from within began", "early began"])
    }

    /// Handlers change the chain while they are called: no deadlock, and still one end each.
    @Test func aHandlerMayRemoveItselfWhereItHears() {
        let rig = Rig()
        let token = Mutex<RecognizerToken?>(nil)
        let leaving = rig.add("leaves") { event in
            if event.phase == .began { token.withLock { $0 }?.remove() }
        }
        token.withLock { $0 = leaving }
        rig.deliver(.began)
        rig.deliver(.ended)
        rig.deliver(.began)
        #expect(rig.heard.entries == ["leaves began", "leaves cancelled"])
    }

    @Test func whoIsRemovedBeforeItsTurnHearsNothing() {
        let rig = Rig()
        let below = rig.add("below")
        rig.add("above") { event in
            if event.phase == .began { below.remove() }
        }
        rig.deliver(.began)
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["above began", "above ended"])
    }

    /// Off and on again before its turn: it was on when it heard the beginning, so it hears the true end.
    @Test func whoIsSwitchedOffAndOnBeforeItsTurnTakesPart() {
        let rig = Rig()
        let below = rig.add("below")
        rig.add("above") { event in
            guard event.phase == .began else { return }
            below.isEnabled = false
            below.isEnabled = true
        }
        rig.deliver(.began)
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["above began", "below began", "above ended", "below ended"])
    }

    @Test func whoIsRemovedWhileTheEndIsOnItsWayHearsOneEnd() {
        let rig = Rig()
        let below = rig.add("below")
        rig.add("above") { event in
            if event.phase == .ended { below.remove() }
        }
        rig.deliver(.began)
        rig.deliver(.ended)
        rig.chain.deliverCancellations()
        #expect(rig.heard.entries == ["above began", "below began", "above ended", "below cancelled"])
    }

    /// An end that got lost on its way is made up for when the next gesture begins, or when delivery ends.
    @Test func aGestureWithoutAnEndIsCancelled() {
        let rig = Rig()
        rig.add("handler")
        rig.deliver(.began)
        rig.deliver(.began)
        rig.chain.cancelAll(.stopped)
        rig.chain.cancelAll(.stopped)
        rig.deliver(.ended)
        #expect(rig.heard.entries == ["handler began", "handler cancelled", "handler began", "handler cancelled"])
        #expect(rig.reasons.entries == [.interrupted, .stopped])
    }

    /// A simulated gesture beside a real one of its kind: the end of one is not that of the other.
    @Test func realAndSimulatedGesturesAreKeptApart() {
        let rig = Rig()
        let isSimulated = Journal<Bool>()
        let token = rig.add("handler") { isSimulated.append($0.isSimulated) }
        rig.deliver(.began)
        rig.deliver(.began, isSimulated: true)
        rig.deliver(.changed)
        rig.deliver(.ended)
        rig.deliver(.ended)
        rig.deliver(.began)
        rig.deliver(.ended, isSimulated: true)
        rig.deliver(.began, isSimulated: true)
        token.remove()
        rig.chain.deliverCancellations()
        rig.chain.cancelAll(.stopped)
        #expect(
            rig.heard.entries.map { $0.split(separator: " ")[1] } == [
                "began", "began", "changed", "ended", "began", "ended", "began", "cancelled", "cancelled",
            ])
        #expect(isSimulated.entries == [false, true, false, false, false, true, true, false, true])
    }

    @Test func aRecognizedGestureHasNoEnd() {
        let rig = Rig()
        let token = rig.add("handler")
        rig.deliver(.recognized)
        token.remove()
        rig.chain.cancelAll(.stopped)
        #expect(rig.heard.entries == ["handler recognized"])
    }

    /// Other threads switch handlers off and on while gestures are delivered: beginnings and ends alternate for each.
    @Test func everyBeginningHasOneEndWhateverOtherThreadsDo() throws {
        let rig = Rig()
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
            rig.deliver(.began)
            rig.deliver(.ended)
        }
        isOver.set()
        #expect(thread.join(within: 10))
        rig.chain.cancelAll(.stopped)
        for phases in phases {
            let heard = phases.entries
            #expect(heard.count % 2 == 0)
            for (index, phase) in heard.enumerated() { #expect((phase == .began) == (index % 2 == 0)) }
        }
    }
}
