internal import IMUDrivers
internal import LinuxSensors

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
                        bus: bus, clock: SystemClock(), settings: settings),
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
                (
                    BusLoad(make(identity, settings), settings: settings),
                    BusLoad.highestRate(of: { make(identity, $0) }, settings: fastest(settings), clock: clock)
                )
            },
            unsourced: { Part(identity: $0, settings: IMUSettings())?.unsourced })
    }
}

/// The settings with a rate beyond every chip's, which chips limit to their highest.
private func fastest(_ settings: IMUSettings) -> IMUSettings {
    var settings = settings
    settings.rate = 1e9
    return settings
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
