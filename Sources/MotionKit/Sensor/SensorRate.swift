package import IMUDrivers
package import LinuxSensors

/// The load that a sample rate puts on a chip and its bus, and whether they can carry it.
package struct SensorRate: Equatable, Sendable {
    /// The chip's name, and the requested rate, Hz.
    package let chip: String
    package let wanted: Double

    /// The load on the bus.
    package let load: BusLoad

    /// The bus clock, Hz, or `nil` without a bus; and whether the system reports it.
    package let clock: Double?
    package let isClockKnown: Bool

    /// The chip's highest rate that the bus can carry, Hz; `nil` if the bus is too slow for all of them.
    package let allowed: Double?

    /// The actual rate and the highest possible one: "200 Hz take 32 % of the bus; up to 500 Hz are possible".
    package var summary: String {
        guard let clock else { return "\(load.rate.short) Hz of \(load.highestRate.short)" }
        let share = "\(load.rate.short) Hz take \(Self.percent(load.share(ofClock: clock))) of the bus"
        let bound = allowed.map { "up to \($0.short) Hz are possible" } ?? "no rate is possible"
        return "\(share)\(isClockKnown ? "" : ", if it has \(Self.kilohertz(clock))"); \(bound)"
    }

    /// Why the rate is refused, if it is.
    package var refusal: SensorRateError? {
        if wanted > load.highestRate * (1 + 1e-6) { return SensorRateError(.beyondChip, self) }
        guard let clock, isClockKnown, !load.fits(clock: clock) else { return nil }
        return SensorRateError(.beyondBus, self)
    }

    /// What differs from the request, or may not work: one sentence each.
    package func notes(in vocabulary: SensorVocabulary = .library) -> [String] {
        var notes: [String] = []
        if let clock, !isClockKnown, !load.fits(clock: clock) {
            notes.append(
                "the bus's clock is unknown; if it is \(Self.kilohertz(clock)), "
                    + SensorRateError(.beyondBus, self).description(in: vocabulary))
        }
        // A small deviation, such as 208 Hz for 200 Hz, needs no note.
        if abs(load.rate - wanted) > 0.1 * wanted {
            notes.append("\(vocabulary.rate): the \(chip) provides \(load.rate.short) Hz instead of \(wanted.short) Hz")
        }
        if load.wantedBatch > load.batch {
            let interval = Double(load.batch) / load.rate * 1000
            notes.append(
                "\(vocabulary.batch): \(load.wantedBatch) frames of \(load.frameLength) bytes are more than half of the FIFO, which "
                    + "holds \(load.fifoFrames): it is read every \(interval.short) ms instead")
        }
        return notes
    }

    fileprivate static func percent(_ share: Double) -> String { "\(fixed((100 * share).rounded(), decimals: 0)) %" }
    fileprivate static func kilohertz(_ clock: Double) -> String { "\((clock / 1000).short) kHz" }
}

/// Why a chip cannot be read at the requested rate.
public struct SensorRateError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The chip has no such rate.
        case beyondChip
        /// The bus is too slow for it.
        case beyondBus
    }

    package let reason: Reason
    package let rate: SensorRate

    init(_ reason: Reason, _ rate: SensorRate) {
        self.reason = reason
        self.rate = rate
    }
}

extension SensorRateError: CustomStringConvertible {
    /// What is wrong, with the calculation, and what to do about it.
    public var description: String { description(in: .library) }

    /// The description in the vocabulary of its reader.
    package func description(in vocabulary: SensorVocabulary) -> String {
        "\(vocabulary.rate): \(explanation(in: vocabulary))"
    }

    /// The description without the name of the setting.
    package func explanation(in vocabulary: SensorVocabulary) -> String {
        let load = rate.load
        guard reason == .beyondBus, let clock = rate.clock else {
            let alone = load.highestRateWithoutGyroscope
            let faster = alone > load.highestRate ? ", or \(alone.short) Hz with \(vocabulary.withoutGyroscope)" : ""
            return "the \(rate.chip) measures up to \(load.highestRate.short) Hz\(faster); "
                + "\(rate.wanted.short) Hz were requested"
        }
        let bits = Int(load.bitsPerSecond.rounded())
        let limit = Int((100 * BusLoad.usableShare).rounded())
        let allowed = rate.allowed.map { "allowed here: up to \($0.short) Hz" } ?? "the bus is too slow for the chip"
        let advice =
            clock < 400_000
            ? "; raise the bus clock: dtparam=i2c_arm_baudrate=400000 in /boot/firmware/config.txt, and restart" : ""
        return
            "\(load.rate.short) Hz need \(SensorRate.percent(load.share(ofClock: clock))) of a "
            + "\(SensorRate.kilohertz(clock)) bus: \(load.frameLength) bytes a frame, \(load.batch) frames a read, with addresses, "
            + "acknowledgements and counts \(bits) bits a second, of which \(limit) % may be used; \(allowed)\(advice)"
    }
}

extension RegisteredChip {
    /// The rate and bus load that the settings mean for the part with this identity.
    func rate(
        _ settings: IMUSettings, identity: UInt8?, name: String? = nil, bus: SensorBusClock
    ) -> SensorRate? {
        guard let plan else { return nil }
        let clock = bus.clock
        let (load, allowed) = plan(identity, settings, clock ?? .infinity)
        return SensorRate(
            chip: name ?? usual.map { "\($0.name)" } ?? family.name, wanted: settings.rate, load: load, clock: clock,
            isClockKnown: bus.isKnown, allowed: allowed)
    }
}

/// The clock of a sensor's bus.
enum SensorBusClock: Equatable {
    /// There is no bus.
    case none
    /// The system does not report it; the usual clock is assumed.
    case unknown
    case known(Double)

    init(_ frequency: Int?) {
        self = frequency.map { $0 > 0 ? .known(Double($0)) : .unknown } ?? .unknown
    }

    var clock: Double? {
        switch self {
        case .none: nil
        case .unknown: BusLoad.usualClock
        case .known(let clock): clock
        }
    }

    var isKnown: Bool { if case .known = self { true } else { false } }
}

extension Double {
    /// The number with as few decimals as possible, at most three.
    var short: String {
        var text = fixed(self, decimals: 3)
        while text.contains("."), text.hasSuffix("0") { text.removeLast() }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }
}

extension SensorScan {
    /// The rate and bus load that the settings mean for the chosen chip.
    package func rate(of choice: Choice, _ settings: IMUSettings) -> SensorRate? {
        let clock = buses.first { $0.path == choice.place.bus }?.clockFrequency
        return ChipRegistry.all.first { $0.family == choice.family }?
            .rate(settings, identity: choice.identity, name: choice.name, bus: SensorBusClock(clock))
    }
}
