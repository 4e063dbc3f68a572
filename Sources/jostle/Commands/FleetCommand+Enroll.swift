internal import Glibc
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// `jostle fleet enroll`, `revoke` and `replace`: boards as users of the broker.
extension FleetCommand {
    private static let directory = CommandUsage.Option(
        name: "to", value: "DIR", help: "the directory of the files; enrolment by default")

    private static let boardOptions = [
        directory,
        CommandUsage.Option(name: "template", value: "FILE", help: "the configuration that all boards have in common"),
        CommandUsage.Option(
            name: "board-broker", value: "URLS",
            help: "the broker for the board, if the template has none: URL or URL,URL"),
        CommandUsage.Option(name: "ca", value: "FILE", help: "the certificate authority of the broker, for mqtts"),
    ]

    private static let form = """
        The directory gets passwords, a password file for mosquitto, and for each board a directory ID with jostle.yaml and
        password, and with both for the first start: user-data and meta-data for cloud-init, and ID.tar to unpack in /.
        The files are secret. Keep them out of Git.
        """

    static let enrollUsage = CommandUsage(
        name: "fleet enroll", summary: "make user, password and first-start files of a new board", details: form,
        operands: [CommandUsage.Operand(name: "ID", help: "the id of the board, which is its user name too")],
        options: boardOptions + [
            CommandUsage.Option(name: "groups", value: "LIST", help: "the groups of the board: a,b"),
            CommandUsage.Option(name: "force", help: "give a board that is enrolled a new password"),
        ])

    static let revokeUsage = CommandUsage(
        name: "fleet revoke", summary: "take a board's user away, so that the broker admits it no longer",
        operands: [CommandUsage.Operand(name: "ID", help: "the id of the board")], options: [directory])

    static let replaceUsage = CommandUsage(
        name: "fleet replace", summary: "let a new board take the place of another one, with its groups and its layer",
        details: """
            Enrolls the new board, publishes the groups and the layer of the old one for it, and takes the user of the old
            one away. For a new board with the same id: jostle fleet enroll ID --force.

            \(form)
            """,
        operands: [
            CommandUsage.Operand(name: "OLD", help: "the id of the board that goes"),
            CommandUsage.Operand(name: "NEW", help: "the id of the board that comes"),
        ],
        options: boardOptions + FleetOptions.publishing + FleetConnection.options)

    // MARK: Commands

    static func enroll(_ arguments: Arguments) throws(CommandFailure) {
        let id = try boardID(arguments, 0)
        let groups = arguments.value("groups")?.split(separator: ",").map(String.init) ?? []
        for group in groups { try FleetOptions.check(group: group) }
        var files = try EnrolmentFiles(arguments.value("to") ?? "enrolment")
        guard !files.passwords.has(id) || arguments.has("force") else {
            throw CommandFailure(.cannotCreate, "\(id) is enrolled already; --force gives it a new password")
        }
        try files.add(try enrolment(id, groups, arguments))
        Output.line("\(files.directory(of: id)): made")
        describeBroker(files)
    }

    static func revoke(_ arguments: Arguments) throws(CommandFailure) {
        let id = try boardID(arguments, 0)
        var files = try EnrolmentFiles(arguments.value("to") ?? "enrolment")
        guard files.passwords.has(id) else {
            throw CommandFailure(.unavailable, "\(files.passwordFile) has no user \(id)")
        }
        try files.remove(id)
        Output.line("\(id): removed")
        describeBroker(files)
        Output.line("then: jostle fleet forget \(id) --force")
    }

