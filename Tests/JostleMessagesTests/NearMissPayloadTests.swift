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
                + #""text":"no shake: too weak, 3.1 m/s² but at least 5 m/s² is needed"}"#)
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

    /// The words are the names of the cases, in snake case; programs depend on them.
    @Test func everyReasonHasItsWord() {
        let words = NearMiss.Reason.allCases.map(\.word)
        #expect(
            words == [
                "too_weak", "too_few_reversals", "too_few_taps", "no_quiet_before", "no_quiet_after",
                "not_along_one_line", "too_irregular", "too_slow", "wrong_pace", "too_peaky", "like_steps", "not_still",
                "too_short", "too_small_angle", "not_convincing", "part_of_fall", "excluded", "too_soon", "gate_closed",
            ])
        for reason in NearMiss.Reason.allCases {
            let snake = "\(reason)".map { $0.isUppercase ? "_\($0.lowercased())" : "\($0)" }.joined()
            #expect(reason.word == snake)
            #expect(payload(NearMiss(.flick, reason, at: time)).contains("\"reason\":\"\(snake)\""))
        }
    }
}
