internal import CSystemd
internal import Glibc
internal import LinuxSystem

/// Reports the service's state to systemd, in the protocol of sd_notify(3). Has no effect without systemd.
///
/// The function of libsystemd waits while systemd reads nothing: it reloads its units, or has crashed. No gesture may wait
/// for that.
package struct ServiceManager: Sendable {
    /// Seconds between watchdog notifications; `nil` if the watchdog is off.
    package let watchdogInterval: Double?

    /// Whether the supervisor restarts the program when it exits with a failure: `$JOSTLE_SUPERVISED` is 1, as set in
    /// the units.
    package static var isSupervised: Bool { getenv("JOSTLE_SUPERVISED").map { String(cString: $0) } == "1" }

    /// Where systemd reads; `nil` without systemd.
    private let address = getenv("NOTIFY_SOCKET").flatMap { UnixSocketAddress(String(cString: $0)) }

    package init() {
        var microseconds: UInt64 = 0
        let isEnabled = sd_watchdog_enabled(0, &microseconds) > 0
        // Half the watchdog timeout, as sd_watchdog_enabled(3) recommends.
        watchdogInterval = isEnabled ? Double(microseconds) * 1e-6 / 2 : nil
    }

    /// The configuration is being read again, until `ready`.
    package func reloading() { notify("RELOADING=1\nMONOTONIC_USEC=\(KernelClock.monotonic.nanoseconds / 1000)") }

    /// The program is ready.
    package func ready() { notify("READY=1") }

    /// The program is stopping.
    package func stopping() { notify("STOPPING=1") }

    /// What the service does at present, in words: shown by `systemctl status`; those of the agent are read by the upgrade
    /// service.
    package func status(_ words: [String]) { notify("STATUS=\(words.joined(separator: " "))") }

    /// Resets the watchdog. It is repeated, so that one may be lost.
    package func resetWatchdog() { notify("WATCHDOG=1", within: 0) }

    /// Sends a notification, and waits for at most so many seconds until there is room for it.
    private func notify(_ state: String, within seconds: Int = 1) {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard let address, case let descriptor = socket(AF_UNIX, type, 0), descriptor >= 0 else { return }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let flags = Int32(MSG_NOSIGNAL) | (seconds == 0 ? Int32(MSG_DONTWAIT) : 0)
        address.send(state, through: descriptor, flags: flags)
    }
}
