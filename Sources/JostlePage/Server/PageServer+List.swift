internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import MotionCore

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
    func sendRows(to viewer: Viewer) {
        guard viewer.isIdle || viewer.rowsSent == 0 && !viewer.hasMoreRows else { return }
        sendRemovals(to: viewer)
        let rows = rowsEvent(after: viewer.rowsSent)
        viewer.rowsSent = rows.change
        viewer.hasMoreRows = !rows.isLast
        if let event = rows.event { viewer.send(event) }
        let count = boards.model.devices.count
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
            viewer.send(hello(nil))
            viewer.rowsSent = 0
            viewer.listed = nil
            viewer.removalsSent = boards.changes
            return
        }
        viewer.removalsSent = removed.change
        guard !removed.ids.isEmpty else { return }
        let list = "[" + removed.ids.map(JSONText.quoted).joined(separator: ",") + "]"
        viewer.send(ServerSentEvent(.removed, Array(list.utf8)))
    }

    /// Forgets a board whose retained messages were removed.
    func forget(_ id: String) {
        running.hours.forget(id)
        watched.clear(id)
        if boards.forget(id) { fleetEvent = nil }
    }

    /// Sends the layers of the fleet if they look different than before.
    func sendFleet() {
        let list = viewers.values.filter { $0.board == nil }
        guard fleetEvent == nil, !list.isEmpty else { return }
        let event = FleetEvent(fleet, boards.model.devices.values).event
        fleetEvent = event
        for viewer in list where viewer.fleetSent != event {
            viewer.fleetSent = event
            viewer.send(event)
        }
    }
}
