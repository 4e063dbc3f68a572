package import MotionCore

/// What the driver needs to know about a chip: its register table, its bring-up scripts, and the layout of its data.
///
/// A part is a plain value created from the chip's identity and the settings. It only describes: `ChipDriver` runs the
/// scripts, checks the registers against the table, enforces deadlines, reads the FIFO and recovers from faults. To add
/// a chip, implement this protocol and list the part in `ChipRegistry`.
package protocol ChipPart: Sendable, BitwiseCopyable {
    /// The family's name in a configuration.
    static var family: IMUFamily { get }

    /// The 7-bit addresses that parts of the family use.
    static var addresses: [UInt8] { get }

    /// The register that identifies the chip.
    static var identityRegister: RegisterAddress { get }

    /// The register that selects a bank of registers; writing 0 selects the one with the identity. `nil` if there is
    /// only one bank, or if the scripts do not use others.
    static var bankRegister: RegisterAddress? { get }

    /// What registers of the part show besides the identity, so that nothing is written to another device that happens to
    /// hold the same byte; none by default.
    static var proof: [RegisterSetting] { get }

    /// What registers show if a program that used this driver ended while another bank was selected: one list for each
    /// bank, with the bank register first, and then the bank's own registers. The identity cannot be read then.
    static var abandonedBanks: [[RegisterSetting]] { get }

    /// The bits to add to a register's number if several bytes are read, on a chip that otherwise does not advance from
    /// register to register.
    static var burstBit: UInt8 { get }

    /// The identity of the part assumed until the chip has been identified. No part of the family has a larger FIFO.
    static var identity: UInt8 { get }

    /// The part that answers with `identity`; `nil` if it does not belong to the family. Each of its figures is the
    /// chip's nearest that is not smaller than requested, up to the chip's limits.
    init?(identity: UInt8, settings: IMUSettings)

    /// The part's name as its manufacturer writes it.
    var name: StaticString { get }

    /// The rate, bandwidth, delay, ranges and scales that the settings result in.
    var figures: ChipFigures { get }

    /// The magnitude in counts from which an axis counts as clipped.
    var accelerometerLimit: Int16 { get }
    var gyroscopeLimit: Int16 { get }

    /// The FIFO's layout.
    var fifo: ChipFIFO { get }

    /// When the data-ready pin pulses, if the settings enable it.
    var dataReadyPulse: DataReadyPulse { get }

    /// Adds the registers that the stream depends on, with the values that the settings require.
    func addRegisters(to table: inout RegisterTable)

    /// Adds the steps that configure an identified chip, except for its FIFO.
    func addBringUp(to script: inout ChipScript)

    /// Adds the steps that empty and start the FIFO. After the first start the driver reads the table's `fifo` stage
    /// back.
    func addFIFOStart(to script: inout ChipScript)

    /// Adds the steps that put the chip to sleep. Only writes are allowed.
    func addSleep(to script: inout ChipScript)

    /// The number of bytes in the FIFO, decoded from its count registers; more than the FIFO's size if it overflowed.
    func fill(_ registers: UnsafeRawBufferPointer) -> Int

    /// The frame that begins at `offset`; `nil` if the bytes cannot be a frame.
    func frame(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> ChipFrame?

    /// Parses adjacent frames, as many as there is room for. Returns whether any of them could come from a chip that has
    /// just been reset.
    ///
    /// Parts have no implementation of their own. But they have this requirement: the compiler makes the default one for
    /// each of them, with no call for each frame.
    func parse(_ bytes: UnsafeRawBufferPointer, into frames: UnsafeMutableBufferPointer<ParsedFrame?>) -> Bool

    /// Whether the chip has marked a frame as measured before its filters had settled.
    func isUnsettled(_ frame: ChipFrame) -> Bool

    /// How many times in a row a working chip may repeat a frame bit for bit, by chance, if the noise is below one
    /// count. `Int.max` if the noise is so small that repetitions do not distinguish a frozen chip from one at rest: then
    /// they are samples.
    var longestRepetition: Int { get }

    /// Whether a chip that has just been reset could also return this frame, so that its registers must be checked.
    func mayFollowReset(_ frame: ChipFrame) -> Bool

    /// Whether a single frame may have a wrong temperature although its motion is right.
    var hasErraticThermometer: Bool { get }

    /// Which of the part's constants no source confirms, as a list for `jostle scan --verbose`; `nil` if there are none. The
    /// code marks each of them with the word "Unsourced".
    var unsourced: StaticString? { get }

    /// Converts a raw temperature to °C. NaN by default.
    func celsius(_ raw: Int16) -> Double

    /// Converts the content of the FIFO's `temperature` registers to °C.
    func temperature(_ registers: UnsafeRawBufferPointer) -> Double
}

extension ChipPart {
    /// The part assumed until the chip has been identified.
    package init(settings: IMUSettings) {
        guard let part = Self(identity: Self.identity, settings: settings) else {
            preconditionFailure("a family without the part of its identity")
        }
        self = part
    }

    /// The largest FIFO of any part in the family, bytes.
    package static var largestFIFO: Int { Self(settings: IMUSettings()).fifo.size }

    package var rate: Double { figures.rate }
    package var bandwidth: Double { figures.bandwidth }
    package var delay: Double { figures.delay }
    package var accelerometerRange: Double { figures.accelerometerRange }
    package var gyroscopeRange: Double { figures.gyroscopeRange }
    package var accelerometerScale: Double { figures.accelerometerScale }
    package var gyroscopeScale: Double { figures.gyroscopeScale }

    /// Eight counts below the end of the 16-bit range.
    package var accelerometerLimit: Int16 { .max - 8 }
    package var gyroscopeLimit: Int16 { .max - 8 }

    /// With six axes, the probability of an identical consecutive frame is at most one in a thousand.
    package var longestRepetition: Int { 4 }

    package static var bankRegister: RegisterAddress? { nil }
    package static var abandonedBanks: [[RegisterSetting]] { [] }
    package static var proof: [RegisterSetting] { [] }
    package static var burstBit: UInt8 { 0 }

    package func isUnsettled(_ frame: ChipFrame) -> Bool { false }
    package var hasErraticThermometer: Bool { false }
    package var unsourced: StaticString? { nil }

    package func mayFollowReset(_ frame: ChipFrame) -> Bool { false }

    package func celsius(_ raw: Int16) -> Double { .nan }

    package func temperature(_ registers: UnsafeRawBufferPointer) -> Double {
        celsius(registers.littleEndian(at: 0))
    }

    package var dataReadyPulse: DataReadyPulse { .everySample }

    package func parse(_ bytes: UnsafeRawBufferPointer, into frames: UnsafeMutableBufferPointer<ParsedFrame?>) -> Bool {
        let length = fifo.frameLength
        var mayFollowReset = false
        for index in 0..<frames.count {
            guard let counts = frame(bytes, at: index * length) else {
                frames[index] = nil
                continue
            }
            if self.mayFollowReset(counts) { mayFollowReset = true }
            // No `map`: in an unoptimised build the method passed as a closure is allocated once per frame.
            var celsius = Double.nan
            if let raw = counts.temperature { celsius = self.celsius(raw) }
            frames[index] = ParsedFrame(counts: counts, celsius: celsius, isUnsettled: isUnsettled(counts))
        }
        return mayFollowReset
    }
}

/// The layout of a FIFO.
package struct ChipFIFO: Equatable, Sendable, BitwiseCopyable {
    /// Bytes it holds.
    package var size: Int

    /// Bytes of a frame: all values measured at one instant.
    package var frameLength: Int

    /// The count registers.
    package var count: ChipRegisters

    /// The register through which the data is read. One transaction may read up to `longestRead` bytes.
    package var data: RegisterAddress
    package var longestRead = Int.max

    /// The chip's temperature registers if the frames do not carry the temperature. Low byte first unless the part says
    /// otherwise.
    package var temperature: ChipRegisters?

    /// Whether a count beyond the FIFO's size reports an overflow; otherwise such a count is invalid.
    package var reportsOverflow = true

    /// Invalid frames after each start.
    package var discardedFrames = 2

    /// A fill that reports an overflow: more than the FIFO holds, in whole frames.
    var overflow: Int { (mostFrames + 1) * frameLength }

    /// Whole frames it holds.
    var mostFrames: Int { size / frameLength }

    /// The longest batch: half of the FIFO. The host may then be late by the same time again without losing data.
    var longestBatch: Int { max(1, mostFrames / 2) }
}

/// The raw counts that a chip measured at one instant.
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

    /// Three values of each sensor, low bytes first, from these offsets on.
    init(littleEndian bytes: UnsafeRawBufferPointer, accelerometer: Int, gyroscope: Int? = nil) {
        ax = bytes.littleEndian(at: accelerometer)
        ay = bytes.littleEndian(at: accelerometer + 2)
        az = bytes.littleEndian(at: accelerometer + 4)
        guard let gyroscope else { return }
        gx = bytes.littleEndian(at: gyroscope)
        gy = bytes.littleEndian(at: gyroscope + 2)
        gz = bytes.littleEndian(at: gyroscope + 4)
    }

    /// The same, high bytes first, with a temperature of two bytes if there is an offset for it.
    init(bigEndian bytes: UnsafeRawBufferPointer, accelerometer: Int, gyroscope: Int?, temperature: Int? = nil) {
        let swapped = ChipFrame(littleEndian: bytes, accelerometer: accelerometer, gyroscope: gyroscope)
        ax = swapped.ax.byteSwapped
        ay = swapped.ay.byteSwapped
        az = swapped.az.byteSwapped
        gx = swapped.gx.byteSwapped
        gy = swapped.gy.byteSwapped
        gz = swapped.gz.byteSwapped
        if let temperature { self.temperature = bytes.littleEndian(at: temperature).byteSwapped }
    }

    /// Whether all its bytes are equal: it is not a frame then, but an empty FIFO, a chip in reset or a bus without an
    /// answer.
    func isOneByteRepeated(hasGyroscope: Bool = true) -> Bool {
        let word = UInt16(bitPattern: ax)
        let isTurnRepeated = !hasGyroscope || gx == ax && gy == ax && gz == ax
        return word >> 8 == word & 0xFF && ay == ax && az == ax && isTurnRepeated && (temperature ?? ax) == ax
    }
}

