internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// `tare`: makes the present attitude the reference, so that it reads as zero.
struct RemoteTare: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.tare
    static let argumentNames = ["clear", "heading_only"]

    /// Removes the reference: attitude is relative to the vertical again.
    let clears: Bool
    /// Zeroes the heading only.
    let isHeadingOnly: Bool

    init(clears: Bool = false, isHeadingOnly: Bool = false) {
        self.clears = clears
        self.isHeadingOnly = isHeadingOnly
    }

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        let clears = try arguments.bool("clear") ?? false
        let isHeadingOnly = try arguments.bool("heading_only") ?? false
        if clears, isHeadingOnly {
            throw CommandRefusal(
                .badArguments, "clear cannot be combined with heading_only: it removes the whole reference")
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
