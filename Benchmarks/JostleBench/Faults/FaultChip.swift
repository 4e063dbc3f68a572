internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// A virtual chip that supports fault injection and exposes the true motion.
protocol FaultyChip: VirtualChip {
    func inject(_ condition: FaultCondition, from start: Timestamp?, lasting extent: FaultExtent)
    func inject(_ event: FaultEvent, at instant: Timestamp?)
    func truth(at instant: Timestamp) -> TrueMotion
}

extension VirtualIMUChip: FaultyChip {}

/// The chips used for the faults: every family, and its members with different FIFOs.
typealias FaultChip = VirtualPart

extension VirtualPart {
    /// All but those that differ from another one in the accelerometer's scale, or in the identity, only.
    static var faultChips: [VirtualPart] {
        allCases.filter { ![.lsm6dso32, .adxl375, .mpu9250, .lsm303agr].contains($0) }
    }

    /// Whether the driver can notice a fault.
    func shows(_ fault: Fault) -> Bool { !repeatsFrames || fault != .frozen }

    /// Runs a plan on this chip.
    func outcome(of plan: FaultPlan) -> FaultOutcome {
        switch family {
        case .mpu6050: FaultRun<MPUFamily>.outcome(self, plan)
        case .lsm6ds: FaultRun<LSM6DSFamily>.outcome(self, plan)
        case .bmi160: FaultRun<BMI160Family>.outcome(self, plan)
        case .icm42688: FaultRun<ICM42688Family>.outcome(self, plan)
        case .adxl345: FaultRun<ADXL345Family>.outcome(self, plan)
        case .lsm6dso32: FaultRun<LSM6DSO32Family>.outcome(self, plan)
        case .adxl375: FaultRun<ADXL375Family>.outcome(self, plan)
        case .icm20948: FaultRun<ICM20948Family>.outcome(self, plan)
        case .lsm9ds1: FaultRun<LSM9DS1Family>.outcome(self, plan)
        case .lis3dh: FaultRun<LIS3DHFamily>.outcome(self, plan)
        case .lsm303agr: FaultRun<LSM303AGRFamily>.outcome(self, plan)
        case .lis2de12: FaultRun<LIS2DE12Family>.outcome(self, plan)
        }
    }

    /// The register through which its FIFO is read.
    var dataRegister: UInt8 {
        switch self {
        case .mpu6050, .mpu6500, .mpu9250, .icm20602, .icm20689: 0x74
        case .lsm6ds3, .lsm6ds3trc: 0x3E
        case .lsm6dso, .lsm6dso32, .ism330dhcx: 0x78
        case .bmi160: 0x24
        case .icm42688, .icm42605: 0x30
        case .adxl345, .adxl375: 0x32
        case .icm20948: 0x72
        case .lsm9ds1: 0x18
        case .lis3dh, .lsm303agr, .lis2de12: 0xA8
        }
    }

    /// The bits that change the scale of its accelerometer: the value of the bank register, the register, and the bits.
    var rangeBits: (bank: UInt8, register: UInt8, bits: UInt8) {
        switch self {
        case .mpu6050, .mpu6500, .mpu9250, .icm20602, .icm20689: (0, 0x1C, 0x08)
        case .lsm6ds3, .lsm6ds3trc, .lsm6dso, .lsm6dso32, .ism330dhcx: (0, 0x10, 0x08)
        case .bmi160: (0, 0x41, 0x04)
        case .icm42688, .icm42605: (0, 0x50, 0x20)
        case .adxl345, .adxl375: (0, 0x31, 0x08)
        case .icm20948: (0x20, 0x14, 0x02)
        case .lsm9ds1: (0, 0x20, 0x10)
        case .lis3dh, .lsm303agr, .lis2de12: (0, 0x23, 0x10)
        }
    }

    /// Changes the scale of the accelerometer as another program would.
    func changeRange(of chip: any VirtualChip, at instant: Timestamp) {
        let (bank, register, bits) = rangeBits
        do {
            try chip.invert(bits, of: register, bank: bank, at: instant)
        } catch {
            preconditionFailure("the chip did not answer")
        }
    }

    /// Creates a chip that is powered on at `start`.
    func make(
        along trajectory: any Trajectory, _ imperfections: Imperfections, seed: UInt64, start: Timestamp
    ) -> any FaultyChip {
        VirtualIMUChip(self, trajectory: trajectory, imperfections: imperfections, seed: seed, start: start)
    }
}
