internal import Glibc
internal import LinuxSystem

/// The lines of a file or of standard input, one at a time in a buffer that is used again: getline(3).
struct LineReader: ~Copyable {
    private let file: UnsafeMutablePointer<FILE>
    private var line: UnsafeMutablePointer<CChar>?
    private var capacity = 0

    /// Opens `path`; `-` is standard input.
    init(path: String) throws(RecordingError) {
        // A descriptor of its own for standard input, so that closing is the same for both.
        let opened = path == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re")
        guard let opened else { throw .system(path: path, SystemFailure(code: errno)) }
        file = opened
    }

    deinit {
        free(line)
        fclose(file)
    }

    /// Hands the next line, without its line feed, to `body`; `nil` at the end of the file.
    ///
    /// - Returns: what `body` returned, or why it cannot be read.
    mutating func next<Result>(_ body: (UnsafeBufferPointer<CChar>) -> Result) -> LineResult<Result> {
        errno = 0
        let length = getline(&line, &capacity, file)
        guard length >= 0, let line else {
            let code = errno
            return ferror(file) != 0 ? .failed(SystemFailure(code: code == 0 ? EIO : code)) : .end
        }
        var count = length
        while count > 0, line[count - 1] == 10 || line[count - 1] == 13 { count -= 1 }
        // Zero-terminated after its last character, so that strtod stops there.
        line[count] = 0
        return .line(body(UnsafeBufferPointer(start: line, count: count)))
    }
}

/// What came of reading a line.
enum LineResult<Result> {
    case line(Result)
    case end
    case failed(SystemFailure)
}
