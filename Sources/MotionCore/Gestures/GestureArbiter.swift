/// Decides which of the gestures that recognizers propose are reported, and guarantees for all of them that every
/// `began` is followed by exactly one `ended` or `cancelled`.
///
/// A proposal passes if its gesture is enabled and not silenced, its gate is open, its cooldown is over, and no gesture
/// that takes precedence is in progress; see `GestureRules`. If a `began` is rejected, its `changed` and its end are
/// rejected too.
struct GestureArbiter: ~Copyable {
    /// The state of one gesture. Not private, because other modules look for it when they destroy the buffer.
    struct Entry {
        /// The latest event that was reported.
        var latest: GestureEvent
        /// When the gesture last began or was recognised, and when it last ended.
        var lastBegan = Timestamp(nanoseconds: .min)
        var lastEnded = Timestamp(nanoseconds: .min)
        /// An event that waits for other gestures to fail, its end if that has come meanwhile, and until when it waits at most.
        var waiting: GestureEvent
        var end: GestureEvent?
        var waitsUntil = Timestamp(nanoseconds: .min)

        init(_ gesture: Gesture) {
            latest = GestureEvent(gesture, .cancelled, at: Timestamp(nanoseconds: .min))
            waiting = latest
        }
    }

    private let entries = FixedBuffer<Entry>(count: Gesture.count)
    private var posture = Posture()
    /// The gestures that have begun and not ended.
    private(set) var open: GestureSet = []
    /// The gestures with a waiting event.
    private(set) var waiting: GestureSet = []
    /// The learned gestures, and when each was last recognised.
    private var learned: LearnedGestures?
    private var lastLearned = FixedBuffer<Timestamp>(count: 0)
    /// What the latest learned gesture held back.
    private var held: GestureSet = []

    /// The settings; change them with `apply(_:at:emit:)`.
    private(set) var settings: GestureSettings

    /// The gestures that are enabled.
    private(set) var enabled: GestureSet

    /// The gestures that may not begin now, whatever their settings say.
    var silenced: GestureSet = []

    /// Whether an event waits for other gestures to fail.
    var isAnyWaiting: Bool { !waiting.isEmpty }

    init(settings: GestureSettings) {
        self.settings = settings
        enabled = settings.enabled
        for gesture in Gesture.allCases { entries[Int(gesture.rawValue)] = Entry(gesture) }
    }

    /// Processes a cell: gates depend on the posture before a movement.
    mutating func update(_ cell: GestureCell) {
        posture.update(cell)
    }

    /// Processes the proposal of a recognizer; `undecided` are the gestures that the current movement may still become, and
    /// `held` those that wait for a learned one.
    mutating func propose(
        _ event: GestureEvent, undecided: GestureSet, held: GestureSet, _ misses: inout NearMisses,
        emit: (GestureEvent) -> Void
    ) {
        switch event.phase {
        case .began, .recognized:
            guard isAllowed(event, &misses) else { return }
            if mustWait(event.gesture, undecided, held) {
                postpone(event, isHeld: held.contains(event.gesture))
            } else {
                report(event, &misses, emit: emit)
            }
        case .changed:
            guard open.contains(event.gesture) else { return }
            entries[Int(event.gesture.rawValue)].latest = event
            emit(event)
        case .ended, .cancelled:
            if waiting.contains(event.gesture) { return end(event) }
            let isWithoutBeginning = event.isAdopted && isAllowed(event, &misses)
            guard open.contains(event.gesture) || isWithoutBeginning else { return }
            close(event, emit: emit)
        }
    }

    /// Reports the waiting events whose gestures no longer have to wait.
    mutating func release(
        at timestamp: Timestamp, undecided: GestureSet, held: GestureSet, _ misses: inout NearMisses,
        emit: (GestureEvent) -> Void
    ) {
        guard !waiting.isEmpty else { return }
        var rest = waiting
        while let gesture = rest.popFirst() {
            let index = Int(gesture.rawValue)
            guard !mustWait(gesture, undecided, held) || timestamp >= entries[index].waitsUntil else { continue }
            waiting.remove(GestureSet(gesture))
            var event = entries[index].waiting
            event.timestamp = timestamp
            report(event, &misses, emit: emit)
            guard var end = entries[index].end, open.contains(gesture) else { continue }
            end.timestamp = timestamp
            close(end, emit: emit)
        }
    }

    private func mustWait(_ gesture: Gesture, _ undecided: GestureSet, _ held: GestureSet) -> Bool {
        held.contains(gesture) || !settings.relations.required(by: gesture).isDisjoint(with: undecided)
    }

