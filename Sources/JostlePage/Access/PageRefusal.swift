/// Why a request is refused.
struct PageRefusal: Error, Equatable {
    let status: Int
    /// The field `error` of the answer.
    let word: String
    /// The field `message` of the answer.
    let message: String
    let headers: [String: String]

    private init(_ status: Int, _ word: String, _ message: String, headers: [String: String] = [:]) {
        self.status = status
        self.word = word
        self.message = message
        self.headers = headers
    }

    static func badRequest(_ reason: String) -> PageRefusal {
        PageRefusal(400, "bad_request", "The request cannot be understood: \(reason).")
    }

    static let signedOut = PageRefusal(401, "signed_out", "Sign in first.")
    static let wrongPassword = PageRefusal(401, "wrong_password", "This is not the password.")

    /// The metrics need the token.
    static let metricsToken = PageRefusal(
        401, "wrong_token", "The metrics need the token in page.metrics_token_file: Authorization: Bearer TOKEN.",
        headers: ["WWW-Authenticate": "Bearer"])

    static let readOnly = PageRefusal(
        403, "read_only", "This page only shows. With page.control: true, it also changes settings and sends commands.")
    static let forbidden = PageRefusal(403, "forbidden", "This request does not come from the page itself.")

    /// Without a token, no other machine reads the metrics.
    static let metricsElsewhere = PageRefusal(
        403, "forbidden",
        "The metrics are for programs on this machine. With page.metrics_token_file, others read them too.")

    static func notFound(_ what: String) -> PageRefusal { PageRefusal(404, "not_found", "There is no \(what).") }

    /// The board cannot be forgotten, because it would come back at once.
    static func online(_ board: String) -> PageRefusal {
        PageRefusal(
            409, "online",
            "\(board) is online: it would publish everything again. Stop its agent, or take its power away, and forget it then."
        )
    }

    static func method(allowed: String) -> PageRefusal {
        PageRefusal(405, "method_not_allowed", "Only \(allowed) is allowed here.", headers: ["Allow": allowed])
    }

    static let tooLarge = PageRefusal(413, "too_large", "The request is too large.")
    static let mediaType = PageRefusal(
        415, "media_type", "The request must be JSON: Content-Type: application/json.")

    /// A name that is not this page's.
    static func host(_ name: String) -> PageRefusal {
        PageRefusal(
            421, "unknown_host",
            "This page does not answer to the name \"\(name.prefix(100))\". Add it to page.hosts, or use the numeric address."
        )
    }

    static func tooManyAttempts(seconds: Int) -> PageRefusal {
        PageRefusal(
            429, "too_many", "Too many attempts to sign in. Wait for \(seconds) seconds.",
            headers: ["Retry-After": "\(seconds)"])
    }

    static let tooManyViewers = PageRefusal(
        503, "too_many", "Too many pages are open. Close one: then this one goes on by itself.")

    static let tooManyQuestions = PageRefusal(
        503, "too_many", "The disk is busy with other questions about the history. Ask again in a moment.",
        headers: ["Retry-After": "5"])

    static let tooManyRemovals = PageRefusal(
        503, "too_many", "Another board is being forgotten. Try again in a moment.", headers: ["Retry-After": "5"])

    /// There is no connection to the broker, and why.
    static func notConnected(_ reason: String) -> PageRefusal {
        PageRefusal(503, "not_connected", "There is no connection to the broker: \(reason).")
    }
}
