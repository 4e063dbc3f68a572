internal import Glibc
internal import JostleCommandLine

/// How to open the web page of a demonstration: where its address leads to, and what to do first over SSH.
struct PageInvitation: Equatable {
    /// The address with which one browser signs in.
    let address: String
    /// The command for the reader's own machine, if this one is reached over SSH; `nil` for a browser here.
    let tunnel: String?

    /// `connection` is `$SSH_CONNECTION`: the address and port of the client, and those of this machine.
    init(address: String, connection: String?, user: String?) {
        self.address = address
        let words = (connection ?? "").split(separator: " ").map(String.init)
        let port = address.split(separator: "/").dropFirst().first?.split(separator: ":").last.flatMap { UInt16($0) }
        guard words.count == 4, let port, let sshPort = UInt16(words[3]), PageInvitation.isNumeric(words[2]) else {
            tunnel = nil
            return
        }
        let option = sshPort == 22 ? "" : "-p \(sshPort) "
        tunnel = "ssh \(option)-L \(port):127.0.0.1:\(port) \(user.map { "\($0)@" } ?? "")\(words[2])"
    }

    /// For this process.
    init(address: String) {
        self.init(
            address: address, connection: Configuration.variable("SSH_CONNECTION"),
            user: getpwuid(getuid()).map { String(cString: $0.pointee.pw_name) })
    }

    /// The parts in the order in which they are read: what to do, and with what.
    var steps: [(title: String, text: String)] {
        guard let tunnel else { return [("Web page: open this in a browser on this machine", address)] }
        return [
            ("Web page: on your own computer, run", tunnel),
            ("and open this in a browser there", address),
        ]
    }

    /// Whether a text is a numeric address, and nothing that a shell would take for something else.
    private static func isNumeric(_ text: String) -> Bool {
        text.allSatisfy { $0.isASCII && ($0.isHexDigit || $0 == "." || $0 == ":") }
    }
}
