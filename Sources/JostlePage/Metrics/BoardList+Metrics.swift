internal import JostleOperator
internal import MotionCore

extension BoardList {
    /// How many times its interval a measured value outlives its last message: two may get lost.
    private static let patience = 3.0
    /// Seconds between two messages of a board that does not report its settings: the defaults.
    private static let intervals = (health: 60.0, attitude: 30.0)

    /// Adds the metrics of all boards.
    ///
    /// Counters and the availability stay. A measured value is absent if it is not known, or not any more, so that no graph
    /// shows an old one: the board is offline, or has been silent for too long, or this page has no connection to the
    /// broker.
    func addMetrics(to text: inout MetricsText, isConnected: Bool, at now: Timestamp) {
        for id in model.devices.keys.sorted() {
            guard let device = model.devices[id] else { continue }
            let labels = MetricLabels(["board": id])
            let details = details[id] ?? Details()
            BoardList.addIdentity(of: device, to: &text, labels)
            if isConnected { text.add(.online, labels, device.isOnline) }
            if details.seen > 0 { text.add(.lastMessage, labels, Double(details.seen) / 1000) }
            text.add(.malformedMessages, labels, Double(device.malformedMessages))
            for (kind, count) in details.events.all(isSimulated: device.state?.isSimulated ?? false) {
                let labels = labels.and("gesture", kind.gesture).and("phase", kind.phase)
                text.add(.events, labels.and("simulated", kind.isSimulated ? "true" : "false"), Double(count))
            }
            if let health = device.health { BoardList.addCounters(of: health, to: &text, labels) }
            guard isConnected, device.isOnline == true else { continue }
            text.add(.followsConfiguration, labels, device.configuration.map { !$0.needsAttention })
            text.add(.wantedRate, labels, device.settings.rate)
            text.add(.stopped, labels, device.state?.isStopped ?? device.health?.isStopped)
            BoardList.addHealth(of: device, to: &text, labels, at: now)
            guard !device.isStopped else { continue }
            if let state = device.state { BoardList.add(state, details, to: &text, labels) }
            BoardList.addAttitude(of: device, details, to: &text, labels, at: now)
        }
    }

    private static func addIdentity(of device: WatchedDevice, to text: inout MetricsText, _ labels: MetricLabels) {
        let identity = labels.and("name", device.name ?? "").and("groups", device.groups.joined(separator: ","))
            .and("version", device.health?.version ?? "").and("sensor", device.health?.sensor ?? "")
            .and("simulated", device.state.map { $0.isSimulated ? "true" : "false" } ?? "")
        text.add(.boardInfo, identity, 1)
    }

    private static func addCounters(of health: WatchedDevice.Health, to text: inout MetricsText, _ labels: MetricLabels)
    {
        text.add(.samples, labels, health.samples.all)
        text.add(.gaps, labels, health.samples.gaps)
        text.add(.lostSamples, labels, health.samples.lost)
        text.add(.overflows, labels, health.samples.overflows)
        text.add(.misalignments, labels, health.samples.misalignments)
        text.add(.recoveries, labels, health.samples.recoveries)
        text.add(.clippedSamples, labels, health.samples.clipped)
        text.add(.gestures, labels, health.gestures)
        text.add(.droppedDeliveries, labels, health.droppedDeliveries)
        text.add(.connects, labels, health.connects)
        text.add(.outboxDropped, labels, health.outboxDropped)
        text.add(.outboxExpired, labels, health.outboxExpired)
        // A later agent may have further kinds; two words that are none would be the same series.
        var kinds: [String: Double] = [:]
        for (kind, count) in health.busErrorKinds { kinds[EventCounts.word(kind), default: 0] += count }
        for kind in kinds.keys.sorted() { text.add(.busErrors, labels.and("kind", kind), kinds[kind]) }
    }

    private static func addHealth(
        of device: WatchedDevice, to text: inout MetricsText, _ labels: MetricLabels, at now: Timestamp
    ) {
        // Without reports, the last one is not valid for ever.
        let interval = device.settings.healthInterval.flatMap { $0 > 0 ? $0 : nil } ?? intervals.health
        guard let health = device.health, now.seconds(since: health.arrival) <= patience * interval else { return }
        for problem in Set(health.problems.map(EventCounts.word)).sorted() {
            text.add(.problem, labels.and("problem", problem), 1)
        }
        text.add(.clock, labels, health.isClockSynchronised)
        text.add(.uptime, labels, health.uptime)
        text.add(.processor, labels, health.processor.map { $0 / 100 })
        text.add(.memory, labels, health.memory.map { $0 * 1_048_576 })
        text.add(.temperature, labels, health.temperature)
        text.add(.rate, labels, health.rate)
        text.add(.periodError, labels, health.period.map { $0 / 1e6 })
        text.add(.outbox, labels, health.outbox)
        text.add(.outboxSize, labels, health.outboxBytes)
    }

    private static func add(
        _ state: WatchedDevice.State, _ details: Details, to text: inout MetricsText, _ labels: MetricLabels
    ) {
        text.add(.moving, labels, state.isMoving)
        text.add(.tilt, labels, state.tilt.map { $0 * radiansPerDegree })
        text.add(.vibrating, labels, state.isVibrating)
        text.add(.vibration, labels, state.vibration)
        if state.isVibrating == true { text.add(.vibrationFrequency, labels, details.vibrationFrequency) }
    }

    private static func addAttitude(
        of device: WatchedDevice, _ details: Details, to text: inout MetricsText, _ labels: MetricLabels,
        at now: Timestamp
    ) {
        let heartbeat = device.settings.attitudeHeartbeat ?? intervals.attitude
        guard let last = details.attitude, heartbeat == 0 || now.seconds(since: last.arrival) <= patience * heartbeat,
            let attitude = WatchedDevice.Attitude(payload: last.payload, at: last.arrival)
        else { return }
        text.add(.roll, labels, attitude.roll * radiansPerDegree)
        text.add(.pitch, labels, attitude.pitch * radiansPerDegree)
        text.add(.yaw, labels, attitude.yaw * radiansPerDegree)
    }
}
