/// The bus load caused by reading a chip through its FIFO. Pure arithmetic; no bus access.
package struct BusLoad: Equatable, Sendable, BitwiseCopyable {
    /// The chip's effective rate for the requested one, its highest rate with these settings, and that without its gyroscope,
    /// Hz.
    package let rate: Double
    package let highestRate: Double
    package let highestRateWithoutGyroscope: Double

    /// Bytes per frame, and the whole frames that the FIFO holds.
    package let frameLength: Int
    package let fifoFrames: Int

    /// Frames per batch for the requested interval, and the effective number, limited to half of the FIFO.
    package let wantedBatch: Int
    package let batch: Int

    /// Bits per second on the bus: data, addresses, acknowledgements, FIFO counts, and checks of the configuration, of
    /// the ranges with each batch, of four other registers ten times a second.
    package let bitsPerSecond: Double

    /// The usable share of the bus clock. The rest allows for adapters that pause between bytes, clock stretching,
    /// retries and a fast chip oscillator.
    package static var usableShare: Double { 0.8 }

    /// The clock assumed for a bus whose clock is unknown, Hz: standard mode, Linux's default if the device tree does
    /// not set one.
    package static var usualClock: Double { 100_000 }

    /// Calculates the load of a part with these settings, on a bus that reads up to `longestRead` bytes per transaction.
    package init<Part: ChipPart>(
        of make: (IMUSettings) -> Part, settings: IMUSettings, longestRead: Int = 8192
    ) {
        let part = make(settings)
        let fifo = part.fifo
        var fastest = settings
        fastest.rate = 1e9
        rate = part.rate
        highestRate = make(fastest).rate
        fastest.readsGyroscope = false
        highestRateWithoutGyroscope = make(fastest).rate
        frameLength = fifo.frameLength
        fifoFrames = fifo.mostFrames
        let frames = (settings.movingBatch * part.rate).rounded()
        wantedBatch = Int(max(1, min(frames, 1e6)))
        batch = min(wantedBatch, fifo.longestBatch)
        let atOnce = max(1, min(longestRead, fifo.longestRead) / fifo.frameLength)
        let reads = (batch + atOnce - 1) / atOnce
        let data = Self.bits(reads: reads, bytes: batch * fifo.frameLength)
        let count = Self.bits(reads: 1, bytes: fifo.count.count)
        let plan = ChipPlan.of(part)
        let groups = HealthCheck.groupsAtOnce(of: plan.registers.groupCount)
        let checks = Self.bits(reads: groups, bytes: 4 * groups) / DriverTiming.healthInterval
        bitsPerSecond = (data + count + Self.rangeBits(plan)) * part.rate / Double(batch) + checks
    }

    /// Bits of a check of the ranges.
    private static func rangeBits(_ plan: borrowing ChipPlan) -> Double {
        var bits = 0.0
        var bank: UInt8 = 0
        let count = plan.registers.rangeCount
        for number in 0..<count {
            let run = plan.registers.range(number)
            bits += Self.bits(reads: 1, bytes: run.count) + (run.first.bank == bank ? 0 : writeBits)
            bank = run.first.bank
        }
        return bits + (bank == 0 ? 0 : writeBits)
    }

    /// Bits of a write of one register: start, address, register, value, stop.
    private static var writeBits: Double { 1 + 3 * 9 + 1 }

    /// Bits of `reads` transactions that read `bytes` bytes in all. Each transaction has a start, the write address,
    /// the register, a repeated start, the read address and a stop; every byte is acknowledged (UM10204, 3.1).
    static func bits(reads: Int, bytes: Int) -> Double { Double(reads * (1 + 9 + 9 + 1 + 9 + 1) + 9 * bytes) }

    /// The share used of a bus with this clock, Hz.
    package func share(ofClock clock: Double) -> Double { bitsPerSecond / clock }

    /// Whether a bus with this clock, Hz, can carry the load.
    package func fits(clock: Double) -> Bool { share(ofClock: clock) <= Self.usableShare }

    /// The chip's highest rate that a bus with this clock, Hz, can carry; `nil` if it can carry none.
    package static func highestRate<Part: ChipPart>(
        of make: (IMUSettings) -> Part, settings: IMUSettings, clock: Double, longestRead: Int = 8192
    ) -> Double? {
        var settings = settings
        settings.rate = make(settings).rate
        while settings.rate > 1 {
            let load = BusLoad(of: make, settings: settings, longestRead: longestRead)
            if load.fits(clock: clock) { return load.rate }
            // A part takes the next rate that is not lower, so small decrements find the next lower one.
            settings.rate *= 0.99
        }
        return nil
    }
}
