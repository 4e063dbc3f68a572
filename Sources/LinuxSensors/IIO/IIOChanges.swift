internal import Glibc
internal import LinuxSystem

/// Changes made in sysfs, recorded so that they can be undone.
struct IIOChanges {
    private enum Change {
        case attribute(path: String, old: String)
        /// A created directory: a trigger in configfs.
        case directory(path: String)
    }

    private var changes: [Change] = []

    /// Sets an attribute unless it already has the value. Returns its content afterwards, or `value` if it cannot be
    /// read.
    @discardableResult
    mutating func set(_ path: String, to value: String) throws(SystemFailure) -> String {
        let old = SystemFiles.line(of: path) ?? ""
        guard !IIOChanges.isSame(old, value) else { return old }
        try IIOChanges.write(path, value)
        changes.append(.attribute(path: path, old: old))
        return SystemFiles.line(of: path) ?? value
    }

    /// Creates a directory: mkdir(2).
    mutating func makeDirectory(_ path: String) throws(SystemFailure) {
        guard mkdir(path, 0o755) == 0 else { throw SystemFailure(code: errno) }
        changes.append(.directory(path: path))
    }

    /// Undoes all changes, the last one first. A change that cannot be undone, for example because the device is gone,
    /// stays.
    ///
    /// Returns the first failure; `nil` if there was none.
    @discardableResult
    mutating func undo() -> SystemFailure? {
        var first: SystemFailure?
        for change in changes.reversed() {
            switch change {
            case .attribute(let path, let old):
                do {
                    try IIOChanges.write(path, old)
                } catch {
                    first = first ?? error
                }
            case .directory(let path):
                if rmdir(path) != 0, first == nil { first = SystemFailure(code: errno) }
            }
        }
        changes = []
        return first
    }

    /// Whether two texts are the same word or the same number: 200 equals 200.000000.
    static func isSame(_ a: String, _ b: String) -> Bool {
        if a == b { return true }
        guard let a = Double(a), let b = Double(b) else { return false }
        return a == b
    }

    /// Writes an attribute, as a line: an empty value, too, calls the kernel then.
    static func write(_ path: String, _ value: String) throws(SystemFailure) {
        try FileContents.write(value + "\n", toAttribute: path)
    }
}
