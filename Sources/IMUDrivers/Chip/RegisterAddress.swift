/// A register's address within a chip: a type of its own, so that an address cannot be given where a value belongs.
public struct RegisterAddress: Equatable, Sendable, BitwiseCopyable {
    /// The number that goes over the bus.
    public let number: UInt8

    /// Makes the address of a register with this number.
    @inlinable
    public init(_ number: UInt8) {
        self.number = number
    }
}

/// What a register holds, or some of its bits.
public struct RegisterValue: Equatable, Sendable, BitwiseCopyable {
    /// The byte that goes over the bus.
    public let bits: UInt8

    /// Makes a value of eight bits.
    @inlinable
    public init(_ bits: UInt8) {
        self.bits = bits
    }

    /// No bit, and all of them.
    public static var none: RegisterValue { RegisterValue(0x00) }
    public static var all: RegisterValue { RegisterValue(0xFF) }

    /// The bits of either.
    public static func | (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits | b.bits) }

    /// The bits of both.
    public static func & (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits & b.bits) }

    /// The bits of `self` that `other` does not have.
    public func subtracting(_ other: RegisterValue) -> RegisterValue { RegisterValue(bits & ~other.bits) }
}

/// Neighbouring registers.
public struct ChipRegisters: Equatable, Sendable, BitwiseCopyable {
    public var first: RegisterAddress
    public var count: Int

    public init(first: RegisterAddress, count: Int) {
        self.first = first
        self.count = count
    }
}
