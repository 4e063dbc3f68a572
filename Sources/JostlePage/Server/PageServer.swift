internal import Documents
internal import HTTPServer
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// The web page: one thread that takes messages from the broker and requests from browsers, and passes the ones on to
/// the others.
///
/// Nothing here waits: the connection to the broker has a thread of its own, and the HTTP server is polled.
final class PageServer {
    /// The most open pages.
    private static let maximumViewers = 32
    /// Seconds between two pings, and between two lists of changed rows.
    private static let period = (ping: 10.0, rows: 1.0)

    private let prefix: String
    private let discoveryPrefix: String
    private let listener: BrokerView
    private let log: Log
    /// For how long machines have run today.
    let running: RunningHoursStore
    /// What happened; `nil` if it is not kept.
    let history: History?
    private let run = RunName.new()
    var access: PageAccess
    private var boards: BoardList
    private var watched: WatchedBoards
    private var leases = StreamLeases()
    private let service = ServiceManager()
    private var nextWatchdogReset = 0.0
    private var viewers: [ObjectIdentifier: Viewer] = [:]
    private var nextViewer: Int64 = 1
    /// The board that is being forgotten, and who waits for the answer.
    private var forgetting: (board: ForgottenBoard, answer: LateAnswer)?
    /// The layers of the fleet, and the last event about them; `nil` if they have changed since.
    private var fleet: FleetDocuments
    private var fleetEvent: ServerSentEvent?
    /// The last event with rows, which all pages need that have the same rows already.
    private var lastRows: RowsEvent?
    private var broker: ServerSentEvent
    /// Why there is no connection to the broker; `nil` if there is one.
    private var brokerFailure: String? = "it is being established"
    private var nextPing = 0.0
    private var nextRows = 0.0
    var metrics = PageMetrics()

    init(
        prefix: String, discoveryPrefix: String, _ access: PageAccess, listener: BrokerView, fleet: FleetDocuments,
        running: RunningHoursStore, history: History?, log: Log
    ) {
        self.prefix = prefix
        self.discoveryPrefix = discoveryPrefix
        self.fleet = fleet
        self.running = running
        self.history = history
        self.access = access
        self.listener = listener
        self.log = log
        boards = BoardList(prefix: prefix, seen: Set(running.hours.boards.keys))
        watched = WatchedBoards(prefix: prefix)
        broker = PageServer.brokerEvent(broker: nil, reason: "connecting", retry: nil)
        chooseMessages()
    }

    /// What is subscribed for all boards.
    static func filters(prefix: String) -> [BrokerView.Filter] {
        [
            .init("\(prefix)/+/availability", isReliable: true), .init("\(prefix)/+/state", isReliable: true),
            .init("\(prefix)/+/machine"), .init("\(prefix)/+/health"), .init("\(prefix)/+/event/+", isReliable: true),
            .init("\(prefix)/+/config/reported", isReliable: true), .init("\(prefix)/+/attitude"),
        ]
    }

    /// Runs until a signal ends it.
    func run(_ http: HTTPServer, signals: SignalWaiter) {
        service.ready()
        defer { service.stopping() }
        while true {
            let now = PageServer.seconds
            let wait = min(http.timeout ?? 60, max(0, nextDeadline - now))
            if signals.next(within: wait, orReadable: [listener.wake.descriptor, http.descriptor]) == .end {
                history?.finish(at: PageServer.milliseconds)
                return running.finish(at: WallClock.monotonic, milliseconds: PageServer.milliseconds)
            }
            listener.wake.clear()
            takeReports()
            history?.deliver(at: PageServer.milliseconds)
            handleDeadlines(at: PageServer.seconds)
            http.run()
        }
    }

    private static var seconds: Double { MonotonicTime.seconds }
    static var milliseconds: Int64 { WallClock.milliseconds(at: WallClock.monotonic) }
    static var epochSeconds: Int64 { milliseconds / 1000 }

    // MARK: The broker

