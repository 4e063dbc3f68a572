internal import Cryptography
internal import Gzip
internal import HTTPServer
internal import PageAssets

/// A file of the page as it is sent: compressed for browsers that accept it, and not at all if they have it already.
struct PageFile {
    private let contentType: String
    private let bytes: [UInt8]
    private let compressed: [UInt8]?
    /// Identifies the content. Weak: it stands for both forms of the file.
    private let tag: String

    init(_ file: PageAssets.File) {
        contentType = file.contentType
        bytes = file.bytes
        compressed = Gzip.compress(file.bytes)
        tag = "W/\"\(SHA256Digest(of: file.bytes).hexadecimal.prefix(16))\""
    }

    /// All files of the page by name.
    static func all() -> [String: PageFile] {
        Dictionary(uniqueKeysWithValues: PageAssets.files.map { ($0.name, PageFile($0)) })
    }

    /// The answer to a request for it.
    func reply(to request: HTTPRequest) -> HTTPReply {
        // The browser asks each time whether its copy is still right, so that page and server have the same version.
        let headers = [("Cache-Control", "no-cache"), ("ETag", tag), ("Vary", "Accept-Encoding")]
        if isKnown(request.header("If-None-Match")) { return HTTPReply(304, headers) }
        var reply = HTTPReply(200, [("Content-Type", contentType)] + headers, body: .bytes(bytes))
        if let compressed, PageFile.acceptsGzip(request.header("Accept-Encoding")) {
            reply.headers.append(("Content-Encoding", "gzip"))
            reply.body = .bytes(compressed)
        }
        return reply
    }

    /// Whether an `Accept-Encoding` header names gzip, with a weight that is not zero.
    static func acceptsGzip(_ header: String?) -> Bool {
        HeaderItem.list(header).contains { ["gzip", "x-gzip"].contains($0.value) && $0.weight > 0 }
    }

    /// Whether an `If-None-Match` header names the file's tag, or any.
    private func isKnown(_ header: String?) -> Bool {
        (header ?? "").split { $0 == "," || $0 == " " }.contains { $0 == tag || $0 == "*" }
    }
}
