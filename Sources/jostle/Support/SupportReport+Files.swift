internal import Glibc
internal import LinuxSystem

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
        do throws(SystemFailure) {
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
            status.st_mode & S_IFMT == S_IFCHR ? "" : "changed \(duration(Double(age))) ago", name,
        ]
    }

    /// A time in its largest units: `3 d 4 h`.
    static func duration(_ seconds: Double) -> String {
        let whole = Int(max(0, min(seconds, 1e12)))
        if seconds < 0 { return "-\(duration(-seconds))" }
        switch whole {
        case 86_400...: return "\(whole / 86_400) d \(whole % 86_400 / 3600) h"
        case 3600...: return "\(whole / 3600) h \(whole % 3600 / 60) min"
        case 60...: return "\(whole / 60) min"
        default: return "\(whole) s"
        }
    }
}
