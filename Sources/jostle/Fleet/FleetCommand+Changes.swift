internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// `jostle fleet set`, `unset` and `get`: the keys of a layer.
extension FleetCommand {
    static let setUsage = CommandUsage(
        name: "fleet set", summary: "set keys for all devices, for groups or for single devices",
        details: """
            The values are merged into the layer that the broker holds, and published as its next revision. A value is
            written as with --set; null takes away the value of lower layers. The command waits until the devices that
            are online have taken the layer over, and names those that have not (exit status 75).

            \(RolloutOptions.details)
            """,
        operands: [Operand("KEY=VALUE", help: "for example gestures.shake.sensitivity=7", isRepeatable: true)],
        options: FleetOptions.selection + FleetOptions.publishing + RolloutOptions.options
            + [FleetEdit.unknownOption, FleetOptions.json] + FleetOperation.options)

    static let unsetUsage = CommandUsage(
        name: "fleet unset", summary: "remove keys from a layer, so that the layers below decide again",
        operands: [Operand("KEY", help: "a key or a section, for example gestures.shake", isRepeatable: true)],
        options: FleetOptions.selection + FleetOptions.publishing + RolloutOptions.options + [FleetOptions.json]
            + FleetOperation.options)

    static let getUsage = CommandUsage(
        name: "fleet get", summary: "print the keys of a layer as the broker holds it",
        operands: [Operand("KEY", help: "only this key or section", isRequired: false, isRepeatable: true)],
        options: FleetOptions.selection + [FleetOptions.json] + FleetOperation.options)

    static func set(_ arguments: Arguments) throws {
        try publish(try FleetEdit.edit(setting: arguments.operands(from: 0), unsetting: [], arguments), arguments)
    }

    static func unset(_ arguments: Arguments) throws {
        try publish(try FleetEdit.edit(setting: [], unsetting: arguments.operands(from: 0), arguments), arguments)
    }

    private static func publish(_ edit: LayerEdit, _ arguments: Arguments) throws {
        let selection = try FleetOptions.selection(arguments)
        let operation = try FleetOperation(arguments, mayRollOut: true)
        try operation.complete(selection.layers)
        let result = try FleetEdit.apply(edit, to: selection.layers, operation.model)
        if !operation.isJSON {
            for id in result.unchanged {
                let number = operation.model.documents[id]?.number
                Output.line("\(id.text): nothing to change\(number.map { " in revision \($0)" } ?? "")")
            }
        }
        FleetEdit.warnOfRefusals(result, operation.model)
        warnOfUnknownDevices(selection, operation.model)
        try operation.publish(result.changes, unchanged: result.unchanged)
    }

    /// A layer for a device that does not exist yet is in order, but more often the id is mistyped.
    private static func warnOfUnknownDevices(_ selection: FleetSelection, _ model: FleetModel) {
        guard case .devices(let ids) = selection else { return }
        for id in ids where model.boards[id] == nil && model.documents[.registry(id)] == nil {
            let suggestion = EditDistance.suggestion(for: id, among: model.allBoards.map(\.id).filter { $0 != id })
            Output.warn("the broker knows no device \(id) yet; its layer waits for it\(suggestion)")
        }
    }

    static func get(_ arguments: Arguments) throws {
        let selection = try FleetOptions.selection(arguments)
        let keys = arguments.operands(from: 0)
        let operation = try FleetOperation(arguments)
        try operation.complete(selection.layers)
        for id in selection.layers {
            try FleetEdit.requireUsable(id, in: operation.model)
            let stored = operation.model.documents[id]
            let document = stored?.layer
            let values = document.map { leaves(of: $0.config, path: "") } ?? []
            let shown = values.filter { value in
                keys.isEmpty || keys.contains { value.key == $0 || value.key.hasPrefix("\($0).") }
            }
            guard !operation.isJSON else {
                let config = JSONValue.object(shown.map { .init($0.key, $0.value) })
                let head = stored.map { FleetJSON.document(id, $0) } ?? ["document": .string(id.text)]
                Output.json(head.adding(["config": config]))
                continue
            }
            if let envelope = document?.envelope {
                Output.line("# \(id.text), revision \(envelope.revision.number), \(FleetText.origin(envelope))")
            } else {
                Output.line("# \(id.text): none on the broker")
            }
            for value in shown { Output.line("\(value.key)=\(FleetText.value(value.value))") }
            if let candidate = document?.candidate {
                Output.line("# and a candidate for \(decimal(candidate.percent, 1)) % of the devices")
            }
        }
    }

