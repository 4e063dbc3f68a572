internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// A command of `jostle fleet` at the fleet's broker, whose state it has read: how it publishes, and waits for the devices.
struct FleetOperation {
    let session: FleetSession
    let settings: JostleSettings
    let isJSON: Bool
    let isDryRun: Bool
    /// The text of `--note`: why something is published.
    let note: String?
    /// How long to wait for the devices, s; `nil` not at all.
    private let waiting: Double?
    /// How changes are rolled out; `nil` if all devices get them at once.
    private let rollout: RolloutOptions?
    /// Signs what is published; `nil` without `--sign-key`.
    private let signer: DocumentSigner?
    /// Whether documents that are signed may be replaced by some that are not.
    private let isUnsigned: Bool
    private let history: DocumentHistory

    var model: FleetModel { session.model }

    /// The options of every command that connects.
    static let options =
        [
            BrokerArgument.option,
            Option(
                "settle", value: "SECONDS",
                help: "the state is complete after this time without a retained message; 0.5 by default"),
        ] + CommandUsage.configurationOptions

    /// Connects and reads what the broker holds. The documents are kept for `rollback`, the names for completion.
    ///
    /// `documents`, which are about to be changed, are read by their own topics if the broker may not have sent them. Their
    /// devices, and other `devices` that the command names, are in the model even if there are too many.
    init(
        _ arguments: Arguments, documents: [FleetDocumentID] = [], of devices: [String] = [],
        reading topics: [String] = [], mayRollOut: Bool = false
    ) throws {
        isJSON = arguments.has("json")
        isDryRun = arguments.has("dry-run")
        note = try FleetOptions.note(arguments)
        waiting = try FleetOptions.waitingTime(arguments)
        rollout = try mayRollOut && RolloutOptions.areIn(arguments) ? RolloutOptions(arguments) : nil
        let signals = SignalWaiter()
        settings = try Configuration.ofBroker(arguments)
        signer = try arguments.value("sign-key").map { path throws in try SigningKeyFile.read(path) }
        try arguments.exclude("sign-key", "unsigned")
        isUnsigned = arguments.has("unsigned")
        var times = FleetSession.Times()
        if let seconds = try arguments.seconds("settle", atMost: 600) {
            times.quiet = seconds
            times.reading = max(times.reading, 30 * seconds)
        }
        let keys = settings.fleet.trustedKeys + [signer?.trustedKey].compactMap { $0 }
        let trust = DocumentTrust(keys, topics: FleetTopics(prefix: settings.mqtt.prefix))
        history = DocumentHistory(stateDirectory: Configuration.stateDirectory, settings, trust: trust)
        session = try FleetSession(
            settings: settings, reading: rollout == nil ? topics : FleetSession.health, times: times, trust: trust,
            signals: signals)
        var known = KnownDevices(stateDirectory: Configuration.stateDirectory, history)
        known.known.formUnion(devices + documents.compactMap(\.device))
        session.remember(known)
        try session.connect()
        if session.lacksRetained {
            guard !documents.isEmpty || !model.allBoards.isEmpty else { throw BrokerError.withoutRetained }
            Output.warn("\(BrokerError.withoutRetained)")
        }
        keepDocuments()
        FleetNames.keep(model, stateDirectory: Configuration.stateDirectory)
        reportSkipped()
        try session.complete(documents)
        session.remember(history)
    }

    private func reportSkipped() {
        if let leftOut = model.leftOutText {
            Output.warn("\(leftOut): devices that this machine or a document at the broker names come first")
        }
        if session.gaps == .likely || session.gaps == .certain {
            Output.warn(
                "the broker did not send everything at once, so devices and documents may be missing here: "
                    + "raise its limit, with mosquitto max_queued_messages")
        }
        guard model.skippedMessages > 0 else { return }
        let count = model.skippedMessages
        Output.errors(
            ["jostle: \(count) \(count == 1 ? "message was" : "messages were") ignored:"]
                + model.firstSkipped.map { "  \($0)" })
    }

