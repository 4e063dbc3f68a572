internal import Glibc
internal import LinuxSystem
package import MotionCore

/// Queries of /dev, /proc and /sys. A file that cannot be read counts as absent; it is never an error.
enum SystemFiles {
    /// The first line of a file; `nil` if the file cannot be read or is empty.
    static func line(of path: String, limit: Int = 256) -> String? {
        guard let text = FileContents.text(ofOptional: path, limit: limit) else { return nil }
        let line = String(text.unicodeScalars.prefix { $0 != "\n" })
        return line.isEmpty ? nil : line
    }

    /// The part of a path after the last slash.
    static func lastComponent(of path: String) -> String {
        String(path.split(separator: "/").last ?? "")
    }

    /// A path without its last component.
    static func directory(of path: String) -> String {
        String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex))
    }

    /// The numbers of a directory's entries that are called by this prefix and a number, in order: what the system lists so
    /// are its buses, its GPIO chips, and the devices and triggers of its kernel drivers.
    static func numbers(in directory: String, after prefix: String) -> [Int] {
        DirectoryContents.names(ofOptional: directory).compactMap { number(in: $0, after: prefix) }.sorted()
    }

    /// The digits after a prefix, as a number; `nil` if the text has any other form.
    static func number(in text: String, after prefix: String) -> Int? {
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        // `Int` alone would also accept a sign.
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(digits)
    }
}

/// The kernel's clock that cannot be set and counts in suspend, too: `CLOCK_BOOTTIME`, which counts from the system's start.
///
/// So a sample that was measured before a suspend keeps its time, and a gap is as long as it was.
package struct SystemClock: MonotonicClock, Sendable, BitwiseCopyable {
    /// Creates the clock. All instances show the same time.
    package init() {}

    /// The current time (`clock_gettime`).
    package func now() -> Timestamp { Timestamp(nanoseconds: KernelClock.boot.nanoseconds) }

    /// Blocks the calling thread until `deadline`, across signals (`clock_nanosleep`, absolute). Returns immediately if
    /// the deadline has passed.
    ///
    /// An absolute deadline keeps a periodic loop from drifting by the duration of its own work.
    package static func sleep(until deadline: Timestamp) {
        var time = timespec()
        time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
        time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        while clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}

/// The locations of the system's files; tests use others.
package struct SystemPlaces: Equatable, Sendable {
    /// The directory of device files.
    package var devices: String
    /// The mount point of sysfs.
    package var system: String

    /// Creates the locations; by default those of every Linux system.
    package init(devices: String = "/dev", system: String = "/sys") {
        self.devices = devices
        self.system = system
    }
}
