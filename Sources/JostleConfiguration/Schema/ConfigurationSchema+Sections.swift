internal import LinuxSystem
internal import MotionCore

/// The settings that every gesture has. The defaults depend on the gesture, which is why they are not read here.
extension RecognizerSettings: KeyedSettings {
    init() { self.init(cooldown: 0) }
}

extension ConfigurationSchema {
    static let gestures = Section(
        "gestures", "Which gestures are recognised, and how.",
        Gesture.builtIn.map(gesture) + [learned])

    /// The keys that only this gesture has.
    private static func ownKeys(of gesture: Gesture) -> [Section.Member] {
        switch gesture {
        case .shake:
            return [
                .key(
                    "maximum_duration", \.motion.gestures.shake.maximumDuration, .quantity(.duration, 1...60),
                    "Time after which a shake is cancelled as too long (s), so that a journey is not a gesture.")
            ]
        case .tap:
            return [
                .key(
                    "counts", \.motion.gestures.tap.counts, .tapCounts,
                    "The tap counts to distinguish: single, double, triple, or a list. A tap is delayed only if a higher count is listed."
                ),
                .key(
                    "window", \.motion.gestures.tap.window, .quantity(.duration, 0.15...0.6),
                    "Longest time between the taps of a double or triple tap (s). Larger allows slower tapping, but delays single taps."
                ),
                .key(
                    "threshold", \.motion.gestures.tap.threshold, .quantity(.acceleration, 0.2...50),
                    "Peak of the weakest tap at sensitivity 5 on a board that is held or worn (m/s²). At rest, half of it is enough. Smaller detects softer taps, but also knocks on the table."
                ),
                .key(
                    "stillness", \.motion.gestures.tap.stillness, .quantity(.acceleration, 0.1...10),
                    "Movement allowed before a tap (m/s² RMS). Larger detects taps on the move, but may take footsteps for taps."
                ),
            ]
        case .flick:
            return [
                .key(
                    "strength", \.motion.gestures.flick.strength, .quantity(.acceleration, 1...80),
                    "Peak acceleration of a flick at sensitivity 5 (m/s²). Larger requires a sharper movement."),
                .key(
                    "maximum_duration", \.motion.gestures.flick.maximumDuration, .quantity(.duration, 0.2...1.2),
                    "Longest time from the first stroke to rest (s). Larger accepts a wind-up and a slow return."),
                .key(
                    "directions", \.motion.gestures.flick.directions, .directions,
                    "The directions that are recognised: any, one, or a list."),
            ]
        case .turn:
            return [
                .key(
                    "mode", \.motion.gestures.turn.mode, .choice(["knob": .knob, "free": .free]),
                    "knob: only from rest to rest, about the vertical, without tilting. free: every rotation about an axis, also of a wrist."
                ),
                .key(
                    "knob_angle", \.motion.gestures.turn.knobAngle,
                    .quantity(.angle, (3 * radiansPerDegree)...(90 * radiansPerDegree)),
                    "knob: smallest rotation that counts as a turn, at sensitivity 5 (°). Larger ignores small corrections."
                ),
                .key(
                    "knob_rest", \.motion.gestures.turn.knobRest, .quantity(.duration, 0.1...5),
                    "knob: stillness before a turn (s). Larger ignores more of the movements of a hand."),
                .key(
                    "knob_duration", \.motion.gestures.turn.knobDuration, .quantity(.duration, 0.5...30),
                    "knob: time after which a turn is cancelled as too long (s). Larger lets people turn more slowly."
                ),
                .key(
                    "minimum_angle", \.motion.gestures.turn.minimumAngle,
                    .quantity(.angle, (5 * radiansPerDegree)...(2 * Double.pi)),
                    "free: smallest rotation that counts as a turn, at sensitivity 5 (°). Larger ignores all but wide turns."
                ),
                .key(
                    "minimum_rate", \.motion.gestures.turn.minimumRate,
                    .quantity(.rotationRange, (5 * radiansPerDegree)...(1000 * radiansPerDegree)),
                    "free: rate that a turn must reach, at sensitivity 5 (°/s). Larger accepts only brisk turns."
                ),
                .key(
                    "minimum_duration", \.motion.gestures.turn.minimumDuration, .quantity(.duration, 0...2),
                    "free: shortest rotation that counts as a turn (s). Larger ignores quick turns."),
                .key(
                    "swings", \.motion.gestures.turn.swings, .integer(1...100),
                    "free: turns back and forth that are reported before the movement counts as swinging, like an arm while walking."
                ),
                .key(
                    "maximum_duration", \.motion.gestures.turn.maximumDuration, .quantity(.duration, 1...600),
                    "free: time after which a turn is cancelled as too long (s)."),
                .key(
                    "change_angle", \.motion.gestures.turn.changeAngle,
                    .quantity(.angle, radiansPerDegree...(90 * radiansPerDegree)),
                    "Smallest change of the angle that is reported (°). Smaller follows more closely, but sends more messages."
                ),
                .key(
                    "change_interval", \.motion.gestures.turn.changeInterval, .quantity(.duration, 0.02...10),
                    "Shortest time between two reported changes (s). Smaller follows more closely, but sends more messages."
                ),
            ]
        case .flip:
            return [
                .key(
                    "hold_time", \.motion.gestures.flip.holdTime, .quantity(.duration, 0.04...5),
                    "Time for which the new side must stay up (s). Larger waits longer for the hand to become still."
                ),
                .key(
                    "steadiness", \.motion.gestures.flip.steadiness,
                    .quantity(.angle, radiansPerDegree...(30 * radiansPerDegree)),
                    "How far the vertical may wander during that time, at sensitivity 5 (°). Larger tolerates a swinging hand."
                ),
            ]
        case .tilt:
            return [
                .key(
                    "angle", \.motion.gestures.tilt.angle,
                    .quantity(.angle, (2 * radiansPerDegree)...(170 * radiansPerDegree)),
                    "Angle from the reference attitude at which the tilt begins (°)."),
                .key(
                    "hysteresis", \.motion.gestures.tilt.hysteresis, .quantity(.angle, 0...(45 * radiansPerDegree)),
                    "How far below that angle the tilt ends (°). With a larger value it must be tilted further back."
                ),
                .key(
                    "hold_time", \.motion.gestures.tilt.holdTime, .quantity(.duration, 0...60),
                    "Time for which the angle must stay beyond its limit (s). Larger ignores more of walking and shaking."
                ),
            ]
        case .fall:
            return [
                .key(
                    "minimum_duration", \.motion.gestures.fall.minimumDuration, .quantity(.duration, 0.08...1),
                    "Free fall after which a fall is certain even before an impact, at sensitivity 5 (s). Larger waits for the impact."
                ),
                .key(
                    "maximum_duration", \.motion.gestures.fall.maximumDuration, .quantity(.duration, 0.3...10),
                    "Longest free fall (s). A longer one is cancelled."),
            ]
        case .impact:
            return [
                .key(
                    "threshold", \.motion.gestures.impact.threshold, .quantity(.acceleration, 5...150),
                    "Peak acceleration of the weakest impact at sensitivity 5 (m/s²). Smaller detects softer impacts."
                ),
                .key(
                    "maximum_duration", \.motion.gestures.impact.maximumDuration, .quantity(.duration, 0.005...0.2),
                    "Longest impact (s). Larger includes padded impacts and, eventually, the swings of a shake."),
            ]
        case .motion:
            return [
                .key(
                    "stillness", \.motion.gestures.motion.stillness, .quantity(.duration, 0.2...3600),
                    "Stillness after which a movement has ended (s). Larger merges several movements into one."),
                .key(
                    "threshold", \.motion.gestures.motion.threshold, .quantity(.acceleration, 0.05...5),
                    "Change of the acceleration below 2 Hz that begins a movement, at sensitivity 5 (m/s²). Smaller reacts to a touch."
                ),
                .key(
                    "rotation_rate", \.motion.gestures.motion.rotationRate,
                    .quantity(.rotationRange, (0.5 * radiansPerDegree)...(90 * radiansPerDegree)),
                    "Rotation rate that begins a movement, at sensitivity 5 (°/s)."),
                .key(
                    "vibration", \.motion.gestures.motion.vibration, .quantity(.acceleration, 0.5...50),
                    "RMS of faster acceleration that counts as movement although nothing is displaced, at sensitivity 5 (m/s²)."
                ),
            ]
        case .vibration:
            return [
                .key(
                    "profile", \.motion.gestures.vibration.profile,
                    .choice(MachineProfile.allCases.map { ($0.word, $0) }),
                    "What kind of machine it is: how long it may pause within a run, after a spin and otherwise. auto is a washer until "
                        + "five runs have shown no pause."),
                .key(
                    "threshold", \.motion.gestures.vibration.threshold, .auto(or: .quantity(.acceleration, 0.02...20)),
                    "RMS over all axes at which a machine counts as running, at sensitivity 5 (m/s²). Smaller detects quieter machines. "
                        + "auto learns it; a value here, in done_after or in minimum_frequency turns learning off."
                ),
                .key(
                    "run_time", \.motion.gestures.vibration.runTime, .quantity(.duration, 1...600),
                    "Vibration after which a machine counts as running (s), at least 25 s if the threshold is learnt. Larger ignores knocks and work on the table."
                ),
                .key(
                    "done_after", \.motion.gestures.vibration.doneAfter, .auto(or: .quantity(.duration, 2...7200)),
                    "Time without vibration after which a machine is done (s): set it to the longest pause within a cycle. auto is that of "
                        + "the profile, or 180 s with a threshold."
                ),
                .key(
                    "minimum_frequency", \.motion.gestures.vibration.minimumFrequency,
                    .auto(or: .quantity(.frequency, 1...200)),
                    "Lowest frequency that counts as vibration (Hz). Larger ignores people's movements. auto is 2.5 Hz."
                ),
                .key(
                    "speed", \.motion.gestures.vibration.speed, .auto(or: .quantity(.runningSpeed, 1...2000)),
                    "Running speed of the machine (rpm), within 20 %: the strongest line near it is published as speed. auto publishes none."
                ),
                .key(
                    "class", \.motion.gestures.vibration.machineClass,
                    .choice(MachineClass.allCases.map { ($0.word, $0) }),
                    "Class of the machine, for the zone A to D of its velocity: small has the limits of class I of ISO 10816-1, medium and "
                        + "large those of groups 2 and 1 of ISO 20816-3. none publishes no zone."),
            ]
        case .learned: return []
        }
    }

