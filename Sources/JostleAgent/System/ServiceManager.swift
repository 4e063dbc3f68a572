internal import CSystemd
internal import Glibc

/// Tells systemd how the service is: sd_notify(3). Without systemd nothing happens.
struct ServiceManager {
    /// Seconds between two signs of life; `nil` where no watchdog waits for them.
    let watchdogInterval: Double?

    /// Whether whoever started the program promised to start it again where it ends with a failure: `$JOSTLE_SUPERVISED`
    /// is 1, as the units have it.
    static var isSupervised: Bool { getenv("JOSTLE_SUPERVISED").map { String(cString: $0) } == "1" }

    init() {
        var microseconds: UInt64 = 0
        let isEnabled = sd_watchdog_enabled(0, &microseconds) > 0
        // Half of what the watchdog allows, as sd_watchdog_enabled(3) advises.
        watchdogInterval = isEnabled ? Double(microseconds) * 1e-6 / 2 : nil
    }

    /// The agent is up.
    func ready() { notify("READY=1") }

    /// The agent is about to end.
    func stopping() { notify("STOPPING=1") }

    /// A sign of life.
    func alive() { notify("WATCHDOG=1") }

    private func notify(_ state: String) {
        _ = sd_notify(0, state)
    }
}
