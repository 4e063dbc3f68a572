internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleMessages
internal import LinuxSystem

/// Facts about this board.
extension SupportReport {
    /// The system and the board: uname(2), os-release(5), the device tree.
    mutating func addBoard() {
        var rows = [
            ("distribution", SupportReport.distribution() ?? "unknown"),
            ("kernel", SupportReport.kernel()),
            ("model", BoardFacts.ofThisMachine().model ?? "unknown: there is no device tree and no DMI"),
            ("processors", "\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))"),
        ]
        if let text = SupportReport.line(of: "/proc/uptime")?.split(separator: " ").first, let uptime = Double(text) {
            rows.append(("up", SupportReport.duration(uptime)))
        }
        if let load = SupportReport.line(of: "/proc/loadavg") { rows.append(("load", load)) }
        for name in ["MemTotal", "MemAvailable", "SwapTotal", "SwapFree"] {
            if let value = MemoryInfo.value(of: name, in: MemoryInfo.text) { rows.append((name, value)) }
        }
        if let text = SupportReport.line(of: "/sys/class/thermal/thermal_zone0/temp"), let value = Double(text) {
            rows.append(("temperature", "\(decimal(value / 1000, 1)) °C"))
        }
        // Bit 0: the voltage is too low now; bit 16: it was.
        if let text = SupportReport.line(of: "/sys/devices/platform/soc/soc:firmware/get_throttled") {
            rows.append(("throttled", "0x\(text)"))
        }
        add("Board", rows)
    }

    /// How much room is left.
    mutating func addDisk(_ directories: [String]) {
        add(
            "Disk",
            directories.map { directory in
                do throws(SystemFailure) {
                    let space = try DiskSpace(of: directory)
                    let files = space.freeFiles.map { ", \($0) more files" } ?? ""
                    let room = "\(decimal(space.free / 1e6, 0)) of \(decimal(space.total / 1e6, 0)) MB free"
                    return (directory, "\(room)\(files)\(space.isReadOnly ? ", read-only" : "")")
                } catch {
                    return (directory, "\(error)")
                }
            })
    }

    /// The devices of sensors, and what the kernel knows on the buses.
    mutating func addSensors() {
        var rows: [[String]] = []
        for name in SupportReport.names(in: "/dev") {
            let kinds = ["i2c-", "iio:device", "gpiochip"]
            guard kinds.contains(where: name.hasPrefix), let row = SupportReport.row("/dev/\(name)", "/dev/\(name)")
            else { continue }
            let title = SupportReport.line(of: "/sys/class/i2c-dev/\(name)/name") ?? ""
            rows.append([row[0], row[1], row[4], title])
        }
        var text = rows.isEmpty ? "no /dev/i2c-*, /dev/iio:device* or /dev/gpiochip*\n" : TextTable(rows).description
        for (directory, title) in [("/sys/bus/i2c/devices", "of kernel drivers"), ("/sys/bus/iio/devices", "IIO")] {
            for name in SupportReport.names(in: directory) {
                let device = SupportReport.line(of: "\(directory)/\(name)/name") ?? "without a name"
                text += "\(title): \(name) \(device)\n"
            }
        }
        add("Sensor devices", text)
    }

    /// Who runs this, and what the service may do: getgrouplist(3).
    mutating func addUsers() {
        let mine = Accounts.user(geteuid())
        add(
            "Users and groups",
            [("this command", "\(mine): \(SupportReport.groups(of: mine, geteuid(), getegid()))")]
                + [SupportReport.serviceUser()])
    }

    /// Whether the clock can be trusted.
    mutating func addClock(_ signals: SignalWaiter) throws(CommandFailure) {
        let now = WallClock.milliseconds(at: WallClock.monotonic)
        let state = WallClock.synchronisation.map { $0 ? "synchronised" : "not synchronised" } ?? "unknown"
        add("Clock", [("now", WallClock.dateAndTime(milliseconds: now)), ("kernel", state)])
        try add("Time service", running: "timedatectl", ["show"], signals)
    }

    // MARK: Parts

    private static func distribution() -> String? {
        let text = FileContents.text(ofOptional: "/etc/os-release", limit: 1 << 14) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        return line.map { $0.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" } }
    }

    private static func kernel() -> String {
        var names = utsname()
        guard uname(&names) == 0 else { return systemMessage(errno) }
        func text<T>(_ value: T) -> String {
            withUnsafeBytes(of: value) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(names.sysname)) \(text(names.release)) \(text(names.machine))"
    }

    private static func serviceUser() -> (String, String) {
        guard let entry = getpwnam("jostle") else { return ("jostle", "there is no such user") }
        return ("jostle", groups(of: "jostle", entry.pointee.pw_uid, entry.pointee.pw_gid))
    }

    private static func groups(of user: String, _ id: uid_t, _ primary: gid_t) -> String {
        guard let ids = Accounts.groups(of: user, primary: primary) else { return "more than 256 groups" }
        return ids.map(Accounts.group).joined(separator: ", ")
    }

    private static func names(in directory: String) -> [String] {
        do throws(SystemFailure) { return try DirectoryContents.names(directory) } catch { return [] }
    }

    /// The first line of a small file; a property of the device tree ends with a NUL byte.
    private static func line(of path: String) -> String? {
        guard let text = FileContents.text(ofOptional: path, limit: 4096) else { return nil }
        let line = String(String.UnicodeScalarView(text.unicodeScalars.prefix { $0 != "\0" && $0 != "\n" }))
        return line.isEmpty ? nil : line
    }
}
