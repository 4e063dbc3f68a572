/// One swing of a movement to and fro: from where linear acceleration leaves zero to where it reverses.
struct Swing: Sendable, BitwiseCopyable {
    /// When it began, s on the grid's clock.
    var start = 0.0
    /// Its largest linear acceleration, m/s², as a vector and its length.
    var peak = Vector3.zero
    var amplitude = 0.0
    /// Sums over its cells: squared linear acceleration, and its products by axis (xx, yy, zz, xy, xz, yz).
    var energy = 0.0
    var cells = 0.0
    var diagonal = Vector3.zero
    var mixed = Vector3.zero
    /// The number of its first cell, and gravity at that time, m/s².
    var cell = 0
    var gravity = Vector3.zero

    /// The ratio of the peak to the swing's own RMS: about 1.4 for a sine, more for a blow.
    var crest: Double {
        energy > 0 ? amplitude / (energy / cells).squareRoot() : 1
    }

    /// The square root of energy times duration, m/s: about the change of velocity.
    var path: Double { (energy * cells).squareRoot() * CellGrid.cell }

    /// Adds one cell to the swing's sums.
    mutating func add(_ linear: Vector3) {
        energy += linear.lengthSquared
        cells += 1
        diagonal += Vector3(linear.x * linear.x, linear.y * linear.y, linear.z * linear.z)
        mixed += Vector3(linear.x * linear.y, linear.x * linear.z, linear.y * linear.z)
    }

    /// The energy along the unit vector `direction`.
    static func energy(along direction: Vector3, diagonal: Vector3, mixed: Vector3) -> Double {
        let u = direction
        return diagonal.x * u.x * u.x + diagonal.y * u.y * u.y + diagonal.z * u.z * u.z
            + 2 * (mixed.x * u.x * u.y + mixed.y * u.x * u.z + mixed.z * u.y * u.z)
    }
}

/// Splits movement into swings to and fro.
///
/// Gravity is removed by an adaptive low-pass: fast at rest and slow in motion, so that the estimate is soon right
/// after the board was turned, and a shake does not pull it along.
struct SwingTracker: ~Copyable {
    /// The number of swings in the buffer.
    static let capacity = 16

    /// Linear acceleration at which a first swing begins, m/s².
    static let threshold = 0.3 * standardGravity
    /// The next swing begins when the acceleration against the last peak exceeds this, m/s², and this share of the
    /// peak.
    static let turnThreshold = 0.22 * standardGravity
    static let turnShare = 0.25
    /// Seconds from the start of a swing after which the chain ends.
    static let chainTimeout = 0.8
    /// Time constants of gravity, s: at rest (less than 0.25 g of linear acceleration) and in movement.
    static let restTimeConstant = 0.4
    static let movingTimeConstant = 1.5

    /// Force below which the board falls, m/s²; how long the fall must last to count, s; and for how long it is
    /// remembered, s.
    static let fallForce = 0.35 * standardGravity
    static let shortestFall = 0.09
    static let fallMemory = 1.2

    private let swings = FixedBuffer(repeating: Swing(), count: SwingTracker.capacity)
    private var history = MotionHistory()
    private var hasStarted = false
    private var fallLength = 0.0
    private var lastFall = (end: -Double.infinity, length: 0.0)

    /// The number of swings in the current chain, at most 99; the latest has index 0.
    private(set) var count = 0
    /// The number of swings since the last reset.
    private(set) var total = 0
    /// Gravity, m/s², pointing up.
    private(set) var gravity = Vector3.zero
    /// Acceleration without gravity, m/s².
    private(set) var linear = Vector3.zero
    private(set) var magnitude = 0.0

    /// The number of swings of the chain in the buffer.
    var remembered: Int { min(count, SwingTracker.capacity) }

    /// The swing `age` swings ago, 0 for the latest.
    subscript(age: Int) -> Swing { swings[age] }

    /// The peak of the weakest of the last three swings, m/s².
    var weakestOfThree: Double { min(swings[0].amplitude, min(swings[1].amplitude, swings[2].amplitude)) }

    /// Seconds of a swing, the mean of the last `number`, which are not more than those before the latest.
    func halfPeriod(ofLast number: Int) -> Double { (swings[0].start - swings[number].start) / Double(number) }

    /// The duration of a fall within the last 1.2 s, s; 0 if there was none.
    func recentFall(at time: Double) -> Double {
        time - lastFall.end < SwingTracker.fallMemory ? lastFall.length : 0
    }

    /// The motion before a swing.
    func precedingMotion(before swing: Swing) -> PrecedingMotion { history.precedingMotion(before: swing.cell) }

    /// Cells since the first cell of a swing.
    func age(of swing: Swing) -> Int { history.count - 1 - swing.cell }

    /// Measures of the latest cells; see `MotionHistory`.
    func energies(latest cells: Int) -> MotionEnergies { history.energies(latest: cells) }
    func forceRange(latest cells: Int) -> (largest: Double, smallest: Double) { history.forceRange(latest: cells) }
    func gravity(cellsAgo cells: Int) -> Vector3 { history.gravity(at: history.count - 1 - cells) }

    /// Resets to the initial state.
    mutating func reset() {
        hasStarted = false
        count = 0
        total = 0
        fallLength = 0
        lastFall = (-.infinity, 0)
        history.reset()
    }

    /// Processes the mean acceleration, m/s², of the cell that ends at `time`.
    mutating func update(_ acceleration: Vector3, at time: Double) {
        if !hasStarted {
            hasStarted = true
            gravity = acceleration
        }
        linear = acceleration - gravity
        magnitude = linear.length
        let timeConstant =
            magnitude < 0.25 * standardGravity ? SwingTracker.restTimeConstant : SwingTracker.movingTimeConstant
        let force = acceleration.length
        history.append(linear: linear, force: force, gravity: gravity)
        gravity += linear * (CellGrid.cell / timeConstant)
        fallLength = force < SwingTracker.fallForce ? fallLength + CellGrid.cell : 0
        if fallLength > SwingTracker.shortestFall { lastFall = (time, fallLength) }

        if count > 0, time - swings[0].start > SwingTracker.chainTimeout { count = 0 }
        if count == 0 {
            if magnitude > SwingTracker.threshold { begin(at: time) }
        } else {
            follow(at: time)
        }
        if count > 0 { swings[0].add(linear) }
    }

    /// Within a chain: updates the swing, or begins the next one.
    private mutating func follow(at time: Double) {
        let along = linear.dot(swings[0].peak) / swings[0].amplitude
        if along < -max(SwingTracker.turnThreshold, SwingTracker.turnShare * swings[0].amplitude) {
            begin(at: time)
        } else if along > 0, magnitude > swings[0].amplitude {
            swings[0].amplitude = magnitude
            swings[0].peak = linear
        }
    }

    private mutating func begin(at time: Double) {
        var age = SwingTracker.capacity - 1
        while age > 0 {
            swings[age] = swings[age - 1]
            age -= 1
        }
        swings[0] = Swing()
        swings[0].start = time
        swings[0].peak = linear
        swings[0].amplitude = magnitude
        swings[0].cell = history.count - 1
        swings[0].gravity = gravity
        count = min(count + 1, 99)
        total += 1
    }
}
