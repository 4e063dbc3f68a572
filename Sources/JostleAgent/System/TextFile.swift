internal import Glibc

/// Small text files, read whole: open(2), read(2).
enum TextFile {
    /// The first `limit` bytes of a file as text, or `nil` with errno set where it cannot be read.
    static func read(_ path: String, limit: Int) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            var count = 0
            while count < limit {
                let read = Glibc.read(file, buffer.baseAddress.map { $0 + count }, limit - count)
                if read < 0, errno == EINTR { continue }
                guard read >= 0 else { return nil }
                if read == 0 { break }
                count += read
            }
            return String(decoding: UnsafeRawBufferPointer(rebasing: buffer[..<count]), as: UTF8.self)
        }
    }
}
