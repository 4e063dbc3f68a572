internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

extension KernelSensor {
    /// Reads the samples that the kernel has captured.
    func stream(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
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
        return IMUPoll(next: isMoreWaiting ? now : now.advanced(bySeconds: settings.batchInterval), event: event)
    }

    /// Counts a failed read, which the next poll retries. If the device is gone, or reads keep failing, throws, and the
    /// device is opened again.
    private func tolerate(_ error: BusError, _ event: SensorEvent) throws(IMUFault) -> IMUPoll {
        failedPolls += 1
        if error.kind == .absent || failedPolls >= KernelSensorTiming.failedPollLimit { throw .bus(error) }
        status.busErrors.count(error)
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.batchInterval), event: event)
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
        let timeout = max(1.5 * settings.batchInterval, 3 / info.nominalRate)
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
        if let gyroscope = source?.gyroscopeValues {
            let rate = try gyroscope.read()
            reading.rotationRate = rate.rotationRate
            reading.flags.formUnion(rate.flags)
        }
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
        let period = status.period
        if let lastTimestamp, time <= lastTimestamp {
            // Times that a driver computes may overlap slightly. A time further back does not belong to this stream.
            guard lastTimestamp.seconds(since: time) < period / 2 else { return discardMistimed() }
            time = Timestamp(nanoseconds: lastTimestamp.nanoseconds + 1)
        }
        repetitions =
            reading.acceleration == lastReading.acceleration && reading.rotationRate == lastReading.rotationRate
            ? repetitions + 1 : 0
        lastReading = reading
        var flags = reading.flags
        let resumption = resume(at: time, period: period, &flags)
        if resumption != .none { event = resumption }
        if !flags.isDisjoint(with: .clipped) { status.clippedSamples += 1 }
        if flags.contains(.afterGap) { meter = PeriodMeter() }
        meter.take(time)
        lastTimestamp = time
        batch.append(
            MotionSample(
                timestamp: time, acceleration: reading.acceleration, rotationRate: reading.rotationRate,
                temperature: reading.temperature.isNaN ? temperature : reading.temperature, flags: flags))
        if let field = reading.field { magnetometer?.take(field, at: time) }
        status.samples += 1
    }

    /// Counts a sample that is left out because its time is impossible.
    private func discardMistimed() {
        times.impossible += 1
        status.misalignments += 1
        status.lastFault = .misaligned
    }

    /// Judges the kernel's times. A driver may compute them wrongly for as long as it streams, as inv_mpu6050 does after a
    /// change of the rate. The times of a single device then come from when its samples arrive.
    ///
    /// - Throws: `misaligned` if the device must be opened again.
    private func checkTimes(_ source: KernelSource) throws(IMUFault) {
        let now = clock.now()
        guard now.seconds(since: times.start) >= KernelSensorTiming.timeCheck else { return }
        let areImpossible = 2 * times.impossible > times.samples
        times = KernelTimes(from: now)
        guard areImpossible else { return }
        guard source.hasTime, source.gyroscope == nil, !ignoresKernelTime else { throw .misaligned }
        ignoresKernelTime = true
        estimator = SamplePeriodEstimator(nominalPeriod: 1 / info.nominalRate)
        sampleCount = 0
        meter = PeriodMeter()
    }

    /// Ends the start-up, an outage or a gap with the sample at `time`. Returns the event to report.
    private func resume(
        at time: Timestamp, period: Double, _ flags: inout MotionSample.Flags
    ) -> SensorEvent {
        let gap = lastTimestamp.map { time.seconds(since: $0) } ?? 0
        let lost = UInt64(max(0, (gap / period).rounded() - 1))
        guard hasStreamed else {
            hasStreamed = true
            status.state = .streaming
            backOff = KernelSensorTiming.firstBackOff
            if lastTimestamp != nil { flags.insert(.afterGap) }
            guard outage != nil else { return .streaming(afterGap: 0) }
            outage = nil
            status.recoveries += 1
            if lastTimestamp != nil {
                status.gaps += 1
                status.lostSamples += lost
            }
            return .streaming(afterGap: gap)
        }
        guard gap > KernelSensorTiming.gapPeriods * period else { return .none }
        // If more was waiting than one read takes, the kernel's buffer overflowed. Values read one by one have no buffer:
        // the poll was late. Otherwise it was the chip or its driver.
        let isLate = wasBacklogged || source?.values != nil
        let fault: IMUFault = isLate ? .overflow : .stalled
        flags.insert(.afterGap)
        status.gaps += 1
        status.lostSamples += lost
        if fault == .overflow { status.overflows += 1 }
        status.lastFault = fault
        return .gap(gap, fault)
    }

    /// Throws if no samples have arrived for too long; `noTrigger` if none ever has.
    private func checkForStall(_ source: KernelSource) throws(IMUFault) {
        let timeout =
            hasStreamed
            ? max(
                KernelSensorTiming.minimumStallTimeout, KernelSensorTiming.stallPeriods * status.period,
                2 * settings.batchInterval)
            : KernelSensorTiming.startTimeout
        let now = clock.now()
        if now.seconds(since: lastArrival) > timeout { throw lastTimestamp == nil ? .noTrigger : .stalled }
        if source.gyroscope != nil, now.seconds(since: lastGyroscopeArrival) > timeout { throw .stalled }
    }

    private func updatePeriod(_ source: KernelSource?) {
        let usesArrivals = source.map { !$0.hasTime || ignoresKernelTime } ?? false
        let measured = usesArrivals ? (estimator.isSettled ? estimator.period : nil) : meter.period
        status.isPeriodMeasured = measured != nil
        guard let period = measured else { return }
        status.period = period
        status.periodDeviation = (status.period * info.nominalRate - 1) * 1e6
    }

    private func readTemperatureIfDue() {
        guard let thermometer else { return }
        let now = clock.now()
        guard now >= nextTemperature else { return }
        nextTemperature = now.advanced(bySeconds: KernelSensorTiming.temperatureInterval)
        temperature = thermometer.celsius()
    }
}
