/// What `jostle page` and the program `jostle-page` accept.
package enum PageUsage {
    /// The word that makes a link instead of starting a server.
    package static let link = "link"

    package static let usage = CommandUsage(
        name: "page",
        summary: "serve a web page with the live attitude, plots and gestures of all boards at a broker",
        details: """
            Subscribes at mqtt.broker, serves the page at page.listen and prints its address. The first address signs one
            browser in. The operand link makes further links, and with page.password_file a browser can also sign in with
            that password. Ctrl-C stops it.

            Beyond this machine it is served only with a password and a certificate. With page.control: true, visitors may
            change settings and send commands. Prometheus reads /metrics: from this machine, or with the token in
            page.metrics_token_file. See docs/page.md.
            """,
        operands: [
            CommandUsage.Operand(
                name: "link", help: "print a link for one browser to the server that runs already", isRequired: false,
                suggestions: .words([link]))
        ],
        options: [
            BrokerArgument.option,
            CommandUsage.Option(
                name: "listen", value: "HOST:PORT", help: "serve the page there instead of at page.listen"),
            CommandUsage.Option(
                name: "insecure-http",
                help: "serve the page beyond this machine without encryption, to look at and not to control"),
        ] + CommandUsage.configurationOptions)
}
