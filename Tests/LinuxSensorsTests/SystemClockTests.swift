import Glibc
import LinuxSensors
import MotionCore
import Testing

/// Requirement: time comes from the kernel's clock that counts in suspend, and a wait ends at a deadline, not after a duration.
@Suite struct SystemClockTests {
    @Test func readsTheBootClock() {
        let before = clock()
        let now = SystemClock().now()
        let after = clock()
        #expect(before <= now && now <= after)
    }

    @Test func doesNotEndAWaitBeforeItsDeadline() {
        let deadline = SystemClock().now().advanced(bySeconds: 0.02)
        SystemClock.sleep(until: deadline)
        #expect(SystemClock().now() >= deadline)
    }

    private func clock() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
