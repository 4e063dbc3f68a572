internal import MotionCore

/// What the driver has to know of a chip: its registers as a table, its bring-up as scripts, and what its bytes mean.
///
/// A part is a plain value, made of the identity that the chip answered with and of the settings. `ChipDriver` carries
/// out its scripts, holds the chip to the table, keeps deadlines, reads the FIFO and recovers; a part only describes.
/// Adding a chip is writing one of these and naming it in `ChipRegistry`.
package protocol ChipPart: Sendable, BitwiseCopyable {
    /// The family's name in a configuration.
    static var family: IMUFamily { get }

    /// The 7-bit addresses that a part of the family can have.
    static var addresses: [UInt8] { get }

    /// The register that says who is there.
    static var identityRegister: RegisterAddress { get }

    /// The most bytes that the FIFO of any part of the family holds.
    static var largestFIFO: Int { get }

    /// The part that answers with `identity`; `nil` where it is none of the family.
    init?(identity: UInt8, settings: IMUSettings)

    /// What the chip is taken for until it is asked.
    init(settings: IMUSettings)

    /// The part's name as its maker writes it.
    var name: StaticString { get }

    /// Rate, bandwidth, delay, ranges and scales, as the settings set them.
    var figures: ChipFigures { get }

    /// The counts, without sign, from which on an axis counts as clipped.
    var accelerometerLimit: Int16 { get }
    var gyroscopeLimit: Int16 { get }

    /// The FIFO's measures.
    var fifo: ChipFIFO { get }

    /// When its data-ready pin pulses, where the settings ask for that.
    var dataReadyPulse: DataReadyPulse { get }

    /// Adds the registers that the stream depends on, with what the settings come to.
    func addRegisters(to table: inout RegisterTable)

    /// Adds the steps from the identified chip to one that is configured, without its FIFO.
    func addBringUp(to script: inout ChipScript)

    /// Adds the steps that empty the FIFO and start it. For the first time, the driver then reads back the table's `fifo`.
    func addFIFOStart(to script: inout ChipScript)

    /// Adds the steps that put the chip to sleep: writes alone.
    func addSleep(to script: inout ChipScript)

    /// The number of bytes in the FIFO, of what its count registers hold; more than the FIFO's size where it ran over.
    func fill(_ registers: UnsafeRawBufferPointer) -> Int

    /// The frame that begins at `offset`; `nil` where that cannot be one.
    func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame?

    /// How often in a row a living chip may repeat a frame bit for bit: by chance, where noise is smaller than a count.
    var longestRepetition: Int { get }

    /// Whether a chip that was just reset may answer with this frame too, so that its settings have to prove it.
    func needsProof(_ frame: ChipFrame) -> Bool

    /// Degrees Celsius of a raw temperature.
    func celsius(_ raw: Int16) -> Double

    /// Degrees Celsius of what the FIFO's `temperature` registers hold.
    func temperature(_ registers: UnsafeRawBufferPointer) -> Double
}

extension ChipPart {
    package var rate: Double { figures.rate }
    package var bandwidth: Double { figures.bandwidth }
    package var delay: Double { figures.delay }
    package var accelerometerRange: Double { figures.accelerometerRange }
    package var gyroscopeRange: Double { figures.gyroscopeRange }
    package var accelerometerScale: Double { figures.accelerometerScale }
    package var gyroscopeScale: Double { figures.gyroscopeScale }

    /// Eight counts from the end of sixteen bits.
    package var accelerometerLimit: Int16 { .max - 8 }
    package var gyroscopeLimit: Int16 { .max - 8 }

    /// With six axes the same frame twice is one in a thousand at most.
    package var longestRepetition: Int { 4 }

    package func needsProof(_ frame: ChipFrame) -> Bool { false }

    package func temperature(_ registers: UnsafeRawBufferPointer) -> Double {
        celsius(Int16(littleEndian: registers.loadUnaligned(as: Int16.self)))
    }

    package var dataReadyPulse: DataReadyPulse { .everySample }

    /// Edges that may queue up between two looks: those of the longest batch twice over, and what a late host adds.
    static var mostEdges: Int { 1024 }
}

/// The measures of a FIFO.
package struct ChipFIFO: Equatable, Sendable, BitwiseCopyable {
    /// Bytes it holds.
    package var size: Int

    /// Bytes of a frame: everything that was measured at one instant.
    package var frameLength: Int

    /// Where its count stands.
    package var count: ChipRegisters

    /// The register at which its bytes are read, in one transaction as many as wanted up to `longestRead`.
    package var data: RegisterAddress
    package var longestRead = Int.max

    /// Where the chip's temperature stands, if it is not in the frames; low byte first
    /// unless the part says otherwise.
    package var temperature: ChipRegisters?

    /// Whether a count beyond its size says that it ran over; else such a count cannot be.
    package var tellsOverflow = false

    /// Frames after the start that mean nothing.
    package var discardedFrames = 2

    package init(size: Int, frameLength: Int, count: ChipRegisters, data: RegisterAddress) {
        self.size = size
        self.frameLength = frameLength
        self.count = count
        self.data = data
    }

    /// Whole frames it holds.
    var mostFrames: Int { size / frameLength }

    /// The longest batch: half of the FIFO, so that a host that is late by as much again loses nothing.
    var longestBatch: Int { max(1, mostFrames / 2) }
}

/// What a chip measured at one instant, in counts.
package struct ChipFrame: Equatable, Sendable, BitwiseCopyable {
    package var ax: Int16
    package var ay: Int16
    package var az: Int16
    package var gx: Int16 = 0
    package var gy: Int16 = 0
    package var gz: Int16 = 0
    package var temperature: Int16?

    package init(ax: Int16, ay: Int16, az: Int16) {
        self.ax = ax
        self.ay = ay
        self.az = az
    }
}
