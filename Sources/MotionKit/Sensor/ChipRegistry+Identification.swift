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
    /// identity register may hold any value in this chip.
    ///
    /// - Throws: `BusError`; `.notAcknowledged` if no chip answers.
    static func identify<Bus: RegisterBus & ~Copyable>(
        _ bus: inout Bus, among candidates: [RegisteredChip]
    ) throws(BusError) -> IMUIdentity? {
        guard let found = try readIdentity(&bus, among: candidates) else { return nil }
        return found.isSupported ? found : try abandonedChip(&bus, among: candidates) ?? found
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
                guard let name = chip.name(identity) else { continue }
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
