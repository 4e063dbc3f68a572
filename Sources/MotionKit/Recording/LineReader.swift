internal import Glibc
internal import LinuxSystem

/// Reads a file or standard input line by line into a reused buffer: getline(3).
struct LineReader: ~Copyable {
    private let file: UnsafeMutablePointer<FILE>
    private var line: UnsafeMutablePointer<CChar>?
    private var capacity = 0

    /// Opens `path`; `-` is standard input.
    init(path: String) throws(RecordingError) {
        // Standard input is duplicated, so that `deinit` can close either.
        let opened = path == "-" ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re")
        guard let opened else { throw .system(path: path, SystemFailure(code: errno)) }
        file = opened
    }

    deinit {
        free(line)
        fclose(file)
    }

    /// Calls `body` with the next line, without its line ending.
    ///
    /// - Returns: the result of `body`, the end of the file, or why the line cannot be read.
    mutating func next<Result>(_ body: (UnsafeBufferPointer<CChar>) -> Result) -> LineResult<Result> {
        errno = 0
        let length = getline(&line, &capacity, file)
        guard length >= 0, let line else {
            let code = errno
            return ferror(file) != 0 ? .failed(SystemFailure(code: code == 0 ? EIO : code)) : .end
        }
        var count = length
        while count > 0, line[count - 1] == 10 || line[count - 1] == 13 { count -= 1 }
        // A zero after the last character stops strtod.
        line[count] = 0
        return .line(body(UnsafeBufferPointer(start: line, count: count)))
    }
}

/// The result of reading a line.
enum LineResult<Result> {
    case line(Result)
    case end
    case failed(SystemFailure)
}
