internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// `jostle fleet enroll`, `revoke` and `replace`: boards as users of the broker.
extension FleetCommand {
    private static let directoryOptions = [
        Option("to", value: "DIR", help: "the directory of the files; enrolment by default"),
        Option("passwords", value: "FILE", help: "the password file of the broker; DIR/passwords by default"),
    ]

    private static let boardOptions =
        directoryOptions + [
            Option("template", value: "FILE", help: "the configuration that all boards have in common"),
            Option(
                "board-broker", value: "URLS",
                help: "the broker for the board, if the template has none: URL or URL,URL"),
            Option("ca", value: "FILE", help: "the certificate authority of the broker, for mqtts"),
        ]

    private static let form = """
        The directory gets passwords, a password file for mosquitto, and for each board a directory ID with jostle.yaml and
        password, and with both for the first start: user-data and meta-data for cloud-init, and ID.tar to unpack in /.
        The files are secret. Keep them out of Git.
        """

    static let enrollUsage = CommandUsage(
        name: "fleet enroll", summary: "make user, password and first-start files of a new board", details: form,
        operands: [Operand("ID", help: "the id of the board, which is its user name too")],
        options: boardOptions + [
            Option("groups", value: "LIST", help: "the groups of the board: a,b"),
            Option("force", help: "give a board that is enrolled a new password; its configuration stays"),
        ])

    static let revokeUsage = CommandUsage(
        name: "fleet revoke", summary: "take a board's user away, so that the broker admits it no longer",
        operands: [Operand("ID", help: "the id of the board")], options: directoryOptions)

    static let replaceUsage = CommandUsage(
        name: "fleet replace", summary: "let a new board take the place of another one, with its groups and its layer",
        details: """
            Enrolls the new board, publishes the groups and the layer of the old one for it, and takes the user of the old
            one away. For a new board with the same id, use jostle fleet enroll ID --force.

            \(form)
            """,
        operands: [
            Operand("OLD", help: "the id of the board that goes"),
            Operand("NEW", help: "the id of the board that comes"),
        ],
        options: boardOptions + FleetOptions.publishing + FleetOperation.options)

    // MARK: Commands

    static func enroll(_ arguments: Arguments) throws {
        let id = try boardID(arguments, 0)
        let groups = arguments.value("groups")?.split(separator: ",").map(String.init) ?? []
        for group in groups { try FleetOptions.check(group: group) }
        let files = files(arguments)
        try files.check([id])
        let isAgain = arguments.has("force")
        guard try !files.passwords().has(id) || isAgain else { throw EnrolmentFiles.isEnrolled(id) }
        let former = isAgain ? files.directory(of: id) : nil
        try files.add(try enrolment(id, groups, arguments, former: former), replacesUser: isAgain)
        FleetNames.keep(id, isEnrolled: true, stateDirectory: Configuration.stateDirectory)
        Output.line("\(files.directory(of: id)): made")
        try describeBroker(files)
    }

    static func revoke(_ arguments: Arguments) throws {
        let id = try boardID(arguments, 0)
        let files = files(arguments)
        try files.check([id])
        try files.remove(id)
        FleetNames.keep(id, isEnrolled: false, stateDirectory: Configuration.stateDirectory)
        Output.line("\(id): removed")
        try describeBroker(files)
        Output.line("then: jostle fleet forget \(id) --force")
    }

