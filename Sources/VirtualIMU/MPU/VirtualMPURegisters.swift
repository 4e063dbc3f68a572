internal import MotionCore

/// The registers and the FIFO of an MPU-6050 or another member of its family.
///
/// They behave according to RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4; the differences of the other members are in
/// `VirtualMPUModel`. `+Bus` is the bus interface, `+Configuration` translates the registers for the engine,
/// `+Sampling` stores samples.
struct VirtualMPURegisters: VirtualRegisters {
    /// Seconds from the beginning of a reset until its bit clears itself and writes are accepted again. Drivers wait 10
    /// ms to 100 ms; RM p. 41 gives no value.
    static let resetTime = 0.005

    /// The member of the family.
    let variant: VirtualMPUModel

    /// Defaults: RM p. 8.
    var registers: RegisterFile
    var fifo: ByteFIFO

    /// FIFO_COUNT at the last read of its high byte (RM p. 43).
    var latchedCount: UInt16 = 0

    /// The registers that make up a frame, in order, and the newest frame.
    var frameRegisters: [UInt8] = []
    var frame = FrameWriter()

    init(_ variant: VirtualMPUModel) {
        self.variant = variant
        registers = RegisterFile(
            count: Register.count,
            defaults: [
                Register.powerManagement1: variant.powerManagement1Default,
                Register.configuration: variant.configurationDefault, Register.identity: variant.identity,
                Register.yOffset: variant.factoryYOffset ?? 0,
            ])
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
    }

    var identityRegister: UInt8 { Register.identity }

    /// I2C_BYPASS_EN connects the buses while I2C_MST_EN is clear, also in sleep (RM p. 26).
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool {
        registers[Int(Register.interruptPin)] & 0x02 != 0 && registers[Int(Register.userControl)] & 0x20 == 0
            && !registers.isResetting(at: now)
    }

    /// Restores the power-on state: the chip sleeps (RM p. 9).
    mutating func powerCycle(_ engine: inout SensorEngine) {
        registers.powerUp()
        begin(&engine)
    }

    /// Begins the reset requested by DEVICE_RESET.
    mutating func reset(_ engine: inout SensorEngine) {
        registers.reset(until: engine.now.advanced(bySeconds: Self.resetTime))
        begin(&engine)
    }

    /// Applies the defaults, with an empty FIFO.
    private mutating func begin(_ engine: inout SensorEngine) {
        setSelfTestTrim(engine.imperfections)
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
        latchedCount = 0
        configure(&engine)
        engine.resetFilters()
    }

    /// Repeats the newest frame until one no longer fits.
    mutating func overflow() {
        guard isFIFOEnabled else { return }
        let filler = frame.bytes.isEmpty ? [0] : frame.bytes
        for _ in 0...(fifo.capacity - fifo.count) / filler.count {
            for byte in filler { appendToFIFO(byte) }
        }
    }

    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes) }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        registers[Int(register & 0x7F)] ^= 1 << (bit & 7)
        if registers[Int(Register.powerManagement1)] & Bit.deviceReset != 0 { return reset(&engine) }
        configure(&engine)
    }
}
