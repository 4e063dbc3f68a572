package import IMUDrivers
package import JostleRuntime
package import LinuxSystem
package import MotionCore

/// Everything that a user can configure, as plain values in SI units.
///
/// `ConfigurationSchema` alone defines which key sets which field, and within which limits.
package struct JostleSettings: Equatable, Sendable {
    /// The device's identity.
    package var device = Device()

    /// Which sensor is read, and how it is connected.
    package var sensor = Sensor()

    /// The chip's configuration.
    package var imu = IMUSettings()

    /// How attitude, motion and gestures are computed from samples.
    package var motion = MotionSettings()

    /// The times of day, by the local clock, at which gestures may not begin. The core has no clock, so its caller
    /// silences the recognizers during these times. Default: none.
    package var quietHours: [Gesture: [DailySpan]] = [:]

    /// The gestures that somebody has shown, by name. Default: none.
    package var learned: [GestureName: Learned] = [:]

    /// The rules that act on gesture events, in the order of the responder chain. Default: none.
    package var actions: [Action] = []

    /// Which commands over MQTT are allowed.
    package var commands = Commands()

    /// What is kept of the last seconds, and when.
    package var recorder = Recorder()

    /// Which keys may be set over MQTT, on the device's `set` topics.
    package var settings = SettingsAccess()

    /// What the fleet's layers may change, and how a change is tried.
    package var fleet = Fleet()

    /// What is published, and how often.
    package var publish = Publish()

    /// How to reach the broker.
    package var mqtt = MQTT()

    /// What is announced to Home Assistant.
    package var homeAssistant = HomeAssistant()

    /// The web page, which is a program of its own.
    package var page = Page()

    /// What is logged.
    package var log = Log()

    /// Creates the built-in defaults.
    package init() {}
}

