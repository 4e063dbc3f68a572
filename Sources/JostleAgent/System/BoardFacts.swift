internal import Glibc
internal import LinuxSystem

/// The board's model and serial number, from the device tree or, on a PC, from the firmware (DMI).
package struct BoardFacts: Equatable, Sendable {
    /// For example `Raspberry Pi Zero 2 W Rev 1.0`.
    package var model: String?

    /// The manufacturer's serial number of this board.
    package var serial: String?

    /// The facts about this machine.
    package static func ofThisMachine() -> BoardFacts {
        let trees = ["/proc/device-tree", "/sys/firmware/devicetree/base"]
        let firmware = "/sys/class/dmi/id"
        return BoardFacts(
            model: first(of: trees.map { "\($0)/model" } + ["\(firmware)/product_name"]),
            serial: first(of: trees.map { "\($0)/serial-number" } + ["\(firmware)/product_serial"]))
    }

    /// The first meaningful text in these files.
    private static func first(of paths: [String]) -> String? {
        for path in paths {
            if let text = FileContents.text(ofOptional: path, limit: 256), let name = cleaned(text) { return name }
        }
        return nil
    }

    /// A cleaned-up firmware text; `nil` if it is empty or one of the usual placeholders.
    static func cleaned(_ text: String) -> String? {
        // Device-tree properties end with a NUL byte.
        let line = text.unicodeScalars.prefix { $0 != "\0" && $0 != "\n" }
        let words = String(String.UnicodeScalarView(line)).split(separator: " ", omittingEmptySubsequences: true)
        let name = words.joined(separator: " ")
        let isFilledIn = !["", "0", "None", "Default string", "Not Specified"].contains(name)
        return isFilledIn && !name.hasPrefix("To Be Filled") && !name.hasPrefix("To be filled") ? name : nil
    }
}

/// The resource usage of this process: getrusage(2), /proc/self/statm.
package enum ProcessUsage {
    /// Processor time used since the start, s.
    package static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) * 1e-6
        return user + Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) * 1e-6
    }

    /// Resident memory, bytes; 0 if unknown.
    package static var residentMemory: Int {
        guard let fields = FileContents.text(ofOptional: "/proc/self/statm", limit: 256)?.split(separator: " "),
            fields.count > 1,
            let pages = Int(fields[1])
        else { return 0 }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