extension UnsafeRawBufferPointer {
    /// The 16-bit value at an offset, low byte first.
    func littleEndian(at offset: Int) -> Int16 {
        Int16(littleEndian: loadUnaligned(fromByteOffset: offset, as: Int16.self))
    }
}

/// A frame, and what the part says of it.
package struct ParsedFrame: Sendable, BitwiseCopyable {
    var counts: ChipFrame
    /// Its temperature, °C; NaN if it does not carry one.
    var celsius: Double
    /// Whether the chip has marked it as measured before its filters had settled.
    var isUnsettled: Bool
}

/// What the conversion of frames to samples needs to know of a part, as values.
struct ChipTraits: BitwiseCopyable {
    let rate: Double
    let figures: ChipFigures
    let fifo: ChipFIFO
    let accelerometerLimit: Int16
    let gyroscopeLimit: Int16
    let longestRepetition: Int
    let hasErraticThermometer: Bool
    let dataReadyPulse: DataReadyPulse
    /// Whether samples have a rotation rate.
    let hasGyroscope: Bool

    init<Part: ChipPart>(_ part: Part, readsGyroscope: Bool = true) {
        rate = part.rate
        figures = part.figures
        fifo = part.fifo
        accelerometerLimit = part.accelerometerLimit
        gyroscopeLimit = part.gyroscopeLimit
        longestRepetition = part.longestRepetition
        hasErraticThermometer = part.hasErraticThermometer
        dataReadyPulse = part.dataReadyPulse
        hasGyroscope = readsGyroscope && part.gyroscopeRange > 0
    }

