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

    private let choice: KernelSensorChoice
    private let settings: IMUSettings
    private let places: SystemPlaces
    private let clock = SystemClock()

    private var stream: SensorStream
    private(set) var info: IMUInfo

    /// The magnetometer that is read with the sensor, if the settings ask for it and there is one.
    private let magnetometer: KernelMagnetometer?

    /// What is wrong with the magnetometer, as far as that is known when it is opened. One sentence each.
    private(set) var notes: [String] = []

    /// The open devices; `nil` while the sensor is stopped or lost.
    private var source: KernelSource?
    private var thermometer: IIOThermometer?
    /// From the gyroscope's axes to the accelerometer's; `nil` if they are the same.
    private var gyroscopeRotation: Matrix3?

    // The present stream.
    private var pairing = SamplePairing()
    private var meter = PeriodMeter()
    private var estimator: SamplePeriodEstimator
    private var sampleCount: Int64 = 0
    private var lastArrival = Timestamp(nanoseconds: 0)
    private var lastGyroscopeArrival = Timestamp(nanoseconds: 0)
    /// The times that samples came with lately.
    private var times = KernelTimes(start: Timestamp(nanoseconds: 0))
    private var lastReading = IIOReading()
    private var repetitions = 0
    /// Whether the last read returned as many samples as it could take.
    private var wasBacklogged = false
    private var failedPolls = 0
    private var nextTemperature = Timestamp(nanoseconds: .min)
    private var temperature = Double.nan
    private var nextRaw = Timestamp(nanoseconds: .min)
    /// Whether the kernel's times were wrong, so that the times of samples come from when they arrive.
    private var ignoresKernelTime = false
    /// Whether values are read one by one because the buffer was never filled.
    private var readsValues = false

    /// Opens the devices and switches them on.
    ///
    /// - Throws: `IIOError`, with advice on what to do.
    init(
        _ choice: KernelSensorChoice, _ settings: IMUSettings, in places: SystemPlaces = SystemPlaces(),
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
        stream = SensorStream(
            nominalPeriod: 1 / source.info.nominalRate, firstPause: KernelSensorTiming.firstBackOff,
            longestPause: KernelSensorTiming.lastBackOff)
        let found = KernelMagnetometer.open(beside: choice, settings, in: places, vocabulary)
        magnetometer = found.magnetometer
        begin(source)
        notes = (found.note.map { [$0] } ?? []) + (found.magnetometer?.notes(in: vocabulary) ?? [])
    }

    var status: IMUStatus { stream.status }
    var magnetometerName: String? { magnetometer?.name }
    var magnetometerStatus: MagnetometerStatus? { magnetometer?.status }
    func takeField() -> MagneticSample? { magnetometer?.takeField() }

    /// A name that stays the same when the device's number changes: "iio-1-0068-mpu6050".
    private static func storageName(_ device: IIODevice) -> String {
        let text = "iio-\(device.hardware)-\(device.name ?? "unnamed")"
        return String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
    }

    func poll(into batch: inout SampleBatch) -> IMUPoll {
        guard source != nil else {
            let isPaused = stream.status.state == .recovering && clock.now() < stream.retry
            return isPaused ? IMUPoll(next: stream.retry) : reopen()
        }
        do {
            var poll = try readSamples(into: &batch)
            // After the samples, which do not wait for it.
            if let magnetometer, stream.status.state == .streaming, magnetometer.poll() { poll.next = clock.now() }
            return poll
        } catch {
            return recover(from: error)
        }
    }

    func stop() throws(BusError) {
        defer {
            source = nil
            thermometer = nil
            stream.stop()
        }
        magnetometer?.stop()
        try source?.stop()
    }

    /// Starts a stream from newly opened devices.
    private func begin(_ source: KernelSource) {
        self.source = source
        info = source.info
        thermometer = source.hasTemperature ? nil : IIOThermometer(source.device)
        gyroscopeRotation = source.gyroscopeRotation
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / info.nominalRate)
        meter = PeriodMeter()
        pairing.removeAll()
        sampleCount = 0
        let streamStart = clock.now()
        lastArrival = streamStart
        lastGyroscopeArrival = streamStart
        times = KernelTimes(start: streamStart)
        repetitions = 0
        wasBacklogged = false
        failedPolls = 0
        nextTemperature = streamStart
        temperature = .nan
        nextRaw = streamStart
        magnetometer?.begin(beside: source.device, isCaptured: source.hasField, rate: info.nominalRate)
        stream.begin(nominalPeriod: 1 / info.nominalRate)
        stream.status.state = .settling
    }

    /// Looks for the device, whose number may have changed, and opens it.
    private func reopen() -> IMUPoll {
        stream.status.state = .identifying
        guard let found = choice.found(among: IIODevice.all(in: places)) else {
            return recover(from: .bus(BusError(.absent)))
        }
        stream.status.state = .configuring
        do {
            begin(
                try KernelSource.open(
                    found.accelerometer, found.gyroscope, settings, in: places, readsValues: readsValues))
        } catch {
            readsValues = false
            return recover(from: .bus(error.busError))
        }
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.movingBatch))
    }

    /// Closes the device and schedules the next attempt to open it, with an increasing backoff.
    private func recover(from fault: IMUFault) -> IMUPoll {
        if case .bus(let error) = fault { stream.status.busErrors.count(error) }
        readsValues = fault == .noTrigger || readsValues && fault != .stalled
        // If the device is gone, its settings cannot be restored. The fault is reported below anyway.
        do { try source?.stop() } catch { stream.status.busErrors.count(error) }
        source = nil
        thermometer = nil
        return stream.fail(with: fault, at: clock.now())
    }
}

