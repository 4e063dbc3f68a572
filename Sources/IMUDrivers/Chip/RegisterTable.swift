/// The required content of a register: the bits that must be set and those that must be clear. All other bits are
/// ignored.
package struct RegisterSetting: Equatable, Sendable, BitwiseCopyable {
    package let register: RegisterAddress
    package let set: RegisterValue
    package let clear: RegisterValue

    /// Creates a setting from the bits that must be set and those that must be clear.
    package init(_ register: RegisterAddress, set: RegisterValue = .none, clear: RegisterValue) {
        self.register = register
        self.set = set
        self.clear = clear.subtracting(set)
    }

    /// Creates the setting of a whole register: all bits that are not set must be clear.
    package init(_ register: RegisterAddress, set: RegisterValue = .none) {
        self.init(register, set: set, clear: .all)
    }

    /// The same for the register of this number in the selected bank, whichever that is.
    var inSelectedBank: RegisterSetting { RegisterSetting(RegisterAddress(register.number), set: set, clear: clear) }

    /// Whether `found` satisfies the setting.
    package func holds(in found: RegisterValue) -> Bool { found & (set | clear) == set }
}

/// When a register of the table is written. The steps of a `ChipScript` refer to it.
package enum RegisterStage: UInt8, Sendable, BitwiseCopyable {
    /// First: what a chip needs before it accepts any other setting.
    case waking
    /// During configuration.
    case configuration
    /// After configuration: starts the sensors.
    case sensors
    /// Enables the data-ready pulse, if a line is used.
    case dataReady
    /// At each start of the FIFO.
    case fifo
    /// Never written: the register must have the value by default, or after a command.
    case observed
}

/// The registers that a chip's stream depends on, each with its required content and the stage at which it is written.
///
/// Configuration, read-back and health check all work from this table, like `_register_cfg` in PX4's drivers (register,
/// bits to set, bits to clear). Within a stage, registers are written in table order. Memory is fixed at `init`.
package struct RegisterTable: ~Copyable {
    /// A register with its stage.
    struct Row: Equatable, BitwiseCopyable {
        var setting: RegisterSetting
        var stage: RegisterStage
        /// Whether the register holds a sensor's range.
        var isRange: Bool
    }

    /// The most registers in a table: what the longest one needs (an LSM6DSO with a data-ready line), plus a few.
    static var capacity: Int { 24 }

    /// The most registers that the health check reads in one transaction.
    static var longestGroup: Int { 4 }

    private let rows = UnsafeMutablePointer<Row>.allocate(capacity: RegisterTable.capacity)
    private let groups = UnsafeMutablePointer<ChipRegisters>.allocate(capacity: RegisterTable.capacity)
    private let ranges = UnsafeMutablePointer<ChipRegisters>.allocate(capacity: RegisterTable.capacity)
    private(set) var count = 0
    private(set) var groupCount = 0
    private(set) var rangeCount = 0

    deinit {
        rows.deallocate()
        groups.deallocate()
        ranges.deallocate()
    }

    /// Adds the required content of a register. Each register has one row.
    package mutating func add(_ setting: RegisterSetting, in stage: RegisterStage) {
        add(Row(setting: setting, stage: stage, isRange: false))
    }

    /// Adds the required content of a whole register.
    package mutating func add(_ register: RegisterAddress, _ value: RegisterValue, in stage: RegisterStage) {
        add(RegisterSetting(register, set: value), in: stage)
    }

    /// Adds the required content of a register that determines what a count means: a sensor's range. The driver reads it
    /// with each FIFO read, before it delivers the samples.
    package mutating func addRange(_ register: RegisterAddress, _ value: RegisterValue, in stage: RegisterStage) {
        add(Row(setting: RegisterSetting(register, set: value), stage: stage, isRange: true))
    }

    private mutating func add(_ row: Row) {
        precondition(count < Self.capacity, "too many registers")
        precondition(setting(of: row.setting.register) == nil, "a register with two settings")
        rows[count] = row
        count += 1
    }

    /// The row at `index`.
    subscript(index: Int) -> Row {
        precondition(index >= 0 && index < count, "row index out of range")
        return rows[index]
    }

    /// The required content of a register; `nil` if it is not in the table.
    func setting(of register: RegisterAddress) -> RegisterSetting? {
        for index in 0..<count where rows[index].setting.register == register { return rows[index].setting }
        return nil
    }

    mutating func removeAll() {
        count = 0
        groupCount = 0
        rangeCount = 0
    }
}

