import BrokerTestSupport
import JostleConfiguration
import MosquittoClient
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: Home Assistant's discovery messages do not change: it would make new entities, and lose the old ones.
@Suite final class GoldenDiscoveryTests {
    private var golden = GoldenText()
    private let facts: DiscoveryFacts = {
        var facts = DiscoverySetTests().facts
        facts.commands = ["tare", "calibrate", "identify", "restart", "ping"]
        return facts
    }()

    /// The messages that a device publishes at an empty broker.
    private func messages(
        _ facts: DiscoveryFacts? = nil, _ change: (inout JostleSettings) -> Void = { _ in }
    ) -> [MQTTMessage] {
        var settings = JostleSettings()
        change(&settings)
        let memory = RememberedTopics.announced(in: StateDirectory(path: "/nonexistent"))
        var bench = ParticipantBench(DiscoveryPublisher(settings, facts ?? self.facts, memory: memory) { _ in 2 })
        bench.deliver(.connected)
        bench.pass(20)
        return bench.takePublished().map(\.message)
    }

    @Test("All entities and triggers have the recorded topics and payloads")
    func everything() {
        let messages = messages { $0.motion.gestures.tap.counts = [.single, .double, .triple] }
        for message in messages { golden.add("\(message.topic) qos \(message.qos.rawValue)", message.payload) }
        #expect(messages.allSatisfy { $0.retain })
        expectGolden(golden, "home-assistant.txt")
    }

    @Test("With other settings, exactly the recorded messages differ")
    func variants() {
        let usual = messages()
        func add(_ name: String, _ messages: [MQTTMessage]) {
            golden.heading(name)
            golden.add("messages", "\(messages.count)")
            let topics = Set(messages.map(\.topic))
            for old in usual where !topics.contains(old.topic) { golden.add("gone", old.topic) }
            for message in messages where !usual.contains(message) { golden.add(message.topic, message.payload) }
        }
        var facts = facts
        facts.hasGyroscope = false
        facts.commands = []
        add("without a gyroscope and commands", messages(facts))
        let few: (inout JostleSettings) -> Void = { settings in
            for gesture in Gesture.builtIn { settings.motion.gestures[gesture].isEnabled = gesture == .flick }
            settings.motion.gestures.flick.directions = [MotionDirections(.left), MotionDirections(.up)]
            settings.publish.attitude.rate = 0
            settings.publish.health.interval = 0
        }
        add("few features", messages(nil, few))
        add(
            "other times",
            messages { settings in
                settings.publish.attitude.heartbeat = 0
                settings.publish.health.interval = 3600
            })
        add("a slow attitude", messages { $0.publish.attitude.rate = 0.01 })
        add(
            "rules with names",
            messages { settings in
                var lamp = JostleSettings.Action()
                lamp.name = "lamp-2"
                settings.actions = [lamp, JostleSettings.Action()]
            })
        add("off", messages { $0.homeAssistant.discovery = false })
        // Each message has the device: only one entity is of interest.
        func addDevice(_ name: String, _ messages: [MQTTMessage]) {
            golden.heading(name)
            for message in messages where message.topic.contains("/side/") {
                golden.add(message.topic, message.payload)
            }
        }
        addDevice(
            "a described device",
            messages { settings in
                settings.device.name = "Wäsche \"1\" \\ </script>"
                settings.device.area = "Laundry"
                settings.device.configurationURL = "http://washer-1.local/?a=b"
                settings.homeAssistant.prefix = "ha/x"
            })
        var unknown = self.facts
        unknown.sensor = nil
        addDevice("without a sensor", messages(unknown))
        unknown.board = BoardFacts()
        addDevice("without a board", messages(unknown))
        unknown.sensor = "virtual MPU-6050 (demo)"
        addDevice("a virtual sensor", messages(unknown))
        expectGolden(golden, "home-assistant-variants.txt")
    }

    @Test("The list of announced topics and the list of names have the recorded form")
    func files() {
        let state = StateDirectory(path: "/nonexistent")
        var settings = JostleSettings()
        settings.publish.attitude.rate = 0
        for gesture in Gesture.builtIn { settings.motion.gestures[gesture].isEnabled = false }
        var bench = ParticipantBench(
            DiscoveryPublisher(settings, facts, memory: .announced(in: state)) { _ in 2 })
        bench.deliver(.connected)
        bench.pass(20)
        golden.add("announced-topics", bench.text(.announcedTopics) ?? "none")
        let memory = RememberedTopics.deviceNames(in: state)
        var cleaner = ParticipantBench(
            FormerNameCleaner(["jostle/old", "home/older"], current: "jostle/new", memory: memory))
        cleaner.deliver(.connected)
        golden.add("device-names", cleaner.text(.deviceNames) ?? "none")
        expectGolden(golden, "state-topics.txt")
    }
}
