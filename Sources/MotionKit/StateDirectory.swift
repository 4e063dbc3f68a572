internal import Glibc
internal import LinuxSystem
internal import MotionCore

/// The directory in which a manager keeps what outlives a run.
///
/// Every file is written whole beside the old one and put in its place, so that a power cut leaves one of the two.
package struct StateDirectory: Sendable {
    package let path: String

    /// The directory at a path, which need not exist yet.
    package init(path: String) {
        self.path = path
    }

    private static let referenceFile = "reference-attitude"
    private static let referenceTitle = "jostle reference attitude 1"

    /// The reference attitude that was kept, or `nil` where there is none that can be read.
    func loadReference() -> Quaternion? {
        guard case .text(let text) = read(StateDirectory.referenceFile) else { return nil }
        // Without its last line feed the file is torn, and its last number perhaps another one.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0] == StateDirectory.referenceTitle, lines[2].isEmpty else { return nil }
        let fields = lines[1].split(separator: " ")
        let numbers = fields.compactMap { Double($0) }
        guard fields.count == 4, numbers.count == 4 else { return nil }
        let attitude = Quaternion(numbers[0], numbers[1], numbers[2], numbers[3])
        guard abs(attitude.normSquared - 1) < 1e-3 else { return nil }
        return attitude.normalized
    }

    /// Keeps a reference attitude, or forgets the one that is kept.
    ///
    /// - Returns: 0, or the errno of what failed; the old file is then still there.
    func saveReference(_ attitude: Quaternion?) -> Int32 {
        guard let attitude else { return remove(StateDirectory.referenceFile) }
        return write(
            "\(StateDirectory.referenceTitle)\n\(attitude.w) \(attitude.x) \(attitude.y) \(attitude.z)\n",
            to: StateDirectory.referenceFile)
    }

    /// What a file turned out to hold.
    package enum Content: Equatable {
        case text(String)
        /// There is no such file.
        case none
        /// It cannot be read: the errno.
        case failed(Int32)
    }

    /// Reads a file of the directory: one of ours is at most `limit` bytes, whatever is longer is as good as torn.
    package func read(_ name: String, limit: Int = 4096) -> Content {
        do throws(SystemFailure) {
            return .text(try FileContents.text(of: "\(path)/\(name)", limit: limit))
        } catch {
            return error.code == ENOENT ? .none : .failed(error.code)
        }
    }

    /// Takes a file of the directory away; one that is not there is no failure.
    ///
    /// - Returns: 0, or the errno of what failed.
    func remove(_ name: String) -> Int32 {
        unlink("\(path)/\(name)") == 0 || errno == ENOENT ? 0 : errno
    }

    /// Puts a file that cannot be used aside, so that somebody may look at it: rename(2).
    ///
    /// - Returns: its new name, or `nil` where it stays.
    package func setAside(_ name: String) -> String? {
        rename("\(path)/\(name)", "\(path)/\(name).bad") == 0 ? "\(name).bad" : nil
    }

    /// Writes a file of the directory, whole or not at all.
    ///
    /// - Returns: 0, or the errno of what failed; the old file is then still there.
    package func write(_ text: String, to name: String) -> Int32 {
        StateDirectory.makeDirectories(path)
        do throws(SystemFailure) {
            try FileContents.replace("\(path)/\(name)", with: text, temporary: "\(path)/.\(name).new")
            return 0
        } catch {
            return error.code
        }
    }

    /// Makes the directory and those above it; what exists already is left alone.
    package static func makeDirectories(_ path: String) {
        guard mkdir(path, 0o755) != 0, errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex
        else { return }
        makeDirectories(String(path[..<slash]))
        mkdir(path, 0o755)
    }
}