    static func replace(_ arguments: Arguments) throws {
        let old = try boardID(arguments, 0)
        let new = try boardID(arguments, 1)
        guard old != new else {
            throw Failure(.usage, "OLD and NEW are the same; for a new password: jostle fleet enroll \(new) --force")
        }
        let files = files(arguments)
        try files.check([old, new])
        let passwords = try files.passwords()
        guard passwords.has(old) else { throw files.hasNoUser(old) }
        guard !passwords.has(new) else { throw EnrolmentFiles.isEnrolled(new) }
        let documents: [FleetDocumentID] = [.device(old), .registry(old), .device(new), .registry(new)]
        let operation = try FleetOperation(arguments, documents: documents)
        let model = operation.model
        for id in documents { _ = try FleetEdit.nextRevision(of: id, in: model) }
        let groups = model.groups(of: old)
        let enrolment = try enrolment(new, groups, arguments)
        var drafts: [(FleetDocumentID, DocumentDraft)] = []
        if let layer = model.documents[.device(old)]?.layer {
            if model.documents[.device(old)]?.rollout != nil {
                throw Failure(.badData, "device:\(old) is in a rollout: finish it, or withdraw it, first")
            }
            drafts.append(
                (.device(new), DocumentDraft(config: layer.config, ignoresUnknownKeys: layer.ignoresUnknownKeys)))
        }
        if model.documents[.registry(old)]?.registry != nil {
            drafts.append((.registry(new), DocumentDraft(groups: groups)))
        }
        let (changes, unchanged) = try changes(drafts, model)
        try operation.publish(changes, unchanged: unchanged, note: operation.note ?? "replaces \(old)")
        guard !operation.isDryRun else { return }
        try files.add(enrolment, replacesUser: false)
        FleetNames.keep(new, isEnrolled: true, stateDirectory: Configuration.stateDirectory)
        try files.remove(old)
        FleetNames.keep(old, isEnrolled: false, stateDirectory: Configuration.stateDirectory)
        Output.line("\(files.directory(of: new)): made; \(old): removed")
        try describeBroker(files)
        Output.line("then: jostle fleet forget \(old) --force")
    }

    // MARK: Parts

    private static func files(_ arguments: Arguments) -> EnrolmentFiles {
        EnrolmentFiles(arguments.value("to") ?? "enrolment", passwordFile: arguments.value("passwords"))
    }

    /// The drafts that are to be published, and the documents that the broker holds already.
    ///
    /// - Throws: status 65 if one of the new board's documents has something else.
    private static func changes(
        _ drafts: [(FleetDocumentID, DocumentDraft)], _ model: FleetModel
    ) throws -> (changes: [FleetChange], unchanged: [FleetDocumentID]) {
        var changes: [FleetChange] = []
        var unchanged: [FleetDocumentID] = []
        for (id, draft) in drafts {
            let stored = model.documents[id]
            if stored?.hasContent(of: draft) == true {
                unchanged.append(id)
                continue
            }
            let isEmpty = stored?.layer.map { $0.config == .object([]) } ?? stored?.registry?.groups.isEmpty
            guard isEmpty != false else {
                throw Failure(
                    .badData,
                    "\(id.text) exists already, with something else than the old board's (jostle fleet get \(id.text))")
            }
            changes.append(FleetChange(id, draft, RevisionPlan(for: id, in: model)))
        }
        return (changes, unchanged)
    }

    private static func describeBroker(_ files: EnrolmentFiles) throws {
        if try !files.passwords().has("operator") {
            Output.warn(
                "\(files.passwordFile) has no user operator: if the broker has other users, begin with a copy of"
                    + " its file")
        }
        Output.line(
            "next, on the broker: give mosquitto \(files.passwordFile) as its password_file (owner root, group mosquitto,"
                + " mode 640), and systemctl reload mosquitto")
    }

    private static func boardID(_ arguments: Arguments, _ index: Int) throws -> String {
        let id = arguments.operand(index) ?? ""
        guard JostleSettings.Device.isID(id) else {
            throw Failure(.usage, "\"\(id)\" is not a device id: 1 … 64 letters, digits, _ and -")
        }
        guard !BoardEnrolment.reservedNames.contains(id) else {
            throw Failure(.usage, "\(id) is the name of a user that is no device")
        }
        guard !EnrolmentFiles.reservedNames.contains(id) else {
            throw Failure(.usage, "\(id) is the name of a file in the directory of the enrolment")
        }
        return id
    }

