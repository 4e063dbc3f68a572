internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// What the loop looks after besides events: the watchdog, the sensor's counters, the time of day.
struct Supervision {
    var quietHours: QuietHours
    /// When the next minute of the day begins.
    var nextMinute = WallClock.monotonic
    /// When the service manager wants the next sign of life.
    var nextAlive = WallClock.monotonic
    /// When the sensor's counters and the disk are looked at next, and what was seen there.
    var nextLook = WallClock.monotonic
    var sensor = SensorWatch()
    var storageFaults: [String] = []
    /// The sensor thread's turns at the last sign of life.
    var turns = -1

    init(_ spans: [Gesture: [DailySpan]]) {
        quietHours = QuietHours(spans)
    }

    /// A thread that has just begun has not turned.
    mutating func sensingStarted() { turns = -1 }
}

extension AgentLoop {
    /// Does what is due of it.
    func supervise(at now: ClockReading) {
        feedWatchdog(at: now.monotonic)
        look(at: now.monotonic)
        if now.monotonic >= supervision.nextMinute { keepQuietHours() }
    }

    /// Seconds until something of it is due.
    func supervisionPause(at now: Timestamp) -> Double? {
        var pauses: [Double] = []
        if parts.services.watchdogInterval != nil { pauses.append(supervision.nextAlive.remaining(at: now)) }
        // Nothing can begin while nothing is sensed.
        if !parts.sensor.isStopped {
            if !supervision.quietHours.isEmpty { pauses.append(supervision.nextMinute.remaining(at: now)) }
            pauses.append(supervision.nextLook.remaining(at: now))
        }
        return pauses.min()
    }

    /// Feeds the watchdog while the sensor thread turns: a chip that is unplugged is no reason to restart, a thread that is
    /// stuck is one. While sensing is stopped there is none that could be.
    private func feedWatchdog(at now: Timestamp) {
        guard let interval = parts.services.watchdogInterval, now >= supervision.nextAlive else { return }
        let turns = parts.manager.loopCount
        if parts.sensor.isStopped || turns != supervision.turns { parts.services.alive() }
        supervision.turns = turns
        supervision.nextAlive = now.advanced(bySeconds: interval)
    }

    /// Logs what of the sensor's counters somebody can do something about, and looks for files that wait for the disk.
    private func look(at now: Timestamp) {
        guard now >= supervision.nextLook else { return }
        supervision.nextLook = now.advanced(bySeconds: SensorWatch.interval)
        checkStorage(at: now)
        guard !parts.sensor.isStopped, let status = parts.manager.sensorStatus else { return }
        for remark in supervision.sensor.remarks(on: status, parts.manager.sensorInfo, at: now) {
            log.write(remark.isWarning ? .warning : .info, remark.text)
        }
    }

    /// Logs what can no longer be stored, and what can be again.
    func checkStorage(at now: Timestamp) {
        let faults = storageFaults()
        guard faults != supervision.storageFaults else { return }
        for fault in faults where !supervision.storageFaults.contains(fault) {
            log.warning("cannot be stored, and is tried again: \(fault)")
        }
        if faults.isEmpty { log.info("everything is stored again") }
        supervision.storageFaults = faults
        health.makeDue(at: now)
    }

    /// Silences gestures in their quiet hours.
    func keepQuietHours() {
        supervision.nextMinute = WallClock.monotonic.advanced(bySeconds: LocalTime.secondsToNextMinute)
        supervision.quietHours.spans = settings.settings.quietHours
        guard !supervision.quietHours.isEmpty,
            let silenced = supervision.quietHours.change(atMinute: LocalTime.minuteOfDay())
        else { return }
        parts.manager.silence(silenced)
        let names = Gesture.allCases.filter(silenced.contains).map(\.word)
        log.info(names.isEmpty ? "no quiet hours now" : "quiet hours: \(names.joined(separator: ", "))")
    }

    /// Starts the embedded broker again if it has ended: a connection to it was lost, or could not be made.
    func reviveBroker() {
        guard let broker = parts.embeddedBroker else { return }
        do throws(EmbeddedBrokerError) {
            if try broker.revive() { log.warning("the embedded broker had ended and was started again") }
        } catch {
            log.error("\(error)")
        }
    }

    /// What a health report is drawn up from.
    func healthFacts() -> HealthFacts {
        var facts = HealthFacts(parts.sensor)
        facts.outbox = outbox.figures
        facts.storageFaults = storageFaults()
        facts.connects = parts.client.statistics.connects
        facts.processorTime = ProcessFigures.processorTime
        facts.residentMemory = ProcessFigures.residentMemory
        facts.isClockSynchronised = WallClock.isSynchronised
        return facts
    }

    /// Files that could not be written or wait for the disk, a few words each.
    private func storageFaults() -> [String] { parts.writer.faults.map { "\($0)" } }
}
