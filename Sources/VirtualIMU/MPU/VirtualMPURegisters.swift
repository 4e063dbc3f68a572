internal import MotionCore

/// The registers and the FIFO of an MPU-6050 or another member of its family.
///
/// They behave as RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4 say; what the others have differently is in
/// `VirtualMPUModel`. `+Bus` is the bus interface, `+Configuration` what the registers mean to the engine, `+Sampling` what
/// becomes of a sample.
struct VirtualMPURegisters: VirtualRegisters {
    /// Seconds from a reset's beginning until its bit clears itself and writes are taken again. Drivers wait 10 ms to
    /// 100 ms; RM p. 41 gives no figure.
    static let resetTime = 0.005

    /// Which member of the family it is.
    let variant: VirtualMPUModel

    /// Their defaults: RM p. 8.
    var registers: RegisterFile
    var fifo: ByteFIFO

    /// FIFO_COUNT as it was when its high byte was read last (RM p. 43).
    var latchedCount: UInt16 = 0

    /// The registers whose bytes make up a frame, in order, and the newest frame.
    var frameRegisters: [UInt8] = []
    var frame = FrameWriter()

    init(_ variant: VirtualMPUModel) {
        self.variant = variant
        registers = RegisterFile(
            count: Register.count,
            defaults: [
                Register.powerManagement1: variant.powerManagement1Default,
                Register.configuration: variant.configurationDefault, Register.identity: variant.identity,
            ])
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
    }

    var identityRegister: UInt8 { Register.identity }

    /// Loses power and gets it back: everything is as after power-on, the chip asleep (RM p. 9).
    mutating func powerCycle(_ engine: inout SensorEngine) {
        registers.powerUp()
        begin(&engine)
    }

    /// Begins the reset that DEVICE_RESET asks for.
    mutating func reset(_ engine: inout SensorEngine) {
        registers.reset(until: engine.now.advanced(bySeconds: Self.resetTime))
        begin(&engine)
    }

    /// What follows from the defaults, with an empty FIFO.
    private mutating func begin(_ engine: inout SensorEngine) {
        setSelfTestTrim(engine.imperfections)
        fifo = ByteFIFO(capacity: variant.fifoSize(accelerometerConfiguration2: 0))
        latchedCount = 0
        configure(&engine)
        engine.resetFilters()
    }

    /// The newest frame again and again, and the first that there is no room for.
    mutating func overflow() {
        guard isFIFOEnabled else { return }
        let filler = frame.bytes.isEmpty ? [0] : frame.bytes
        for _ in 0...(fifo.capacity - fifo.count) / filler.count {
            for byte in filler { appendToFIFO(byte) }
        }
    }

    mutating func slip(_ bytes: Int) { fifo.drop(bytes) }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        registers[Int(register & 0x7F)] ^= 1 << (bit & 7)
        if registers[Int(Register.powerManagement1)] & Bit.deviceReset != 0 { return reset(&engine) }
        configure(&engine)
    }
}
