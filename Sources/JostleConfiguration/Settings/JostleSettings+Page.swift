package import LinuxSystem

extension JostleSettings {
    /// The web page: what `jostle-page` serves, and to whom.
    package struct Page: Equatable, Sendable {
        /// The address and port at which it listens. Default `127.0.0.1:8088`: for this machine alone.
        package var listen = ListeningAddress(host: "127.0.0.1", port: 8088)

        /// The host names under which browsers reach it, besides `localhost`, this machine's name and numeric addresses.
        /// Default: none.
        package var hosts: [String] = []

        /// The file whose first line is the password of the page. Default: none; only links that the program prints
        /// admit a browser.
        package var passwordFile: String?

        /// The certificate with which it identifies itself, and the file with its private key. Default: none.
        package var certificateFile: String?
        package var keyFile: String?

        /// Whether visitors may change settings and send commands. Default false.
        package var mayControl = false

        /// The file whose first line is the token with which `/metrics` is read. Default: none; then this machine reads it
        /// without a token, and no other.
        package var metricsTokenFile: String?

        package init() {}
    }
}
