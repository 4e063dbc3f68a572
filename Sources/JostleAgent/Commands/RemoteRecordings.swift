internal import Documents
internal import MotionKit

/// `recordings`: lists the recordings in the state directory, sends one in parts, deletes one or labels one.
struct RemoteRecordings: RemoteCommand, Equatable {
    enum Action: Equatable {
        case list
        case fetch(String, offset: Int)
        case delete(String)
        /// `nil` removes the labels.
        case label(String, String?)
    }

    /// The most bytes of a part: a reply has less than 64 KiB, and a line feed takes two bytes in JSON.
    static let partBytes = 60_000

    /// The most bytes of a list.
    private static let listBytes = 60_000

    let action: Action

    init(_ arguments: CommandArguments) throws {
        let given = try ["fetch", "delete", "label"].filter { try arguments.string($0) != nil }
        let lists = try arguments.bool("list") ?? given.isEmpty
        guard given.count + (lists ? 1 : 0) == 1 else {
            throw CommandRefusal(.badArguments, "list, fetch, delete and label exclude one another")
        }
        let (offset, name) = (try arguments.integer("offset"), try arguments.string("as"))
        if offset != nil, given != ["fetch"] { throw CommandRefusal(.badArguments, "offset is for fetch") }
        if name != nil, given != ["label"] { throw CommandRefusal(.badArguments, "as is for label") }
        if let file = try arguments.string("fetch") {
            guard offset ?? 0 >= 0 else { throw CommandRefusal(.badArguments, "offset must not be negative") }
            action = .fetch(file, offset: offset ?? 0)
        } else if let file = try arguments.string("delete") {
            action = .delete(file)
        } else if let file = try arguments.string("label") {
            guard name != nil else {
                throw CommandRefusal(.badArguments, "as is missing: the label, or an empty text to remove it")
            }
            action = .label(file, name == "" ? nil : try arguments.label("as"))
        } else {
            action = .list
        }
    }

    /// Who fetches a recording asks for one part after the other.
    func isRepetition(on host: CommandHost) -> Bool {
        if case .fetch(_, let offset) = action { offset > 0 } else { false }
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        switch action {
        case .list: try host.recorder.carryOut(reply) { RemoteRecordings.list(try $0.entries()) }
        case .fetch(let name, let offset):
            guard let reply = reply.onResponseTopicOnly else {
                throw CommandRefusal(
                    .badArguments,
                    "a recording is sent only to an MQTT 5 response topic below _reply/, which the command does not have"
                )
            }
            try host.recorder.carryOut(reply) { recordings in
                let part = try recordings.chunk(of: name, from: offset, count: RemoteRecordings.partBytes)
                guard let part else {
                    throw CommandRefusal(.badArguments, "offset is \(offset), beyond the end of \(name)")
                }
                return RemoteRecordings.answer(part, of: name, from: offset)
            }
        case .delete(let name):
            try host.recorder.carryOut(reply) { recordings in
                try recordings.delete(name)
                var answer = JSONObject()
                answer.add("deleted", name)
                return answer
            }
        case .label(let name, let label): try host.recorder.setLabel(label, of: name, reply)
        }
        return nil
    }

    /// The newest recordings that fit, the newest last.
    static func list(_ entries: [RecordingDirectory.Entry]) -> JSONObject {
        var objects: [JSONObject] = []
        var bytes = 0
        for entry in entries.reversed() {
            var object = JSONObject()
            object.add("name", entry.name.text)
            object.add("t", entry.time)
            object.add("bytes", Int64(entry.bytes))
            if !entry.labels.isEmpty { object.add("labels", entry.labels) }
            bytes += object.bytes.count + 1
            guard bytes <= listBytes else { break }
            objects.append(object)
        }
        var answer = JSONObject()
        answer.add("count", Int64(entries.count))
        answer.add("recordings", objects.reversed())
        return answer
    }

    private static func answer(_ part: RecordingDirectory.Chunk, of name: String, from offset: Int) -> JSONObject {
        var answer = JSONObject()
        answer.add("recording", name)
        answer.add("size", Int64(part.size))
        answer.add("offset", Int64(offset))
        answer.add("text", String(decoding: part.bytes, as: UTF8.self))
        let next = offset + part.bytes.count
        if next < part.size, !part.bytes.isEmpty { answer.add("next", Int64(next)) }
        return answer
    }
}