/// The timing of a kernel sensor, in seconds unless stated.
private enum KernelSensorTiming {
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
private struct KernelTimes: BitwiseCopyable {
    let start: Timestamp
    var samples = 0
    var impossible = 0
}

extension KernelSensor {
    /// Reads the samples that the kernel has captured.
    fileprivate func readSamples(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        guard let source else { throw .stalled }
        readTemperatureIfDue()
        var event = SensorEvent.none
        var isMoreWaiting = false
        do throws(BusError) {
            if let values = source.values { return try poll(values, into: &batch) }
            guard let accelerometer = source.accelerometer else { throw BusError(.absent) }
            if let gyroscope = source.gyroscope {
                isMoreWaiting = try fetch(accelerometer, gyroscope)
            } else {
                isMoreWaiting = try fetch(accelerometer, source, into: &batch, &event)
            }
            failedPolls = 0
        } catch {
            return try tolerate(error, event)
        }
        if source.gyroscope != nil, deliverPairs(into: &batch, &event) { isMoreWaiting = true }
        let frozenCount = max(KernelSensorTiming.frozenAfter * info.nominalRate, KernelSensorTiming.minimumFrozenCount)
        if source.isNoisy, Double(repetitions) > frozenCount { throw .stalled }
        try checkForStall(source)
        try checkTimes(source)
        updatePeriod(source)
        let now = clock.now()
        return IMUPoll(next: isMoreWaiting ? now : now.advanced(bySeconds: settings.movingBatch), event: event)
    }

