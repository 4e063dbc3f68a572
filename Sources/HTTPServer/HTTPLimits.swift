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
