/// The moments of a recording at which the recognizer asks whether there is a shake, for `Scripts/fit-shake`.
///
/// The cells, swings, gates and features are those of `ShakeRecognizer`, whatever its present weights. Decisions need
/// more than that, so they are left to the caller.
package struct ShakeCandidates: ~Copyable {
    /// The values of a row before its features: time and start of the movement (s since the first sample), the latest and
    /// the weakest peak (m/s²), the number of swings, and the gates: 0 if the movement is not fitted to, 1 if it is, 2 if a
    /// shake may also begin. What rings, goes on or is too quick still shows the network what a shake is not.
    package static let leadingColumns = 6
    /// The longest mean swing that is fitted to, s.
    private static let slowestSwing = 0.42
    /// All values of a row.
    package static var columns: Int { leadingColumns + ShakeFeatures.count }

    private var grid = CellGrid()
    private var swings = SwingTracker()
    private var features = ShakeFeatures()
    private var past = ShakePast()
    private var start: Timestamp?
    /// When the grid began, s since the first sample.
    private var gridStart = 0.0
    private let row = FixedBuffer<Float>(repeating: 0, count: ShakeCandidates.columns)

    package init() {}

    /// Processes the acceleration of a sample, m/s², and passes each resulting row to `emit`. The row of an interruption,
    /// which ends every shake, has a weakest peak of -1.
    package mutating func update(
        _ acceleration: Vector3, at timestamp: Timestamp, emit: (UnsafeBufferPointer<Float>) -> Void
    ) {
        let first = start ?? timestamp
        start = first
        guard grid.add(CellGrid.Values(acceleration: acceleration), at: timestamp) else {
            swings.reset()
            features.reset()
            past = ShakePast()
            gridStart = timestamp.seconds(since: first)
            for column in 0..<ShakeCandidates.columns { row[column] = 0 }
            row[0] = Float(gridStart)
            row[3] = -1
            emit(UnsafeBufferPointer(start: row.base, count: ShakeCandidates.columns))
            return
        }
        while let means = grid.next() {
            let time = grid.end
            swings.update(means.acceleration, at: time)
            guard ShakeRecognizer.isCandidate(swings, at: time) else { continue }
            features.begin(swings)
            features.lookBack(swings)
            features.complete(swings, at: time)
            past.note(swings, at: time)
            past.noteBlow(features.steepness, at: time)
            let start = ShakeStart(features)
            let isFittedTo =
                start.isAcceptable && features.onset < ShakeRecognizer.mostSwings
                && swings.recentFall(at: time) <= ShakeRecognizer.longestFall
                && swings.halfPeriod(ofLast: min(3, features.onset)) <= ShakeCandidates.slowestSwing
            let isOpen =
                isFittedTo && ShakeRecognizer.wrongPace(swings, features) == nil
                && !past.isRinging(at: time) && (!past.goesOn(at: time) || start.standsOut)
            row[0] = Float(gridStart + time)
            row[1] = Float(gridStart + swings[features.onset].start)
            row[2] = Float(swings[0].amplitude)
            row[3] = Float(features.weakest)
            row[4] = Float(features.onset + 1)
            row[5] = isOpen ? 2 : isFittedTo ? 1 : 0
            for index in 0..<ShakeFeatures.count {
                row[ShakeCandidates.leadingColumns + index] = Float(features[index])
            }
            emit(UnsafeBufferPointer(start: row.base, count: ShakeCandidates.columns))
        }
    }
}