    /// Converts a frame with this temperature, °C, to SI units. Always inline: for the call, all traits would be copied.
    @inline(__always)
    func sample(of frame: ChipFrame, at timestamp: Timestamp, temperature: Double) -> MotionSample {
        let a = figures.accelerometerScales
        let offset = figures.accelerometerOffset
        let g = hasGyroscope ? figures.gyroscopeScale : 0
        var flags: MotionSample.Flags = hasGyroscope ? .rotationRate : []
        if isClipped(frame.ax, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 0)) }
        if isClipped(frame.ay, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 1)) }
        if isClipped(frame.az, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 2)) }
        if hasGyroscope {
            if isClipped(frame.gx, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 0)) }
            if isClipped(frame.gy, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 1)) }
            if isClipped(frame.gz, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 2)) }
        }
        return MotionSample(
            timestamp: timestamp,
            acceleration: Vector3(
                Double(frame.ax) * a.x - offset.x, Double(frame.ay) * a.y - offset.y, Double(frame.az) * a.z - offset.z),
            rotationRate: Vector3(Double(frame.gx) * g, Double(frame.gy) * g, Double(frame.gz) * g),
            temperature: temperature, flags: flags)
    }

    private func isClipped(_ value: Int16, _ limit: Int16) -> Bool { value >= limit || value <= -limit }
}

