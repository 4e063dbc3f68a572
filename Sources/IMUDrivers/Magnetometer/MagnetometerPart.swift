package import MotionCore

/// What the driver needs to know about a magnetometer: its registers, its bring-up, and the layout of its data.
///
/// A part is a plain value. It only describes: `MagnetometerDriver` runs the steps, checks the registers, enforces
/// deadlines and recovers from faults. To add a magnetometer, implement this protocol.
package protocol MagnetometerPart: Sendable, BitwiseCopyable {
    /// The part's name as its manufacturer writes it.
    static var name: StaticString { get }

    /// Constants that no source confirms; `nil` if all have one.
    static var unsourced: StaticString? { get }

    /// The 7-bit addresses that the part can have.
    static var addresses: [UInt8] { get }

    /// The register that identifies the part, and a second one that must agree as well.
    static var identity: RegisterSetting { get }
    static var secondIdentity: RegisterSetting? { get }

    /// The bit to add to a register's number if several bytes are read.
    static var burstBit: UInt8 { get }

    /// Range, times and scale.
    static var figures: MagnetometerFigures { get }

    /// The registers of a reading, read in one transaction: from the status to the one that ends a measurement. They may
    /// include `configuration`.
    static var output: ChipRegisters { get }

    /// The registers with what decides which field a count means, at most 16. They are checked with each
    /// reading.
    static var configuration: ChipRegisters { get }

    /// The register that puts the part to sleep, and its value.
    static var sleep: RegisterSetting { get }

    /// The part before its factory values have been read.
    init()

    /// Adds the registers that a reading depends on. Those of the stage `configuration` are written.
    func addRegisters(to table: inout RegisterTable)

    /// A step of the bring-up of an identified part; `nil` after the last one.
    func step(_ number: Int) -> MagnetometerStep?

    /// Takes the factory values that a step has read. Returns the first one that cannot be right, `nil` if there is none.
    mutating func takeTrim(_ bytes: UnsafeRawBufferPointer) -> UInt8?

    /// The reading in the registers `output`, along the axes of accelerometer and gyroscope as their driver delivers them.
    func reading(_ bytes: UnsafeRawBufferPointer) -> MagnetometerReading
}

extension MagnetometerPart {
    package static var secondIdentity: RegisterSetting? { nil }
    package static var burstBit: UInt8 { 0 }
    package mutating func takeTrim(_ bytes: UnsafeRawBufferPointer) -> UInt8? { nil }

    /// Bits per second on the bus while measuring: data, addresses, acknowledgements, and checks of the configuration.
    package static var bitsPerSecond: Double {
        let isSeparate = output.offset(of: configuration) == nil
        let bytes = output.count + (isSeparate ? configuration.count : 0)
        return BusLoad.bits(reads: isSeparate ? 2 : 1, bytes: bytes) / figures.interval
    }
}

/// Range, times and scale of a magnetometer.
package struct MagnetometerFigures: Equatable, Sendable, BitwiseCopyable {
    /// Full scale of each axis, ±µT, and the size of one count, µT.
    package let range: Double
    package let scale: Double

    /// Seconds between the chip's measurements, with a perfect oscillator.
    package let period: Double

    /// Seconds between readings.
    package let interval: Double

    /// Seconds from the middle of a measurement until its result is ready.
    package let delay: Double
}

/// One step of a bring-up.
package enum MagnetometerStep: Equatable, Sendable, BitwiseCopyable {
    /// Writes a register that need not keep the value.
    case write(RegisterAddress, RegisterValue)
    /// Waits, seconds.
    case wait(Double)
    /// Reads a register every `every` seconds until it has the given value; fails after `within` seconds. A missing
    /// acknowledgement is tolerated meanwhile.
    case waitFor(RegisterSetting, every: Double, within: Double)
    /// Reads the factory values.
    case readTrim(ChipRegisters)
    /// Reads registers of the table and checks their values.
    case verify(ChipRegisters)
    /// Writes the table's registers of the stage `configuration`, and reads each one back.
    case configure
}

/// The content of a magnetometer's output registers.
package enum MagnetometerReading: Equatable, Sendable, BitwiseCopyable {
    /// There is no measurement since the last reading.
    case notReady
    /// The field is too strong to be measured.
    case overflow
    /// The magnetic flux density, µT.
    case field(Vector3)
}

extension ChipRegisters {
    /// Where `other` begins within this run; `nil` if the run does not include all of it.
    func offset(of other: ChipRegisters) -> Int? {
        let offset = Int(other.first.number) - Int(first.number)
        return offset >= 0 && offset + other.count <= count ? offset : nil
    }
}

extension UnsafeRawBufferPointer {
    /// The three 16-bit values from `offset` on, low bytes first.
    func littleEndianCounts(at offset: Int) -> Vector3 {
        Vector3(
            Double(littleEndian(at: offset)), Double(littleEndian(at: offset + 2)), Double(littleEndian(at: offset + 4))
        )
    }
}
