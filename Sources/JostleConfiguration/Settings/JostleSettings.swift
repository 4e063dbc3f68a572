package import IMUDrivers
package import MotionCore

/// Everything that a person can set, as plain values in SI units; made without arguments it is the built-in defaults.
///
/// Which key of the configuration stands for which field, within which bounds, is said once: in `ConfigurationSchema`.
package struct JostleSettings: Equatable, Sendable {
    /// Who this device is.
    package var device = Device()

    /// Which sensor is read, and where it is.
    package var sensor = Sensor()

    /// What the chip is configured to.
    package var imu = IMUSettings()

    /// How samples become attitude, motion and gestures.
    package var motion = MotionSettings()

    /// The times of day at which gestures may not begin, by the local clock. The core has no clock: who runs it silences
    /// them then. Default: none.
    package var quietHours: [Gesture: [DailySpan]] = [:]

    /// What is published of gestures beside their events, in the order of the responder chain. Default: nothing.
    package var actions: [Action] = []

    /// Which commands over MQTT are carried out.
    package var commands = Commands()

    /// What is published, and how often.
    package var publish = Publish()

    /// The way to the broker.
    package var mqtt = MQTT()

    /// What Home Assistant is told.
    package var homeAssistant = HomeAssistant()

    /// What is logged.
    package var log = Log()

    /// Makes the default settings.
    package init() {}
}

