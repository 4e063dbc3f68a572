import MotionCore

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

extension IMUFamily {
    /// What drives the family.
    var part: any ChipPart.Type {
        switch self {
        case .mpu6050: MPUFamily.self
        case .icm42688: ICM42688Family.self
        case .lsm6ds: LSM6DSFamily.self
        case .bmi160: BMI160Family.self
        case .adxl345: ADXL345Family.self
        case .lsm6dso32: LSM6DSO32Family.self
        case .icm20948: ICM20948Family.self
        case .adxl375: ADXL375Family.self
        case .lsm9ds1: LSM9DS1Family.self
        case .lis3dh: LIS3DHFamily.self
        case .lsm303agr: LSM303AGRFamily.self
        case .lis2de12: LIS2DE12Family.self
        }
    }

    /// The part with an identity (default: the usual one) for a rate in Hz and ranges in g and °/s; `nil` if the family
    /// has none.
    func part(
        _ identity: UInt8? = nil, rate: Double = 200, gravities: Double = 8, degrees: Double = 2000,
        isWired: Bool = false
    ) -> (any ChipPart)? {
        var settings = IMUSettings()
        settings.signalsDataReady = isWired
        settings.rate = rate
        settings.accelerometerRange = gravities * standardGravity
        settings.gyroscopeRange = degrees * radiansPerDegree
        return part.init(identity: identity ?? part.identity, settings: settings)
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
