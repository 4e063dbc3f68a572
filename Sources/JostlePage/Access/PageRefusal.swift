/// Why a request is refused: a status, a word for the page, and a sentence for people.
enum PageRefusal: Error, Equatable {
    case badRequest(String)
    case signedOut
    case wrongPassword
    case readOnly
    case forbidden
    /// The metrics need the token.
    case metricsToken
    /// Without a token, no other machine reads the metrics.
    case metricsElsewhere
    case notFound(String)
    case method(allowed: String)
    case tooLarge
    case mediaType
    /// A name that is not this page's.
    case host(String)
    case tooManyAttempts(seconds: Int)
    case tooManyViewers
    /// There is no connection to the broker, and why.
    case notConnected(String)

    var status: Int {
        switch self {
        case .badRequest: 400
        case .signedOut, .wrongPassword, .metricsToken: 401
        case .readOnly, .forbidden, .metricsElsewhere: 403
        case .notFound: 404
        case .method: 405
        case .tooLarge: 413
        case .mediaType: 415
        case .host: 421
        case .tooManyAttempts: 429
        case .tooManyViewers, .notConnected: 503
        }
    }

    /// The field `error` of the answer.
    var word: String {
        switch self {
        case .badRequest: "bad_request"
        case .signedOut: "signed_out"
        case .wrongPassword: "wrong_password"
        case .readOnly: "read_only"
        case .forbidden, .metricsElsewhere: "forbidden"
        case .metricsToken: "wrong_token"
        case .notFound: "not_found"
        case .method: "method_not_allowed"
        case .tooLarge: "too_large"
        case .mediaType: "media_type"
        case .host: "unknown_host"
        case .tooManyAttempts, .tooManyViewers: "too_many"
        case .notConnected: "not_connected"
        }
    }

    /// The field `message` of the answer.
    var message: String {
        switch self {
        case .badRequest(let reason): "The request cannot be understood: \(reason)."
        case .signedOut: "Sign in first."
        case .wrongPassword: "This is not the password."
        case .readOnly: "This page only shows. With page.control: true, it also changes settings and sends commands."
        case .forbidden: "This request does not come from the page itself."
        case .metricsToken: "The metrics need the token in page.metrics_token_file: Authorization: Bearer TOKEN."
        case .metricsElsewhere:
            "The metrics are for programs on this machine. With page.metrics_token_file, others read them too."
        case .notFound(let what): "There is no \(what)."
        case .method(let allowed): "Only \(allowed) is allowed here."
        case .tooLarge: "The request is too large."
        case .mediaType: "The request must be JSON: Content-Type: application/json."
        case .host(let name):
            "This page does not answer to the name \"\(name.prefix(100))\". Add it to page.hosts, or use the numeric address."
        case .tooManyAttempts(let seconds): "Too many attempts to sign in. Wait for \(seconds) seconds."
        case .tooManyViewers: "Too many pages are open. Close one, and reload this one."
        case .notConnected(let reason): "There is no connection to the broker: \(reason)."
        }
    }
}
