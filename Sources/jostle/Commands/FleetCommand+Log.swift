internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet log`: who published what.
extension FleetCommand {
    static let logUsage = CommandUsage(
        name: "fleet log", summary: "show who published each document in force, when and why",
        options: [
            CommandUsage.Option(
                name: "document", value: "NAME",
                help: "all revisions of this document that this machine has seen: all, group:G, device:ID, registry:ID",
                suggestions: .documents),
            FleetOptions.json,
        ] + FleetConnection.options)

    static func log(_ arguments: Arguments) throws(CommandFailure) {
        let name = arguments.value("document")
        let id = name.flatMap { FleetDocumentID($0) }
        if let name, id == nil {
            throw CommandFailure(
                .usage, "--document is \"\(name)\", not all, group:GROUP, device:ID or registry:ID")
        }
        let connection = try FleetConnection.open(arguments)
        let model = connection.model
        var documents: [(id: FleetDocumentID, stored: StoredDocument)]
        if let id {
            documents = connection.revisions(of: id).map { (id, $0) }
        } else {
            documents = model.documents.map { ($0.key, $0.value) }
            documents.sort { one, other in
                let (a, b) = (one.stored.envelope?.at ?? 0, other.stored.envelope?.at ?? 0)
                return a == b ? one.id < other.id : a > b
            }
        }
        guard !arguments.has("json") else {
            for (id, stored) in documents {
                Output.json(JSONValue.object(FleetJSON.document(id, stored) + devices(id, stored, model)).compactText)
            }
            return
        }
        guard !documents.isEmpty else {
            let none = id.map { "This machine has seen no revision of \($0.text)." }
            Output.line(none ?? "The broker holds no document.")
            return
        }
        let rows = documents.map { id, stored in
            guard let envelope = stored.envelope else {
                return ["-", id.text, "-", "-", "-", "-", "unreadable: \(stored.problem.map { "\($0)" } ?? "")"]
            }
            let (applied, all) = counts(id, stored, model)
            return [
                FleetText.time(envelope.at), id.text, "\(envelope.revision.number)", envelope.revision.shortHash,
                "\(applied) of \(all)", envelope.by ?? "-", envelope.note ?? "",
            ]
        }
        Output.text(TextTable([["time", "document", "revision", "hash", "applied", "by", "note"]] + rows).description)
    }

    private static func counts(
        _ id: FleetDocumentID, _ stored: StoredDocument, _ model: FleetModel
    ) -> (applied: Int, all: Int) {
        guard let revision = stored.revision else { return (0, 0) }
        let readers = model.readers(of: id)
        let applied = readers.filter {
            guard let layer = $0.status(of: id) else { return false }
            return layer.status == .applied && layer.revision == revision.number
                && layer.hash ?? revision.shortHash == revision.shortHash
        }
        return (applied.count, readers.count)
    }

    private static func devices(
        _ id: FleetDocumentID, _ stored: StoredDocument, _ model: FleetModel
    ) -> [JSONValue.Member] {
        let (applied, all) = counts(id, stored, model)
        return [.init("applied", .number("\(applied)")), .init("devices", .number("\(all)"))]
    }
}