    /// Counts a failed read, which the next poll retries. If the device is gone, or reads keep failing, throws, and the
    /// device is opened again.
    private func tolerate(_ error: BusError, _ event: SensorEvent) throws(IMUFault) -> IMUPoll {
        failedPolls += 1
        if error.kind == .absent || failedPolls >= KernelSensorTiming.failedPollLimit { throw .bus(error) }
        stream.status.busErrors.count(error)
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.movingBatch), event: event)
    }

    // MARK: One device

    /// Reads and delivers frames. Returns whether more may be waiting.
    private func fetch(
        _ capture: IIOCapture, _ source: KernelSource, into batch: inout SampleBatch, _ event: inout SensorEvent
    ) throws(BusError) -> Bool {
        let room = min(batch.capacity - batch.count, IIOCapture.capacity)
        let before = clock.now()
        let frames = try capture.read(atMost: room)
        let after = clock.now()
        if frames > 0 { lastArrival = after }
        let isFull = frames == room && room > 0
        // If this read was full, the kernel's buffer may have overflowed, and a gap can appear in the next read.
        defer { wasBacklogged = isFull }
        let hasTime = source.hasTime && !ignoresKernelTime
        if !hasTime { estimator.observe(completed: sampleCount + Int64(frames), from: before, to: after) }
        for index in 0..<frames {
            var reading = capture.reading(at: index)
            sampleCount += 1
            if let rotation = gyroscopeRotation { reading.rotationRate = rotation * reading.rotationRate }
            let time = (hasTime ? reading.time : nil) ?? estimator.timestamp(ofSample: sampleCount)
            deliver(reading, at: time, now: after, into: &batch, &event)
        }
        return isFull
    }

    // MARK: Two devices

    /// Reads frames of both devices into the queues. Returns whether more may be waiting.
    private func fetch(_ accelerometer: IIOCapture, _ gyroscope: IIOCapture) throws(BusError) -> Bool {
        let firstRoom = min(pairing.accelerationRoom, IIOCapture.capacity)
        let first = try accelerometer.read(atMost: firstRoom)
        for index in 0..<first { pairing.addAcceleration(accelerometer.reading(at: index)) }
        let secondRoom = min(pairing.rotationRateRoom, IIOCapture.capacity)
        let second = try gyroscope.read(atMost: secondRoom)
        for index in 0..<second {
            var reading = gyroscope.reading(at: index)
            if let rotation = gyroscopeRotation { reading.rotationRate = rotation * reading.rotationRate }
            pairing.addRotationRate(reading)
        }
        let now = clock.now()
        if first > 0 { lastArrival = now }
        if second > 0 { lastGyroscopeArrival = now }
        let isFull = (first == firstRoom && first > 0) || (second == secondRoom && second > 0)
        wasBacklogged = isFull
        return isFull
    }

    /// Delivers the readings that have a rotation rate. Returns whether the batch was too small for all of them.
    private func deliverPairs(into batch: inout SampleBatch, _ event: inout SensorEvent) -> Bool {
        let now = clock.now()
        // The gyroscope's samples arrive in their own batches. After this time, they are late.
        let timeout = max(1.5 * settings.movingBatch, 3 / info.nominalRate)
        let deadline = now.advanced(bySeconds: -timeout)
        while batch.count < batch.capacity {
            guard let reading = pairing.next(heldAfter: deadline) else { return false }
            guard let time = reading.time else { continue }
            deliver(reading, at: time, now: now, into: &batch, &event)
        }
        return true
    }

    // MARK: Values

    /// Reads single values when they are due. The timestamp is the middle of the reading time.
    private func poll(_ values: IIORawReader, into batch: inout SampleBatch) throws(BusError) -> IMUPoll {
        var event = SensorEvent.none
        let period = 1 / info.nominalRate
        let before = clock.now()
        guard before >= nextRaw else { return IMUPoll(next: nextRaw) }
        var reading = try values.read()
        let after = clock.now()
        failedPolls = 0
        sampleCount += 1
        lastArrival = after
        if let rotation = gyroscopeRotation { reading.rotationRate = rotation * reading.rotationRate }
        let middle = before.advanced(bySeconds: after.seconds(since: before) / 2)
        deliver(reading, at: middle, now: after, into: &batch, &event)
        // Keep to the grid, but do not read twice in a row to make up for a late poll.
        nextRaw = max(nextRaw.advanced(bySeconds: period), after)
        updatePeriod(nil)
        return IMUPoll(next: nextRaw, event: event)
    }

    // MARK: Samples

    /// Appends a reading as a sample, unless its time is impossible.
    private func deliver(
        _ reading: IIOReading, at measured: Timestamp, now: Timestamp, into batch: inout SampleBatch,
        _ event: inout SensorEvent
    ) {
        var time = measured
        times.samples += 1
        let age = now.seconds(since: time)
        guard age > -KernelSensorTiming.timeTolerance, age < KernelSensorTiming.maximumAge else {
            return discardMistimed()
        }
        let period = stream.status.period
        if let last = stream.lastSample, time <= last {
            // Times that a driver computes may overlap slightly. A time further back does not belong to this stream.
            guard last.seconds(since: time) < period / 2 else { return discardMistimed() }
            time = stream.following(time)
        }
        repetitions =
            reading.acceleration == lastReading.acceleration && reading.rotationRate == lastReading.rotationRate
            ? repetitions + 1 : 0
        lastReading = reading
        noteGap(before: time, period: period)
        let change = stream.append(
            MotionSample(
                timestamp: time, acceleration: reading.acceleration, rotationRate: reading.rotationRate,
                temperature: reading.temperature.isNaN ? temperature : reading.temperature, flags: reading.flags),
            to: &batch, period: period)
        if change != .none {
            event = change
            meter = PeriodMeter()
        }
        meter.take(time)
        if let field = reading.field { magnetometer?.take(field, at: time) }
    }

    /// Counts a sample that is left out because its time is impossible.
    private func discardMistimed() {
        times.impossible += 1
        stream.status.misalignments += 1
        stream.status.lastFault = .misaligned
    }

    /// Judges the kernel's times. A driver may compute them wrongly for as long as it streams, as inv_mpu6050 does after a
    /// change of the rate. The times of a single device then come from when its samples arrive.
    ///
    /// - Throws: `misaligned` if the device must be opened again.
    private func checkTimes(_ source: KernelSource) throws(IMUFault) {
        let now = clock.now()
        guard now.seconds(since: times.start) >= KernelSensorTiming.timeCheck else { return }
        let areImpossible = 2 * times.impossible > times.samples
        times = KernelTimes(start: now)
        guard areImpossible else { return }
        guard source.hasTime, source.gyroscope == nil, !ignoresKernelTime else { throw .misaligned }
        ignoresKernelTime = true
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / info.nominalRate)
        sampleCount = 0
        meter = PeriodMeter()
    }

    /// Records that samples are missing before the one at `time`, if they are.
    private func noteGap(before time: Timestamp, period: Double) {
        guard hasStreamed, let last = stream.lastSample,
            time.seconds(since: last) > KernelSensorTiming.gapPeriods * period
        else { return }
        // If more was waiting than one read takes, the kernel's buffer overflowed. Values read one by one have no buffer:
        // the poll was late. Otherwise it was the chip or its driver.
        let isLate = wasBacklogged || source?.values != nil
        stream.interrupt(by: isLate ? .overflow : .stalled)
    }

    /// Whether there has been a sample since the devices were opened.
    private var hasStreamed: Bool { stream.status.state == .streaming }

    /// Throws if no samples have arrived for too long; `noTrigger` if none ever has.
    private func checkForStall(_ source: KernelSource) throws(IMUFault) {
        let timeout =
            hasStreamed
            ? max(
                KernelSensorTiming.minimumStallTimeout, KernelSensorTiming.stallPeriods * stream.status.period,
                2 * settings.movingBatch)
            : KernelSensorTiming.startTimeout
        let now = clock.now()
        if now.seconds(since: lastArrival) > timeout { throw stream.lastSample == nil ? .noTrigger : .stalled }
        if source.gyroscope != nil, now.seconds(since: lastGyroscopeArrival) > timeout { throw .stalled }
    }

    private func updatePeriod(_ source: KernelSource?) {
        let usesArrivals = source.map { !$0.hasTime || ignoresKernelTime } ?? false
        stream.note(period: usesArrivals ? (estimator.isSettled ? estimator.period : nil) : meter.period)
    }

    private func readTemperatureIfDue() {
        guard let thermometer else { return }
        let now = clock.now()
        guard now >= nextTemperature else { return }
        nextTemperature = now.advanced(bySeconds: KernelSensorTiming.temperatureInterval)
        temperature = thermometer.celsius()
    }
}