    private func takeReports() {
        // First, because a board has been heard until its run ends with a report; at the end those of boards that are not known
        // before these reports.
        let newest = listener.takeNewest()
        metrics.messages += newest.count
        var kept = newest.messages
        let strangers = kept.partition { kept in
            BoardTopic(kept.message.topic, prefix: prefix).map { boards.details[$0.board] == nil } ?? true
        }
        for kept in kept[..<strangers] { handle(kept.message, at: kept.arrival) }
        defer { for kept in kept[strangers...] { handle(kept.message, at: kept.arrival) } }
        let (reports, dropped) = listener.takeReports()
        metrics.droppedMessages += dropped
        if dropped > 0 { log.warning("\(dropped) messages of the broker arrived too fast and were dropped") }
        for report in reports {
            switch report {
            case .message(let message):
                metrics.messages += 1
                handle(message, at: WallClock.monotonic)
            case .connected(let broker, let version):
                log.info("connected to \(broker), MQTT \(version)")
                boards.connected(at: WallClock.monotonic)
                history?.record(true, at: PageServer.milliseconds)
                noteBroker(nil, PageServer.brokerEvent(broker: broker, reason: nil, retry: nil))
            case .failed(let reason, let retry):
                if brokerFailure == nil { interruptRunning() }
                history?.record(false, at: PageServer.milliseconds)
                if brokerFailure != reason { log.warning("no connection to the broker: \(reason)") }
                noteBroker(reason, PageServer.brokerEvent(broker: nil, reason: reason, retry: retry))
            case .refused(let filter, let reason): log.warning("the broker refuses \(filter): \(reason)")
            case .connecting, .listening: break
            }
        }
    }

    /// Attitudes are most of the messages. While nobody looks at a board, only the last one of each is of use, when
    /// something else wakes the server.
    private func chooseMessages() {
        listener.keepNewest(ofTopicsEndingWith: watched.isEmpty ? "/\(ServerSentEvent.Name.attitude.rawValue)" : nil)
    }

    private func noteBroker(_ failure: String?, _ event: ServerSentEvent) {
        if brokerFailure != failure {
            service.status([failure.map { "no connection to the broker: \($0)" } ?? "connected to the broker"])
        }
        brokerFailure = failure
        broker = event
        for viewer in viewers.values { viewer.send(event) }
    }

    private static func brokerEvent(broker: String?, reason: String?, retry: Double?) -> ServerSentEvent {
        var object = JSONObject()
        object.add("connected", broker != nil)
        object.add("broker", broker)
        object.add("reason", reason)
        object.add("retry", retry, decimals: 1)
        return ServerSentEvent(.broker, object)
    }

    private func handle(_ message: MQTTMessage, at now: Timestamp) {
        forgetting?.board.take(message, at: PageServer.seconds)
        guard let topic = BoardTopic(message.topic, prefix: prefix) else {
            if !message.payload.isEmpty, let id = FleetDocumentID(topic: message.topic, fleet.topics) {
                boards.noteDocument(id, at: now)
            }
            if fleet.update(with: message) { fleetEvent = nil }
            return
        }
        guard !message.payload.isEmpty else {
            if topic.name == .availability { forget(topic.board) }
            return
        }
        let milliseconds = WallClock.milliseconds(at: now)
        let update = boards.update(topic, message, at: now, milliseconds: milliseconds)
        if let change = update.change {
            history?.take(
                change, of: boards.model.boards[topic.board], message.payload, isRetained: message.retain, at: now,
                milliseconds: milliseconds)
        }
        for id in update.removed {
            running.hours.forget(id)
            history?.forget(id)
            watched.clear(id)
        }
        if update.isOnline == true { leases.restart(topic.board, at: PageServer.seconds) }
        if update.concernsFleet { fleetEvent = nil }
        noteRunning(topic, message, at: now, milliseconds: milliseconds)
        if topic.name == .reported { sendReport(of: topic.board, message.payload) }
        guard watched.contains(topic.board), !update.isRepeated else { return }
        let event: ServerSentEvent
        switch topic.name {
        case .availability:
            event = PageServer.availability(message.payload == Array("online".utf8), at: milliseconds)
        case .result:
            if topic.detail == "stream" { noteStream(topic.board, message.payload) }
            let head = "{\"command\":\(JSONText.quoted(topic.detail)),\"payload\":"
            event = ServerSentEvent(.result, Array(head.utf8) + message.payload + [UInt8(ascii: "}")])
        default: event = ServerSentEvent(topic.name, message.payload)
        }
        watched.keep(event, of: topic.board)
        send(event, toPagesOf: topic.board, withStreamOnly: topic.name == .stream)
    }

