import BrokerTestSupport
import Foundation
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a time that resumed where the machine was switched off, or that a hardware clock with an empty battery
/// shows, is not trusted although it looks valid.
@Suite struct ClockTrustTests {
    /// 2026-11-23 12:00 UTC, ms.
    private static let noon: Int64 = 1_795_435_200_000

    /// The machine started 100 s before noon.
    private func reading(_ wall: Int64 = noon, boot: String = "b", uptime: Double = 100) -> ClockReading {
        ClockReading(
            boot: boot, monotonic: Timestamp(seconds: uptime), wall: wall, isSet: false)
    }

    private func known(_ wall: Int64, boot: String = "a", uptime: Double = 5000) -> EventTime {
        EventTime(
            boot: boot, sinceBoot: Timestamp(nanoseconds: Int64(uptime * 1e9)), wall: wall, isClockSet: true)
    }

    private func doubt(
        _ hardwareClock: HardwareClock, _ clocks: ClockReading? = nil, known: EventTime? = nil,
        isSynchronised: Bool = false
    ) -> ClockTrust.Doubt? {
        var trust = ClockTrust(known: known)
        let isSet = trust.isSet(clocks ?? reading(), isSynchronised: isSynchronised) { hardwareClock }
        #expect(isSet == (trust.doubt == nil))
        return trust.doubt
    }

    /// A hardware clock whose driver is loaded late, that once did not answer, or that is set after the system's clock.
    @Test func examinesDoubtAgainAfterAMinute() {
        var trust = ClockTrust()
        var readings = 0
        func isSet(_ hardwareClock: HardwareClock, after seconds: Int64) -> Bool {
            let now = reading(Self.noon + seconds * 1000, uptime: 100 + Double(seconds))
            return trust.isSet(now, isSynchronised: false) {
                readings += 1
                return hardwareClock
            }
        }
        #expect(!isSet(.unreadable, after: 0) && !isSet(.time(Self.noon / 1000 + 59), after: 59))
        #expect(readings == 1 && trust.doubt == .hardwareClockUnreadable)
        #expect(isSet(.time(Self.noon / 1000 + 60), after: 60) && readings == 2)
        #expect(isSet(.unreadable, after: 3600) && readings == 2, "only a doubt is examined again")
    }

    /// The seconds of this doubt change with the drift of the clock, which is no news for the log.
    @Test func keepsSecondsOfDoubtUntilClockIsStepped() {
        var trust = ClockTrust(known: known(Self.noon))
        func doubt(after seconds: Int64, drift: Int64) -> ClockTrust.Doubt? {
            let now = reading(Self.noon + seconds * 1000 + drift, uptime: 100 + Double(seconds))
            _ = trust.isSet(now, isSynchronised: false) { .host }
            return trust.doubt
        }
        #expect(doubt(after: 0, drift: 0) == .earlierThanKnown(seconds: 100))
        #expect(doubt(after: 70_000, drift: -2500) == .earlierThanKnown(seconds: 100))
        #expect(doubt(after: 70_001, drift: -20_000) == .earlierThanKnown(seconds: 120))
    }

    @Test func trustsSynchronisedClock() {
        #expect(doubt(.time(0), known: known(Self.noon + 1_000_000), isSynchronised: true) == nil)
        #expect(doubt(.absent, reading(1000), isSynchronised: true) == nil)
    }

    @Test(
        arguments: [
            (0, true), (59, true), (61, false), (-59, true), (-61, false), (3600, true), (-3600, true),
            (5 * 3600 + 2700, true),
            (3600 + 450, false), (15 * 3600, true), (15 * 3600 + 900, false), (-86_400, false),
        ] as [(Int64, Bool)])
    func comparesHardwareClock(difference: Int64, agrees: Bool) {
        let expected: ClockTrust.Doubt? = agrees ? nil : .hardwareClockDiffers
        #expect(doubt(.time(Self.noon / 1000 + difference)) == expected)
    }

    /// The battery is empty: the clock counts from 2000, and the system took its time from a file.
    @Test func doubtsHardwareClockWithEmptyBattery() {
        #expect(doubt(.time(946_684_800 + 100)) == .hardwareClockDiffers)
        #expect(doubt(.time(Int64.min)) == .hardwareClockDiffers && doubt(.time(Int64.max)) == .hardwareClockDiffers)
        #expect(doubt(.unreadable) == .hardwareClockUnreadable)
        // The kernel took over the time of the clock.
        #expect(doubt(.time(946_684_900), reading(946_684_900_000)) == .implausible)
    }

    @Test func boardWithoutHardwareClockNeedsSynchronisation() {
        #expect(doubt(.absent) == .noHardwareClock)
        #expect(doubt(.host) == nil)
    }

