internal import Glibc
internal import JostleMessages
internal import StateStorage

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
        synchronisation.isSynchronised(sinceBoot: clocks.sinceBoot, wall: clocks.wall)
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
