internal import MotionKit

/// `tare`: the present attitude is zero from now on.
struct RemoteTare: RemoteCommand, Equatable {
    static let name = "tare"
    static let argumentNames = ["clear", "heading_only"]

    /// Attitude is told from the vertical again, instead.
    let clears: Bool
    /// Only the heading becomes zero.
    let isHeadingOnly: Bool

    init(clears: Bool = false, isHeadingOnly: Bool = false) {
        self.clears = clears
        self.isHeadingOnly = isHeadingOnly
    }

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        let clears = try arguments.truth("clear") ?? false
        let isHeadingOnly = try arguments.truth("heading_only") ?? false
        if clears, isHeadingOnly {
            throw CommandRefusal(.badArguments, "clear undoes the whole reference: not with heading_only")
        }
        self.init(clears: clears, isHeadingOnly: isHeadingOnly)
    }

    func carryOut(on manager: MotionManager) throws(CommandRefusal) -> JSONObject {
        guard manager.state != nil else {
            throw CommandRefusal(.sensorUnavailable, "the sensor has not measured anything yet")
        }
        if clears { manager.clearReference() } else { manager.takeReference(headingOnly: isHeadingOnly) }
        return JSONObject()
    }
}
