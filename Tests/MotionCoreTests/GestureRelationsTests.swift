import Testing

@testable import MotionCore

/// What a program changes about which gestures exclude or wait for one another.
@Suite struct GestureRelationsTests {
    /// An arbiter and the events that it reported.
    private struct Rig: ~Copyable {
        var arbiter: GestureArbiter
        var misses = NearMisses()
        var words: [String] = []

        init(_ change: (inout GestureRelations) -> Void) {
            var settings = GestureSettings()
            change(&settings.relations)
            arbiter = GestureArbiter(settings: settings)
        }

        mutating func propose(_ gesture: Gesture, _ phase: GesturePhase, at seconds: Double, undecided: GestureSet = [])
        {
            var new: [String] = []
            let event = GestureEvent(gesture, phase, at: Timestamp(seconds: seconds))
            arbiter.propose(event, undecided: undecided, &misses) { new.append("\($0.gesture) \($0.phase)") }
            words += new
        }

        mutating func release(at seconds: Double, undecided: GestureSet = []) {
            var new: [String] = []
            arbiter.release(at: Timestamp(seconds: seconds), undecided: undecided, &misses) {
                new.append("\($0.gesture) \($0.phase)")
            }
            words += new
        }
    }

    @Test func defaultsAreThoseOfTheRules() {
        let relations = GestureRelations()
        for gesture in Gesture.allCases {
            #expect(relations.excluded(by: gesture) == GestureRules.excluded(by: gesture))
            #expect(relations.required(by: gesture) == GestureRules.required(by: gesture))
        }
        #expect(relations.excluded(by: .shake) == [.tap, .flick, .turn] && relations.required(by: .flick) == .shake)
    }

    @Test func allowedGesturesAreRecognisedTogether() {
        var rig = Rig { $0.allow(.tap, simultaneouslyWith: .shake) }
        rig.propose(.shake, .began, at: 1)
        rig.propose(.tap, .recognized, at: 1.1)
        rig.propose(.flick, .recognized, at: 1.2)
        #expect(rig.words == ["shake began", "tap recognized"])
    }

    @Test func allowanceIsMutualAndRemovesTheWait() {
        var relations = GestureRelations()
        relations.allow(.shake, simultaneouslyWith: [.flick, .turn])
        #expect(relations.excluded(by: .shake) == .tap)
        #expect(relations.required(by: .flick) == [])
        #expect(relations.excluded(by: .fall) == GestureRules.excluded(by: .fall))
    }

    @Test func gestureWaitsForTheRequiredOneToFail() {
        var rig = Rig { $0.require(.tap, toFail: .flip) }
        rig.propose(.tap, .recognized, at: 1, undecided: .flip)
        rig.release(at: 1.1, undecided: .flip)
        #expect(rig.words == [])
        rig.release(at: 1.2)
        #expect(rig.words == ["tap recognized"])
    }

    @Test func gestureIsDroppedIfTheRequiredOneIsRecognised() {
        var rig = Rig { $0.require(.tap, toFail: .flip) }
        rig.propose(.tap, .recognized, at: 1, undecided: .flip)
        rig.propose(.flip, .recognized, at: 1.2)
        rig.release(at: 1.3)
        #expect(rig.words == ["flip recognized"])
    }

    @Test func gestureDoesNotBeginWhileTheRequiredOneLasts() {
        var rig = Rig { $0.require(.tap, toFail: .tilt) }
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.tap, .recognized, at: 2)
        rig.propose(.tilt, .ended, at: 3)
        rig.propose(.tap, .recognized, at: 4)
        #expect(rig.words == ["tilt began", "tilt ended", "tap recognized"])
    }

    @Test func openGestureIsNotCancelledByARequirement() {
        var rig = Rig { $0.require(.tilt, toFail: .flip) }
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.flip, .recognized, at: 2)
        rig.propose(.tilt, .ended, at: 3)
        #expect(rig.words == ["tilt began", "flip recognized", "tilt ended"])
    }

    @Test func waitEndsAfterOneSecond() {
        var rig = Rig { $0.require(.tap, toFail: .turn) }
        rig.propose(.tap, .recognized, at: 1, undecided: .turn)
        rig.release(at: 1.9, undecided: .turn)
        #expect(rig.words == [])
        rig.release(at: 2, undecided: .turn)
        #expect(rig.words == ["tap recognized"])
    }

    @Test func gestureCannotRequireItself() {
        var relations = GestureRelations()
        relations.require(.tap, toFail: [.tap, .shake])
        #expect(relations.required(by: .tap) == .shake)
    }
}
