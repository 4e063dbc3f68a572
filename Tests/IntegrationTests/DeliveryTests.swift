import BrokerTestSupport
import Foundation
import SQLiteDatabase
import Testing

/// Requirement: a committed event is not lost. Whatever is killed and when, each event arrives, in order; a repetition
/// has the same id; a gesture that was open when the agent was killed is cancelled.
///
/// `JOSTLE_DELIVERY_EVENTS` and `JOSTLE_DELIVERY_KILLS` lengthen the test with random kills, for example to 10000 and
/// 50.
@Suite(.needsBroker) struct DeliveryTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let spin: String
    private var state: String { directory.path("state") }

    init() throws {
        // Lies flat and turns about z for ever; with the settings below, every sample is a change.
        let rows = (0..<1000).map { "\(Double($0) / 50),0,0,9.80665,0,0,\($0 < 25 ? 0 : 12)\n" }
        spin = try directory.write(Recording.header + "\n" + rows.joined(), to: "spin.csv")
    }

    private func agent(_ port: UInt16, _ trajectory: String? = nil) throws -> JostleProgram {
        try rig.agent(
            broker: port,
            [
                "sensor.driver=virtual", "sensor.rate=50Hz", "sensor.trajectory=\(trajectory ?? spin)",
                "gestures.turn.mode=free", "gestures.turn.change_angle=1", "gestures.turn.change_interval=20ms",
                "gestures.turn.maximum_duration=10min", "publish.health.interval=1 s", "log.level=info",
            ], state: state, seconds: 3600)
    }

    /// The ids of the events that a killed agent left in its outbox, in order.
    private func waiting() throws -> [String] {
        let database = try Database.open(path: state + "/outbox.sqlite3")
        var rows = try database.prepare("SELECT id FROM message ORDER BY token")
        var ids: [String] = []
        while try rows.step() { ids.append(rows.text(0)) }
        return ids
    }

    @Test func nextRunSendsCrashedRunsEventsFirst() async throws {
        let broker = try TestBroker()
        let first = try agent(broker.port)
        #expect(await eventually { fileSize("outbox.sqlite3-wal") > 100_000 })
        first.kill()
        let left = try waiting()
        try #require(left.count > 10)

        try await broker.start()
        let observer = try await Observer(broker.port)
        let second = try agent(broker.port)
        #expect(await observer.sees { Set(try $0.ids()).isSuperset(of: left) }, "\(second.errors)")
        let ids = try observer.ids()
        #expect(Array(ids.prefix(left.count)) == left)

        // The open gesture is cancelled by the new run, before any other event of that run.
        #expect(await observer.sees { try $0.ids().count > left.count }, "\(second.errors)")
        let own = try #require(try observer.allEvents().first { !left.contains($0["id"] as? String ?? "") })
        #expect(
            ["motion", "turn"].contains(own["gesture"] as? String) && own["phase"] as? String == "cancelled", "\(own)")
        #expect(own["reason"] as? String == "restarted")
        #expect(await second.terminate() == 0)
    }

    private func fileSize(_ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: state + "/" + name)[.size] as? Int) ?? 0
    }

    @Test(.timeLimit(.minutes(60))) func randomKillsLoseNoEventAndKeepOrder() async throws {
        let environment = ProcessInfo.processInfo.environment
        let wanted = Int(environment["JOSTLE_DELIVERY_EVENTS"] ?? "") ?? 300
        let kills = Int(environment["JOSTLE_DELIVERY_KILLS"] ?? "") ?? 3
        let broker = try TestBroker(isPersistent: true)
        try await broker.start()
        let observer = try await Observer(broker.port, hasSession: true)
        var existing: Set<String> = []
        var brokerDeaths: [Double] = []
        var agent = try agent(broker.port)

        for round in 0..<max(kills, 1) * 2 {
            let goal = wanted * (round + 1) / (max(kills, 1) * 2)
            await observer.expect(agent) { try $0.count("event/turn") >= goal }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300)))
            if round.isMultiple(of: 2) {
                agent.kill()
                existing.formUnion(try waiting())
                agent = try self.agent(broker.port)
            } else {
                brokerDeaths.append(Date().timeIntervalSince1970)
                broker.kill()
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<300)))
                try await broker.start()
            }
        }
        #expect(await agent.terminate() == 0, "\(agent.errors)")
        existing.formUnion(try waiting())
        // A last run delivers the rest of the outbox and produces no events of its own. If a slow disk does not take its
        // last deletions in time, another run repeats these messages with their ids.
        var runs = 0
        repeat {
            runs += 1
            let reports = observer.messages("health").count
            let last = try self.agent(broker.port, "rest")
            defer { last.kill() }
            // Messages that the broker accepted and then lost never arrive; the check below tolerates those.
            _ = await observer.sees { Set(try $0.ids()).isSuperset(of: existing) }
            // The rest is acknowledged and then deleted from the file.
            await observer.expect(last) {
                try $0.objects("health").dropFirst(reports).contains { $0["outbox"] as? Int == 0 }
            }
            #expect(await last.terminate() == 0, "\(last.errors)")
        } while try runs < 3 && !waiting().isEmpty
        #expect(try waiting().isEmpty)

        try checkOrder(observer, existing, brokerDeaths)
    }

    /// Checks the order, gaps and repetitions of the received events.
    private func checkOrder(_ observer: Observer, _ existing: Set<String>, _ brokerDeaths: [Double]) throws {
        var lastNumber: [String: Int] = [:]
        var lastTime: [String: Double] = [:]
        var seen: Set<String> = []
        var repeated = 0
        var missing = 0
        var ofTheBroker = 0
        var runs: [String] = []
        for event in try observer.allEvents() {
            let id = try #require(event["id"] as? String)
            guard seen.insert(id).inserted else {
                repeated += 1
                continue
            }
            let published = try PublishedEvent(event)
            let time = try #require(event["t"] as? Double) / 1000
            if runs.last != published.run {
                #expect(!runs.contains(published.run), "events of a run come after those of the next one")
                runs.append(published.run)
            }
            let before = lastNumber[published.run] ?? 0
            #expect(published.number > before, "\(id) came after number \(before)")
            let gap = published.number - before - 1
            if gap > 0 {
                // What the broker acknowledged but neither saved nor forwarded when it was killed is the broker's loss.
                let from = (lastTime[published.run] ?? time) - 2
                if brokerDeaths.contains(where: { (from...(time + 2)).contains($0) }) {
                    ofTheBroker += gap
                } else {
                    missing += gap
                }
            }
            lastNumber[published.run] = published.number
            lastTime[published.run] = time
        }
        #expect(missing == 0)
        print(
            "delivery under fire: \(seen.count) events of \(runs.count) runs, \(missing) lost by the agent, \(ofTheBroker) by a "
                + "killed broker, \(repeated) repeated with their id, \(existing.subtracting(seen).count) of those found "
                + "in the outbox of a killed agent not seen")
    }
}

extension Observer {
    /// All events of a device, in the order of arrival, without retained ones.
    func allEvents(of device: String = "dut") throws -> [[String: Any]] {
        try all.filter { $0.topic.hasPrefix("jostle/\(device)/event/") && !$0.retain }.map { message in
            try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
        }
    }

    /// The ids of a device's events, without repetitions.
    func ids(of device: String = "dut") throws -> [String] {
        var seen: Set<String> = []
        return try allEvents(of: device).compactMap { $0["id"] as? String }.filter { seen.insert($0).inserted }
    }

    /// The number of messages on a topic of a device.
    func count(_ end: String, of device: String = "dut") throws -> Int { messages(end, of: device).count }
}
