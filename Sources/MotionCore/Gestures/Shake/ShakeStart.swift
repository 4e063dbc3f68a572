/// Whether a shake may begin, by the movement before it: it begins from quiet, or stands out from what was before.
struct ShakeStart: Sendable, BitwiseCopyable {
    /// Limits for the RMS of the quietest 0.4 s of the 12 s before: absolute, m/s², or as the logarithm of its ratio to
    /// the weakest peak (see `ShakeFeatures.ratio`). Sport, brushing teeth and dribbling are never that quiet.
    static let quietFloor = 0.06 * standardGravity
    static let quietRatio = -2.1
    /// Alternatively, for a shake while walking: logarithms of the ratios to the weakest peak of the largest acceleration
    /// in the 3 s before, and of the RMS just before.
    static let standOutRatio = -0.35
    static let standOutMoment = -0.6
    /// The limit for the RMS just before in any case, as such a logarithm.
    static let momentRatio = -0.2

    let isQuiet: Bool
    let standsOut: Bool
    /// The logarithm of the ratio of the RMS just before to the weakest peak.
    let moment: Double

    /// After `ShakeFeatures.lookBack`.
    init(_ features: borrowing ShakeFeatures) {
        let before = features.preceding
        isQuiet =
            before.quietest <= ShakeStart.quietFloor || features.ratio(before.quietest) <= ShakeStart.quietRatio
        moment = features.ratio(before.justBefore)
        standsOut = features.ratio(before.largest) <= ShakeStart.standOutRatio && moment <= ShakeStart.standOutMoment
    }

    var isAcceptable: Bool { (isQuiet || standsOut) && moment <= ShakeStart.momentRatio }
}

/// What a shake does not follow: the ringing of a blow, and movement to and fro that goes on, such as brushing, sanding or
/// stirring.
struct ShakePast: Sendable, BitwiseCopyable {
    /// A blow changes acceleration from one cell to the next by more than the strongest peak of three swings. A sine
    /// does so from 8.3 Hz on; of 430 recorded shakes none did.
    static let steepest = 1.0
    /// Seconds for which a blow rings after it was one of the last three swings: what follows is its rebounds. A hand
    /// hits a table, or a person falls. Shakes and false ones are the same for 0.4 to 0.7 s.
    static let ringing = 0.5
    /// What goes on: movement to and fro for so many seconds more than this share of the time, until there is a pause of
    /// so many seconds. With this share, no recorded series of shakes is lost; with half of it, some are.
    static let most = 3.0
    static let share = 0.2
    static let pause = 3.0
    /// Seconds for which a shake that was too long counts as what goes on.
    static let memory = 20.0
    /// Seconds without movement after which it is another one; between two swings of one there are at most 0.15 s.
    static let gap = 0.2
    /// The weakest swings of such movement, m/s².
    static let least = 0.3 * standardGravity

    private var lastBlow = -Double.infinity
    private var lastMovement = -Double.infinity
    /// Seconds of movement to and fro, less `share` of the time, since the last pause.
    private var surplus = 0.0
    /// When the present movement began, and the seconds without such movement before it.
    private var start = -Double.infinity
    private(set) var stillness = Double.infinity

    /// Whether this movement began before `end`, the end of a shake, and still goes on.
    func continues(_ end: Double, at time: Double) -> Bool { start < end && time - lastMovement <= ShakePast.gap }

    /// Whether movement to and fro goes on.
    func goesOn(at time: Double) -> Bool { surplus > ShakePast.most && time - lastMovement < ShakePast.pause }

    /// Whether there was a blow just before.
    func isRinging(at time: Double) -> Bool { time - lastBlow <= ShakePast.ringing }

    /// Notes a cell of movement to and fro: see `ShakeRecognizer.isCandidate`.
    mutating func note(_ swings: borrowing SwingTracker, at time: Double) {
        guard swings.weakestOfThree > ShakePast.least else { return }
        var first = 2
        while first > 0, swings[first].start <= lastMovement { first -= 1 }
        let began = swings[first].start
        if began - lastMovement > ShakePast.gap {
            stillness = began - lastMovement
            start = began
        }
        let pause = time - lastMovement
        surplus = pause >= ShakePast.pause ? 0 : max(0, surplus - ShakePast.share * pause)
        surplus += CellGrid.cell
        lastMovement = time
    }

    /// Notes the largest change from cell to cell of the last three swings, as a share of their strongest peak.
    mutating func noteBlow(_ steepness: Double, at time: Double) {
        if steepness > ShakePast.steepest { lastBlow = time }
    }

    /// Notes that a shake was too long.
    mutating func noteTooLong() { surplus = max(surplus, ShakePast.most + ShakePast.share * ShakePast.memory) }
}
