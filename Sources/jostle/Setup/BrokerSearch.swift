internal import LinuxSystem

/// Finds brokers on the network with DNS-SD, if avahi-browse (package avahi-utils) is installed.
enum BrokerSearch {
    /// A broker that announces itself, or the host of a Home Assistant, which most often runs one.
    struct Found: Equatable {
        /// The broker as a URL.
        var url: String
        /// The name of the service.
        var name: String
        var isHomeAssistant: Bool
    }

    private static let services = [
        (type: "_secure-mqtt._tcp", scheme: "mqtts"), (type: "_mqtt._tcp", scheme: "mqtt"),
        (type: "_home-assistant._tcp", scheme: "mqtt"),
    ]

    /// Searches for some seconds. Without avahi it finds nothing.
    static func run() -> [Found] {
        var found: [Found] = []
        for (type, scheme) in services {
            let words = ["--resolve", "--parsable", "--no-db-lookup", "--terminate", type]
            do throws(SystemFailure) {
                let outcome = try ChildProgram("avahi-browse", words).run(within: 5)
                for broker in brokers(in: outcome.output, scheme: scheme, isHomeAssistant: type.hasPrefix("_home"))
                where !found.contains(where: { $0.url == broker.url }) {
                    found.append(broker)
                }
            } catch {
                return []
            }
        }
        return found
    }

    /// Reads the lines `=;eth0;IPv4;NAME;TYPE;local;HOST;ADDRESS;PORT;"TEXT"`. A Home Assistant tells the port of its web
    /// page, not of a broker.
    static func brokers(in text: String, scheme: String, isHomeAssistant: Bool) -> [Found] {
        var found: [Found] = []
        for line in text.split(separator: "\n") {
            let fields = line.split(separator: ";", omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 9, fields[0] == "=", isHost(fields[6]), let port = UInt16(fields[8]), port > 0 else {
                continue
            }
            let usual: UInt16 = scheme == "mqtts" ? 8883 : 1883
            let end = isHomeAssistant || port == usual ? "" : ":\(port)"
            let url = "\(scheme)://\(fields[6])\(end)"
            guard !found.contains(where: { $0.url == url }) else { continue }
            found.append(Found(url: url, name: unescaped(fields[3]), isHomeAssistant: isHomeAssistant))
        }
        return found
    }

    /// Whether a text from the network can be a host name.
    private static func isHost(_ text: String) -> Bool {
        (1...253).contains(text.utf8.count) && text.first != "-"
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == ".") }
    }

    /// avahi-browse writes special characters as `\032`.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(3)
            let code = String(decoding: digits, as: UTF8.self)
            if byte == UInt8(ascii: "\\"), digits.count == 3, let value = UInt8(code) {
                bytes.append(value)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return ForeignText.excerpt(String(decoding: bytes, as: UTF8.self))
    }
}
