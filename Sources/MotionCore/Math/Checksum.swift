/// A checksum of 64 bits, FNV-1a: it shows that what is stored was damaged, not that somebody changed it on purpose.
package struct Checksum: Sendable {
    package private(set) var state: UInt64 = 0xCBF2_9CE4_8422_2325

    package init() {}

    /// The checksum as a column of a database.
    package var value: Int64 { Int64(bitPattern: state) }

    package mutating func add(_ number: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) { add(byte: UInt8(truncatingIfNeeded: number >> Int64(shift))) }
    }

    /// Adds a text or bytes of any length, after their number.
    package mutating func add(_ bytes: some Collection<UInt8>) {
        add(Int64(bytes.count))
        for byte in bytes { add(byte: byte) }
    }

    package mutating func add(byte: UInt8) {
        state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
