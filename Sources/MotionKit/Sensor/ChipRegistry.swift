internal import IMUDrivers
internal import LinuxSensors

/// Every family of chips that there is a driver for.
enum ChipRegistry {
    /// A line a family; where several kinds of chip are found, `auto` prefers those that come first.
    static let all: [RegisteredChip] = [
        RegisteredChip(MPUFamily.self),
        RegisteredChip(ICM42688Family.self),
        RegisteredChip(LSM6DSFamily.self),
        RegisteredChip(BMI160Family.self),
        RegisteredChip(ADXL345Family.self),
    ]
}

/// A family of chips as scans and openers see it: its type is known only inside.
struct RegisteredChip: Sendable {
    /// Its name in a configuration.
    let family: IMUFamily

    /// The addresses that its parts can have.
    let addresses: [UInt8]

    /// The register that says who is there.
    let identityRegister: UInt8

    /// The name of the part that answers so; `nil` where it is none of the family.
    let name: @Sendable (UInt8) -> StaticString?

    /// What the family's usual part answers, and its name.
    let usual: (identity: UInt8, name: StaticString)?

    /// Makes a driver of the chip on a bus, as a device.
    let open: @Sendable (consuming I2CDevice, IMUSettings, DeviceNames) -> any SensorDevice

    /// The same with a wire from the chip's data-ready pin.
    var openWithLine:
        (@Sendable (consuming I2CDevice, consuming GPIOLine, IMUSettings, DeviceNames) -> any SensorDevice)?

    /// What the settings ask of a bus with this clock, Hz, and the highest rate that it carries; for the part with this
    /// identity, or the usual one.
    var plan: (@Sendable (UInt8?, IMUSettings, Double) -> (load: BusLoad, allowed: Double?))?
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
            })
    }
}

/// The settings with the highest rate that there is.
private func fastest(_ settings: IMUSettings) -> IMUSettings {
    var settings = settings
    settings.rate = 1e9
    return settings
}

/// What a device is called, and what there is to say of it.
struct DeviceNames: Sendable {
    /// For people: "MPU-6050 at 0x68 on /dev/i2c-1".
    var title: String
    /// For what is kept of it: "i2c-1-0x68-MPU6050".
    var storage: String
    /// What differs from what was wanted.
    var notes: [String] = []
}
