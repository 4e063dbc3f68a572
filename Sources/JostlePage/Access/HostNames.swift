internal import Glibc

/// The names under which the page may be addressed.
///
/// A web page of somebody else can let its own name point to this machine, and so get what is served here (DNS
/// rebinding). Such a request has that name in its header `Host`. A numeric address cannot be rebound.
struct HostNames: Equatable, Sendable {
    private let names: Set<String>

    /// `localhost`, the machine's name with and without `.local`, and further names.
    init(_ names: [String], machine: String) {
        let machine = machine.lowercased()
        let short = String(machine.prefix { $0 != "." })
        let own = machine.isEmpty ? [] : [machine, short, "\(short).local"]
        self.names = Set(["localhost"] + own + names.map { $0.lowercased() })
    }

    /// Whether a `Host` header, `name:port`, names this page.
    func allows(_ header: String) -> Bool {
        guard let host = HostNames.host(header) else { return false }
        return HostNames.isNumeric(host) || names.contains(host.lowercased())
    }

    /// The host in `host:port` or `host`, without the brackets of IPv6; `nil` if it is malformed.
    static func host(_ header: String) -> String? {
        if header.hasPrefix("[") {
            guard let end = header.firstIndex(of: "]") else { return nil }
            let rest = header[header.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil else { return nil }
            return String(header[header.index(after: header.startIndex)..<end])
        }
        let parts = header.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty, parts.count == 1 || UInt16(parts[1]) != nil else { return nil }
        // A name may end with the dot of the root.
        return String(parts[0].hasSuffix(".") ? parts[0].dropLast() : parts[0])
    }

    /// Whether it is a numeric address: inet_pton(3).
    private static func isNumeric(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }
}