    /// The keys of a built-in gesture.
    private static func gesture(_ gesture: Gesture) -> Section.Member {
        .section(
            keys(
                of: gesture.word, gesture.facts.summary, \.motion.gestures[gesture], \.quietHours[gesture],
                own: ownKeys(of: gesture)))
    }

    /// The keys of a gesture: the common ones, then its own.
    static func keys(
        of name: String, _ summary: String, _ settings: WritableKeyPath<JostleSettings, RecognizerSettings> & Sendable,
        _ quietHours: WritableKeyPath<JostleSettings, [DailySpan]?> & Sendable, own: [Section.Member]
    ) -> Section {
        let quietHours = Section.Member.key(
            "quiet_hours", optional: quietHours, .oneOrMore(.dailySpan), example: "22:00-07:00",
            "Time of day, or a list of times, in which it does not begin, by the local clock.")
        let gate = Section.Member.group(
            "when", "When it may begin: the state of the device before it, and the time of day.",
            gate.map { .setting(Setting($0, of: settings)) } + [quietHours])
        return Section(name, summary, common.map { .setting(Setting($0, of: settings)) } + own + [gate])
    }

    /// The keys that every gesture has. They are made once: for each gesture they took a third of the schema's time.
    private static let common: [SettingOf<RecognizerSettings>] = [
        SettingOf("enabled", \.isEnabled, .boolean, "Whether it is recognised."),
        SettingOf(
            "sensitivity", \.sensitivity, .integer(1...10),
            "From 1 (only unmistakable gestures) to 10 (even the gentlest)."),
        SettingOf(
            "cooldown", \.cooldown, .quantity(.duration, 0...60),
            "Time after its end in which it does not begin again (s). Larger ignores more of what follows."),
    ]