    /// How long ago the middle of the movement was whose event waits, s.
    func sinceMiddle(of gesture: Gesture, at timestamp: Timestamp) -> Double {
        let event = entries[Int(gesture.rawValue)].waiting
        return timestamp.seconds(since: event.timestamp) + 0.5 * (event.duration ?? 0)
    }

    /// Replaces the learned gestures; `nil` for none. Allocates.
    mutating func apply(_ gestures: LearnedGestures?) {
        learned = gestures
        lastLearned = FixedBuffer(
            repeating: Timestamp(nanoseconds: .min), count: gestures.map { $0.members.count } ?? 0)
    }

    /// Takes up a gesture that an earlier run of the program has reported as begun, if it is enabled.
    mutating func resume(_ gesture: Gesture) {
        guard enabled.contains(gesture) else { return }
        open.insert(GestureSet(gesture))
        entries[Int(gesture.rawValue)].latest.beginning = .reportedEarlier
    }

    /// Cancels every gesture in progress, except `kept`, and drops the waiting events.
    mutating func cancelAll(
        _ reason: CancellationReason, except kept: GestureSet = [], at timestamp: Timestamp,
        emit: (GestureEvent) -> Void
    ) {
        waiting = []
        var rest = open.subtracting(kept)
        while let gesture = rest.popFirst() { cancel(gesture, reason, at: timestamp, emit: emit) }
    }

    /// Applies new settings; cancels the gestures that they disable.
    mutating func apply(_ new: GestureSettings, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        settings = new
        enabled = new.enabled
        var rest = GestureSet.all
        while let gesture = rest.popFirst() {
            guard !new[gesture].isEnabled else { continue }
            waiting.remove(GestureSet(gesture))
            cancel(gesture, .disabled, at: timestamp, emit: emit)
        }
    }
}

extension GestureArbiter {
    /// Whether a gesture may begin now.
    private mutating func isAllowed(_ event: GestureEvent, _ misses: inout NearMisses) -> Bool {
        let gesture = event.gesture
        let (own, lastBegan, lastEnded) = rules(for: event)
        guard own.isEnabled, !open.contains(gesture) else { return false }
        let sinceBegan = event.timestamp.seconds(sinceOrInfinity: lastBegan)
        let sinceEnded = event.timestamp.seconds(sinceOrInfinity: lastEnded)
        if sinceEnded < own.cooldown || sinceBegan < own.gate.minimumInterval {
            let isCooling = sinceEnded < own.cooldown
            misses.add(
                NearMiss(
                    gesture, .tooSoon, at: event.timestamp, value: isCooling ? sinceEnded : sinceBegan,
                    limit: isCooling ? own.cooldown : own.gate.minimumInterval, name: event.name))
            return false
        }
        let obstacle =
            silenced.contains(gesture)
            ? NearMiss.GateCondition.quietHours : posture.obstacle(to: own.gate, duration: event.duration ?? 0)
        if let obstacle {
            misses.add(closed(own.gate, obstacle, to: event))
            return false
        }
        let isHeld = held.contains(gesture) && middle(of: event) <= entries[Int(Gesture.learned.rawValue)].lastEnded
        if let other = isHeld ? .learned : excluding(gesture, at: event.timestamp) {
            misses.add(NearMiss(gesture, excludedBy: other, at: event.timestamp))
            return false
        }
        return true
    }

    /// The settings of the event's gesture, and when it last began and ended.
    private func rules(for event: GestureEvent) -> (own: RecognizerSettings, lastBegan: Timestamp, lastEnded: Timestamp)
    {
        if let learned, let member = learned.member(of: event) {
            return (learned.members[member].settings.common, lastLearned[member], lastLearned[member])
        }
        let entry = entries[Int(event.gesture.rawValue)]
        return (settings[event.gesture], entry.lastBegan, entry.lastEnded)
    }

    private func middle(of event: GestureEvent) -> Timestamp {
        event.timestamp.advanced(bySeconds: -0.5 * (event.duration ?? 0))
    }

    /// The near miss of a gesture whose gate is closed.
    private func closed(
        _ gate: GestureGate, _ condition: NearMiss.GateCondition, to event: GestureEvent
    ) -> NearMiss {
        var miss = NearMiss(event.gesture, .gateClosed, at: event.timestamp, name: event.name)
        miss.gate = condition
        if condition == .tiltAbove || condition == .tiltBelow {
            miss.value = posture.tilt
            miss.limit = condition == .tiltAbove ? gate.tiltAbove : gate.tiltBelow
        }
        return miss
    }

