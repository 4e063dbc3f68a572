/// A request, after its body has arrived.
package struct HTTPRequest: Sendable {
    /// The method, in upper case: `GET`.
    package var method: String
    /// The path without the query: `/events`. Percent-encoding is decoded.
    package var path: String
    /// The arguments of the query, in order.
    package var query: [(name: String, value: String)] = []
    /// The headers; a name may occur several times.
    package var headers: [(name: String, value: String)] = []
    /// The body; empty if there is none.
    package var body: [UInt8] = []
    /// The numeric address of the client, which may be a proxy; empty if it is not known.
    package var client = ""
    /// Whether the client is on this machine, as far as its address tells: a proxy on this machine is.
    package var isFromThisMachine: Bool { ListeningSocket.isLoopback(client) }
    /// Why the body has not been read; the answer must be an error.
    package var fault: BodyFault?

    /// What is wrong with a body.
    package enum BodyFault: Sendable {
        /// It has more bytes than the limit.
        case tooLarge
        /// Its length is stated twice. A proxy in front of this server may have believed the other statement.
        case twoLengths
    }

    /// The value of a header; `nil` if it is absent or occurs more than once. The case of its name does not matter.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        let values = headers.filter { $0.name.lowercased() == name }
        return values.count == 1 ? values[0].value : nil
    }

    /// The items of a header that is a list, or occurs more than once.
    package func list(_ name: String) -> [String] {
        let name = name.lowercased()
        return headers.filter { $0.name.lowercased() == name }.flatMap { header in
            header.value.split(separator: ",").map { String($0.filter { $0 != " " && $0 != "\t" }) }
        }
    }

    /// The first argument of the query with this name.
    package func argument(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The value of a cookie.
    package func cookie(_ name: String) -> String? {
        for header in headers where header.name.lowercased() == "cookie" {
            for pair in header.value.split(separator: ";") {
                let parts = pair.drop { $0 == " " }.split(
                    separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2, parts[0] == name { return String(parts[1]) }
            }
        }
        return nil
    }
}

/// What a server grants to its clients. The defaults are for a small board.
package struct HTTPLimits: Sendable {
    /// Bytes in the body of a request.
    package var body = 16_384
    /// Bytes for request line and headers of a request, and for the block of an answer that is being sent.
    package var memory = 32_768
    /// The most connections, those of streams included.
    package var connections = 512
    /// The most connections that have not completed a request. A further one ends the oldest of them.
    package var requesting = 128
    /// Seconds from the beginning of a connection, or from its last answer, to the end of the next request.
    package var request = 20.0
    /// Seconds for an answer that is no stream.
    package var answer = 60.0
    /// Whole seconds after which a connection ends on which nothing moves although there is something to send or expected.
    package var inactivity = 30

    package init() {}
}
