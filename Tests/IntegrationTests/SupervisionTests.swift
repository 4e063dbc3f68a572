import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: the agent looks after what it depends on, and tells the service manager that it lives, awake and asleep.
@Suite(.needsBroker) struct SupervisionTests {
    /// A service manager's end of sd_notify(3).
    private final class NotifySocket {
        let path: String
        private let descriptor: Int32

        init(in directory: TemporaryDirectory) throws {
            path = directory.path("n")
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let code = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            try #require(code == 0 && path.utf8.count < 108, "\(path)")
        }

        deinit {
            close(descriptor)
        }

        /// Waits for a message.
        func receives(_ text: String) async -> Bool {
            await eventually {
                var buffer = [UInt8](repeating: 0, count: 256)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                return count > 0 && String(decoding: buffer.prefix(count), as: UTF8.self) == text
            }
        }

        /// Takes away what has come.
        func drain() {
            var buffer = [UInt8](repeating: 0, count: 256)
            while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
        }
    }

    @Test func theWatchdogIsFedAwakeAndAsleep() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let directory = try TemporaryDirectory()
        let manager = try NotifySocket(in: directory)
        let observer = try await Observer(broker.port)
        let settings = ["device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.driver=virtual"]
        let agent = try JostleProgram(
            ["run", "--for", "120"] + settings.flatMap { ["--set", $0] },
            environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "1000000"])
        defer { agent.kill() }
        #expect(await manager.receives("READY=1"), "\(agent.errors)")
        for name in ["stop", "start", "stop"] {
            for _ in 1...3 { #expect(await manager.receives("WATCHDOG=1"), "\(name): \(agent.errors)") }
            try observer.publish(MQTTMessage(topic: "jostle/dut/command/\(name)", payload: [], qos: .atLeastOnce))
            #expect(await observer.sees { try $0.objects("state").last?["stopped"] as? Bool == (name == "stop") })
            manager.drain()
        }
        for _ in 1...3 { #expect(await manager.receives("WATCHDOG=1"), "\(agent.errors)") }
        agent.signal(SIGTERM)
        #expect(await manager.receives("STOPPING=1"))
        #expect(await agent.exitStatus() == 0)
    }

    @Test func theEmbeddedBrokerIsStartedAgain() async throws {
        let agent = try JostleProgram(
            ["run", "--for", "120", "--set", "mqtt.broker=embedded", "--set", "sensor.driver=virtual"])
        defer { agent.kill() }
        #expect(await agent.logs("connected to "), "\(agent.errors)")
        let broker = try #require(Self.child(of: agent.processIdentifier))
        kill(broker, SIGKILL)
        #expect(await agent.logs("the embedded broker had ended and was started again"), "\(agent.errors)")
        // Nobody there waits for announcements, and who does is told what to do.
        #expect(agent.errors.contains("Home Assistant is not told of the device"), "\(agent.errors)")
        #expect(
            await eventually { agent.errors.components(separatedBy: "connected to ").count >= 3 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// The one child of a process: proc(5), the fourth field of `stat`.
    private static func child(of parent: pid_t) -> pid_t? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.first { number in
            let stat = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
            let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
            return fields.count > 1 && fields[1] == "\(parent)"
        }
    }
}
