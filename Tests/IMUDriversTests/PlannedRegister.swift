@testable import IMUDrivers

/// A row of a part's register table, as bytes.
struct PlannedRegister: Equatable {
    var register: UInt8
    var value: UInt8
    var mask: UInt8
    var stage: RegisterStage

    init(_ register: UInt8, _ value: UInt8, mask: UInt8 = 0xFF, in stage: RegisterStage = .configuration) {
        self.register = register
        self.value = value
        self.mask = mask
        self.stage = stage
    }
}

extension ChipPart {
    /// The part's register table, in its order.
    var plannedRegisters: [PlannedRegister] {
        let plan = ChipPlan.of(self)
        let count = plan.registers.count
        var registers: [PlannedRegister] = []
        for index in 0..<count {
            let row = plan.registers[index]
            let setting = row.setting
            registers.append(
                PlannedRegister(
                    setting.register.number, setting.set.bits, mask: (setting.set | setting.clear).bits,
                    in: row.stage))
        }
        return registers
    }

    /// The row of a register; `nil` if it has none.
    func planned(_ register: UInt8) -> PlannedRegister? { plannedRegisters.first { $0.register == register } }

    /// The groups of registers that the health check reads together.
    var plannedGroups: [[UInt8]] {
        let plan = ChipPlan.of(self)
        let count = plan.registers.groupCount
        var groups: [[UInt8]] = []
        for number in 0..<count {
            let group = plan.registers.group(number)
            groups.append((0..<group.count).map { group.first.number + UInt8($0) })
        }
        return groups
    }

    /// The runs of registers with the ranges, in the order in which the driver reads them.
    var plannedRanges: [ChipRegisters] {
        let plan = ChipPlan.of(self)
        let count = plan.registers.rangeCount
        var runs: [ChipRegisters] = []
        for number in 0..<count { runs.append(plan.registers.range(number)) }
        return runs
    }

    /// The steps of the bring-up.
    var plannedBringUp: [ChipStep] {
        let plan = ChipPlan.of(self)
        let count = plan.bringUp.count
        var steps: [ChipStep] = []
        for index in 0..<count { steps.append(plan.bringUp[index]) }
        return steps
    }

    /// The steps that start the FIFO.
    var plannedFIFOStart: [ChipStep] {
        let plan = ChipPlan.of(self)
        let count = plan.startFIFO.count
        var steps: [ChipStep] = []
        for index in 0..<count { steps.append(plan.startFIFO[index]) }
        return steps
    }
}
