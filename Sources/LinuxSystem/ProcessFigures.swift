internal import Glibc

/// What the kernel knows about this process: /proc/self/stat, proc_pid_stat(5).
package struct ProcessFigures: Equatable, Sendable {
    /// Processor time, user and system, s.
    package var processorTime: Double
    /// When it started, seconds since 1970.
    package var start: Double
    /// The address space, and what of it is in memory, bytes.
    package var virtualMemory: Double
    package var residentMemory: Double

    /// Reads them now; `nil` if /proc is not there.
    package static func read() -> ProcessFigures? {
        guard let text = FileContents.text(ofOptional: "/proc/self/stat", limit: 4096) else { return nil }
        return ProcessFigures(
            text, bootTime: bootTime, ticks: Double(sysconf(Int32(_SC_CLK_TCK))),
            pageSize: Double(sysconf(Int32(_SC_PAGESIZE))))
    }

    /// Reads the text of the file.
    init?(_ text: String, bootTime: Double, ticks: Double, pageSize: Double) {
        // The second field, the name in parentheses, may contain anything.
        guard let name = text.lastIndex(of: ")"), ticks > 0 else { return nil }
        let fields = text[text.index(after: name)...].split(separator: " ").map { Double($0) }
        func field(_ number: Int) -> Double? { number - 3 < fields.count ? fields[number - 3] : nil }
        guard let user = field(14), let system = field(15), let begin = field(22), let virtual = field(23),
            let resident = field(24)
        else { return nil }
        processorTime = (user + system) / ticks
        start = bootTime + begin / ticks
        virtualMemory = virtual
        residentMemory = resident * pageSize
    }

    /// When the machine started, seconds since 1970, by the present setting of the clock: clock_gettime(2). A service may
    /// not see /proc/stat, which has it too. Whole seconds, because the clock is adjusted all the time.
    private static var bootTime: Double { (Double(KernelClock.wall.offset(from: .boot)) / 1e9).rounded() }

    /// The number of open file descriptors.
    package static var openDescriptors: Int? {
        do throws(SystemFailure) {
            // One of them reads the directory.
            return try DirectoryContents.names("/proc/self/fd").count - 1
        } catch {
            return nil
        }
    }
}
