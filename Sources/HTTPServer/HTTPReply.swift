/// The answer to a request.
package struct HTTPReply {
    /// The body of an answer.
    package enum Body {
        case bytes([UInt8])
        /// Its length is not known, and it goes on until the stream ends.
        case stream(HTTPStream)
    }

    /// The status, such as 200.
    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: Body

    package init(_ status: Int, _ headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Produces a body while it is sent, for one connection.
package protocol HTTPStreamSource: AnyObject {
    /// Writes the next bytes to `buffer`. The server asks whenever the socket accepts more.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Piece

    /// The connection has ended, for any reason. Called once.
    func streamDidClose()
}

/// The body of an answer that goes on until its source or the client ends it.
package final class HTTPStream {
    /// What there is to send.
    package enum Piece {
        /// The number of bytes that were written to the buffer; more than zero.
        case bytes(Int)
        /// Nothing for now: ask again after `wake`.
        case nothing
        /// Nothing any more.
        case end
    }

    private var source: (any HTTPStreamSource)?
    private var isFinishing = false
    /// Resumes the connection; set while the connection waits.
    var resume: (() -> Void)?

    package init(_ source: any HTTPStreamSource) {
        self.source = source
    }

    /// Tells the server that there are bytes to send. It sends them in its next `run`.
    package func wake() {
        let resume = resume
        self.resume = nil
        resume?()
    }

    /// Ends the body, whatever its source still has to say.
    package func finish() {
        isFinishing = true
        wake()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        guard !isFinishing, let source else { return .end }
        return source.read(into: buffer)
    }

    func close() {
        let source = source
        self.source = nil
        resume = nil
        source?.streamDidClose()
    }
}
