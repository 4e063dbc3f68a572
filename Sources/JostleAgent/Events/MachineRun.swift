internal import JostleMessages
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