// MARK: Registers that are read together

extension RegisterTable {
    /// A run of at most four adjacent registers that the health check reads in one transaction.
    func group(_ number: Int) -> ChipRegisters {
        precondition(number >= 0 && number < groupCount, "group out of range")
        return groups[number]
    }

    /// A run of at most four registers that holds ranges.
    func range(_ number: Int) -> ChipRegisters {
        precondition(number >= 0 && number < rangeCount, "range out of range")
        return ranges[number]
    }

    /// Groups adjacent registers, ordered by each group's first appearance in the table, and those that hold ranges.
    mutating func formGroups() {
        groupCount = 0
        rangeCount = 0
        for index in 0..<count {
            let register = rows[index].setting.register
            if rows[index].isRange { addToRanges(register) }
            let group = neighbours(of: register)
            var isNew = true
            for other in 0..<groupCount where groups[other] == group { isNew = false }
            guard isNew else { continue }
            groups[groupCount] = group
            groupCount += 1
        }
    }

    private mutating func addToRanges(_ register: RegisterAddress) {
        for index in 0..<rangeCount {
            guard let run = ranges[index].extended(to: register, longest: Self.longestGroup) else { continue }
            ranges[index] = run
            return
        }
        ranges[rangeCount] = ChipRegisters(first: register, count: 1)
        rangeCount += 1
    }

    /// The group that a register belongs to. A run longer than four registers is split into groups of four.
    private func neighbours(of register: RegisterAddress) -> ChipRegisters {
        var start = register
        while start.number > 0 && setting(of: start.advanced(by: -1)) != nil { start = start.advanced(by: -1) }
        while Int(register.number - start.number) >= Self.longestGroup {
            start = start.advanced(by: Self.longestGroup)
        }
        var length = 1
        while length < Self.longestGroup, start.number <= .max - UInt8(length),
            setting(of: start.advanced(by: length)) != nil
        {
            length += 1
        }
        return ChipRegisters(first: start, count: length)
    }

    /// The first register of a group whose content is wrong; `found` is the content read for the whole group.
    func changedRegister(in group: ChipRegisters, reading found: UnsafeRawBufferPointer) -> RegisterAddress? {
        for offset in 0..<group.count {
            guard let setting = setting(of: group.first.advanced(by: offset)) else { continue }
            if !setting.holds(in: RegisterValue(found[offset])) { return setting.register }
        }
        return nil
    }
}

/// A register's address within a chip. A separate type, so that an address cannot be passed as a value. A literal is
/// the number of a register of the first or only bank.
package struct RegisterAddress: Equatable, Sendable, BitwiseCopyable, ExpressibleByIntegerLiteral {
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

    @inlinable
    package init(integerLiteral number: UInt8) { self.init(number) }

    /// The address `count` registers further in the same bank.
    func advanced(by count: Int) -> RegisterAddress {
        RegisterAddress(UInt8(truncatingIfNeeded: Int(number) + count), bank: bank)
    }
}

/// The content of a register, or some of its bits.
package struct RegisterValue: Equatable, Sendable, BitwiseCopyable, ExpressibleByIntegerLiteral {
    /// The byte that goes over the bus.
    package let bits: UInt8

    /// Creates a value from its eight bits.
    @inlinable
    package init(_ bits: UInt8) {
        self.bits = bits
    }

    @inlinable
    package init(integerLiteral bits: UInt8) { self.init(bits) }

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

    /// The run extended to a register; `nil` if that is in another bank, or the run would be longer than `longest`.
    func extended(to register: RegisterAddress, longest: Int) -> ChipRegisters? {
        guard register.bank == first.bank else { return nil }
        let start = min(first.number, register.number)
        let end = max(Int(first.number) + count, Int(register.number) + 1)
        guard end - Int(start) <= longest else { return nil }
        return ChipRegisters(first: RegisterAddress(start, bank: first.bank), count: end - Int(start))
    }
}
