import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Synchronization
import Testing

@testable import HTTPServer

/// A source whose bytes come from the test.
private final class TestSource: HTTPStreamSource, @unchecked Sendable {
    // Used on the server's thread only.
    private var waiting: [UInt8] = []
    private var isEnding = false
    private let life: Life
    private(set) weak var stream: HTTPStream?

    /// What the test sees of a source.
    final class Life: Sendable {
        let reads = Counter()
        let closes = Counter()
        let releases = Counter()
    }

    init(_ life: Life) { self.life = life }

    deinit { life.releases.countUp() }

    func makeStream() -> HTTPStream {
        let stream = HTTPStream(self)
        self.stream = stream
        return stream
    }

    func add(_ text: String) {
        waiting += Array(text.utf8)
        stream?.wake()
    }

    func end() {
        isEnding = true
        stream?.wake()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Piece {
        life.reads.countUp()
        guard !waiting.isEmpty else { return isEnding ? .end : .nothing }
        let count = min(waiting.count, buffer.count)
        buffer.copyBytes(from: waiting[..<count])
        waiting.removeFirst(count)
        return .bytes(count)
    }

    func streamDidClose() { life.closes.countUp() }
}

/// A server that answers `/stream` with a stream, and everything else with many bytes.
private final class StreamRig: Sendable {
    let server: ServerRig
    let life = TestSource.Life()
    private let source = Source()

    private final class Source: Sendable {
        private let value = Mutex<TestSource?>(nil)
        func set(_ source: TestSource?) { value.withLock { $0 = source } }
        func get() -> TestSource? { value.withLock { $0 } }
    }

    init(_ limits: HTTPLimits = HTTPLimits()) throws {
        let (source, life) = (source, life)
        server = try ServerRig(limits) { request in
            guard request.path == "/stream" else {
                return HTTPReply(200, body: .bytes([UInt8](repeating: 0x61, count: 30_000_000)))
            }
            let new = TestSource(life)
            source.set(new)
            return HTTPReply(200, [("Content-Type", "text/event-stream")], body: .stream(new.makeStream()))
        }
    }

    /// Opens the stream and reads its headers.
    func open(version: String = "1.1", receiveBuffer: Int32? = nil) throws -> RawHTTP.Connection {
        let connection = try server.connect(receiveBuffer: receiveBuffer)
        connection.write("GET /stream HTTP/\(version)\r\nHost: h\r\n\r\n")
        let reply = try connection.readReply(hasBody: false)
        #expect(reply.header("Content-Type") == "text/event-stream")
        return connection
    }

    /// Does something with the source on the server's thread.
    func perform(_ body: @escaping @Sendable (TestSource) -> Void) {
        let source = source
        server.perform { source.get().map(body) }
    }

    /// Leaves the source to the server.
    func forget() { source.set(nil) }
}

/// Answers that go on.
@Suite struct StreamTests {
    @Test func bytesArriveWhenTheSourceWakesTheServer() throws {
        let rig = try StreamRig()
        defer { rig.server.stop() }
        let connection = try rig.open()
        for text in ["one", "two", "three"] {
            rig.perform { $0.add(text) }
            let chunk = try #require(connection.readChunk())
            #expect(String(decoding: chunk, as: UTF8.self) == text)
        }
    }

    @Test func nothingIsAskedOfASourceThatHasNothing() async throws {
        let rig = try StreamRig()
        defer { rig.server.stop() }
        let connection = try rig.open()
        rig.perform { $0.add("x") }
        _ = connection.readChunk()
        // Once when it was opened, once for the byte, once more because there might have been another one.
        let isAsked = await eventually { rig.life.reads.value == 3 }
        #expect(isAsked)
        // A round of the server for another client must not touch it.
        for _ in 0..<5 { _ = try rig.server.connect() }
        rig.perform { _ in }
        #expect(rig.life.reads.value == 3)
    }

    @Test func aLargeStreamArrivesWhole() throws {
        let rig = try StreamRig()
        defer { rig.server.stop() }
        let connection = try rig.open()
        let text = (0..<40_000).map { "\($0) " }.joined()
        rig.perform { source in
            source.add(text)
            source.end()
        }
        var bytes: [UInt8] = []
        while let chunk = connection.readChunk(), !chunk.isEmpty { bytes += chunk }
        #expect(bytes == Array(text.utf8))
        let isClosed = eventuallyBlocking { rig.life.closes.value == 1 }
        #expect(isClosed)
    }

    @Test func anOldClientGetsTheBytesWithoutChunks() throws {
        let rig = try StreamRig()
        defer { rig.server.stop() }
        let connection = try rig.open(version: "1.0")
        rig.perform { source in
            source.add("plain")
            source.end()
        }
        #expect(connection.readToEnd() == Array("plain".utf8))
    }