    /// Says at the end of a command for all devices that there are more of them.
    ///
    /// - Throws: status 75 if devices or documents are left out, or were held back by the broker.
    func requireEverything() throws {
        if let leftOut = model.leftOutText { throw Failure(.temporary, "this is not all: \(leftOut)") }
        guard session.gaps == .certain else { return }
        throw Failure(.temporary, "this may not be all: the broker did not send everything at once")
    }

    // MARK: Kept documents

    /// Keeps the documents that the broker holds, so that `rollback` can go back to them.
    private func keepDocuments() {
        keep { try history.keep(model.documents) }
    }

    private func keep(_ body: () throws -> Void) {
        do { try body() } catch {
            Output.warn("the documents cannot be kept for jostle fleet rollback: \(error)")
        }
    }

    /// The kept revisions of a document, the one that was first seen last at the beginning.
    func revisions(of document: FleetDocumentID) -> [StoredDocument] { history.revisions(of: document) }

    /// The kept revisions of a document that fit, also those that were only sent; each once.
    func revisions(of document: FleetDocumentID, where isMeant: (DocumentRevision) -> Bool) -> [StoredDocument] {
        var hashes: Set<String> = []
        return (history.revisions(of: document) + history.sentRevisions(of: document)).filter { stored in
            stored.revision.map { isMeant($0) && hashes.insert($0.hash).inserted } ?? false
        }
    }

    // MARK: Publishing

