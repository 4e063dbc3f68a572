internal import Glibc

/// A file that is open for reading, of any kind: open(2), read(2), poll(2).
///
/// Nothing is waited for without end: a pipe to which no program writes, and a device or a file of the kernel from which
/// nothing comes, are given up. Only a pipe with a writer, and a terminal, may take as long as they want.
package struct InputFile: ~Copyable {
    private let descriptor: Int32
    /// How long nothing may come, milliseconds.
    private let patience: Int32
    private let isPipe: Bool
    /// Whether something has come, or a writer has come and gone: then an empty read is the end.
    private var hasBegun = false

    /// Opens the file at `path`, which is given up after `patience` seconds. With `mustBeRegular`, anything else is refused,
    /// and nothing is waited for; files in /proc and /sys are regular.
    package init(
        path: String, mustBeRegular: Bool = false, patience: Double = 10
    ) throws(SystemFailure) {
        var descriptor: Int32
        // Without O_NONBLOCK, opening a FIFO that has no writer would block.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK
        repeat { descriptor = Glibc.open(path, flags) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw SystemFailure(code: errno) }
        var status = stat()
        let code = fstat(descriptor, &status) == 0 ? 0 : errno
        let kind = status.st_mode & S_IFMT
        let failure: SystemFailure? =
            if code != 0 {
                SystemFailure(code: code)
            } else if !mustBeRegular || kind == S_IFREG {
                nil
            } else {
                kind == S_IFDIR ? SystemFailure(code: EISDIR) : .notRegularFile
            }
        if let failure {
            close(descriptor)
            throw failure
        }
        self.descriptor = descriptor
        self.patience = mustBeRegular ? 0 : Int32(1000 * patience)
        isPipe = kind == S_IFIFO
    }

    /// Standard input, which stays open afterwards: dup(2). Whoever connected it decides how long it may take.
    package init(standardInput: Void) throws(SystemFailure) {
        descriptor = dup(STDIN_FILENO)
        guard descriptor >= 0 else { throw SystemFailure(code: errno) }
        patience = -1
        isPipe = false
    }

    deinit {
        close(descriptor)
    }

    /// Reads what has come, at most as much as fits.
    ///
    /// - Returns: the number of bytes; 0 at the end.
    package mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemFailure) -> Int {
        var isLate = false
        while true {
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            let code = count < 0 ? errno : 0
            guard code != EINTR else { continue }
            guard code == 0 || code == EAGAIN else { throw SystemFailure(code: code) }
            // A pipe that no program has opened for writing reads like one that has ended.
            let hasNoWriter = count == 0 && isPipe && !hasBegun
            if code == 0, !hasNoWriter { return count }
            if isLate, hasNoWriter || !isPipe && isatty(descriptor) == 0 {
                throw hasNoWriter ? .noWriter : .nothingComes
            }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            switch poll(&entry, 1, isLate ? -1 : patience) {
            case 0: isLate = true
            case 1...: hasBegun = true
            default: break
            }
        }
    }
}
