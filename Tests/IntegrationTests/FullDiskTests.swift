import BrokerTestSupport
import Foundation
import Testing

/// A 1 MB disk that only one process sees.
enum SmallDisk {
    /// A command that mounts the disk at its first argument and executes the rest.
    static let launcher = [
        "unshare", "-Urm", "/bin/sh", "-c", "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"",
    ]

    static let isAvailable: Bool = {
        guard let directory = try? TemporaryDirectory() else { return false }
        return (try? runCommand(launcher + [directory.path, "true"], in: directory)) != nil
    }()

    /// Writes until the disk is full.
    static func fill(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        try #require(descriptor >= 0, "\(String(cString: strerror(errno)))")
        defer { close(descriptor) }
        for size in [4096, 1] {
            let bytes = [UInt8](repeating: 0, count: size)
            while write(descriptor, bytes, size) > 0 {}
        }
    }
}

/// Requirement: a full disk costs no event: events continue from memory, and the health report says so.
///
/// The disk is 1 MB of memory in a mount namespace of the agent's own, accessed through `/proc`. This needs no
/// privileges if the system has user namespaces. `JOSTLE_FULL_DISK_SECONDS=60` makes it a long test.
@Suite(.needsBroker, .enabled(if: SmallDisk.isAvailable, "no user namespaces")) struct FullDiskTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let spin: String

    init() throws {
        let rows = (0..<1000).map { "\(Double($0) / 50),0,0,9.80665,0,0,\($0 < 25 ? 0 : 12)\n" }
        spin = try directory.write(Recording.header + "\n" + rows.joined(), to: "spin.csv")
    }

    @Test(.timeLimit(.minutes(10))) func losesNoEventWithoutDiskAndBroker() async throws {
        let seconds = Double(ProcessInfo.processInfo.environment["JOSTLE_FULL_DISK_SECONDS"] ?? "") ?? 5
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        let observer = try await Observer(broker.port)
        let network = try rig.proxy(to: broker.port)
        let state = directory.path("state")
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(network.port)", "sensor.driver=virtual",
            "sensor.rate=50Hz",
            "sensor.trajectory=\(spin)", "gestures.turn.mode=free", "gestures.turn.change_angle=1",
            "gestures.turn.change_interval=20ms",
            "gestures.turn.maximum_duration=10min", "publish.health.interval=1 s",
        ]
        let agent = try rig.run(
            ["run", "--for", "600"] + settings.flatMap { ["--set", $0] }, environment: ["STATE_DIRECTORY": state],
            launcher: SmallDisk.launcher + [state])
        #expect(await observer.sees { $0.messages("event/turn").count > 20 }, "\(agent.errors)")

        // The directory as the agent sees it; in this process nothing is mounted there.
        let disk = "/proc/\(agent.processIdentifier)/root\(state)"
        let filler = disk + "/filler"
        try SmallDisk.fill(filler)
        network.cut()
        #expect(await agent.logs("cannot write the outbox"), "\(agent.errors)")
        try await Task.sleep(for: .seconds(seconds))
        try SmallDisk.fill(filler)
        let before = observer.messages("event/turn").count
        network.restore()
        #expect(await observer.sees { try $0.fault() != nil }, "\(agent.errors)")
        let ill = try observer.objects("health").last { $0["outbox_fault"] != nil }
        #expect((ill?["problems"] as? [String])?.contains("outbox") == true && ill?["problem"] as? Bool == true)
        let unstored = try observer.objects("health").compactMap { $0["outbox_unstored"] as? Int }.max() ?? 0
        #expect(await observer.sees { $0.messages("event/turn").count > before + Int(20 * seconds) }, "\(agent.errors)")

        try FileManager.default.removeItem(atPath: filler)
        #expect(await agent.logs("the outbox can be written again"), "\(agent.errors)")
        let reports = observer.messages("health").count
        #expect(await observer.sees { try $0.messages("health").count > reports + 1 && $0.fault() == nil })
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline"))
        let numbers = try observer.allEvents().map { try PublishedEvent($0).number }
        #expect(Set(numbers).count == numbers.max() ?? 0, "numbers without a gap")
        #expect(try Set(observer.allEvents().map { try PublishedEvent($0).run }).count == 1)
        print(
            "full disk: \(Int(seconds)) s, \(Set(numbers).count) events, \((numbers.max() ?? 0) - Set(numbers).count) lost, "
                + "\(numbers.count - Set(numbers).count) repeated with their id, \(unstored) in memory alone at most")
    }
}

extension Observer {
    /// The fault of the outbox in the last health report.
    fileprivate func fault() throws -> String? { try objects("health").last?["outbox_fault"] as? String }
}
