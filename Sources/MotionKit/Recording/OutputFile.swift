internal import Glibc
internal import LinuxSystem

/// A file or standard output with buffered writing: fopen(3), fputs(3).
package struct OutputFile: ~Copyable {
    private let path: String
    private let file: UnsafeMutablePointer<FILE>

    /// Opens `path` for writing and truncates it; `-` is standard output.
    package init(path: String) throws(RecordingError) {
        // Standard output is duplicated, so that `deinit` can close either.
        let opened = path == "-" ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, "we")
        guard let opened else { throw .system(path: path, SystemFailure(code: errno)) }
        self.path = path
        file = opened
    }

    deinit {
        fclose(file)
    }

    /// Appends text.
    package func write(_ text: String) throws(RecordingError) {
        guard fputs(text, file) >= 0 else { throw .system(path: path, SystemFailure(code: errno)) }
    }

    /// Passes buffered text to the operating system.
    package func flush() throws(RecordingError) {
        guard fflush(file) == 0 else { throw .system(path: path, SystemFailure(code: errno)) }
    }
}