extension JostleSettings {
    /// Who this device is.
    package struct Device: Equatable, Sendable {
        /// The name in topics, `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`. Default: none, the agent makes one of the host's name.
        package var id: String?

        /// The name for people. Default: none, the agent shows the id.
        package var name: String?

        /// Where it is, for Home Assistant to suggest as its area. Default: none.
        package var area: String?

        /// A page about it, to which Home Assistant links. Default: none.
        package var configurationURL: String?

        /// Makes the default settings.
        package init() {}

        /// Whether a text can be an id: so that it fits into topics and is never a fleet topic.
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

    /// Which sensor is read, and where it is.
    package struct Sensor: Equatable, Sendable {
        /// Whether it is read from the agent's start on; the commands `start` and `stop` change it until the next one.
        /// Default true.
        package var isEnabled = true

        /// Which driver reads it. Default: that of the preferred one of the chips that are found.
        package var driver = Driver.automatic

        /// The path of the I2C bus. Default: none, all buses are searched.
        package var bus: String?

        /// The 7-bit address on the bus. Default: none, the driver's usual addresses are searched.
        package var address: UInt8?

        /// The kernel driver's device: its identifier, name or label. Default: none, the preferred one that there is.
        package var device: String?

        /// Where the chip's data-ready pin is wired to. Default: nowhere.
        package var interrupt = Interrupt()

        /// What the virtual sensor does: the name of a trajectory or the path of a recording. Default `demo`.
        package var trajectory = "demo"

        /// Makes the default settings.
        package init() {}
    }

    /// A line of a GPIO chip.
    package struct Interrupt: Equatable, Sendable {
        /// The chip's name or path. Default: none, `gpiochip0`, or any chip that has a line of the name.
        package var chip: String?

        /// The line's number or name. Default: none, there is no line.
        package var line: String?

        /// Makes the default settings.
        package init() {}
    }

    /// A choice of driver.
    package enum Driver: Equatable, Sendable {
        /// The preferred one of the chips that are found, or else a kernel driver's device.
        case automatic
        /// A chip of this family and no other.
        case family(IMUFamily)
        /// The device of a kernel driver (IIO).
        case kernel
        /// A simulated chip, for trying things without hardware.
        case virtual
    }

    /// What is published, and how often.
    package struct Publish: Equatable, Sendable {
        /// The attitude; its dead band is in radians, 0.5° by default.
        package var attitude = Stream(rate: 10, deadband: 0.5 * radiansPerDegree, heartbeat: 30)

        /// Linear acceleration, gravity and rotation; the dead band is in m/s², 0.05 by default.
        package var motion = Stream(rate: 5, deadband: 0.05, heartbeat: 30)

        /// The change of rotation that is worth a message beside that of acceleration, rad/s; 1 °/s by default. Smaller is
        /// finer, larger is quieter.
        package var rotationDeadband = 1 * radiansPerDegree

        /// The health report.
        package var health = Health()

        /// Makes the default settings.
        package init() {}
    }

    /// How often a changing quantity is published.
    package struct Stream: Equatable, Sendable {
        /// The most messages a second, Hz; 0 publishes nothing. Smaller spares the network, larger follows faster.
        package var rate: Double

        /// The change that is worth a message, in the quantity's SI unit. Smaller is finer, larger is quieter.
        package var deadband: Double

        /// Seconds after which a message is sent although nothing changed; 0 waits for ever.
        package var heartbeat: Double

        /// Makes settings of their parts.
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

        /// Makes the default settings.
        package init() {}
    }

    /// The way to the broker.
    package struct MQTT: Equatable, Sendable {
        /// Where the broker is. Default: none, the agent takes the one on this machine.
        package var broker: Broker?

        /// The user's name at the broker. Default: none.
        package var username: String?

        /// The file whose first line is the user's name, instead of `username`. Default: none.
        package var usernameFile: String?

        /// The file whose first line is the password. Default: none. The password itself is never a setting.
        package var passwordFile: String?

        /// The file with the certificates that a `mqtts` broker is checked against. Default: none, the system's.
        package var caFile: String?

        /// A directory of such certificates, named by their hashes (`openssl rehash`). Default: none.
        package var caDirectory: String?

        /// Whether the broker's certificate must be for the name by which it is called. Default true; without it, whoever
        /// has a certificate of the same authority can pass for the broker.
        package var checksServerName = true

        /// The application protocol that is asked for (ALPN), where a broker shares a port with others. Default: none.
        package var applicationProtocol: String?

        /// The version of MQTT that is spoken. Default: 5, and 3.1.1 where the broker does not know 5.
        package var version = MQTTVersion.automatic

        /// The file with this device's certificate. Default: none. It needs `keyFile`.
        package var certificateFile: String?

        /// The file with the certificate's private key. Default: none. It needs `certificateFile`.
        package var keyFile: String?

        /// What every topic begins with, without a slash at its end. Default `jostle`.
        package var prefix = "jostle"

        /// Seconds without traffic after which client and broker test the connection. Default 15.
        /// Smaller notices a dead network sooner, larger sends fewer packets.
        package var keepAlive = 15.0

        /// Seconds for which a broker keeps an event for those who are not there. Default an hour; 0 is for ever.
        /// Smaller spares them stale news, larger lets them miss less.
        package var eventExpiry = 3600.0

        /// What waits for the broker.
        package var outbox = Outbox()

        /// The name of the systemd credential that a file's path stands for: `credential:NAME`; `nil` where it is a path.
        package static func credentialName(_ path: String) -> String? {
            path.hasPrefix("credential:") ? String(path.dropFirst("credential:".count)) : nil
        }

        /// Makes the default settings.
        package init() {}
    }

    /// How much waits for a broker that is not there; the oldest messages go first.
    package struct Outbox: Equatable, Sendable {
        /// Messages. Default 10,000.
        package var maximumCount = 10_000

        /// Bytes of topics and payloads. Default 4 MiB. The file in the state directory grows to eight times as much at most.
        package var maximumBytes = 4_194_304

        /// Seconds. Default a week. Smaller spares those who listen stale news.
        package var maximumAge = 604_800.0

        /// Makes the default settings.
        package init() {}
    }

    /// A choice of MQTT's version.
    package enum MQTTVersion: Equatable, Sendable {
        case automatic
        case v5
        case v311
    }

    /// A choice of broker.
    package enum Broker: Equatable, Sendable {
        /// A small broker inside the agent.
        case embedded
        /// Brokers to try in this order; there is at least one.
        case remote([BrokerAddress])
    }

    /// What Home Assistant is told.
    package struct HomeAssistant: Equatable, Sendable {
        /// Whether entities and triggers are announced. Default true.
        package var discovery = true

        /// What the topics of announcements begin with, as set in Home Assistant's MQTT integration. Default
        /// `homeassistant`.
        package var prefix = "homeassistant"

        /// Makes the default settings.
        package init() {}
    }

    /// What is logged.
    package struct Log: Equatable, Sendable {
        /// The least important messages that are written. Default: information.
        package var level = LogLevel.info

        /// Makes the default settings.
        package init() {}
    }

    /// The importance of a message; the raw value is syslog's priority, as in sd-daemon(3).
    package enum LogLevel: UInt8, CaseIterable, Comparable, Sendable {
        case error = 3
        case warning = 4
        case info = 6
        case debug = 7

        /// Whether `a` is more important than `b`.
        package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
    }
}
