package import IMUDrivers
package import MotionCore

/// An open sensor, which the sensor thread polls.
///
/// Dynamic dispatch happens a few times per batch here, and in the driver once for each transfer. One thread at a time may
/// use it.
package protocol SensorDevice: AnyObject, Sendable {
    /// The name for display: "MPU-6050 at 0x68 on /dev/i2c-1".
    var title: String { get }

    /// The name under which this chip's calibration is stored: bus, address and part, in letters, digits and hyphens,
    /// "i2c-1-0x68-MPU6050".
    var storageName: String { get }

    /// Whether the samples come from a simulation.
    var isSimulated: Bool { get }

    /// What differs from the requested settings or may not work: one sentence each.
    var notes: [String] { get }

    /// The matrix from the sensor's axes to the board's, if the system knows it; otherwise `nil`. It applies if the settings
    /// have no mount matrix.
    var mountMatrix: Matrix3? { get }

    /// The chip and its configuration.
    var info: IMUInfo { get }

    /// The driver's state and counters.
    var status: IMUStatus { get }

    /// Why this sensor cannot be opened with these settings, as far as that is known without opening it.
    func refusal(of settings: IMUSettings) -> SensorRateError?

    /// Does whatever work is due, and appends the available samples to `batch`.
    func poll(into batch: inout SampleBatch) -> IMUPoll

    /// The name of the magnetometer that is read with the sensor, for display; `nil` if there is none.
    var magnetometerName: String? { get }

    /// The state and counters of its driver; `nil` if there is none.
    var magnetometerStatus: MagnetometerStatus? { get }

    /// Takes the oldest reading of the magnetometer that has not been taken; `nil` if there is none. Call after `poll` until
    /// it returns `nil`.
    func takeField() -> MagneticSample?

    /// Puts the chip to sleep.
    func stop() throws(BusError)
}

extension SensorDevice {
    package var notes: [String] { [] }
    package var magnetometerName: String? { nil }
    package var magnetometerStatus: MagnetometerStatus? { nil }
    package func takeField() -> MagneticSample? { nil }
    /// `nil`: only the settings know how a chip is mounted that is read without a kernel driver.
    package var mountMatrix: Matrix3? { nil }
    /// `nil`: a kernel driver takes the nearest settings that it has.
    package func refusal(of settings: IMUSettings) -> SensorRateError? { nil }

    /// The settings for this sensor. If they have no mount matrix, they get the one that the system knows.
    package func effective(_ settings: MotionSettings) -> MotionSettings {
        guard settings.mount == .identity, let mountMatrix else { return settings }
        var effective = settings
        effective.mount = mountMatrix
        return effective
    }
}

/// A sensor device with a driver of IMUDrivers.
///
/// The thread that opens it passes it to the sensor thread, and only one of them uses it at a time.
final class DriverDevice<
    Part: ChipPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock, Line: DataReadyLine & ~Copyable
>: SensorDevice, @unchecked Sendable {
    let title: String
    let storageName: String
    let isSimulated: Bool
    let notes: [String]
    private let magnetometer: (any MagnetometerDevice)?
    /// The newest reading of the magnetometer, until it is taken.
    private var field: MagneticSample?
    private let judge: (@Sendable (IMUSettings) -> SensorRateError?)?
    private var driver: ChipDriver<Part, Bus, Clock, Line>
    /// As of the last poll or stop: a call of the driver has the runtime look up its type.
    private(set) var status: IMUStatus

    init(_ driver: consuming ChipDriver<Part, Bus, Clock, Line>, _ names: DeviceNames, isSimulated: Bool) {
        status = driver.status
        self.driver = driver
        title = names.title
        storageName = names.storage
        notes = names.notes
        magnetometer = names.magnetometer
        judge = names.judge
        self.isSimulated = isSimulated
    }

    var info: IMUInfo { driver.info }
    func refusal(of settings: IMUSettings) -> SensorRateError? { judge?(settings) }

    /// Polls the chip and then the magnetometer, which may answer only while the chip is on. It is not worth a wake-up of its
    /// own: its readings are as old as a batch at most, and have their times.
    func poll(into batch: inout SampleBatch) -> IMUPoll {
        var poll = driver.poll(into: &batch)
        status = driver.status
        guard let magnetometer else { return poll }
        if status.state == .streaming, let reading = magnetometer.poll() { field = reading }
        // The heading is worth as many readings at rest as in motion.
        poll.reprieve = 0
        return poll
    }

    func stop() throws(BusError) {
        var failure: BusError?
        do { try magnetometer?.stop() } catch { failure = error }
        defer { status = driver.status }
        try driver.stop()
        if let failure { throw failure }
    }

    var magnetometerName: String? { magnetometer?.name }
    var magnetometerStatus: MagnetometerStatus? { magnetometer?.status }

    func takeField() -> MagneticSample? {
        defer { field = nil }
        return field
    }
}

extension Matrix3 {
    /// The rows as the configuration writes them: "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]".
    package var rows: String {
        let rows = [row0, row1, row2].map { row in
            "[" + [row.x, row.y, row.z].map(Matrix3.text).joined(separator: ", ") + "]"
        }
        return "[" + rows.joined(separator: ", ") + "]"
    }

    private static func text(_ value: Double) -> String { value == value.rounded() ? "\(Int(value))" : "\(value)" }
}
