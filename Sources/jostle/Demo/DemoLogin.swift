internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// The login with which programs of this user reach the private broker of a demonstration: nobody else on the machine can
/// command its agent.
struct DemoLogin {
    private static let userName = "demo"

    /// The directory of its files, which only this user can enter.
    private let directory: String

    /// The file whose first line is the password.
    private var passwordFile: String { "\(directory)/password" }

    /// Makes a password and writes its files into a directory that only this user can enter.
    ///
    /// - Throws: status 73 if they cannot be written.
    init(in directory: String) throws {
        self.directory = directory
        let password = BoardEnrolment.newPassword()
        let options = "-u \(DemoLogin.userName)\n-P \(password)\n"
        let files = ["password": "\(password)\n", "mosquitto_sub": options, "mosquitto_pub": options]
        for (name, text) in files {
            try Failure.about("\(directory)/\(name)", .cannotCreate) {
                try FileContents.create("\(directory)/\(name)", with: Array(text.utf8), mode: 0o600)
            }
        }
    }

    /// Makes an agent use it, and the broker that it starts ask for it.
    func apply(to mqtt: inout JostleSettings.MQTT) {
        (mqtt.username, mqtt.passwordFile) = (DemoLogin.userName, passwordFile)
    }

    /// The settings with which another program uses it: `key=value`.
    var settings: [String] { ["mqtt.username=\(DemoLogin.userName)", "mqtt.password_file=\(passwordFile)"] }

    /// What precedes mosquitto_sub or mosquitto_pub, which read options from a file of their name: on the command line every
    /// user would see a password.
    var environment: String {
        // The files are those of root then.
        let usesSudo = geteuid() == 0 && Configuration.variable("SUDO_USER") != nil
        return (usesSudo ? "sudo " : "") + "XDG_CONFIG_HOME=\(directory) "
    }

    /// How a person logs in with other programs.
    var description: String { "\(DemoLogin.userName), with the password in \(passwordFile)" }
}