    /// The enrolment of a board. What the options do not say is as in the directory `former` of an earlier enrolment.
    private static func enrolment(
        _ id: String, _ groups: [String], _ arguments: Arguments, former: String? = nil
    ) throws -> BoardEnrolment {
        func formerFile(_ name: String) -> String? {
            former.map { "\($0)/\(name)" }.flatMap { DirectoryContents.permissions($0) == nil ? nil : $0 }
        }
        var template = JSONValue.object([])
        if let path = arguments.value("template") ?? formerFile("jostle.yaml") {
            let content = try bytes(of: path, "template")
            template = try YAMLReader.read(content, source: .file(path))
        }
        let brokers = arguments.value("board-broker")?.split(separator: ",").map(String.init) ?? []
        let authority = try (arguments.value("ca") ?? formerFile("ca.pem")).map { path throws in
            let content = try bytes(of: path, "ca")
            if let problem = BoardEnrolment.problem(ofAuthority: content) {
                throw Failure(.badData, "--ca: \(path) \(problem)")
            }
            return content
        }
        let enrolment = BoardEnrolment(
            id: id, groups: groups, template: template, brokers: brokers, authority: authority)
        do {
            try enrolment.check()
        } catch {
            throw Failure(.badData, lines: "\(error)".split(separator: "\n").map(String.init))
        }
        guard enrolment.config["mqtt"]?["broker"] != nil else {
            throw Failure(.usage, "the board needs a broker: mqtt.broker in --template FILE, or --board-broker URL")
        }
        return enrolment
    }

    /// The content of the file of an option: at most 1 MiB.
    private static func bytes(of path: String, _ option: String) throws -> [UInt8] {
        let limit = 1 << 20
        let bytes = try Failure.about("--\(option): \(path)", .noInput) {
            try FileContents.bytes(of: path, limit: limit + 1)
        }
        guard bytes.count <= limit else {
            throw Failure(.badData, "--\(option): \(path): is longer than \(limit) bytes")
        }
        return bytes
    }
}

/// The directory of `jostle fleet enroll`, with a directory for each board, and the password file of the broker.
struct EnrolmentFiles {
    private let root: String
    let passwordFile: String

    /// The longest password file, bytes: several times what all boards of a fleet need.
    private static let maximumBytes = 64 << 20

    /// Names that boards cannot have, because the directory contains something else of this name.
    static let reservedNames = ["passwords"]

    /// `passwordFile` is by default in the directory.
    init(_ path: String, passwordFile: String? = nil) {
        var root = path
        while root.count > 1, root.hasSuffix("/") { root.removeLast() }
        self.root = root
        self.passwordFile = passwordFile ?? "\(root)/passwords"
    }

    func directory(of id: String) -> String { "\(root)/\(id)" }

    // MARK: Safety

    /// Refuses directories in which others could take the secrets of boards, or lead them elsewhere.
    ///
    /// - Throws: status 73.
    func check(_ boards: [String]) throws {
        let directories = [root] + boards.map(directory) + [FileContents.parts(of: passwordFile).directory]
        for (index, path) in directories.enumerated() {
            guard let danger = FileContents.danger(ofDirectory: path) else { continue }
            var message =
                "\(danger.part): \(danger.reason); passwords are only written into a directory of your own, to which nobody else may write"
            if danger.isMode {
                message += "; run chmod go-w \(danger.part)"
            } else if geteuid() == 0, getenv("SUDO_UID") != nil {
                let option = index == directories.count - 1 ? "--passwords" : "--to"
                message += "; with sudo, name one of root's with \(option)"
            }
            throw Failure(.cannotCreate, message)
        }
        guard !DirectoryContents.isLink(passwordFile) else {
            throw Failure(.cannotCreate, "\(passwordFile): is a symbolic link; name the file itself with --passwords")
        }
    }

    // MARK: Passwords