    /// The conditions for the beginning of a gesture: the state of the device before it.
    private static let gate: [SettingOf<RecognizerSettings>] = [
        SettingOf(
            "still", \.gate.still, ValueFormat.boolean.optional, example: "true",
            "true: only after stillness, false: only while moving. Without it, either."),
        SettingOf(
            "side", \.gate.sides, .sides, "Side that must be up before it: any, one, or one of a list."),
        SettingOf(
            "tilt_above", \.gate.tiltAbove, .quantity(.angle, 0...Double.pi),
            "Only if the device is tilted at least this far from the reference attitude (°)."),
        SettingOf(
            "tilt_below", \.gate.tiltBelow, .quantity(.angle, 0...Double.pi),
            "Only if the device is tilted at most this far from the reference attitude (°)."),
        SettingOf(
            "minimum_interval", \.gate.minimumInterval, .quantity(.duration, 0...86_400),
            "Shortest time between the beginnings of two gestures of this kind (s)."),
    ]
}

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
                        "Time between two reports (s). 0 is off.", touchesNetwork: true)
                ]),
            .key(
                "near_misses", \.publish.nearMisses, .boolean,
                "Whether movements that were almost gestures are published, with the reason why they were not."),
            .key(
                "plain", \.publish.plain, .boolean,
                "Whether values and gestures are also published as plain text, each on a topic of its own below plain/.",
                touchesNetwork: true),
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
                "client_id", \.mqtt.clientID, .clientID,
                "The client id at the broker, for one that prescribes it. {id} stands for device.id; commands such as "
                    + "watch put a name of their own there."),
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
                "Whether the device, its entities and triggers are announced; false removes them from Home Assistant.",
                touchesNetwork: true),
            .key(
                "discovery_form", \.homeAssistant.discoveryForm, .choice(["component": .component, "device": .device]),
                "One message for each entity and trigger, or one for the device, for Home Assistant 2024.11 or later.",
                touchesNetwork: true),
            .key(
                "prefix", \.homeAssistant.prefix, .topicPrefix,
                "The discovery prefix, as set in Home Assistant's MQTT integration.", effect: .agentRestart),
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
                    "The most messages per second (Hz). Smaller saves traffic, larger follows faster; 0 is off.",
                    touchesNetwork: true),
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

