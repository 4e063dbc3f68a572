internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import MotionKit

// What the main thread does while the agent runs: it sleeps until a signal, the bell or the next thing that is due.
extension Agent {
    /// What the main thread keeps in mind.
    struct Watch {
        /// When the run is over; `nil` where only a signal ends it.
        let end: Timestamp?
        var quietHours: QuietHours
        /// When the service manager wants the next sign of life.
        var nextAlive = WallClock.monotonic
        /// When the sensor's counters are looked at next, and what was seen there.
        var nextLook = WallClock.monotonic
        var sensor = SensorWatch()
        /// The sensor thread's turns at the last one.
        var turns = -1
        /// How often it is told that messages were too many.
        var floods = LineLimiter()
    }

    /// Waits for a signal; meanwhile carries out commands, sets what is to be set, tells systemd that it lives, reports health, looks at the clock for
    /// quiet hours, and keeps the embedded broker up.
    func watch(_ watch: inout Watch, _ signals: SignalWaiter) {
        while true {
            let now = WallClock.monotonic
            if let end = watch.end, now >= end { return }
            let wasStopped = sensor.isStopped
            for message in mailbox.takeAll() where !settingsDesk.take(message, apply: live.apply) { desk.take(message) }
            tellFlood(&watch, at: now)
            host.look(at: now)
            if host.isRestartWanted { return }
            if wasStopped, !sensor.isStopped { watch.turns = -1 }
            feedWatchdog(&watch, at: now)
            lookAtSensor(&watch, at: now)
            if let report = health.report(at: now, sensor: sensor, client: client, outbox: outbox.figures) {
                publisher.publishHealth(report)
            }
            settingsDesk.work(at: now)
            formerNames?.work(at: now)
            let spared = formerNames?.spared ?? []
            if announcements?.work(at: now, settings: settingsDesk.settingsToOffer, sparing: spared) == true {
                publisher.tellAnew()
            }
            keep(&watch.quietHours)
            if brokerEnded.take() { reviveBroker() }
            if signals.wait(seconds: pause(of: watch), or: bell) { return }
        }
    }

    /// Seconds until something is due; `nil` where nothing is.
    private func pause(of watch: Watch) -> Double? {
        let now = WallClock.monotonic
        let deadlines = [
            watch.end, health.nextReport, settingsDesk.nextWork, announcements?.nextWork, formerNames?.nextWork,
            host.nextDeadline,
        ]
        var pauses = deadlines.compactMap { $0?.remaining(at: now) }
        if hasLeftOut { pauses.append(LineLimiter.interval) }
        if services.watchdogInterval != nil { pauses.append(watch.nextAlive.remaining(at: now)) }
        // Nothing can begin while nothing is sensed.
        if !sensor.isStopped {
            if !watch.quietHours.isEmpty { pauses.append(LocalTime.secondsToNextMinute) }
            pauses.append(watch.nextLook.remaining(at: now))
        }
        return pauses.min()
    }

    /// Whether messages were too many to be looked at, and nobody was told.
    private var hasLeftOut: Bool { mailbox.leftOut > 0 || desk.unanswered > 0 }

    /// Says how many messages were too many.
    private func tellFlood(_ watch: inout Watch, at now: Timestamp) {
        guard hasLeftOut, watch.floods.admit(at: now) != nil else { return }
        log.warning(
            "too many messages: \(mailbox.takeLeftOut()) left unread, \(desk.takeUnanswered()) commands not answered")
    }

    /// Feeds the watchdog while the sensor thread turns: a chip that is unplugged is no reason to restart, a thread that is
    /// stuck is one. Where sensing is stopped there is none that could be.
    private func feedWatchdog(_ watch: inout Watch, at now: Timestamp) {
        guard let interval = services.watchdogInterval, now >= watch.nextAlive else { return }
        let turns = manager.turns
        if sensor.isStopped || turns != watch.turns { services.alive() }
        watch.turns = turns
        watch.nextAlive = now.advanced(bySeconds: interval)
    }

    /// Says what of the sensor's counters somebody can do something about.
    private func lookAtSensor(_ watch: inout Watch, at now: Timestamp) {
        guard now >= watch.nextLook else { return }
        watch.nextLook = now.advanced(bySeconds: SensorWatch.interval)
        guard !sensor.isStopped, let status = manager.sensorStatus else { return }
        for remark in watch.sensor.remarks(on: status, manager.sensorInfo, at: now) {
            if remark.isWarning { log.warning(remark.text) } else { log.info(remark.text) }
        }
    }

    /// Silences gestures in their quiet hours.
    func keep(_ quietHours: inout QuietHours) {
        quietHours.spans = settingsDesk.settings.quietHours
        guard !quietHours.isEmpty, let silenced = quietHours.change(atMinute: LocalTime.minuteOfDay()) else { return }
        manager.silence(silenced)
        let names = Gesture.allCases.filter(silenced.contains).map(\.word)
        log.info(names.isEmpty ? "no quiet hours now" : "quiet hours: \(names.joined(separator: ", "))")
    }

    /// Starts the embedded broker again where it has ended: a connection to it was lost, or could not be made.
    private func reviveBroker() {
        guard let embeddedBroker else { return }
        do throws(AgentError) {
            if try embeddedBroker.revive() { log.warning("the embedded broker had ended and was started again") }
        } catch {
            log.error("\(error)")
        }
    }
}