    private func send(_ event: ServerSentEvent, toPagesOf id: String, withStreamOnly: Bool = false) {
        for viewer in viewers.values where viewer.board == id && (viewer.wantsStream || !withStreamOnly) {
            viewer.send(event)
        }
    }

    private static func availability(_ isOnline: Bool, at time: Int64?) -> ServerSentEvent {
        var object = JSONObject()
        object.add("online", isOnline)
        object.add("t", time)
        return ServerSentEvent(.availability, object)
    }

    // MARK: Streams

    private func noteStream(_ id: String, _ payload: [UInt8]) {
        let answer: RemoteAnswer
        do { answer = try RemoteAnswer(payload) } catch { return }
        guard !answer.isAccepted else { return }
        leases.refused(id, error: answer.error ?? "", at: PageServer.seconds)
        guard answer.error != "bad_arguments" else { return }
        send(lease: "refused", answer.message.map { String($0.prefix(200)) }, of: id)
    }

    private func askForStreams(at now: Double) {
        for (id, arguments) in leases.due(at: now, isOnline: { boards.model.boards[$0]?.isOnline == true }) {
            let topic = Topics(prefix: prefix, id: id).command("stream")
            do {
                try listener.send(BrokerView.request(topic, arguments.bytes))
                send(lease: "asked", nil, of: id)
            } catch {
                send(lease: "refused", "\(error)", of: id)
            }
        }
    }

    private func send(lease state: String, _ message: String?, of id: String) {
        var object = JSONObject()
        object.add("state", state)
        object.add("message", message)
        send(ServerSentEvent(.lease, object), toPagesOf: id, withStreamOnly: true)
    }

    // MARK: Deadlines

    private var nextDeadline: Double {
        if viewers.values.contains(where: { $0.hasMoreRows && $0.isIdle }) { return 0 }
        var deadline = viewers.isEmpty ? PageServer.seconds + 5 : min(nextPing, nextRows)
        if forgetting != nil { deadline = min(deadline, PageServer.seconds + 0.1) }
        return service.watchdogInterval == nil ? deadline : min(deadline, nextWatchdogReset)
    }

    private func handleDeadlines(at now: Double) {
        if let interval = service.watchdogInterval, now >= nextWatchdogReset {
            nextWatchdogReset = now + interval
            service.resetWatchdog()
        }
        let unwatched = watched.forget(at: now)
        if !unwatched.isEmpty {
            listener.unsubscribe(from: unwatched)
            chooseMessages()
        }
        askForStreams(at: now)
        advanceForgetting(at: now)
        if now >= nextPing {
            nextPing = now + PageServer.period.ping
            var object = JSONObject()
            object.add("now", WallClock.milliseconds(at: WallClock.monotonic))
            let event = ServerSentEvent(.ping, object)
            for viewer in viewers.values { viewer.send(event) }
        }
        if now >= nextRows {
            nextRows = now + PageServer.period.rows
            advanceRunning()
            history?.advance(boards.model.boards, at: now, milliseconds: PageServer.milliseconds)
            for id in boards.silent(at: WallClock.monotonic) { forget(id) }
            if boards.mustReadAgain(at: WallClock.monotonic) { subscribe(to: PageServer.filters(prefix: prefix)) }
            sendFleet()
            for viewer in viewers.values where viewer.board == nil { sendRows(to: viewer) }
        }
        for viewer in viewers.values where viewer.hasMoreRows && viewer.isIdle { sendRows(to: viewer) }
    }

    // MARK: Viewers

