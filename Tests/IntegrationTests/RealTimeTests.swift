import BrokerTestSupport
import Foundation
import Testing

/// Requirement: only the thread that reads a chip takes real-time priority, if the process may have it, and the chip is
/// read either way.
@Suite(.needsBroker, .needsFakeAdapter) struct RealTimeTests {
    private let rig = Rig()
    private let file: FakeBus
    private var bus: String { file.path }

    init() throws {
        file = try FakeBus()
    }

    @Test func onlySensorThreadHasRealTimePriority() async throws {
        let isAllowed = try await mayTakePriority()
        try await expectPriority(isAllowed, launcher: [])
    }

    @Test func readsWithoutRealTimePriority() async throws {
        // Root may exceed the limit unless it loses this capability.
        let launcher = geteuid() == 0 ? ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"] : []
        try await expectPriority(false, launcher: launcher + ["prlimit", "--rtprio=0"])
    }

    private func expectPriority(_ isExpected: Bool, launcher: [String]) async throws {
        let (broker, observer) = try await rig.observedBroker()
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.bus=\(bus)", "sensor.rate=50Hz",
            "publish.health.interval=1 s",
        ]
        let agent = try rig.run(
            ["run", "--for", "120"] + settings.flatMap { ["--set", $0] }, fake: (bus, ""), launcher: launcher)
        #expect(
            await observer.sees { observer in
                try observer.objects("health").contains {
                    $0["sensor_state"] as? String == "streaming" && $0["real_time"] as? Bool == isExpected
                }
            }, "\(agent.errors) \(observer.texts("health"))")
        // A FIFO policy with the reset-on-fork flag shows as 1 (proc_pid_stat(5)).
        let threads = policies(of: agent.processIdentifier)
        #expect(threads["jostle-sensor"] == (isExpected ? 1 : 0), "\(threads)")
        #expect(threads.count >= 4)
        #expect(threads.allSatisfy { $0.key == "jostle-sensor" || $0.value == 0 }, "\(threads)")
        #expect(await agent.terminate() == 0)
    }

    /// Whether a program started here may have the priority, according to another program.
    private func mayTakePriority() async throws -> Bool {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(["chrt", "--fifo", "1", "true"], in: directory)
        process.wait()
        return process.exitStatus() == 0
    }

    /// The scheduling policies of a process's threads, by name.
    private func policies(of process: Int32) -> [String: Int] {
        let directory = "/proc/\(process)/task"
        var policies: [String: Int] = [:]
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let text = try? String(contentsOfFile: "\(directory)/\(thread)/stat", encoding: .utf8),
                let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            // The third field follows the name.
            policies[String(text[text.index(after: start)..<end])] = fields.count > 39 ? Int(fields[39]) : nil
        }
        return policies
    }
}
