internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem

/// A session at the fleet's broker whose state has been read, for one of the commands of `jostle fleet`.
struct FleetConnection {
    let session: FleetSession
    let settings: JostleSettings
    /// Signs what is published; `nil` without `--sign-key`.
    let signer: DocumentSigner?
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
    static func open(_ arguments: Arguments, interests: FleetSession.Interests = []) throws -> FleetConnection {
        let signals = SignalWaiter()
        let settings = try Configuration.load(arguments, overrides: BrokerArgument.overrides(arguments)).settings
        let signer = try arguments.value("sign-key").map { path throws in try SigningKeyFile.read(path)
        }
        var times = FleetSession.Times()
        if let seconds = try arguments.seconds("settle", atMost: 600) {
            times.quiet = seconds
            times.reading = max(times.reading, 30 * seconds)
        }
        let name = settings.forCommands.brokers(embeddedPort: nil).first.map { "\($0)" } ?? ""
        let keys = settings.fleet.trustedKeys + [signer?.trustedKey].compactMap { $0 }
        let trust = DocumentTrust(keys, topics: FleetTopics(prefix: settings.mqtt.prefix))
        let history = DocumentHistory(
            stateDirectory: Configuration.stateDirectory, broker: name, prefix: settings.mqtt.prefix, trust: trust)
        let session: FleetSession
        session = try FleetSession(
            settings: settings, interests: interests, times: times, trust: trust, signals: signals)
        try session.connect()
        let connection = FleetConnection(session: session, settings: settings, signer: signer, history: history)
        session.remember(history.numbers, sent: history.sentNumbers)
        connection.keepDocuments()
        FleetNames(session.model).keep(stateDirectory: Configuration.stateDirectory)
        connection.reportSkipped()
        return connection
    }

    /// Completes a draft for publication, signed if there is a key.
    func publication(_ draft: DocumentDraft, of document: FleetDocumentID, revision: Int64) throws -> FleetPublication {
        try FleetPublication(draft, of: document, revision: revision, topics: session.topics, signer: signer)
    }

    /// Keeps the documents that the broker holds, so that `rollback` can go back to them. One whose number boards refuse
    /// was never in force.
    func keepDocuments() {
        let documents = model.documents.filter { RevisionPlan(for: $0.key, in: model).isHeldCredible }
        do {
            try history.keep(documents)
        } catch {
            Output.warn("the documents cannot be kept for jostle fleet rollback: \(error)")
        }
    }

    /// Keeps documents that are about to be published, so that `rollback --to` finds them if the broker loses them at once.
    func keep(sending publications: [FleetPublication]) {
        do {
            try history.keep(sending: publications)
        } catch {
            Output.warn("the documents cannot be kept for jostle fleet rollback: \(error)")
        }
    }

    /// The kept revisions of a document, the one that was first seen last at the beginning.
    func revisions(of document: FleetDocumentID) -> [StoredDocument] { history.revisions(of: document) }

    /// A kept revision of a document. Among several of this number: one that the broker held, else the one that boards
    /// have, else the one that was sent last.
    func revision(_ number: Int64, of document: FleetDocumentID) -> StoredDocument? {
        if let seen = history.revisions(of: document).first(where: { $0.number == number }) { return seen }
        let sent = history.sentRevisions(of: document).filter { $0.number == number }
        let statuses = model.boards.values.compactMap { $0.status(of: document) }
        let hashes = Set(statuses.filter { $0.revision == number }.compactMap(\.hash))
        return sent.first { $0.revision.map { hashes.contains($0.shortHash) } ?? false } ?? sent.first
    }

    /// Reads documents by their own topics before they are changed, if the broker may not have sent them.
    func complete(_ documents: [FleetDocumentID]) throws {
        try session.complete(documents)
    }

    private func reportSkipped() {
        if session.gaps == .likely {
            Output.warn(
                "the broker did not send everything at once, so devices and documents may be missing here: "
                    + "raise its limit, with mosquitto max_queued_messages")
        }
        guard model.skippedMessages > 0 else { return }
        let count = model.skippedMessages
        Output.errors(
            ["jostle: \(count) \(count == 1 ? "message was" : "messages were") ignored:"]
                + model.firstSkipped.map { "  \($0.topic): \($0.reason)" })
    }

    /// Who publishes: `ada@desk`.
    static var author: String {
        let account = getpwuid(getuid()).flatMap { $0.pointee.pw_name }.map { String(cString: $0) }
        let user = Configuration.variable("SUDO_USER") ?? account ?? "uid-\(getuid())"
        return MessageText.line("\(user)@\(DeviceName.hostName())", maximum: 200) ?? "unknown"
    }

    /// Now, milliseconds since 1970.
    static var now: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }
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
