import BrokerTestSupport
import Foundation
import MosquittoClient
import SQLiteDatabase
import Testing

/// Requirement: an event exists from its commit. Whatever is killed when, each arrives, in order, and what arrives twice has
/// the same id; a gesture that was open when the agent was killed comes to its end.
///
/// `JOSTLE_DELIVERY_EVENTS` and `JOSTLE_DELIVERY_KILLS` make a long test of the one under fire: 10000 and 50, say.
@Suite(.needsBroker) struct DeliveryTests {
    private let directory: TemporaryDirectory
    private let spin: String
    private var state: String { directory.path("state") }

    init() throws {
        directory = try TemporaryDirectory()
        // Lying flat and turned about z for ever: with the settings below each sample tells a change.
        let rows = (0..<1000).map { "\(Double($0) / 50),0,0,9.80665,0,0,\($0 < 25 ? 0 : 12)\n" }
        spin = try directory.write(Recording.header + "\n" + rows.joined(), to: "spin.csv")
    }

    private func agent(_ port: UInt16, _ trajectory: String? = nil) throws -> JostleProgram {
        let settings = [
            "device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(port)", "sensor.driver=virtual", "sensor.rate=50Hz",
            "sensor.trajectory=\(trajectory ?? spin)", "gestures.turn.change_angle=1",
            "gestures.turn.change_interval=20ms",
            "gestures.turn.maximum_duration=10min", "publish.health.interval=1 s",
        ]
        return try JostleProgram(
            ["run", "--for", "3600"] + settings.flatMap { ["--set", $0] }, environment: ["STATE_DIRECTORY": state])
    }

    /// The ids of the events that a killed agent left in its outbox, in order.
    private func waiting() throws -> [String] {
        let database = try Database.open(path: state + "/outbox.sqlite3")
        var rows = try database.prepare("SELECT id FROM message ORDER BY token")
        var ids: [String] = []
        while try rows.step() { ids.append(rows.text(0)) }
        return ids
    }

    @Test func whatACrashLeftBehindIsSentByTheNextRunBeforeItsOwn() async throws {
        let broker = try TestBroker()
        defer { broker.kill() }
        let first = try agent(broker.port)
        #expect(await eventually { fileSize("outbox.sqlite3-wal") > 100_000 })
        first.kill()
        let left = try waiting()
        try #require(left.count > 10)

        try await broker.start()
        let observer = try await Observer(broker.port)
        let second = try agent(broker.port)
        defer { second.kill() }
        #expect(await observer.sees { Set(try $0.ids()).isSuperset(of: left) }, "\(second.errors)")
        let ids = try observer.ids()
        #expect(Array(ids.prefix(left.count)) == left)

        // What had begun is cancelled, by the new run and before anything else of it.
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

    @Test(.timeLimit(.minutes(60))) func underFireNoEventIsLostAndNoneIsOutOfOrder() async throws {
        let environment = ProcessInfo.processInfo.environment
        let wanted = Int(environment["JOSTLE_DELIVERY_EVENTS"] ?? "") ?? 300
        let kills = Int(environment["JOSTLE_DELIVERY_KILLS"] ?? "") ?? 3
        let broker = try TestBroker(isPersistent: true)
        defer { broker.kill() }
        try await broker.start()
        let observer = try await Observer(broker.port, hasSession: true)
        var existing: Set<String> = []
        var brokerDeaths: [Double] = []
        var agent = try agent(broker.port)
        defer { agent.kill() }

        for round in 0..<max(kills, 1) * 2 {
            let goal = wanted * (round + 1) / (max(kills, 1) * 2)
            #expect(
                await observer.sees(within: .seconds(120)) { try $0.count("event/turn") >= goal }, "\(agent.errors)")
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
        // The rest of the outbox, by a last run that makes no events of its own.
        let reports = observer.messages("health").count
        let last = try self.agent(broker.port, "rest")
        defer { last.kill() }
        // What the broker had taken and lost never comes: that is for the judge to tell.
        _ = await observer.sees { Set(try $0.ids()).isSuperset(of: existing) }
        // The rest is acknowledged, and then out of the file as well.
        #expect(
            await observer.sees { try $0.objects("health").dropFirst(reports).contains { $0["outbox"] as? Int == 0 } },
            "\(last.errors)")
        #expect(await last.terminate() == 0, "\(last.errors)")
        #expect(try waiting().isEmpty)

        try judge(observer, existing, brokerDeaths)
    }

    /// Order, gaps and repetitions of what came.
    private func judge(_ observer: Observer, _ existing: Set<String>, _ brokerDeaths: [Double]) throws {
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
                // What a broker had acknowledged, and not saved or passed on when it was killed, is its own loss.
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
    /// All events of a device, in the order in which they came, retained ones left out.
    func allEvents(of device: String = "dut") throws -> [[String: Any]] {
        try all.filter { $0.topic.hasPrefix("jostle/\(device)/event/") && !$0.retain }.map { message in
            try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
        }
    }

    /// Their ids, without repetitions.
    func ids(of device: String = "dut") throws -> [String] {
        var seen: Set<String> = []
        return try allEvents(of: device).compactMap { $0["id"] as? String }.filter { seen.insert($0).inserted }
    }

    /// How many messages came on a topic of a device.
    func count(_ end: String, of device: String = "dut") throws -> Int { messages(end, of: device).count }
}
