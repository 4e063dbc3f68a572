internal import Glibc
internal import LinuxSystem

/// The clock that keeps the time while the machine is off.
enum HardwareClock: Equatable, Sendable {
    /// The machine has one, and this is its time, seconds since 1970. Clocks that run in local time count as if that
    /// were UTC.
    case time(Int64)
    /// The machine has one that cannot be read. Many drivers refuse to read a clock whose battery is empty.
    case unreadable
    /// A board has none: it starts with a time from a file, which looks valid.
    case absent
    /// A container or a virtual machine without one of its own: the host keeps the time.
    case host

    /// Reads the clock from which the kernel set its time at the start (`hctosys`), or else the first one.
    ///
    /// This may take a millisecond, because such a clock is often an I2C chip.
    static func read(in directory: String = "/sys/class/rtc", deviceTree: String = "/proc/device-tree") -> HardwareClock
    {
        let paths: [String] = (0..<8).map { "\(directory)/rtc\($0)" }
        let clocks = paths.filter { access($0, F_OK) == 0 }
        guard let clock = clocks.first(where: { line(of: "\($0)/hctosys") == "1" }) ?? clocks.first else {
            // The link is there even in a container that does not see what it leads to.
            return faccessat(AT_FDCWD, deviceTree, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? .absent : .host
        }
        guard let time = line(of: "\(clock)/since_epoch").flatMap({ Int64($0) }) else { return .unreadable }
        return .time(time)
    }

    private static func line(of path: String) -> String? {
        FileContents.text(ofOptional: path, limit: 64).map { String($0.prefix { $0 != "\n" }) }
    }
}
