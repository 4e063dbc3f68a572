internal import Glibc
internal import LinuxSystem

/// The device's default name in topics: the host name made to fit, with four digits that distinguish boards.
///
/// Every Raspberry Pi is called raspberrypi until its owner renames it; two of them must not share a topic.
package enum DeviceName {
    /// The longest part of an instance name that goes into the default name, in characters.
    private static let longestInstance = 24

    /// The default for this machine and for an instance on it, or that in `$JOSTLE_INSTANCE` if it is set.
    package static func ofThisMachine(instance: String? = nil) -> String {
        let present = getenv("JOSTLE_INSTANCE").map { String(cString: $0) }
        return make(host: hostName(), serial: serialNumber(), instance: instance ?? present)
    }

    /// The default for a machine with this host name and serial number, and for an instance on it: `pi-1234-left`.
    package static func make(host: String, serial: String?, instance: String? = nil) -> String {
        let digits = last(4, of: serial)
        var end = digits.isEmpty ? "" : "-" + digits
        if let instance, !instance.isEmpty { end += "-" + fitting(instance).prefix(longestInstance) }
        let name = fitting(host.prefix { $0 != "." }).drop { $0 == "-" || $0 == "_" }.prefix(64 - end.utf8.count)
        return (name.isEmpty ? "jostle" : name) + end
    }

    /// Digits that distinguish this board from others with the same name; empty if it has no serial number.
    package static var hardwareDigits: String { last(6, of: serialNumber()) }

    /// The last hexadecimal digits of a serial number; empty if it has fewer.
    private static func last(_ count: Int, of serial: String?) -> String {
        let digits = (serial ?? "").unicodeScalars.filter { $0.isASCII && $0.properties.isASCIIHexDigit }.suffix(count)
        return digits.count == count ? String(String.UnicodeScalarView(digits)).lowercased() : ""
    }

    /// The text with a hyphen for every character that a topic must not contain.
    private static func fitting(_ text: some StringProtocol) -> String {
        var fitting = ""
        for scalar in text.unicodeScalars {
            let isAllowed =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_")
            fitting.unicodeScalars.append(isAllowed ? scalar : "-")
        }
        return fitting
    }

    /// The host name (`gethostname`).
    package static func hostName() -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            buffer.initialize(repeating: 0)
            guard let start = buffer.baseAddress, gethostname(start, buffer.count - 1) == 0 else { return "" }
            return String(cString: start)
        }
    }

    /// The board's serial number from the device tree, else the machine id.
    private static func serialNumber() -> String? {
        for path in ["/proc/device-tree/serial-number", "/etc/machine-id"] {
            if let text = FileContents.text(ofOptional: path, limit: 128) {
                let serial = text.unicodeScalars.prefix { $0 != "\0" && $0 != "\n" }
                if serial.count >= 4 { return String(String.UnicodeScalarView(serial)) }
            }
        }
        return nil
    }
}
