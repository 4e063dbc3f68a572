import BrokerTestSupport
import Foundation
import Testing

/// Requirement: an agent that shakes and loses its broker for weeks grows neither in memory nor in descriptors nor in
/// threads, and loses no event.
///
/// `JOSTLE_SOAK_MINUTES=30` runs it; with less than 6 the memory is not judged. What boards run is the release build: copied
/// with the test program into one directory, it is the one that is run.
@Suite(.needsBroker) struct SoakTests {
    /// What the system knows of a process at an instant.
    private struct Figures {
        var seconds: Double
        /// Bytes of memory in use.
        var memory: Int
        var descriptors: Int
        var threads: Int

        init(of process: Int32, seconds: Double) throws {
            self.seconds = seconds
            memory = try residentMemory(of: process)
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
            threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task").count
        }
    }

    private static let minutes = Double(ProcessInfo.processInfo.environment["JOSTLE_SOAK_MINUTES"] ?? "") ?? 0

    @Test(.enabled(if: minutes > 0, "JOSTLE_SOAK_MINUTES says for how long"), .timeLimit(.minutes(600)))
    func nothingGrowsAndNoEventIsLost() async throws {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let network = try Relay(to: broker.port)
        defer { network.end() }
        let directory = try TemporaryDirectory()
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(network.port)", "sensor.driver=virtual",
            "sensor.trajectory=\(shakes)",
        ]
        let agent = try JostleProgram(
            ["run", "--for", "\(Int(Self.minutes * 60) + 300)"] + settings.flatMap { ["--set", $0] },
            environment: ["STATE_DIRECTORY": directory.path("state")])
        defer { agent.kill() }

        let start = ContinuousClock.now
        var figures: [Figures] = []
        var restarts = 0
        while start.duration(to: .now) < .seconds(Self.minutes * 60) {
            #expect(await observer.availability("online"), "\(agent.errors.suffix(2000))")
            try await Task.sleep(for: .seconds(16))
            figures.append(
                try Figures(of: agent.processIdentifier, seconds: start.duration(to: .now) / .seconds(1)))
            // What is under way reaches the observer before the broker, who keeps nothing, is killed.
            network.cut()
            try await Task.sleep(for: .milliseconds(500))
            broker.kill()
            try await Task.sleep(for: .seconds(2))
            try await broker.start()
            restarts += 1
            #expect(await observer.subscribed(times: restarts + 1))
            network.mend()
        }
        #expect(await observer.availability("online"), "\(agent.errors.suffix(2000))")
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline"))
        try expectComplete(observer)

        // The first sixth is for caches to fill.
        let judged = Array(figures.drop { $0.seconds < Self.minutes * 60 / 6 })
        let slope = Self.slope(judged)
        print(
            "soak: \(Int(Self.minutes)) min, \(restarts) restarts of the broker, \(observer.topics.count) messages, "
                + "\(try observer.shakes().count) shake events, memory \(figures.map { $0.memory / 1024 }) KiB, "
                + "\(Int(slope * 3600 / 1024)) KiB/h, descriptors \(Set(judged.map(\.descriptors)).sorted()), "
                + "threads \(Set(judged.map(\.threads)).sorted())")
        if Self.minutes >= 6 { #expect(slope * 3600 < 1_048_576, "bytes an hour") }
        #expect(Set(judged.map(\.descriptors)).count == 1)
        #expect(Set(judged.map(\.threads)).count == 1)
    }

    /// Bytes a second, by least squares.
    private static func slope(_ figures: [Figures]) -> Double {
        let count = Double(max(figures.count, 1))
        let time = figures.reduce(0) { $0 + $1.seconds } / count
        let memory = figures.reduce(0) { $0 + Double($1.memory) } / count
        var products = 0.0
        var squares = 0.0
        for point in figures {
            let distance = point.seconds - time
            products += distance * (Double(point.memory) - memory)
            squares += distance * distance
        }
        return squares > 0 ? products / squares : 0
    }
}

/// The memory that a process has in use (VmRSS of /proc/…/status), in bytes.
func residentMemory(of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
    return try #require(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) })
        * 1024
}
