import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a device with a new name or prefix leaves no retained messages under the old one.
@Suite(.needsBroker) struct RenamingTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// An agent that keeps its state between starts.
    private func agent(_ broker: TestBroker, _ settings: String...) throws -> JostleProgram {
        try rig.virtualAgent(
            broker: broker.port, "rest", ["home_assistant.discovery=false"] + settings, state: directory.path("state"))
    }

    /// The names in the agent's state directory.
    private var remembered: [Substring] {
        let text = try? String(contentsOfFile: directory.path("state/device-names"), encoding: .utf8)
        return Array((text ?? "").split(separator: "\n").dropFirst())
    }

    /// Runs the agent as `dut` for a while, so that all its retained messages exist.
    private func beDut(_ broker: TestBroker, _ observer: Observer) async throws {
        let first = try agent(broker)
        #expect(await observer.availability("online"), "\(first.errors)")
        for topic in ["state", "health", "config/reported"] {
            #expect(await observer.sees { !$0.messages(topic).isEmpty }, "\(first.errors)")
        }
        #expect(await first.terminate() == 0)
        #expect(remembered == ["jostle/dut"])
    }

    /// The topics with a retained message.
    private func kept(_ broker: TestBroker) async throws -> Set<String> {
        let observer = try await Observer(broker.port)
        // Retained messages arrive before this one.
        try observer.publish("last", "x")
        #expect(await observer.sees { $0.topics.contains("last") })
        return Set(observer.all.filter { $0.retain }.map(\.topic))
    }

    @Test func removesMessagesOfFormerNames() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try await beDut(broker, observer)
        #expect(try await kept(broker).isSuperset(of: ["jostle/dut/availability", "jostle/dut/config/reported"]))

        let second = try agent(broker, "device.id=other")
        #expect(await eventually { remembered == ["jostle/other"] }, "\(second.errors)")
        let afterRenaming = try await kept(broker)
        #expect(!afterRenaming.contains { $0.hasPrefix("jostle/dut/") }, "\(afterRenaming)")
        #expect(afterRenaming.contains("jostle/other/availability"))
        #expect(
            second.errors.contains("removed the retained messages of the former name jostle/dut"), "\(second.errors)")
        #expect(await second.terminate() == 0)

        let third = try agent(broker, "device.id=other", "mqtt.prefix=house/motion")
        #expect(await eventually { remembered == ["house/motion/other"] }, "\(third.errors)")
        let afterMoving = try await kept(broker)
        #expect(!afterMoving.contains { $0.hasPrefix("jostle/") }, "\(afterMoving)")
        #expect(await third.terminate() == 0)
    }

    /// Another device has the name, or its memory card is a copy of this one's.
    @Test func keepsMessagesOfAnotherDevice() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try await beDut(broker, observer)
        let other = try rig.virtualAgent(broker: broker.port, "rest", "home_assistant.discovery=false")
        #expect(await observer.availability("online", count: 3), "\(other.errors)")
        let before = try await kept(broker)

        let renamed = try agent(broker, "device.id=renamed")
        #expect(await renamed.logs("another device is online under the former name jostle/dut"), "\(renamed.errors)")
        #expect(await observer.sees { !$0.messages("health", of: "renamed").isEmpty }, "\(renamed.errors)")
        #expect(try await kept(broker).isSuperset(of: before))
        #expect(Set(remembered) == ["jostle/dut", "jostle/renamed"])
        // The other device goes offline.
        #expect(await other.terminate() == 0)
        #expect(await eventually { remembered == ["jostle/renamed"] }, "\(renamed.errors)")
        #expect(await renamed.terminate() == 0)
    }

    /// A discovered device's memory card was copied, and the copy gets a name of its own.
    @Test func keepsDiscoveryOfAnotherDevice() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try rig.virtualAgent(broker: broker.port, "rest", [], state: directory.path("state"))
        #expect(await observer.sees { $0.topics.contains("homeassistant/button/dut/tare/config") }, "\(first.errors)")
        // As in older versions, which did not save names: only the discovery topics show the old one.
        try FileManager.default.copyItem(atPath: directory.path("state"), toPath: directory.path("copy"))
        try FileManager.default.removeItem(atPath: directory.path("copy/device-names"))
        func announced(_ id: String) async throws -> Set<String> {
            try await kept(broker).filter { $0.hasPrefix("homeassistant/") && $0.contains("/\(id)/") }
        }
        #expect(await eventually { remembered == ["jostle/dut"] })
        let ofFirst = try await announced("dut")
        #expect(ofFirst.count > 20, "\(first.errors)")

        let copy = try rig.virtualAgent(
            broker: broker.port, "rest", ["device.id=copy"], state: directory.path("copy"))
        #expect(await copy.logs("another device is online under the former name jostle/dut"), "\(copy.errors)")
        #expect(await observer.sees { $0.topics.contains("homeassistant/button/copy/tare/config") }, "\(copy.errors)")
        #expect(try await announced("copy").count == ofFirst.count)
        #expect(try await announced("dut") == ofFirst)
        // The other device is removed for good.
        #expect(await first.terminate() == 0)
        #expect(await copy.logs("removed the retained messages of the former name jostle/dut"), "\(copy.errors)")
        for _ in 0..<100 where try await !announced("dut").isEmpty { try await Task.sleep(for: .milliseconds(100)) }
        #expect(try await announced("dut").isEmpty)
        #expect(await copy.terminate() == 0)
    }

    @Test func logsForbiddenRemovalOnce() async throws {
        let files = try TemporaryDirectory()
        try files.write("topic readwrite #\n", to: "acl")
        let broker = try TestBroker(
            directory: files, settings: "allow_anonymous true\nacl_file \(files.path("acl"))")
        try await broker.start()
        let observer = try await Observer(broker.port)
        try await beDut(broker, observer)
        broker.kill()

        try files.write("topic readwrite jostle/other/#\ntopic read jostle/#\ntopic write last\n", to: "acl")
        try await broker.start()
        let second = try agent(broker, "device.id=other")
        let words = "cannot remove the retained messages of the former name jostle/dut"
        #expect(await second.logs(words), "\(second.errors)")
        broker.kill()
        try await broker.start()
        #expect(await observer.availability("online", of: "other", count: 2), "\(second.errors)")
        #expect(second.errors.components(separatedBy: words).count == 2, "logged once: \(second.errors)")
        #expect(remembered.contains("jostle/dut"))
        #expect(await second.terminate() == 0)
    }
}
