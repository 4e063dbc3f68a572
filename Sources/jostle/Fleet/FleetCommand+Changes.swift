internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// The commands that publish.
extension FleetCommand {
    // MARK: set, unset

    static func set(_ arguments: Arguments) throws {
        let gestures = arguments.values("gesture")
        guard !arguments.operands(from: 0).isEmpty || !gestures.isEmpty else {
            throw Failure(.usage, "there is nothing to set: KEY=VALUE or --gesture FILE")
        }
        let edit = try FleetEdit.edit(
            setting: arguments.operands(from: 0), gestures: gestures, unsetting: [], arguments)
        try publish(edit, arguments)
    }

    static func unset(_ arguments: Arguments) throws {
        try publish(try FleetEdit.edit(setting: [], unsetting: arguments.operands(from: 0), arguments), arguments)
    }

    private static func publish(_ edit: LayerEdit, _ arguments: Arguments) throws {
        let selection = try FleetOptions.selection(arguments)
        let operation = try FleetOperation(arguments, documents: selection.layers, mayRollOut: true)
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

    // MARK: apply, export

    static func apply(_ arguments: Arguments) throws {
        let path = arguments.operand(0) ?? ""
        let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
        var directory = try FleetFiles.read(path, ignoresUnknownKeys: ignores ?? false)
        try arguments.exclude("prune", "document")
        try arguments.exclude("new-epoch", "canary")
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
        let operation = try FleetOperation(arguments, documents: directory.documents, mayRollOut: true)
        let plan = ApplyPlan(
            directory, operation.model, prunes: arguments.has("prune"), newEpoch: arguments.has("new-epoch"),
            ignoresUnknownKeys: ignores)
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
        let operation = try FleetOperation(arguments)
        let model = operation.model
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
        try operation.requireEverything()
    }

    // MARK: rollback

    static func rollback(_ arguments: Arguments) throws {
        let name = arguments.operand(0) ?? ""
        let hash = arguments.value("to").flatMap { text in
            text.utf8.count == 16 && text.allSatisfy(\.isHexDigit) ? text.lowercased() : nil
        }
        let number = hash == nil ? try arguments.count("to", within: 1...Int(DocumentRevision.maximum)) : nil
        let document = FleetDocumentID(name)
        if document == nil, !name.contains("/") {
            throw Failure(.usage, "\"\(name)\" is no document: all, group:GROUP, device:ID, registry:ID, or a topic")
        }
        let operation = try FleetOperation(arguments, documents: document.map { [$0] } ?? [])
        guard let id = document ?? FleetDocumentID(topic: name, operation.session.topics) else {
            let prefix = operation.session.topics.prefix
            throw Failure(.usage, "\"\(name)\" is no topic of a document under \(prefix)/")
        }
        try operation.session.complete([id])
        let present = operation.model.documents[id]
        let revisions = operation.revisions(of: id)
        let plan = RevisionPlan(for: id, in: operation.model)
        func isPresent(_ revision: StoredDocument) -> Bool {
            revision.draft.map { present?.hasContent(of: $0) ?? false } ?? false
        }
        // What this machine saw before the present one.
        let place = present.flatMap { revisions.firstIndex(of: $0) }
        let before = revisions[(place.map { $0 + 1 } ?? 0)...]
        let named = operation.revisions(of: id) { revision in
            hash.map { $0 == revision.shortHash } ?? (revision.number == number.map { Int64($0) })
        }
        guard named.count <= 1 else { throw severalRevisions(id, named) }
        let earlier = arguments.has("to") ? named.first : before.first { !isPresent($0) }
        guard let earlier, let draft = earlier.draft else { throw noRevision(id, arguments.value("to"), revisions) }
        if isPresent(earlier), plan.isUpToDate {
            if !operation.isJSON {
                Output.line("\(id.text): revision \(present?.number ?? 0) is the same as \(earlier.number ?? 0)")
            }
            return try operation.publish([], unchanged: [id])
        }
        try operation.publish(
            [FleetChange(id, draft, plan)], note: operation.note ?? "back to revision \(earlier.number ?? 0)")
    }

    /// Numbers begin again in each epoch, and after a broker has lost its store.
    private static func severalRevisions(_ id: FleetDocumentID, _ revisions: [StoredDocument]) -> Failure {
        let number = revisions.first?.number ?? 0
        let lines = revisions.compactMap(\.envelope).map { envelope in
            let epoch = envelope.revision.epoch
            return "  --to \(envelope.revision.shortHash): \(epoch.isEmpty ? "no epoch" : "epoch \(epoch)"), "
                + FleetText.origin(envelope)
        }
        return Failure(
            .usage, lines: ["\(id.text): this machine keeps several documents of revision \(number); name one:"] + lines
        )
    }

    private static func noRevision(_ id: FleetDocumentID, _ name: String?, _ revisions: [StoredDocument]) -> Failure {
        let known = revisions.compactMap(\.number).map { "\($0)" }.joined(separator: ", ")
        let what = name.map { "revision \($0)" } ?? "an earlier revision"
        return Failure(
            .noInput,
            lines: [
                "\(id.text): this machine has not seen \(what)" + (known.isEmpty ? "" : "; it has seen \(known)"),
                "If your files are in Git: check out the earlier version and run jostle fleet apply DIRECTORY",
            ])
    }

    // MARK: group

    static func addToGroup(_ arguments: Arguments) throws {
        try changeGroups(arguments) { groups, name in groups.contains(name) ? groups : groups + [name] }
    }

    static func removeFromGroup(_ arguments: Arguments) throws {
        try changeGroups(arguments) { groups, name in groups.filter { $0 != name } }
    }

    private static func changeGroups(_ arguments: Arguments, _ change: ([String], String) -> [String]) throws {
        let name = arguments.operand(0) ?? ""
        let ids = arguments.operands(from: 1)
        try FleetOptions.check(group: name)
        for id in ids { try DeviceIDArgument.check(operand: id) }
        let operation = try FleetOperation(arguments, documents: ids.map { .registry($0) })
        let model = operation.model
        var changes: [FleetChange] = []
        var unchanged: [FleetDocumentID] = []
        for id in Set(ids).sorted() {
            let document = FleetDocumentID.registry(id)
            let plan = try FleetEdit.nextRevision(of: document, in: model)
            let known = model.documents[document]?.registry?.groups ?? model.keptGroups[id]
            let present = known ?? model.groups(of: id)
            if known == nil, !present.isEmpty {
                Output.warn(
                    "\(id): the groups that it reports go into the registry: \(present.joined(separator: ", "))")
            }
            let groups = change(present, name)
            guard groups.count <= JostleSettings.Device.maximumGroups else {
                throw Failure(.badData, "\(id): a device has at most \(JostleSettings.Device.maximumGroups) groups")
            }
            if groups == present, plan.repetition == nil {
                if !operation.isJSON { Output.line("\(id): nothing to change") }
                if model.documents[document] != nil { unchanged.append(document) }
                continue
            }
            changes.append(FleetChange(document, DocumentDraft(groups: groups), plan))
        }
        try operation.publish(changes, unchanged: unchanged)
    }

    // MARK: forget

    static func forget(_ arguments: Arguments) throws {
        let id = arguments.operand(0) ?? ""
        try DeviceIDArgument.check(operand: id)
        let operation = try FleetOperation(arguments, of: [id])
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
