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
        do {
            // One of them reads the directory.
            return try DirectoryContents.names("/proc/self/fd").count - 1
        } catch {
            return nil
        }
    }
}

/// The memory of this machine: /proc/meminfo, proc_meminfo(5).
package enum MemoryInfo {
    /// The file's text; empty if it cannot be read.
    package static var text: String { FileContents.text(ofOptional: "/proc/meminfo", limit: 1 << 14) ?? "" }

    /// A value as it is written there, with its unit: `24684096 kB`; `nil` if there is none of this name.
    package static func value(of name: String, in text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
}

/// The number of file descriptors that this process may have open: getrlimit(2).
package enum DescriptorLimit {
    /// The limit; `nil` if there is none (`RLIM_INFINITY`, which does not import).
    package static var current: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur != rlim_t.max
        else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the limit as far as the process may: setrlimit(2).
    ///
    /// - Returns: the limit.
    package static func raise() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return Int(sysconf(Int32(_SC_OPEN_MAX))) }
        if limit.rlim_cur < limit.rlim_max {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if setrlimit(resource, &raised) == 0 { limit = raised }
        }
        return Int(clamping: limit.rlim_cur)
    }
}
