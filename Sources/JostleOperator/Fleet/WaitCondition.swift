package import JostleMessages

/// Whether devices have taken documents over.
package struct WaitCondition: Equatable, Sendable {
    /// The documents that must be in force on the devices that read them.
    package var documents: [FleetDocumentID: DocumentRevision]

    /// The devices that count; `nil` counts all.
    package var ids: Set<String>?

    /// Whether the devices must have everything that the broker holds for them, and nothing that it has lost.
    package var isWhole = false

    package init(_ documents: [FleetDocumentID: DocumentRevision], ids: Set<String>? = nil) {
        self.documents = documents
        self.ids = ids
    }

    /// Everything that the broker holds must be in force on the devices that read it.
    package init(everythingIn model: FleetModel, ids: Set<String>? = nil) {
        self.init(model.documents.compactMapValues(\.revision), ids: ids)
        isWhole = true
    }

    /// What became of the documents on a device.
    package enum State: Equatable, Sendable {
        case applied
        /// The device does not answer at present; it takes the documents over when it returns.
        case offline
        /// Not yet, and what the device last reported.
        case waiting(String)
        /// The device does not take a document over, and why.
        case refused([String])
    }

    /// The state of each device that reads one of the documents, in the order of their ids.
    package func boards(in model: FleetModel) -> [(id: String, state: State)] {
        model.allBoards.compactMap { board in
            guard ids?.contains(board.id) ?? true else { return nil }
            return state(of: board, in: model).map { (board.id, $0) }
        }
    }

    /// The state of a device; `nil` if it reads none of the documents.
    func state(of board: FleetBoard, in model: FleetModel) -> State? {
        var refusals: [String] = []
        var waiting: String?
        var isReader = isWhole && board.report != nil
        for document in model.documents(of: board.id) {
            guard let revision = documents[document] else {
                if isWhole, let loss = WaitCondition.loss(of: document, board, model) {
                    isReader = true
                    refusals.append(loss)
                }
                continue
            }
            isReader = true
            switch WaitCondition.state(of: board, document, revision) {
            case .applied, .offline: break
            case .waiting(let text): waiting = waiting ?? text
            case .refused(let lines): refusals += lines
            }
        }
        guard isReader else { return nil }
        if refusals.isEmpty, waiting == nil { return .applied }
        guard board.isOnline == true else { return .offline }
        if !refusals.isEmpty { return .refused(refusals) }
        return waiting.map { .waiting($0) } ?? .applied
    }

    /// Why a device cannot have a document of which the broker holds no readable one; `nil` if it has none either.
    private static func loss(of document: FleetDocumentID, _ board: FleetBoard, _ model: FleetModel) -> String? {
        let name = document.layer?.text ?? "registry"
        if let problem = model.documents[document]?.problem {
            return "\(name): the broker holds something that is none: \(problem)"
        }
        guard let number = board.status(of: document)?.acceptedNumber else { return nil }
        return "\(name) \(number): missing: the broker does not hold it any more"
    }

    private static func state(
        of board: FleetBoard, _ document: FleetDocumentID, _ revision: DocumentRevision
    ) -> State {
        let name = document.layer?.text ?? "registry"
        guard let report = board.report else { return .waiting("it has reported no configuration") }
        guard report.layers != nil else {
            return .waiting("it does not report layers: its program is too old")
        }
        guard report.takesEpochs || revision.epoch.isEmpty else {
            return .refused(["\(name) \(revision.number): its program is too old for an epoch"])
        }
        guard let layer = board.status(of: document) else { return .waiting("it does not report \(name)") }
        let standing = layer.standing(on: revision)
        if standing == .applied { return .applied }
        let reported = "it reports \(name) \(layer.status.word)"
        guard let number = layer.revision, layer.epoch == revision.epoch, number >= revision.number else {
            let number = layer.revision.map { " \($0)" } ?? ""
            return .waiting("\(reported)\(number), not revision \(revision.number)")
        }
        switch standing {
        case .missing where number == revision.number && layer.hasHash(revision.shortHash): return .applied
        case .conflict:
            return .refused(["\(name) \(revision.number): conflict: it holds another document of this revision"])
        case .refused:
            let head = "\(name) \(number) \(layer.status.word)"
            let reasons = layer.errors.map(\.text) + [layer.reason].compactMap { $0 }
            return .refused(reasons.isEmpty ? [head] : reasons.map { "\(head): \($0)" })
        case .newer:
            let newer = layer.acceptedNumber ?? number
            return .refused(["\(name) \(revision.number): it holds the newer revision \(newer)"])
        case .none, .waiting, .applied, .missing, .unknown:
            return .waiting("\(reported) \(number)" + (layer.reason.map { ": \($0)" } ?? ""))
        }
    }
}

/// A device, and what is said of it.
package struct DeviceReasons: Equatable, Sendable {
    package let id: String
    package let lines: [String]
}

/// What became of documents on all devices.
package struct WaitSummary: Equatable, Sendable {
    package var applied: [String] = []
    package var offline: [String] = []
    package var waiting: [DeviceReasons] = []
    package var refused: [DeviceReasons] = []

    package init(_ boards: [(id: String, state: WaitCondition.State)]) {
        for board in boards {
            switch board.state {
            case .applied: applied.append(board.id)
            case .offline: offline.append(board.id)
            case .waiting(let reason): waiting.append(DeviceReasons(id: board.id, lines: [reason]))
            case .refused(let lines): refused.append(DeviceReasons(id: board.id, lines: lines))
            }
        }
    }

    /// The number of devices that are online.
    package var online: Int { applied.count + waiting.count + refused.count }

    /// Whether nothing more will happen: every device that is online has answered.
    package var isSettled: Bool { waiting.isEmpty }

    /// Whether all devices that are online have taken the documents over.
    package var isComplete: Bool { waiting.isEmpty && refused.isEmpty }
}