    /// The values of a layer with their paths.
    static func leaves(of config: JSONValue, path: String) -> [(key: String, value: JSONValue)] {
        guard let members = config.members, path.isEmpty || !members.isEmpty else { return [(path, config)] }
        return members.flatMap { leaves(of: $0.value, path: path.isEmpty ? $0.name : "\(path).\($0.name)") }
    }
}

extension FleetText {
    /// A value as `jostle fleet set` takes it.
    static func value(_ value: JSONValue) -> String {
        guard let text = value.string, let first = text.first, !"[{\"'".contains(first), JSONValue(plain: text) == value
        else { return value.compactText }
        return text
    }
}

/// `jostle fleet apply` and `export`: a fleet's configuration as a directory of files.
extension FleetCommand {
    private static let form = """
        The directory has all.yaml, groups/GROUP.yaml, devices/ID.yaml and registry.yaml. A layer is written as in
        jostle.yaml; registry.yaml lists the groups of devices: washer-1: [laundry].
        """

    static let applyUsage = CommandUsage(
        name: "fleet apply", summary: "publish the configuration of a fleet from a directory of files",
        details: """
            \(form)

            Only documents that differ are published, under revisions above those of the broker and of the boards. So it
            also restores what a broker lost. Documents that are not in the directory are listed, and stay.

            \(RolloutOptions.details)
            """,
        operands: [Operand("DIRECTORY", help: "the directory of files")],
        options: [
            Option("check", help: "only check the files, without a broker"),
            Option("prune", help: "empty the layers and groups that are not in the directory"),
            Option(
                "document", value: "NAME",
                help: "only this one: all, group:GROUP, device:ID, or registry for all groups; may be repeated",
                isRepeatable: true, suggestions: .documents),
        ] + FleetOptions.publishing + RolloutOptions.options + [FleetEdit.unknownOption, FleetOptions.json]
            + FleetOperation.options)

    static let exportUsage = CommandUsage(
        name: "fleet export", summary: "write what the broker holds as files for jostle fleet apply",
        details: form,
        operands: [Operand("DIRECTORY", help: "an empty or a new directory")],
        options: [Option("force", help: "overwrite files in a directory that is not empty")]
            + FleetOperation.options)

    static func apply(_ arguments: Arguments) throws {
        let path = arguments.operand(0) ?? ""
        let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
        var directory = try FleetFiles.read(path, ignoresUnknownKeys: ignores ?? false)
        try arguments.exclude("prune", "document")
        try limit(&directory, to: arguments.values("document"))
        if arguments.has("prune"), directory.documents.isEmpty {
            throw Failure(
                .noInput,
                "\(path) has no file of a fleet, and --prune would empty everything: is it the right directory?")
        }
        if arguments.has("check") {
            _ = try FleetOptions.note(arguments)
            _ = try FleetOptions.waitingTime(arguments)
            let layers = FleetText.count(directory.layers.count, "layer")
            Output.line("\(path): valid, \(layers), groups of \(FleetText.count(directory.registry.count, "device"))")
            return
        }
        let operation = try FleetOperation(arguments, mayRollOut: true)
        try operation.complete(directory.documents)
        let plan = ApplyPlan(directory, operation.model, prunes: arguments.has("prune"), ignoresUnknownKeys: ignores)
        let showsRest = !arguments.has("prune") && !arguments.has("document")
        if !operation.isJSON { describe(plan, showsRest: showsRest) }
        try operation.publish(plan.items, unchanged: plan.unchanged)
    }

    /// Leaves only the named documents in a directory.
    private static func limit(_ directory: inout FleetDirectory, to names: [String]) throws {
        guard !names.isEmpty else { return }
        for name in names where name != "registry" {
            guard let id = FleetDocumentID(name), id.layer != nil else {
                throw Failure(.usage, "\"\(name)\" is no document: all, group:GROUP, device:ID, or registry")
            }
            guard directory.layers[id] != nil else {
                throw Failure(.noInput, "the directory has no file for \(name)")
            }
        }
        directory.keep(layers: names.compactMap { FleetDocumentID($0) }, registry: names.contains("registry"))
    }

    private static func describe(_ plan: ApplyPlan, showsRest: Bool) {
        for item in plan.items { Output.line("\(item.document.text): \(item.reason)") }
        if !plan.unchanged.isEmpty { Output.line("\(FleetText.count(plan.unchanged.count, "document")) unchanged") }
        for id in plan.candidates { Output.line("\(id.text): its candidate stays as it is") }
        guard showsRest, !plan.extra.isEmpty else { return }
        for id in plan.extra { Output.line("\(id.text): not in the directory; it stays (--prune empties it)") }
    }

