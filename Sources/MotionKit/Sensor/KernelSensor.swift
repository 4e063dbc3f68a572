internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// A chip with a kernel driver, read through the driver's devices (IIO).
///
/// A poll allocates nothing while samples flow. The thread that opens the sensor passes it to the sensor thread, and only
/// one of them uses it at a time.
final class KernelSensor: SensorDevice, @unchecked Sendable {
    let title: String
    let storageName: String
    let isSimulated = false

    /// The kernel's matrix for the accelerometer's axes.
    let mountMatrix: Matrix3?

    let choice: KernelSensorChoice
    let settings: IMUSettings
    let places: IIOPlaces
    let clock = SystemClock()

    var status = IMUStatus()
    var info: IMUInfo

    /// The magnetometer that is read with the sensor, if the settings ask for it and there is one.
    let magnetometer: KernelMagnetometer?

    /// What is wrong with the magnetometer, as far as that is known when it is opened. One sentence each.
    private(set) var notes: [String] = []

    /// The open devices; `nil` while the sensor is stopped or lost.
    var source: KernelSource?
    var thermometer: IIOThermometer?
    /// From the gyroscope's axes to the accelerometer's; `nil` if they are the same.
    var gyroscopeRotation: Matrix3?

    // The present stream.
    var pairing = SamplePairing()
    var meter = PeriodMeter()
    var estimator: SamplePeriodEstimator
    var sampleCount: Int64 = 0
    var streamStart = Timestamp(nanoseconds: 0)
    var lastArrival = Timestamp(nanoseconds: 0)
    var lastGyroscopeArrival = Timestamp(nanoseconds: 0)
    var hasStreamed = false
    /// The times that samples came with lately.
    var times = KernelTimes()
    var lastReading = IIOReading()
    var repetitions = 0
    /// Whether the last read returned as many samples as it could take.
    var wasBacklogged = false
    var failedPolls = 0
    var nextTemperature = Timestamp(nanoseconds: .min)
    var temperature = Double.nan
    var nextRaw = Timestamp(nanoseconds: .min)
    /// Whether the kernel's times were wrong, so that the times of samples come from when they arrive.
    var ignoresKernelTime = false
    /// Whether values are read one by one because the buffer was never filled.
    var readsValues = false
    /// The time of the last sample, which survives the end of a stream.
    var lastTimestamp: Timestamp?

    // The present outage.
    var outage: IMUFault?
    var retry = Timestamp(nanoseconds: .min)
    var backOff = KernelSensorTiming.firstBackOff

