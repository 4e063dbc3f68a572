internal import Glibc
internal import LinuxSystem

/// The resource usage of this process: getrusage(2), /proc/self/statm.
struct ProcessUsage {
    /// Processor time used since the start, s.
    static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) * 1e-6
        return user + Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) * 1e-6
    }

    /// Resident memory, bytes; 0 if unknown.
    static var residentMemory: Int {
        guard let fields = FileContents.text(ofOptional: "/proc/self/statm", limit: 256)?.split(separator: " "),
            fields.count > 1,
            let pages = Int(fields[1])
        else { return 0 }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
