import JostleConfiguration
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: an event has the best known time of its measurement, and is marked if that is uncertain or if it comes
/// too late to act on.
@Suite struct EventTimeTests {
    private func clocks(_ seconds: Double, boot: String = "a", wall: Int64, isSet: Bool = true) -> ClockReading {
        ClockReading(
            boot: boot, monotonic: Timestamp(seconds: seconds),
            wall: wall, isSet: isSet)
    }

    private func payload(of time: EventTime, at clocks: ClockReading) -> String {
        let message = OutgoingMessage(
            topic: "t", content: .event(id: "r-1", fields: #""gesture":"tap","phase":"recognized""#), time: time)
        return String(decoding: message.message(at: clocks, eventExpiry: nil).payload, as: UTF8.self)
    }

    @Test func payloadFieldsAreInContractOrder() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5.5, wall: 1000))
        #expect(
            payload(of: time, at: clocks(5.5, wall: 1000))
                == #"{"id":"r-1","t":500,"gesture":"tap","phase":"recognized"}"#)
    }

    /// Measured at second 5, before the clock was set, and sent afterwards.
    @Test func correctsTimeWithinBoot() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        #expect(payload(of: time, at: clocks(8, wall: 3777, isSet: false)).contains(#""t":777,"clock":"unset""#))
        let later = payload(of: time, at: clocks(9, wall: 1_795_000_009_000))
        #expect(later.contains(#""t":1795000005000,"gesture""#))
    }

    /// An event that is sent again has the same time, although the clock was slewed in between. It is corrected only if
    /// the clock was set.
    @Test(arguments: [(-100, false), (-99, true), (7, true), (99, true), (100, false)])
    func ignoresSlewing(milliseconds: Int64, isIgnored: Bool) {
        let time = EventTime(Timestamp(seconds: 5), clocks(5, wall: 1_795_000_005_000))
        let later = clocks(9, wall: 1_795_000_009_000 + milliseconds)
        #expect(time.corrected(later).wall == 1_795_000_005_000 + (isIgnored ? 0 : milliseconds))
    }

    @Test func keepsStoredTimeOfAnotherBoot() {
        let unset = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        let now = clocks(3, boot: "b", wall: 1_795_000_000_000)
        #expect(payload(of: unset, at: now).contains(#""t":777,"clock":"unset","delayed":true,"gesture""#))
        #expect(unset.age(at: now) == nil)
        let known = EventTime(Timestamp(seconds: 5), clocks(5, wall: 1_794_999_990_000))
        #expect(payload(of: known, at: now).contains(#""t":1794999990000,"delayed":true,"gesture""#))
        #expect(known.age(at: now) == 10)
        #expect(known.age(at: clocks(3, boot: "b", wall: 5, isSet: false)) == nil)
    }

    @Test func marksDelayedEvents() {
        let time = EventTime(Timestamp(seconds: 5), clocks(5, wall: 1_795_000_000_000))
        #expect(!payload(of: time, at: clocks(15, wall: 1_795_000_010_000)).contains("delayed"))
        #expect(payload(of: time, at: clocks(15.1, wall: 1_795_000_010_100)).contains(#""delayed":true"#))
    }

    /// The queue corrects the times of this boot, once.
    @Test func correctsStoredTimeOnce() {
        var outbox = OutboxQueue(limits: JostleSettings.Outbox())
        let unset = EventTime(Timestamp(seconds: 5), clocks(5, wall: 777, isSet: false))
        let foreign = EventTime(Timestamp(seconds: 5), clocks(5, boot: "z", wall: 777, isSet: false))
        outbox.append(OutgoingMessage(topic: "t", content: .fixed([]), time: foreign))
        outbox.append(OutgoingMessage(topic: "t", content: .fixed([]), time: unset))
        outbox.changesWereWritten(outbox.takeChanges())
        outbox.correctTimes(clocks(6, wall: 1777, isSet: false))
        #expect(!outbox.hasMessageToWrite)
        outbox.correctTimes(clocks(6, wall: 1_795_000_006_000))
        let corrected = outbox.takeChanges().corrected
        #expect(corrected.map(\.row) == [2] && corrected.first?.message.time.wall == 1_795_000_005_000)
        outbox.correctTimes(clocks(7, wall: 1_795_000_007_000))
        #expect(!outbox.hasMessageToWrite && outbox.takeChanges().corrected.isEmpty)
    }

    // MARK: Suspend

    /// The machine was suspended for eight hours.
    private func asleep(_ hours: Double, since: ClockReading) -> ClockReading {
        let seconds = hours * 3600 + 1
        return ClockReading(
            boot: since.boot, monotonic: since.monotonic.advanced(bySeconds: seconds),
            wall: since.wall + Int64(seconds * 1000), isSet: true)
    }

    @Test func suspendCountsAsAge() {
        let before = clocks(100, wall: 1_795_000_000_000)
        let message = OutgoingMessage(
            topic: "lamp", content: .fixed(Array("TOGGLE".utf8)), time: EventTime(Timestamp(seconds: 99), before),
            lifetime: 30)
        #expect(!message.isExpired(at: before, maximumAge: 1e6))
        #expect(message.isExpired(at: asleep(8, since: before), maximumAge: 1e6))
    }

    /// An event from before the suspend keeps its time, even if the clock is set afterwards.
    @Test func suspendDoesNotChangeTime() {
        let before = clocks(100, wall: 777, isSet: false)
        let time = EventTime(Timestamp(seconds: 100), before)
        var after = asleep(8, since: before)
        after.wall = 1_795_000_000_000
        let passed: Int64 = (8 * 3600 + 1) * 1000
        #expect(time.corrected(after).wall == 1_795_000_000_000 - passed)
        #expect(time.corrected(after).isClockSet)
    }

    /// A sample that was taken before the suspend and is published after it.
    @Test func timesSampleFromBeforeSuspend() {
        let before = clocks(100, wall: 1_795_000_000_000)
        let time = EventTime(Timestamp(seconds: 99.5), asleep(8, since: before))
        #expect(time.wall == before.wall - 500)
    }
}