    /// Opens the stream of events for a page.
    func openViewer(board: String?, wantsStream: Bool, session: String) throws(PageRefusal) -> Viewer {
        guard viewers.count < PageServer.maximumViewers else { throw .tooManyViewers }
        let viewer = Viewer(board: board, wantsStream: wantsStream, session: session, number: nextViewer) {
            [weak self] in self?.close($0)
        }
        nextViewer += 1
        viewers[ObjectIdentifier(viewer)] = viewer
        viewer.send(hello(viewer))
        viewer.send(broker)
        guard let board else {
            viewer.removalsSent = boards.changes
            nextRows = min(nextRows, PageServer.seconds + 0.05)
            if let fleetEvent {
                viewer.fleetSent = fleetEvent
                viewer.send(fleetEvent)
            }
            return viewer
        }
        let isNew = !watched.contains(board)
        subscribe(to: watched.open(board))
        chooseMessages()
        if isNew {
            for event in boards.gestures(of: board) { watched.keep(event, of: board) }
            if let isOnline = boards.model.boards[board]?.isOnline {
                watched.keep(PageServer.availability(isOnline, at: nil), of: board)
            }
            if let attitude = boards.attitude(of: board) {
                watched.keep(ServerSentEvent(.attitude, attitude), of: board)
            }
        }
        sendRunning(of: board)
        for event in watched.events(of: board) { viewer.send(event) }
        if wantsStream {
            leases.open(board, at: PageServer.seconds)
            askForStreams(at: PageServer.seconds)
        }
        return viewer
    }

    private func subscribe(to filters: [BrokerView.Filter]) {
        do {
            try listener.subscribe(to: filters, awaitsAnswer: false)
        } catch {
            log.warning("\(error)")
        }
    }

    private func close(_ viewer: Viewer) {
        guard viewers.removeValue(forKey: ObjectIdentifier(viewer)) != nil else { return }
        metrics.viewerDroppedMessages += viewer.droppedAltogether
        stopFollowing(viewer)
        guard let board = viewer.board else { return }
        watched.close(board, at: PageServer.seconds)
        if viewer.wantsStream { leases.close(board) }
    }

    /// Ends a session, or all of them with `nil`, and with it what its pages receive.
    func signOut(_ session: String?) {
        do {
            try access.signOut(session, at: PageServer.epochSeconds)
        } catch {
            log.warning("\(PageFiles.key): \(error); who has signed out is signed in again after the next start")
        }
        for viewer in viewers.values where session == nil || viewer.session == session { viewer.end() }
    }

    func hello(_ viewer: Viewer) -> ServerSentEvent {
        var object = JSONObject()
        object.add("version", version)
        object.add("run", run)
        object.add("control", access.rules.mayControl)
        object.add("prefix", prefix)
        object.add("now", WallClock.milliseconds(at: WallClock.monotonic))
        object.add("board", viewer.board)
        object.add("viewer", viewer.number)
        object.add("cancellations", PageServer.cancellations)
        return ServerSentEvent(.hello, object)
    }

    /// Why a gesture may be cancelled, for people: by `reason`, and by `gesture.reason` if there are better words for it.
    static let cancellations: JSONObject = {
        var object = JSONObject()
        for reason in CancellationReason.allCases {
            object.add(reason.word, reason.explanation)
            for gesture in Gesture.builtIn {
                object.add("\(gesture.word).\(reason.word)", gesture.facts.cancellations[reason])
            }
        }
        return object
    }()

    // MARK: Requests of a page

    /// Publishes on behalf of a visitor.
    func publish(_ payload: [UInt8], to topic: String) throws(PageRefusal) {
        if let brokerFailure { throw .notConnected(brokerFailure) }
        do {
            try listener.send(BrokerView.request(topic, payload))
        } catch {
            throw .notConnected("\(error)")
        }
    }

    // MARK: Metrics

    /// What Prometheus reads: the text of all metrics.
    func metricsText(_ format: MetricsText.Format) -> [UInt8] {
        var text = MetricsText()
        boards.addMetrics(
            to: &text, isConnected: brokerFailure == nil, at: WallClock.monotonic,
            midnight: LocalDay(milliseconds: PageServer.milliseconds).midnight)
        metrics.add(
            to: &text,
            PageMetrics.Present(
                isConnected: brokerFailure == nil, boards: boards.model.boards.count, viewers: viewers.count,
                ignoredMessages: boards.model.ignoredMessages,
                viewerDroppedMessages: viewers.values.reduce(0) { $0 + $1.droppedAltogether }))
        return text.takeBytes(format)
    }

    func topics(of board: String) -> Topics { Topics(prefix: prefix, id: board) }
}

/// What the pages with all boards get: rows, removed boards, and the layers of the fleet.
extension PageServer {
    /// The most rows in an event.
    private static let rowsInEvent = 200