extension JostleSettings {
    /// The device's identity.
    package struct Device: Equatable, Sendable {
        /// The name in topics, `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`. Default: none; the agent derives one from the host
        /// name.
        package var id: String?

        /// The name for people. Default: none; the id is shown.
        package var name: String?

        /// The area that Home Assistant suggests for the device. Default: none.
        package var area: String?

        /// A web page about the device, to which Home Assistant links. Default: none.
        package var configurationURL: String?

        /// The groups whose layers the device reads, lowest first, unless the fleet's registry has others. Default: none.
        package var groups: [String] = []

        /// The version of the Debian package that the upgrade service installs. Default: none; nothing is upgraded.
        package var version: String?

        package init() {}

        /// Whether a text can be the version of a Debian package.
        package static func isVersion(_ text: String) -> Bool {
            guard let first = text.utf8.first, (0x30...0x39).contains(first), text.utf8.count <= 64 else {
                return false
            }
            return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".+~:-".contains($0)) }
        }

        /// The most groups of a device: each one is a subscription.
        package static let maximumGroups = 32

        /// Whether a text can be an id: it must fit into topics and must not look like a fleet topic.
        package static func isID(_ text: String) -> Bool {
            (1...64).contains(text.utf8.count) && text.first != "_" && text.first != "-"
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                    default: false
                    }
                }
        }
    }

    /// Which sensor is read, and how it is connected.
    package struct Sensor: Equatable, Sendable {
        /// Whether the sensor is read when the agent starts; the commands `start` and `stop` override it until the next
        /// start. Default true.
        package var isEnabled = true

        /// The driver. Default: that of the preferred chip among those found.
        package var driver = Driver.automatic

        /// The path of the I2C bus. Default: none; all buses are searched.
        package var bus: String?

        /// The 7-bit address on the bus. Default: none; the driver's usual addresses are searched.
        package var address: UInt8?

        /// The kernel driver's device: its identifier, name or label. Default: none; the preferred device is taken.
        package var device: String?

        /// The GPIO line to which the chip's data-ready pin is wired. Default: none.
        package var interrupt = Interrupt()

        /// The virtual sensor's movement: the name of a trajectory or the path of a recording. Default `demo`.
        package var trajectory = "demo"

        package init() {}
    }

    /// A line of a GPIO chip.
    package struct Interrupt: Equatable, Sendable {
        /// The chip's name or path. Default: none; `gpiochip0`, or any chip that has a line with this name.
        package var chip: String?

        /// The line's number or name. Default: none; no line is used.
        package var line: String?

        package init() {}
    }

    /// The choice of driver.
    package enum Driver: Equatable, Sendable {
        /// The preferred chip among those found, else a kernel driver's device.
        case automatic
        /// A chip of this family only.
        case family(IMUFamily)
        /// The device of a kernel driver (IIO).
        case kernel
        /// A simulated chip, for trials without hardware.
        case virtual
    }

    /// What is published, and how often.
    package struct Publish: Equatable, Sendable {
        /// The attitude; its dead band is in radians, 0.5° by default.
        package var attitude = Stream(rate: 10, deadband: 0.5 * radiansPerDegree, heartbeat: 30)

        /// Linear acceleration, gravity and rotation; the dead band is in m/s², 0.2 by default: five times the noise of
        /// an MPU-6050 behind the default low-pass, so that a device at rest publishes heartbeats only.
        package var motion = Stream(rate: 5, deadband: 0.2, heartbeat: 30)

        /// The change of the rotation rate that triggers a message on the motion topic, rad/s; 1 °/s by default.
        /// Smaller is finer, larger sends fewer messages.
        package var rotationDeadband = 1 * radiansPerDegree

        /// The health report.
        package var health = Health()

        /// Whether movements that were almost gestures are published, with the reason. Default: false.
        package var nearMisses = false

        /// Whether each value is also published as plain text on a topic of its own. Default: false.
        package var plain = false

        package init() {}
    }

    /// How often a changing quantity is published.
    package struct Stream: Equatable, Sendable {
        /// The highest number of messages per second, Hz; 0 publishes nothing. Smaller saves traffic, larger follows
        /// faster.
        package var rate: Double

        /// The change that triggers a message, in the quantity's SI unit. Smaller is finer, larger sends fewer
        /// messages.
        package var deadband: Double

        /// Seconds after which a message is sent although nothing changed; 0 sends none.
        package var heartbeat: Double

        package init(rate: Double, deadband: Double, heartbeat: Double) {
            self.rate = rate
            self.deadband = deadband
            self.heartbeat = heartbeat
        }
    }

    /// How often the health report is published.
    package struct Health: Equatable, Sendable {
        /// Seconds between two reports; 0 sends none. Default 60.
        package var interval = 60.0

        package init() {}
    }

    /// How to reach the broker.
    package struct MQTT: Equatable, Sendable {
        /// The broker. Default: none; the agent uses the one on this machine.
        package var broker: Broker?

        /// The broker for the commands that talk to agents, such as `jostle stop`. Default: none; that of the agent.
        package var commandBroker: Broker?

        /// The client id at the broker, with `{id}` for the device's id. Default: `_jostle-{id}`. A program beside the
        /// agent has a name of its own in the place of `{id}`.
        package var clientID = "_jostle-{id}"

        /// The user name at the broker. Default: none.
        package var username: String?

        /// The file whose first line is the user name, instead of `username`. Default: none.
        package var usernameFile: String?

        /// The file whose first line is the password. Default: none. The password itself is never a setting.
        package var passwordFile: String?

        /// The file with the CA certificates for verifying a `mqtts` broker. Default: none; the system's are used.
        package var caFile: String?

        /// A directory of CA certificates, named by their hashes (`openssl rehash`). Default: none.
        package var caDirectory: String?

        /// Whether the broker's certificate must match its host name. Default true; if it is false, anyone with a
        /// certificate of the same authority can impersonate the broker.
        package var checksServerName = true

        /// The application protocol to request (ALPN), for a broker that shares its port with others. Default: none.
        package var applicationProtocol: String?

        /// The MQTT version. Default: 5, or 3.1.1 if the broker does not support 5.
        package var version = MQTTVersion.automatic

        /// The file with this device's certificate. Default: none. It needs `keyFile`.
        package var certificateFile: String?

        /// The file with the certificate's private key. Default: none. It needs `certificateFile`.
        package var keyFile: String?

        /// The first part of every topic, without a slash at the end. Default `jostle`.
        package var prefix = "jostle"

        /// Seconds without traffic after which client and broker test the connection. Default 15.
        /// Smaller detects a dead network sooner, larger sends fewer packets.
        package var keepAlive = 15.0

        /// Seconds for which a broker keeps an event for offline subscribers. Default 3600; 0 keeps it indefinitely.
        /// Smaller avoids outdated events, larger loses fewer.
        package var eventExpiry = 3600.0

        /// The queue of messages that wait for the broker.
        package var outbox = Outbox()

        /// The systemd credential's name if a path has the form `credential:NAME`, else `nil`.
        package static func credentialName(_ path: String) -> String? {
            path.hasPrefix("credential:") ? String(path.dropFirst("credential:".count)) : nil
        }

        package init() {}
    }

    /// The limits of the queue for an unreachable broker; the oldest messages are dropped first.
    package struct Outbox: Equatable, Sendable {
        /// The largest number of messages. Default 10,000.
        package var maximumCount = 10_000

        /// The most bytes of topics and payloads. Default 4 MiB. The file in the state directory is at most eight times
        /// as large.
        package var maximumBytes = 4_194_304

        /// The greatest age in seconds. Default: a week. Smaller avoids outdated messages.
        package var maximumAge = 604_800.0

        package init() {}
    }

    /// The choice of MQTT version.
    package enum MQTTVersion: Equatable, Sendable {
        case automatic
        case v5
        case v311
    }

    /// The choice of broker.
    package enum Broker: Equatable, Sendable {
        /// A small broker inside the agent.
        case embedded
        /// Brokers to try in this order; there is at least one.
        case remote([BrokerAddress])
    }

    /// What is announced to Home Assistant.
    package struct HomeAssistant: Equatable, Sendable {
        /// Whether entities and triggers are announced. Default true.
        package var discovery = true

        /// The messages of discovery.
        package enum DiscoveryForm: Equatable, Sendable {
            /// One for each entity and trigger, which every version of Home Assistant understands.
            case component
            /// One for the whole device, which Home Assistant understands from 2024.11.
            case device
        }

        /// Default: one for each component.
        package var discoveryForm = DiscoveryForm.component

        /// The discovery prefix, as set in Home Assistant's MQTT integration. Default `homeassistant`.
        package var prefix = "homeassistant"

        package init() {}
    }

    /// What is logged.
    package struct Log: Equatable, Sendable {
        /// The least severe level that is logged. Default: information.
        package var level = JostleRuntime.Log.Level.info

        package init() {}
    }
}

