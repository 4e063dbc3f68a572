internal import CSystemd
internal import Glibc
internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import StateStorage
internal import Synchronization

/// Whether a program keeps the system clock synchronised.
///
/// The kernel knows, but the sandbox of the service forbids to ask it, because the same system call sets the clock. Then
/// systemd's time service is asked, on a thread of its own: seldom, since the question starts that service.
final class ClockSynchronisation: Sendable {
    /// The questions, which tests replace.
    struct Sources: Sendable {
        /// The kernel's answer, or the mark of timesyncd; `nil` if neither is available.
        var quick: @Sendable () -> Bool? = { WallClock.synchronisation }
        /// The answer of the time service, which may block; `nil` if there is none.
        var slow: @Sendable () -> Bool? = { TimeService.isClockSynchronised() }
        /// Runs work that may block; false if that is not possible now.
        var run: @Sendable (@escaping @Sendable () -> Void) -> Bool = { work in
            guard let thread = WorkerThread(name: "time service", work) else { return false }
            // Nobody waits for it, not even at the end of the program.
            thread.join(within: 0)
            return true
        }
    }

    /// What is known from the kernel and from the time service.
    private struct Knowledge {
        /// The kernel's answer, and until when it counts.
        var quick: (answer: Bool?, until: Timestamp)?
        var isSynchronised = false
        var isAsking = false
        /// When it is asked next, and how long after that again.
        var due: Timestamp?
        var pause = ClockSynchronisation.shortestPause
        /// Wall-clock time without the time since boot, ms, at the last call.
        var offset: Int64?
    }

    /// Seconds between two questions while the clock is not synchronised: first short, then longer.
    private static let shortestPause = 5.0
    private static let longestPause = 300.0
    /// Seconds for which the kernel's answer counts: the agent reads the clock many times a second.
    private static let quickPause = 5.0
    /// Seconds between two questions while it is.
    private static let confirmationPause = 3600.0
    /// The change of the offset that is a step of the clock, ms.
    private static let step: Int64 = 1000

    private let sources: Sources
    private let knowledge = Mutex(Knowledge())

    init(_ sources: Sources = Sources()) {
        self.sources = sources
    }

    /// Whether the clock is synchronised, as far as it is known. Does not block.
    ///
    /// A step of the clock is a reason to ask soon, and the kernel at once: a time service sets the clock when it has got the
    /// time.
    func isSynchronised(sinceBoot now: Timestamp, wall: Int64) -> Bool {
        let offset = wall - now.nanoseconds / 1_000_000
        let (answer, mustAsk) = knowledge.withLock { knowledge -> (Bool, Bool) in
            if let old = knowledge.offset, abs(old - offset) > Self.step {
                knowledge.quick = nil
                knowledge.pause = Self.shortestPause
                knowledge.due = now.advanced(bySeconds: Self.shortestPause)
            }
            knowledge.offset = offset
            if knowledge.quick.map({ now >= $0.until }) ?? true {
                knowledge.quick = (sources.quick(), now.advanced(bySeconds: Self.quickPause))
            }
            if let answer = knowledge.quick?.answer { return (answer, false) }
            guard !knowledge.isAsking, knowledge.due.map({ now >= $0 }) ?? true else {
                return (knowledge.isSynchronised, false)
            }
            knowledge.isAsking = true
            return (knowledge.isSynchronised, true)
        }
        guard mustAsk else { return answer }
        let hasStarted = sources.run { [self] in take(sources.slow() ?? false, at: now) }
        if !hasStarted { take(answer, at: now) }
        return answer
    }

    private func take(_ isSynchronised: Bool, at start: Timestamp) {
        knowledge.withLock { knowledge in
            knowledge.isAsking = false
            knowledge.isSynchronised = isSynchronised
            let pause = isSynchronised ? Self.confirmationPause : knowledge.pause
            knowledge.pause = isSynchronised ? Self.shortestPause : min(2 * knowledge.pause, Self.longestPause)
            knowledge.due = start.advanced(bySeconds: pause)
        }
    }
}

