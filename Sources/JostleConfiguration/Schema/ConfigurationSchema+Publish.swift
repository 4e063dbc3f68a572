internal import MotionCore

extension ConfigurationSchema {
    static let publish = Section(
        "publish", "What is published, and how often.",
        [
            .section(
                stream(
                    "attitude", rate: \.publish.attitude.rate, deadband: \.publish.attitude.deadband,
                    heartbeat: \.publish.attitude.heartbeat,
                    as: .quantity(.angle, 0...(180 * radiansPerDegree)), unit: "°", "The attitude.")),
            .section(
                stream(
                    "motion", rate: \.publish.motion.rate, deadband: \.publish.motion.deadband,
                    heartbeat: \.publish.motion.heartbeat,
                    as: .quantity(.acceleration, 0...100), unit: "m/s²",
                    "Linear acceleration, gravity and rotation.",
                    more: [
                        .key(
                            "rotation_deadband", \.publish.rotationDeadband,
                            .quantity(.rotationRange, 0...(2000 * radiansPerDegree)),
                            "Change of the rotation rate that also triggers a message (°/s). Smaller is finer.")
                    ])),
            .group(
                "health", "The device's health report.",
                [
                    .key(
                        "interval", \.publish.health.interval,
                        .quantity(.duration, 1...86_400, zeroIsOff: true),
                        "Time between two reports (s). 0 is off."
                    ).touchingNetwork
                ]),
            .key(
                "near_misses", \.publish.nearMisses, .boolean,
                "Whether movements that were almost gestures are published, with the reason why they were not."),
        ])

    static let mqtt = Section(
        "mqtt", "How to reach the broker.",
        [
            .key(
                "broker", optional: \.mqtt.broker, .broker, example: "mqtt://localhost:1883",
                "The broker: embedded, a URL, or a list of URLs tried in turn. Without it, the one on this machine."),
            .key(
                "command_broker", optional: \.mqtt.commandBroker, .broker, example: "mqtts://broker.local:8884",
                "The broker's address for commands that talk to agents (stop, start, simulate, watch, fleet), if it is "
                    + "another one."),
            .key(
                "username", optional: \.mqtt.username, .text(maximum: 1024), example: "jostle",
                "The user name at the broker."),
            .key(
                "username_file", optional: \.mqtt.usernameFile, .credentialPath, example: "credential:mqtt-username",
                "A file whose first line is the user name, instead of username."),
            .key(
                "password_file", optional: \.mqtt.passwordFile, .credentialPath, example: "/etc/jostle/password",
                "A file whose first line is the password, or credential:NAME for a systemd credential. The password itself "
                    + "is never written into a configuration."),
            .key(
                "ca_file", optional: \.mqtt.caFile, .path, example: "/etc/jostle/ca.pem",
                "The CA certificates for verifying a mqtts broker. Without it, the system's."),
            .key(
                "ca_directory", optional: \.mqtt.caDirectory, .path, example: "/etc/jostle/ca",
                "A directory of CA certificates, named by their hashes as openssl rehash does."),
            .key(
                "server_name_check", \.mqtt.checksServerName, .boolean,
                "Whether the broker's certificate must match its host name. Leave it on."),
            .key(
                "alpn", optional: \.mqtt.applicationProtocol, .text(maximum: 255), example: "mqtt",
                "The application protocol to request in TLS, for a broker that shares its port with others."),
            .key(
                "certificate_file", optional: \.mqtt.certificateFile, .path, example: "/etc/jostle/device.pem",
                "This device's certificate, for a broker that requires one. It needs key_file."),
            .key(
                "key_file", optional: \.mqtt.keyFile, .credentialPath, example: "/etc/jostle/device.key",
                "The private key of that certificate, without a passphrase and not readable by all users."),
            .key(
                "prefix", \.mqtt.prefix, .topicPrefix, "The first part of every topic."),
            .key(
                "keep_alive", \.mqtt.keepAlive, .quantity(.duration, 5...3600),
                "Silence after which the connection is tested (s). Smaller detects a dead network sooner."),
            .key(
                "version", \.mqtt.version, .choice(["auto": .automatic, "v5": .v5, "v3.1.1": .v311]),
                "The MQTT version: auto uses v5, or v3.1.1 if the broker does not support v5."),
            .key(
                "event_expiry", \.mqtt.eventExpiry, .quantity(.duration, 1...604_800, zeroIsOff: true),
                "Time for which the broker keeps an event for offline subscribers (s). 0 keeps it indefinitely."),
            .group(
                "outbox", "Messages that wait for an unreachable broker. The oldest are dropped first.",
                [
                    .key(
                        "max_count", \.mqtt.outbox.maximumCount, .integer(1...1_000_000),
                        "The most messages. Larger bridges longer outages."),
                    .key(
                        "max_bytes", \.mqtt.outbox.maximumBytes, .integer(4096...67_108_864),
                        "The most bytes of topics and payloads, in memory and, eight times as many, on the disk."),
                    .key(
                        "max_age", \.mqtt.outbox.maximumAge, .quantity(.duration, 1...31_536_000),
                        "The age at which a message is dropped (s). Smaller avoids outdated messages."),
                ]),
        ])

    static let homeAssistant = Section(
        "home_assistant", "What is announced to Home Assistant.",
        [
            .key(
                "discovery", \.homeAssistant.discovery, .boolean,
                "Whether the device, its entities and triggers are announced; false removes them from Home Assistant."
            ).touchingNetwork,
            .key(
                "prefix", \.homeAssistant.prefix, .topicPrefix,
                "The discovery prefix, as set in Home Assistant's MQTT integration."
            ).restartingAgent,
        ])

    /// The keys of a quantity that is published on change.
    private static func stream(
        _ name: String, rate: WritableKeyPath<JostleSettings, Double> & Sendable,
        deadband: WritableKeyPath<JostleSettings, Double> & Sendable,
        heartbeat: WritableKeyPath<JostleSettings, Double> & Sendable, as deadbandFormat: ValueFormat<Double>,
        unit: String, _ summary: String, more: [Section.Member] = []
    ) -> Section {
        Section(
            name, summary,
            [
                .key(
                    "rate", rate, .quantity(.frequency, 0.01...200, zeroIsOff: true),
                    "The most messages per second (Hz). Smaller saves traffic, larger follows faster; 0 is off."
                ).touchingNetwork,
                .key(
                    "deadband", deadband, deadbandFormat,
                    "The change that triggers a message (\(unit)). Smaller is finer, larger sends fewer messages."),
                .key(
                    "heartbeat", heartbeat,
                    .quantity(.duration, 0.1...3600, zeroIsOff: true),
                    "Time after which a message is sent although nothing changed (s). 0 is off."),
            ] + more)
    }
}
