internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The name of a recording in a state directory. Requesters do not choose it: it is a number, which grows with each
/// recording whether the clock is right or not, and what the recording was made for.
package struct RecordingName: Equatable, Sendable {
    package let number: Int
    /// A word of lower-case letters, digits, `-` and `_`; `nil` for a recording of the command `record`.
    package let occasion: String?

    package init(number: Int, occasion: String?) {
        self.number = number
        self.occasion = occasion
    }

    /// The name of the file: `recording-7.csv`, or `recording-000008-fall.csv`, which sorts by its number.
    package var text: String {
        guard let occasion else { return "recording-\(number).csv" }
        let digits = String(number)
        return "recording-\(String(repeating: "0", count: max(0, 6 - digits.count)))\(digits)-\(occasion).csv"
    }

    /// Parses the name of a file; `nil` if it is not one of these.
    package init?(_ file: String) {
        let (prefix, suffix) = ("recording-", ".csv")
        guard file.utf8.count <= 128, file.hasPrefix(prefix), file.hasSuffix(suffix),
            file.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        let parts = file.dropFirst(prefix.count).dropLast(suffix.count).split(
            separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        // None can follow the largest number.
        guard let number = Int(parts[0]), number > 0, number < .max else { return nil }
        self.init(number: number, occasion: parts.count > 1 ? String(parts[1]) : nil)
        guard text == file, occasion.map(RecordingName.isOccasion) ?? true else { return nil }
    }

    private static func isOccasion(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

/// The directory for recordings made by remote command, by a gesture or by request: a bounded number of files, of which the
/// oldest make room for a new one. Those without a label go first.
///
/// All functions but `newName` wait for the disk.
package final class RecordingDirectory: Sendable {
    /// The most files, and the most bytes of all together.
    package struct Limits: Equatable, Sendable {
        package var files: Int
        package var bytes: Int

        package init(files: Int, bytes: Int) {
            self.files = files
            self.bytes = bytes
        }
    }

    /// One recording.
    package struct Entry: Equatable, Sendable {
        package var name: RecordingName
        package var bytes: Int
        /// When it was written last, milliseconds since 1970.
        package var time: Int64 = 0
        /// Its labels, the same one only once.
        package var labels: [String] = []
    }

    /// A part of a file.
    package struct Chunk: Equatable, Sendable {
        package var bytes: [UInt8]
        /// The bytes of the whole file.
        package var size: Int
    }

    private struct State {
        /// The largest number so far; `nil` before the directory was read.
        var last: Int?
        /// Files that are being written.
        var open: Set<String> = []
    }

    /// Bytes that must stay free on the disk.
    static let reserve = 64 << 20

    /// The directory.
    package let path: String

    private let state = Mutex(State())

    /// The directory below a state directory. The first recording creates it.
    package init(stateDirectory: String) {
        path = "\(stateDirectory)/recordings"
    }

    // MARK: New recordings

    /// A recording's name and path.
    package struct NewFile: Equatable, Sendable {
        package let name: String
        package let path: String
    }

    /// The name of the next recording. The first call reads the directory.
    package func newName(for occasion: String?) -> String {
        state.withLock { state in
            let last =
                state.last ?? DirectoryContents.names(ofOptional: path).compactMap { RecordingName($0)?.number }.max()
            let number = (last ?? 0) + 1
            state.last = number
            return RecordingName(number: number, occasion: occasion).text
        }
    }

    /// Reads the directory, so that `newName` does not have to, and removes what a power cut left.
    package func prepare() {
        let names = DirectoryContents.names(ofOptional: path)
        for name in names where name.hasPrefix(RecordingDirectory.unfinished) { unlink("\(path)/\(name)") }
        // Labels without their recording would be those of the next one with its number.
        let recordings = Set(names.filter { RecordingName($0) != nil })
        for name in names where name.hasSuffix(RecordingLabels.suffix) {
            let recording = "\(name.dropLast(RecordingLabels.suffix.count)).csv"
            if RecordingName(recording) != nil, !recordings.contains(recording) { unlink("\(path)/\(name)") }
        }
        let last = recordings.compactMap { RecordingName($0)?.number }.max()
        state.withLock { $0.last = max($0.last ?? 0, last ?? 0) }
    }

    /// Returns the name for a new file of at most `bytes`, after deleting recordings that are beyond the limits with it. The
    /// file is not deleted for others before `close`.
    ///
    /// - Throws: `system` if the directory cannot be used or the disk is too full (ENOSPC).
    package func next(bytes: Int, within limits: Limits) throws(RecordingError) -> NewFile {
        try makeRoom(for: bytes, within: limits)
        let name = newName(for: nil)
        state.withLock { _ = $0.open.insert(name) }
        return NewFile(name: name, path: "\(path)/\(name)")
    }

    /// The file is complete.
    package func close(_ file: NewFile) {
        state.withLock { _ = $0.open.remove(file.name) }
    }

    /// Writes samples to a file, with a label for all of them. It is complete or not there at all.
    ///
    /// - Returns: the bytes.
    package func write(
        _ samples: RecentSamples, to name: String, label: String?, within limits: Limits
    ) throws(RecordingError) -> Int {
        let (path, temporary) = ("\(path)/\(name)", "\(path)/\(RecordingDirectory.unfinished)\(name)")
        try makeRoom(for: samples.samples.count * RecentSamples.largestRow, within: limits)
        do throws(RecordingError) {
            let bytes = try samples.write(to: temporary)
            if let label {
                try write(RecordingLabels([.init(start: 0, end: samples.seconds, label: label)]), of: path)
            }
            guard rename(temporary, path) == 0 else {
                throw RecordingError.system(path: path, SystemFailure(code: errno))
            }
            return bytes
        } catch {
            unlink(temporary)
            throw error
        }
    }

    private static let unfinished = ".new-"

    /// Deletes recordings that are beyond the limits with another one.
    private func makeRoom(for bytes: Int, within limits: Limits) throws(RecordingError) {
        FileContents.makeDirectories(path)
        let open = state.withLock { $0.open }
        for entry in RecordingDirectory.surplus(try entries(), besides: open, for: bytes, within: limits) {
            try delete(entry.name.text)
        }
        let free = try failing { () throws(SystemFailure) in try DiskSpace(of: path).free }
        guard free >= Double(bytes) + Double(RecordingDirectory.reserve) else {
            throw .system(path: path, SystemFailure(code: ENOSPC))
        }
    }

    /// What must be deleted before another recording of at most `bytes` is made: the oldest without a label, then the oldest
    /// with one. None that is `open` is deleted, but it counts.
    static func surplus(
        _ entries: [Entry], besides open: Set<String>, for bytes: Int, within limits: Limits
    ) -> [Entry] {
        var count = entries.count + 1
        var total = entries.reduce(bytes) { $0 + $1.bytes }
        let mayGo = entries.filter { !open.contains($0.name.text) }
        return (mayGo.filter(\.labels.isEmpty) + mayGo.filter { !$0.labels.isEmpty }).filter { entry in
            guard count > limits.files || total > limits.bytes else { return false }
            count -= 1
            total -= entry.bytes
            return true
        }
    }

    // MARK: Recordings that are there

    /// All recordings, the oldest first. Other files are ignored. Labels that cannot be read count as one, so that the
    /// recording is not the first to go.
    ///
    /// - Throws: why the directory cannot be read; that it does not exist is no error.
    package func entries() throws(RecordingError) -> [Entry] {
        let names: [String]
        do {
            names = try DirectoryContents.names(path)
        } catch {
            guard error.code == ENOENT else { throw .system(path: path, error) }
            return []
        }
        let recordings = names.compactMap { RecordingName($0) }
        return recordings.sorted { $0.number < $1.number }.compactMap { name in
            let file = "\(path)/\(name.text)"
            var status = stat()
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            let time = Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
            return Entry(
                name: name, bytes: Int(status.st_size), time: time, labels: RecordingDirectory.labels(of: file))
        }
    }

    private static func labels(of file: String) -> [String] {
        do {
            return try RecordingLabels(ofRecording: file).rows.reduce(into: []) { labels, row in
                if !labels.contains(row.label) { labels.append(row.label) }
            }
        } catch {
            return ["?"]
        }
    }

    /// The path of a recording.
    ///
    /// - Throws: `system` (ENOENT) if it does not exist, or the name is not that of a recording.
    package func file(_ name: String) throws(RecordingError) -> String {
        let file = "\(path)/\(name)"
        var status = stat()
        guard RecordingName(name) != nil, lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .system(path: name, SystemFailure(code: ENOENT))
        }
        return file
    }

    /// Deletes a recording and its labels.
    package func delete(_ name: String) throws(RecordingError) {
        let file = try file(name)
        try failing { () throws(SystemFailure) in
            try FileContents.remove(file)
            try FileContents.remove(RecordingLabels.path(ofRecording: file))
        }
    }

    /// Labels a whole recording; `nil` removes the labels.
    package func setLabel(_ label: String?, of name: String) throws(RecordingError) {
        let file = try file(name)
        guard let label else {
            return try failing { () throws(SystemFailure) in
                try FileContents.remove(RecordingLabels.path(ofRecording: file))
            }
        }
        var reader = try RecordingReader(path: file, mustBeRegular: true)
        var end = 0.0
        while let sample = try reader.next() { end = sample.timestamp.seconds }
        try write(RecordingLabels([.init(start: 0, end: end, label: label)]), of: file)
    }

    private func write(_ labels: RecordingLabels, of file: String) throws(RecordingError) {
        try failing { () throws(SystemFailure) in
            try FileContents.replace(RecordingLabels.path(ofRecording: file), with: Array(labels.text.utf8))
        }
    }

    /// Whole lines of a recording from a byte on, at most `count` bytes; `nil` beyond its end.
    package func chunk(of name: String, from offset: Int, count: Int) throws(RecordingError) -> Chunk? {
        let file = try file(name)
        let (bytes, size) = try failing { () throws(SystemFailure) in
            try FileContents.part(of: file, from: offset, count: count)
        }
        guard offset <= size else { return nil }
        guard offset + bytes.count < size, let last = bytes.lastIndex(of: UInt8(ascii: "\n")) else {
            return Chunk(bytes: bytes, size: size)
        }
        return Chunk(bytes: Array(bytes[...last]), size: size)
    }

    private func failing<Result>(_ body: () throws(SystemFailure) -> Result) throws(RecordingError) -> Result {
        do { return try body() } catch { throw .system(path: path, error) }
    }
}
