/// What a register has to hold: the bits that are set and those that are clear; all others may be either.
package struct RegisterSetting: Equatable, Sendable, BitwiseCopyable {
    package let register: RegisterAddress
    package let set: RegisterValue
    package let clear: RegisterValue

    /// Makes a setting of those bits that are told.
    package init(_ register: RegisterAddress, set: RegisterValue = .none, clear: RegisterValue) {
        self.register = register
        self.set = set
        self.clear = clear.subtracting(set)
    }

    /// Makes the setting of a whole register: all bits that are not set are clear.
    package init(_ register: RegisterAddress, set: RegisterValue = .none) {
        self.init(register, set: set, clear: .all)
    }

    /// Whether a register that reads as `found` is as it has to be.
    package func holds(in found: RegisterValue) -> Bool { found & (set | clear) == set }
}

/// When a register of the table is written; the steps of a `ChipScript` name it.
package enum RegisterStage: UInt8, Sendable, BitwiseCopyable {
    /// First of all: what a chip needs before it keeps any other setting.
    case waking
    /// While the chip is configured.
    case configuration
    /// After that: what makes the sensors measure.
    case sensors
    /// What lets the data-ready pin pulse, where a line is used.
    case dataReady
    /// Each time that the FIFO is started.
    case fifo
    /// Never: the register has to read so by itself, or after a command.
    case observed
}

/// The registers that a chip's stream depends on: each with what it has to hold and when that is written.
///
/// The table is all that configuration, read-back and health check go by, after the manner of PX4's drivers (`_register_cfg`:
/// register, bits to set, bits to clear). Its order is that of writing within a stage. Memory is fixed at `init`.
package struct RegisterTable: ~Copyable {
    /// A register with its stage.
    struct Row: Equatable, BitwiseCopyable {
        var setting: RegisterSetting
        var stage: RegisterStage
    }

    /// The most registers in a table: those of the longest, an LSM6DSO with a data-ready line, and a few.
    static var capacity: Int { 24 }

    /// The most registers that the health check reads at once.
    static var longestGroup: Int { 4 }

    private let rows: UnsafeMutablePointer<Row>
    private let groups: UnsafeMutablePointer<ChipRegisters>
    private(set) var count = 0
    private(set) var groupCount = 0

    init() {
        rows = .allocate(capacity: Self.capacity)
        groups = .allocate(capacity: Self.capacity)
    }

    deinit {
        rows.deallocate()
        groups.deallocate()
    }

    /// Adds what a register has to hold. A register has one row.
    package mutating func add(_ setting: RegisterSetting, in stage: RegisterStage) {
        precondition(count < Self.capacity, "too many registers")
        precondition(self.setting(of: setting.register.number) == nil, "a register with two settings")
        rows[count] = Row(setting: setting, stage: stage)
        count += 1
    }

    /// Adds what a whole register has to hold.
    package mutating func add(_ register: RegisterAddress, _ value: RegisterValue, in stage: RegisterStage) {
        add(RegisterSetting(register, set: value), in: stage)
    }

    /// The row at `index`.
    subscript(index: Int) -> Row {
        precondition(index >= 0 && index < count, "row index out of range")
        return rows[index]
    }

    /// What the register with this number has to hold; `nil` where it is not in the table.
    func setting(of number: UInt8) -> RegisterSetting? {
        for index in 0..<count where rows[index].setting.register.number == number { return rows[index].setting }
        return nil
    }

    mutating func removeAll() {
        count = 0
        groupCount = 0
    }
}

// MARK: The health check's groups

extension RegisterTable {
    /// Registers that are neighbours, at most four, which the health check reads in one transaction.
    func group(_ number: Int) -> ChipRegisters {
        precondition(number >= 0 && number < groupCount, "group out of range")
        return groups[number]
    }

    /// Puts neighbours into groups, in the order in which the table first names one of a group.
    mutating func formGroups() {
        groupCount = 0
        for index in 0..<count {
            let group = neighbours(of: rows[index].setting.register.number)
            var isNew = true
            for other in 0..<groupCount where groups[other] == group { isNew = false }
            guard isNew else { continue }
            groups[groupCount] = group
            groupCount += 1
        }
    }

    /// The group of a register: of a long run of neighbours those four that it is among.
    private func neighbours(of number: UInt8) -> ChipRegisters {
        var start = number
        while start > 0 && setting(of: start - 1) != nil { start -= 1 }
        while Int(number - start) >= Self.longestGroup { start += UInt8(Self.longestGroup) }
        var length = 1
        while length < Self.longestGroup, start <= .max - UInt8(length), setting(of: start + UInt8(length)) != nil {
            length += 1
        }
        return ChipRegisters(first: RegisterAddress(start), count: length)
    }

    /// The register of a group that does not hold what it should; `found` is what the group reads as.
    func changedRegister(in group: ChipRegisters, reading found: UnsafeRawBufferPointer) -> RegisterAddress? {
        for offset in 0..<group.count {
            let number = group.first.number + UInt8(offset)
            guard let setting = setting(of: number) else { continue }
            if !setting.holds(in: RegisterValue(found[offset])) { return setting.register }
        }
        return nil
    }
}
