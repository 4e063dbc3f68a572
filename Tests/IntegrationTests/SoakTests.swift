import BrokerTestSupport
import Foundation
import Testing

/// Requirement: an agent that shakes and loses its broker for weeks does not grow in memory, descriptors or threads,
/// and loses no event.
///
/// `JOSTLE_SOAK_MINUTES=30` runs it; below 6, memory is not checked. Boards run the release build: copy it and the test
/// program into one directory to test it.
@Suite(.needsBroker) struct SoakTests {
    private let rig = Rig()

    /// Resource usage of a process at one moment.
    private struct Usage {
        var seconds: Double
        /// Resident memory, bytes.
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
        let (broker, observer) = try await rig.observedBroker()
        let network = try rig.proxy(to: broker.port)
        let directory = try TemporaryDirectory()
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        let agent = try rig.agent(
            broker: network.port, ["sensor.driver=virtual", "sensor.trajectory=\(shakes)", "log.level=info"],
            state: directory.path("state"), seconds: Int(Self.minutes * 60) + 300)

        let start = ContinuousClock.now
        var samples: [Usage] = []
        var restarts = 0
        while start.duration(to: .now) < .seconds(Self.minutes * 60) {
            #expect(await observer.availability("online"), "\(agent.errors.suffix(2000))")
            try await Task.sleep(for: .seconds(16))
            samples.append(
                try Usage(of: agent.processIdentifier, seconds: start.duration(to: .now) / .seconds(1)))
            // Lets messages in flight reach the observer before the broker, which keeps nothing, is killed.
            network.cut()
            try await Task.sleep(for: .milliseconds(500))
            broker.kill()
            try await Task.sleep(for: .seconds(2))
            try await broker.start()
            restarts += 1
            #expect(await observer.subscribed(times: restarts + 1))
            network.restore()
        }
        #expect(await observer.availability("online"), "\(agent.errors.suffix(2000))")
        #expect(await agent.terminate() == 0)
        #expect(await observer.availability("offline"))
        try expectComplete(observer)

        // The first sixth of the time is for caches to fill.
        let judged = Array(samples.drop { $0.seconds < Self.minutes * 60 / 6 })
        let slope = Self.slope(judged)
        let (descriptors, threads) = (Set(judged.map(\.descriptors)), Set(judged.map(\.threads)))
        print(
            "soak: \(Int(Self.minutes)) min, \(restarts) restarts of the broker, \(observer.topics.count) messages, "
                + "\(try observer.shakes().count) shake events, memory \(samples.map { $0.memory / 1024 }) KiB, "
                + "\(Int(slope * 3600 / 1024)) KiB/h, descriptors \(descriptors.sorted()), "
                + "threads \(threads.sorted())")
        if Self.minutes >= 6 { #expect(slope * 3600 < 1_048_576, "bytes an hour") }
        #expect(descriptors.count == 1)
        #expect(threads.count == 1)
    }

    /// The slope in bytes per second, by least squares.
    private static func slope(_ samples: [Usage]) -> Double {
        let count = Double(max(samples.count, 1))
        let time = samples.reduce(0) { $0 + $1.seconds } / count
        let memory = samples.reduce(0) { $0 + Double($1.memory) } / count
        var products = 0.0
        var squares = 0.0
        for point in samples {
            let distance = point.seconds - time
            products += distance * (Double(point.memory) - memory)
            squares += distance * distance
        }
        return squares > 0 ? products / squares : 0
    }
}

/// The resident memory of a process, bytes.
func residentMemory(of process: Int32) throws -> Int { try memory("VmRSS", of: process) }

/// A size in /proc/…/status, bytes: VmRSS is the resident memory, and VmHWM the most that it ever was.
func memory(_ name: String, of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
    return try #require(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Int($0) })
        * 1024
}
