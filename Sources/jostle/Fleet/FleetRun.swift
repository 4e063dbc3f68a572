internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// Steps that several commands of `jostle fleet` share: publishing, waiting for the devices.
enum FleetRun {
    // MARK: Publishing

    /// A draft and the document that it is for.
    struct Change {
        var document: FleetDocumentID
        var draft: DocumentDraft
        /// The number above what broker and devices know.
        var revision: RevisionPlan
    }

    /// What a command that publishes does, from its arguments.
    struct PublishOptions {
        /// How long to wait for the devices, s; `nil` not at all.
        var waiting: Double?
        var isDryRun: Bool
        var isJSON: Bool

        init(_ arguments: Arguments) throws {
            waiting = try FleetOptions.waitingTime(arguments)
            isDryRun = arguments.has("dry-run")
            isJSON = arguments.has("json")
        }
    }

    /// Publishes the changes, reads them back, and waits until the devices have taken them over and `unchanged`, which
    /// the broker holds already.
    ///
    /// - Throws: status 75 if a device or the broker does not have a document, 77 if the broker refused one.
    static func publish(
        _ changes: [Change], unchanged: [FleetDocumentID] = [], _ connection: FleetConnection,
        _ publishing: PublishOptions
    ) throws {
        var publications: [FleetPublication] = []
        for change in changes {
            publications.append(
                try connection.publication(change.draft, of: change.document, revision: change.revision.next))
            for report in change.revision.implausible.prefix(1) {
                Output.warn(
                    "\(report.id) reports revision \(report.number) of \(change.document.text); ignored as implausible"
                )
            }
        }
        if !changes.isEmpty { try connection.checkSignatures(changes.map(\.document)) }
        for change in changes {
            guard let candidate = connection.model.documents[change.document]?.layer?.candidate, candidate.percent > 0
            else { continue }
            Output.warn(
                "\(change.document.text) is being rolled out to \(RolloutPercents.text(candidate.percent)) of the"
                    + " devices: these keep what they have, and the rollout cannot go on after this change, only be withdrawn"
            )
        }
        if publishing.isDryRun {
            for publication in publications {
                Output.json(
                    "{\"topic\":\(JSONText.quoted(publication.document.topic(connection.session.topics))),"
                        + "\"document\":\(String(decoding: publication.bytes, as: UTF8.self))}")
            }
            return
        }
        var wanted: [FleetDocumentID: DocumentRevision] = [:]
        for id in unchanged { wanted[id] = connection.model.documents[id]?.revision }
        var failure: Failure?
        if !publications.isEmpty {
            let outcomes = try outcomes(of: publications, connection)
            for publication in publications where outcomes[publication.document] == .stored {
                wanted[publication.document] = publication.revision
                if !publishing.isJSON {
                    Output.line("\(publication.document.text): published as revision \(publication.revision.number)")
                }
            }
            failure = self.failure(publications, outcomes, connection)
        }
        Output.flush()
        do {
            if let seconds = publishing.waiting, !wanted.isEmpty {
                try wait(for: WaitCondition(wanted), seconds, connection, isJSON: publishing.isJSON)
            } else if publishing.isJSON {
                printResult(WaitSummary([]), wanted)
            }
        } catch {
            throw failure.map { Failure($0.status, lines: $0.lines + Failure(error).lines) } ?? error
        }
        if let failure { throw failure }
    }

    private static func outcomes(
        of publications: [FleetPublication], _ connection: FleetConnection
    ) throws -> [FleetDocumentID: FleetSession.DocumentOutcome] {
        do {
            connection.keep(sending: publications)
            let outcomes = try connection.session.publish(publications)
            connection.keepDocuments()
            return outcomes
        } catch {
            guard connection.session.hasSent else { throw error }
            let sent = publications.map { "\($0.document.text) revision \($0.revision.number)" }
            throw Failure(
                .temporary,
                lines: Failure(error).lines + [
                    "It was sent, and the broker may have it: \(FleetText.names(sent))",
                    "Look with jostle fleet get, and with jostle fleet wait for the boards",
                ])
        }
    }

