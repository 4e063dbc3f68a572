internal import IMUDrivers

// Identification reads and never writes: the device at an address may be anything.
extension ChipRegistry {
    /// The families to try at an address.
    ///
    /// An address that no known chip uses may belong to anything, such as a bus switch, which takes a register number for
    /// a command. It is read only if the user names a family, and only as that family. A named family comes first: another
    /// one may have a part with the same identity.
    static func candidates(at address: UInt8, named family: IMUFamily?, of chips: [RegisteredChip]) -> [RegisteredChip]
    {
        let usual = chips.filter { $0.addresses.contains(address) }
        let named = chips.filter { $0.family == family }
        if usual.isEmpty { return named }
        return usual.filter { $0.family == family } + usual.filter { $0.family != family }
    }

    /// Reads identity registers until one identifies the chip; `nil` if there are no candidates.
    ///
    /// Each register is read once, in the order of the families, and the first known identity decides: another family's
    /// identity register may hold any value in this chip. A clock's registers may hold any of them in some second.
    ///
    /// - Throws: `BusError`; `.notAcknowledged` if no chip answers.
    static func identify<Bus: RegisterBus & ~Copyable>(
        _ bus: inout Bus, among candidates: [RegisteredChip]
    ) throws(BusError) -> IMUIdentity? {
        guard let found = try readIdentity(&bus, among: candidates) else { return nil }
        // Clocks are at 0x68. So that nothing is ever written to one, each chip there, and at the other address of an MPU-6050, is
        // looked at.
        if candidates.contains(where: { $0.addresses.contains(0x68) }), try isClock(&bus) {
            return IMUIdentity(unnamed: found.identity, in: found.register, stranger: .clock)
        }
        guard !found.isSupported else { return found }
        if let chip = try abandonedChip(&bus, among: candidates) { return chip }
        guard found.isLineLevel else { return found }
        // A line that is stuck shows the same in all registers.
        let bank = try bus.read(0x7F)
        var isStuck = bank == found.identity
        for register: UInt8 in [0x01, 0x1A, 0x6B] where isStuck { isStuck = try bus.read(register) == found.identity }
        guard !isStuck else { return found }
        let hasBanks = candidates.contains { $0.family == .icm20948 } && bank != 0 && bank & ~0x30 == 0
        return IMUIdentity(unnamed: found.identity, in: found.register, stranger: hasBanks ? .otherBank : .unknown)
    }

    /// Whether the registers hold a date and a time in BCD, as those of a DS1307, DS3231, M41T00 or PCF8523 do. It reads two
    /// registers of most other chips.
    private static func isClock<Bus: RegisterBus & ~Copyable>(_ bus: inout Bus) throws(BusError) -> Bool {
        /// The register, the bits of the number, and its values. The upper bits of an hour depend on its mode, 12 or 24 hours.
        typealias Field = (register: UInt8, bits: UInt8, values: ClosedRange<UInt8>)
        let dallas: [Field] = [
            (3, 0xFF, 1...7), (4, 0xFF, 1...31), (5, 0x7F, 1...12), (6, 0xFF, 0...99), (2, 0x1F, 0...19),
            (1, 0xFF, 0...59),
            (0, 0x7F, 0...59),
        ]
        let philips: [Field] = [
            (6, 0xFF, 1...31), (8, 0xFF, 1...12), (7, 0xFF, 0...6), (9, 0xFF, 0...99), (5, 0x1F, 0...19),
            (4, 0xFF, 0...59),
            (3, 0x7F, 0...59),
        ]
        for layout in [dallas, philips] {
            var holdsTime = true
            for field in layout where holdsTime {
                let bits = try bus.read(field.register) & field.bits
                holdsTime = bits & 0xF < 10 && bits >> 4 < 10 && field.values.contains(10 * (bits >> 4) + bits & 0xF)
            }
            if holdsTime { return true }
        }
        return false
    }

    private static func readIdentity<Bus: RegisterBus & ~Copyable>(
        _ bus: inout Bus, among candidates: [RegisteredChip]
    ) throws(BusError) -> IMUIdentity? {
        var unknown: IMUIdentity?
        var registers: [UInt8] = []
        for candidate in candidates where !registers.contains(candidate.identityRegister) {
            let register = candidate.identityRegister
            registers.append(register)
            let identity = try bus.read(register)
            for chip in candidates where chip.identityRegister == register {
                guard let name = chip.name(identity), try isProven(chip, &bus) else { continue }
                return IMUIdentity(register: register, identity: identity, name: name, family: chip.family)
            }
            let other = IMUIdentity(register: register, identity: identity)
            if other.name != nil, other.isCredible(after: unknown) { return other }
            // Any other value is more than that of a line which does not change.
            if unknown?.isLineLevel ?? true { unknown = IMUIdentity(unnamed: identity, in: register) }
        }
        for register in registers {
            guard let further = IMUIdentity.furtherRegister(after: register), !registers.contains(further) else {
                continue
            }
            let identity = try bus.read(further)
            let other = IMUIdentity(register: further, identity: identity)
            if other.name != nil, other.isCredible(after: unknown) { return other }
            if unknown?.isLineLevel ?? true { unknown = IMUIdentity(unnamed: identity, in: further) }
        }
        return unknown
    }

    private static func isProven<Bus: RegisterBus & ~Copyable>(
        _ chip: RegisteredChip, _ bus: inout Bus
    ) throws(BusError) -> Bool {
        for setting in chip.proof where !setting.holds(in: RegisterValue(try bus.read(setting.register.number))) {
            return false
        }
        return true
    }

    /// The chip in which a program that ended has left a bank without the identity selected; `nil` if there is none.
    /// Several registers must have the values that this program's driver writes.
    private static func abandonedChip<Bus: RegisterBus & ~Copyable>(
        _ bus: inout Bus, among candidates: [RegisteredChip]
    ) throws(BusError) -> IMUIdentity? {
        for chip in candidates {
            guard let usual = chip.usual else { continue }
            for bank in chip.abandonedBanks() {
                var isShown = true
                for setting in bank where isShown {
                    isShown = setting.holds(in: RegisterValue(try bus.read(setting.register.number)))
                }
                guard isShown else { continue }
                return IMUIdentity(
                    register: chip.identityRegister, identity: usual.identity, name: usual.name, family: chip.family)
            }
        }
        return nil
    }
}
