package import LinuxSystem

extension Command {
    /// The whole of a program of its own, with the words of its command line.
    package func main(_ words: [String]) -> ExitStatus {
        ExitStatus.ofProgram(usage.program) { () throws in
            if ["--version", "-V"].contains(words.first) {
                Output.line("\(usage.program) \(version)")
                return
            }
            var usage = usage
            usage.invocation = usage.program
            let arguments = try Arguments(parsing: words, for: usage)
            if arguments.wantsHelp { Output.text(usage.help) } else { try run(arguments) }
        }
    }
}

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
            Operand(
                "link", help: "print a link for one browser to the server that runs already", isRequired: false,
                suggestions: .words([link]))
        ],
        options: [
            BrokerArgument.option,
            Option("listen", value: "HOST:PORT", help: "serve the page there instead of at page.listen"),
            Option(
                "insecure-http",
                help: "serve the page beyond this machine without encryption, to look at and not to control"),
        ] + CommandUsage.configurationOptions, isProgram: true)
}

/// What `jostle swarm` and the program `jostle-swarm` accept.
package enum SwarmUsage {
    package static let usage = CommandUsage(
        name: "swarm", summary: "run many virtual boards, to test a fleet's broker and configuration",
        details: """
            Each board has the agent's MQTT session, settings and state files, but no sensor. It publishes availability,
            state, health and config/reported, takes values on jostle/<id>/set/<key>, and answers the commands ping,
            get-state and restart. The ids are swarm-0001, swarm-0002 and so on.

            Lines on standard input change the swarm while it runs. N boards are chosen at random:
              die N|ID           drop the connection without a DISCONNECT; the board starts again after a pause
              lose-store N|ID    stop, delete the state directory, start
              stop N|ID          leave cleanly, and stay away until it is started
              start N|ID         start a stopped board
              sensor-dead N|ID   the sensor delivers no more samples
              duplicate ID       start a second board with this id
              slow-disk SECONDS  each write of a state file takes this much longer
              status             print the figures as a line of JSON
              quit               end

            A --defect is for example sensor:10%:gestures.shake.sensitivity=9. The kinds are sensor (no samples), die (the
            process dies after a second) and shake (a shake every second).

            With the same --seed, the same boards are chosen. SIGTERM and SIGINT make all boards leave cleanly.
            """,
        options: [
            Option("devices", value: "N", help: "the number of boards"),
            BrokerArgument.option,
            Option("id-prefix", value: "TEXT", help: "the beginning of each id (default swarm)"),
            Option("groups", value: "LIST", help: "put the boards in turn into these groups: a,b,c, or their number"),
            Option("connect-rate", value: "N", help: "the boards that start per second (default 500)"),
            Option("events", value: "N", help: "shakes per minute, of all boards together (default 0)"),
            Option("deaths", value: "N", help: "deaths per minute, of all boards together (default 0)"),
            Option("death-pause", value: "SECONDS", help: "the time from a death to the next start (default 5)"),
            Option(
                "defect", value: "DEFECT",
                help: "break a share of the boards while a setting has a value; KIND:SHARE:KEY=VALUE; may be repeated",
                isRepeatable: true),
            Option("seed", value: "N", help: "the seed of all random choices (default 1)"),
            Option("state", value: "DIR", help: "keep the boards' state there (default: a temporary directory)"),
            Option("workers", value: "N", help: "the threads that drive the boards (default 2)"),
            Option("json", help: "print the figures every second as a line of JSON"),
            Option("verbose", help: "print the boards' log lines, at the configured log.level"),
            Option("for", value: "SECONDS", help: "stop after this time"),
        ] + CommandUsage.configurationOptions, isProgram: true)
}
