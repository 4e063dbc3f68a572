internal import JostleConfiguration
internal import JostleRuntime
internal import MotionCore
internal import MotionKit

/// What the loop does besides handling events: feed the watchdog, check the sensor's counters and the disk, apply quiet
/// hours.
struct PeriodicChecks {
    var quietHours: QuietHours
    /// When the next minute of the day begins.
    var nextMinute = WallClock.monotonic
    /// When the service manager is notified next.
    var nextWatchdogReset = WallClock.monotonic
    /// When the sensor's counters and the disk are checked next, and the results of the last check.
    var nextCheck = WallClock.monotonic
    var sensor = SensorWatch()
    var storageFaults: [String] = []
    /// The upgrade at the last check.
    var upgrade: UpgradeStatus?
    /// The activity that the service manager was last notified of.
    var activity: [String] = []
    /// The sensor thread's iteration count at the last watchdog notification.
    var turns = -1

    init(_ spans: [GestureKind: [DailySpan]]) {
        quietHours = QuietHours(spans)
    }

    /// A thread that has just started has not completed an iteration.
    mutating func sensingStarted() { turns = -1 }
}

extension AgentLoop {
    /// Does the checks that are due.
    func runPeriodicChecks(at now: ClockReading) {
        feedWatchdog(at: now.monotonic)
        if let line = clocks.logLine() {
            log.info(line)
            // They apply only while the time is known.
            checks.nextMinute = now.monotonic
        }
        storeTime(at: now)
        checkSensorAndStorage(at: now.monotonic)
        if now.monotonic >= checks.nextMinute { applyQuietHours() }
    }

    /// When the next check is due.
    var nextCheck: Timestamp? {
        let watchdog = parts.services.watchdogInterval != nil ? checks.nextWatchdogReset : nil
        // No gesture can begin while sensing is stopped.
        guard !parts.sensor.isStopped else { return watchdog }
        let minute = checks.quietHours.isEmpty ? nil : checks.nextMinute
        return minute.earlier(checks.nextCheck).earlier(watchdog)
    }

    /// Feeds the watchdog while the sensor thread iterates. An unplugged chip is no reason to restart the agent; a
    /// stuck thread is. While sensing is stopped, no thread can be stuck.
    private func feedWatchdog(at now: Timestamp) {
        guard let interval = parts.services.watchdogInterval, now >= checks.nextWatchdogReset else { return }
        let turns = parts.manager.loopCount
        if parts.sensor.isStopped || turns != checks.turns { parts.services.resetWatchdog() }
        checks.turns = turns
        checks.nextWatchdogReset = now.advanced(bySeconds: interval)
    }

    /// Logs problems that the sensor's counters reveal, and files that cannot be written.
    private func checkSensorAndStorage(at now: Timestamp) {
        guard now >= checks.nextCheck else { return }
        checks.nextCheck = now.advanced(bySeconds: SensorWatch.interval)
        checkStorage(at: now)
        checkUpgrade(at: now)
        reportActivity()
        if parts.sensor.resume() {
            log.info("the sensor answers again")
            checks.sensingStarted()
        }
        guard !parts.sensor.isStopped, let status = parts.manager.sensorStatus else { return }
        let info = parts.manager.sensorInfo
        var remarks = checks.sensor.remarks(on: status, info, at: now)
        let field = checks.sensor.remark(
            onMagnetometer: status.state == .streaming ? parts.sensor.magnetometerName : nil,
            parts.manager.lastMagnetometerStatus)
        let gravity = checks.sensor.remark(onRest: parts.manager.restingForce, info)
        if field != nil || gravity != nil { core.health.makeDue(at: now) }
        remarks += [field, gravity].compactMap { $0 }
        for remark in remarks { log.write(remark.isWarning ? .warning : .info, remark.text) }
    }

    /// Stores the time if it is right and the stored one is out of date. With `isLast`, the agent is stopping.
    func storeTime(at now: ClockReading, isLast: Bool = false) {
        guard let contents = clocks.contentsToStore(now, isLast: isLast) else { return }
        core.write(contents, to: .lastTime)
    }

    /// Logs a change of the upgrade that the configuration asks for, and makes a health report due.
    private func checkUpgrade(at now: Timestamp) {
        let upgrade = upgradeStatus()
        guard upgrade != checks.upgrade else { return }
        let isFirst = checks.upgrade == nil
        checks.upgrade = upgrade
        core.health.makeDue(at: now)
        guard let upgrade, !(isFirst && upgrade.state == .installed) else { return }
        log.write(upgrade.state == .failed ? .warning : .info, upgrade.text)
    }

    private func upgradeStatus() -> UpgradeStatus? {
        core.settings.settings.device.version.map { UpgradeStatus.read(wanted: $0, at: parts.upgradeStatusPath) }
    }

    /// Notifies the service manager of what the service does, as its status text.
    private func reportActivity() {
        var words: [String] = []
        if parts.sensor.isStopped {
            words.append("stopped")
        } else if parts.manager.lastSensorStatus?.state == .streaming {
            words.append("measuring")
        }
        if parts.client.statistics.connection != nil { words.append("connected") }
        guard words != checks.activity else { return }
        checks.activity = words
        parts.services.status(words)
    }

    /// Logs storage faults when they appear, and when all of them are gone.
    private func checkStorage(at now: Timestamp) {
        let faults = core.storageFaults
        guard faults != checks.storageFaults else { return }
        for fault in faults where !checks.storageFaults.contains(fault) {
            log.warning("cannot save, will retry: \(fault)")
        }
        if faults.isEmpty { log.info("all files are saved again") }
        checks.storageFaults = faults
        core.health.makeDue(at: now)
    }

    /// Silences the gestures that are in their quiet hours.
    func applyQuietHours() {
        checks.nextMinute = WallClock.monotonic.advanced(bySeconds: LocalTime.secondsToNextMinute)
        let settings = core.settings.settings
        checks.quietHours.spans = settings.allQuietHours
        guard !checks.quietHours.isEmpty,
            let silenced = checks.quietHours.change(
                atMinute: clocks.read().isSet ? LocalTime.minuteOfDay() : nil)
        else { return }
        parts.manager.silence(checks.quietHours.silencedGestures)
        parts.manager.learned = settings.learnedGestures(silent: checks.quietHours.silencedNames)
        let names = settings.gestureKinds.filter(silenced.contains).map(\.word)
        log.info(names.isEmpty ? "no quiet hours now" : "quiet hours: \(names.joined(separator: ", "))")
    }

    /// Restarts the embedded broker if it has ended. Called when a connection to it was lost or could not be made.
    func restartEmbeddedBroker() {
        guard let broker = parts.embeddedBroker else { return }
        do {
            if try broker.restartIfEnded() { log.warning("the embedded broker had ended and was restarted") }
        } catch {
            log.error("\(error)")
        }
    }

    /// The inputs of a health report.
    func healthFacts(at now: ClockReading) -> HealthFacts {
        var facts = HealthFacts(parts.sensor)
        facts.gravity = checks.sensor.gravity
        facts.upgrade = upgradeStatus()
        facts.actions = actionStatistics
        facts.processorTime = ProcessUsage.processorTime
        facts.residentMemory = ProcessUsage.residentMemory
        facts.isClockSynchronised = clocks.isSynchronised()
        return facts
    }
}