extension JostleSettings {
    /// The commands over MQTT; the raw value is the last level of the command's topic.
    package enum Command: String, CaseIterable, Sendable {
        case ping
        case getState = "get-state"
        case identify
        case tare
        case simulate
        case start
        case stop
        case stream
        case record
        case keep
        case recordings
        case calibrate
        case learn
        case machine
        case log
        case restart
    }

    /// Which commands are allowed.
    package struct Commands: Equatable, Sendable {
        /// The allowed commands; others are refused. Default: those whose effect ends at the next start at the latest,
        /// and that neither fill the disk nor show more than is published anyway. `tare` is allowed too, although its
        /// effect lasts if `attitude.reference` is `stored`.
        package var allow: [Command] = [.ping, .getState, .identify, .tare, .simulate, .start, .stop, .stream]

        package init() {}
    }
}

extension JostleSettings {
    /// The recorder: the last seconds of samples in memory, which become a recording when a gesture or a command asks for it.
    package struct Recorder: Equatable, Sendable {
        /// Seconds of samples in memory. Default 30; 0 is off. Larger takes more memory: 16.6 kB a second at 200 Hz.
        package var seconds = 30.0

        /// The gestures that are kept when they begin or are recognised. Default: none.
        package var gestures: [GestureKind] = []

        /// The most recordings in the state directory, those of the command `record` included. Default 50.
        package var maximumFiles = 50

        /// The most bytes of all these recordings. Default 20 MB.
        package var maximumBytes = 20_000_000

        package init() {}
    }
}

