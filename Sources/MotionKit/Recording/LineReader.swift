internal import Glibc
internal import LinuxSystem

/// Reads a file or standard input line by line into a buffer of fixed size: fread(3).
struct LineReader: ~Copyable {
    /// The longest line, bytes: much longer than any row of numbers.
    static let longestLine = 65_536

    /// What is wrong with a longer one.
    static var tooLongReason: String { "longer than \(longestLine) bytes" }

    private let file: UnsafeMutablePointer<FILE>
    private let buffer: UnsafeMutablePointer<CChar>
    /// The bytes of the buffer that are not read yet. One byte more than the longest line leaves room for a line feed or
    /// a terminating zero.
    private var unread = 0..<0
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
        file = opened
        buffer = .allocate(capacity: LineReader.capacity)
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
    /// - Returns: the result of `body`, the end of the file, or why the line cannot be read.
    mutating func next<Result>(_ body: (UnsafeBufferPointer<CChar>) -> Result) -> LineResult<Result> {
        var end = lineFeed(from: unread.lowerBound)
        if end == nil {
            let searched = unread.count
            errno = 0
            fill()
            end = lineFeed(from: searched)
            if end == nil {
                let code = errno
                guard ferror(file) == 0 else { return .failed(SystemFailure(code: code == 0 ? EIO : code)) }
                guard unread.count < LineReader.capacity else { return .tooLong }
                guard !unread.isEmpty else { return .end }
            }
        }
        let line = unread.lowerBound..<(end ?? unread.upperBound)
        unread = min(line.upperBound + 1, unread.upperBound)..<unread.upperBound
        var count = line.count
        while count > 0, buffer[line.lowerBound + count - 1] == 13 { count -= 1 }
        // A zero after the last character stops strtod.
        buffer[line.lowerBound + count] = 0
        return .line(body(UnsafeBufferPointer(start: buffer + line.lowerBound, count: count)))
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

/// The result of reading a line.
enum LineResult<Result> {
    case line(Result)
    case end
    /// The line is longer than `LineReader.longestLine`.
    case tooLong
    case failed(SystemFailure)
}
