internal import Documents
internal import JostleMessages
internal import JostleRuntime
internal import MotionCore
internal import StateStorage

/// The run of the machine that carries the board, from the `began` of `vibration` to its end. It outlasts the program and the
/// sensor, so its beginning is kept in a file.
struct MachineRun {
    /// When it began; `nil` if no machine is known to run.
    private var began: EventTime?

    private static let title = "jostle machine run 1"

    /// Reads the file; without a readable file no machine is known to run.
    init(in directory: StateDirectory) {
        guard case .text(let text) = directory.read(StateFile.machineRun.rawValue, limit: 256) else { return }
        let words = text.split(separator: "\n")
        guard words.count == 5, words[0] == MachineRun.title, let sinceBoot = Int64(words[2]),
            let wall = Int64(words[3])
        else { return }
        began = EventTime(stored: String(words[1]), sinceBoot: sinceBoot, wall: wall, isClockSet: words[4] == "set")
    }

    /// Takes an event of `vibration`; returns the new contents of the file, or `nil` if they stay.
    mutating func take(_ event: GestureEvent, at now: ClockReading) -> [UInt8]? {
        guard event.phase == .began else {
            defer { began = nil }
            return began == nil ? nil : []
        }
        let time = EventTime(event.timestamp.advanced(bySeconds: -(event.duration ?? 0)), now)
        began = time
        let clock = time.isClockSet ? "set" : "not set"
        let lines = [MachineRun.title, time.boot, "\(time.sinceBoot.nanoseconds)", "\(time.wall)", clock]
        return Array((lines.joined(separator: "\n") + "\n").utf8)
    }

    /// When it began, or now if that cannot be known, because the board had no time at the beginning or has none now; `nil`
    /// if no machine is known to run.
    func start(at now: ClockReading) -> Timestamp? {
        began.map { now.monotonic.advanced(bySeconds: -max(0, $0.age(at: now) ?? 0)) }
    }
}

/// The last runs of the machine, and since when it deviates from them. Kept in a file.
struct MachineLog {
    struct Run: Equatable {
        /// When it ended, milliseconds since 1970.
        var time: Int64
        var duration: Double
        var longestPause: Double
        var level: Double
        var peak: Double
        var hasSpun: Bool
    }

    /// That a deviation has begun or ended.
    struct Change {
        var deviation: MachineDeviation
        var began: Bool
        var since: Int64?
        /// The new contents of the file.
        var content: [UInt8]
    }

    /// The most runs that are kept.
    static let mostRuns = 50

    private static let limit = 16_384

    private(set) var runs: [Run] = []
    private var deviation: MachineDeviation?
    private var deviatesSince: Int64?
    /// The last report, and the payload for it.
    private var last: MachineReport?
    private(set) var state: JSONObject?

    /// Reads the file; without a readable file, no run is known.
    init(in directory: StateDirectory) {
        guard case .text(let text) = directory.read(StateFile.machineRuns.rawValue, limit: MachineLog.limit),
            let file = try? JSONReader.read(Array(text.utf8), source: .message("runs"))
        else { return }
        runs = (file["runs"]?.elements ?? []).suffix(MachineLog.mostRuns).compactMap { Run($0) }
        if let changed = file["changed"], let band = changed["band"]?.integer,
            (1..<Int64(VibrationBands.count)).contains(band), let decibels = changed["decibels"]?.number
        {
            deviation = MachineDeviation(
                band: Int(band), decibels: Float(decibels), since: Timestamp(nanoseconds: 0))
            deviatesSince = changed["since"]?.integer
        }
    }

    /// Whether a report has anything to publish: at rest it comes every ten minutes, and says the same.
    func isNews(_ report: MachineReport) -> Bool {
        guard let last, report.phase == .off, last.phase == .off else { return true }
        return report.isLearning != last.isLearning || report.runs != last.runs || report.deviation != last.deviation
    }

    /// Takes the end of a run; returns the new contents of the file.
    mutating func take(_ event: GestureEvent) -> [UInt8]? {
        guard event.phase == .ended, !event.isAdopted, let duration = event.duration else { return nil }
        runs.append(
            Run(
                time: WallClock.milliseconds(at: event.timestamp), duration: duration,
                longestPause: event.longestPause ?? 0, level: event.level ?? 0, peak: event.peak ?? 0,
                hasSpun: event.hasSpun ?? false))
        if runs.count > MachineLog.mostRuns { runs.removeFirst() }
        return content
    }

    /// Takes a report; returns whether a deviation has begun or ended with it.
    mutating func take(_ report: MachineReport) -> Change? {
        let old = deviation
        let since = deviatesSince
        deviation = report.deviation
        switch (old, deviation) {
        case (nil, let new?):
            deviatesSince = WallClock.milliseconds(at: report.timestamp)
            return Change(deviation: new, began: true, since: deviatesSince, content: content)
        case (let old?, nil):
            deviatesSince = nil
            return Change(deviation: old, began: false, since: since, content: content)
        default: return nil
        }
    }

    /// The payload for a report.
    mutating func payload(
        _ report: MachineReport, _ settings: VibrationSettings, at now: ClockReading, isSimulated: Bool
    ) -> JSONObject {
        last = report
        let time = WallClock.milliseconds(at: report.timestamp)
        let midnight = LocalDay(milliseconds: now.wall).midnight
        let today = runs.filter { $0.time >= midnight }
        let payload = Payloads.machine(
            report, at: time, settings, runsToday: (today.count, today.reduce(0) { $0 + $1.duration }),
            deviatesSince: deviatesSince, isSimulated: isSimulated)
        state = payload
        return payload
    }

    /// The runs, the newest last.
    var listed: [JSONObject] { runs.map(\.object) }

    private var content: [UInt8] {
        var file = JSONObject()
        file.add("runs", listed)
        if let deviation {
            var changed = JSONObject()
            changed.add("band", Int64(deviation.band))
            changed.add("decibels", Double(deviation.decibels), decimals: 1)
            changed.add("since", deviatesSince)
            file.add("changed", changed)
        }
        return file.bytes + [UInt8(ascii: "\n")]
    }
}

extension MachineLog.Run {
    fileprivate init?(_ value: JSONValue) {
        guard let time = value["t"]?.integer, let duration = value["duration"]?.number else { return nil }
        self.init(
            time: time, duration: duration, longestPause: value["longest_pause"]?.number ?? 0,
            level: value["level"]?.number ?? 0, peak: value["peak"]?.number ?? 0,
            hasSpun: value["spun"]?.bool ?? false)
    }

    fileprivate var object: JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("duration", duration, decimals: 0)
        object.add("longest_pause", longestPause, decimals: 0)
        object.add("level", level, decimals: 3)
        object.add("peak", peak, decimals: 3)
        object.add("spun", hasSpun)
        return object
    }
}
