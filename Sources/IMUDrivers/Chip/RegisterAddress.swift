/// A register's address within a chip. A separate type, so that an address cannot be passed as a value.
package struct RegisterAddress: Equatable, Sendable, BitwiseCopyable {
    /// The number that goes over the bus.
    package let number: UInt8

    /// The value of the chip's bank register that selects the register's bank; 0 for the first or only bank.
    package let bank: UInt8

    /// Creates the address of the register with this number.
    @inlinable
    package init(_ number: UInt8, bank: UInt8 = 0) {
        self.number = number
        self.bank = bank
    }

    /// The address `count` registers further in the same bank.
    func advanced(by count: Int) -> RegisterAddress {
        RegisterAddress(UInt8(truncatingIfNeeded: Int(number) + count), bank: bank)
    }
}

/// The content of a register, or some of its bits.
package struct RegisterValue: Equatable, Sendable, BitwiseCopyable {
    /// The byte that goes over the bus.
    package let bits: UInt8

    /// Creates a value from its eight bits.
    @inlinable
    package init(_ bits: UInt8) {
        self.bits = bits
    }

    /// No bits, and all bits.
    package static var none: RegisterValue { RegisterValue(0x00) }
    package static var all: RegisterValue { RegisterValue(0xFF) }

    /// The bits that are set in either value.
    package static func | (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits | b.bits) }

    /// The bits that are set in both values.
    package static func & (a: RegisterValue, b: RegisterValue) -> RegisterValue { RegisterValue(a.bits & b.bits) }

    /// The bits of `self` that are not set in `other`.
    package func subtracting(_ other: RegisterValue) -> RegisterValue { RegisterValue(bits & ~other.bits) }
}

/// A run of adjacent registers.
package struct ChipRegisters: Equatable, Sendable, BitwiseCopyable {
    package var first: RegisterAddress
    package var count: Int

    package init(first: RegisterAddress, count: Int) {
        self.first = first
        self.count = count
    }

    /// The run extended to a register; `nil` if that is in another bank, or the run would be longer than `longest`.
    func extended(to register: RegisterAddress, longest: Int) -> ChipRegisters? {
        guard register.bank == first.bank else { return nil }
        let start = min(first.number, register.number)
        let end = max(Int(first.number) + count, Int(register.number) + 1)
        guard end - Int(start) <= longest else { return nil }
        return ChipRegisters(first: RegisterAddress(start, bank: first.bank), count: end - Int(start))
    }
}
