import Testing

@testable import MotionCore

/// What a program changes about which gestures exclude or wait for one another.
@Suite struct GestureRelationsTests {
    private func rig(_ change: (inout GestureRelations) -> Void) -> ArbiterRig {
        var settings = GestureSettings()
        change(&settings.relations)
        return ArbiterRig(settings)
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
        var rig = rig { $0.allow(.tap, simultaneouslyWith: .shake) }
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
        var rig = rig { $0.require(.tap, toFail: .flip) }
        rig.undecided = .flip
        rig.propose(.tap, .recognized, at: 1)
        rig.release(at: 1.1)
        #expect(rig.words == [])
        rig.undecided = []
        rig.release(at: 1.2)
        #expect(rig.words == ["tap recognized"])
    }

    @Test func gestureIsDroppedIfTheRequiredOneIsRecognised() {
        var rig = rig { $0.require(.tap, toFail: .flip) }
        rig.undecided = .flip
        rig.propose(.tap, .recognized, at: 1)
        rig.undecided = []
        rig.propose(.flip, .recognized, at: 1.2)
        rig.release(at: 1.3)
        #expect(rig.words == ["flip recognized"])
    }

    @Test func gestureDoesNotBeginWhileTheRequiredOneLasts() {
        var rig = rig { $0.require(.tap, toFail: .tilt) }
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.tap, .recognized, at: 2)
        rig.propose(.tilt, .ended, at: 3)
        rig.propose(.tap, .recognized, at: 4)
        #expect(rig.words == ["tilt began", "tilt ended", "tap recognized"])
    }

    @Test func openGestureIsNotCancelledByARequirement() {
        var rig = rig { $0.require(.tilt, toFail: .flip) }
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.flip, .recognized, at: 2)
        rig.propose(.tilt, .ended, at: 3)
        #expect(rig.words == ["tilt began", "flip recognized", "tilt ended"])
    }

    /// A gesture may be over before what it waits for has failed.
    @Test func whatWaitsIsReportedWithItsEnd() {
        var rig = rig { $0.require(.tilt, toFail: .flip) }
        rig.undecided = .flip
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.tilt, .changed, at: 1.1)
        rig.propose(.tilt, .ended, at: 1.2)
        rig.propose(.tilt, .began, at: 1.3)
        #expect(rig.words == [])
        rig.undecided = []
        rig.release(at: 1.4)
        #expect(rig.words == ["tilt began", "tilt ended"])
        rig.undecided = .flip
        rig.propose(.tilt, .began, at: 3)
        rig.propose(.tilt, .cancelled, at: 3.1)
        rig.undecided = []
        rig.release(at: 3.2)
        #expect(rig.words == ["tilt began", "tilt ended"])
    }

    @Test func waitEndsAfterOneSecond() {
        var rig = rig { $0.require(.tap, toFail: .turn) }
        rig.undecided = .turn
        rig.propose(.tap, .recognized, at: 1)
        rig.release(at: 1.9)
        #expect(rig.words == [])
        rig.release(at: 2)
        #expect(rig.words == ["tap recognized"])
    }

    @Test func gestureCannotRequireItself() {
        var relations = GestureRelations()
        relations.require(.tap, toFail: [.tap, .shake])
        #expect(relations.required(by: .tap) == .shake)
    }
}
