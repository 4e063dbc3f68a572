internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

/// What the board knows about a layer: what is stored, and what came of the last message.
struct LayerRecord: Equatable, Sendable {
    /// What the last message turned out to be, if it was not accepted.
    enum Finding: Equatable, Sendable {
        /// It cannot be read, or does not fit the layers below. The revision is unknown if there was none to read.
        case rejected(revision: Int64?, [ConfigurationProblem])
        /// It has the accepted revision with another content.
        case conflict(DocumentRevision)
        /// It is older than the accepted one.
        case stale(DocumentRevision)
    }

    let topic: String
    var stored: StoredLayer

    /// A newer document that is not in force: it waits, or it is rejected.
    var offered: LayerDocument?

    /// The revision that is being written.
    var staged: DocumentRevision?

    /// The last message, if its document is not newer than one that waits or is being written. What it is shows when
    /// that one is accepted or rejected.
    var later: LayerDocument?

    /// When it arrived.
    var offeredAt: Timestamp?

    /// Whether the report says that it waits.
    var isReportedAsPending = false

    var finding: Finding?

    /// Whether the broker has no message any more although one was accepted.
    var isMissing = false

    /// Whether a message arrived since the topic was last subscribed to.
    var wasSeen = false

    /// The last message, so that its repetition costs nothing.
    var lastPayload: [UInt8] = []

    /// The time from arrival to application of the document in force, s; `nil` if it was applied in an earlier run.
    var applicationTime: Double?

    var name: LayerName { stored.name }

    init(_ name: LayerName, topic: String, stored: StoredLayer? = nil) {
        self.topic = topic
        self.stored = stored ?? StoredLayer(name)
    }

    /// Whether a document waits to be judged.
    var isWaiting: Bool { offered != nil && finding == nil }

    /// Whether a document has waited for so long that the report has to say so, and does not yet.
    func isPending(at now: Timestamp) -> Bool {
        guard isWaiting, !isReportedAsPending, let offeredAt else { return false }
        return now >= offeredAt.advanced(bySeconds: FleetLayers.pendingTime)
    }

    /// Takes a message.
    ///
    /// - Returns: whether anything changed.
    mutating func receive(_ payload: [UInt8], trusting keys: TrustedKeys, at now: Timestamp) -> Bool {
        wasSeen = true
        guard !payload.isEmpty else { return setMissing() }
        guard payload != lastPayload || isMissing else { return false }
        lastPayload = payload
        isMissing = false
        later = nil
        do throws(ConfigurationProblem) {
            let document = try LayerDocument(reading: payload, layer: name.text)
            if let problem = keys.problem(of: document.envelope, topic: topic) { throw problem }
            take(document, at: now)
        } catch {
            offered = nil
            finding = .rejected(revision: DocumentEnvelope.number(in: payload), [error])
        }
        return true
    }

    /// The document before the last message was accepted or rejected: judges the last message.
    mutating func takeLater(at now: Timestamp) {
        guard staged == nil, !isWaiting, let document = later else { return }
        later = nil
        take(document, at: now)
    }

    private mutating func take(_ document: LayerDocument, at now: Timestamp) {
        let revision = document.revision
        let undecided = [isWaiting ? offered?.revision : nil, staged].compactMap { $0 }.max { $0.number < $1.number }
        if let undecided, revision.number <= undecided.number {
            // A repetition needs no judgement of its own.
            if revision != undecided { later = document }
            return
        }
        offered = nil
        finding = nil
        if let problem = revision.problem(after: stored.highest, layer: name) {
            finding = .rejected(revision: revision.number, [problem])
        } else if let highest = stored.highest, revision.number < highest.number {
            // After a revision was undone, the one before it is in force.
            if revision != stored.inForce?.document.revision { finding = .stale(revision) }
        } else if let highest = stored.highest, revision.number == highest.number {
            if revision.hash != highest.hash {
                finding = .conflict(revision)
            } else if stored.isDropped {
                offer(document, at: now)
            }
        } else {
            offer(document, at: now)
        }
    }

    private mutating func offer(_ document: LayerDocument, at now: Timestamp) {
        offered = document
        offeredAt = now
        isReportedAsPending = false
    }

    /// The broker has no message on the topic.
    ///
    /// - Returns: whether that is new.
    mutating func setMissing() -> Bool {
        let before = self
        lastPayload = []
        later = nil
        offered = nil
        finding = nil
        isMissing = stored.highest != nil
        return self != before
    }
}

extension DocumentRevision {
    /// Why a document must not follow the highest accepted one, whatever it contains.
    func problem(after highest: DocumentRevision?, layer: LayerName) -> ConfigurationProblem? {
        // A device that has lost its state, or is new, accepts any.
        guard let base = highest?.number, number > base, number - base > DocumentRevision.maximumStep else {
            return nil
        }
        return ConfigurationProblem(
            at: ConfigurationPosition(.layer(layer.text)), path: "revision", found: "\(number)",
            "is too far above the last one", allowed: "\(base + 1) … \(base + DocumentRevision.maximumStep)")
    }
}
