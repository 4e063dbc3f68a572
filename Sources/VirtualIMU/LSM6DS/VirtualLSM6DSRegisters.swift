internal import MotionCore

/// The registers and the FIFO of an LSM6DS3, LSM6DS3TR-C or LSM6DSO, according to ST's register descriptions.
///
/// `+Bus` is the bus interface, `+Sampling` stores samples. Not modelled: different rates of the two sensors,
/// decimation, the embedded functions, self-test, and the temperature in the FIFO.
struct VirtualLSM6DSRegisters: VirtualRegisters {
    /// Duration of a reset, seconds.
    static let resetTime = 50e-6

    let kind: VirtualLSM6DSModel

    var registers: RegisterFile
    var fifo: ByteFIFO

    /// Bytes that left the FIFO since it was cleared; they give the next word's position in the pattern.
    var bytesRemoved = 0

    /// FIFO flags: words were overwritten since data was last read, and since the status was last read.
    var isOverrun = false
    var isOverrunLatched = false

    /// TAG_CNT of the next frame.
    var slot: UInt8 = 0

    var frame = FrameWriter()

    /// The first samples since the gyroscope has turned on, and since the accelerometer was started; `nil` until then.
    var firstGyroscopeIndex: UInt64?
    var firstAccelerometerIndex: UInt64 = 0

    init(_ kind: VirtualLSM6DSModel) {
        self.kind = kind
        registers = RegisterFile(count: LSM6DSAddress.count, defaults: kind.defaults)
        fifo = ByteFIFO(capacity: kind.words * kind.wordLength)
    }

    var identityRegister: UInt8 { LSM6DSAddress.identity }

    /// Restores the power-on state: both sensors off.
    mutating func powerCycle(_ engine: inout SensorEngine) {
        registers.powerUp()
        begin(&engine)
    }

    /// Begins the reset requested by SW_RESET.
    mutating func reset(_ engine: inout SensorEngine) {
        registers.reset(until: engine.now.advanced(bySeconds: Self.resetTime))
        begin(&engine)
    }

    private mutating func begin(_ engine: inout SensorEngine) {
        clearFIFO()
        configure(&engine)
        engine.resetFilters()
    }

    mutating func clearFIFO() {
        fifo.removeAll()
        bytesRemoved = 0
        isOverrun = false
        slot = 0
        frame.discardRest()
    }

    /// Sets clock and filters according to the registers.
    ///
    /// Both sensors run at the faster one's rate: different rates are not modelled.
    mutating func configure(_ engine: inout SensorEngine) {
        let code = max(registers[Int(LSM6DSAddress.accelerometer)], registers[Int(LSM6DSAddress.gyroscope)]) >> 4
        guard (1...8).contains(code) else { return engine.run(nil) }
        let isFiltered = registers[Int(LSM6DSAddress.control4)] & 0x02 != 0
        engine.run(
            SensorModel.Setup(
                lowPass: kind.lowPass(code: code, filtersGyroscope: isFiltered),
                period: 1 / VirtualLSM6DSModel.rates[Int(code) - 1]))
    }

    /// Repeats the newest frame until one no longer fits.
    mutating func overflow() {
        guard mode != 0 else { return }
        let filler = frame.bytes.isEmpty ? [UInt8](repeating: 0, count: kind.wordLength) : frame.bytes
        for _ in 0...(fifo.capacity - fifo.count) / filler.count {
            for byte in filler { appendToFIFO(byte) }
        }
    }

    mutating func dropOldest(_ bytes: Int) {
        bytesRemoved += min(bytes, fifo.count)
        fifo.drop(bytes)
    }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        let address = register & 0x7F
        let before = registers[Int(address)]
        registers[Int(address)] ^= 1 << (bit & 7)
        applySideEffects(of: address, before: before, &engine)
    }
}
