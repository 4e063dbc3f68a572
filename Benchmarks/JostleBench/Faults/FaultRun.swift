internal import IMUDrivers
internal import MotionCore
internal import VirtualIMU

/// The plan of one run.
struct FaultPlan {
    var fault: Fault
    /// Selects the time of the fault: during a shake, during a turn, or at rest.
    var round: Int

    /// When the fault starts, seconds after power-on.
    var start: Double {
        let instants = [FaultPlan.shakeStart + 0.9, FaultPlan.turningStart + 0.7, FaultPlan.shakeStart - 0.4]
        // At varying points within a batch, so that the fault may hit any step of the driver.
        return instants[round % instants.count] + 0.0237 * FaultPlan.chance(round)
    }

    /// The longest read of the bus, bytes. In every second round a batch takes several reads.
    var longestRead: Int { round % 2 == 0 ? 8192 : 32 }

    var isAmidShake: Bool { round % 3 == 0 }

    static let shakeStart = 2.4
    static let turningStart = 5.4
    static let shakeAmplitude = 2 * standardGravity
    static let shakeFrequency = 5.0

    /// The board is at rest, is shaken along x with 2 g, and is then turned to and fro.
    static let trajectory: any Trajectory = MotionSequence([
        Rest(shakeStart),
        Shake(
            axis: Vector3(1, 0, 0), amplitude: shakeAmplitude, frequency: shakeFrequency,
            cycles: shakeFrequency * (turningStart - shakeStart)),
        Oscillation(axis: Vector3(1, 2, 2), amplitude: 0.8, frequency: 1.5),
    ])

    /// A pseudo-random number from 0 to 1, the same in every run.
    static func chance(_ number: Int) -> Double {
        (0.618_033_988_75 * Double(number + 1)).truncatingRemainder(dividingBy: 1)
    }
}

/// The result of one run, in seconds unless stated otherwise.
struct FaultOutcome {
    /// From power-on and the first poll to the first sample.
    var firstSample = Double.infinity
    /// From the start of the fault until the driver reported it; `nil` if it did not.
    var detection: Double?
    /// From the end of the fault to the delivery of the first sample that was measured after it.
    var recovery = Double.infinity
    /// Sample periods without a sample, not counting the duration of the fault.
    var lost = 0
    /// Samples that differ from the truth at their timestamp.
    var wrong = 0
    /// Pauses longer than one and a half sample periods, and those of them that no flag reports.
    var gaps = 0
    var unreportedGaps = 0
    /// Whether a gesture was in progress when the stream ended, and whether it was then cancelled with `sensor_lost`.
    var wasOpenAtLoss = false
    var wasCancelled = false
    /// Whether a gesture stayed open for a second or more after the last sample.
    var wasLeftOpen = false
    /// Shakes begun, in a run in which the stream did not end.
    var shakesBegun = 0
}

/// A driver of `Part` on a virtual chip with a fault, followed by the pipeline, as on the sensor thread.
struct FaultRun<Part: ChipPart>: ~Copyable {
    private let clock = ManualClock()
    private let kind: FaultChip
    private let chip: any FaultyChip
    private let injector: FaultInjector
    private var driver: ChipDriver<Part, TimedBus, ManualClock, NoDataReadyLine>
    private var pipeline = MotionPipeline()
    private var batch = SampleBatch(capacity: 128)
    private let plan: FaultPlan
    /// Half of an accelerometer's count, m/s².
    private let halfCount = 0.5 * Part(settings: IMUSettings()).accelerometerScale
    private let origin: Timestamp
    private var start: Timestamp
    private var end: Timestamp
    private var lateness: Lateness
    private var last: Timestamp?
    private var before: IMUStatus?
    private var outcome = FaultOutcome()

    /// White noise of a typical chip, m/s²/√Hz and rad/s/√Hz.
    private static var accelerometerNoise: Double { 290e-6 * standardGravity }
    private static var gyroscopeNoise: Double { 0.007 * radiansPerDegree }

    static func outcome(_ chip: FaultChip, _ plan: FaultPlan) -> FaultOutcome {
        var run = FaultRun(chip, plan)
        return run.run()
    }

    private init(_ kind: FaultChip, _ plan: FaultPlan) {
        self.kind = kind
        self.plan = plan
        origin = clock.now()
        start = origin.advanced(bySeconds: plan.start)
        end = start.advanced(bySeconds: plan.fault.duration)
        var imperfections = Imperfections.ideal
        // The allowed deviations of a sample: a typical chip's noise, and the gyroscope's start-up.
        imperfections.accelerometerNoise = FaultRun.accelerometerNoise
        imperfections.gyroscopeNoise = FaultRun.gyroscopeNoise
        imperfections.gyroscopeStartUp = 0.03
        imperfections.fifoWriteTime = 50e-6
        imperfections.oscillatorError = plan.fault.oscillatorError
        chip = kind.make(
            along: FaultPlan.trajectory, imperfections, seed: UInt64(7 + plan.round), start: origin)
        injector = FaultInjector(plan.fault.eventBeforeData, register: kind.dataRegister, from: start)
        driver = ChipDriver(
            bus: TimedBus(maximumReadLength: plan.longestRead, chip: chip, clock: clock, injector: injector),
            clock: clock,
            settings: IMUSettings(), line: NoDataReadyLine())
        lateness = Lateness(seed: UInt32(truncatingIfNeeded: 2_463_534_242 &+ 97 &* plan.round))
        plan.fault.inject(into: chip, at: start, chance: FaultPlan.chance(plan.round + 5))
    }

