import LinuxSystem
import Testing

/// Requirement: two clocks are compared at one moment, however long the thread is kept from running between the readings.
@Suite struct KernelClockTests {
    /// Two clocks, one 5 s ahead, that advance with each reading, by half a second if the thread is preempted.
    private final class StarvedClocks {
        private(set) var readings = 0
        private var time: Int64 = 1_000_000_000
        private let isPreempted: (Int) -> Bool

        init(_ isPreempted: @escaping (Int) -> Bool) {
            self.isPreempted = isPreempted
        }

        func read(ahead: Int64) -> Int64 {
            readings += 1
            time += isPreempted(readings) ? 500_000_000 : 100
            return time + ahead
        }
    }

    /// Preempted before two readings of three, in any order, or before ten in a row.
    @Test(arguments: 0..<40)
    func preemptionDoesNotChangeTheDifference(seed: Int) {
        let clocks = StarvedClocks { seed < 30 ? ($0 &* 7 + seed) % 10 < 4 : $0 <= seed - 20 }
        let offset = KernelClock.offset(
            of: { clocks.read(ahead: 5_000_000_000) }, from: { clocks.read(ahead: 0) })
        #expect(abs(offset - 5_000_000_000) < 1000, "\(offset)")
        #expect(clocks.readings <= 60)
    }

    /// If the thread never runs undisturbed, the best of all readings counts, and it ends.
    @Test func endsOnAMachineThatIsAlwaysBusy() {
        let clocks = StarvedClocks { _ in true }
        let offset = KernelClock.offset(of: { clocks.read(ahead: 0) }, from: { clocks.read(ahead: 0) })
        #expect(abs(offset) <= 500_000_000 && clocks.readings == 60)
    }

    @Test func realClocksDifferAlike() {
        let first = KernelClock.wall.offset(from: .boot)
        let second = KernelClock.wall.offset(from: .boot)
        #expect(abs(first - second) < 50_000_000)
    }
}
