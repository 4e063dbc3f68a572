internal import JostleConfiguration

/// A topic below a board's root, and the event of the page that carries its messages.
struct BoardTopic: Equatable {
    let board: String
    let name: ServerSentEvent.Name
    /// The gesture or the command in the topic.
    var detail = ""

    /// Parses a topic; `nil` if it is not one that the page shows.
    init?(_ topic: String, prefix: String) {
        guard topic.hasPrefix(prefix), topic.dropFirst(prefix.count).first == "/" else { return nil }
        let levels = topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count >= 2, JostleSettings.Device.isID(String(levels[0])) else { return nil }
        board = String(levels[0])
        switch levels.dropFirst().joined(separator: "/") {
        case "availability": name = .availability
        case "attitude": name = .attitude
        case "motion": name = .motion
        case "state": name = .state
        case "health": name = .health
        case "stream": name = .stream
        case "near-miss": name = .nearMiss
        case "config/reported": name = .reported
        default:
            if levels.count == 3, levels[1] == "event" {
                name = .gesture
                detail = String(levels[2])
            } else if levels.count == 4, levels[1] == "command", levels[3] == "result" {
                name = .result
                detail = String(levels[2])
            } else {
                return nil
            }
        }
    }
}