extension ConfigurationSchema {
    static let page = Section(
        "page", "The web page: what jostle-page serves, and to whom.",
        [
            .key(
                "listen", \.page.listen, .listeningAddress,
                "The address and port at which the page is served. 127.0.0.1: for this machine alone. Others need "
                    + "password_file and a certificate."),
            .key(
                "hosts", \.page.hosts, .anyNumber(of: .hostName, atMost: 32),
                "The host names under which browsers reach the page, besides localhost, this machine's name and numeric "
                    + "addresses."),
            .key(
                "base_path", optional: \.page.basePath, .basePath, example: "/jostle",
                "The path below which a proxy serves the page, whether the proxy removes it or not. The cookie is for this path "
                    + "alone."),
            .key(
                "trusted_proxies", \.page.trustedProxies, .anyNumber(of: .addressRange, atMost: 32),
                "The proxies in front of the page. What they say in X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto is "
                    + "believed, and nobody else's word. Each must set X-Forwarded-For itself."),
            .key(
                "password_file", optional: \.page.passwordFile, .credentialPath, example: "/etc/jostle/page-password",
                "A file whose first line is the password of the page. Without it, only links admit a browser."),
            .key(
                "certificate_file", optional: \.page.certificateFile, .path, example: "/etc/jostle/page.pem",
                "The certificate of the page, followed by those of its issuers. It needs key_file."),
            .key(
                "key_file", optional: \.page.keyFile, .credentialPath, example: "/etc/jostle/page.key",
                "The private key of that certificate, without a passphrase and not readable by all users."),
            .key(
                "control", \.page.mayControl, .boolean,
                "Whether visitors may change settings, send commands and forget boards."),
            .key(
                "metrics_token_file", optional: \.page.metricsTokenFile, .credentialPath,
                example: "/etc/jostle/metrics-token",
                "A file whose first line is the bearer token for reading /metrics, of 16 characters or more. Without it, only "
                    + "programs on this machine read them, without a token."),
            .section(history),
        ])

