internal import CZlib
internal import HTTPServer

/// Compression in the format of gzip (RFC 1952), by zlib.
enum Gzip {
    /// Whether an `Accept-Encoding` header names gzip, with a weight that is not zero.
    static func isAccepted(by header: String?) -> Bool {
        HeaderItem.list(header).contains { ["gzip", "x-gzip"].contains($0.value) && $0.weight > 0 }
    }

    /// A reply with its body compressed, if the client accepts that.
    static func reply(_ reply: HTTPReply, to request: HTTPRequest, _ compressed: () -> [UInt8]?) -> HTTPReply {
        guard isAccepted(by: request.header("Accept-Encoding")), let bytes = compressed() else { return reply }
        var reply = reply
        reply.headers.append(("Content-Encoding", "gzip"))
        reply.body = .bytes(bytes)
        return reply
    }

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
