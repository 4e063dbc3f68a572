package import IMUDrivers
package import LinuxSensors

extension IMUIdentity {
    /// Which parts a supported chip could be, and how that was decided: completes "the chip at 0x6A …". `nil` if its
    /// identity belongs to one part.
    package func sharedNote(in vocabulary: SensorVocabulary) -> String? {
        guard let family, let shared = SharedIdentity(of: identity, in: register) else { return nil }
        let parts = Self.alternatives(shared.parts)
        if shared.named.isEmpty { return "could be \(parts): they have the same identity and are driven alike" }
        guard shared.named.contains(family) else {
            let settings = shared.named.map { "for \($0.partName), set \(vocabulary.driver($0.name))" }
            return "could be \(parts): no register tells them apart, and \(shared.parts[0]) is assumed; "
                + settings.joined(separator: "; ")
        }
        let part = family.partName
        let others = Self.alternatives(shared.parts.filter { $0 != part })
        return "is driven as the \(part) that was named; \(others) would answer alike"
    }

    /// Which constants of a supported chip no source confirms, as a list; `nil` if there are none, or if no driver supports it.
    package var unsourced: String? {
        guard let family, let chip = ChipRegistry.all.first(where: { $0.family == family }) else { return nil }
        return chip.unsourced?(identity).map { "\($0)" }
    }

    /// How to use a chip without a driver here, at an address of a bus; `nil` if it has one, or if its name is not known.
    package func advice(at address: UInt8, on bus: String, _ vocabulary: SensorVocabulary) -> String? {
        guard !isSupported, let name else { return nil }
        guard let driver = KernelDriver(of: "\(name)"), let number = I2CBus(path: bus)?.number else {
            return "the \(name) cannot be used: choose a board with a chip that docs/chips.md lists"
        }
        return "Linux may have a driver for the \(name): sudo modprobe \(driver.module); "
            + "echo \(driver.device) \(hexadecimal(address)) | sudo tee /sys/bus/i2c/devices/i2c-\(number)/new_device; "
            + "then \(vocabulary.kernelDriver) reads it"
    }

    /// "LSM6DSO, LSM6DSOX or LSM6DSO32".
    private static func alternatives(_ parts: [String]) -> String {
        guard let last = parts.last, parts.count > 1 else { return parts.first ?? "" }
        return "\(parts.dropLast().joined(separator: ", ")) or \(last)"
    }
}
