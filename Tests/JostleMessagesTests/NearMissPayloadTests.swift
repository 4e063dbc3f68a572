import JostleConfiguration
import MotionCore
import Testing

@testable import JostleMessages

/// Requirement: a near miss is published with the contract's words and units, and a sentence for people.
@Suite struct NearMissPayloadTests {
    private func payload(_ miss: NearMiss, isSimulated: Bool = false) -> String {
        Payloads.nearMiss(miss, at: 1_795_182_603_123, isSimulated: isSimulated).description
    }

    private let time = Timestamp(nanoseconds: 5)

    @Test func hasValueLimitAndUnit() {
        #expect(
            payload(NearMiss(.shake, .tooWeak, at: time, value: 3.1, limit: 5))
                == #"{"t":1795182603123,"gesture":"shake","reason":"too_weak","value":3.1,"limit":5,"unit":"m/s²","#
                + #""text":"no shake: its weakest swing was too weak, 3.1 m/s² but at least 5 m/s² is needed"}"#)
        #expect(
            payload(NearMiss(.vibration, .tooShort, at: time, value: 0.25, limit: 2), isSimulated: true)
                == #"{"t":1795182603123,"gesture":"vibration","reason":"too_short","value":0.25,"limit":2,"unit":"s","#
                + #""text":"no vibration: too short, 0.25 s but at least 2 s is needed","simulated":true}"#)
    }

    @Test func anglesAreDegrees() {
        let angle = payload(NearMiss(.turn, .tooSmallAngle, at: time, value: .pi / 6, limit: .pi / 4))
        #expect(angle.contains(#""reason":"too_small_angle","value":30,"limit":45,"unit":"°","text":"#), "\(angle)")
        let rate = payload(NearMiss(.turn, .tooWeak, at: time, value: .pi / 3, limit: .pi / 2, unit: .rate))
        #expect(rate.contains(#""reason":"too_weak","value":60,"limit":90,"unit":"°/s","text":"#), "\(rate)")
    }

    @Test func countsHaveNoUnit() {
        let count = payload(NearMiss(.shake, .tooFewReversals, at: time, value: 2, limit: 3))
        #expect(count.contains(#""reason":"too_few_reversals","value":2,"limit":3,"text":"no shake: "#), "\(count)")
    }

    @Test func missingValuesAreLeftOut() {
        #expect(
            payload(NearMiss(.tap, .excluded, at: time))
                == #"{"t":1795182603123,"gesture":"tap","reason":"excluded","text":"#
                + #""no tap: another gesture takes precedence"}"#)
        let half = payload(NearMiss(.tap, .tooSoon, at: time, value: 0.5, limit: .infinity))
        #expect(half.contains(#""reason":"too_soon","value":0.5,"unit":"s","text":"#), "\(half)")
        let bare = payload(NearMiss(.tap, .tooSoon, at: time))
        #expect(bare.contains(#""reason":"too_soon","text":"#), "\(bare)")
    }

    @Test func namesDirectionPrecedenceAndGate() {
        var flick = NearMiss(.flick, .otherDirection, at: time)
        flick.direction = .left
        let direction = payload(flick)
        #expect(
            direction.contains(
                #""reason":"other_direction","direction":"left","text":"no flick: left is not in gestures.flick.directions""#
            ),
            "\(direction)")
        var tap = NearMiss(.tap, .excluded, at: time)
        tap.precedence = .impact
        let precedence = payload(tap)
        #expect(
            precedence.contains(
                #""reason":"excluded","precedence":"impact","text":"no tap: an impact takes precedence""#),
            "\(precedence)")
        var shake = NearMiss(.shake, .gateClosed, at: time, value: .pi / 18, limit: .pi / 9)
        shake.gate = .tiltAbove
        let gate = payload(shake)
        #expect(
            gate.contains(
                #""value":10,"limit":20,"unit":"°","gate":"tilt_above","text":"no shake: the board was not tilted enough, "#
                    + #"10° but at least 20° is needed (gestures.shake.when.tilt_above)""#), "\(gate)")
        for (condition, word) in [
            (NearMiss.GateCondition.still, "still"), (.moving, "still"), (.quietHours, "quiet_hours"),
        ] {
            var miss = NearMiss(.tap, .gateClosed, at: time)
            miss.gate = condition
            let text = payload(miss)
            #expect(text.contains(#""gate":"\#(word)""#) && text.contains("gestures.tap.when.\(word)"), "\(text)")
        }
    }

    /// Figures that would look alike have more decimals.
    @Test func valueAndLimitDiffer() {
        let close = NearMiss(.impact, .tooSlow, at: time, value: 0.0523, limit: 0.05)
        #expect(close.explanation == "no impact: too slow, 0.052 s but at most 0.05 s is allowed")
        let closer = NearMiss(.shake, .tooWeak, at: time, value: 4.899, limit: 4.903)
        #expect(closer.explanation.contains("4.899 m/s² but at least 4.903 m/s² is needed"))
    }

