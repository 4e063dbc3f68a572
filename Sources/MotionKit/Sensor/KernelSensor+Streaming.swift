internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

extension KernelSensor {
    /// Takes what the kernel has collected.
    func stream(into batch: inout SampleBatch) throws(IMUFault) -> IMUPoll {
        guard let source else { throw .stalled }
        readTemperatureWhereItIsDue()
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
            return try excuse(error, event)
        }
        if source.gyroscope != nil, deliverPairs(into: &batch, &event) { isMoreWaiting = true }
        let fewest = max(KernelSensorTiming.frozenAfter * info.nominalRate, KernelSensorTiming.fewestFrozen)
        if source.isNoisy, Double(repetitions) > fewest { throw .stalled }
        try checkForStall(source)
        showPeriod(source)
        let now = clock.now()
        return IMUPoll(next: isMoreWaiting ? now : now.advanced(bySeconds: settings.batchInterval), event: event)
    }

    /// A read that failed is tried again; a device that is gone, or one that fails on and on, is opened anew.
    private func excuse(_ error: BusError, _ event: SensorEvent) throws(IMUFault) -> IMUPoll {
        failedPolls += 1
        if error.kind == .absent || failedPolls >= KernelSensorTiming.failedPollLimit { throw .bus(error) }
        status.busErrors.count(error)
        return IMUPoll(next: clock.now().advanced(bySeconds: settings.batchInterval), event: event)
    }

    // MARK: One device

    /// Reads frames and delivers them; returns whether there may be more.
    private func fetch(
        _ capture: IIOCapture, _ source: KernelSource, into batch: inout SampleBatch, _ event: inout SensorEvent
    ) throws(BusError) -> Bool {
        let room = min(batch.capacity - batch.count, IIOCapture.capacity)
        let before = clock.now()
        let frames = try capture.read(atMost: room)
        let after = clock.now()
        if frames > 0 { lastArrival = after }
        let isFull = frames == room && room > 0
        // The samples of a full look end where the buffer was full, those of the next begin behind it.
        defer { wasBacklogged = isFull }
        if !source.hasTime { estimator.observe(completed: taken + Int64(frames), from: before, to: after) }
        for index in 0..<frames {
            var reading = capture.reading(at: index)
            taken += 1
            if let turn = gyroscopeTurn { reading.rotationRate = turn * reading.rotationRate }
            let time = reading.time ?? estimator.timestamp(ofSample: taken)
            deliver(reading, at: time, now: after, into: &batch, &event)
        }
        return isFull
    }

    // MARK: Two devices

    /// Reads frames of both into the queues; returns whether there may be more.
    private func fetch(_ accelerometer: IIOCapture, _ gyroscope: IIOCapture) throws(BusError) -> Bool {
        let firstRoom = min(pairing.accelerationRoom, IIOCapture.capacity)
        let first = try accelerometer.read(atMost: firstRoom)
        for index in 0..<first { pairing.addAcceleration(accelerometer.reading(at: index)) }
        let secondRoom = min(pairing.rotationRateRoom, IIOCapture.capacity)
        let second = try gyroscope.read(atMost: secondRoom)
        for index in 0..<second {
            var reading = gyroscope.reading(at: index)
            if let turn = gyroscopeTurn { reading.rotationRate = turn * reading.rotationRate }
            pairing.addRotationRate(reading)
        }
        let now = clock.now()
        if first > 0 { lastArrival = now }
        if second > 0 { lastGyroscopeArrival = now }
        let isFull = (first == firstRoom && first > 0) || (second == secondRoom && second > 0)
        wasBacklogged = isFull
        return isFull
    }

    /// Delivers what has its rotation rate; returns whether there was no room for all of it.
    private func deliverPairs(into batch: inout SampleBatch, _ event: inout SensorEvent) -> Bool {
        let now = clock.now()
        // The gyroscope's samples come in batches of their own; after that they are late.
        let patience = max(1.5 * settings.batchInterval, 3 / info.nominalRate)
        let deadline = now.advanced(bySeconds: -patience)
        while batch.count < batch.capacity {
            guard let reading = pairing.next(heldAfter: deadline) else { return false }
            guard let time = reading.time else { continue }
            deliver(reading, at: time, now: now, into: &batch, &event)
        }
        return true
    }

    // MARK: Values

    /// Reads single values where it is time to; what was measured between two instants was measured in the middle.
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
        taken += 1
        lastArrival = after
        if let turn = gyroscopeTurn { reading.rotationRate = turn * reading.rotationRate }
        let middle = before.advanced(bySeconds: after.seconds(since: before) / 2)
        deliver(reading, at: middle, now: after, into: &batch, &event)
        // On a grid, but never two at once for one that came late.
        nextRaw = max(nextRaw.advanced(bySeconds: period), after)
        showPeriod(nil)
        return IMUPoll(next: nextRaw, event: event)
    }

    // MARK: Samples

    /// Appends a reading as a sample, unless its time cannot be.
    private func deliver(
        _ reading: IIOReading, at measured: Timestamp, now: Timestamp, into batch: inout SampleBatch,
        _ event: inout SensorEvent
    ) {
        var time = measured
        let age = now.seconds(since: time)
        guard age > -KernelSensorTiming.timeTolerance, age < KernelSensorTiming.oldest else { return misplaced() }
        let period = status.period
        if let lastTimestamp, time <= lastTimestamp {
            // Two times that a driver worked out may touch; what lies further back is no time of this stream.
            guard lastTimestamp.seconds(since: time) < period / 2 else { return misplaced() }
            time = Timestamp(nanoseconds: lastTimestamp.nanoseconds + 1)
        }
        repetitions =
            reading.acceleration == lastReading.acceleration && reading.rotationRate == lastReading.rotationRate
            ? repetitions + 1 : 0
        lastReading = reading
        var flags = reading.flags
        let told = resume(at: time, period: period, &flags)
        if told != .none { event = told }
        if !flags.isDisjoint(with: .clipped) { status.clippedSamples += 1 }
        if flags.contains(.afterGap) { meter = PeriodMeter() }
        meter.take(time)
        lastTimestamp = time
        batch.append(
            MotionSample(
                timestamp: time, acceleration: reading.acceleration, rotationRate: reading.rotationRate,
                temperature: reading.temperature.isNaN ? temperature : reading.temperature, flags: flags))
        status.samples += 1
    }

    /// A sample's time was none: it is left out.
    private func misplaced() {
        status.misalignments += 1
        status.lastFault = .misaligned
    }

    /// Ends the start or an interruption, if there was one, with the sample of `time`.
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
        // The kernel's buffer ran over where there was more in it than one look takes, and what is read value by value has
        // none. Else it was the chip or its driver.
        let isLate = wasBacklogged || source?.values != nil
        let fault: IMUFault = isLate ? .overflow : .stalled
        flags.insert(.afterGap)
        status.gaps += 1
        status.lostSamples += lost
        if fault == .overflow { status.overflows += 1 }
        status.lastFault = fault
        return .gap(gap, fault)
    }

    /// Notices that nothing comes any more.
    private func checkForStall(_ source: KernelSource) throws(IMUFault) {
        let patience =
            hasStreamed
            ? max(
                KernelSensorTiming.shortestStall, KernelSensorTiming.stalledPeriods * status.period,
                2 * settings.batchInterval)
            : KernelSensorTiming.startPatience
        let now = clock.now()
        if now.seconds(since: lastArrival) > patience { throw .stalled }
        if source.gyroscope != nil, now.seconds(since: lastGyroscopeArrival) > patience { throw .stalled }
        // Samples come but none of them can be used: their times are not of our clock.
        if !hasStreamed, now.seconds(since: streamStart) > 2 * KernelSensorTiming.startPatience { throw .misaligned }
    }

    private func showPeriod(_ source: KernelSource?) {
        if let source, !source.hasTime {
            guard estimator.isSettled else { return }
            status.period = estimator.period
        } else {
            guard let period = meter.period else { return }
            status.period = period
        }
        status.periodDeviation = (status.period * info.nominalRate - 1) * 1e6
    }

    private func readTemperatureWhereItIsDue() {
        guard let thermometer else { return }
        let now = clock.now()
        guard now >= nextTemperature else { return }
        nextTemperature = now.advanced(bySeconds: KernelSensorTiming.temperatureInterval)
        temperature = thermometer.celsius()
    }
}
