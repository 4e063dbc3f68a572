import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: with `config/mosquitto/acl`, every user may publish and receive exactly what `docs/broker.md` says.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct BrokerAccessTests {
    private let rig = Rig()

    /// Who may publish to a topic and who receives it.
    struct Rule {
        let topic: String
        let writers: Set<String>
        let readers: Set<String>

        init(_ topic: String, writers: String, readers: String) {
            self.topic = topic
            self.writers = Set(writers.split(separator: " ").map(String.init))
            self.readers = Set(readers.split(separator: " ").map(String.init))
        }
    }

    // Who may read what belongs to washer-1 and to the fleet, and who automates a home.
    private static let near = "washer-1 operator homeassistant page watch"
    private static let fleet = "washer-1 lamp-1 operator page watch"
    private static let home = "operator homeassistant"

    private static let rules: [Rule] =
        // What a device's agent publishes.
        [
            "availability", "attitude", "motion", "state", "machine", "health", "stream", "near-miss", "event/shake",
            "config/reported", "command/tare/result",
        ].map {
            Rule("jostle/washer-1/\($0)", writers: "washer-1 operator", readers: near)
        } + [
            // What is sent to a device.
            Rule("jostle/washer-1/command/tare", writers: "washer-1 operator homeassistant", readers: near),
            // The page asks for every sample, and for nothing else.
            Rule("jostle/washer-1/command/stream", writers: "washer-1 operator homeassistant page", readers: near),
            Rule("jostle/page/command/stream", writers: home, readers: "operator homeassistant watch"),
            Rule("jostle/_reply/command/stream", writers: "washer-1 lamp-1 operator", readers: "operator"),
            Rule("jostle/washer-1/command/stream/x", writers: "operator", readers: near),
            Rule("jostle/washer-1/set/gestures.shake.enabled", writers: home, readers: near),
            Rule("jostle/washer-1/set", writers: home, readers: near),
            Rule("jostle/washer-1/set/gestures/shake/enabled", writers: home, readers: near),
            Rule("jostle/washer-1/config/desired", writers: "operator", readers: near),
            Rule("jostle/_all/config", writers: "operator", readers: fleet),
            Rule("jostle/_group/laundry/config", writers: "operator", readers: fleet),
            // Groups whose names are the words of topics that others may write.
            Rule("jostle/_group/command/config", writers: "operator", readers: fleet),
            Rule("jostle/_group/set/config", writers: "operator", readers: fleet),
            Rule("jostle/_registry/washer-1", writers: "operator", readers: "washer-1 operator page watch"),
            // Topics that do not exist in Jostle.
            Rule("jostle/_all/other", writers: "operator", readers: "operator page watch"),
            Rule("jostle/_group/laundry/other", writers: "operator", readers: "operator page watch"),
            Rule("jostle/washer-1/event/shake/x", writers: "operator", readers: near),
            Rule("jostle/washer-1", writers: "operator", readers: near),
            Rule("jostle/washer-12/state", writers: "operator", readers: "operator homeassistant page watch"),
            // Answers.
            Rule("jostle/_reply/washer-1/0f", writers: "washer-1 lamp-1 operator", readers: "washer-1 operator"),
            Rule("jostle/_reply/operator/0f", writers: "washer-1 lamp-1 operator", readers: "operator"),
            Rule("jostle/_reply/operator", writers: "operator", readers: "operator"),
            Rule("jostle/_reply/operator/0f/x", writers: "operator", readers: "operator"),
            // Home Assistant discovery.
            Rule(
                "homeassistant/sensor/washer-1/roll/config", writers: "washer-1 operator homeassistant",
                readers: "washer-1 operator homeassistant"),
            Rule("homeassistant/light/washer-1/x/config", writers: home, readers: home),
            Rule("homeassistant/sensor/washer-1/roll/state", writers: home, readers: home),
            Rule("homeassistant/sensor/washer-1/config", writers: home, readers: home),
            Rule("homeassistant/status", writers: home, readers: "washer-1 lamp-1 operator homeassistant page watch"),
            // Devices that have the names of other users.
            Rule("jostle/page/state", writers: "operator", readers: "operator homeassistant watch"),
            Rule("jostle/watch/command/tare", writers: home, readers: "operator homeassistant page"),
            Rule("jostle/homeassistant/state", writers: "operator", readers: "operator page watch"),
            Rule("homeassistant/sensor/page/x/config", writers: home, readers: home),
            // Everything else.
            Rule("cmnd/lamp/POWER", writers: "", readers: ""),
            Rule("anything", writers: "", readers: ""),
            Rule("$SYS/broker/jostle", writers: "", readers: ""),
        ]

    @Test(arguments: [FleetBroker.Listener.devices, .commands], [MQTTVersion.v5, .v311])
    func usersPublishWhatTheyMay(_ listener: FleetBroker.Listener, _ version: MQTTVersion) async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        for user in FleetBroker.users {
            let client = try await fleet.client(user, listener, versions: .only(version)).connected()
            defer { client.end() }
            for rule in Self.rules { try client.publish(rule.topic, user) }
            #expect(await client.settled())
            if version == .v5 {
                let allowed = Self.rules.filter { $0.writers.contains(user) }.map(\.topic)
                #expect(client.rejected == Set(Self.rules.map(\.topic)).subtracting(allowed), "\(user)")
            }
        }
        // The broker forwards in order: what was permitted has arrived before this.
        try observer.publish("last")
        #expect(await observer.receives("last"))
        for user in FleetBroker.users {
            let allowed = Self.rules.filter { $0.writers.contains(user) }.map(\.topic)
            #expect(observer.topics(of: user) == Set(allowed), "\(user)")
        }
    }

    @Test(arguments: [FleetBroker.Listener.devices, .commands])
    func usersReceiveWhatTheyMay(_ listener: FleetBroker.Listener) async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        var clients: [String: FleetClient] = [:]
        for user in FleetBroker.users { clients[user] = try await fleet.client(user, listener).connected() }
        for rule in Self.rules { try observer.publish(rule.topic, "rule") }
        // Everybody but + reads one of these. The broker forwards in order.
        for topic in ["jostle/last/state", "jostle/_all/config"] { try observer.publish(topic, "last") }
        for (user, client) in clients where user != "+" {
            #expect(await eventually { !client.topics(of: "last").isEmpty }, "\(user)")
        }
        for (user, client) in clients {
            let allowed = Self.rules.filter { $0.readers.contains(user) }.map(\.topic)
            #expect(client.topics(of: "rule") == Set(allowed), "\(user)")
        }
        let systems = clients.filter { $0.value.topics.contains { $0.hasPrefix("$SYS/") } }.map(\.key)
        #expect(systems == ["operator"])
    }

    /// The broker publishes a will when it closes a connection, here because the same user connects again.
    @Test(arguments: [MQTTVersion.v5, .v311])
    func willsAreMessagesToo(_ version: MQTTVersion) async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        for (topic, isAllowed) in [("jostle/lamp-1/availability", false), ("jostle/washer-1/availability", true)] {
            let will = MQTTMessage(topic: topic, text: "will", qos: .atLeastOnce, retain: true)
            let first = try fleet.client("washer-1", .devices, versions: .only(version), will: will)
            let isAdmitted = await eventually { first.connections > 0 || first.isRefused } && first.connections > 0
            #expect(isAdmitted || !isAllowed)
            let second = try fleet.client("washer-1", .devices)
            if isAdmitted { #expect(await eventually { first.losses > 0 }) }
            first.end()
            _ = try await second.connected()
            second.end()
            try observer.publish("last/\(isAllowed)")
            #expect(await observer.receives("last/\(isAllowed)"))
            #expect(observer.topics(of: "will").contains(topic) == isAllowed)
        }
    }

    /// The two ways of the comments in the access rules: for every device, and for one.
    @Test(
        arguments: [
            (["pattern write cmnd/#"], ["lamp-1", "washer-1"]),
            (["user lamp-switch", "topic write cmnd/lamp/POWER"], ["lamp-1"]),
        ])
    func actionsPublishWhereTheRulesPermit(_ lines: [String], _ writers: [String]) async throws {
        let fleet = try await FleetBroker(rig, uncommented: lines) {
            $0.replacingOccurrences(of: "user lamp-switch\n", with: "user lamp-1\n")
        }
        let observer = try await fleet.client("observer").connected()
        for user in ["lamp-1", "washer-1"] {
            let client = try await fleet.client(user, .devices, versions: .only(.v5)).connected()
            defer { client.end() }
            for topic in ["cmnd/lamp/POWER", "jostle/\(user)/state", "jostle/_all/config"] {
                try client.publish(topic, user)
            }
            #expect(await client.settled())
            #expect(client.rejected.contains("cmnd/lamp/POWER") == !writers.contains(user), "\(user)")
            #expect(client.rejected.contains("jostle/_all/config"))
            #expect(await observer.receives("jostle/\(user)/state"))
        }
        let heard = observer.messages.filter { $0.topic == "cmnd/lamp/POWER" }.map {
            String(decoding: $0.payload, as: UTF8.self)
        }
        #expect(heard.sorted() == writers)
    }

    /// The command in the comment of the access rules.
    @Test func rulesApplyToOtherPrefixes() async throws {
        let fleet = try await FleetBroker(rig) { rules in
            let directory = try TemporaryDirectory()
            try directory.write(rules, to: "acl")
            let line = try #require(rules.split(separator: "\n").first { $0.contains("sed -i") })
            try runCommand(["sh", "-c", String(line.dropFirst())], in: directory)
            return try String(contentsOfFile: directory.path("acl"), encoding: .utf8)
        }
        let client = try await fleet.client("washer-1", .devices, versions: .only(.v5)).connected()
        let observer = try await fleet.client("observer").connected()
        let permitted: Set = ["plant/jostle/washer-1/state", "ha/sensor/washer-1/roll/config"]
        let denied: Set = [
            "jostle/washer-1/state", "homeassistant/sensor/washer-1/roll/config", "plant/jostle/lamp-1/state",
            "plant/jostle/_group/laundry/config",
        ]
        for topic in permitted.union(denied) { try client.publish(topic) }
        #expect(await client.settled())
        #expect(client.rejected == denied)
        for topic in permitted { #expect(await observer.receives(topic)) }
        try observer.publish("plant/jostle/_group/laundry/config", "layer")
        #expect(await eventually { !client.topics(of: "layer").isEmpty })
    }
}
