internal import Glibc
internal import LinuxSystem

/// Reads a file or standard input line by line into a buffer of fixed size: fread(3).
struct LineReader: ~Copyable {
    /// The longest line, bytes: much longer than any row of numbers.
    static let longestLine = 65_536

    /// The number of the last line read, from 1.
    private(set) var line: Int

    private let path: String
    private let file: UnsafeMutablePointer<FILE>
    private let buffer: UnsafeMutablePointer<CChar>
    /// The bytes of the buffer that are not read yet. One byte more than the longest line leaves room for a line feed or
    /// a terminating zero.
    private var unread: Range<Int>
    private static let capacity = longestLine + 1

    /// Opens `path`; `-` is standard input. With `mustBeRegular`, anything but a regular file is refused: a pipe or a device
    /// may block for ever, or never end.
    init(path: String, mustBeRegular: Bool = false) throws(RecordingError) {
        let opened: UnsafeMutablePointer<FILE>?
        if mustBeRegular {
            opened = try LineReader.openRegular(path)
        } else {
            // Standard input is duplicated, so that `deinit` can close either.
            opened = path == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re")
        }
        guard let opened else { throw .system(path: path, SystemFailure(code: errno)) }
        self.path = path
        file = opened
        buffer = .allocate(capacity: LineReader.capacity)
        // Not default values: those would be set before the throwing calls, which Swift 6.0 does not compile.
        unread = 0..<0
        line = 0
    }

    /// Opens a regular file: fdopen(3).
    private static func openRegular(_ path: String) throws(RecordingError) -> UnsafeMutablePointer<FILE>? {
        do {
            return fdopen(try FileContents.openRegular(path), "r")
        } catch {
            throw .system(path: path, error)
        }
    }

    deinit {
        buffer.deallocate()
        fclose(file)
    }

    /// Calls `body` with the next line, without its line ending, followed by a zero.
    ///
    /// - Returns: the result of `body`; `nil` at the end of the file.
    /// - Throws: why the line cannot be read, or what `body` finds wrong with it.
    mutating func next<Result>(
        _ body: (UnsafeBufferPointer<CChar>) throws(MalformedLine) -> Result
    ) throws(RecordingError) -> Result? {
        var end = lineFeed(from: unread.lowerBound)
        if end == nil {
            let searched = unread.count
            errno = 0
            fill()
            end = lineFeed(from: searched)
            if end == nil {
                let code = errno
                guard ferror(file) == 0 else { throw .system(path: path, SystemFailure(code: code == 0 ? EIO : code)) }
                guard unread.count < LineReader.capacity else {
                    line += 1
                    throw malformed("longer than \(LineReader.longestLine) bytes")
                }
                guard !unread.isEmpty else { return nil }
            }
        }
        line += 1
        let text = unread.lowerBound..<(end ?? unread.upperBound)
        unread = min(text.upperBound + 1, unread.upperBound)..<unread.upperBound
        var count = text.count
        while count > 0, buffer[text.lowerBound + count - 1] == 13 { count -= 1 }
        // A zero after the last character stops strtod.
        buffer[text.lowerBound + count] = 0
        do {
            return try body(UnsafeBufferPointer(start: buffer + text.lowerBound, count: count))
        } catch {
            throw malformed(error.reason)
        }
    }

    /// The error for the last line, or another one.
    func malformed(_ reason: String, inLine number: Int? = nil) -> RecordingError {
        .malformed(path: path, line: number ?? line, reason: reason)
    }

    /// Moves what is not read to the beginning, and reads as much as fits behind it. The file is at its end, or has failed,
    /// if the buffer is not full then.
    private mutating func fill() {
        memmove(buffer, buffer + unread.lowerBound, unread.count)
        unread = 0..<unread.count
        let count = fread(buffer + unread.count, 1, LineReader.capacity - unread.count, file)
        unread = 0..<(unread.count + count)
    }

    /// The index of the next line feed; `nil` if there is none in the buffer.
    private func lineFeed(from index: Int) -> Int? {
        guard index < unread.upperBound, let found = memchr(buffer + index, 10, unread.upperBound - index) else {
            return nil
        }
        return UnsafePointer(found.assumingMemoryBound(to: CChar.self)) - UnsafePointer(buffer)
    }
}

/// What is wrong with a line.
struct MalformedLine: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
