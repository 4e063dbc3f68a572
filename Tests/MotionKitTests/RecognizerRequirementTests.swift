import BrokerTestSupport
import MotionCore
import Testing

@testable import MotionKit

/// Recognizers that ask for something of their own: two handlers on one board differ.
@Suite(.timeLimit(.minutes(1))) struct RecognizerRequirementTests {
    private let rig = Rig()

    private func simulate(_ name: String, on manager: MotionManager, seconds: Double? = nil) async throws {
        try manager.simulate(SimulatedMovement(name, seconds: seconds))
        #expect(await eventually { manager.simulatedMovement == nil })
    }

    @Test func tapCountsAreDistinguishedPerHandler() async throws {
        let manager = rig.manager()
        let (singles, doubles, usual) = (Journal<Int?>(), Journal<Int?>(), Journal<Int?>())
        manager.addRecognizer(.tap(count: 1), into: singles, .consume) { $0.count }
        manager.addRecognizer(.tap(count: 2), into: doubles, .consume) { $0.count }
        manager.addRecognizer(.tap, into: usual, .consume) { $0.count }
        try manager.start(with: ScriptedDevice())
        try await simulate("double-tap", on: manager)
        #expect(await eventually { doubles.count == 1 && singles.count == 2 && usual.count == 2 })
        #expect(doubles.entries == [2] && singles.entries == [1, 1] && usual.entries == [1, 1])
    }

    @Test func singleTapWaitsIfDoublesAreDistinguished() async throws {
        let manager = rig.manager()
        let singles = Journal<Int?>()
        manager.addRecognizer(.tap(count: 1, distinguishing: [.double]), into: singles) { $0.count }
        try manager.start(with: ScriptedDevice())
        try await simulate("double-tap", on: manager)
        #expect(singles.count == 0)
        try await simulate("tap", on: manager)
        #expect(await eventually { singles.count == 1 })
    }

    @Test func sensitivityDiffersPerHandler() async throws {
        let manager = rig.manager()
        let (gentle, strict, usual) = (Journal<GesturePhase>(), Journal<GesturePhase>(), Journal<GesturePhase>())
        manager.addRecognizer(.shake.sensitivity(10), into: gentle) { $0.phase }
        manager.addRecognizer(.shake.sensitivity(1), into: strict) { $0.phase }
        manager.setDefaultResponder { if $0.gesture == .shake { usual.append($0.phase) } }
        try manager.start(with: ScriptedDevice())
        try await simulate("gentle-shake", on: manager)
        #expect(await eventually { gentle.entries.last == .ended })
        #expect(gentle.entries == [.began, .ended])
        #expect(strict.count == 0)
        #expect(usual.count <= 2)
    }

    @Test func angleAndDirectionDifferPerHandler() async throws {
        let manager = rig.manager()
        let (wide, left, right) = (Journal<GesturePhase>(), Journal<GesturePhase>(), Journal<GesturePhase>())
        manager.addRecognizer(.turn(by: 2.5), into: wide) { $0.phase }
        manager.addRecognizer(.turn(direction: .left, about: .z), into: left) { $0.phase }
        manager.addRecognizer(.turn(direction: .right), into: right) { $0.phase }
        try manager.start(with: ScriptedDevice())
        try await simulate("turn-left", on: manager)
        #expect(await eventually { left.entries.last == .ended })
        #expect(wide.count == 0 && right.count == 0)
        #expect(left.entries.first == .began)
    }

    @Test func equalRequirementsShareAVariant() {
        var table = VariantTable()
        let first = table.retain(.shake.sensitivity(8))
        let plain = table.retain(.shake)
        let same = table.retain(.shake.sensitivity(8).when { $0.axis == .x })
        #expect(first != 0 && plain == 0 && same == first)
        let other = table.retain(.tap.sensitivity(8))
        #expect(other != first)
        var settings = GestureSettings()
        settings.shake.maximumDuration = 3
        let variants = table.variants(of: settings)
        #expect(variants.map(\.number) == [first, other])
        #expect(variants[0].settings.shake.common.sensitivity == 8 && variants[0].settings.shake.maximumDuration == 3)
        #expect(variants[0].settings.tap == settings.tap)
        let firstUse = table.release(first)
        let secondUse = table.release(first)
        #expect(!firstUse && secondUse && !table.isEmpty)
        let last = table.release(other)
        let again = table.release(other)
        #expect(last && table.isEmpty && !again)
    }

    @Test func requirementsFollowTheSettings() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let heard = Journal<GesturePhase>()
        let token = manager.addRecognizer(.shake.cooldown(0), into: heard) { $0.phase }
        var movement = Movement()
        let device = try manager.start(feeding: movement.wholeShake())
        #expect(await eventually { heard.entries == [.began, .ended] })
        manager.settings.gestures.shake.common.isEnabled = false
        device.feed(movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        manager.settings.gestures.shake.common.isEnabled = true
        device.feed(movement.rest(1) + movement.openShake())
        #expect(await eventually { heard.count == 3 })
        // Removing the last handler of a variant cancels what is open, once.
        token.remove()
        #expect(await eventually { heard.count == 4 })
        #expect(heard.entries == [.began, .ended, .began, .cancelled])
    }

    @Test func conditionsSeeWhatIsKnownAtTheBeginning() {
        var event = GestureEvent(.impact, .recognized, at: Timestamp(seconds: 4))
        event.side = .minusY
        event.strength = 31
        #expect(Recognizer.impact.when { $0.side == .minusY && $0.strength == 31 }.accepts(event))
        #expect(!Recognizer.impact.when { $0.side == .plusY }.accepts(event))
        #expect(!Recognizer.shake.accepts(event))
        var flip = GestureEvent(.flip, .recognized, at: Timestamp(seconds: 4))
        flip.from = .plusZ
        flip.to = .minusX
        #expect(Recognizer.flip(to: .minusX).accepts(flip) && !Recognizer.flip(from: .minusX).accepts(flip))
        #expect(Recognizer.flip().accepts(flip))
    }

    /// A gesture without a recognizer does not compile here.
    private func plain(_ gesture: Gesture) -> Recognizer {
        switch gesture {
        case .shake: .shake
        case .tap: .tap
        case .flick: .flick
        case .turn: .turn
        case .flip: .flip
        case .tilt: .tilt
        case .fall: .fall
        case .impact: .impact
        case .motion: .motion
        case .vibration: .vibration
        case .learned: Recognizer(.learned)
        }
    }

    @Test func everyGestureHasARecognizer() {
        for gesture in Gesture.allCases { #expect(plain(gesture).gesture == gesture) }
    }

    @Test func requirementsReachTheRelations() {
        let requirements = Recognizer.tap.require(toFail: .flip).simultaneously(with: .shake).requirements
        let settings = requirements.applied(to: GestureSettings(), for: .tap)
        #expect(settings.relations.required(by: .tap) == .flip)
        #expect(!settings.relations.excluded(by: .shake).contains(.tap))
    }
}