    private mutating func run() -> FaultOutcome {
        var isStalled = false
        var due = plan.fault.betweenPolls
        var changesRange = plan.fault == .otherRange
        while clock.now() < end.advanced(bySeconds: 2.5) {
            if let event = due, clock.now() >= start {
                chip.inject(event, at: clock.now())
                due = nil
            }
            if changesRange, clock.now() >= start {
                // Before the poll: some samples of the batch have the right scale.
                kind.changeRange(of: chip, at: start)
                changesRange = false
            }
            let status = driver.status
            batch.removeAll()
            let poll = driver.poll(into: &batch)
            if let injectedAt = injector.injectedAt {
                start = injectedAt
                end = injectedAt
                injector.injectedAt = nil
            }
            if before == nil, clock.now() >= start { before = status }
            process(poll.event)
            noteDetection(poll.event)
            let next = max(clock.now(), poll.next)
            clock.set(to: Timestamp(nanoseconds: next.nanoseconds + lateness.next()))
            if plan.fault.stallsHost, !isStalled, clock.now() >= start {
                isStalled = true
                clock.set(to: clock.now().advanced(bySeconds: plan.fault.duration))
            }
        }
        return outcome
    }

    /// Processes events and samples as the sensor thread does: the end of a stream is reported after its samples.
    private mutating func process(_ event: SensorEvent) {
        for index in 0..<batch.count { check(batch[index]) }
        var outcome = self.outcome
        for index in 0..<batch.count {
            pipeline.process(batch[index]) { event in
                if event.gesture == .shake, event.phase == .began { outcome.shakesBegun += 1 }
            }
        }
        if case .failed = event, !pipeline.openGestures.isEmpty {
            outcome.wasOpenAtLoss = true
            pipeline.cancelGestures(.sensorLost) { event in
                if event.reason == .sensorLost { outcome.wasCancelled = true }
            }
        }
        // After a host stall the next sample ends them; they could not have ended earlier.
        if let last, clock.now().seconds(since: last) > 1.2, !pipeline.openGestures.isEmpty, !plan.fault.stallsHost {
            outcome.wasLeftOpen = true
        }
        self.outcome = outcome
    }

    private mutating func noteDetection(_ event: SensorEvent) {
        guard outcome.detection == nil, let before else { return }
        let status = driver.status
        let isReported =
            event != .none || status.lastFault != before.lastFault || status.busErrors != before.busErrors
            || status.gaps != before.gaps
        if isReported { outcome.detection = max(0, clock.now().seconds(since: start)) }
    }

    private mutating func check(_ sample: MotionSample) {
        let now = clock.now()
        if outcome.firstSample == .infinity { outcome.firstSample = now.seconds(since: origin) }
        if sample.timestamp >= end, outcome.recovery == .infinity { outcome.recovery = now.seconds(since: end) }
        let period = (1 + 1e-6 * plan.fault.oscillatorError) / driver.info.nominalRate
        if let last {
            let pause = sample.timestamp.seconds(since: last)
            if pause <= 0 { outcome.wrong += 1 }
            if pause > 1.5 * period {
                outcome.gaps += 1
                if !sample.flags.contains(.afterGap) { outcome.unreportedGaps += 1 }
                outcome.lost += missing(from: last, to: sample.timestamp, period)
            }
        }
        last = sample.timestamp
        if !isTrue(sample, period) { outcome.wrong += 1 }
    }

    /// Sample periods between two samples, not counting the duration of the fault.
    private func missing(from: Timestamp, to: Timestamp, _ period: Double) -> Int {
        let all = to.seconds(since: from) / period - 1
        let held = max(0, min(to, end).seconds(since: max(from, start))) / period
        return max(0, Int((all - held).rounded()))
    }

    /// Whether each value lies, within noise and low-pass error, in the range of the true values from one period before
    /// the timestamp to one period after it.
    private func isTrue(_ sample: MotionSample, _ period: Double) -> Bool {
        var lowest = (force: Vector3(.infinity, .infinity, .infinity), rate: Vector3(.infinity, .infinity, .infinity))
        var highest = (force: -lowest.force, rate: -lowest.rate)
        for step in -2...2 {
            let truth = chip.truth(at: sample.timestamp.advanced(bySeconds: 0.5 * Double(step) * period))
            for axis in 0..<3 {
                lowest.force[axis] = min(lowest.force[axis], truth.specificForce[axis])
                highest.force[axis] = max(highest.force[axis], truth.specificForce[axis])
                lowest.rate[axis] = min(lowest.rate[axis], truth.rotationRate[axis])
                highest.rate[axis] = max(highest.rate[axis], truth.rotationRate[axis])
            }
        }
        let hasRate = driver.info.gyroscopeRange > 0
        // Seven standard deviations of the noise after the low-pass, quantisation, and the low-pass's attenuation.
        let noise = 7 * (1.6 * driver.info.bandwidth).squareRoot()
        let ratio = FaultPlan.shakeFrequency / driver.info.bandwidth
        let attenuation = 1 - 1 / (1 + ratio * ratio).squareRoot()
        let force =
            max(0.1, 1.2 * FaultPlan.shakeAmplitude * attenuation) + noise * FaultRun.accelerometerNoise
            + halfCount
        let rate = 0.02 + noise * FaultRun.gyroscopeNoise
        guard sample.flags.contains(.rotationRate) == hasRate else { return false }
        for axis in 0..<3 {
            let a = sample.acceleration[axis]
            guard a >= lowest.force[axis] - force, a <= highest.force[axis] + force else { return false }
            guard hasRate else { continue }
            let w = sample.rotationRate[axis]
            guard w >= lowest.rate[axis] - rate, w <= highest.rate[axis] + rate else { return false }
        }
        return true
    }
}
