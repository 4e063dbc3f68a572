/// How turns are recognised.
public struct TurnSettings: Equatable, Sendable, BitwiseCopyable {
    /// What all recognizers have: by default a cooldown of 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// The angle from which on a rotation is a turn at sensitivity 5, rad. Default 30°.
    /// Smaller begins sooner and takes small movements of a hand for turns, larger leaves out all but wide ones. Each
    /// step of sensitivity is 10 %.
    public var minimumAngle = 30 * radiansPerDegree

    /// The rate that a turn must have reached at sensitivity 5, rad/s. Default 40 °/s.
    /// Smaller takes slow rotation too, larger only brisk turns. Each step of sensitivity is 10 %.
    public var minimumRate = 40 * radiansPerDegree

    /// Seconds that a rotation must have lasted before it begins to be a turn. Default 0.2.
    /// Smaller begins sooner and takes flicks and shakes of a wrist for turns, larger leaves out quick turns.
    public var minimumDuration = 0.2

    /// How many turns to and fro, each within 0.8 s of the one before, are told before it is taken for swinging, as an arm
    /// does in walking. Default 2.
    /// Smaller is quiet sooner on whatever swings, larger lets people turn to and fro for longer.
    public var swings = 2

    /// Seconds after which a turn is cancelled as too long. Default 20.
    /// Smaller gives up what merely goes round, larger lets people turn more slowly and further.
    public var maximumDuration = 20.0

    /// The angle that makes a change worth telling, rad. Default 10°.
    /// Smaller follows the movement more closely and sends more.
    public var changeAngle = 10 * radiansPerDegree

    /// Seconds from one change told to the next, at least. Default 0.1.
    /// Smaller follows the movement more closely and sends more.
    public var changeInterval = 0.1

    /// Makes the default settings.
    public init() {}
}
