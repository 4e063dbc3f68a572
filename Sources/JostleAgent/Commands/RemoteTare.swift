internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `tare`: the present attitude is zero from now on.
struct RemoteTare: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.tare
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

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        try host.requireSamples()
        do throws(ReferenceError) {
            if clears {
                try host.manager.clearReference()
            } else {
                try host.manager.takeReference(headingOnly: isHeadingOnly)
            }
        } catch {
            throw CommandRefusal(.sensorUnavailable, "\(error)")
        }
        return JSONObject()
    }
}
