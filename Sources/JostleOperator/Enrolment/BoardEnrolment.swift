internal import Cryptography
package import Documents
internal import JostleConfiguration
internal import LinuxSystem

/// What a new board needs: its configuration, its password, and these as files for its first start.
package struct BoardEnrolment: Equatable, Sendable {
    package let id: String
    /// The configuration in `/etc/jostle/jostle.yaml`.
    package let config: JSONValue
    package let password: String
    /// The certificates of the authority that signed the broker's, if it is a private one.
    package let authority: [UInt8]?

    /// Names of users that are no devices: see docs/broker.md.
    package static let reservedNames = ["operator", "homeassistant", "page", "watch"]

    private static let directory = "/etc/jostle"

    /// What is wrong with a file of certificates; `nil` if it can be given to boards.
    package static func problem(ofAuthority bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        // Next to the certificate, openssl leaves the key, and often both in one file.
        if text.contains(text: "PRIVATE KEY-----") { return "contains a private key, which boards must not get" }
        return text.contains(text: "-----BEGIN CERTIFICATE-----") ? nil : "has no certificate (PEM)"
    }

    /// Prepares a board. The template is what all boards have in common, such as `mqtt.broker` and `fleet.trusted_keys`;
    /// `brokers` replaces its `mqtt.broker`, unless it is empty.
    package init(
        id: String, groups: [String], template: JSONValue = .object([]), brokers: [String] = [],
        authority: [UInt8]? = nil,
        password: String = BoardEnrolment.newPassword()
    ) {
        var config = template
        func set(_ path: [String], _ value: JSONValue) {
            config = BoardEnrolment.setting(path[...], to: value, in: config)
        }
        set(["device", "id"], .string(id))
        if !groups.isEmpty { set(["device", "groups"], .array(groups.map { .string($0) })) }
        if !brokers.isEmpty {
            set(["mqtt", "broker"], brokers.count == 1 ? .string(brokers[0]) : .array(brokers.map { .string($0) }))
        }
        set(["mqtt", "username"], .string(id))
        set(["mqtt", "password_file"], .string("\(BoardEnrolment.directory)/password"))
        if authority != nil { set(["mqtt", "ca_file"], .string("\(BoardEnrolment.directory)/ca.pem")) }
        self.id = id
        self.config = config
        self.password = password
        self.authority = authority
    }

    /// 144 random bits as 24 letters, digits, `-` and `_`.
    package static func newPassword() -> String {
        String(Base64.encode(RandomBytes.make(18)).map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
    }

    private static func setting(_ path: ArraySlice<String>, to value: JSONValue, in node: JSONValue) -> JSONValue {
        guard let key = path.first else { return value }
        var members = node.members ?? []
        let index = members.firstIndex { $0.name == key }
        let inner = setting(path.dropFirst(), to: value, in: index.map { members[$0].value } ?? .object([]))
        if let index { members[index].value = inner } else { members.append(.init(key, inner)) }
        return .object(members)
    }

    /// Checks the configuration as the board will.
    ///
    /// - Throws: all problems, with the keys.
    package func check() throws {
        var builder = ConfigurationBuilder()
        builder.apply(config.placed(at: DocumentPosition(.file("jostle.yaml"))))
        _ = try builder.finish()
    }

    // MARK: Files

    /// The configuration as a file.
    package var configText: String {
        guard let members = config.members else { return "" }
        return YAMLText.file(members)
    }

    /// The files of the board. The password is for the agent's user only, which may not exist before the program is
    /// installed: systemd-tmpfiles(8) changes the group at each start of the board.
    private var files: [TarArchive.File] {
        let password = "\(BoardEnrolment.directory)/password"
        var files = [
            TarArchive.File(
                path: "etc/jostle/jostle.yaml", content: Array(configText.utf8), mode: 0o644),
            TarArchive.File(
                path: "etc/jostle/password", content: Array("\(self.password)\n".utf8), mode: 0o640, group: "jostle"),
            TarArchive.File(
                path: "etc/tmpfiles.d/jostle-password.conf",
                content: Array(
                    "# The agent reads the password of its broker.\nz \(password) 0640 root jostle -\n".utf8),
                mode: 0o644),
        ]
        if let authority { files.append(TarArchive.File(path: "etc/jostle/ca.pem", content: authority, mode: 0o644)) }
        return files
    }

    /// An archive to unpack in the root directory of the board, as root.
    package func archive(at time: Int) -> [UInt8] { TarArchive.bytes(of: files, at: time) }

    /// The user data of cloud-init, for the first start of the board.
    package var userData: String {
        var lines = [
            "#cloud-config", "# The first start of \(id). It contains the password of the board.", "write_files:",
        ]
        for file in files {
            lines += [
                "  - path: /\(file.path)", "    permissions: '\(file.group == "root" ? "0644" : "0600")'",
                "    encoding: b64", "    content: \(Base64.encode(file.content))",
            ]
        }
        lines += [
            "runcmd:", "  - [systemd-tmpfiles, --create, /etc/tmpfiles.d/jostle-password.conf]",
            "  - [systemctl, try-restart, jostle]",
            "  # Everybody on the board can read its boot partition: the password must not stay there.",
            "  - [sh, -c, 'for f in /boot/firmware/user-data /boot/user-data; do [ ! -e $f ] || echo \"#cloud-config\" > $f; done']",
        ]
        return lines.map { "\($0)\n" }.joined()
    }

    /// The meta data of cloud-init. A new instance makes it run again.
    package var metaData: String {
        "instance-id: jostle-\(id)-\(SHA256Digest(of: userData.utf8).hexadecimal.prefix(8))\n"
    }
}

/// A tar archive in the format ustar (POSIX.1-1988), with files of an owner and a group by name.
package struct TarArchive: Sendable {
    /// A file in the archive.
    package struct File: Equatable, Sendable {
        /// The path, at most 100 bytes, without a slash at its beginning.
        package var path: String
        package var content: [UInt8]
        package var mode: Int
        /// The names of owner and group, which may be empty; tar(1) uses `root` where there is none.
        package var owner: String
        package var group: String

        package init(path: String, content: [UInt8], mode: Int, owner: String = "root", group: String = "root") {
            self.path = path
            self.content = content
            self.mode = mode
            self.owner = owner
            self.group = group
        }
    }

    private static let block = 512

    /// Writes an archive of files with this time, seconds since 1970.
    package static func bytes(of files: [File], at time: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for file in files {
            bytes += header(of: file, at: time) + file.content
            bytes += [UInt8](repeating: 0, count: (block - file.content.count % block) % block)
        }
        // Two empty blocks are the end.
        return bytes + [UInt8](repeating: 0, count: 2 * block)
    }

    private static func header(of file: File, at time: Int) -> [UInt8] {
        var header = [UInt8](repeating: 0, count: block)
        func put(_ text: String, at offset: Int) {
            header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
        }
        func octal(_ number: Int, digits: Int) -> String {
            let text = String(number, radix: 8)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
        put(String(decoding: file.path.utf8.prefix(100), as: UTF8.self), at: 0)
        put(octal(file.mode, digits: 7), at: 100)
        put(octal(0, digits: 7), at: 108)
        put(octal(0, digits: 7), at: 116)
        put(octal(file.content.count, digits: 11), at: 124)
        put(octal(time, digits: 11), at: 136)
        // The checksum is computed with spaces in its place.
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar", at: 257)
        put("00", at: 263)
        put(file.owner, at: 265)
        put(file.group, at: 297)
        let sum = header.reduce(0) { $0 + Int($1) }
        put(octal(sum, digits: 6) + "\0 ", at: 148)
        return header
    }
}