    private static let history = Section(
        "history", "What happened, for the history of each board. The oldest is deleted first.",
        [
            .key(
                "max_age", \.page.history.maximumAge, .quantity(.duration, 3600...31_536_000, zeroIsOff: true),
                "The age at which it is deleted (s). 0 keeps none, and leaves an old file alone."),
            .key(
                "max_bytes", \.page.history.maximumBytes, .integer(10_000_000...10_000_000_000),
                "The most bytes of the file. Larger keeps more of many boards that move."),
        ])
}

extension JostleSettings.Action: KeyedSettings {}

extension ConfigurationSchema {
    static let actions = Section.Member.key(
        "actions", optional: \.actionList, .list(of: action, faults: faults),
        example: "[{ on: shake, publish: { topic: cmnd/lamp/POWER, payload: TOGGLE } }]",
        "Rules that publish a message on a gesture, beside its event, so that a shake switches a lamp without a hub, or "
            + "that run a program or call a webhook.",
        elements: NamedElements(
            names: \.ruleNames, section: RuleSwitch.section, unknown: RuleSwitch.unknown),
        hide: \.withoutSecretsOfActions)

    /// One rule.
    static let action = SectionOf<JostleSettings.Action>(
        "action", "Publishes a message on a phase of a gesture, runs a program or calls a webhook.",
        [
            .key("on", \.on, .gestureKind, "The gesture: a built-in one, or one of gestures.learned."),
            .key(
                "name", optional: \.name, .ruleName, example: "lamp",
                "A name, with which set/actions.<name>.enabled switches the rule off and on at run time."),
            .key("enabled", \.isEnabled, .boolean, "Whether the rule acts."),
            .key(
                "phase", optional: \.phase, .named, example: "ended",
                "The phase that triggers the rule. Without it, began, or recognized for gestures without duration."),
            .key(
                "count", optional: \.filter.counts, .oneOrMore(.integer(1...3)), example: "2",
                "Only this number of taps, or one of a list."),
            .key(
                "axis", optional: \.filter.axes, .oneOrMore(.named), example: "x",
                "Only along or about this axis, or one of a list."),
            .key(
                "direction", optional: \.filter.directions, .oneOrMore(.named),
                example: "left", "Only in this direction, or one of a list."),
            .key(
                "side", optional: \.filter.sides, .oneOrMore(.named), example: "+z",
                "Only on this side, or one of a list."),
            .key(
                "from", optional: \.filter.from, .oneOrMore(.named), example: "+z",
                "Only if this side, or one of a list, was up before."),
            .key(
                "to", optional: \.filter.to, .oneOrMore(.named), example: "-z",
                "Only if this side, or one of a list, is up afterwards."),
            .key(
                "strength_above", optional: \.filter.strengthAbove, .quantity(.acceleration, 0...1000),
                example: "2 g", "Only if stronger than this (m/s²)."),
            .key(
                "angle_above", optional: \.filter.angleAbove, .quantity(.angle, 0...(3600 * radiansPerDegree)),
                example: "90 °", "Only if the angle is larger than this, in either direction (°)."),
            .key(
                "duration_above", optional: \.filter.durationAbove, .quantity(.duration, 0...604_800),
                example: "10 min", "Only if it lasts longer than this (s)."),
            .group(
                "publish", "The message to publish.",
                [
                    .key(
                        "topic", optional: \.publish.topic, .topicTemplate, example: "cmnd/lamp/POWER",
                        "The topic; ${field} inserts a field of the event."),
                    .key(
                        "payload", \.publish.payload, .payloadTemplate,
                        "The payload; ${field} inserts a field of the event. Without it, the event as it is published."
                    ),
                    .key(
                        "qos", \.publish.qos, .integer(0...1),
                        "1 is sent until the broker acknowledges it, and may arrive twice; 0 is sent once and may be lost."
                    ),
                    .key(
                        "retain", \.publish.isRetained, .boolean,
                        "Whether the broker retains the message for later subscribers."),
                    .key(
                        "expires", optional: \.publish.expiry, .quantity(.duration, 1...604_800, zeroIsOff: true),
                        example: "30 s",
                        "Age at which an undelivered message is dropped (s), 0 never. Without it 30 s, or never with retain."
                    ),
                ], required: ["topic"]),
            .key(
                "run", optional: \.run, .command, example: "[/usr/local/bin/siren, \"on\"]",
                "A program and its arguments, run without a shell: the event is in its environment and, as JSON, on its "
                    + "standard input."),
            .key(
                "time_limit", \.timeLimit, .quantity(.duration, 0.1...600),
                "Time after which the program is killed (s)."),
            .key(
                "post", optional: \.post, .webhook, example: "https://example.org/hook",
                "The URL to which the event is posted as JSON, or url_file: a file whose first line is the URL, or "
                    + "credential:NAME."),
            .key(
                "simulated", \.actsOnSimulated, .boolean,
                "Whether a rule with run or post also acts on simulated events."),
            .key(
                "consume", \.isConsuming, .boolean,
                "Whether the gesture is withheld from later rules and from the MQTT publisher."),
        ], required: ["on"])