    /// The users of the broker; none if there is no password file.
    ///
    /// - Throws: status 66 if it cannot be read, 65 if it is too long.
    func passwords() throws -> MosquittoPasswords {
        let bytes: [UInt8]
        do {
            bytes = try FileContents.bytes(of: passwordFile, limit: EnrolmentFiles.maximumBytes + 1)
        } catch {
            guard error.isMissing else { throw Failure(.noInput, "\(passwordFile): \(error)") }
            return MosquittoPasswords("")
        }
        guard bytes.count <= EnrolmentFiles.maximumBytes else {
            throw Failure(.badData, "\(passwordFile): is longer than \(EnrolmentFiles.maximumBytes) bytes")
        }
        return MosquittoPasswords(String(decoding: bytes, as: UTF8.self))
    }

    /// Reads the password file, changes it and writes it. A lock keeps others out meanwhile.
    ///
    /// - Throws: status 73 if the file cannot be locked or written, and what `change` throws.
    private func changePasswords(_ change: (inout MosquittoPasswords) throws -> Void) throws {
        // The lock is not on the file itself, which is replaced.
        let path = "\(passwordFile).lock"
        let lock = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Failure(.cannotCreate, "\(path): \(SystemFailure(code: errno))") }
        defer { close(lock) }
        while flock(lock, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(.cannotCreate, "\(path): \(SystemFailure(code: errno))") }
        }
        var passwords = try passwords()
        try change(&passwords)
        try write(Array(passwords.text.utf8), to: passwordFile, keepsMode: true)
    }

    // MARK: Boards

    /// Writes the files of a board, and then its user.
    ///
    /// - Throws: status 73 if there is such a user and it must not be replaced, or if a file cannot be written.
    func add(_ board: BoardEnrolment, replacesUser: Bool) throws {
        let directory = directory(of: board.id)
        for path in [root, directory] {
            try Failure.about(path, .cannotCreate) { try FileContents.makePrivateDirectory(path) }
        }
        // Again: what was made since is perhaps somebody else's.
        try check([board.id])
        try changePasswords { passwords throws in
            guard replacesUser || !passwords.has(board.id) else { throw EnrolmentFiles.isEnrolled(board.id) }
            guard passwords.set(board.id, password: board.password) else {
                throw Failure(.system, "OpenSSL has no SHA-512")
            }
            var contents = [
                ("jostle.yaml", Array(board.configText.utf8)), ("password", Array("\(board.password)\n".utf8)),
                ("user-data", Array(board.userData.utf8)), ("meta-data", Array(board.metaData.utf8)),
                ("\(board.id).tar", board.archive(at: time(nil))),
            ]
            if let authority = board.authority { contents.append(("ca.pem", authority)) }
            for (name, bytes) in contents { try write(bytes, to: "\(directory)/\(name)") }
        }
    }

    /// Why a board is not enrolled again.
    static func isEnrolled(_ id: String) -> Failure {
        Failure(.cannotCreate, "\(id) is enrolled already; jostle fleet enroll \(id) --force gives it a new password")
    }

    /// Takes the user away, and deletes the files of the board.
    ///
    /// - Throws: status 69 if there is no such user, 73 if the password file cannot be written.
    func remove(_ id: String) throws {
        // Before the lock, whose file would make an empty directory look like an enrolment.
        guard try passwords().has(id) else { throw hasNoUser(id) }
        try changePasswords { passwords throws in
            guard passwords.has(id) else { throw hasNoUser(id) }
            passwords.remove(id)
        }
        FileContents.removeDirectory(directory(of: id))
    }

    func hasNoUser(_ id: String) -> Failure {
        Failure(.unavailable, "\(passwordFile) has no user \(id)")
    }

    /// Writes a file that only this user can read; with `keepsMode`, one that exists keeps owner and permissions.
    private func write(_ bytes: [UInt8], to path: String, keepsMode: Bool = false) throws {
        try Failure.about(path, .cannotCreate) {
            try FileContents.replace(path, with: bytes, mode: 0o600, keepsMode: keepsMode)
        }
    }
}