extension JostleSettings {
    /// Which keys a home may set on the topics `set/<key>`.
    package struct SettingsAccess: Equatable, Sendable {
        /// Sections and keys; an empty list allows none. Default: `gestures`, `attitude`, `publish` and the switches
        /// of rules.
        package var allow = ["gestures", "attitude", "publish", JostleSettings.Action.switches]

        package init() {}
    }

    /// The configuration of a fleet over MQTT.
    package struct Fleet: Equatable, Sendable {
        /// The sections and keys that the fleet's layers may set. Smaller limits what an operator, or whoever controls the
        /// broker, can change.
        package var remote = [
            "gestures", "attitude", "publish", "sensor.rate", "sensor.*_range", "home_assistant.discovery",
            JostleSettings.Action.switches,
        ]

        /// Seconds for which a new revision is watched before it counts as proven. Default 60. Smaller notices fewer
        /// faults, larger keeps the way back open for longer.
        package var probation = 60.0

        /// The keys whose signatures the fleet's documents need; without any, documents need none. Default: none.
        package var trustedKeys: [TrustedKey] = []

        package init() {}
    }

    /// A key that signs a fleet's documents.
    package struct TrustedKey: Equatable, Sendable {
        /// The name in signatures.
        package var name: String
        /// The public key of Ed25519, 32 bytes in base64.
        package var publicKey: String

        package init(name: String, publicKey: String) {
            self.name = name
            self.publicKey = publicKey
        }

        /// Reads `ops-1:MCow…=`; `nil` if the text is none.
        package init?(_ text: String) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, Device.isID(parts[0]), parts[1].utf8.count == 44, parts[1].hasSuffix("="),
                parts[1].dropLast().allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "/") })
            else { return nil }
            self.init(name: parts[0], publicKey: parts[1])
        }

        /// `ops-1:MCow…=`.
        package var text: String { "\(name):\(publicKey)" }
    }
}

extension JostleSettings {
    /// The web page: what `jostle-page` serves, and to whom.
    package struct Page: Equatable, Sendable {
        /// The address and port at which it listens. Default `127.0.0.1:8088`: for this machine alone.
        package var listen = ListeningAddress(host: "127.0.0.1", port: 8088)

        /// The host names under which browsers reach it, besides `localhost`, this machine's name and numeric addresses.
        /// Default: none.
        package var hosts: [String] = []

        /// The path below which a proxy serves the page, such as `/jostle`. Default: none.
        package var basePath: String?

        /// The addresses of proxies whose `X-Forwarded-*` are believed. Default: none.
        package var trustedProxies: [AddressRange] = []

        /// The file whose first line is the password of the page. Default: none; only links that the program prints
        /// admit a browser.
        package var passwordFile: String?

        /// The certificate with which it identifies itself, and the file with its private key. Default: none.
        package var certificateFile: String?
        package var keyFile: String?

        /// Whether visitors may change settings, send commands and forget boards. Default false.
        package var mayControl = false

        /// The file whose first line is the token with which `/metrics` is read. Default: none; then this machine reads it
        /// without a token, and no other.
        package var metricsTokenFile: String?

        /// What is kept of the past.
        package var history = History()

        package init() {}

        /// The history of all boards, in a file in the state directory.
        package struct History: Equatable, Sendable {
            /// The greatest age in seconds. Default: 30 days. 0 is off.
            package var maximumAge = 2_592_000.0

            /// The most bytes of the file. Default 200 MB.
            package var maximumBytes = 200_000_000

            package init() {}
        }
    }
}
