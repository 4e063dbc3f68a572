internal import Documents
internal import HTTPServer

/// An open page: the events that wait to be sent to it.
///
/// The queue is bounded. What a page does not take in time is left out, and it is told how much: first the newest state
/// replaces an older one, then the oldest samples and gestures are dropped.
final class Viewer: HTTPStreamSource {
    /// The most bytes and events that wait.
    private static let capacity = (bytes: 262_144, events: 600)
    /// The most boards that it follows.
    static let maximumFollowed = 500

    /// The board that it shows; `nil` for all boards.
    let board: String?
    /// Whether it asks for every sample.
    let wantsStream: Bool
    /// The name of the session in which it was opened.
    let session: String
    /// Its number, which no other page of this server has had.
    let number: Int64
    /// The boards whose reports of their configuration it gets, though it shows all boards.
    var followed: Set<String> = []
    /// The number of the last change of a row that it has been sent.
    var rowsSent: UInt64 = 0
    /// The number of the last removal of a board that it has been sent.
    var removalsSent: UInt64 = 0
    /// The last layers of the fleet that it has been sent.
    var fleetSent: ServerSentEvent?
    /// Whether there are more rows for it than the event that it was last sent has room for.
    var hasMoreRows = false
    /// The number of boards that it was last told; `nil` before it has the first full list.
    var listed: Int?

    private let closed: (Viewer) -> Void
    private weak var stream: HTTPStream?
    private var waiting: [ServerSentEvent] = []
    private var waitingBytes = 0
    /// How much of the first event has been sent.
    private var offset = 0
    private var dropped = 0
    /// How many messages were left out since it was opened.
    private(set) var droppedAltogether = 0

    init(
        board: String?, wantsStream: Bool, session: String = "", number: Int64 = 0,
        closed: @escaping (Viewer) -> Void
    ) {
        self.number = number
        self.board = board
        self.wantsStream = wantsStream
        self.session = session
        self.closed = closed
    }

    /// The body that carries the events; call it once.
    func makeStream() -> HTTPStream {
        let stream = HTTPStream(self)
        self.stream = stream
        return stream
    }

    /// Ends what it is sent.
    func end() { stream?.finish() }

    /// Whether everything has been handed to the socket.
    var isIdle: Bool { waiting.isEmpty }

    /// Adds an event.
    func send(_ event: ServerSentEvent) {
        if event.name.replacesOlder,
            let index = waiting.indices.last(where: { waiting[$0].name == event.name && ($0 > 0 || offset == 0) })
        {
            waitingBytes += event.bytes.count - waiting[index].bytes.count
            waiting[index] = event
        } else {
            waiting.append(event)
            waitingBytes += event.bytes.count
        }
        while waitingBytes > Viewer.capacity.bytes || waiting.count > Viewer.capacity.events, dropOldest() {}
        stream?.wake()
    }

    /// Drops the oldest event that no newer one replaces, or else the oldest; never one that is being sent.
    private func dropOldest() -> Bool {
        let candidates = waiting.indices.filter { $0 > 0 || offset == 0 }
        guard let index = candidates.first(where: { !waiting[$0].name.replacesOlder }) ?? candidates.first else {
            return false
        }
        waitingBytes -= waiting.remove(at: index).bytes.count
        dropped += 1
        droppedAltogether += 1
        return true
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Piece {
        var count = 0
        var finished = 0
        while count < buffer.count {
            // Where the messages are missing: before the first event that is not on its way yet.
            if offset == 0, dropped > 0 { insertDropped(at: finished) }
            guard finished < waiting.count else { break }
            let bytes = waiting[finished].bytes
            let part = min(bytes.count - offset, buffer.count - count)
            bytes.withUnsafeBytes { source in
                UnsafeMutableRawBufferPointer(rebasing: buffer[count..<(count + part)])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<(offset + part)]))
            }
            count += part
            offset += part
            guard offset == bytes.count else { break }
            offset = 0
            finished += 1
            waitingBytes -= bytes.count
        }
        waiting.removeFirst(finished)
        return count > 0 ? .bytes(count) : .nothing
    }

    /// Adds an event that says how many messages were left out.
    private func insertDropped(at index: Int) {
        var object = JSONObject()
        object.add("messages", Int64(dropped))
        let event = ServerSentEvent(.dropped, object)
        dropped = 0
        waiting.insert(event, at: index)
        waitingBytes += event.bytes.count
    }

    func streamDidClose() { closed(self) }
}

/// An event of a stream of server-sent events (HTML, section 9.2), in the form in which it is sent.
struct ServerSentEvent: Equatable, Sendable {
    /// The names of the events.
    enum Name: String, Sendable {
        case hello, broker, ping, dropped
        case boards, listed, removed, fleet, report
        case availability, attitude, motion, state, machine, health, reported, stream, gesture, result, lease, running
        case nearMiss = "near-miss"

        /// Whether a newer event makes an older one superfluous that has not been sent yet.
        var replacesOlder: Bool {
            switch self {
            case .hello, .broker, .ping, .listed, .fleet, .availability, .attitude, .motion, .state, .machine, .health,
                .reported, .lease, .running:
                true
            case .dropped, .boards, .removed, .report, .stream, .gesture, .result, .nearMiss: false
            }
        }
    }

    let name: Name
    let bytes: [UInt8]

    /// An event whose data are an object.
    init(_ name: Name, _ object: JSONObject) {
        self.init(name, object.bytes)
    }

    /// An event whose data are a message of a board, as it is.
    ///
    /// A line break would end the data, so each is replaced by a space. JSON has none within its values.
    init(_ name: Name, _ payload: [UInt8]) {
        var bytes = Array("event: \(name.rawValue)\ndata: ".utf8)
        bytes.reserveCapacity(bytes.count + payload.count + 2)
        for byte in payload { bytes.append(byte == 0x0A || byte == 0x0D || byte == 0 ? 0x20 : byte) }
        bytes += [0x0A, 0x0A]
        self.name = name
        self.bytes = bytes
    }
}

/// The body of an answer that is known later: the disk has to give it, or the broker.
final class LateAnswer: HTTPStreamSource {
    private var rest: ArraySlice<UInt8>?
    private weak var stream: HTTPStream?
    private let closed: () -> Void

    init(closed: @escaping () -> Void = {}) { self.closed = closed }

    /// The body; call it once.
    func makeStream() -> HTTPStream {
        let stream = HTTPStream(self)
        self.stream = stream
        return stream
    }

    func send(_ bytes: [UInt8]) {
        rest = bytes[...]
        stream?.wake()
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> HTTPStream.Piece {
        guard let part = rest?.prefix(buffer.count) else { return .nothing }
        guard !part.isEmpty else { return .end }
        part.withUnsafeBytes { buffer.copyMemory(from: $0) }
        rest?.removeFirst(part.count)
        return .bytes(part.count)
    }

    func streamDidClose() { closed() }
}