    /// What is wrong with a rule whose values are valid one by one.
    private static func faults(_ action: JostleSettings.Action, _ add: AddFault) {
        let name = action.on.word
        if let phase = action.phase, !action.gesture.phases.contains(phase) {
            add("phase", "is not a phase of \(name)", action.gesture.phases.map(\.word).listed())
        }
        for (key, field) in action.filter.conditions where !action.gesture.fields.contains(field) {
            add(key, "does not apply to \(name), which has no \(field.rawValue); \(gesturesWith(field))", nil)
        }
        for (key, template) in [("topic", action.publish.topic), ("payload", action.publish.payload)] {
            for field in template?.fields ?? [] where !action.gesture.fields.contains(field) {
                let has = "has ${\(field.rawValue)}, but \(name) has no \(field.rawValue)"
                add("publish.\(key)", "\(has); \(gesturesWith(field))", nil)
            }
        }
        if action.publish.topic == nil && !action.reachesOut && !action.isConsuming {
            add("", "has no effect: it needs publish, run, post, or consume: true", nil)
        }
        if action.run == nil, action.timeLimit != JostleSettings.Action.usualTimeLimit {
            add("time_limit", "has no effect without run", nil)
        }
        if action.actsOnSimulated, !action.reachesOut {
            add("simulated", "has no effect without run or post: other rules act on simulated events anyway", nil)
        }
        if action.isConsuming, action.actingPhase != action.gesture.firstPhase {
            for (key, _) in action.filter.conditions where key.hasSuffix("_above") {
                add(
                    key,
                    "cannot be combined with consume at this phase: whether a gesture is consumed is decided when it begins",
                    nil)
            }
        }
    }

    /// A clause that lists the gestures with a field: `only tap has it`.
    private static func gesturesWith(_ field: Template.Field) -> String {
        let names = Gesture.allCases.filter { $0.fields.contains(field) }.map {
            $0 == .learned ? "a learned gesture" : $0.word
        }
        return "only \(names.listed("and")) \(names.count == 1 ? "has" : "have") it"
    }
}

extension JostleSettings.EventFilter {
    /// The keys of the conditions that are set, each with the event's field that it checks.
    fileprivate var conditions: [(key: String, field: Template.Field)] {
        let all: [(String, Template.Field, Bool)] = [
            ("count", .count, counts != nil), ("axis", .axis, axes != nil),
            ("direction", .direction, directions != nil), ("side", .side, sides != nil),
            ("from", .from, from != nil), ("to", .to, to != nil),
            ("strength_above", .strength, strengthAbove != nil), ("angle_above", .angle, angleAbove != nil),
            ("duration_above", .duration, durationAbove != nil),
        ]
        return all.filter(\.2).map { ($0.0, $0.1) }
    }
}