/// The open devices of a kernel sensor, read through buffers or value by value.
private struct KernelSource {
    /// The device with the accelerometer.
    let device: IIODevice
    let info: IMUInfo
    /// The buffers; `nil` if the device is read value by value.
    let accelerometer: IIOCapture?
    let gyroscope: IIOCapture?
    let values: IIORawReader?
    /// How the device is read, for the title.
    let remark: String
    /// From the gyroscope's axes to the accelerometer's; `nil` if they are the same.
    let gyroscopeRotation: Matrix3?

    var hasTemperature: Bool { accelerometer?.hasTemperature == true }
    /// Whether the samples of the accelerometer's device come with a magnetic field.
    var hasField: Bool { accelerometer?.hasField == true }
    var hasTime: Bool { accelerometer?.hasTime == true }

    /// Whether noise changes some bit of the samples at least once a second. This is true of an accelerometer together with
    /// a gyroscope if both have 16 bits and usual ranges. Sensor hubs, in contrast, round to steps larger than their noise.
    var isNoisy: Bool {
        guard let accelerometer, info.gyroscopeRange > 0 else { return false }
        return accelerometer.resolution >= 16 && (gyroscope ?? accelerometer).resolution >= 16
            && info.accelerometerRange < 17 * standardGravity && info.gyroscopeRange < 45
    }

