import Glibc
import JostleRuntime
import Testing

/// Requirement: times in messages are epoch milliseconds of the instant of measurement.
@Suite struct WallClockTests {
    @Test func monotonicClockDoesNotGoBack() {
        let before = WallClock.monotonic
        #expect(WallClock.monotonic >= before && before.nanoseconds > 0)
    }

    @Test func convertsPastInstant() {
        // The clocks are read one after the other, possibly with a long pause on a busy machine.
        let now = WallClock.monotonic
        let earlier = WallClock.milliseconds(at: now.advanced(bySeconds: -3600))
        let later = WallClock.milliseconds(at: now)
        #expect(abs(later - earlier - 3_600_000) < 1000)
    }

    @Test func convertsPresentInstant() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = WallClock.milliseconds(at: WallClock.monotonic)
        #expect(abs(now - Int64(time.tv_sec) * 1000 - Int64(time.tv_nsec) / 1_000_000) < 10_000)
    }
}
