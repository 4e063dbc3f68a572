import BrokerTestSupport
import MosquittoClient
import Testing

/// Clients that mean no good. While they are at work, an honest page goes on, and afterwards everything is as before.
/// `Scripts/attack-page` does the same for longer and measures it.
@Suite(.needsPage) struct PageAttackTests {
    private let rig = Rig()

    /// A page with one honest viewer of a stream.
    private struct Scene {
        let observer: Observer
        let page: PageRig
        let cookie: RawHTTP.Header
        let honest: PageStreamReader
        private var number = 0

        init(_ broker: TestBroker, limits: [String] = []) async throws {
            observer = try await Observer(broker.port)
            page = try await PageRig(broker: broker.port, launcher: limits)
            cookie = try page.signIn()
            honest = try PageStreamReader(page, "board=dut&stream=1", cookie)
            // Until the page has subscribed.
            var isSubscribed = false
            for _ in 0..<100 where !isSubscribed {
                try publish()
                isSubscribed = honest.next()?.name == "stream"
            }
            try #require(isSubscribed)
            try expectDelivery()
        }

        private mutating func publish(padding: Int = 0) throws {
            number += 1
            let text = "{\"seq\":\(number),\"x\":\"\(String(repeating: "x", count: padding))\"}"
            try observer.publish(MQTTMessage(topic: "jostle/dut/stream", payload: Array(text.utf8), qos: .atLeastOnce))
        }

        /// Publishes samples and expects the last of them in the honest page.
        mutating func expectDelivery(
            of count: Int = 1, padding: Int = 0, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            for _ in 0..<count { try publish(padding: padding) }
            let last = "{\"seq\":\(number),"
            let hasArrived = honest.next { $0.name == "stream" && $0.data.hasPrefix(last) } != nil
            #expect(hasArrived, "the honest page goes on", sourceLocation: sourceLocation)
        }

        var figures: ProcessFigures { ProcessFigures(page.program.processIdentifier) }
        var memory: Int { figures.memory }
        var descriptors: Int { figures.descriptors }
    }

    @Test func halfOpenConnectionsAndFloodsHarmNobody() async throws {
        let broker = try await rig.broker()
        var scene = try await Scene(broker)
        defer { scene.page.program.kill() }
        let before = (memory: scene.memory, descriptors: scene.descriptors)

        var open: [RawHTTP.Connection] = []
        for index in 0..<600 {
            let connection = try RawHTTP.Connection(scene.page.port)
            connection.write(["", "GET /", "POST /api/login HTTP/1.1\r\nHost: localhost\r\n"][index % 3])
            open.append(connection)
            if index % 100 == 99 { try scene.expectDelivery(of: 10) }
        }
        #expect(scene.descriptors < before.descriptors + 160, "the oldest ones have ended")
        for _ in 0..<300 {
            let connection = try RawHTTP.Connection(scene.page.port)
            connection.write("GET /login HTTP/1.1\r\nHost: localhost\r\n" + String(repeating: "X: y\r\n", count: 1000))
        }
        try scene.expectDelivery(of: 10)
        #expect(!open.isEmpty)
        open.removeAll()
        let isAsBefore = await eventually { scene.descriptors <= before.descriptors + 2 }
        #expect(isAsBefore, "\(scene.descriptors) descriptors, \(before.descriptors) before")
        #expect(scene.memory < before.memory + 40_000)
        try scene.expectDelivery()
    }

    @Test func pagesThatStopReadingHarmNobody() async throws {
        let broker = try await rig.broker()
        var scene = try await Scene(broker)
        defer { scene.page.program.kill() }
        let memory = scene.memory
        let stalled = try (0..<10).map { _ in
            try PageStreamReader(scene.page, "board=dut&stream=1", scene.cookie, receiveBuffer: 4096)
        }
        for _ in 0..<100 { try scene.expectDelivery(of: 5, padding: 20_000) }
        // 10 MB for each of them; a queue has 256 kB.
        #expect(scene.memory < memory + 40_000, "\(scene.memory) kB, \(memory) before")
        withExtendedLifetime(stalled) {}
    }

    @Test func withoutDescriptorsItWaitsQuietlyAndRecovers() async throws {
        let broker = try await rig.broker()
        var scene = try await Scene(broker, limits: ["prlimit", "--nofile=40:40"])
        defer { scene.page.program.kill() }
        var open = try (0..<100).map { _ in try RawHTTP.Connection(scene.page.port) }
        #expect(await eventually { scene.descriptors >= 38 })
        try scene.expectDelivery(of: 10)
        let share = try await scene.figures.processorShare()
        #expect(share < 0.5, "no loop around accept(2)")
        #expect(!open.isEmpty)
        open.removeAll()
        let isServed = await eventually {
            (try? RawHTTP.get(scene.page.port, "/login"))?.status == 200
        }
        #expect(isServed)
        try scene.expectDelivery()
    }
}
