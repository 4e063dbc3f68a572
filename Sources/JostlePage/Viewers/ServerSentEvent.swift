internal import JostleMessages

/// An event of a stream of server-sent events (HTML, section 9.2), in the form in which it is sent.
struct ServerSentEvent: Equatable, Sendable {
    /// The names of the events.
    enum Name: String, Sendable {
        case hello, broker, ping, dropped
        case boards, listed, removed, fleet
        case availability, attitude, motion, state, health, reported, stream, gesture, result, lease, running
        case nearMiss = "near-miss"

        /// Whether a newer event makes an older one superfluous that has not been sent yet.
        var replacesOlder: Bool {
            switch self {
            case .hello, .broker, .ping, .listed, .fleet, .availability, .attitude, .motion, .state, .health, .reported,
                .lease, .running:
                true
            case .dropped, .boards, .removed, .stream, .gesture, .result, .nearMiss: false
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
    init(_ name: Name, _ payload: some Collection<UInt8>) {
        var bytes = Array("event: \(name.rawValue)\ndata: ".utf8)
        bytes.reserveCapacity(bytes.count + payload.count + 2)
        for byte in payload { bytes.append(byte == 0x0A || byte == 0x0D || byte == 0 ? 0x20 : byte) }
        bytes += [0x0A, 0x0A]
        self.name = name
        self.bytes = bytes
    }
}
