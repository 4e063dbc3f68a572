/// Packets that no broker should send.
enum HostilePackets {
    /// Every packet type with every property identifier: of one byte, and of two to five.
    static var properties: [[UInt8]] {
        let identifiers =
            (0...0x7F).map { [UInt8($0)] } + (0x80...0xFF).map { [UInt8($0), 1] }
            + [
                [0x80, 0x80, 1], [0xFF, 0xFF, 0x7F], [0xFF, 0xFF, 0xFF, 0x7F], [0xFF, 0xFF, 0xFF, 0xFF, 1], [0xA6, 0],
            ]
        return (UInt8(0)...15).flatMap { type in identifiers.map { packet(type, property: $0) } }
    }

    /// A packet of a type with one property, whose value is zeros.
    static func packet(_ type: UInt8, property identifier: [UInt8]) -> [UInt8] {
        let properties = identifier + [0, 0, 0, 0]
        let list = [UInt8(properties.count)] + properties
        return switch type {
        case 2: whole(0x20, [0, 0] + list)
        case 3: whole(0x32, [0, 1, 0x61, 0, 9] + list + [0x62])
        case 4, 5, 7: whole(type << 4, [0, 2, 0] + list)
        case 6: whole(0x62, [0, 2, 0] + list)
        case 8, 9, 10, 11: whole(type << 4 | (type % 2 == 0 ? 2 : 0), [0, 1] + list + [0])
        default: whole(type << 4, [0] + list)
        }
    }

    /// A packet with its length.
    private static func whole(_ first: UInt8, _ body: [UInt8]) -> [UInt8] { [first, UInt8(body.count)] + body }

    /// Valid packets of every kind that a broker sends, and some that only a client sends.
    private static let valid: [[UInt8]] = [
        whole(0x20, [1, 0, 19, 0x21, 0, 5, 0x24, 1, 0x25, 1, 0x27, 0, 0, 1, 0, 0x13, 0, 60, 0x28, 1, 0x29, 1]),
        whole(0x20, [0, 0x87, 5, 0x1F, 0, 2, 0x6E, 0x6F]),
        whole(0x20, [0, 0, 6, 0x12, 0, 3, 0x61, 0x62, 0x63]),
        whole(0x30, [0, 1, 0x61, 0, 0x68, 0x69]),
        whole(0x33, [0, 1, 0x61, 0, 7, 14, 0x02, 0, 0, 0, 9, 0x08, 0, 1, 0x72, 0x09, 0, 2, 1, 2, 0x68, 0x69]),
        whole(0x34, [0, 1, 0x61, 0, 8, 9, 0x26, 0, 1, 0x6B, 0, 1, 0x76, 0x01, 1, 0x68]),
        whole(0x30, [0, 1, 0x61, 3, 0x23, 0, 1, 0x68]),
        whole(0x30, [0, 1, 0x61, 3, 0x0B, 0x80, 1, 0x68]),
        whole(0x40, [0, 2]), whole(0x40, [0, 2, 0x10, 0]), whole(0x40, [0, 2, 0x97, 4, 0x1F, 0, 1, 0x71]),
        whole(0x50, [0, 2]), whole(0x50, [0, 2, 0x10, 0]), whole(0x62, [0, 8]), whole(0x62, [0, 8, 0x92, 0]),
        whole(0x70, [0, 2]), whole(0x90, [0, 1, 0, 1]), whole(0x90, [0, 1, 4, 0x1F, 0, 1, 0x71, 0x87]),
        whole(0x90, [0, 1, 0, 0, 1, 2]), whole(0xB0, [0, 3, 0, 0]), whole(0xC0, []), whole(0xD0, []),
        whole(0xE0, [0]), whole(0xE0, [0x8E, 0]), whole(0xE0, [0x8B, 8, 0x1C, 0, 5, 0x6F, 0x74, 0x68, 0x65, 0x72]),
        whole(0xF0, [0x18, 5, 0x15, 0, 2, 0x6D, 0x31]), whole(0xF0, [0x18, 9, 0x15, 0, 1, 0x6D, 0x16, 0, 2, 1, 2]),
        whole(0x10, [0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 2, 0, 60, 0, 0, 1, 0x61]), whole(0x82, [0, 1, 0, 0, 1, 0x61, 1]),
    ]

    /// One to three packets, corrupted in some way.
    static func mutated(_ random: inout SplitMix) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0...Int.random(in: 0...2, using: &random) {
            var packet = valid.randomElement(using: &random) ?? []
            for _ in 0...Int.random(in: 0...2, using: &random) { mutate(&packet, &random) }
            bytes += packet
        }
        return bytes
    }

    private static func mutate(_ packet: inout [UInt8], _ random: inout SplitMix) {
        let place = Int.random(in: 0..<max(packet.count, 1), using: &random)
        switch UInt8.random(in: 0..<8, using: &random) {
        case 0 where !packet.isEmpty:
            packet[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1 where !packet.isEmpty:
            packet[place] = UInt8.random(in: 0...255, using: &random)
        case 2:
            packet.removeLast(packet.count - min(place, packet.count))
        case 3 where packet.count > 1:
            packet[1] = UInt8.random(in: 0...127, using: &random)
        case 4 where packet.count > 1:
            // A length of up to four bytes, or one without an end.
            let length = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                UInt8.random(in: 128...255, using: &random)
            }
            packet.replaceSubrange(1..<2, with: length + [UInt8.random(in: 0...1, using: &random)])
        case 5:
            let more = (0..<Int.random(in: 1...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            packet.insert(contentsOf: more, at: min(place, packet.count))
            // Often with a matching length, so that the inserted bytes are parsed.
            if Bool.random(using: &random), packet.count > 2, packet.count < 130 { packet[1] = UInt8(packet.count - 2) }
        case 6 where packet.count > 2:
            packet[0] = UInt8.random(in: 0...255, using: &random)
        default:
            packet += packet.suffix(4)
            if packet.count > 2, packet.count < 130 { packet[1] = UInt8(packet.count - 2) }
        }
    }
}

/// A generator that returns the same numbers for the same seed (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
