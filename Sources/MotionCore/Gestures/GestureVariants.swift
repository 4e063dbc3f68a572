/// Another way to recognise one gesture: with settings of its own, beside those that hold for everyone.
package struct GestureVariant: Equatable, Sendable {
    /// Distinguishes its events, `GestureEvent.variant`; not 0.
    package var number: UInt16

    /// The only gesture that it reports.
    package var gesture: Gesture

    /// The settings of all gestures, since others may exclude its own.
    package var settings: GestureSettings

    package init(number: UInt16, gesture: Gesture, settings: GestureSettings) {
        self.number = number
        self.gesture = gesture
        self.settings = settings
    }
}

/// The recognizers of all variants. Each is a complete set, so that what excludes a gesture also excludes its variant; it
/// costs as much as the recognizers of the settings do.
///
/// Only `apply` allocates.
struct GestureVariants: ~Copyable {
    private struct Entry: ~Copyable {
        var variant: GestureVariant
        var recognizers: GestureRecognizers
    }

    private var entries: UnsafeMutablePointer<Entry>?
    private var count = 0

    init() {}

    deinit {
        for index in 0..<count { GestureVariants.destroy(entries, index) }
        entries?.deallocate()
    }

    /// Destroys an entry. Not with `deinitialize`: as Embedded Swift, Swift 6.0.3 crashes on it.
    private static func destroy(_ entries: UnsafeMutablePointer<Entry>?, _ index: Int) {
        guard let entries else { return }
        _ = (entries + index).move()
    }

    var isEmpty: Bool { count == 0 }

    /// The gestures of variants that are under way.
    var open: GestureSet {
        var open: GestureSet = []
        guard let entries else { return open }
        for index in 0..<count {
            open.formUnion(entries[index].recognizers.open.intersection(GestureSet(entries[index].variant.gesture)))
        }
        return open
    }

    /// Whether a gesture of any variant is in progress or possible.
    mutating func areExpecting() -> Bool {
        guard let entries else { return false }
        for index in 0..<count where entries[index].recognizers.isExpecting() { return true }
        return false
    }

    /// Passes a sample to every variant.
    mutating func update(_ sample: GestureSample, emit: (GestureEvent) -> Void) {
        guard let entries else { return }
        for index in 0..<count {
            let (number, gesture) = (entries[index].variant.number, entries[index].variant.gesture)
            entries[index].recognizers.update(sample) { GestureVariants.pass($0, of: gesture, as: number, emit) }
        }
    }

    /// Sets the gestures that may not begin now.
    mutating func silence(_ gestures: GestureSet) {
        guard let entries else { return }
        for index in 0..<count { entries[index].recognizers.silenced = gestures }
    }

    /// Cancels every gesture under way.
    mutating func cancel(_ reason: CancellationReason, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        guard let entries else { return }
        for index in 0..<count {
            let (number, gesture) = (entries[index].variant.number, entries[index].variant.gesture)
            entries[index].recognizers.cancel(reason, at: timestamp) {
                GestureVariants.pass($0, of: gesture, as: number, emit)
            }
        }
    }

    /// Replaces the variants. One whose number stays keeps what it has seen; the gestures of one that goes are cancelled.
    mutating func apply(
        _ variants: [GestureVariant], silenced: GestureSet, at timestamp: Timestamp, emit: (GestureEvent) -> Void
    ) {
        let old = entries
        let oldCount = count
        var isKept = [Bool](repeating: false, count: oldCount)
        let new = UnsafeMutablePointer<Entry>.allocate(capacity: max(1, variants.count))
        for (index, variant) in variants.enumerated() {
            if let old, let place = (0..<oldCount).first(where: { old[$0].variant.number == variant.number }) {
                isKept[place] = true
                (new + index).moveInitialize(from: old + place, count: 1)
                new[index].variant = variant
                new[index].recognizers.apply(variant.settings, at: timestamp) {
                    GestureVariants.pass($0, of: variant.gesture, as: variant.number, emit)
                }
            } else {
                var recognizers = GestureRecognizers(settings: variant.settings)
                recognizers.silenced = silenced
                (new + index).initialize(to: Entry(variant: variant, recognizers: recognizers))
            }
        }
        if let old {
            for index in 0..<oldCount where !isKept[index] {
                let (number, gesture) = (old[index].variant.number, old[index].variant.gesture)
                old[index].recognizers.cancel(.disabled, at: timestamp) {
                    GestureVariants.pass($0, of: gesture, as: number, emit)
                }
                GestureVariants.destroy(old, index)
            }
            old.deallocate()
        }
        entries = new
        count = variants.count
    }

    private static func pass(
        _ event: GestureEvent, of gesture: Gesture, as number: UInt16, _ emit: (GestureEvent) -> Void
    ) {
        guard event.gesture == gesture else { return }
        var event = event
        event.variant = number
        emit(event)
    }
}