    static func replace(_ arguments: Arguments) throws(CommandFailure) {
        let old = try boardID(arguments, 0)
        let new = try boardID(arguments, 1)
        guard old != new else {
            throw CommandFailure(
                .usage, "OLD and NEW are the same; for a new password: jostle fleet enroll \(new) --force")
        }
        let manner = try FleetRun.Manner(arguments)
        let note = try FleetOptions.note(arguments) ?? "replaces \(old)"
        var files = try EnrolmentFiles(arguments.value("to") ?? "enrolment")
        guard files.passwords.has(old) else {
            throw CommandFailure(.unavailable, "\(files.passwordFile) has no user \(old)")
        }
        guard !files.passwords.has(new) else { throw CommandFailure(.cannotCreate, "\(new) is enrolled already") }
        let connection = try FleetConnection.open(arguments)
        try connection.complete([.device(old), .registry(old), .device(new), .registry(new)])
        let model = connection.model
        let groups = model.groups(of: old)
        let enrolment = try enrolment(new, groups, arguments)
        var changes: [FleetRun.Change] = []
        let (author, now) = (FleetConnection.author, FleetConnection.now)
        if let layer = model.documents[.device(old)]?.layer {
            let draft = DocumentDraft(
                config: JSONValue(layer.config), ignoresUnknownKeys: layer.ignoresUnknownKeys, by: author, at: now,
                note: note)
            changes.append(
                .init(document: .device(new), draft: draft, revision: RevisionPlan(for: .device(new), in: model)))
        }
        if model.documents[.registry(old)]?.registry != nil {
            let draft = DocumentDraft(groups: groups, by: author, at: now, note: note)
            changes.append(
                .init(document: .registry(new), draft: draft, revision: RevisionPlan(for: .registry(new), in: model)))
        }
        try FleetRun.publish(changes, connection, manner)
        guard !manner.isDryRun else { return }
        try files.add(enrolment)
        try files.remove(old)
        Output.line("\(files.directory(of: new)): made; \(old): removed")
        describeBroker(files)
        Output.line("then: jostle fleet forget \(old) --force")
    }

    // MARK: Parts

    private static func describeBroker(_ files: EnrolmentFiles) {
        Output.line("next: copy \(files.passwordFile) to the broker and reload it (systemctl reload mosquitto)")
    }

    private static func boardID(_ arguments: Arguments, _ index: Int) throws(CommandFailure) -> String {
        let id = arguments.operand(index) ?? ""
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "\"\(id)\" is not a device id: 1 … 64 letters, digits, _ and -")
        }
        guard !BoardEnrolment.reservedNames.contains(id) else {
            throw CommandFailure(.usage, "\(id) is the name of a user that is no device")
        }
        return id
    }

    private static func enrolment(
        _ id: String, _ groups: [String], _ arguments: Arguments
    ) throws(CommandFailure) -> BoardEnrolment {
        var template = JSONValue.object([])
        if let path = arguments.value("template") {
            let content = try bytes(of: path, "template")
            do throws(ConfigurationProblem) {
                template = JSONValue(yaml: try YAMLReader.read(content, source: .file(path)))
            } catch {
                throw CommandFailure(.badData, "\(error)")
            }
        }
        let brokers = arguments.value("board-broker")?.split(separator: ",").map(String.init) ?? []
        let authority = try arguments.value("ca").map { path throws(CommandFailure) in try bytes(of: path, "ca") }
        let enrolment = BoardEnrolment(
            id: id, groups: groups, template: template, brokers: brokers, authority: authority)
        do throws(ConfigurationErrors) {
            try enrolment.check()
        } catch {
            throw CommandFailure(.badData, lines: "\(error)".split(separator: "\n").map(String.init))
        }
        guard case .object(let members) = enrolment.config,
            case .object(let mqtt)? = members.first(where: { $0.name == "mqtt" })?.value,
            mqtt.contains(where: { $0.name == "broker" })
        else {
            throw CommandFailure(
                .usage, "the board needs a broker: mqtt.broker in --template FILE, or --board-broker URL")
        }
        return enrolment
    }

    private static func bytes(of path: String, _ option: String) throws(CommandFailure) -> [UInt8] {
        do throws(SystemFailure) {
            return try FileContents.bytes(of: path, limit: 1 << 20)
        } catch {
            throw CommandFailure(.noInput, "--\(option): \(path): \(error)")
        }
    }
}
