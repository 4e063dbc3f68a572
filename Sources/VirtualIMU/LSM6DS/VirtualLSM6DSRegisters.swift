internal import MotionCore

/// The registers and the FIFO of an LSM6DS3, LSM6DS3TR-C or LSM6DSO, as ST's register descriptions say.
///
/// `+Bus` is the bus interface, `+Sampling` what becomes of a sample. Not modelled: different rates of the two sensors,
/// decimation, the embedded functions, self-test, and the temperature in the FIFO.
struct VirtualLSM6DSRegisters: VirtualRegisters {
    /// Seconds that a reset takes.
    static let resetTime = 50e-6

    let kind: VirtualLSM6DSModel

    var registers: RegisterFile
    var fifo: ByteFIFO

    /// Words that left the FIFO since it was emptied: where in the pattern its next one is.
    var bytesGone = 0

    /// FIFO flags: words were overwritten since data was last read, and since the status was.
    var isOverrun = false
    var isOverrunLatched = false

    /// TAG_CNT of the next frame.
    var slot: UInt8 = 0

    /// The newest frame.
    var frame = FrameWriter()

    /// The first sample since the gyroscope was last started.
    var firstGyroscopeIndex: UInt64 = 0

    init(_ kind: VirtualLSM6DSModel) {
        self.kind = kind
        registers = RegisterFile(count: LSM6DSAddress.count, defaults: kind.defaults)
        fifo = ByteFIFO(capacity: kind.words * kind.wordLength)
    }

    var identityRegister: UInt8 { LSM6DSAddress.identity }

    /// Loses power and gets it back: everything is as after power-on, both sensors off.
    mutating func powerCycle(_ engine: inout SensorEngine) {
        registers.powerUp()
        begin(&engine)
    }

    /// Begins the reset that SW_RESET asks for.
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
        bytesGone = 0
        isOverrun = false
        slot = 0
        frame.forgetRest()
    }

    /// Brings clock and filters in line with the registers.
    ///
    /// Both sensors run at the faster one's rate: that they can differ is not modelled.
    mutating func configure(_ engine: inout SensorEngine) {
        let code = max(registers[Int(LSM6DSAddress.accelerometer)], registers[Int(LSM6DSAddress.gyroscope)]) >> 4
        guard (1...8).contains(code) else { return engine.run(nil) }
        let isFiltered = registers[Int(LSM6DSAddress.control4)] & 0x02 != 0
        engine.run(
            SensorModel.Setup(
                lowPass: kind.lowPass(code: code, filtersGyroscope: isFiltered),
                period: 1 / VirtualLSM6DSModel.rates[Int(code) - 1]))
    }

    /// The newest frame again and again, and the first that there is no room for.
    mutating func overflow() {
        guard mode != 0 else { return }
        let filler = frame.bytes.isEmpty ? [UInt8](repeating: 0, count: kind.wordLength) : frame.bytes
        for _ in 0...(fifo.capacity - fifo.count) / filler.count {
            for byte in filler { appendToFIFO(byte) }
        }
    }

    mutating func slip(_ bytes: Int) {
        bytesGone += min(bytes, fifo.count)
        fifo.drop(bytes)
    }

    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        let address = register & 0x7F
        let before = registers[Int(address)]
        registers[Int(address)] ^= 1 << (bit & 7)
        follow(address, before: before, &engine)
    }
}
