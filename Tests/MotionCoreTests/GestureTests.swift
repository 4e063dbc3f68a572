import Testing

@testable import MotionCore

/// What is written once for each gesture: a `switch` without a new gesture does not compile.
@Suite struct GestureTests {
    private func set(of gesture: Gesture) -> GestureSet {
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
        case .learned: .learned
        }
    }

    @Test func everyGestureHasASetOfItsOwn() {
        for gesture in Gesture.allCases { #expect(set(of: gesture) == GestureSet(gesture)) }
    }

    /// Tables of gestures are indexed by the raw value.
    @Test func theSetOfAllHasEveryGesture() {
        #expect(Gesture.allCases.map { Int($0.rawValue) } == Array(0..<Gesture.count))
        #expect(GestureSet.all == Gesture.allCases.reduce(into: []) { $0.insert(GestureSet($1)) })
        #expect(Gesture.count <= SIMD16<UInt16>.scalarCount, "GestureRelations has no more room")
    }

    /// The subscript of the settings gives those of the gesture, and no two gestures share them.
    @Test(arguments: Gesture.allCases)
    func everyGestureHasSettingsOfItsOwn(_ gesture: Gesture) {
        var settings = GestureSettings()
        settings[gesture].isEnabled = false
        #expect(settings.enabled == GestureSet.all.subtracting(GestureSet(gesture)))
    }
}
