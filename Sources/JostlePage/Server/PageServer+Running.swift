internal import JostleMessages
internal import MosquittoClient
internal import MotionCore

/// For how long machines have run today, as the pages of their boards show it.
extension PageServer {
    /// Takes what a board says of vibration, or that it says anything.
    func noteRunning(_ topic: BoardTopic, _ message: MQTTMessage, at now: Timestamp, milliseconds: Int64) {
        let id = topic.board
        let device = boards.model.devices[id]
        switch topic.name {
        case .availability:
            guard let isOnline = device?.isOnline else { return }
            running.hours.availability(id, isOnline: isOnline, at: now)
            sendRunning(of: id)
        case .state:
            running.hours.state(
                id, isVibrating: device?.state?.isVibrating, isOnline: device?.isOnline,
                time: message.retain ? device?.stateTime ?? milliseconds : nil, at: now, milliseconds: milliseconds)
            sendRunning(of: id)
        default: if !message.retain { running.hours.heard(id, at: now) }
        }
    }

    /// The connection to the broker has ended.
    func interruptRunning() {
        running.hours.interrupt()
        for id in watched.ids { sendRunning(of: id) }
    }

    /// Does what is due: another day, the file, and once a minute the time again, in case that the clock was set.
    func advanceRunning() {
        let due = running.advance(at: WallClock.monotonic, milliseconds: PageServer.milliseconds)
        if due.isNewDay || due.isMinute { for id in watched.ids { sendRunning(of: id, isRepeated: true) } }
    }

    /// Tells the pages of a board for how long its machine has run, unless they have been told the same.
    func sendRunning(of id: String, isRepeated: Bool = false) {
        guard watched.contains(id), boards.model.devices[id]?.state?.isVibrating != nil else { return }
        let now = WallClock.monotonic
        let milliseconds = PageServer.milliseconds
        let today = running.hours.today(id, at: now)
        let last = watched.running(of: id)
        let isNew = last?.since != today.since || today.since == nil && last?.seconds != today.seconds
        guard last == nil || isNew || isRepeated && today.since != nil else { return }
        let event = PageServer.running(today, at: now, milliseconds: milliseconds)
        watched.keep(event, today, of: id)
        for viewer in viewers.values where viewer.board == id { viewer.send(event) }
    }

    private static func running(_ today: RunningHours.Today, at now: Timestamp, milliseconds: Int64) -> ServerSentEvent
    {
        var object = JSONObject()
        object.add("today_seconds", today.seconds, decimals: 0)
        if let since = today.since {
            object.add("since", milliseconds + Int64((since.seconds(since: now) * 1000).rounded()))
        }
        object.add("t", milliseconds)
        return ServerSentEvent(.running, object)
    }
}