    /// Opens the devices of a sensor. If it `readsValues`, no buffer is used.
    ///
    /// - Throws: `IIOError`, after restoring the settings of the devices.
    static func open(
        _ accelerometer: IIODevice, _ gyroscope: IIODevice?, _ settings: IMUSettings, in places: SystemPlaces,
        readsValues: Bool = false
    ) throws(IIOError) -> KernelSource {
        var accelerometer = accelerometer
        var gyroscope = gyroscope
        if !settings.readsGyroscope {
            accelerometer.quantities = [.acceleration]
            gyroscope = nil
        }
        let rotation = rotation(from: gyroscope ?? accelerometer, to: accelerometer)
        guard let main = readsValues ? nil : try IIOCapture.open(accelerometer, settings, in: places) else {
            let values = try IIORawReader.open(accelerometer, with: gyroscope, settings, in: places)
            let hasGyroscope = gyroscope != nil || accelerometer.quantities.contains(.rotationRate)
            return KernelSource(
                device: accelerometer,
                info: info(
                    rate: min(settings.rate, IIORawReader.fastest), accelerometerRange: .infinity,
                    gyroscopeRange: hasGyroscope ? .infinity : 0),
                accelerometer: nil, gyroscope: nil, values: values,
                remark: ", value by value (no buffer, or no trigger to fill it)", gyroscopeRotation: rotation)
        }
        var remark = main.trigger.map { ", trigger \($0)" } ?? ""
        var second: IIOCapture?
        if let gyroscope {
            if main.hasTime { second = try IIOCapture.open(gyroscope, settings, in: places) }
            if second?.hasTime == false { second = nil }
            if second == nil { remark += ", without the gyroscope: it has no buffer, or no timestamps" }
        }
        return KernelSource(
            device: accelerometer,
            info: info(
                rate: main.rate ?? settings.rate, accelerometerRange: main.accelerometerRange,
                gyroscopeRange: second?.gyroscopeRange ?? main.gyroscopeRange),
            accelerometer: main, gyroscope: second, values: nil, remark: remark,
            gyroscopeRotation: rotation)
    }

    /// Switches the devices off and restores their settings.
    ///
    /// - Throws: the first error; the other devices are switched off nevertheless.
    func stop() throws(BusError) {
        var failure: BusError?
        do { try gyroscope?.stop() } catch { failure = error }
        do { try accelerometer?.stop() } catch { failure = failure ?? error }
        do { try values?.stop() } catch { failure = failure ?? error }
        if let failure { throw failure }
    }

    private static func info(rate: Double, accelerometerRange: Double, gyroscopeRange: Double) -> IMUInfo {
        // Drivers have no common way to report the cut-off of their low-pass filter.
        IMUInfo(
            name: "kernel driver's device", identity: 0, nominalRate: rate, accelerometerRange: accelerometerRange,
            gyroscopeRange: gyroscopeRange, bandwidth: .nan)
    }

    /// The kernel's mount matrices lead from each sensor to the board. Combined, they lead from the gyroscope to the
    /// accelerometer.
    private static func rotation(from gyroscope: IIODevice, to accelerometer: IIODevice) -> Matrix3? {
        guard let from = gyroscope.mountMatrix(of: .rotationRate),
            let to = accelerometer.mountMatrix(of: .acceleration), from != to
        else { return nil }
        return to.transposed * from
    }
}
