internal import IMUDrivers

/// Finding out who is at an address, without writing anything to whoever it is.
extension ChipRegistry {
    /// The families that may be at an address.
    ///
    /// At an address that no known chip has there may be anything, such as a bus switch that takes a register's number for a
    /// command. It is looked at only as the family that the user names.
    static func candidates(at address: UInt8, named family: IMUFamily?, of chips: [RegisteredChip]) -> [RegisteredChip]
    {
        let usual = chips.filter { $0.addresses.contains(address) }
        return usual.isEmpty ? chips.filter { $0.family == family } : usual
    }

    /// Reads identity registers until one tells who is there; `nil` where there are no candidates.
    ///
    /// The registers are read in the order of the families, each once, and the first whose content is known decides: in a chip
    /// that is known by one register, another family's register holds anything.
    ///
    /// - Throws: what the bus answered instead; `.notAcknowledged` where nobody is there.
    static func identify<Bus: RegisterBus & ~Copyable>(
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
            if other.name != nil { return other }
            if unknown == nil { unknown = other }
        }
        return unknown
    }
}
