internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem

/// A report for a maintainer: sections of text without secrets, together at most a megabyte.
struct SupportReport {
    /// The longest report, bytes.
    static let maximumBytes = 1 << 20

    /// The longest line, bytes: no message of the agent is longer.
    private static let maximumLine = 1 << 16

    private struct Section {
        let title: String
        let text: String
    }

    let secrets: SecretRemoval
    private var sections: [Section] = []
    /// How many bytes the sections may still have; the rest is for the introduction.
    private var left = SupportReport.maximumBytes - (1 << 13)

    init(secrets: SecretRemoval) {
        self.secrets = secrets
    }

    /// The titles of the sections, in their order.
    var titles: [String] { sections.map(\.title) }

    // MARK: Adding sections

    /// Adds a section. Of a text longer than `limit` bytes, whole lines are left out at the end, or with `keepsEnd` at the
    /// beginning.
    mutating func add(_ title: String, _ text: String, limit: Int = 1 << 15, keepsEnd: Bool = false) {
        // First, because a secret that is cut would not be recognised.
        let clean = secrets.cleaned(
            text.split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "    "))
        var lines = ForeignText.lines(clean).split(separator: "\n", omittingEmptySubsequences: false)
            .map { "    " + SupportReport.shortened($0) }
        while let last = lines.last, last.allSatisfy({ $0 == " " }) { lines.removeLast() }
        var room = min(limit, left - title.utf8.count - 100)
        var kept: [String] = []
        for line in keepsEnd ? lines.reversed() : lines {
            room -= line.utf8.count + 1
            guard room >= 0 else { break }
            kept.append(line)
        }
        let missing = lines.count - kept.count
        if keepsEnd { kept.reverse() }
        if missing > 0 {
            kept.insert("    … \(missing) \(missing == 1 ? "line" : "lines") left out", at: keepsEnd ? 0 : kept.count)
        }
        let section = Section(title: title, text: kept.isEmpty ? "    nothing\n" : kept.map { $0 + "\n" }.joined())
        left -= section.title.utf8.count + section.text.utf8.count + 20
        sections.append(section)
    }

    /// Adds a section with a table of two columns.
    mutating func add(_ title: String, _ rows: [(String, String)]) {
        add(title, TextTable(rows.map { [$0.0, $0.1] }).description)
    }

    /// Adds a section with a message in JSON, over several lines.
    mutating func add(_ title: String, json bytes: [UInt8], limit: Int = 1 << 15) {
        add(title, SupportReport.text(ofJSON: bytes, secrets), limit: limit)
    }

    /// A JSON text over several lines without secrets; text that is no JSON stays as it is.
    static func text(ofJSON bytes: [UInt8], _ secrets: SecretRemoval) -> String {
        do {
            let tree = try JSONReader.read(bytes, source: .message("report"))
            return secrets.cleaned(tree).indentedText()
        } catch {
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func shortened(_ line: Substring) -> String {
        line.utf8.count <= maximumLine ? String(line) : String(line.prefix(maximumLine / 4)) + "…"
    }

    // MARK: The whole

    /// The report as a text with headings, of which each section is indented: readable as it is, and as Markdown.
    func text(_ title: String, made: String) -> String {
        var text = """
            # \(title)

            Made by `jostle support` \(made).
            Read it before you send it. \(SupportReport.promise)


            """
        text += titles.map { "- \($0)\n" }.joined()
        for section in sections { text += "\n## \(section.title)\n\n\(section.text)" }
        return text
    }

    /// What is left out.
    static let promise =
        "Passwords, user names, keys, and the payloads and URLs of actions are left out: "
        + "\(SecretRemoval.mark) stands in their places."
}

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
            rows.append(("up", durationText(uptime)))
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
                do {
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
        for name in DirectoryContents.names(ofOptional: "/dev") {
            let kinds = ["i2c-", "iio:device", "gpiochip"]
            guard kinds.contains(where: name.hasPrefix), let row = SupportReport.row("/dev/\(name)", "/dev/\(name)")
            else { continue }
            let title = SupportReport.line(of: "/sys/class/i2c-dev/\(name)/name") ?? ""
            rows.append([row[0], row[1], row[4], title])
        }
        var text = rows.isEmpty ? "no /dev/i2c-*, /dev/iio:device* or /dev/gpiochip*\n" : TextTable(rows).description
        for (directory, title) in [("/sys/bus/i2c/devices", "of kernel drivers"), ("/sys/bus/iio/devices", "IIO")] {
            for name in DirectoryContents.names(ofOptional: directory) {
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
            [("this command", "\(mine): \(SupportReport.groups(of: mine, getegid()))")]
                + [SupportReport.serviceUser()])
    }

    /// Whether the clock can be trusted.
    mutating func addClock(_ signals: SignalWaiter) throws {
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
        return ("jostle", groups(of: "jostle", entry.pointee.pw_gid))
    }

    private static func groups(of user: String, _ primary: gid_t) -> String {
        guard let ids = Accounts.groups(of: user, primary: primary) else { return "more than 256 groups" }
        return ids.map(Accounts.group).joined(separator: ", ")
    }

    /// The first line of a small file; a property of the device tree ends with a NUL byte.
    private static func line(of path: String) -> String? {
        guard let text = FileContents.text(ofOptional: path, limit: 4096) else { return nil }
        let line = String(String.UnicodeScalarView(text.unicodeScalars.prefix { $0 != "\0" && $0 != "\n" }))
        return line.isEmpty ? nil : line
    }
}

/// The configuration of this board.
extension SupportReport {
    /// The keys that differ from their defaults, with their origins, and the layers in force.
    mutating func addConfiguration(of subject: SupportSubject) {
        let (loaded, stored): (LoadedConfiguration, StoredConfiguration)
        switch subject.configuration {
        case .success(let known): (loaded, stored) = known
        case .failure(let errors): return add("Configuration", SupportReport.lines(of: errors))
        }
        let names = loaded.files.isEmpty ? "none: only the built-in defaults" : loaded.files.joined(separator: ", ")
        var text = "files: \(names)\n"
        if let directory = DropInDirectory(of: subject.file) {
            do {
                for file in try directory.ignoredFiles() { text += "not read, because of its name: \(file)\n" }
            } catch {
                text += "\(directory.path): \(error)\n"
            }
        }
        text +=
            "device id: \(subject.id)\(loaded.settings.device.id == nil ? " (from host name and serial number)" : "")\n"
        text += "\nAll keys that are not here have their built-in defaults.\n"
        add("Configuration", text + values(of: stored.stack))
        add("Layers", SupportReport.layers(of: stored))
    }

    private func values(of stack: ConfigurationStack) -> String {
        let resolution = stack.resolution
        let rows = ConfigurationSchema.keys.compactMap { key -> [String]? in
            guard let origin = resolution.provenance[key.path],
                let value = ConfigurationSchema.value(of: key.path, in: resolution.settings)
            else { return nil }
            let name = key.path.split(separator: ".").last.map(String.init) ?? key.path
            return ["\(key.path):", "\(secrets.cleaned(value, of: name).compactText)  # \(origin)"]
        }
        return TextTable(rows).description
    }

    /// What is above the files, and what of it is not in force.
    private static func layers(of stored: StoredConfiguration) -> String {
        let stack = stored.stack
        var lines = stored.problems
        let keys = stack.layers.flatMap(\.entries).map(\.key)
        lines.append("set over MQTT: \(keys.isEmpty ? "nothing" : keys.joined(separator: ", "))")
        lines += stack.resolution.refused.map { "  not in force: \(line(of: $0))" }
        // A layer without a document has neither.
        let outcomes = stack.resolution.outcomes.filter { $0.chosen != nil || !$0.problems.isEmpty }
        if outcomes.isEmpty { lines.append("layers of the fleet: none") }
        for outcome in outcomes {
            let state = outcome.chosen.map { $0 == 0 ? "in force" : "an earlier one is in force" } ?? "not in force"
            lines.append("layer \(outcome.name): \(state); \(outcome.keys.joined(separator: ", "))")
            lines += outcome.problems.joined().map { "  refused: \(line(of: $0))" }
            if !outcome.ignoredKeys.isEmpty {
                lines.append("  left out: \(outcome.ignoredKeys.joined(separator: ", "))")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func lines(of errors: ConfigurationErrors) -> String {
        switch errors {
        case .invalid(let problems): problems.map { "\(line(of: $0))\n" }.joined()
        case .unreadable(let path, let failure): "\(path): \(failure)\n"
        }
    }

    /// A problem with its key at the end: what follows `mqtt.password:` would be taken for a password. The value is left
    /// out if it may be a secret.
    private static func line(of problem: DocumentProblem) -> String {
        let mayBeSecret =
            problem.path.isEmpty || problem.path.hasPrefix("mqtt") || problem.path.hasPrefix("actions")
        var text = DocumentProblem.escaped("\(problem.position)") + ": "
        if let found = problem.found { text += "\"\(mayBeSecret ? SecretRemoval.mark : found)\" " }
        text += problem.reason
        if let allowed = problem.allowed { text += "; allowed: \(allowed)" }
        return text + (problem.path.isEmpty ? "" : " (\(problem.path))")
    }
}

/// Which files there are, without their contents.
extension SupportReport {
    /// The most entries of a directory that are listed.
    private static let mostEntries = 200

    /// Adds the files of a directory and of those in it: mode, owner, size, age, name.
    mutating func add(_ title: String, filesOf directory: String) {
        var rows: [[String]] = []
        var problem: String?
        SupportReport.list(directory, "", depth: 2, &rows, &problem)
        var text = "\(directory):\n" + TextTable(rows).description
        if rows.count >= SupportReport.mostEntries { text += "… and more\n" }
        if let problem { text += "\(problem)\n" }
        add(title, text)
    }

    private static func list(
        _ directory: String, _ prefix: String, depth: Int, _ rows: inout [[String]], _ problem: inout String?
    ) {
        let names: [String]
        do {
            names = try DirectoryContents.names(directory)
        } catch {
            problem = "\(directory): \(error)" + (error.code == EACCES ? "; sudo jostle support can read it" : "")
            return
        }
        if prefix.isEmpty, let row = row(directory, ".") { rows.append(row) }
        for name in names where rows.count < mostEntries {
            let path = "\(directory)/\(name)"
            guard let row = row(path, prefix + name) else { continue }
            rows.append(row)
            if depth > 1, DirectoryContents.exists(path), !DirectoryContents.isLink(path) {
                list(path, "\(prefix)\(name)/", depth: depth - 1, &rows, &problem)
            }
        }
    }

    /// The facts of a file: lstat(2).
    static func row(_ path: String, _ name: String) -> [String]? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let kinds: [mode_t: String] = [
            S_IFDIR: "d", S_IFLNK: "l", S_IFCHR: "c", S_IFSOCK: "s", S_IFIFO: "p", S_IFREG: "-",
        ]
        let mode = String(status.st_mode & 0o7777, radix: 8)
        let age = time(nil) - Int(status.st_mtim.tv_sec)
        return [
            "\(kinds[status.st_mode & S_IFMT] ?? "?") \(mode)",
            "\(Accounts.user(status.st_uid)):\(Accounts.group(status.st_gid))",
            status.st_mode & S_IFMT == S_IFCHR ? "" : "\(status.st_size) bytes",
            status.st_mode & S_IFMT == S_IFCHR ? "" : "changed \(durationText(Double(age))) ago", name,
        ]
    }
}

/// Sections with the output of programs.
extension SupportReport {
    /// Adds what a program prints, how it ended unless all is well, and what it prints to standard error.
    mutating func add(
        _ title: String, running path: String, _ arguments: [String], within seconds: Double = 10,
        limit: Int = 1 << 15, keepsEnd: Bool = false, isJSON: Bool = false, _ signals: SignalWaiter
    ) throws {
        let name = path.hasPrefix("/proc/") ? "jostle" : path
        var text = "$ \(([name] + arguments).joined(separator: " "))\n"
        do {
            // A signal that was taken ends the program, so that it does not matter who asks.
            let outcome = try ChildProgram(path, arguments).run(within: seconds, limit: 2 << 20) { signals.isPending }
            text += output(of: outcome, isJSON: isJSON)
        } catch {
            text +=
                error.isMissing
                ? "There is no \(name) on this machine.\n" : "\(name) cannot be started: \(error)\n"
        }
        if signals.isPending { throw Failure(.temporary, "interrupted; nothing was written") }
        add(title, text, limit: limit, keepsEnd: keepsEnd)
    }

    private func output(of outcome: ChildProgram.Outcome, isJSON: Bool) -> String {
        var output = outcome.output
        // A secret in a line that is cut would not be recognised.
        if outcome.isCut { output = String(output[..<(output.lastIndex(of: "\n") ?? output.startIndex)]) + "\n" }
        if isJSON {
            // One document, or one in each line.
            func clean(_ text: some StringProtocol) -> String {
                SupportReport.text(ofJSON: Array(text.utf8), secrets)
            }
            let whole = clean(output)
            output = whole == output ? output.split(separator: "\n").map { clean($0) + "\n" }.joined() : whole + "\n"
        }
        if !outcome.errors.isEmpty { output += "standard error:\n\(outcome.errors)" }
        if !output.isEmpty, !output.hasSuffix("\n") { output += "\n" }
        switch outcome.end {
        case .exited(0): return output
        case .exited(let status): return output + "exit status \(status)\n"
        case .killed(let signal): return output + "ended by signal \(signal)\n"
        case .stopped: return output + "did not end in time\n"
        }
    }
}
