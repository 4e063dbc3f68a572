package import IMUDrivers
package import LinuxSensors

/// The chip families with a driver.
enum ChipRegistry {
    /// One line per family. If several kinds of chip are found, `auto` prefers the family that comes first.
    static let all: [RegisteredChip] = [
        RegisteredChip(MPUFamily.self),
        RegisteredChip(ICM42688Family.self),
        RegisteredChip(LSM6DSFamily.self),
        RegisteredChip(BMI160Family.self),
        RegisteredChip(ICM20948Family.self),
        RegisteredChip(ADXL345Family.self),
        RegisteredChip(LSM6DSO32Family.self),
        RegisteredChip(ADXL375Family.self),
        RegisteredChip(LSM9DS1Family.self),
        RegisteredChip(LIS3DHFamily.self),
        RegisteredChip(LSM303AGRFamily.self),
        RegisteredChip(LIS2DE12Family.self),
    ]
}

/// A chip family without its type, for code that scans for and opens any chip.
struct RegisteredChip: Sendable {
    /// The family, as the configuration names it.
    let family: IMUFamily

    /// The possible I2C addresses of its parts.
    let addresses: [UInt8]

    /// The register with the chip's identity (WHO_AM_I).
    let identityRegister: UInt8

    /// The name of the part with this identity; `nil` if it does not belong to the family.
    let name: @Sendable (UInt8) -> StaticString?

    /// The identity and name of the family's usual part.
    let usual: (identity: UInt8, name: StaticString)?

    /// What registers show if a program ended while a bank without the identity was selected, for each bank.
    let abandonedBanks: @Sendable () -> [[RegisterSetting]]

    /// What its registers show besides the identity.
    var proof: [RegisterSetting] = []

    /// Creates a device for the chip on a bus.
    let open: @Sendable (consuming I2CDevice, IMUSettings, DeviceNames) -> any SensorDevice

    /// Creates a device for a chip whose data-ready pin is wired to a GPIO line.
    var openWithLine:
        (@Sendable (consuming I2CDevice, consuming GPIOLine, IMUSettings, DeviceNames) -> any SensorDevice)?

    /// For the part with this identity (`nil`: the usual part), settings and bus clock in Hz: the load on the bus, and the
    /// highest sample rate that the bus can carry.
    var plan: (@Sendable (UInt8?, IMUSettings, Double) -> (load: BusLoad, allowed: Double?))?

    /// Which constants of the part with this identity no source confirms; `nil` if there are none.
    var unsourced: (@Sendable (UInt8) -> StaticString?)?
}

extension RegisteredChip {
    init<Part: ChipPart>(_ part: Part.Type) {
        let name: @Sendable (UInt8) -> StaticString? = { Part(identity: $0, settings: IMUSettings())?.name }
        let usualName = Part(settings: IMUSettings()).name
        let make: @Sendable (UInt8?, IMUSettings) -> Part = { identity, settings in
            identity.flatMap { Part(identity: $0, settings: settings) } ?? Part(settings: settings)
        }
        self.init(
            family: Part.family, addresses: Part.addresses, identityRegister: Part.identityRegister.number, name: name,
            usual: (UInt8.min...UInt8.max).first { name($0).map { "\($0)" } == "\(usualName)" }
                .map { ($0, usualName) },
            abandonedBanks: { Part.abandonedBanks }, proof: Part.proof,
            open: { (bus: consuming I2CDevice, settings: IMUSettings, names: DeviceNames) in
                DriverDevice(
                    ChipDriver<Part, I2CDevice, SystemClock, NoDataReadyLine>(
                        bus: bus, clock: SystemClock(), settings: settings, line: NoDataReadyLine()),
                    names, isSimulated: false)
            },
            openWithLine: {
                (
                    bus: consuming I2CDevice, line: consuming GPIOLine, settings: IMUSettings, names: DeviceNames
                ) in
                DriverDevice(
                    ChipDriver<Part, I2CDevice, SystemClock, GPIOLine>(
                        bus: bus, clock: SystemClock(), settings: settings, line: line),
                    names, isSimulated: false)
            },
            plan: { identity, settings, clock in
                // Chips limit a rate beyond theirs to their highest.
                var fastest = settings
                fastest.rate = 1e9
                return (
                    BusLoad(of: { make(identity, $0) }, settings: settings),
                    BusLoad.highestRate(of: { make(identity, $0) }, settings: fastest, clock: clock)
                )
            },
            unsourced: { Part(identity: $0, settings: IMUSettings())?.unsourced })
    }
}

/// A device's names, notes and limits.
struct DeviceNames: Sendable {
    /// For display: "MPU-6050 at 0x68 on /dev/i2c-1".
    var title: String
    /// For the file of its calibration: "i2c-1-0x68-MPU6050".
    var storage: String
    /// What differs from the requested settings.
    var notes: [String] = []
    /// The magnetometer that is read with the chip.
    var magnetometer: (any MagnetometerDevice)?
    /// Why chip or bus cannot provide the rate of other settings.
    var judge: (@Sendable (IMUSettings) -> SensorRateError?)?
}

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
        func named(_ identity: UInt8, in register: UInt8) -> IMUIdentity? {
            let other = IMUIdentity(register: register, identity: identity)
            if other.name != nil, other.isCredible(after: unknown) { return other }
            // Any other value is more than that of a line which does not change.
            if unknown?.isLineLevel ?? true { unknown = IMUIdentity(unnamed: identity, in: register) }
            return nil
        }
        for candidate in candidates where !registers.contains(candidate.identityRegister) {
            let register = candidate.identityRegister
            registers.append(register)
            let identity = try bus.read(register)
            for chip in candidates where chip.identityRegister == register {
                guard let name = chip.name(identity), try holds(chip.proof, &bus) else { continue }
                return IMUIdentity(register: register, identity: identity, name: name, family: chip.family)
            }
            if let other = named(identity, in: register) { return other }
        }
        for register in registers {
            guard let further = IMUIdentity.furtherRegister(after: register), !registers.contains(further) else {
                continue
            }
            if let other = named(try bus.read(further), in: further) { return other }
        }
        return unknown
    }

    private static func holds<Bus: RegisterBus & ~Copyable>(
        _ settings: [RegisterSetting], _ bus: inout Bus
    ) throws(BusError) -> Bool {
        for setting in settings where !setting.holds(in: RegisterValue(try bus.read(setting.register.number))) {
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
            for bank in chip.abandonedBanks() where try holds(bank, &bus) {
                return IMUIdentity(
                    register: chip.identityRegister, identity: usual.identity, name: usual.name, family: chip.family)
            }
        }
        return nil
    }
}

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
