internal import Glibc
internal import LinuxSystem

/// The device's default name in topics: the host's name made to fit, with four digits that tell boards apart.
///
/// Every Raspberry Pi is called raspberrypi until somebody renames it; two of them must not share a topic.
public enum DeviceName {
    /// The default for this machine.
    public static func ofThisMachine() -> String {
        make(host: hostName(), serial: serialNumber())
    }

    /// The default for a machine of this host name and serial number.
    public static func make(host: String, serial: String?) -> String {
        var name = ""
        for scalar in host.unicodeScalars.prefix(while: { $0 != "." }) {
            let isAllowed =
                scalar.isASCII
                && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_")
            name.unicodeScalars.append(isAllowed ? scalar : "-")
        }
        name = String(name.drop { $0 == "-" || $0 == "_" }.prefix(59))
        if name.isEmpty { name = "jostle" }
        let digits = (serial ?? "").unicodeScalars.filter { $0.isASCII && $0.properties.isASCIIHexDigit }.suffix(4)
        guard digits.count == 4 else { return name }
        return name + "-" + String(String.UnicodeScalarView(digits)).lowercased()
    }

    private static func hostName() -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            buffer.initialize(repeating: 0)
            guard let start = buffer.baseAddress, gethostname(start, buffer.count - 1) == 0 else { return "" }
            return String(cString: start)
        }
    }

    /// The board's serial number where a device tree tells it, else the machine id.
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
