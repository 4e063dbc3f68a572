import Foundation

/// The makes of broker other than mosquitto that a `TestBroker` can be. `Scripts/setup test` gets them.
package enum BrokerMake: String, Sendable {
    /// In Erlang. Version 3 of Debian 12 closes the connection on a CONNECT of MQTT 5; version 4 of Debian 13 knows MQTT 5.
    /// It sends no retained messages for filters with a wildcard.
    case rabbitMQ
    /// In Python. Leaves a CONNECT of MQTT 5 unanswered, and keeps nothing over a restart.
    case amqtt
    /// In Go. Refuses MQTT 5.
    case nats

    /// The path of its program; `nil` if there is none, in which case tests that need it must be skipped.
    package var executable: String? {
        switch self {
        case .rabbitMQ: OptionalProgram.path("rabbitmq-server", in: "/usr/lib/rabbitmq/bin")
        case .amqtt: OptionalProgram.path("amqtt")
        case .nats: OptionalProgram.path("nats-server")
        }
    }

    /// Whether it knows MQTT 5.
    package var knowsVersion5: Bool {
        guard self == .rabbitMQ, let executable else { return false }
        return !URL(fileURLWithPath: executable).resolvingSymlinksInPath().path.contains("/rabbitmq_server-3.")
    }

    /// The command that runs it in the foreground, with all that it writes in the directory, as an ordinary user may.
    /// Everybody may connect.
    func command(in directory: TemporaryDirectory, port: UInt16) throws -> [String] {
        guard let executable else { throw TestBrokerError.notInstalled }
        switch self {
        case .rabbitMQ: return try rabbitMQ(executable, in: directory, port: port)
        case .amqtt:
            let file = try directory.write(
                """
                listeners:
                  default:
                    type: tcp
                    bind: 127.0.0.1:\(port)
                plugins:
                  amqtt.plugins.authentication.AnonymousAuthPlugin:
                    allow_anonymous: true
                """, to: "amqtt.yaml")
            return [executable, "-c", file]
        case .nats:
            let file = try directory.write(
                """
                listen: 127.0.0.1:\(try Loopback.freePort())
                server_name: jostle
                jetstream { store_dir: "\(directory.path)" }
                mqtt { listen: 127.0.0.1:\(port) }
                """, to: "nats.conf")
            return [executable, "-c", file]
        }
    }

    /// With its own port mapper, which would otherwise be one of the machine and outlive the broker.
    private func rabbitMQ(_ executable: String, in directory: TemporaryDirectory, port: UInt16) throws -> [String] {
        let configuration = try directory.write(
            """
            listeners.tcp = none
            mqtt.listeners.tcp.default = 127.0.0.1:\(port)
            mqtt.allow_anonymous = true
            log.file = false
            """, to: "rabbitmq.conf")
        let variables = [
            "HOME": directory.path,
            "RABBITMQ_CONF_ENV_FILE": directory.path("none"),
            "RABBITMQ_CONFIG_FILE": configuration,
            // Otherwise those of an installed one in /etc/rabbitmq.
            "RABBITMQ_ADVANCED_CONFIG_FILE": directory.path("none"),
            "RABBITMQ_CONFIG_FILES": directory.path("none"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": try directory.write("[rabbitmq_mqtt].\n", to: "plugins"),
            "RABBITMQ_MNESIA_BASE": directory.path("mnesia"),
            "RABBITMQ_LOG_BASE": directory.path("log"),
            "RABBITMQ_NODENAME": "jostle@localhost",
            "RABBITMQ_DIST_PORT": "\(try Loopback.freePort())",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-noinput -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}",
            // Otherwise a shell would stand between this process and the server.
            "RABBITMQ_ALLOW_INPUT": "1",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_EPMD_PORT": "\(try Loopback.freePort())",
            "PATH": OptionalProgram.searchPath.joined(separator: ":"),
        ]
        let script = #"epmd & until epmd -names >/dev/null 2>&1; do sleep 0.02; done; exec "$0""#
        return ["/usr/bin/env"] + variables.map { "\($0)=\($1)" } + ["/bin/sh", "-c", script, executable]
    }
}
