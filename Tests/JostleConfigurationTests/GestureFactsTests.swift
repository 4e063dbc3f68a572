import MotionCore
import Testing

@testable import JostleConfiguration

/// The table of gestures is complete and consistent.
@Suite struct GestureFactsTests {
    /// The word is the name of the case: it is part of topics and keys.
    @Test(arguments: Gesture.builtIn)
    func theWordIsTheNameOfTheCase(_ gesture: Gesture) {
        #expect(gesture.word == "\(gesture)" && Gesture(word: gesture.word) == gesture)
    }

    @Test(arguments: Gesture.builtIn)
    func itBeginsAndEndsOrIsRecognized(_ gesture: Gesture) {
        let phases = gesture.phases
        #expect(phases == [.recognized] || phases.first == .began && phases.suffix(2) == [.ended, .cancelled])
        #expect(gesture.firstPhase == (phases.contains(.ended) ? .began : .recognized))
        #expect(gesture.fields.contains(.reason) == phases.contains(.cancelled))
        #expect(gesture.facts.cancellations.isEmpty || phases.contains(.cancelled))
    }

    @Test(arguments: Gesture.builtIn)
    func itHasAllTexts(_ gesture: Gesture) {
        let facts = gesture.facts
        #expect(facts.summary.hasSuffix(".") && facts.icon.hasPrefix("mdi:"))
        #expect(!facts.tuning.title.isEmpty && facts.tuning.handling.contains("%s"))
    }

    /// The keys of a gesture follow from its word.
    @Test(arguments: Gesture.builtIn)
    func itIsInTheSchema(_ gesture: Gesture) {
        let value = ConfigurationSchema.value(of: "gestures.\(gesture.word).enabled", in: JostleSettings())
        #expect(value?.bool == true)
    }
}
