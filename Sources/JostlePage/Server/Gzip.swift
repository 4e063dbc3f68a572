internal import CZlib

/// Compression in the format of gzip (RFC 1952), by zlib.
enum Gzip {
    /// The bytes, compressed as far as zlib can, or quickly; `nil` if there is no memory for it.
    static func compress(_ bytes: [UInt8], isQuick: Bool = false) -> [UInt8]? {
        var stream = z_stream()
        let level = isQuick ? Z_BEST_SPEED : Z_BEST_COMPRESSION
        guard jostle_deflate_init_gzip(&stream, level) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes
        return input.withUnsafeMutableBufferPointer { source -> [UInt8]? in
            stream.next_in = source.baseAddress
            stream.avail_in = UInt32(source.count)
            let bound = Int(deflateBound(&stream, UInt(source.count)))
            return [UInt8](unsafeUninitializedCapacity: bound) { output, count in
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                // The output is large enough for all of it.
                count = deflate(&stream, Z_FINISH) == Z_STREAM_END ? Int(stream.total_out) : 0
            }
        }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