    /// The gesture that takes precedence and is in progress or just over; `nil` if there is none.
    private func excluding(_ gesture: Gesture, at timestamp: Timestamp) -> Gesture? {
        var rest = GestureRules.excluding
        while let other = rest.popFirst() {
            guard settings.relations.excluded(by: other).contains(gesture) else { continue }
            if open.contains(other) { return other }
            let sinceEnded = timestamp.seconds(sinceOrInfinity: entries[Int(other.rawValue)].lastEnded)
            if sinceEnded < GestureRules.exclusionTime(after: other) { return other }
        }
        // What it had to wait for has been recognised, not failed.
        var recognised = settings.relations.required(by: gesture).intersection(open)
        return recognised.popFirst()
    }

    /// Keeps an event until the gestures that it waits for have failed. If one of its kind already waits, the first one
    /// stays.
    private mutating func postpone(_ event: GestureEvent, isHeld: Bool) {
        let index = Int(event.gesture.rawValue)
        guard !waiting.contains(event.gesture) else { return }
        waiting.insert(GestureSet(event.gesture))
        entries[index].waiting = event
        entries[index].end = nil
        let longest = isHeld ? learned?.longestWait ?? 0 : GestureRules.longestWait
        entries[index].waitsUntil = event.timestamp.advanced(bySeconds: longest)
    }

    /// Ends a gesture whose beginning waits: that end waits too, unless nothing came of it.
    private mutating func end(_ event: GestureEvent) {
        if event.phase == .cancelled { waiting.remove(GestureSet(event.gesture)) }
        entries[Int(event.gesture.rawValue)].end = event
    }

    /// Reports the beginning of a gesture, and cancels the gestures over which it takes precedence.
    private mutating func report(
        _ event: GestureEvent, _ misses: inout NearMisses, emit: (GestureEvent) -> Void
    ) {
        let excluded = settings.relations.excluded(by: event.gesture)
        if let learned, let member = learned.member(of: event) {
            held = learned.members[member].settings.held
            lastLearned[member] = event.timestamp
        }
        if !open.union(waiting).isEmpty {
            var rest = excluded.union(waitingForFailure(of: event.gesture))
            if event.gesture == .learned { rest.formUnion(held) }
            while let other = rest.popFirst() {
                if waiting.contains(other) {
                    waiting.remove(GestureSet(other))
                    misses.add(NearMiss(other, excludedBy: event.gesture, at: event.timestamp))
                }
                if excluded.contains(other) {
                    cancel(other, .interrupted, at: event.timestamp, emit: emit)
                }
            }
        }
        let index = Int(event.gesture.rawValue)
        entries[index].latest = event
        entries[index].lastBegan = event.timestamp
        if event.phase == .began {
            open.insert(GestureSet(event.gesture))
        } else {
            entries[index].lastEnded = event.timestamp
        }
        emit(event)
    }

    /// The waiting gestures that required `gesture` to fail.
    private func waitingForFailure(of gesture: Gesture) -> GestureSet {
        var dropped: GestureSet = []
        var rest = waiting
        while let other = rest.popFirst() {
            if settings.relations.required(by: other).contains(gesture) { dropped.insert(GestureSet(other)) }
        }
        return dropped
    }

    private mutating func close(_ event: GestureEvent, emit: (GestureEvent) -> Void) {
        let index = Int(event.gesture.rawValue)
        entries[index].latest = event
        entries[index].lastEnded = event.timestamp
        open.remove(GestureSet(event.gesture))
        emit(event)
    }

    private mutating func cancel(
        _ gesture: Gesture, _ reason: CancellationReason, at timestamp: Timestamp, emit: (GestureEvent) -> Void
    ) {
        guard open.contains(gesture) else { return }
        var event = entries[Int(gesture.rawValue)].latest
        if let duration = event.duration { event.duration = duration + timestamp.seconds(since: event.timestamp) }
        event.phase = .cancelled
        event.timestamp = timestamp
        event.reason = reason
        close(event, emit: emit)
    }
}

extension Timestamp {
    /// Seconds since `earlier`; infinite if `earlier` is the smallest timestamp.
    fileprivate func seconds(sinceOrInfinity earlier: Timestamp) -> Double {
        earlier.nanoseconds == .min ? .infinity : seconds(since: earlier)
    }
}

extension NearMiss {
    fileprivate init(_ gesture: Gesture, excludedBy other: Gesture, at timestamp: Timestamp) {
        self.init(gesture, .excluded, at: timestamp)
        precedence = other
    }
}
