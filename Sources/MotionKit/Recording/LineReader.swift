internal import Glibc
internal import LinuxSystem

/// Reads a file or standard input line by line into a buffer of fixed size.
struct LineReader: ~Copyable {
    /// The longest line, bytes: much longer than any row of numbers.
    static let longestLine = 65_536

    /// The number of the last line read, from 1.
    private(set) var line: Int

    private let path: String
    private var file: InputFile
    private let buffer: UnsafeMutablePointer<CChar>
    /// The bytes of the buffer that are not read yet. One byte more than the longest line leaves room for a line feed or
    /// a terminating zero.
    private var unread: Range<Int>
    private static let capacity = longestLine + 1

    /// Opens `path`; `-` is standard input. With `mustBeRegular`, anything but a regular file is refused: a pipe or a device
    /// may deliver nothing, or never end.
    init(path: String, mustBeRegular: Bool = false) throws(RecordingError) {
        let file: InputFile
        do {
            file =
                path == "-" && !mustBeRegular
                ? try InputFile(standardInput: ()) : try InputFile(path: path, mustBeRegular: mustBeRegular)
        } catch {
            throw .system(path: path, error)
        }
        self.path = path
        self.file = file
        buffer = .allocate(capacity: LineReader.capacity)
        // Not default values: those would be set before the throwing calls, which Swift 6.0 does not compile.
        unread = 0..<0
        line = 0
    }

    deinit {
        buffer.deallocate()
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
            memmove(buffer, buffer + unread.lowerBound, unread.count)
            unread = 0..<unread.count
            while end == nil, unread.count < LineReader.capacity {
                let searched = unread.count
                guard try fill() else { break }
                end = lineFeed(from: searched)
            }
            if end == nil {
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

    /// Reads behind what is in the buffer; returns false at the end of the file.
    private mutating func fill() throws(RecordingError) -> Bool {
        let room = UnsafeMutableRawBufferPointer(
            start: buffer + unread.upperBound, count: LineReader.capacity - unread.upperBound)
        do {
            let count = try file.read(into: room)
            unread = 0..<(unread.count + count)
            return count > 0
        } catch {
            throw .system(path: path, error)
        }
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
