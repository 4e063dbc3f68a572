import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Requirement: the page's server knows what happened to each board, also before it was restarted; and no disk delays what it
/// shows.
@Suite(.needsPage) struct PageHistoryTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private var state: String { directory.path("state") }

    private func page(
        _ broker: UInt16, _ settings: [String] = [], _ environment: [String: String] = [:], launcher: [String] = []
    ) async throws -> PageRig {
        let page = try await rig.page(
            broker: broker, settings, environment: ["STATE_DIRECTORY": state].merging(environment) { $1 },
            launcher: launcher)
        try #require(await page.program.logs("connected to "), "\(page.program.errors)")
        return page
    }

    /// Signs in; then the page has read what the broker holds of the board, and hears what comes.
    private func signIn(_ page: PageRig) async throws -> RawHTTP.Header {
        let cookie = try page.signIn()
        let isKnown = await eventually {
            Self.data(Self.rows(page, cookie, "board")).contains { $0["online"] as? Bool == true }
        }
        try #require(isKnown, "\(page.program.errors)")
        return cookie
    }

    private static func ask(_ page: PageRig, _ cookie: RawHTTP.Header?, _ query: String = "board=washer") throws
        -> (status: Int, body: [String: Any])
    {
        let connection = try RawHTTP.Connection(page.port)
        // HTTP/1.0 has no chunks, whose sizes would be within the answer.
        let cookie = cookie.map { "\($0.name): \($0.value)\r\n" } ?? ""
        connection.write("GET /api/history?\(query) HTTP/1.0\r\nHost: 127.0.0.1:\(page.port)\r\n\(cookie)\r\n")
        let reply = try RawHTTP.reply(connection.readToEnd())
        let body = try JSONSerialization.jsonObject(with: Data(reply.body.utf8)) as? [String: Any]
        return (reply.status, body ?? [:])
    }

    private static func rows(_ page: PageRig, _ cookie: RawHTTP.Header, _ kind: String) -> [[String: Any]] {
        let rows = (try? ask(page, cookie))?.body["rows"] as? [[String: Any]] ?? []
        return rows.filter { $0["kind"] as? String == kind }
    }

    private static func data(_ rows: [[String: Any]]) -> [[String: Any]] {
        rows.compactMap { $0["data"] as? [String: Any] }
    }

    private func shake(_ boards: SimulatedBoards, _ id: String, _ more: String = "", retain: Bool = false) {
        let time = Int(Date().timeIntervalSince1970 * 1000)
        boards.publish(
            "jostle/washer/event/shake", #"{"id":"\#(id)","t":\#(time),"gesture":"shake","phase":"ended"\#(more)}"#,
            retain: retain)
    }

    @Test func historySurvivesARestartAndHasEachEventOnce() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        shake(boards, "retained", retain: true)
        let first = try await page(broker.port)
        let cookie = try await signIn(first)
        #expect(Self.data(Self.rows(first, cookie, "board")).allSatisfy { $0["found"] as? Bool == true })
        shake(boards, "r-1", #","strength":14.2,"simulated":true"#)
        boards.publish("jostle/washer/state", #"{"t":1,"moving":true,"vibrating":false}"#)
        boards.publish("jostle/washer/availability", "offline")
        #expect(await eventually { Self.data(Self.rows(first, cookie, "board")).last?["online"] as? Bool == false })
        first.program.signal(SIGTERM)
        #expect(await first.program.exitStatus() == 0, "\(first.program.errors)")

        let second = try await page(broker.port)
        let again = try second.signIn()
        // Delivered again, and a new one; more than once, because the page may not have subscribed yet.
        let isWritten = await eventually {
            shake(boards, "r-1")
            shake(boards, "r-2")
            return Self.rows(second, again, "gesture").count >= 2
        }
        #expect(isWritten, "\(second.program.errors)")
        let gestures = Self.data(Self.rows(second, again, "gesture"))
        #expect(gestures.map { $0["id"] as? String } == ["r-1", "r-2"])
        #expect(gestures.first?["simulated"] as? Bool == true && gestures.first?["strength"] as? Double == 14.2)
        let states = Self.data(Self.rows(second, again, "board"))
        #expect(states.contains { $0["moving"] as? Bool == true && $0["found"] == nil })
        let recording = Self.rows(second, again, "recording").map { $0["data"] as? Bool }
        #expect(recording == [true, false, true])
        #expect((try Self.ask(second, again, "board=washer&from=0&to=1000").body["rows"] as? [Any])?.isEmpty == true)
        #expect(try Self.ask(second, again, "board=unknown").status == 200)
    }

    @Test func historyIsForWhoIsSignedInAndAsksWell() async throws {
        let broker = try await rig.broker()
        let page = try await page(broker.port)
        let cookie = try page.signIn()
        #expect(try Self.ask(page, nil).status == 401)
        for (query, words) in [
            ("", "no valid id"), ("board=a/b", "no valid id"), ("board=a&from=x", "from is no time"),
            ("board=a&to=-1", "to is no time"), ("board=a&to=1e5", "to is no time"),
            ("board=a&from=999999999999999999", "from is no time"), ("board=a&from=5&to=5", "from is not before to"),
        ] {
            let reply = try Self.ask(page, cookie, query)
            #expect(reply.status == 400, "\(query)")
            #expect((reply.body["message"] as? String)?.contains(words) == true, "\(query): \(reply.body)")
        }
        let packed = try RawHTTP.get(page.port, "/api/history?board=a", [cookie, ("Accept-Encoding", "gzip")])
        #expect(packed.status == 200 && packed.header("Content-Encoding") == "gzip")
        #expect(packed.header("Cache-Control") == "no-store" && packed.header("X-Frame-Options") == "DENY")

        let off = try await self.page(
            broker.port, ["page.history.max_age=0"], ["STATE_DIRECTORY": directory.path("off")])
        let reply = try Self.ask(off, try off.signIn(), "board=a")
        #expect(reply.status == 404)
        #expect((reply.body["message"] as? String)?.contains("page.history.max_age") == true)
        #expect(!FileManager.default.fileExists(atPath: directory.path("off/page-history.sqlite3")))
    }

    @Test func damagedFileIsNamedInTheLogAndSetAside() async throws {
        try directory.write("no database", to: "state/page-history.sqlite3")
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        let page = try await page(broker.port)
        let cookie = try await signIn(page)
        shake(boards, "r-1")
        #expect(await eventually { Self.rows(page, cookie, "gesture").count == 1 }, "\(page.program.errors)")
        #expect(await page.program.logs("moved to \(state)/page-history.sqlite3.bad"), "\(page.program.errors)")
        #expect(FileManager.default.fileExists(atPath: "\(state)/page-history.sqlite3.bad"))
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "no user namespaces"))
    func fullDiskIsSaidOnceAndCostsNothingElse() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let page = try await page(broker.port, launcher: SmallDisk.launcher + [state])
        let cookie = try await signIn(page)
        shake(boards, "r-1")
        #expect(await eventually { Self.rows(page, cookie, "gesture").count == 1 }, "\(page.program.errors)")
        // The directory as the page sees it; in this process nothing is mounted there.
        let filler = "/proc/\(page.program.processIdentifier)/root\(state)/filler"
        try SmallDisk.fill(filler)
        let events = try rig.events(page, "board=washer", cookie)
        #expect(await eventually { events.last("broker") != nil }, "\(page.program.errors)")
        for number in 2...300 { shake(boards, "r-\(number)", #","note":"\#(String(repeating: "x", count: 300))""#) }
        #expect(await eventually { events.all("gesture").count >= 300 }, "\(events.all.count)")
        #expect(await page.program.logs("the history cannot be written"), "\(page.program.errors)")
        let full = try Self.ask(page, cookie)
        #expect(full.status == 200 && full.body["problem"] is String, "\(full.body)")
        try FileManager.default.removeItem(atPath: filler)
        #expect(await page.program.logs("the history can be written again"), "\(page.program.errors)")
        #expect(page.program.errors.components(separatedBy: "the history cannot be written").count == 2)
        // What found room in memory meanwhile is there.
        #expect(await eventually { Self.rows(page, cookie, "gesture").count == 300 }, "\(page.program.errors)")
    }

    @Test(.enabled(if: Products.hasStallingDisk, "libStallingDisk.so was not built"))
    func stalledDiskDelaysNothingElse() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        let stall = directory.path("stall")
        let page = try await page(
            broker.port, [],
            ["LD_PRELOAD": Products.stallingDisk.path, "STALLING_DISK": state, "STALLING_DISK_SWITCH": stall])
        let cookie = try await signIn(page)
        let events = try rig.events(page, "board=washer", cookie)
        shake(boards, "r-1")
        #expect(await eventually { Self.rows(page, cookie, "gesture").count == 1 }, "\(page.program.errors)")
        try Data().write(to: URL(fileURLWithPath: stall))
        shake(boards, "r-2")
        #expect(await page.program.logs("the disk does not answer"), "\(page.program.errors)")
        shake(boards, "r-3")
        #expect(await eventually { events.all("gesture").count == 3 }, "\(events.all)")
        #expect(try RawHTTP.get(page.port, "/api/session", [cookie]).status == 200)
        try FileManager.default.removeItem(atPath: stall)
        #expect(await page.program.logs("the history can be written again"), "\(page.program.errors)")
        #expect(await eventually { Self.rows(page, cookie, "gesture").count == 3 }, "\(page.program.errors)")
        // The end does not wait for the disk.
        try Data().write(to: URL(fileURLWithPath: stall))
        shake(boards, "r-4")
        #expect(await eventually { events.all("gesture").count == 4 })
        let start = ContinuousClock.now
        page.program.signal(SIGTERM)
        #expect(await page.program.exitStatus() == 0, "\(page.program.errors)")
        #expect(start.duration(to: .now) < .seconds(30))
    }
}
