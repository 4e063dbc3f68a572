internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// A magnetometer that is read together with a motion chip, without the type of its driver.
///
/// The thread that opens it passes it to the sensor thread with the chip, and only one of them uses it at a time.
protocol MagnetometerDevice: AnyObject, Sendable {
    /// The part's name.
    var name: String { get }

    /// What it does, and its counters.
    var status: MagnetometerStatus { get }

    /// Does whatever work is due. Returns a reading if there is a new one.
    func poll() -> MagneticSample?

    /// Puts it to sleep.
    func stop() throws(BusError)
}

/// A magnetometer with a driver of IMUDrivers.
final class DrivenMagnetometer<
    Part: MagnetometerPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock
>: MagnetometerDevice, @unchecked Sendable {
    private var driver: MagnetometerDriver<Part, Bus, Clock>

    init(_ driver: consuming MagnetometerDriver<Part, Bus, Clock>) { self.driver = driver }

    var name: String { "\(driver.info.name)" }
    var status: MagnetometerStatus { driver.status }
    func poll() -> MagneticSample? { driver.poll().sample }
    func stop() throws(BusError) { try driver.stop() }
}

/// The magnetometers that belong to chips.
enum ChipMagnetometer: Equatable {
    case ak8963
    case ak09916
    case lsm9ds1

    /// That of the chip with this family and identity; `nil` if it has none that is read.
    init?(family: IMUFamily, identity: UInt8) {
        switch (family, identity) {
        case (.mpu6050, 0x71), (.mpu6050, 0x73): self = .ak8963
        case (.icm20948, _): self = .ak09916
        case (.lsm9ds1, _): self = .lsm9ds1
        default: return nil
        }
    }

    /// Its address on the bus, beside a chip at `chip`. The pins of an LSM9DS1 that select both are usually connected.
    func address(besideChipAt chip: UInt8) -> UInt8 {
        switch self {
        case .ak8963, .ak09916: 0x0C
        case .lsm9ds1: chip == 0x6A ? 0x1C : 0x1E
        }
    }

    /// Opens it; nothing is sent yet.
    func open(on path: String, besideChipAt chip: UInt8) throws(LinuxSensorsError) -> any MagnetometerDevice {
        let bus = try I2CDevice(path: path, address: address(besideChipAt: chip))
        switch self {
        case .ak8963:
            return DrivenMagnetometer(
                MagnetometerDriver<AK8963, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        case .ak09916:
            return DrivenMagnetometer(
                MagnetometerDriver<AK09916, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        case .lsm9ds1:
            return DrivenMagnetometer(
                MagnetometerDriver<LSM9DS1Magnetometer, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        }
    }
}

extension SensorSelection {
    /// The magnetometer of the chosen chip if the settings ask for it, or why there is none: one sentence.
    func magnetometer(
        of choice: SensorScan.Choice, _ settings: IMUSettings
    ) -> (device: (any MagnetometerDevice)?, note: String?) {
        guard settings.connectsMagnetometer else { return (nil, nil) }
        guard let kind = ChipMagnetometer(family: choice.family, identity: choice.identity) else {
            return (nil, "\(vocabulary.magnetometer): the \(choice.name) has no magnetometer that is read")
        }
        do throws(LinuxSensorsError) {
            return (try kind.open(on: choice.place.bus, besideChipAt: choice.place.address), nil)
        } catch {
            return (nil, "\(vocabulary.magnetometer): \(error)")
        }
    }
}
