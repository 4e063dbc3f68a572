internal import Documents
internal import JostleMessages

/// What was accepted last on a topic, even if it is not in force any more: what the next document has to follow.
struct AcceptedRevision: Equatable, Sendable {
    /// The document, with the latest time that was accepted of its epoch.
    private(set) var revision: DocumentRevision

    /// The latest time that was accepted while the clock was set; `nil` if none was.
    private(set) var confirmedAt: Int64?

    /// The epochs that it followed, the last one at the end. The empty epoch is not among them.
    private(set) var formerEpochs: [String]

    /// The most epochs that are remembered; those that were left first are forgotten first.
    private static let maximumEpochs = 8

    /// What an earlier process had accepted.
    init(_ revision: DocumentRevision, confirmedAt: Int64? = nil, formerEpochs: [String] = []) {
        self.revision = revision
        self.confirmedAt = confirmedAt
        self.formerEpochs = formerEpochs
    }

    /// What is accepted with a document that follows `before`.
    init(_ next: DocumentRevision, after before: AcceptedRevision?, at now: ClockReading) {
        self.init(next, confirmedAt: before?.confirmedAt)
        if let before {
            let epochs = (before.formerEpochs + [before.revision.epoch]).filter { $0 != next.epoch && !$0.isEmpty }
            formerEpochs = Array(epochs.suffix(AcceptedRevision.maximumEpochs))
            // Publishers' clocks differ, but the time does not go back within an epoch: a document of an epoch before would
            // follow then. A time that is ahead of this device's clock was accepted when that was not set.
            let credible = max(before.confirmedAt ?? 0, now.wall + DocumentRevision.clockTolerance)
            if before.revision.epoch == next.epoch, let time = before.revision.at, time <= credible {
                revision.at = max(time, next.at ?? time)
            }
        }
        confirm(at: now)
    }

    /// Confirms the time by a clock that is set: whatever becomes of the clock, it was not ahead of that.
    ///
    /// - Returns: whether that is new.
    @discardableResult mutating func confirm(at now: ClockReading) -> Bool {
        guard let time = revision.at, let latest = now.latestPublication, time <= latest, time > confirmedAt ?? -1
        else { return false }
        confirmedAt = time
        return true
    }

    /// How a document follows: by its number within the epoch, and with another epoch by its time.
    ///
    /// A time that has not come yet by a clock that is set keeps nothing out: it was accepted before the clock was set. On a
    /// device with trusted keys, one that was confirmed does: the clock was set back. Without keys and without a clock,
    /// any time can be a lie. Then each epoch is accepted once: a new one always is, and what brokers bring back is not.
    func order(of next: DocumentRevision, hasKeys: Bool, at now: ClockReading) -> DocumentRevision.Order {
        let order = next.order(after: revision)
        guard next.epoch != revision.epoch else { return order }
        guard let latest = now.latestPublication else {
            guard !hasKeys else { return order }
            return next.epoch.isEmpty || formerEpochs.contains(next.epoch) ? .older : .newer
        }
        guard order == .older, let time = revision.at, time > latest else { return order }
        return (next.at ?? -1) > (hasKeys ? confirmedAt : nil) ?? -1 ? .newer : .older
    }
}

/// What was accepted last on topics that the device does not read any more, or whose document it dropped. If it reads such
/// a topic again, an older document is not accepted: otherwise, somebody could publish an old signed document again.
struct FormerRevisions: Equatable, Sendable {
    /// One topic.
    struct Item: Equatable, Sendable {
        let topic: String
        let accepted: AcceptedRevision
    }

    /// The most topics; those that were left first are forgotten first.
    static let maximum = 256

    /// The topics, the one that was left last at the end.
    private(set) var items: [Item] = []

    subscript(topic: String) -> AcceptedRevision? { items.first { $0.topic == topic }?.accepted }

    mutating func remember(_ accepted: AcceptedRevision, of topic: String) {
        forget(topic)
        items.append(Item(topic: topic, accepted: accepted))
        if items.count > FormerRevisions.maximum { items.removeFirst() }
    }

    /// Forgets a topic whose revision is stored with its document again.
    mutating func forget(_ topic: String) { items.removeAll { $0.topic == topic } }
}

extension DocumentRevision {
    /// Why no document must be accepted with this time, whatever it contains: those of later epochs could not follow.
    func problem(at now: ClockReading, layer: LayerName) -> DocumentProblem? {
        guard let at, let latest = now.latestPublication, at > latest else { return nil }
        return DocumentProblem(
            at: DocumentPosition(.layer(layer.text)), path: "at", found: "\(at)",
            "is more than a day ahead of this device's clock")
    }
}

extension ClockReading {
    /// The latest time at which a document can have been published: the clocks of operators may be a day ahead. `nil` if
    /// this clock cannot be trusted.
    var latestPublication: Int64? { isSet ? wall + DocumentRevision.clockTolerance : nil }
}