    /// An event with the rows that changed after a change.
    struct RowsEvent {
        /// The change after which these rows come, and the number of the last change at that time.
        var after: UInt64
        var changes: UInt64
        /// `nil` if there are no rows.
        var event: ServerSentEvent?
        /// The change with which to go on, and whether there are no more rows now.
        var change: UInt64
        var isLast: Bool
    }

    /// Sends the rows that changed, an event at a time. A page that has not taken the last one gets the newest rows later.
    private func sendRows(to viewer: Viewer) {
        guard viewer.isIdle || viewer.rowsSent == 0 && !viewer.hasMoreRows else { return }
        sendRemovals(to: viewer)
        let rows = rowsEvent(after: viewer.rowsSent)
        viewer.rowsSent = rows.change
        viewer.hasMoreRows = !rows.isLast
        if let event = rows.event { viewer.send(event) }
        let count = boards.model.boards.count
        guard rows.isLast, viewer.listed != count else { return }
        viewer.listed = count
        var object = JSONObject()
        object.add("boards", Int64(count))
        object.add("ignored", Int64(boards.ignoredBoards))
        viewer.send(ServerSentEvent(.listed, object))
    }

    /// The event of several pages is made once: usually all of them have the same rows.
    private func rowsEvent(after change: UInt64) -> RowsEvent {
        if let lastRows, lastRows.after == change, lastRows.changes == boards.changes { return lastRows }
        let part = boards.rows(after: change, limit: PageServer.rowsInEvent)
        var rows = RowsEvent(after: change, changes: boards.changes, change: part.change, isLast: part.isLast)
        if !part.rows.isEmpty {
            let list = "[" + part.rows.map(\.description).joined(separator: ",") + "]"
            rows.event = ServerSentEvent(.boards, Array(list.utf8))
        }
        lastRows = rows
        return rows
    }

    private func sendRemovals(to viewer: Viewer) {
        guard let removed = boards.removed(after: viewer.removalsSent) else {
            // It has missed so much that it begins anew: after another hello, only what comes then remains in the list.
            viewer.send(hello(viewer))
            viewer.rowsSent = 0
            viewer.listed = nil
            viewer.removalsSent = boards.changes
            return
        }
        viewer.removalsSent = removed.change
        guard !removed.ids.isEmpty else { return }
        let list = "[" + removed.ids.map { JSONText.quoted($0) }.joined(separator: ",") + "]"
        viewer.send(ServerSentEvent(.removed, Array(list.utf8)))
    }

    /// Forgets a board whose retained messages were removed.
    func forget(_ id: String) {
        running.hours.forget(id)
        history?.forget(id)
        watched.clear(id)
        if boards.forget(id) { fleetEvent = nil }
    }

    /// Sends the layers of the fleet if they look different than before.
    private func sendFleet() {
        let list = viewers.values.filter { $0.board == nil }
        guard fleetEvent == nil, !list.isEmpty else { return }
        let event = FleetEvent(fleet, boards.model.boards.values).event
        fleetEvent = event
        for viewer in list where viewer.fleetSent != event {
            viewer.fleetSent = event
            viewer.send(event)
        }
    }
}

/// What a page with all boards does with several of them, and how a board leaves the list for good.
extension PageServer {
    /// From now on, a page gets what these boards report of their configuration; first what the broker holds of that.
    /// Without boards, it gets none any more.
    func follow(_ ids: [String], viewer number: Int64, session: String) throws(PageRefusal) {
        let found = viewers.values.first { $0.number == number && $0.session == session && $0.board == nil }
        guard let viewer = found else { throw .notFound("open page with this number") }
        guard !ids.isEmpty else { return stopFollowing(viewer) }
        let followed = viewer.followed.union(ids)
        guard followed.count <= Viewer.maximumFollowed else {
            throw .badRequest("a page follows at most \(Viewer.maximumFollowed) boards")
        }
        if let brokerFailure { throw .notConnected(brokerFailure) }
        viewer.followed = followed
        subscribe(to: ids.map(reports))
    }

    private func reports(of id: String) -> BrokerView.Filter { .init(topics(of: id).reported, isReliable: true) }

