internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// Prepares the changes of `set`, `unset` and `diff`.
enum FleetEdit {
    /// The documents of an edit: those that change, with their new configuration, and those that are so already.
    struct Result {
        var changes: [FleetChange] = []
        var unchanged: [FleetDocumentID] = []
    }

    static let unknownOption = Option(
        "unknown", value: "WHAT",
        help: "reject or ignore: what boards do with keys that they do not know; reject by default",
        suggestions: .words(["reject", "ignore"]))

    static let gestureOption = Option(
        "gesture", value: "FILE",
        help: "also set the template of this gesture, which jostle learn wrote; may be repeated",
        isRepeatable: true)

    /// The edit of `KEY=VALUE` arguments, of the files of learned gestures, and of keys to remove. Checks the keys and values with this program's schema.
    ///
    /// - Throws: status 64 for an argument that is none, 65 for keys and values that boards would refuse.
    static func edit(
        setting: [String], gestures: [String] = [], unsetting: [String], _ arguments: Arguments
    ) throws -> LayerEdit {
        var changes: [LayerEdit.Change] = try gestures.map { path in
            let template = try GestureFile.read(path)
            return .set(path: ["gestures", "learned", "\(template.name)", "template"], .string(template.text))
        }
        try Failure.with(.usage) {
            for argument in setting { changes.append(try LayerEdit.set(argument)) }
            for key in unsetting { changes.append(try LayerEdit.unset(key)) }
        }
        let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
        let edit = LayerEdit(changes, ignoresUnknownKeys: ignores)
        let set = changes.filter { if case .set = $0 { true } else { false } }
        var problems: [DocumentProblem] = []
        for change in set {
            do {
                problems += check(try LayerEdit([change]).applied(to: .object([])), ignores == true).problems
            } catch {
                problems.append(error)
            }
        }
        guard problems.isEmpty else { throw Failure(.badData, lines: problems.map(FleetEdit.text)) }
        return edit
    }

    /// The problem without its position, which is the argument itself.
    private static func text(_ problem: DocumentProblem) -> String {
        let text = "\(problem)"
        let position = "\(problem.position): "
        return text.hasPrefix(position) && !problem.path.isEmpty ? String(text.dropFirst(position.count)) : text
    }

    private static func check(_ config: JSONValue, _ ignoresUnknownKeys: Bool) -> PatchCheck {
        let node = config.placed(at: DocumentPosition(.layer("argument")))
        return PatchCheck(ConfigurationPatch(node, ignoresUnknownKeys: ignoresUnknownKeys))
    }

    /// Applies an edit to the layers of a selection.
    ///
    /// - Throws: status 65 if a layer is unreadable or was lost, or if boards would refuse the result.
    static func apply(_ edit: LayerEdit, to layers: [FleetDocumentID], _ model: FleetModel) throws -> Result {
        var result = Result()
        for id in layers {
            let plan = try nextRevision(of: id, in: model, advice: [replacement(of: id)])
            guard let draft = try edit.draft(changing: model.documents[id]?.layer, repeats: plan.repetition != nil)
            else {
                result.unchanged.append(id)
                continue
            }
            try requireValid(id, draft)
            result.changes.append(FleetChange(id, draft, plan))
        }
        return result
    }

    /// Refuses to publish a layer that boards would refuse: it had a wrong value before, or does not fit the new one.
    private static func requireValid(_ id: FleetDocumentID, _ draft: DocumentDraft) throws {
        guard let config = draft.config else { return }
        let problems = check(config, draft.ignoresUnknownKeys).problems
        guard problems.isEmpty else {
            throw Failure(
                .badData, lines: ["\(id.text): boards would refuse the layer:"] + problems.map { "  \(text($0))" })
        }
    }

    /// Says which boards would refuse the changed layers, because they do not let their fleet set a key.
    static func warnOfRefusals(_ result: Result, _ model: FleetModel) {
        var ids: [String: [String]] = [:]
        for board in FleetPreview(FleetPreview.Proposal(result.changes), model).boards {
            for key in board.refusedKeys { ids[key, default: []].append(board.id) }
        }
        for (key, ids) in ids.sorted(by: { $0.key < $1.key }) {
            let names = FleetText.names(ids)
            Output.warn("\(key) is not in fleet.remote of \(names): the layer will be refused there")
        }
    }

