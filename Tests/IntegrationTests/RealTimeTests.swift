import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the thread that reads a chip, and no other, goes before ordinary threads where the process may have that, and
/// reads it all the same where not.
@Suite(.needsBroker, .needsFakeAdapter) struct RealTimeTests {
    private let bus = FakeBus.unusedPath()

    @Test func theSensorThreadAloneTakesRealTimePriorityWhereItMay() async throws {
        let isAllowed = try await mayTakePriority()
        try await expectPriority(isAllowed, launcher: [])
    }

    @Test func withoutTheRightItReadsAllTheSame() async throws {
        // Root may whatever the limit is, unless it is taken this right.
        let launcher = geteuid() == 0 ? ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"] : []
        try await expectPriority(false, launcher: launcher + ["prlimit", "--rtprio=0"])
    }

    private func expectPriority(_ isExpected: Bool, launcher: [String]) async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.bus=\(bus)", "sensor.rate=50Hz",
            "publish.health.interval=1 s",
        ]
        let agent = try JostleProgram(
            ["run", "--for", "120"] + settings.flatMap { ["--set", $0] }, fake: (bus, ""), launcher: launcher)
        defer { agent.kill() }
        #expect(
            await observer.sees { observer in
                try observer.objects("health").contains {
                    $0["sensor_state"] as? String == "streaming" && $0["real_time"] as? Bool == isExpected
                }
            }, "\(agent.errors) \(observer.texts("health"))")
        // A first-in-first-out policy with its flag against being inherited shows as 1 (proc_pid_stat(5)).
        let threads = policies(of: agent.processIdentifier)
        #expect(threads["jostle-sensor"] == (isExpected ? 1 : 0), "\(threads)")
        #expect(threads.count >= 4)
        #expect(threads.allSatisfy { $0.key == "jostle-sensor" || $0.value == 0 }, "\(threads)")
        #expect(await agent.terminate() == 0)
    }

    /// Whether a program started here may have the priority, by the word of another program.
    private func mayTakePriority() async throws -> Bool {
        let directory = try TemporaryDirectory()
        let process = try ChildProcess(["chrt", "--fifo", "1", "true"], in: directory)
        process.wait()
        return process.exitStatus() == 0
    }

    /// The scheduling policy of each of a process's threads by its name.
    private func policies(of process: Int32) -> [String: Int] {
        let directory = "/proc/\(process)/task"
        var policies: [String: Int] = [:]
        for thread in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let text = try? String(contentsOfFile: "\(directory)/\(thread)/stat", encoding: .utf8),
                let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            // The third field comes behind the name.
            policies[String(text[text.index(after: start)..<end])] = fields.count > 39 ? Int(fields[39]) : nil
        }
        return policies
    }
}
