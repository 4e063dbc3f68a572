/// A tar file in the format ustar (POSIX.1-1988), as `tar xf` reads it. Owners and times are left out.
struct TarFile {
    /// The size of a block.
    private static let block = 512

    /// The bytes so far, without the end.
    private var bytes: [UInt8] = []

    /// Adds a file. Its path has at most 100 bytes.
    mutating func add(_ path: String, _ contents: [UInt8]) {
        bytes += TarFile.header(path, size: contents.count)
        bytes += contents
        bytes += [UInt8](repeating: 0, count: (TarFile.block - contents.count % TarFile.block) % TarFile.block)
    }

    /// The whole file, which ends with two empty blocks.
    var contents: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * TarFile.block) }

    private static func header(_ path: String, size: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at offset: Int) {
            for (index, byte) in text.utf8.enumerated() { header[offset + index] = byte }
        }
        put(String(decoding: Array(path.utf8.prefix(100)), as: UTF8.self), at: 0)
        put("0000644", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(octal(size, digits: 11), at: 124)
        put(octal(0, digits: 11), at: 136)
        // The checksum is computed with eight spaces in its place.
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, digits: 6) + "\0 ", at: 148)
        return header
    }

    private static func octal(_ value: Int, digits: Int) -> String {
        let text = String(value, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}
