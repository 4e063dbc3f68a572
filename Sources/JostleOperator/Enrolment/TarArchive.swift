/// A tar archive in the format ustar (POSIX.1-1988), with files of root and of a group by name.
package struct TarArchive: Sendable {
    /// A file in the archive.
    package struct File: Equatable, Sendable {
        /// The path, at most 100 bytes, without a slash at its beginning.
        package var path: String
        package var content: [UInt8]
        package var mode: Int
        /// The name of the group; tar(1) uses `root` where there is none.
        package var group: String

        package init(path: String, content: [UInt8], mode: Int, group: String = "root") {
            self.path = path
            self.content = content
            self.mode = mode
            self.group = group
        }
    }

    private static let block = 512

    /// Writes an archive of files with this time, seconds since 1970.
    package static func bytes(of files: [File], at time: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for file in files {
            bytes += header(of: file, at: time) + file.content
            bytes += [UInt8](repeating: 0, count: (block - file.content.count % block) % block)
        }
        // Two empty blocks are the end.
        return bytes + [UInt8](repeating: 0, count: 2 * block)
    }

    private static func header(of file: File, at time: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int, digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(file.path, at: 0)
        put(octal(file.mode, digits: 7), at: 100)
        put(octal(0, digits: 7), at: 108)
        put(octal(0, digits: 7), at: 116)
        put(octal(file.content.count, digits: 11), at: 124)
        put(octal(time, digits: 11), at: 136)
        // The checksum is computed with spaces in its place.
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put("root", at: 265)
        put(file.group, at: 297)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, digits: 6) + "\0 ", at: 148)
        return header
    }
}
