internal import JostleMessages

/// What systemd is told about the page: that it serves, what it does, and that its thread still runs.
struct ServiceReport {
    private let manager = ServiceManager()
    private var nextReset = 0.0

    /// The page is served.
    func ready() { manager.ready() }

    /// The page is about to end.
    func stopping() { manager.stopping() }

    /// The connection to the broker, for `systemctl status`.
    func connection(_ failure: String?) {
        manager.status([failure.map { "no connection to the broker: \($0)" } ?? "connected to the broker"])
    }

    /// When the watchdog must be reset next, seconds; `nil` without a watchdog.
    var deadline: Double? { manager.watchdogInterval == nil ? nil : nextReset }

    /// Resets the watchdog if it is time.
    mutating func resetWatchdog(at now: Double) {
        guard let interval = manager.watchdogInterval, now >= nextReset else { return }
        nextReset = now + interval
        manager.resetWatchdog()
    }
}