    /// Refuses to build on a document that cannot be read, or is not to be trusted.
    ///
    /// - Throws: status 65.
    static func requireUsable(_ id: FleetDocumentID, in model: FleetModel, advice: [String] = []) throws {
        guard let problem = model.documents[id]?.problem else { return }
        throw Failure(
            .badData, lines: ["\(id.text): the broker holds a document that cannot be used: \(problem)"] + advice)
    }

    private static func replacement(of id: FleetDocumentID) -> String {
        "To replace it: jostle fleet apply DIRECTORY, or jostle fleet rollback \(id.text)"
    }

    /// The number of the next document, which builds on the one at the broker.
    ///
    /// - Throws: status 65 if that one cannot be used, or is older than what most boards or this machine have seen.
    static func nextRevision(
        of id: FleetDocumentID, in model: FleetModel, advice: [String] = []
    ) throws -> RevisionPlan {
        try requireUsable(id, in: model, advice: advice)
        let plan = RevisionPlan(for: id, in: model)
        try requireNothingLost(id, plan, model)
        return plan
    }

    /// Refuses to build on a layer of which most boards or this machine have seen a newer revision than the broker holds.
    /// A layer of several devices also if the broker holds none, and with signatures any document: it would be replaced by one
    /// that contains only the change.
    static func requireNothingLost(_ id: FleetDocumentID, _ plan: RevisionPlan, _ model: FleetModel) throws {
        let held = plan.held.map { "holds only revision \($0.number)" } ?? "holds none"
        if let seen = plan.seenNewer, plan.lost == nil, plan.held != nil || id.device == nil || model.trust != nil {
            throw Failure(
                .badData,
                lines: [
                    "\(id.text): this machine has seen \(text(seen, plan)), but the broker \(held): it lost documents, or"
                        + " somebody put an old one back",
                    "To publish from your files: jostle fleet apply DIRECTORY",
                    "To publish revision \(seen.number) again: \(rollback(id, seen))",
                ])
        }
        guard let lost = plan.lost else { return }
        let boards = [
            "\(id.text): boards have \(text(lost, plan)), but the broker \(held): it lost documents",
            "Boards: \(FleetText.names(plan.ahead.map(\.id)))",
        ]
        guard plan.isLostWithCandidate else {
            // Without a hash, boards may have another document of this number.
            let what = "revision \(lost.number)\(lost.hash.isEmpty ? " as this machine has it" : "")"
            let again = plan.kept.map { ["To publish \(what) again: \(rollback(id, $0))"] } ?? []
            throw Failure(
                .badData,
                lines: boards + ["To publish everything again from your files: jostle fleet apply DIRECTORY"] + again)
        }
        // The files may contain what was being tried.
        throw Failure(
            .badData,
            lines: boards + [
                "It was being rolled out. To go on\(place(plan)): \(rollback(id, plan.kept ?? lost)), then"
                    + " jostle fleet rollout resume",
                "To give it up: jostle fleet apply DIRECTORY with the files from before",
            ])
    }

    /// `revision 7`, and that it is of another epoch than the broker's document if it is.
    private static func text(_ revision: DocumentRevision, _ plan: RevisionPlan) -> String {
        let isOther = plan.held.map { $0.epoch != revision.epoch } ?? false
        return "revision \(revision.number)\(isOther ? " of another epoch" : "")"
    }

    /// Where the lost document can be published again.
    static func place(_ plan: RevisionPlan) -> String {
        plan.kept == nil ? ", on the machine that published it" : ""
    }

    /// The command that publishes exactly this document again, or the one of its number if the hash is not known.
    static func rollback(_ id: FleetDocumentID, _ revision: DocumentRevision) -> String {
        let name = revision.hash.isEmpty ? "\(revision.number)" : revision.shortHash
        return "jostle fleet rollback \(id.text) --to \(name)"
    }
}