/// systemd's time service, asked over D-Bus: org.freedesktop.timedate1(5).
package enum TimeService {
    /// Whether the system clock is synchronised, by whatever program: its property `NTPSynchronized`.
    ///
    /// Blocks for at most some seconds.
    /// - Returns: `nil` if there is no answer, for example because the machine has no D-Bus.
    package static func isClockSynchronised() -> Bool? {
        var bus: OpaquePointer?
        guard sd_bus_open_system(&bus) >= 0 else { return nil }
        defer { sd_bus_flush_close_unref(bus) }
        // The service may have to be started first.
        _ = sd_bus_set_method_call_timeout(bus, 5_000_000)
        // A D-Bus boolean is an int in C.
        var isSynchronised: Int32 = 0
        let code = sd_bus_get_property_trivial(
            bus, "org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.timedate1",
            "NTPSynchronized", nil, CChar(UInt8(ascii: "b")), &isSynchronised)
        return code >= 0 ? isSynchronised != 0 : nil
    }
}

/// The clocks of this machine, with what is known about whether the wall clock is right.
struct MachineClocks {
    private var trust: ClockTrust

    private let synchronisation = ClockSynchronisation()

    /// The doubt that was logged last.
    private var logged: ClockTrust.Doubt?

    /// Starts with the last time known to be right, from a file.
    init(_ directory: StateDirectory) {
        trust = ClockTrust(known: EventTime(lastKnownIn: directory))
    }

    /// Reads all clocks.
    mutating func read() -> ClockReading {
        let clocks = ClockReading.now(isSet: false)
        return judge(clocks, isSynchronised: isSynchronised(at: clocks))
    }

    /// Whether a program keeps the wall clock synchronised.
    func isSynchronised(at clocks: ClockReading = .now(isSet: false)) -> Bool {
        synchronisation.isSynchronised(sinceBoot: clocks.monotonic, wall: clocks.wall)
    }

    /// A reading with the judgement whether its wall clock can be trusted.
    mutating func judge(_ clocks: ClockReading, isSynchronised: Bool) -> ClockReading {
        var clocks = clocks
        clocks.isSet = trust.isSet(clocks, isSynchronised: isSynchronised) { HardwareClock.read() }
        return clocks
    }

    /// A line about the trust in the wall clock; `nil` if nothing has changed.
    mutating func logLine() -> String? {
        guard trust.doubt != logged else { return nil }
        logged = trust.doubt
        guard let logged else { return "the time can be trusted now" }
        return "the time may be wrong until the clock is synchronised: \(logged)"
    }

    /// The contents of the file with the last known time, if it should be written: see `ClockTrust.timeToStore`.
    mutating func contentsToStore(_ clocks: ClockReading, isLast: Bool = false) -> [UInt8]? {
        trust.timeToStore(clocks, isLast: isLast)?.fileContents
    }
}

extension EventTime {
    private static let title = "jostle last time 1"

    /// The file's contents: a title, then the boot id, the nanoseconds since boot and the milliseconds since 1970.
    fileprivate var fileContents: [UInt8] {
        Array("\(EventTime.title)\n\(boot) \(sinceBoot.nanoseconds) \(wall)\n".utf8)
    }

    /// Reads the last known time; `nil` if there is no file, or if it is damaged.
    init?(lastKnownIn directory: StateDirectory) {
        guard case .text(let text) = directory.read(StateFile.lastTime.rawValue, limit: 256) else { return nil }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == EventTime.title[...], lines[2].isEmpty else { return nil }
        let fields = lines[1].split(separator: " ", omittingEmptySubsequences: false)
        guard fields.count == 3, let sinceBoot = Int64(fields[1]), let wall = Int64(fields[2]) else { return nil }
        self.init(stored: String(fields[0]), sinceBoot: sinceBoot, wall: wall, isClockSet: true)
    }
}
