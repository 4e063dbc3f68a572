internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet rollback`: publishes an earlier document again.
extension FleetCommand {
    static let rollbackUsage = CommandUsage(
        name: "fleet rollback", summary: "publish the document before the present one again, under a new revision",
        details: """
            Every command of jostle fleet keeps the documents that it sees in the state directory of this machine.
            rollback goes back to the last one that differs from the present one.
            """,
        operands: [
            CommandUsage.Operand(
                name: "DOCUMENT", help: "all, group:GROUP, device:ID, registry:ID, or the topic")
        ],
        options: [
            CommandUsage.Option(name: "to", value: "REVISION", help: "go back to this revision")
        ] + FleetOptions.publishing + [FleetOptions.json] + FleetConnection.options)

    static func rollback(_ arguments: Arguments) throws(CommandFailure) {
        let name = arguments.operand(0) ?? ""
        let number = try arguments.count("to", within: 1...Int(DocumentRevision.maximum)).map { Int64($0) }
        let note = try FleetOptions.note(arguments)
        let manner = try FleetRun.Manner(arguments)
        if FleetDocumentID(name) == nil, !name.contains("/") {
            throw CommandFailure(
                .usage, "\"\(name)\" is no document: all, group:GROUP, device:ID, registry:ID, or a topic")
        }
        let connection = try FleetConnection.open(arguments)
        guard let id = FleetDocumentID(name) ?? FleetDocumentID(topic: name, connection.session.topics) else {
            let prefix = connection.session.topics.prefix
            throw CommandFailure(.usage, "\"\(name)\" is no topic of a document under \(prefix)/")
        }
        try connection.complete([id])
        let present = connection.model.documents[id]
        let revisions = connection.revisions(of: id)
        let plan = RevisionPlan(for: id, in: connection.model)
        // What this machine saw before the present one.
        let place = present.flatMap { revisions.firstIndex(of: $0) }
        let before = revisions[(place.map { $0 + 1 } ?? 0)...]
        let earlier =
            if let number { connection.revision(number, of: id) } else {
                before.first { !hasSameContent($0, present) }
            }
        guard let earlier else { throw noRevision(id, number, revisions) }
        if hasSameContent(earlier, present), plan.isUpToDate {
            if !manner.isJSON {
                Output.line("\(id.text): revision \(present?.number ?? 0) is the same as \(earlier.number ?? 0)")
            }
            try FleetRun.publish([], unchanged: [id], connection, manner)
            return
        }
        let reason = note ?? "back to revision \(earlier.number ?? 0)"
        let draft: DocumentDraft
        let (author, now) = (FleetConnection.author, FleetConnection.now)
        if let groups = earlier.registry?.groups {
            draft = DocumentDraft(groups: groups, by: author, at: now, note: reason)
        } else if let layer = earlier.layer {
            draft = DocumentDraft(copying: layer, by: author, at: now, note: reason)
        } else {
            throw noRevision(id, number, revisions)
        }
        try FleetRun.publish([FleetRun.Change(document: id, draft: draft, revision: plan)], connection, manner)
    }

    /// Whether two documents say the same, whoever published them.
    private static func hasSameContent(_ one: StoredDocument, _ other: StoredDocument?) -> Bool {
        guard let other else { return false }
        if let groups = one.registry?.groups { return groups == other.registry?.groups }
        guard let layer = one.layer, let present = other.layer else { return false }
        return DocumentDraft(copying: layer, by: nil, at: nil, note: nil)
            == DocumentDraft(copying: present, by: nil, at: nil, note: nil)
    }

    private static func noRevision(
        _ id: FleetDocumentID, _ number: Int64?, _ revisions: [StoredDocument]
    ) -> CommandFailure {
        let known = revisions.compactMap(\.number).map { "\($0)" }.joined(separator: ", ")
        let what = number.map { "revision \($0)" } ?? "an earlier revision"
        return CommandFailure(
            .noInput,
            lines: [
                "\(id.text): this machine has not seen \(what)" + (known.isEmpty ? "" : "; it has seen \(known)"),
                "If your files are in Git: check out the earlier version and run jostle fleet apply DIRECTORY",
            ])
    }
}
