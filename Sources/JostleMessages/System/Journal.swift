internal import CSystemd
internal import Glibc

/// Systemd's journal: sd_journal_sendv(3).
package enum Journal {
    /// Whether standard error goes to the journal: `$JOURNAL_STREAM` has its device and inode.
    package static let isStandardError = isStream(STDERR_FILENO)

    /// Whether standard output goes to the journal.
    package static let isStandardOutput = isStream(STDOUT_FILENO)

    private static func isStream(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard let stream = getenv("JOURNAL_STREAM"), fstat(descriptor, &status) == 0 else { return false }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)"
    }

    /// Sends an entry with these fields.
    ///
    /// - Returns: whether the journal took it.
    static func send(_ fields: [(name: String, value: String)]) -> Bool {
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for field in fields {
            bytes += "\(field.name)=\(field.value)".utf8
            ends.append(bytes.count)
        }
        return bytes.withUnsafeMutableBytes { buffer in
            guard let start = buffer.baseAddress else { return false }
            var begin = 0
            let vectors = ends.map { end -> iovec in
                defer { begin = end }
                return iovec(iov_base: start + begin, iov_len: end - begin)
            }
            return vectors.withUnsafeBufferPointer { sd_journal_sendv($0.baseAddress, Int32($0.count)) } >= 0
        }
    }
}