    /// Opens the devices and switches them on.
    ///
    /// - Throws: `IIOError`, with advice on what to do.
    init(
        _ choice: KernelSensorChoice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces(),
        _ vocabulary: SensorVocabulary = .library
    ) throws(IIOError) {
        let source = try KernelSource.open(choice.accelerometer, choice.gyroscope, settings, in: places)
        let matrix = choice.accelerometer.mountMatrix(of: .acceleration)
        let driver = choice.accelerometer.driver.map { ", kernel driver \($0)" } ?? ""
        self.choice = choice
        self.settings = settings
        self.places = places
        var remark = source.remark
        if matrix == nil, let text = choice.accelerometer.mountMatrixText(of: .acceleration) {
            remark += ", its mount matrix \"\(text)\" is not a rotation and is ignored"
        }
        title = "\(choice.name)\(driver)\(remark)"
        storageName = KernelSensor.storageName(choice.accelerometer)
        mountMatrix = matrix == .identity ? nil : matrix
        info = source.info
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / source.info.nominalRate)
        let found = KernelMagnetometer.open(beside: choice, settings, in: places, vocabulary)
        magnetometer = found.magnetometer
        begin(source)
        notes = (found.note.map { [$0] } ?? []) + (found.magnetometer?.notes(in: vocabulary) ?? [])
    }

    var magnetometerName: String? { magnetometer?.name }
    var magnetometerStatus: MagnetometerStatus? { magnetometer?.status }
    func takeField() -> MagneticSample? { magnetometer?.takeField() }

    /// A name that stays the same when the device's number changes: "iio-1-0068-mpu6050".
    static func storageName(_ device: IIODevice) -> String {
        let text = "iio-\(device.hardware)-\(device.name ?? "unnamed")"
        return String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    func poll(into batch: inout SampleBatch) -> IMUPoll {
        let now = clock.now()
        guard source != nil else { return now < retry ? IMUPoll(next: retry) : reopen(into: &batch) }
        do throws(IMUFault) {
            var poll = try stream(into: &batch)
            // After the samples, which do not wait for it.
            if let magnetometer, status.state == .streaming, magnetometer.poll() { poll.next = clock.now() }
            return poll
        } catch {
            return recover(from: error)
        }
    }

    func stop() throws(BusError) {
        defer {
            source = nil
            thermometer = nil
            status.state = .asleep
            retry = Timestamp(nanoseconds: .min)
        }
        magnetometer?.stop()
        try source?.stop()
    }

    /// Starts a stream from newly opened devices.
    func begin(_ source: KernelSource) {
        self.source = source
        info = source.info
        thermometer = source.hasTemperature ? nil : IIOThermometer(source.device)
        gyroscopeRotation = source.gyroscopeRotation
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / info.nominalRate)
        meter = PeriodMeter()
        pairing.removeAll()
        sampleCount = 0
        streamStart = clock.now()
        lastArrival = streamStart
        lastGyroscopeArrival = streamStart
        hasStreamed = false
        times = KernelTimes(from: streamStart)
        repetitions = 0
        wasBacklogged = false
        failedPolls = 0
        nextTemperature = streamStart
        temperature = .nan
        nextRaw = streamStart
        magnetometer?.begin(beside: source.device, isCaptured: source.hasField, rate: info.nominalRate)
        status.state = .settling
        status.period = 1 / info.nominalRate
        status.periodDeviation = 0
    }

    /// Looks for the device, whose number may have changed, and opens it.
    private func reopen(into batch: inout SampleBatch) -> IMUPoll {
        status.state = .identifying
        guard let found = choice.found(among: IIODevice.all(in: places)) else {
            return recover(from: .bus(BusError(.absent)))
        }
        status.state = .configuring
        do throws(IIOError) {
            begin(
                try KernelSource.open(
                    found.accelerometer, found.gyroscope, settings, in: places, readsValues: readsValues))
        } catch {
            readsValues = false
            return recover(from: .bus(error.busError))
        }
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.batchInterval))
    }

    /// Closes the device and schedules the next attempt to open it, with an increasing backoff.
    private func recover(from fault: IMUFault) -> IMUPoll {
        if case .bus(let error) = fault { status.busErrors.count(error) }
        readsValues = fault == .noTrigger || readsValues && fault != .stalled
        // If the device is gone, its settings cannot be restored. The fault is reported below anyway.
        do throws(BusError) { try source?.stop() } catch { status.busErrors.count(error) }
        source = nil
        thermometer = nil
        status.state = .recovering
        status.lastFault = fault
        retry = clock.now().advanced(bySeconds: backOff)
        backOff = min(2 * backOff, KernelSensorTiming.lastBackOff)
        // Report each fault once, until a different one occurs.
        let isNew = outage != fault
        outage = fault
        return IMUPoll(next: retry, event: isNew ? .failed(fault) : .none)
    }
}

/// The timing of a kernel sensor, in seconds unless stated.
enum KernelSensorTiming {
    /// The backoff between attempts to open a device, doubled from the first to the last.
    static let firstBackOff = 0.1
    static let lastBackOff = 1.6
    /// How long the first sample may take: the driver has to wake the chip and its gyroscope.
    static let startTimeout = 2.0
    /// The sensor has stalled after this many periods without a sample, but not before `minimumStallTimeout`.
    static let stallPeriods = 5.0
    static let minimumStallTimeout = 0.25
    /// More periods than this between two samples are a gap. If a driver computes the times of samples in a FIFO, they are
    /// off by less.
    static let gapPeriods = 2.5
    /// How far a sample's time may be in the future. Some drivers compute it, and are ahead by tens of milliseconds while
    /// the processor is too busy for interrupts.
    static let timeTolerance = 0.1
    /// The maximum age of a sample, more than any FIFO and buffer can hold.
    static let maximumAge = 10.0
    /// After this time, and this number of samples, without a change of any bit, a chip with a 16-bit gyroscope is frozen:
    /// noise would change some bit.
    static let frozenAfter = 1.0
    static let minimumFrozenCount = 32.0
    /// How often the temperature is read if it is not part of the samples.
    static let temperatureInterval = 1.0
    /// Over this time it is judged whether the kernel's times are possible.
    static let timeCheck = 1.0
    /// The number of polls in a row that may fail before the device is opened again.
    static let failedPollLimit = 3
}

/// How many samples came lately, and how many of them with a time that is impossible.
struct KernelTimes: BitwiseCopyable {
    var start = Timestamp(nanoseconds: 0)
    var samples = 0
    var impossible = 0

    init() {}

    init(from start: Timestamp) {
        self.start = start
    }
}
