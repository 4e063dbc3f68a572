import JostleConfiguration
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a gesture that is to be kept is kept once, with the seconds before and after it, and a recording under way
/// serves the next ones; a command keeps what it asks for, within the memory.
@Suite struct KeepScheduleTests {
    private var schedule: KeepSchedule
    private var names = 0

    init() {
        var settings = JostleSettings.Recorder()
        settings.gestures = [GestureKind(.fall), GestureKind(.tap)]
        schedule = KeepSchedule(settings)
    }

    private func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

    private mutating func keep(
        _ gesture: Gesture, _ phase: GesturePhase, at seconds: Double, isSimulated: Bool = false
    ) -> String? {
        var event = GestureEvent(gesture, phase, at: at(seconds))
        event.isSimulated = isSimulated
        return schedule.keep(on: event, at: at(seconds + 0.05)) { occasion in
            names += 1
            return "\(names)-\(occasion)"
        }
    }

    private mutating func keep(
        before: Double? = nil, after: Double? = nil, label: String? = nil
    ) throws -> KeepSchedule.Kept {
        try schedule.keep(before: before, after: after, label: label, at: at(100)) { occasion in
            names += 1
            return "\(names)-\(occasion)"
        }
    }

    @Test mutating func keepsAGestureOnceAtItsBeginning() throws {
        #expect(keep(.shake, .began, at: 100) == nil)
        #expect(keep(.fall, .began, at: 100, isSimulated: true) == nil)
        #expect(schedule.nextDeadline == nil)
        #expect(keep(.fall, .began, at: 100) == "1-fall")
        #expect(keep(.fall, .ended, at: 100.4) == nil && keep(.fall, .cancelled, at: 100.4) == nil)
        #expect(
            schedule.waiting == [
                .init(name: "1-fall", start: at(90), end: at(105), label: nil, isAutomatic: true)
            ])
        #expect(schedule.nextDeadline == at(106.5))
        #expect(schedule.takeDue(at: at(106.4)).isEmpty)
        #expect(schedule.takeDue(at: at(106.5)).map(\.name) == ["1-fall"] && schedule.waiting.isEmpty)
        #expect(keep(.tap, .recognized, at: 106.6) == "2-tap")
    }

    /// Events within a recording that is not complete are in it.
    @Test mutating func oneRecordingHasNeighbours() {
        #expect(keep(.fall, .began, at: 100) == "1-fall")
        #expect(keep(.tap, .recognized, at: 104.9) == "1-fall")
        #expect(keep(.tap, .recognized, at: 105.1) == "2-tap")
        #expect(schedule.takeDue(at: nil).map(\.name) == ["1-fall", "2-tap"])
    }

    /// A machine that knocks all day does not wear out the disk: ten at once, then one a minute.
    @Test mutating func limitsHowOftenGesturesAreKept() {
        var kept: [String] = []
        for knock in 0..<360 {
            _ = schedule.takeDue(at: nil)
            if let name = keep(.tap, .recognized, at: 10 * Double(knock)) { kept.append(name) }
        }
        #expect((10 + 59...10 + 61).contains(kept.count), "\(kept.count)")
    }

    @Test(
        arguments: [
            (nil, nil, 90, 105), (20, nil, 80, 105), (nil, 25, 95, 125), (0, 10, 100, 110), (30, nil, 70, 100),
            (3, 0, 97, 100), (nil, 0, 90, 100), (10, 20, 90, 120),
        ] as [(Double?, Double?, Double, Double)])
    mutating func commandChoosesTheTime(before: Double?, after: Double?, start: Double, end: Double) throws {
        let kept = try keep(before: before, after: after, label: "shake")
        #expect(kept == .init(name: "1-keep", start: at(start), end: at(end), label: "shake", isAutomatic: false))
    }

    @Test mutating func refusesMoreThanTheMemoryHas() throws {
        #expect(throws: CommandRefusal(.badArguments, "before and after must not both be 0")) {
            try keep(before: 0, after: 0)
        }
        #expect(
            throws: CommandRefusal(
                .badArguments, "before and after must be 30.0 s together (recorder.seconds) at most, not 31.0")
        ) { try keep(before: 30, after: 1) }
        #expect(names == 0)
        for _ in 1...4 { _ = try keep() }
        #expect(throws: CommandRefusal(.busy, "4 recordings wait for their end")) { try keep() }
        // Gestures have a recording of their own.
        #expect(keep(.fall, .began, at: 100) == "5-fall")

        var settings = JostleSettings.Recorder()
        settings.gestures = [GestureKind(.fall)]
        settings.seconds = 0
        schedule = KeepSchedule(settings)
        #expect(keep(.fall, .began, at: 100) == nil)
        #expect(
            throws: CommandRefusal(.unavailable, "the last samples are not in memory: recorder.seconds is 0")
        ) { try keep() }
        settings.seconds = 6
        schedule = KeepSchedule(settings)
        let kept = try keep()
        #expect(kept.start == at(96) && kept.end == at(102))
    }

    @Test mutating func labelsBeforeItIsWritten() throws {
        let name = try keep().name
        let (isKnown, isOtherKnown) = (
            schedule.setLabel("not shake", of: name), schedule.setLabel("shake", of: "other")
        )
        #expect(isKnown && !isOtherKnown && schedule.waiting.first?.label == "not shake")
    }
}
