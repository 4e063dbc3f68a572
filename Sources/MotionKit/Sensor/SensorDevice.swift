package import IMUDrivers
package import MotionCore

/// A driver of some chip on some bus, opened: what the sensor thread polls.
///
/// Dynamic dispatch happens here, once a batch; inside, driver and bus are specialised for each other. One thread at a
/// time may use it.
package protocol SensorDevice: AnyObject, Sendable {
    /// What it is, in a few words for people: "MPU-6050 at 0x68 on /dev/i2c-1".
    var title: String { get }

    /// The name under which what is known of this very chip is kept: bus, address and part, in letters, digits and
    /// hyphens, "i2c-1-0x68-MPU6050".
    var storageName: String { get }

    /// Whether its samples are made up.
    var isSimulated: Bool { get }

    /// What differs from what was wanted, or may not work, a sentence each.
    var notes: [String] { get }
    /// The matrix that turns the sensor's axes into the board's, where the system knows it; `nil` where it does not. It
    /// holds where the settings have none.
    var mountMatrix: Matrix3? { get }

    /// The chip and what it was configured to.
    var info: IMUInfo { get }

    /// What the driver is doing.
    var status: IMUStatus { get }

    /// Does what is due and appends the samples that are complete to `batch`.
    func poll(into batch: inout SampleBatch) -> IMUPoll

    /// Puts the chip to sleep.
    func stop() throws(BusError)
}

extension SensorDevice {
    package var notes: [String] { [] }
    /// None: of a chip that is driven here nobody but the settings knows how it is mounted.
    package var mountMatrix: Matrix3? { nil }

    /// The settings as they hold for this sensor: where they have no mount matrix, with the one that the system knows.
    package func effective(_ settings: MotionSettings) -> MotionSettings {
        guard settings.mount == .identity, let mountMatrix else { return settings }
        var effective = settings
        effective.mount = mountMatrix
        return effective
    }
}

/// A driver as a device. It is handed from the thread that opened it to the sensor thread and used there alone.
final class DriverDevice<Driver: IMUDriver & ~Copyable>: SensorDevice, @unchecked Sendable {
    let title: String
    let storageName: String
    let isSimulated: Bool
    let notes: [String]
    private var driver: Driver

    init(_ driver: consuming Driver, _ names: DeviceNames, isSimulated: Bool) {
        self.driver = driver
        title = names.title
        storageName = names.storage
        notes = names.notes
        self.isSimulated = isSimulated
    }

    convenience init(_ driver: consuming Driver, title: String, storageName: String, isSimulated: Bool) {
        self.init(driver, DeviceNames(title: title, storage: storageName), isSimulated: isSimulated)
    }

    var info: IMUInfo { driver.info }
    var status: IMUStatus { driver.status }
    func poll(into batch: inout SampleBatch) -> IMUPoll { driver.poll(into: &batch) }
    func stop() throws(BusError) { try driver.stop() }
}

extension Matrix3 {
    /// Its rows as a configuration has them: "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]".
    package var rows: String {
        let rows = [row0, row1, row2].map { row in
            "[" + [row.x, row.y, row.z].map(Matrix3.text).joined(separator: ", ") + "]"
        }
        return "[" + rows.joined(separator: ", ") + "]"
    }

    private static func text(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
}