/// Delays of a low-pass of second order until it has settled to 1 %: 4.6 for a Butterworth filter.
var settlingDelays: Double { 5 }

/// The largest divisor of `base` Hz that still gives `rate` Hz, at most `most`. NaN counts as the lowest rate.
func divisor(of base: Double, for rate: Double, most: Double) -> Int {
    // A rate such as 1000/3, which binary cannot represent exactly, must not fall to the next divisor.
    let wanted = base / rate * (1 + 1e-9)
    return wanted >= 1 ? Int(min(wanted, most)) : rate > 0 ? 1 : Int(most)
}

/// The first of the values `least`, 2 · `least`, 4 · `least` … that is not less than `wanted`, or the last one, after `most`
/// doublings; and the number of doublings. The first one if `wanted` is NaN.
func doubled(_ least: Double, upTo wanted: Double, most: UInt8) -> (doublings: UInt8, value: Double) {
    var value = least
    var doublings: UInt8 = 0
    while value < wanted && doublings < most {
        value *= 2
        doublings += 1
    }
    return (doublings, value)
}

/// The effective settings of a part in SI units: the figures that every chip has.
package struct ChipFigures: Equatable, Sendable, BitwiseCopyable {
    /// The sample rate with a perfect oscillator, Hz.
    package let rate: Double

    /// -3 dB bandwidth of the chip's low-pass, Hz, and its delay, seconds: the gyroscope's, or the accelerometer's on a
    /// part without a gyroscope.
    package let bandwidth: Double
    package let delay: Double

    /// Full scales, m/s² and rad/s (the gyroscope's is zero if the part has none), and the size of one count.
    package let accelerometerRange: Double
    package let gyroscopeRange: Double
    package let accelerometerScale: Double
    package let gyroscopeScale: Double

    /// The size of one count of each accelerometer axis, and what an axis reads without acceleration, m/s².
    package let accelerometerScales: Vector3
    package let accelerometerOffset: Vector3

    /// Creates the figures.
    ///
    /// If `delay` is `nil`, it is computed for a second-order Butterworth low-pass of this bandwidth, √2/(2π·f). A
    /// scale that is `nil` is the range divided by 2¹⁵. `accelerometerScales` is `nil` if the axes do not differ.
    package init(
        rate: Double, bandwidth: Double, delay: Double? = nil, accelerometerRange: Double, gyroscopeRange: Double,
        accelerometerScale: Double? = nil, gyroscopeScale: Double? = nil, accelerometerScales: Vector3? = nil,
        accelerometerOffset: Vector3 = .zero
    ) {
        self.rate = rate
        self.bandwidth = bandwidth
        self.delay = delay ?? 0.2251 / bandwidth
        self.accelerometerRange = accelerometerRange
        self.gyroscopeRange = gyroscopeRange
        let scale = accelerometerScale ?? accelerometerRange / 32768
        self.accelerometerScale = scale
        self.accelerometerScales = accelerometerScales ?? Vector3(scale, scale, scale)
        self.accelerometerOffset = accelerometerOffset
        self.gyroscopeScale = gyroscopeScale ?? gyroscopeRange / 32768
    }
}

/// Says which of the chips with one identity a driver is for: no register tells them apart, so the user does.
package protocol ChipKind: Sendable {
    static var family: IMUFamily { get }
}
