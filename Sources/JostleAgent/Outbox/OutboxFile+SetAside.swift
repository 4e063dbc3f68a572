internal import Glibc
internal import LinuxSystem
internal import SQLiteDatabase

// Files that are set aside: damaged ones, and those of a later version, whose messages come back after the next upgrade.
extension OutboxFile {
    // MARK: Damaged files

    private var damagedPath: String { "\(directory)/outbox-damaged.sqlite3" }

    /// Moves the damaged file and its log aside, replacing one that was set aside before. What cannot be moved is
    /// deleted.
    func putAside(_ reason: String, saved: Int) -> SetAside {
        store = nil
        isKnown = true
        isReplaced = true
        let isMoved = moveDamaged(path)
        return SetAside(name: damagedPath, reason: .damaged(reason, saved: saved), isDeleted: !isMoved)
    }

    /// Moves a damaged file to where the last one is. Returns whether that succeeded; otherwise the file is deleted.
    private func moveDamaged(_ path: String) -> Bool {
        if OutboxFile.move(path, to: damagedPath) == nil { return true }
        OutboxFile.delete(path)
        return false
    }

    // MARK: Files of other versions

    /// The name of a file of a later version. The number tells several of one version apart.
    private func asidePath(version: Int64, number: Int) -> String {
        "\(directory)/outbox-version-\(version)\(number == 1 ? "" : "-\(number)").sqlite3"
    }

    private static let filesSetAside = 1...9

    /// Moves a file of a later version aside, with its log. One that cannot be moved stays, and the outbox lives in
    /// memory.
    func putAside(laterVersion version: Int64) -> Opened {
        let numbers = OutboxFile.filesSetAside
        let free = numbers.first { access(asidePath(version: version, number: $0), F_OK) != 0 }
        guard let free else {
            let last = asidePath(version: version, number: numbers.upperBound)
            return Opened(
                failure: "\(path) is of a later version of Jostle (\(version)), and there are \(numbers.count) files "
                    + "like it already, up to \(last): move them away")
        }
        let aside = asidePath(version: version, number: free)
        if let failure = OutboxFile.move(path, to: aside) {
            return Opened(
                failure:
                    "\(path) is of a later version of Jostle (\(version)) and cannot be moved to \(aside): \(failure)")
        }
        store = nil
        isKnown = true
        isReplaced = true
        return Opened(setAside: SetAside(name: aside, reason: .laterVersion(version)))
    }

    /// Puts the messages of files that an earlier version has set aside, and that this version can read, before those
    /// of the file. A file set aside is deleted when its messages are on the disk; until then they stay in it.
    func takeBackFilesSetAside(_ opened: inout Opened) {
        for version in 1...OutboxDatabase.currentVersion {
            // The later a file was set aside, the larger is its number.
            for number in OutboxFile.filesSetAside.reversed() {
                let aside = asidePath(version: version, number: number)
                guard access(aside, F_OK) == 0 else { continue }
                do throws(SQLiteError) {
                    try takeBack(aside, &opened)
                } catch {
                    opened.warnings.append("\(aside): \(error); its messages stay in it until the next start")
                }
            }
        }
    }

    private func takeBack(_ aside: String, _ opened: inout Opened) throws(SQLiteError) {
        if let failure = OutboxFile.refusal(of: aside) {
            opened.warnings.append("\(aside): \(failure)")
            return
        }
        guard let (earlier, damage) = try contents(of: aside) else { return }
        var together = opened.content
        let rows = earlier.messages + together.messages
        together.messages = rows.enumerated().map { (Int64($0.offset) + 1, $0.element.message) }
        together.gestures += earlier.gestures.filter { !together.gestures.contains($0) }
        together.dropped += earlier.dropped
        together.expired += earlier.expired
        try store?.commitDurably(together)
        opened.content = together
        opened.returned += earlier.messages.count
        guard let damage else { return OutboxFile.delete(aside) }
        let isMoved = moveDamaged(aside)
        opened.warnings.append(
            "\(aside) was damaged (\(damage)) and was \(isMoved ? "moved to \(damagedPath)" : "deleted"); "
                + "\(earlier.messages.count) messages were recovered")
    }

    /// What is in a file that was set aside, and what is damaged; `nil` if another version must read it.
    private func contents(of path: String) throws(SQLiteError) -> (OutboxContent, damage: String?)? {
        do throws(SQLiteError) {
            let file = try OutboxDatabase.open(path: path, maximumBytes: maximumBytes)
            guard file.isReadable else { return nil }
            return try OutboxFile.read(file)
        } catch {
            guard OutboxFile.isUseless(error) else { throw error }
            return (OutboxContent(), "\(error)")
        }
    }

    // MARK: Moving

    /// Moves a file and its log. The log goes first: without its file it would be lost.
    ///
    /// - Returns: why the file cannot be moved; then it is where it was.
    static func move(_ path: String, to aside: String) -> SystemFailure? {
        unlink(path + "-shm")
        let hasLog = access(path + "-wal", F_OK) == 0
        if hasLog, rename(path + "-wal", aside + "-wal") != 0 { return SystemFailure(code: errno) }
        guard rename(path, aside) != 0 else { return nil }
        let failure = SystemFailure(code: errno)
        if hasLog { rename(aside + "-wal", path + "-wal") }
        return failure
    }

    private static func delete(_ path: String) {
        // A log without its file would be read into the next file of this name.
        for suffix in ["-wal", "-shm", ""] { unlink(path + suffix) }
    }
}