    /// The sentences say what to change, not how far a score was from its limit.
    @Test func sentencesAreForPeople() {
        func text(
            _ gesture: Gesture, _ reason: NearMiss.Reason, _ value: Double, _ limit: Double, unit: NearMiss.Unit? = nil
        )
            -> String
        { NearMiss(gesture, reason, at: time, value: value, limit: limit, unit: unit).explanation }
        #expect(text(.shake, .tooFewReversals, 3, 4) == "no shake: only 3 swings to and fro, 4 are needed")
        #expect(text(.tap, .tooFewTaps, 1, 2) == "no tap: only 1 tap, 2 are needed")
        #expect(
            text(.shake, .notAlongOneLine, .pi / 4, 25 * radiansPerDegree)
                == "no shake: its swings were not along one line, 45° astray but usually at most 25°")
        #expect(
            text(.shake, .wrongPace, 0.5, 0.3)
                == "no shake: its swings were too slow, 0.5 s each but usually at most 0.3 s")
        #expect(
            text(.shake, .wrongPace, 0.05, 0.08)
                == "no shake: its swings were too quick, 0.05 s each but usually at least 0.08 s")
        #expect(
            text(.turn, .tooWeak, 30 * radiansPerDegree, 40 * radiansPerDegree, unit: .rate)
                == "no turn: too slow, 30 °/s but at least 40 °/s is needed")
        #expect(
            text(.tap, .noQuietBefore, 1, 0.7, unit: .rate)
                == "no tap: it was turning before, 57 °/s but at most 40 °/s is allowed")
        #expect(
            text(.turn, .tilted, 20 * radiansPerDegree, 12 * radiansPerDegree)
                == "no turn: it tilted by 20° but at most 12° is allowed")
        #expect(
            text(.turn, .notVertical, 30 * radiansPerDegree, 15 * radiansPerDegree)
                == "no turn: it strayed from the vertical by 30° but at most 15° is allowed")
        #expect(
            text(.turn, .noQuietBefore, 0.15, 0.3, unit: .seconds)
                == "no turn: it was not held still before, 0.15 s but at least 0.3 s is needed")
        #expect(
            NearMiss(.shake, .partOfFall, at: time, value: 0.25).explanation == "no shake: it followed a fall of 0.25 s"
        )
        let sentences = NearMiss.Reason.allCases.map { NearMiss(.shake, $0, at: time).explanation }
        #expect(Set(sentences).count == sentences.count)
    }

    @Test func cancellationsAreExplained() {
        #expect(CancellationReason.tooShort.explanation(of: .shake) == "it stopped before the fourth swing")
        #expect(CancellationReason.tooWeak.explanation(of: .fall) == "it did not land hard, as if it was caught")
        for gesture in Gesture.allCases {
            let sentences = CancellationReason.allCases.map { $0.explanation(of: gesture) }
            #expect(Set(sentences).count == sentences.count)
            #expect(Gesture(word: gesture.word) == gesture)
        }
        for reason in CancellationReason.allCases { #expect(CancellationReason(word: reason.word) == reason) }
        #expect(CancellationReason(word: "bored") == nil && Gesture(word: "yawn") == nil)
    }

    /// Whatever the table of gestures says of a reason is used.
    @Test(arguments: Gesture.allCases)
    func theWordsOfAGestureAreUsed(_ gesture: Gesture) {
        for (reason, words) in gesture.facts.nearMisses {
            #expect(NearMiss(gesture, reason, at: time).explanation == "no \(gesture.word): \(words)")
        }
        for (reason, words) in gesture.facts.cancellations { #expect(reason.explanation(of: gesture) == words) }
    }

    /// The words are the names of the cases, in snake case; programs depend on them.
    @Test func everyReasonHasItsWord() {
        let words = NearMiss.Reason.allCases.map(\.word)
        #expect(
            words == [
                "too_weak", "too_strong", "too_few_reversals", "too_few_taps", "no_quiet_before", "no_quiet_after",
                "not_along_one_line", "too_irregular", "too_slow", "too_quick", "wrong_pace", "too_peaky", "like_steps",
                "not_still",
                "too_short", "too_small_angle", "not_convincing", "part_of_fall", "excluded", "too_soon", "gate_closed",
                "set_in_motion", "not_braked", "other_direction", "tilted", "not_vertical",
            ])
        for reason in NearMiss.Reason.allCases {
            let snake = "\(reason)".map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
            #expect(reason.word == snake)
            #expect(payload(NearMiss(.flick, reason, at: time)).contains("\"reason\":\"\(snake)\""))
        }
    }
}