    static func export(_ arguments: Arguments) throws {
        let operand = arguments.operand(0) ?? ""
        let path = operand.hasSuffix("/") && operand.count > 1 ? String(operand.dropLast()) : operand
        var present: [String] = []
        var former: [String] = []
        if DirectoryContents.exists(path) {
            present = try Failure.about(path, .cannotCreate) {
                try DirectoryContents.names(path).filter { !$0.hasPrefix(".") }
            }
            former = try Failure.with(.cannotCreate) { try FleetDirectory.names(at: path) }
        }
        if !present.isEmpty, !arguments.has("force") {
            throw Failure(.cannotCreate, "\(path) is not empty; --force overwrites the files in it")
        }
        let model = try FleetOperation(arguments).model
        for (id, stored) in model.documents.sorted(by: { $0.key < $1.key }) {
            if let problem = stored.problem { Output.warn("\(id.text) is unreadable: \(problem)") }
            guard let layer = stored.layer else { continue }
            if layer.ignoresUnknownKeys {
                Output.warn(
                    "\(id.text): boards leave out keys that they do not know; files do not say so. It stays so if "
                        + "you apply them, with --unknown ignore if this program does not know a key either")
            }
            if layer.candidate != nil { Output.warn("\(id.text): files do not hold its candidate") }
        }
        let files = FleetDirectory.files(of: model)
        FileContents.makeDirectories(path)
        for directory in ["groups", "devices"] where files.contains(where: { $0.name.hasPrefix("\(directory)/") }) {
            FileContents.makeDirectories("\(path)/\(directory)")
        }
        for file in files {
            try Failure.about("\(path)/\(file.name)", .cannotCreate) {
                try FileContents.replace("\(path)/\(file.name)", with: Array(file.text.utf8))
            }
        }
        let written = Set(files.map(\.name))
        for name in former where !written.contains(name) {
            Output.warn("\(path)/\(name) is not on the broker; it stays")
        }
        Output.line("\(path): \(FleetText.count(files.count, "file")) written")
    }
}

/// `jostle fleet rollback`: publishes an earlier document again.
extension FleetCommand {
    static let rollbackUsage = CommandUsage(
        name: "fleet rollback", summary: "publish the document before the present one again, under a new revision",
        details: """
            Every command of jostle fleet keeps the documents that it sees in the state directory of this machine.
            rollback goes back to the last one that differs from the present one.
            """,
        operands: [Operand("DOCUMENT", help: "all, group:GROUP, device:ID, registry:ID, or the topic")],
        options: [
            Option("to", value: "REVISION", help: "go back to this revision")
        ] + FleetOptions.publishing + [FleetOptions.json] + FleetOperation.options)

    static func rollback(_ arguments: Arguments) throws {
        let name = arguments.operand(0) ?? ""
        let number = try arguments.count("to", within: 1...Int(DocumentRevision.maximum)).map { Int64($0) }
        if FleetDocumentID(name) == nil, !name.contains("/") {
            throw Failure(.usage, "\"\(name)\" is no document: all, group:GROUP, device:ID, registry:ID, or a topic")
        }
        let operation = try FleetOperation(arguments)
        guard let id = FleetDocumentID(name) ?? FleetDocumentID(topic: name, operation.session.topics) else {
            let prefix = operation.session.topics.prefix
            throw Failure(.usage, "\"\(name)\" is no topic of a document under \(prefix)/")
        }
        try operation.complete([id])
        let present = operation.model.documents[id]
        let revisions = operation.revisions(of: id)
        let plan = RevisionPlan(for: id, in: operation.model)
        func isPresent(_ revision: StoredDocument) -> Bool {
            revision.draft.map { present?.hasContent(of: $0) ?? false } ?? false
        }
        // What this machine saw before the present one.
        let place = present.flatMap { revisions.firstIndex(of: $0) }
        let before = revisions[(place.map { $0 + 1 } ?? 0)...]
        let earlier = number.map { operation.revision($0, of: id) } ?? before.first { !isPresent($0) }
        guard let earlier, let draft = earlier.draft else { throw noRevision(id, number, revisions) }
        if isPresent(earlier), plan.isUpToDate {
            if !operation.isJSON {
                Output.line("\(id.text): revision \(present?.number ?? 0) is the same as \(earlier.number ?? 0)")
            }
            return try operation.publish([], unchanged: [id])
        }
        try operation.publish(
            [FleetChange(id, draft, plan)], note: operation.note ?? "back to revision \(earlier.number ?? 0)")
    }

