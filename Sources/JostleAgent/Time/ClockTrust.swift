internal import MotionCore

/// Decides whether the wall clock can be trusted.
///
/// A synchronised clock can, for as long as nothing steps it. Otherwise the time comes from a hardware clock, which may
/// have an empty battery, or from a file, in which case the time resumes where it was left. Such a time looks valid.
/// So it is compared with the hardware clock and with the last time on disk that was known to be right.
struct ClockTrust: Sendable {
    /// Why the wall clock cannot be trusted.
    enum Doubt: Equatable, Sendable, CustomStringConvertible {
        case noHardwareClock
        case hardwareClockUnreadable
        case hardwareClockDiffers
        /// The machine would have started before the last time that an earlier run knew, by this many seconds.
        case earlierThanKnown(seconds: Int64)
        /// The time is before the first version of this program, or far in the future.
        case implausible

        var description: String {
            switch self {
            case .noHardwareClock: "there is no hardware clock"
            case .hardwareClockUnreadable: "the hardware clock cannot be read; its battery may be empty"
            case .hardwareClockDiffers: "the hardware clock shows another time; its battery may be empty"
            case .earlierThanKnown(let seconds):
                "the machine would have started \(seconds) s before a time that is on disk already"
            case .implausible: "the time is implausible"
            }
        }
    }

    /// The last time known to be right; `nil` if none is known.
    private var known: EventTime?

    /// The latest reading, as the difference between wall-clock time and time since boot, and the doubt about it.
    private var latest: (offset: Int64, sinceBoot: Timestamp, doubt: Doubt?)?

    /// When the clock was last examined. A doubt is examined again: a hardware clock may become readable, or be set after
    /// the system's.
    private var examined: Timestamp?

    /// The time that was last given to be stored, in this run.
    private var stored: EventTime?

    /// Starts with the last time known to be right.
    init(known: EventTime? = nil) {
        self.known = known
    }

    /// Why the latest reading cannot be trusted; `nil` if it can.
    var doubt: Doubt? { latest?.doubt }

    /// Judges a reading of the clocks, whose `isSet` is ignored.
    ///
    /// `hardwareClock` is called only if necessary: for the first reading, after the clock was stepped, and once a minute
    /// while there is a doubt.
    mutating func isSet(
        _ clocks: ClockReading, isSynchronised: Bool, hardwareClock: () -> HardwareClock
    ) -> Bool {
        let offset = clocks.wall - clocks.monotonic.nanoseconds / 1_000_000
        let isStepped = latest.map { isStep(from: $0.offset, at: $0.sinceBoot, to: offset, at: clocks.monotonic) }
        var doubt: Doubt?
        if isSynchronised {
            doubt = nil
        } else if let latest, isStepped == false, latest.doubt == nil || !isExaminationDue(at: clocks.monotonic) {
            doubt = latest.doubt
        } else {
            doubt = self.doubt(about: clocks, offset, hardwareClock)
            examined = clocks.monotonic
            // Without a step, only the drift of the clock has changed the seconds. A doubt that changes is logged.
            if isStepped == false, case .earlierThanKnown = doubt, case .earlierThanKnown = latest?.doubt {
                doubt = latest?.doubt
            }
        }
        latest = (offset, clocks.monotonic, doubt)
        return doubt == nil
    }

    private func isExaminationDue(at now: Timestamp) -> Bool {
        examined.map { now.seconds(since: $0) >= ClockTrust.examinationInterval } ?? true
    }

    /// Whether the wall clock was set in between. Slewing and drift stay below 0.1 %.
    private func isStep(from offset: Int64, at start: Timestamp, to other: Int64, at end: Timestamp) -> Bool {
        abs(Double(other - offset)) > 1000 + abs(end.seconds(since: start))
    }

    /// Why a clock that is not synchronised cannot be trusted.
    private func doubt(
        about clocks: ClockReading, _ offset: Int64, _ hardwareClock: () -> HardwareClock
    ) -> Doubt? {
        guard clocks.wall > ClockTrust.earliest else { return .implausible }
        if let known {
            if known.boot == clocks.boot {
                let knownOffset = known.wall - known.sinceBoot.nanoseconds / 1_000_000
                if !isStep(from: knownOffset, at: known.sinceBoot, to: offset, at: clocks.monotonic) { return nil }
            } else if offset < known.wall - ClockTrust.tolerance {
                // `offset` is the time at which the machine started.
                return .earlierThanKnown(seconds: (known.wall - offset) / 1000)
            }
        }
        if clocks.wall > (known?.wall ?? ClockTrust.earliest) + ClockTrust.longestAbsence { return .implausible }
        switch hardwareClock() {
        case .host: return nil
        case .absent: return .noHardwareClock
        case .unreadable: return .hardwareClockUnreadable
        case .time(let seconds): return agrees(seconds, clocks.wall) ? nil : .hardwareClockDiffers
        }
    }

    /// Whether a hardware clock shows the time, in UTC or in local time, which differs by whole quarters of an hour.
    private func agrees(_ seconds: Int64, _ wall: Int64) -> Bool {
        let difference = abs(Double(seconds) - Double(wall) / 1000)
        let quarters = (difference / 900).rounded()
        return quarters <= 15 * 4 && abs(difference - quarters * 900) <= 60
    }

    /// The time to store as the last one known to be right; `nil` if what is on disk will do.
    ///
    /// It is stored when the clock is found to be right, once a day, and when the clock was set. With `isLast` it is
    /// stored if it is right.
    mutating func timeToStore(_ clocks: ClockReading, isLast: Bool = false) -> EventTime? {
        guard clocks.isSet else { return nil }
        let time = EventTime(clocks.monotonic, clocks)
        if !isLast, let stored {
            let age = time.sinceBoot.seconds(since: stored.sinceBoot)
            let drift = abs(Double(time.wall - stored.wall) / 1000 - age)
            guard age >= ClockTrust.storingInterval || drift > ClockTrust.storedDrift else { return nil }
        }
        stored = time
        known = time
        return time
    }

    /// 2026-01-01, ms since 1970: an earlier time is wrong, because this program did not exist then.
    private static let earliest: Int64 = 1_767_225_600_000

    /// The longest time between two runs, ms: 20 years.
    private static let longestAbsence: Int64 = 20 * 31_557_600_000

    /// The error that the time at the start of the machine may have, ms. Hardware clocks show whole seconds, and drift.
    private static let tolerance: Int64 = 10_000

    /// Seconds between two examinations of a clock that is in doubt.
    private static let examinationInterval = 60.0

    /// Seconds between two writes of the time, and the drift, in seconds, after which it is written at once.
    private static let storingInterval = 86_400.0
    private static let storedDrift = 10.0
}
