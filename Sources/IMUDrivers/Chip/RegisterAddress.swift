/// A register's address within a chip: a type of its own, so that an address cannot be given where a value belongs.
package struct RegisterAddress: Equatable, Sendable, BitwiseCopyable {
    /// The number that goes over the bus.
    package let number: UInt8

    /// Makes the address of a register with this number.
    @inlinable
    package init(_ number: UInt8) {
        self.number = number
    }
}

/// What a register holds, or some of its bits.
package struct RegisterValue: Equatable, Sendable, BitwiseCopyable {
    /// The byte that goes over the bus.
    package let bits: UInt8

    /// Makes a value of eight bits.
    @inlinable
    package init(_ bits: UInt8) {
        self.bits = bits
    }

    /// No bit, and all of them.
    package static var none: RegisterValue { RegisterValue(0x00) }
    package static var all: RegisterValue { RegisterValue(0xFF) }

    /// The bits of either.
    package static func | (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits | b.bits) }

    /// The bits of both.
    package static func & (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits & b.bits) }

    /// The bits of `self` that `other` does not have.
    package func subtracting(_ other: RegisterValue) -> RegisterValue { RegisterValue(bits & ~other.bits) }
}

/// Neighbouring registers.
package struct ChipRegisters: Equatable, Sendable, BitwiseCopyable {
    package var first: RegisterAddress
    package var count: Int

    package init(first: RegisterAddress, count: Int) {
        self.first = first
        self.count = count
    }
}
