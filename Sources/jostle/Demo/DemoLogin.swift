internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// The login with which programs of this user reach the private broker of a demonstration: nobody else on the machine can
/// command its agent.
struct DemoLogin {
    private let userName: String

    /// The directory of its files, which only this user can enter.
    private let directory: String

    /// The file whose first line is the password.
    private var passwordFile: String { "\(directory)/password" }

    /// Writes its files into a directory that only this user can enter. What `settings` do not say, it makes.
    ///
    /// - Throws: status 78 if the files of `settings` cannot be read, 73 if its own cannot be written.
    init(in directory: String, _ settings: JostleSettings) throws {
        self.directory = directory
        let login = try settings.login()
        userName = login?.userName ?? "demo"
        let password = login?.password ?? BoardEnrolment.newPassword()
        let options = "-u \(userName)\n-P \(password)\n"
        let files = ["password": "\(password)\n", "mosquitto_sub": options, "mosquitto_pub": options]
        for (name, text) in files {
            try Failure.about("\(directory)/\(name)", .cannotCreate) {
                try FileContents.create("\(directory)/\(name)", with: Array(text.utf8), mode: 0o600)
            }
        }
    }

    /// Makes an agent use it, and the broker that it starts ask for it.
    func apply(to mqtt: inout JostleSettings.MQTT) {
        (mqtt.username, mqtt.passwordFile) = (userName, passwordFile)
    }

    /// The settings with which another program uses it: `key=value`.
    var settings: [String] { ["mqtt.username=\(userName)", "mqtt.password_file=\(passwordFile)"] }

    /// What precedes mosquitto_sub or mosquitto_pub, which read options from a file of their name: on the command line every
    /// user would see a password.
    var environment: String { "\(privilege)XDG_CONFIG_HOME=\(DemoLogin.word(directory)) " }

    /// What precedes a command that reads the files: with sudo they are those of root.
    var privilege: String { geteuid() == 0 && Configuration.variable("SUDO_USER") != nil ? "sudo " : "" }

    /// A word as it is typed in a shell.
    static func word(_ text: String) -> String {
        let isPlain = text.allSatisfy { $0.isLetter || $0.isNumber || "/._-=".contains($0) }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }

    /// How a person logs in with other programs.
    var description: String { "\(userName), with the password in \(passwordFile)" }
}