    private static func noRevision(_ id: FleetDocumentID, _ number: Int64?, _ revisions: [StoredDocument]) -> Failure {
        let known = revisions.compactMap(\.number).map { "\($0)" }.joined(separator: ", ")
        let what = number.map { "revision \($0)" } ?? "an earlier revision"
        return Failure(
            .noInput,
            lines: [
                "\(id.text): this machine has not seen \(what)" + (known.isEmpty ? "" : "; it has seen \(known)"),
                "If your files are in Git: check out the earlier version and run jostle fleet apply DIRECTORY",
            ])
    }
}

/// `jostle fleet group`: the groups that the fleet puts devices in.
extension FleetCommand {
    static var group: Command {
        Command(
            usage: CommandUsage(
                name: "fleet group", summary: "add devices to a group, or remove them from it",
                details: """
                    The groups of a device are a retained message of their own. It replaces the groups in the device's
                    file, and gives their order: a later group overrides an earlier one.
                    """),
            commands: [
                Command(
                    usage: groupUsage("add", "add devices to a group, as their last one"),
                    run: { arguments throws in
                        try changeGroups(arguments) { groups, name in
                            groups.contains(name) ? groups : groups + [name]
                        }
                    }),
                Command(
                    usage: groupUsage("remove", "remove devices from a group"),
                    run: { arguments throws in
                        try changeGroups(arguments) { groups, name in groups.filter { $0 != name } }
                    }),
            ])
    }

    private static func groupUsage(_ word: String, _ summary: String) -> CommandUsage {
        CommandUsage(
            name: "fleet group \(word)", summary: summary,
            operands: [
                Operand("GROUP", help: "the group"),
                Operand("ID", help: "the devices", isRepeatable: true),
            ],
            options: FleetOptions.publishing + [FleetOptions.json] + FleetOperation.options)
    }

    private static func changeGroups(_ arguments: Arguments, _ change: ([String], String) -> [String]) throws {
        let name = arguments.operand(0) ?? ""
        let ids = arguments.operands(from: 1)
        try FleetOptions.check(group: name)
        for id in ids { try DeviceIDArgument.check(operand: id) }
        let operation = try FleetOperation(arguments)
        try operation.complete(ids.map { .registry($0) })
        let model = operation.model
        var changes: [FleetChange] = []
        var unchanged: [FleetDocumentID] = []
        for id in Set(ids).sorted() {
            let document = FleetDocumentID.registry(id)
            let plan = try FleetEdit.nextRevision(of: document, in: model)
            let present = model.groups(of: id)
            let groups = change(present, name)
            guard groups.count <= JostleSettings.Device.maximumGroups else {
                throw Failure(.badData, "\(id): a device has at most \(JostleSettings.Device.maximumGroups) groups")
            }
            if groups == present, !plan.mustRepeat {
                if !operation.isJSON { Output.line("\(id): nothing to change") }
                if model.documents[document] != nil { unchanged.append(document) }
                continue
            }
            changes.append(FleetChange(document, DocumentDraft(groups: groups), plan))
        }
        try operation.publish(changes, unchanged: unchanged)
    }
}

/// `jostle fleet forget`: removes what the broker holds of a device that is gone.
extension FleetCommand {
    static let forgetUsage = CommandUsage(
        name: "fleet forget", summary: "remove all retained messages of a device that is gone",
        details: """
            Removes its state, its layer, its groups and its announcements to Home Assistant. Its layer stays in the
            history of this machine, for jostle fleet rollback.
            """,
        operands: [Operand("ID", help: "the device's id")],
        options: [
            Option("force", help: "also if the device is online"),
            Option("dry-run", help: "list the topics, and remove nothing"),
        ] + FleetOperation.options)

    static func forget(_ arguments: Arguments) throws {
        let id = arguments.operand(0) ?? ""
        try DeviceIDArgument.check(operand: id)
        let operation = try FleetOperation(arguments)
        if operation.model.boards[id]?.isOnline == true, !arguments.has("force") {
            throw Failure(
                .temporary, "\(id) is online: it would publish everything again. Stop it first, or use --force")
        }
        let topics = try operation.session.retainedTopics(
            of: id, discoveryPrefix: operation.settings.homeAssistant.prefix)
        guard !topics.isEmpty else { throw Failure(.unavailable, "the broker holds nothing of \(id)") }
        for topic in topics { Output.line(topic) }
        guard !operation.isDryRun else { return }
        let failures = try operation.session.clear(topics)
        guard failures.isEmpty else {
            throw Failure(.permission, lines: failures.map { "\($0.topic) is not removed: \($0.reason)" })
        }
        Output.line("\(id): \(FleetText.count(topics.count, "message")) removed")
    }
}