    private func stopFollowing(_ viewer: Viewer) {
        let ids = viewer.followed
        viewer.followed = []
        let rest = ids.filter { id in !viewers.values.contains { $0.followed.contains(id) } }
        listener.unsubscribe(from: rest.map(reports))
    }

    private func sendReport(of id: String, _ payload: [UInt8]) {
        let followers = viewers.values.filter { $0.followed.contains(id) }
        guard !followers.isEmpty else { return }
        let head = "{\"board\":\(JSONText.quoted(id)),\"report\":"
        let event = ServerSentEvent(.report, Array(head.utf8) + payload + [UInt8(ascii: "}")])
        for viewer in followers { viewer.send(event) }
    }

    /// Begins to remove what the broker and the history have of a board; returns the body of the answer, which comes when that
    /// is done.
    func startForgetting(_ id: String) throws(PageRefusal) -> HTTPStream {
        if let brokerFailure { throw .notConnected(brokerFailure) }
        guard let board = boards.model.boards[id] else { throw .notFound("board \(id)") }
        guard board.isOnline != true else { throw .online(id) }
        guard forgetting == nil else { throw .tooManyRemovals }
        let answer = LateAnswer()
        do {
            let board = try ForgottenBoard(
                id, fleet.topics, discoveryPrefix: discoveryPrefix, listener, at: PageServer.seconds)
            forgetting = (board, answer)
        } catch {
            throw .notConnected("\(error)")
        }
        return answer.makeStream()
    }

    private func advanceForgetting(at now: Double) {
        guard let id = forgetting?.board.id else { return }
        let isOnline = boards.model.boards[id]?.isOnline == true
        guard let outcome = forgetting?.board.advance(at: now, isOnline: isOnline) else { return }
        if let failure = outcome.failure {
            log.warning(failure)
        } else {
            // What came back meanwhile has appeared again.
            if !isOnline { forget(id) }
            history?.erase(id, at: PageServer.milliseconds)
            log.info("\(id) is forgotten; retained messages removed: \(outcome.removed)")
        }
        forgetting?.answer.send(outcome.json.bytes)
        forgetting = nil
    }
}

/// For how long machines have run today, as the pages of their boards show it.
extension PageServer {
    /// Takes what a board says of vibration, or that it says anything.
    private func noteRunning(_ topic: BoardTopic, _ message: MQTTMessage, at now: Timestamp, milliseconds: Int64) {
        let id = topic.board
        switch topic.name {
        case .availability:
            guard let isOnline = boards.model.boards[id]?.isOnline else { return }
            running.hours.availability(id, isOnline: isOnline, at: now)
            sendRunning(of: id)
        case .state:
            let device = boards.model.boards[id]
            running.hours.state(
                id, isVibrating: device?.state?.isVibrating, isOnline: device?.isOnline,
                time: message.retain ? device?.stateTime ?? milliseconds : nil, at: now, milliseconds: milliseconds)
            sendRunning(of: id)
        default: if !message.retain { running.hours.heard(id, at: now) }
        }
    }

    /// The connection to the broker has ended.
    private func interruptRunning() {
        running.hours.interrupt()
        for id in watched.ids { sendRunning(of: id) }
    }

    /// Does what is due: another day, the file, and once a minute the time again, in case that the clock was set.
    private func advanceRunning() {
        let due = running.advance(at: WallClock.monotonic, milliseconds: PageServer.milliseconds)
        if due.isNewDay || due.isMinute { for id in watched.ids { sendRunning(of: id, isRepeated: true) } }
    }

    /// Tells the pages of a board for how long its machine has run, unless they have been told the same.
    private func sendRunning(of id: String, isRepeated: Bool = false) {
        guard watched.contains(id), boards.model.boards[id]?.state?.isVibrating != nil else { return }
        let now = WallClock.monotonic
        let milliseconds = PageServer.milliseconds
        let today = running.hours.today(id, at: now)
        let last = watched.running(of: id)
        let isNew = last?.since != today.since || today.since == nil && last?.seconds != today.seconds
        guard last == nil || isNew || isRepeated && today.since != nil else { return }
        let event = PageServer.running(today, at: now, milliseconds: milliseconds)
        watched.keep(event, today, of: id)
        send(event, toPagesOf: id)
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
