/// What the server knows of its start.
struct PageOptions: Sendable {
    /// The version of the program.
    var version: String
    /// The first part of all topics.
    var prefix: String
}
