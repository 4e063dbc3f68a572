internal import Glibc
internal import JostleAgent
internal import JostleRuntime
internal import LinuxSensors
internal import LinuxSystem

/// Examines the board itself: clock, disk and memory.
enum BoardExamination {
    // MARK: Clock

    /// Whether the clock is right, as far as the board knows.
    static var clock: Finding {
        clock(isSynchronised: WallClock.synchronisation ?? TimeService.isClockSynchronised(), year: year)
    }

    static func clock(isSynchronised: Bool?, year: Int) -> Finding {
        let steps = "sudo timedatectl set-ntp true"
        // This program is newer.
        guard year >= 2024 else {
            return .failed(
                .clock, "the clock says that it is the year \(year): certificates and the times of events are wrong",
                [steps, "Check that the board reaches the internet, or its time server: timedatectl timesync-status"])
        }
        switch isSynchronised {
        case true?: return .ok(.clock, "synchronised")
        case false?:
            return .warning(
                .clock, "nothing keeps the clock synchronised, so that the times of events may be wrong", steps)
        case nil: return .unknown(.clock, "neither the kernel nor systemd says whether the clock is synchronised")
        }
    }

    private static var year: Int {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        return Int(parts.tm_year) + 1900
    }

    // MARK: Disk

    /// The file system of a directory, or of the first one above it that exists; `nil` if it cannot be asked.
    static func disk(of directory: String) -> DiskSpace? {
        var path = directory
        while !DirectoryContents.exists(path), path.contains("/"), path != "/" {
            path = FileContents.parts(of: path).directory
        }
        do { return try DiskSpace(of: path) } catch { return nil }
    }

    /// Whether the state can be stored. An outbox of the default size has at most 32 MiB.
    static func finding(_ disk: DiskSpace?, of directory: String) -> Finding {
        guard let disk else { return .unknown(.disk, "the file system of \(directory) cannot be asked") }
        let steps = ["df -h \(directory)", "sudo journalctl --vacuum-size=50M   # frees what old logs take"]
        let free = "\(decimal(disk.free / 1e6, 0)) MB are free"
        if disk.isReadOnly {
            return .failed(
                .disk,
                "the file system of \(directory) is read-only: events survive no power cut, and settings no restart",
                ["dmesg | grep -i 'read-only\\|i/o error'   # a worn SD card?", "sudo mount -o remount,rw /"])
        }
        if let files = disk.freeFiles, files < 100 {
            return .failed(.disk, "no more files can be created where \(directory) is", ["df -i \(directory)"])
        }
        if disk.free < 1e6 { return .failed(.disk, "the disk of \(directory) is full", steps) }
        if disk.free < 100e6 {
            return .warning(.disk, "only \(free) where \(directory) is", steps[0], steps[1])
        }
        return .ok(.disk, free)
    }

    // MARK: Memory

    /// Whether the agent finds the memory that it needs, at most 40 MB.
    static var memory: Finding { memory(MemoryInfo.text) }

    /// The same from the text of /proc/meminfo.
    static func memory(_ text: String) -> Finding {
        let value = MemoryInfo.value(of: "MemAvailable", in: text)?.split(separator: " ").first
        guard let kilobytes = value.flatMap({ Double($0) }) else {
            return .unknown(.memory, "the kernel does not say how much memory is available")
        }
        let text = "\(decimal(kilobytes / 1000, 0)) MB are available"
        guard kilobytes >= 50_000 else {
            return .warning(.memory, "only \(text)", "ps aux --sort -rss | head   # what uses it")
        }
        return .ok(.memory, text)
    }
}

/// The I2C buses of this board: those that the kernel drives, and those that programs can open.
struct BoardBuses: Equatable {
    /// The buses with a device file.
    var buses: [I2CBus]

    /// The names of the kernel's adapters: `i2c-1`.
    var adapters: [String]

    /// The board's model, if the firmware tells it.
    var model: String?

    static func ofThisMachine() -> BoardBuses {
        // A kernel without I2C has no such directory.
        let devices = DirectoryContents.names(ofOptional: "/sys/bus/i2c/devices")
        return BoardBuses(
            buses: I2CBus.all(), adapters: devices.filter { $0.hasPrefix("i2c-") },
            model: BoardFacts.ofThisMachine().model)
    }

    /// Whether there is a device file.
    func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private var isRaspberryPi: Bool { model?.hasPrefix("Raspberry Pi") ?? false }

    /// Whether I2C is on, and whether the wanted bus exists.
    func finding(wanted: String?) -> Finding {
        if let wanted {
            if exists(wanted) { return .ok(.bus, Self.description(of: I2CBus(path: wanted), path: wanted)) }
            guard !buses.isEmpty else {
                return .failed(.bus, "sensor.bus is \(wanted), and there is no I2C bus at all", enabling)
            }
            let others = buses.map(\.path).joined(separator: ", ")
            return .failed(
                .bus, "sensor.bus is \(wanted), which is not there; there are \(others)",
                ["Correct sensor.bus in the configuration, or remove it: then all buses are searched"],
                status: .configuration)
        }
        guard !buses.isEmpty else {
            return .failed(.bus, "there is no I2C bus that a program can open: \(reason)", enabling)
        }
        return .ok(.bus, buses.map { Self.description(of: $0, path: $0.path) }.joined(separator: ", "))
    }

    private var reason: String {
        adapters.isEmpty
            ? "I2C is switched off" : "the kernel has \(adapters.joined(separator: ", ")), but i2c-dev is not loaded"
    }

    /// How to switch I2C on.
    private var enabling: [String] {
        let load = "sudo modprobe i2c-dev   # now; the package loads it at every start"
        guard adapters.isEmpty else { return [load] }
        if isRaspberryPi { return ["sudo raspi-config nonint do_i2c 0", load] }
        return [
            "Raspberry Pi: sudo raspi-config nonint do_i2c 0",
            "Other boards: enable the bus in the device tree, with an overlay of the board's maker",
            load,
        ]
    }

    private static func description(of bus: I2CBus?, path: String) -> String {
        let clock = bus?.clockFrequency.map { "\($0 / 1000) kHz" }
        let details = [bus?.name, clock].compactMap { $0 }.joined(separator: ", ")
        return details.isEmpty ? path : "\(path) (\(details))"
    }
}
