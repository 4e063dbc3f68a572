internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// The recordings of `jostle tune` that the user agreed to keep: a directory for each run, `1-shake`, below the state
/// directory. Only their owner and root can read them.
struct TuningRecordings {
    /// The most bytes of all runs together. The oldest are deleted first.
    static let capacity = 64 << 20

    /// Bytes that must stay free on the disk.
    private static let reserve = Double(64 << 20)

    /// The directory of all runs.
    let path: String

    /// Those beside the state of the agent that reads a configuration file.
    init(for file: String?) {
        path = "\(LayersInForce.directory(for: file))/tune"
    }

    /// One run.
    struct Run: Equatable {
        let number: Int
        let name: String
        let path: String
        let bytes: Int
    }

    /// All runs, the oldest first. Other files are ignored.
    ///
    /// - Throws: why the directory cannot be read; that it does not exist is no error.
    func runs() throws(SystemFailure) -> [Run] {
        let names: [String]
        do throws(SystemFailure) { names = try DirectoryContents.names(path) } catch {
            guard error.code == ENOENT else { throw error }
            return []
        }
        var runs: [Run] = []
        for name in names {
            let parts = name.split(separator: "-", maxSplits: 1)
            guard parts.count == 2, let number = Int(parts[0]), number > 0, number < .max,
                "\(number)-\(parts[1])" == name,
                Gesture.allCases.contains(where: { $0.word == parts[1] }), !DirectoryContents.isLink("\(path)/\(name)"),
                DirectoryContents.exists("\(path)/\(name)")
            else { continue }
            let run = "\(path)/\(name)"
            let sizes = try DirectoryContents.names(run).map { FileSize.bytes("\(run)/\($0)") }
            runs.append(Run(number: number, name: name, path: run, bytes: sizes.reduce(0, +)))
        }
        return runs.sorted { $0.number < $1.number }
    }

    /// Adds a run whose files `fill` puts into a directory, and deletes the oldest ones beyond the capacity.
    ///
    /// - Returns: the run, and those that were deleted for it.
    func add(
        _ gesture: Gesture, fill: (_ directory: String) throws(RecordingError) -> Void
    ) throws(RecordingError) -> (added: Run, deleted: [Run]) {
        FileContents.makeDirectories(path)
        let old: [Run]
        do throws(SystemFailure) {
            guard chmod(path, 0o700) == 0 else { throw SystemFailure(code: errno) }
            guard try DiskSpace(of: path).free >= TuningRecordings.reserve + Double(TuningRecordings.capacity) / 4
            else {
                throw SystemFailure(code: ENOSPC)
            }
            old = try runs()
        } catch {
            throw .system(path: path, error)
        }
        let number = (old.last?.number ?? 0) + 1
        let name = "\(number)-\(gesture.word)"
        // Complete or not there at all.
        let temporary = "\(path)/.new"
        FileContents.removeDirectory(temporary)
        guard mkdir(temporary, 0o700) == 0 else { throw .system(path: temporary, SystemFailure(code: errno)) }
        do throws(RecordingError) {
            try fill(temporary)
            let bytes = TuningRecordings.bytes(in: temporary)
            guard bytes <= TuningRecordings.capacity else { throw .system(path: path, SystemFailure(code: EFBIG)) }
            guard rename(temporary, "\(path)/\(name)") == 0 else {
                throw .system(path: "\(path)/\(name)", SystemFailure(code: errno))
            }
            let added = Run(number: number, name: name, path: "\(path)/\(name)", bytes: bytes)
            return (added, makeRoom(for: added, among: old))
        } catch {
            FileContents.removeDirectory(temporary)
            throw error
        }
    }

    private static func bytes(in directory: String) -> Int {
        do throws(SystemFailure) {
            return try DirectoryContents.names(directory).map { FileSize.bytes("\(directory)/\($0)") }.reduce(0, +)
        } catch {
            return 0
        }
    }

    private func makeRoom(for added: Run, among old: [Run]) -> [Run] {
        var total = old.map(\.bytes).reduce(added.bytes, +)
        var deleted: [Run] = []
        for run in old where total > TuningRecordings.capacity {
            FileContents.removeDirectory(run.path)
            total -= run.bytes
            deleted.append(run)
        }
        return deleted
    }

    /// Deletes a run.
    ///
    /// - Throws: that it is still there.
    func delete(_ run: Run) throws(SystemFailure) {
        FileContents.removeDirectory(run.path)
        guard !DirectoryContents.exists(run.path) else { throw SystemFailure(code: EACCES) }
    }
}

/// The size of a file: stat(2).
private enum FileSize {
    static func bytes(_ path: String) -> Int {
        var status = stat()
        return lstat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