    /// Who publishes now, and why.
    static func author(note: String?) -> DocumentAuthor {
        let account = getpwuid(getuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) }
        let user = Configuration.variable("SUDO_USER") ?? account ?? "uid-\(getuid())"
        return DocumentAuthor(
            by: MessageText.line("\(user)@\(DeviceName.hostName())", maximum: 200) ?? "unknown",
            at: FleetText.now, note: note)
    }

    /// Completes a draft for publication, signed if there is a key.
    func publication(
        _ draft: DocumentDraft, of document: FleetDocumentID, _ revision: RevisionPlan, by author: DocumentAuthor
    ) throws -> FleetPublication {
        var author = author
        author.at = author.at.flatMap(revision.time)
        return try FleetPublication(
            draft, of: document, revision: revision.next,
            epoch: revision.beginsEpoch ? RunName.new() : revision.base?.epoch ?? "", author: author,
            topics: session.topics, signer: signer)
    }

    /// Says which boards claim a later document than the one to be published, and which ones have a program that refuses an
    /// epoch.
    private func warn(of changes: [FleetChange]) {
        var tooOld: Set<String> = []
        for change in changes {
            let (id, plan) = (change.document, change.revision)
            if let last = plan.unreached.last {
                Output.warn(
                    "\(id.text): some boards claim a document that revision \(plan.next) does not replace, up to revision "
                        + "\(last.revision.number): \(FleetText.names(plan.unreached.map(\.id))); if that is true, only"
                        + " a new epoch reaches them: jostle fleet apply DIRECTORY --new-epoch")
            }
            guard plan.beginsEpoch || plan.base?.epoch.isEmpty == false else { continue }
            for board in model.readers(of: id) where board.report?.takesEpochs == false { tooOld.insert(board.id) }
        }
        guard !tooOld.isEmpty else { return }
        Output.warn(
            "the program is too old for documents with an epoch, and rejects them, on "
                + "\(FleetText.names(tooOld.sorted())): install a newer one there")
    }

    /// Refuses to publish without a signature where the configuration names keys, or over a document that is signed, unless
    /// `--unsigned` says so.
    ///
    /// - Throws: status 64.
    func checkSignatures(_ documents: [FleetDocumentID]) throws {
        guard signer == nil else { return }
        if let key = settings.fleet.trustedKeys.first {
            throw Failure(
                .usage,
                "the configuration has fleet.trusted_keys: sign with --sign-key FILE, for example \(key.name).key")
        }
        guard !isUnsigned else { return }
        for id in documents {
            // The broker may have lost what is signed, or hold something else in its place.
            let held = model.documents[id]?.signer
            guard let key = held ?? history.last(of: id)?.signer else { continue }
            throw Failure(
                .usage,
                lines: [
                    "\(id.text) \(held == nil ? "was" : "is") signed with \(key), and boards with trusted keys reject what is"
                        + " not signed: sign with --sign-key FILE",
                    "If no board has trusted keys any more: --unsigned",
                ])
        }
    }

    /// Publishes documents and reads them back. They are kept before, so that `rollback --to` finds them if the broker
    /// loses them at once.
    func send(_ publications: [FleetPublication]) throws -> [FleetDocumentID: FleetSession.DocumentOutcome] {
        keep { try history.keep(sending: publications) }
        let outcomes = try session.publish(publications)
        keepDocuments()
        session.remember(history)
        return outcomes
    }

    /// Why the broker does not hold a document; `nil` if it does, or holds another operator's.
    static func refusal(of id: FleetDocumentID, _ outcome: FleetSession.DocumentOutcome?) -> String? {
        switch outcome {
        case .stored, .replaced: nil
        case .refused(let reason): "\(id.text): the broker refused the document: \(reason)"
        case .lost, nil: "\(id.text): the broker did not keep the document; may this user publish there?"
        }
    }

    /// Publishes the changes, reads them back, and waits until the devices have taken them over and `unchanged`, which
    /// the broker holds already; or rolls them out, if the options say so. The note is that of the options by default.
    ///
    /// - Throws: status 75 if a device or the broker does not have a document, 77 if the broker refused one.
    func publish(_ changes: [FleetChange], unchanged: [FleetDocumentID] = [], note: String? = nil) throws {
        warn(of: changes)
        if let rollout, !changes.isEmpty { return try RolloutRun.run(changes, rollout, self) }
        let author = FleetOperation.author(note: note ?? self.note)
        let publications = try changes.map { change throws in
            try publication(change.draft, of: change.document, change.revision, by: author)
        }
        if !changes.isEmpty { try checkSignatures(changes.map(\.document)) }
        for change in changes {
            guard let candidate = model.documents[change.document]?.rollout else { continue }
            Output.warn(
                "\(change.document.text) is being rolled out to \(RolloutPercents.text(candidate.percent)) of the"
                    + " devices: these keep what they have, and the rollout cannot go on after this change, only be withdrawn"
            )
        }
        if isDryRun {
            for publication in publications {
                Output.json(
                    "{\"topic\":\(JSONText.quoted(publication.document.topic(session.topics))),"
                        + "\"document\":\(String(decoding: publication.bytes, as: UTF8.self))}")
            }
            return
        }
        var wanted: [FleetDocumentID: DocumentRevision] = [:]
        for id in unchanged { wanted[id] = model.documents[id]?.revision }
        let failure = publications.isEmpty ? nil : try publish(publications, &wanted)
        Output.flush()
        do {
            if let waiting, !wanted.isEmpty {
                try wait(for: WaitCondition(wanted), waiting)
            } else if isJSON {
                printResult(WaitSummary([]), wanted)
            }
        } catch {
            throw failure.map { Failure($0.status, lines: $0.lines + Failure(error).lines) } ?? error
        }
        if let failure { throw failure }
        if waiting != nil, wanted.keys.contains(where: { $0.device == nil }) { try requireEverything() }
    }

    /// Publishes documents, and adds those that the broker holds to `stored`.
    ///
    /// - Returns: why documents are not at the broker; `nil` if all are.
    /// - Throws: that the connection failed.
    private func publish(
        _ publications: [FleetPublication], _ stored: inout [FleetDocumentID: DocumentRevision]
    ) throws -> Failure? {
        let outcomes: [FleetDocumentID: FleetSession.DocumentOutcome]
        do {
            outcomes = try send(publications)
        } catch {
            guard session.hasSent else { throw error }
            let sent = publications.map { "\($0.document.text) revision \($0.revision.number)" }
            throw Failure(
                .temporary,
                lines: Failure(error).lines + [
                    "It was sent, and the broker may have it: \(FleetText.names(sent))",
                    "Look with jostle fleet get, and with jostle fleet wait for the boards",
                ])
        }
        var lines: [String] = []
        var status = ExitStatus.temporary
        for publication in publications {
            let id = publication.document
            if let refusal = FleetOperation.refusal(of: id, outcomes[id]) {
                status = .permission
                lines.append(refusal)
            } else if case .replaced(let stored)? = outcomes[id] {
                let what = FleetText.revision(of: stored) ?? "an unreadable document"
                lines.append(
                    "\(id.text): another operator published at the same time: \(what); "
                        + "look at it, and repeat the command if it is still needed")
            } else {
                stored[id] = publication.revision
                let revision = publication.revision
                let isFirst = revision.number == 1 && !revision.epoch.isEmpty
                if !isJSON {
                    Output.line(
                        "\(id.text): published as revision \(revision.number)\(isFirst ? " of a new epoch" : "")")
                }
            }
        }
        return lines.isEmpty ? nil : Failure(status, lines: lines)
    }

    // MARK: Waiting

    /// Waits until the devices that are online have answered, and prints the result.
    ///
    /// - Throws: status 75 if one has not taken the documents over, with its reasons.
    func wait(for condition: WaitCondition, _ seconds: Double) throws {
        try session.listen(for: seconds) { model in
            let summary = WaitSummary(condition.boards(in: model))
            if !isJSON { TerminalScreen.progress(progress(summary)) }
            return summary.isSettled
        }
        let summary = WaitSummary(condition.boards(in: model))
        if isJSON {
            printResult(summary, condition.documents)
        } else {
            Output.line(progress(summary))
            if !summary.offline.isEmpty { Output.line("offline, will follow: \(FleetText.names(summary.offline))") }
        }
        guard !summary.isComplete else { return }
        let waiting = FleetText.grouped(summary.waiting).map { "not yet: \($0.names) (\($0.reason))" }
        let refused = FleetText.grouped(summary.refused).map { "\($0.names): \($0.reason)" }
        let loss = session.isConnected ? [] : ["the connection to the broker was lost while waiting"]
        throw Failure(.temporary, lines: waiting + refused + loss)
    }

    private func progress(_ summary: WaitSummary) -> String {
        guard summary.online + summary.offline.count > 0 else { return "no device reads this yet" }
        var text = "\(summary.applied.count) of \(FleetText.count(summary.online, "device")) applied it"
        if !summary.refused.isEmpty { text += ", \(summary.refused.count) refused it" }
        if !summary.offline.isEmpty { text += "; \(summary.offline.count) offline" }
        return text
    }

    private func printResult(_ summary: WaitSummary, _ documents: [FleetDocumentID: DocumentRevision]) {
        let waiting: [JSONValue] = summary.waiting.map {
            ["id": .string($0.id), "reason": .string($0.lines.first ?? "")]
        }
        Output.json([
            "documents": FleetJSON.documents(documents), "applied": .strings(summary.applied),
            "offline": .strings(summary.offline), "waiting": .array(waiting),
            "refused": FleetJSON.reasons(summary.refused),
        ])
    }
}

/// Texts that go into documents.
enum MessageText {
    /// The text without control characters, cut to `maximum` bytes; `nil` if nothing is left.
    static func line(_ text: String, maximum: Int) -> String? {
        var line = ""
        for scalar in text.unicodeScalars where scalar.properties.generalCategory != .control {
            guard line.utf8.count + UTF8.width(scalar) <= maximum else { break }
            line.unicodeScalars.append(scalar)
        }
        return line.isEmpty ? nil : line
    }
}
