internal import MosquittoClient

// What the rows of the outbox's file contain. The checksum beside a row shows whether its bytes are still those that were
// written.

/// A number that lasts beyond the end of the program.
struct OutboxCounter: Equatable, Sendable {
    static let dropped = "dropped"
    static let expired = "expired"
    /// The version of the tables, a second time: `user_version` has no checksum.
    static let version = "version"

    var name: String
    var value: UInt64

    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(name.utf8)
        checksum.add(Int64(clamping: value))
        return checksum.value
    }
}

extension OpenGesture {
    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(gesture.word.utf8)
        checksum.add(isSimulated ? 1 : 0)
        return checksum.value
    }
}

extension OutgoingMessage {
    /// The lifetime as it is stored, milliseconds. Up to the limit it is the same again after it was read.
    var storedLifetime: Int64? { lifetime.map { Int64(min(($0 * 1000).rounded(), 2e15)) } }

    var checksum: Int64 {
        var checksum = RowChecksum()
        checksum.add(topic.utf8)
        switch content {
        case .event(let id, let fields):
            checksum.add(1)
            checksum.add(id.utf8)
            checksum.add(fields.utf8)
        case .fixed(let bytes):
            checksum.add(0)
            checksum.add(bytes)
        }
        checksum.add(Int64(qos.rawValue))
        checksum.add(isRetained ? 1 : 0)
        checksum.add(time.boot.utf8)
        checksum.add(time.sinceBoot.nanoseconds)
        checksum.add(time.wall)
        checksum.add(time.isClockSet ? 1 : 0)
        checksum.add(storedLifetime ?? -1)
        return checksum.value
    }
}

/// A checksum of 64 bits: FNV-1a over the values, each text after its length.
///
/// Source: G. Fowler, L. C. Noll, K.-P. Vo and D. Eastlake, The FNV Non-Cryptographic Hash Algorithm.
private struct RowChecksum {
    private var state: UInt64 = 0xCBF2_9CE4_8422_2325

    var value: Int64 { Int64(bitPattern: state) }

    mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { addByte(UInt8(truncatingIfNeeded: number >> Int64(shift))) }
    }

    mutating func add(_ bytes: some Collection<UInt8>) {
        add(Int64(bytes.count))
        for byte in bytes { addByte(byte) }
    }

    private mutating func addByte(_ byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
