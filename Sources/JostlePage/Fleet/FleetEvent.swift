internal import JostleMessages
internal import JostleOperator

/// The event `fleet` of the page: the layers with what became of them on the boards.
struct FleetEvent {
    /// The most layers in an event, and the most boards that do not follow: in a layer, and in all together.
    static let maximum = (layers: 50, failures: 20, allFailures: 200)

    let event: ServerSentEvent

    init(_ documents: FleetDocuments, _ devices: some Sequence<WatchedDevice>) {
        let all = LayerProgress.all(documents, devices)
        var room = FleetEvent.maximum.allFailures
        let layers = all.prefix(FleetEvent.maximum.layers).map { FleetEvent.layer($0.id, $0.progress, room: &room) }
        var object = JSONObject()
        object.add("layers", layers)
        if all.count > layers.count { object.add("more", Int64(all.count - layers.count)) }
        event = ServerSentEvent(.fleet, object)
    }

    private static func layer(_ id: FleetDocumentID, _ progress: LayerProgress, room: inout Int) -> JSONObject {
        var object = JSONObject()
        let document = progress.document
        object.add("layer", id.text)
        object.add("revision", document?.revision ?? progress.reportedRevision)
        object.add("t", document?.time)
        object.add("by", document?.by)
        object.add("reason", document?.note)
        object.add("signed", document?.signer)
        object.add("problem", document?.problem)
        object.add("percent", document?.percent, decimals: 4)
        object.add("boards", Int64(progress.boards))
        var counts = JSONObject()
        for (status, count) in progress.counts.sorted(by: { $0.key < $1.key }) { counts.add(status, Int64(count)) }
        object.add("counts", counts)
        let failures = progress.failures.sorted { $0.id < $1.id }.prefix(min(room, maximum.failures))
        room -= failures.count
        object.add(
            "failing",
            failures.map { failure in
                var object = JSONObject()
                object.add("id", failure.id)
                object.add("status", failure.status)
                object.add("error", failure.error)
                return object
            })
        let more = progress.failures.count - failures.count
        if more > 0 { object.add("failing_more", Int64(more)) }
        return object
    }
}
