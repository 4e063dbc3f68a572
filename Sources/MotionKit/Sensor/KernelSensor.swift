internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// A chip that a kernel driver owns, read through the kernel's devices (IIO).
///
/// While samples flow a poll allocates nothing. It is handed from the thread that opened it to the sensor thread and used
/// there alone.
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

    /// What is open at the moment.
    var source: KernelSource?
    var thermometer: IIOThermometer?
    /// Turns the gyroscope's axes into the accelerometer's, where the kernel says that they differ.
    var gyroscopeTurn: Matrix3?

    // The present stream.
    var pairing = SamplePairing()
    var meter = PeriodMeter()
    var estimator: SamplePeriodEstimator
    var taken: Int64 = 0
    var streamStart = Timestamp(nanoseconds: 0)
    var lastArrival = Timestamp(nanoseconds: 0)
    var lastGyroscopeArrival = Timestamp(nanoseconds: 0)
    var hasStreamed = false
    var lastReading = IIOReading()
    var repetitions = 0
    /// The last look found as many samples as it could take.
    var wasBacklogged = false
    var failedPolls = 0
    var nextTemperature = Timestamp(nanoseconds: .min)
    var temperature = Double.nan
    var nextRaw = Timestamp(nanoseconds: .min)
    /// The sensor's time and counters stay when a stream ends.
    var lastTimestamp: Timestamp?

    // What went wrong.
    var outage: IMUFault?
    var retry = Timestamp(nanoseconds: .min)
    var backOff = KernelSensorTiming.firstBackOff

    /// Opens the devices and switches them on.
    ///
    /// - Throws: `IIOError`, which says what can be done about it.
    init(_ choice: KernelSensorChoice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()) throws(IIOError) {
        let source = try KernelSource.open(choice.accelerometer, choice.gyroscope, settings, in: places)
        let matrix = choice.accelerometer.mountMatrix(of: .acceleration)
        let driver = choice.accelerometer.driver.map { ", kernel driver \($0)" } ?? ""
        self.choice = choice
        self.settings = settings
        self.places = places
        var remark = source.remark
        if matrix == nil, let text = choice.accelerometer.mountMatrixText(of: .acceleration) {
            remark += ", its mount matrix \"\(text)\" is no rotation and is left out"
        }
        title = "\(choice.name)\(driver)\(remark)"
        storageName = KernelSensor.storageName(choice.accelerometer)
        mountMatrix = matrix == .identity ? nil : matrix
        info = source.info
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / source.info.nominalRate)
        begin(source)
    }

    /// "iio-1-0068-mpu6050": what stays the same when the device's number does not.
    static func storageName(_ device: IIODevice) -> String {
        let text = "iio-\(device.hardware)-\(device.name ?? "unnamed")"
        return String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    func poll(into batch: inout SampleBatch) -> IMUPoll {
        let now = clock.now()
        guard source != nil else { return now < retry ? IMUPoll(next: retry) : bringUp(into: &batch) }
        do throws(IMUFault) {
            return try stream(into: &batch)
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
        try source?.stop()
    }

    /// Takes note of what was opened: a stream begins.
    func begin(_ source: KernelSource) {
        self.source = source
        info = source.info
        thermometer = source.hasTemperature ? nil : IIOThermometer(source.device)
        gyroscopeTurn = source.gyroscopeTurn
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / info.nominalRate)
        meter = PeriodMeter()
        pairing.removeAll()
        taken = 0
        streamStart = clock.now()
        lastArrival = streamStart
        lastGyroscopeArrival = streamStart
        hasStreamed = false
        repetitions = 0
        wasBacklogged = false
        failedPolls = 0
        nextTemperature = streamStart
        temperature = .nan
        nextRaw = streamStart
        status.state = .settling
        status.period = 1 / info.nominalRate
        status.periodDeviation = 0
    }

    /// Looks for the device, which may have another number now, and opens it.
    private func bringUp(into batch: inout SampleBatch) -> IMUPoll {
        status.state = .identifying
        guard let found = choice.found(among: IIODevice.all(in: places)) else {
            return recover(from: .bus(BusError(.absent)))
        }
        status.state = .configuring
        do throws(IIOError) {
            begin(try KernelSource.open(found.accelerometer, found.gyroscope, settings, in: places))
        } catch {
            return recover(from: .bus(error.busError))
        }
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.batchInterval))
    }

    /// Lets go of the device and tries again after a pause, each longer than the last.
    private func recover(from fault: IMUFault) -> IMUPoll {
        if case .bus(let error) = fault { status.busErrors.count(error) }
        // What cannot be put back, as the device is gone, is told already.
        do throws(BusError) { try source?.stop() } catch { status.busErrors.count(error) }
        source = nil
        thermometer = nil
        status.state = .recovering
        status.lastFault = fault
        retry = clock.now().advanced(bySeconds: backOff)
        backOff = min(2 * backOff, KernelSensorTiming.lastBackOff)
        // Told once, and again only if something else is wrong now.
        let isNews = outage != fault
        outage = fault
        return IMUPoll(next: retry, event: isNews ? .failed(fault) : .none)
    }
}

/// How patient a kernel sensor is, seconds unless said.
enum KernelSensorTiming {
    /// Waits between attempts to open a device again: doubled from the first to the last.
    static let firstBackOff = 0.1
    static let lastBackOff = 1.6
    /// A driver wakes the chip and its gyroscope before the first sample.
    static let startPatience = 2.0
    /// Samples are missed after this many periods, and not before `shortestStall`.
    static let stalledPeriods = 5.0
    static let shortestStall = 0.25
    /// A step of more periods than this is a gap: drivers that work out the times of a FIFO's samples are off by less.
    static let gapPeriods = 2.5
    /// A sample's time may be after the look that found it by so much: drivers work out times, too.
    static let timeTolerance = 0.02
    /// And it may be so old: longer than any FIFO and buffer is.
    static let oldest = 10.0
    /// Bit for bit the same for so long is a frozen chip, where there is a gyroscope of 16 bits: its noise changes some bit.
    static let frozenAfter = 1.0
    static let fewestFrozen = 32.0
    /// How often a temperature is asked for that is not in the samples.
    static let temperatureInterval = 1.0
    /// Polls in a row that may fail before the device is opened anew.
    static let failedPollLimit = 3
}
