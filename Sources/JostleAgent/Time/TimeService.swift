internal import CSystemd

/// systemd's time service, asked over D-Bus: org.freedesktop.timedate1(5).
package enum TimeService {
    /// Whether the system clock is synchronised, by whatever program: its property `NTPSynchronized`.
    ///
    /// Blocks for at most some seconds.
    /// - Returns: `nil` if there is no answer, for example because the machine has no D-Bus.
    package static func isClockSynchronised() -> Bool? {
        var bus: OpaquePointer?
        guard sd_bus_open_system(&bus) >= 0 else { return nil }
        defer { sd_bus_flush_close_unref(bus) }
        // The service may have to be started first.
        _ = sd_bus_set_method_call_timeout(bus, 5_000_000)
        // A D-Bus boolean is an int in C.
        var isSynchronised: Int32 = 0
        let code = sd_bus_get_property_trivial(
            bus, "org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.timedate1",
            "NTPSynchronized", nil, CChar(UInt8(ascii: "b")), &isSynchronised)
        return code >= 0 ? isSynchronised != 0 : nil
    }
}