    /// Why documents are not at the broker; `nil` if all are.
    private static func failure(
        _ publications: [FleetPublication], _ outcomes: [FleetDocumentID: FleetSession.DocumentOutcome],
        _ connection: FleetConnection
    ) -> Failure? {
        var lines: [String] = []
        var status = ExitStatus.temporary
        for publication in publications {
            let id = publication.document
            switch outcomes[id] {
            case .stored: break
            case .refused(let reason):
                status = .permission
                lines.append("\(id.text): the broker refused the document: \(reason)")
            case .replaced(let stored):
                let what = stored.envelope.map { "revision \($0.revision.number) \(FleetText.origin($0))" }
                lines.append(
                    "\(id.text): another operator published at the same time: \(what ?? "an unreadable document"); "
                        + "look at it, and repeat the command if it is still needed")
            case .lost, nil:
                status = .permission
                lines.append("\(id.text): the broker did not keep the document; may this user publish there?")
            }
        }
        return lines.isEmpty ? nil : Failure(status, lines: lines)
    }

    // MARK: Waiting

    /// Waits until the devices that are online have answered, and prints the result.
    ///
    /// - Throws: status 75 if one has not taken the documents over, with its reasons.
    static func wait(
        for condition: WaitCondition, _ seconds: Double, _ connection: FleetConnection, isJSON: Bool
    ) throws {
        try connection.session.listen(for: seconds) { model in
            let summary = WaitSummary(condition.boards(in: model))
            if !isJSON { TerminalScreen.progress(progress(summary)) }
            return summary.isSettled
        }
        let summary = WaitSummary(condition.boards(in: connection.model))
        if isJSON {
            printResult(summary, condition.documents)
        } else {
            Output.line(progress(summary))
            if !summary.offline.isEmpty {
                Output.line("offline, will follow: \(FleetText.names(summary.offline))")
            }
        }
        guard !summary.isComplete else { return }
        let waiting = FleetText.grouped(summary.waiting).map { "not yet: \(FleetText.names($0.ids)) (\($0.reason))" }
        let refusals = summary.refused.flatMap { id, reasons in reasons.map { (id: id, reason: $0) } }
        let refused = FleetText.grouped(refusals).map { "\(FleetText.names($0.ids)): \($0.reason)" }
        let loss = connection.session.isConnected ? [] : ["the connection to the broker was lost while waiting"]
        throw Failure(.temporary, lines: waiting + refused + loss)
    }

    private static func progress(_ summary: WaitSummary) -> String {
        let online = summary.applied.count + summary.waiting.count + summary.refused.count
        guard online + summary.offline.count > 0 else { return "no device reads this yet" }
        var text = "\(summary.applied.count) of \(FleetText.count(online, "device")) applied it"
        if !summary.refused.isEmpty { text += ", \(summary.refused.count) refused it" }
        if !summary.offline.isEmpty { text += "; \(summary.offline.count) offline" }
        return text
    }

    private static func printResult(_ summary: WaitSummary, _ documents: [FleetDocumentID: DocumentRevision]) {
        let waiting = summary.waiting.map { id, reason in
            JSONValue.object([.init("id", .string(id)), .init("reason", .string(reason))])
        }
        let refused = summary.refused.map { id, lines in
            JSONValue.object([.init("id", .string(id)), .init("reasons", .array(lines.map { .string($0) }))])
        }
        Output.json(
            JSONValue.object([
                .init("documents", FleetJSON.documents(documents)),
                .init("applied", .array(summary.applied.map { .string($0) })),
                .init("offline", .array(summary.offline.map { .string($0) })), .init("waiting", .array(waiting)),
                .init("refused", .array(refused)),
            ]).compactText)
    }
}