    /// Both clocks agree, but on a time at which the machine cannot have started. 100 s before noon it started.
    @Test(arguments: [HardwareClock.host, .time(noon / 1000), .absent])
    func doubtsTimeBeforeLastKnownOne(clock: HardwareClock) {
        let otherwise: ClockTrust.Doubt? = clock == .absent ? .noHardwareClock : nil
        #expect(doubt(clock, known: known(Self.noon - 89_000)) == .earlierThanKnown(seconds: 11))
        #expect(doubt(clock, known: known(Self.noon - 91_000)) == otherwise)
        #expect(doubt(clock, known: known(Self.noon + 86_400_000)) == .earlierThanKnown(seconds: 86_500))
    }

    @Test func doubtsTimeFarInTheFuture() {
        let year: Int64 = 31_557_600_000
        let clocks = reading(Self.noon + 21 * year)
        #expect(doubt(.host, clocks) == .implausible)
        #expect(doubt(.host, clocks, known: known(Self.noon + 2 * year)) == nil)
        #expect(doubt(.host, clocks, known: known(Self.noon)) == .implausible)
    }

    /// The agent restarts during an outage of the network: what was synchronised in this boot is still right.
    @Test func trustsTimeThatWasKnownInSameBoot() {
        let earlier = known(Self.noon - 60_000, boot: "b", uptime: 40)
        #expect(doubt(.absent, known: earlier) == nil)
        #expect(doubt(.absent, reading(Self.noon + 5000), known: earlier) == .noHardwareClock)
        // A day at 0.05 %.
        #expect(doubt(.absent, reading(Self.noon + 86_443_200, uptime: 86_500), known: earlier) == nil)
    }

    @Test func keepsTrustUntilClockIsStepped() {
        var trust = ClockTrust()
        var asked = 0
        func isSet(_ seconds: Double, step: Int64 = 0, isSynchronised: Bool = false) -> Bool {
            let clocks = reading(Self.noon + Int64(seconds * 1000) + step, uptime: 100 + seconds)
            return trust.isSet(clocks, isSynchronised: isSynchronised) {
                asked += 1
                return .absent
            }
        }
        #expect(!isSet(0) && !isSet(1) && asked == 1)
        // Synchronisation sets the clock, then the network fails for a week.
        #expect(isSet(2, step: 50_000, isSynchronised: true))
        #expect(isSet(3, step: 50_000) && isSet(604_800, step: 50_300) && asked == 1)
        // Suspend counts as time since boot. Then someone sets the clock.
        #expect(isSet(700_000, step: 50_300) && !isSet(700_001, step: 90_000) && asked == 2)
        #expect(isSet(700_002, step: 90_000, isSynchronised: true))
    }

    @Test func storesTimeOnceADayAndWhenItWasSet() {
        var trust = ClockTrust()
        func stored(_ seconds: Double, step: Int64 = 0, isSet: Bool = true, isLast: Bool = false) -> Int64? {
            var clocks = reading(Self.noon + Int64(seconds * 1000) + step, uptime: 100 + seconds)
            clocks.isSet = isSet
            return trust.timeToStore(clocks, isLast: isLast)?.wall
        }
        #expect(stored(0, isSet: false) == nil && stored(0, isSet: false, isLast: true) == nil)
        #expect(stored(1) == Self.noon + 1000)
        #expect(stored(2) == nil && stored(86_400) == nil)
        #expect(stored(86_401) == Self.noon + 86_401_000)
        #expect(stored(86_402, step: 9000) == nil)
        #expect(stored(86_403, step: 11_000) == Self.noon + 86_414_000)
        #expect(stored(86_404, step: 11_000, isLast: true) == Self.noon + 86_415_000)
    }

    // MARK: Files

    @Test func readsHardwareClock() throws {
        let directory = try TemporaryDirectory()
        let clocks = directory.path("rtc")
        func read(deviceTree: String? = nil) -> HardwareClock {
            HardwareClock.read(in: clocks, deviceTree: deviceTree ?? directory.path("none"))
        }
        func add(_ name: String, _ files: [String: String]) throws {
            try FileManager.default.createDirectory(
                atPath: "\(clocks)/\(name)", withIntermediateDirectories: true)
            for (file, text) in files { try directory.write(text, to: "rtc/\(name)/\(file)") }
        }
        #expect(read() == .host && read(deviceTree: directory.path) == .absent)
        // In a container, the link to the device tree leads nowhere.
        try FileManager.default.createSymbolicLink(
            atPath: directory.path("tree"), withDestinationPath: "/sys/firmware/no-such-tree")
        #expect(read(deviceTree: directory.path("tree")) == .absent)
        try add("rtc0", ["hctosys": "0\n"])
        #expect(read() == .unreadable && read(deviceTree: directory.path) == .unreadable)
        try add("rtc0", ["since_epoch": "12\n"])
        #expect(read() == .time(12))
        try add("rtc1", ["hctosys": "1\n", "since_epoch": "1795435200\n"])
        #expect(read() == .time(1_795_435_200))
        try add("rtc1", ["since_epoch": "what\n"])
        #expect(read() == .unreadable)
    }
}
