internal import CLinuxSystem
internal import Glibc
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem
package import MotionCore

/// The readings of all clocks at one moment.
package struct ClockReading: Equatable, Sendable {
    /// The boot id, which qualifies `monotonic`.
    package var boot: String

    /// The time since boot, including time in suspend: CLOCK_BOOTTIME. It times the samples, the loop's deadlines, and ages,
    /// also those that outlast the program.
    package var monotonic: Timestamp

    /// Milliseconds since 1970, possibly wrong: see `isSet`.
    package var wall: Int64

    /// Whether the wall clock can be trusted: see `ClockTrust`.
    package var isSet: Bool

    /// The current reading of this machine's clocks. The wall clock is trusted unless `isSet` is false: see
    /// `MachineClocks.read`.
    package static func now(isSet: Bool = true) -> ClockReading {
        let monotonic = WallClock.monotonic
        return ClockReading(
            boot: WallClock.boot, monotonic: monotonic, wall: WallClock.milliseconds(at: monotonic), isSet: isSet)
    }
}

/// The clock that keeps the time while the machine is off.
enum HardwareClock: Equatable, Sendable {
    /// The machine has one, and this is its time, seconds since 1970. Clocks that run in local time count as if that
    /// were UTC.
    case time(Int64)
    /// The machine has one that cannot be read. Many drivers refuse to read a clock whose battery is empty.
    case unreadable
    /// A board has none: it starts with a time from a file, which looks valid.
    case absent
    /// A container or a virtual machine without one of its own: the host keeps the time.
    case host

    /// Reads the clock from which the kernel set its time at the start (`hctosys`), or else the first one.
    ///
    /// This may take a millisecond, because such a clock is often an I2C chip.
    static func read(in directory: String = "/sys/class/rtc", deviceTree: String = "/proc/device-tree") -> HardwareClock
    {
        let paths: [String] = (0..<8).map { "\(directory)/rtc\($0)" }
        let clocks = paths.filter { access($0, F_OK) == 0 }
        guard let clock = clocks.first(where: { line(of: "\($0)/hctosys") == "1" }) ?? clocks.first else {
            // The link is there even in a container that does not see what it leads to.
            return faccessat(AT_FDCWD, deviceTree, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? .absent : .host
        }
        guard let time = line(of: "\(clock)/since_epoch").flatMap({ Int64($0) }) else { return .unreadable }
        return .time(time)
    }

    private static func line(of path: String) -> String? {
        FileContents.text(ofOptional: path, limit: 64).map { String($0.prefix { $0 != "\n" }) }
    }
}

/// The local time of day.
enum LocalTime {
    /// The start of 2025, seconds since 1970. An earlier clock was never set: boards without a battery start in the
    /// past.
    private static let earliestCredible = 1_735_689_600

    /// Minutes since midnight in the system's time zone, or in that of `TZ`; `nil` if the clock was never set.
    ///
    /// Like a wall clock, it skips an hour when summer time begins and repeats one when it ends. It rereads the time
    /// zone on every call, so only one thread may call it (tzset(3), localtime_r(3)).
    static func minuteOfDay(at seconds: Int = now) -> Int? {
        guard seconds >= earliestCredible else { return nil }
        tzset()
        var instant = time_t(seconds)
        var local = tm()
        guard localtime_r(&instant, &local) != nil else { return nil }
        return Int(local.tm_hour) * 60 + Int(local.tm_min)
    }

    /// Seconds until the next minute begins, plus a margin, because time(2) may lag by a kernel tick.
    static var secondsToNextMinute: Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(60 - time.tv_sec % 60) - Double(time.tv_nsec) * 1e-9 + 0.05
    }

    /// Seconds since 1970.
    static var now: Int { time(nil) }
}

/// Decides which gestures are silenced at a time of day. It has no clock and no thread; the agent calls it every
/// minute.
struct QuietHours {
    /// The quiet hours of each gesture.
    var spans: [GestureKind: [DailySpan]]

    /// The gestures that are silenced now.
    private(set) var silenced: Set<GestureKind> = []

    init(_ spans: [GestureKind: [DailySpan]]) {
        self.spans = spans
    }

    /// The built-in gestures among them, and the names of the learned ones.
    var silencedGestures: GestureSet {
        silenced.reduce(into: []) { if $1.name == nil { $0.insert(GestureSet($1.gesture)) } }
    }
    var silencedNames: Set<GestureName> { Set(silenced.compactMap(\.name)) }

    /// Whether there are no quiet hours and no gesture is still silenced.
    var isEmpty: Bool { spans.isEmpty && silenced.isEmpty }

    /// Updates the silenced gestures; returns them if they changed, else `nil`.
    ///
    /// If the clock was never set, nothing is silenced: an unwanted gesture is noticed, but one that is missing without
    /// visible reason is hard to explain.
    mutating func change(atMinute minute: Int?) -> Set<GestureKind>? {
        var now: Set<GestureKind> = []
        if let minute {
            for (gesture, spans) in spans where spans.contains(where: { $0.contains(minute: minute) }) {
                now.insert(gesture)
            }
        }
        guard now != silenced else { return nil }
        silenced = now
        return now
    }
}
