/// What reading a chip through its FIFO asks of an I2C bus: arithmetic, no bus is touched.
package struct BusLoad: Equatable, Sendable, BitwiseCopyable {
    /// The sample rate that the chip has for the wanted one, and the highest that it can have, Hz.
    package let rate: Double
    package let highestRate: Double

    /// Bytes of a frame, and whole frames that the FIFO holds.
    package let frameLength: Int
    package let fifoFrames: Int

    /// Frames that one batch would have for the wanted interval, and those that it has: half of the FIFO at most.
    package let wantedBatch: Int
    package let batch: Int

    /// Bits a second that the bus carries: data, addresses, acknowledgements, the FIFO's counts and the looks at the
    /// configuration.
    package let bitsPerSecond: Double

    /// The part of a bus's clock that may be used: adapters pause between bytes, chips stretch the clock, transactions are
    /// repeated, and the chip's oscillator may be fast.
    package static var usableShare: Double { 0.8 }

    /// What is assumed of a bus whose clock nobody tells, Hz: standard mode, which Linux sets where the device tree says
    /// nothing.
    package static var usualClock: Double { 100_000 }

    /// Works out what `part` needs with these settings, on a bus that reads up to `longestRead` bytes at once.
    package init<Part: ChipPart>(_ part: Part, settings: IMUSettings, longestRead: Int = 8192) {
        let fifo = part.fifo
        var fastest = settings
        fastest.rate = 1e9
        rate = part.rate
        highestRate = Part(settings: fastest).rate
        frameLength = fifo.frameLength
        fifoFrames = fifo.mostFrames
        let frames = (settings.batchInterval * part.rate).rounded()
        wantedBatch = Int(max(1, min(frames, 1e6)))
        batch = min(wantedBatch, fifo.longestBatch)
        let atOnce = max(1, min(longestRead, fifo.longestRead) / fifo.frameLength)
        let reads = (batch + atOnce - 1) / atOnce
        let data = Self.bits(reads: reads, bytes: batch * fifo.frameLength)
        let count = Self.bits(reads: 1, bytes: fifo.count.count)
        let looks = Self.bits(reads: 1, bytes: 4) / DriverTiming.healthInterval
        bitsPerSecond = (data + count) * part.rate / Double(batch) + looks
    }

    /// Bits of so many reads of so many bytes in all: each has a start, the address to write to, the register, a second start,
    /// the address to read from and a stop, and every byte is acknowledged (UM10204, 3.1).
    static func bits(reads: Int, bytes: Int) -> Double { Double(reads * (1 + 9 + 9 + 1 + 9 + 1) + 9 * bytes) }

    /// The part of a bus with this clock, Hz, that is taken.
    package func share(ofClock clock: Double) -> Double { bitsPerSecond / clock }

    /// Whether a bus with this clock, Hz, carries it.
    package func fits(clock: Double) -> Bool { share(ofClock: clock) <= Self.usableShare }

    /// The highest rate of the chip that a bus with this clock carries, Hz; `nil` where it carries none.
    package static func highestRate<Part: ChipPart>(
        of make: (IMUSettings) -> Part, settings: IMUSettings, clock: Double, longestRead: Int = 8192
    ) -> Double? {
        var settings = settings
        settings.rate = make(settings).rate
        while settings.rate > 1 {
            let load = BusLoad(make(settings), settings: settings, longestRead: longestRead)
            if load.fits(clock: clock) { return load.rate }
            // A part takes the next rate that is not less: a little lower is soon the one below.
            settings.rate *= 0.99
        }
        return nil
    }
}
