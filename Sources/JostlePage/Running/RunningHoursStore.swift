internal import JostleRuntime
internal import LinuxSystem
internal import MotionCore
internal import StateStorage

/// The running hours with their file, which is written at most once a minute and at the end.
final class RunningHoursStore {
    /// Seconds between two writes.
    private static let period = 60.0
    static let name = "page-running"

    var hours: RunningHours
    private let directory: StateDirectory
    private let writer = StateWriter()
    private let log: Log
    private var nextWrite: Timestamp
    private var written = ""
    private var lastFault: String?

    /// Reads the file of a directory. A damaged one is renamed, and counting begins anew.
    init(directory path: String, log: Log, at now: Timestamp, milliseconds: Int64) {
        directory = StateDirectory(path: path)
        self.log = log
        nextWrite = now.advanced(bySeconds: RunningHoursStore.period)
        let day = LocalDay(milliseconds: milliseconds)
        hours = RunningHours(day, at: now, milliseconds: milliseconds)
        let file = directory.path(of: RunningHoursStore.name)
        switch directory.read(RunningHoursStore.name, limit: RunningHours.maximumBytes) {
        case .none: break
        case .failed(let failure): log.warning("the running hours of today are lost: \(file): \(failure)")
        case .text(let text):
            do {
                hours = try RunningHours(reading: text, name: file, day, at: now, milliseconds: milliseconds)
            } catch {
                let name = directory.setAside(RunningHoursStore.name)
                log.warning(
                    "the running hours of today are lost: \(error)" + (name.map { "; the file is now \($0)" } ?? ""))
            }
        }
    }

    /// Takes the time, and writes the file if that is due. Returns whether another day has begun, and whether a minute has
    /// passed.
    func advance(at now: Timestamp, milliseconds: Int64) -> (isNewDay: Bool, isMinute: Bool) {
        let isNewDay = hours.advance(
            to: LocalDay(milliseconds: milliseconds), at: now, milliseconds: milliseconds)
        let isMinute = now >= nextWrite
        if isMinute {
            nextWrite = now.advanced(bySeconds: RunningHoursStore.period)
            write(at: now, milliseconds: milliseconds)
            report()
        }
        return (isNewDay, isMinute)
    }

    private func write(at now: Timestamp, milliseconds: Int64) {
        let text = hours.text(at: now, milliseconds: milliseconds)
        guard text != written else { return }
        written = text
        writer.write(Array(text.utf8), to: directory.path(of: RunningHoursStore.name))
    }

    /// Logs once that the file cannot be written. The writer tries again.
    private func report() {
        let fault = writer.faults.first.map { "running hours: \($0)" }
        if let fault, fault != lastFault { log.warning(fault) }
        lastFault = fault
    }

    /// Writes the file and waits for the disk, for two seconds at most.
    func finish(at now: Timestamp, milliseconds: Int64) {
        write(at: now, milliseconds: milliseconds)
        if !writer.finish(within: 2) { log.warning("the running hours of the last minute could not be written") }
    }
}
