internal import CSystemd
internal import Glibc
package import MotionCore

/// Reports the service's state to systemd with sd_notify(3). Has no effect without systemd.
package struct ServiceManager: Sendable {
    /// Seconds between watchdog notifications; `nil` if the watchdog is off.
    package let watchdogInterval: Double?

    /// Whether the supervisor restarts the program when it exits with a failure: `$JOSTLE_SUPERVISED` is 1, as set in
    /// the units.
    package static var isSupervised: Bool { getenv("JOSTLE_SUPERVISED").map { String(cString: $0) } == "1" }

    package init() {
        var microseconds: UInt64 = 0
        let isEnabled = sd_watchdog_enabled(0, &microseconds) > 0
        // Half the watchdog timeout, as sd_watchdog_enabled(3) recommends.
        watchdogInterval = isEnabled ? Double(microseconds) * 1e-6 / 2 : nil
    }

    /// The configuration is being read again, until `ready`.
    package func reloading(at now: Timestamp) { notify("RELOADING=1\nMONOTONIC_USEC=\(now.nanoseconds / 1000)") }

    /// The program is ready.
    package func ready() { notify("READY=1") }

    /// The program is stopping.
    package func stopping() { notify("STOPPING=1") }

    /// What the service does at present, in words: shown by `systemctl status`; those of the agent are read by the upgrade
    /// service.
    package func status(_ words: [String]) { notify("STATUS=\(words.joined(separator: " "))") }

    /// Resets the watchdog.
    package func resetWatchdog() { notify("WATCHDOG=1") }

    private func notify(_ state: String) {
        _ = sd_notify(0, state)
    }
}