    @Test func theSourceIsToldOnceAndReleasedWhenTheClientEnds() async throws {
        let rig = try StreamRig()
        defer { rig.server.stop() }
        var connection: RawHTTP.Connection? = try rig.open()
        withExtendedLifetime(connection) {}
        connection = nil
        let isClosed = await eventually {
            rig.perform { $0.add("anybody there?") }
            return rig.life.closes.value == 1
        }
        #expect(isClosed)
        rig.perform { $0.add("more") }
        rig.forget()
        let isReleased = await eventually { rig.life.releases.value == 1 }
        #expect(isReleased)
        #expect(rig.life.closes.value == 1)
    }

    @Test func stoppingTheServerClosesStreamsThatWait() throws {
        let rig = try StreamRig()
        let connection = try rig.open()
        let busy = try rig.open()
        rig.perform { $0.add("x") }
        _ = busy.readChunk()
        rig.forget()
        rig.server.stop()
        #expect(rig.life.closes.value == 2)
        #expect(rig.life.releases.value == 2)
        #expect(connection.hasEnded)
        #expect(busy.hasEnded)
    }

    @Test func aClientThatDoesNotReadLosesItsStream() async throws {
        var limits = HTTPLimits()
        limits.inactivity = 1
        let rig = try StreamRig(limits)
        defer { rig.server.stop() }
        let connection = try rig.open(receiveBuffer: 4096)
        rig.perform { $0.add(String(repeating: "x", count: 30_000_000)) }
        let isClosed = await eventually { rig.life.closes.value == 1 }
        #expect(isClosed)
        withExtendedLifetime(connection) {}
    }

    @Test func aStreamWithNothingToSendStaysOpen() async throws {
        var limits = HTTPLimits()
        (limits.inactivity, limits.request, limits.answer) = (1, 0.2, 0.2)
        let rig = try StreamRig(limits)
        defer { rig.server.stop() }
        let connection = try rig.open()
        // A connection that is opened later has reached its end, and so would the stream have.
        for _ in 0..<12 {
            let other = try rig.server.connect()
            #expect(other.hasEnded)
        }
        rig.perform { $0.add("still here") }
        let chunk = try #require(connection.readChunk())
        #expect(String(decoding: chunk, as: UTF8.self) == "still here")
    }
}

/// Connections that take their time.
@Suite struct SlowClientTests {
    private func limits(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
        var limits = HTTPLimits()
        change(&limits)
        return limits
    }

    @Test(arguments: [
        "", "GET /", "GET / HTTP/1.1\r\nX-Slow: ", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc",
    ])
    func aRequestThatStopsEndsItsConnection(_ beginning: String) throws {
        let rig = try StreamRig(limits { $0.request = 0.2 })
        defer { rig.server.stop() }
        let connection = try rig.server.connect()
        connection.write(beginning)
        #expect(connection.hasEnded)
    }

    @Test(arguments: ["GET / HTTP/1.1\r\nX-Slow: ", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 90000\r\n\r\n"])
    func aRequestThatTricklesEndsItsConnection(_ beginning: String) async throws {
        let rig = try StreamRig(limits { ($0.request, $0.body) = (0.3, 100_000) })
        defer { rig.server.stop() }
        let connection = try rig.server.connect()
        connection.write(beginning)
        let hasEnded = await eventually {
            connection.write("x")
            var byte: UInt8 = 0
            return recv(connection.descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
                || errno == ECONNRESET || errno == EPIPE
        }
        #expect(hasEnded)
    }

    @Test func anAnswerThatIsReadTooSlowlyEnds() async throws {
        let rig = try StreamRig(limits { $0.answer = 0.3 })
        defer { rig.server.stop() }
        let connection = try rig.server.connect(receiveBuffer: 4096)
        connection.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        var bytes = 0
        var buffer = [UInt8](repeating: 0, count: 8000)
        let hasEnded = await eventually {
            let count = recv(connection.descriptor, &buffer, buffer.count, 0)
            bytes += max(count, 0)
            return count <= 0
        }
        #expect(hasEnded)
        #expect(bytes < 30_000_000)
    }

    @Test func theOldestOfTooManyEndsAndTheNewestIsServed() throws {
        let rig = try StreamRig(limits { $0.requesting = 4 })
        defer { rig.server.stop() }
        let stream = try rig.open()
        let waiting = try (0..<4).map { _ in try rig.server.connect() }
        // Accepted in order, because a later one has been served.
        let newest = try rig.server.connect()
        newest.write("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
        let reply = try newest.readReply(hasBody: false)
        #expect(reply.status == 200)
        #expect(waiting[0].hasEnded)
        rig.perform { $0.add("x") }
        #expect(stream.readChunk() == [UInt8(ascii: "x")], "a stream does not count")
    }

    @Test func connectionsBeyondTheLimitWaitForAPlace() throws {
        let rig = try StreamRig(limits { ($0.connections, $0.request) = (2, 0.5) })
        defer { rig.server.stop() }
        let idle = try (0..<6).map { _ in try rig.server.connect() }
        let last = try rig.server.connect()
        last.write("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
        let reply = try last.readReply(hasBody: false)
        #expect(reply.status == 200)
        withExtendedLifetime(idle) {}
    }
}
