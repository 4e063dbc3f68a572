internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MotionKit

/// `jostle recordings`: the recordings that an agent has made of its last seconds, or with the command `record`.
enum RecordingsCommand {
    static let usage = CommandUsage(
        name: "recordings", summary: "list, fetch, delete or label the recordings that an agent has made",
        details: """
            list                  the recordings, with their labels
            fetch NAME FILE       write one into a new file
            delete NAME           delete one, with its label
            label NAME LABEL      say what it shows; an empty LABEL removes what was said

            A gesture as the label, such as shake, says that it was made; "not shake" says that there was none. jostle tune
            uses these. Any other text of up to 64 bytes, without commas and quotes, is a note. Recordings with a label are
            the last to make room for new ones.

            Without --on, these are the recordings in the state directory of this board, whether its agent runs or not. With
            --on, the command goes over mqtt.broker to a running agent, whose commands.allow must contain recordings.
            """,
        operands: [
            Operand(
                "ACTION", help: Action.allCases.map(\.rawValue).joined(separator: ", "),
                suggestions: .words(Action.allCases.map(\.rawValue))),
            Operand("NAME", help: "the name of a recording, as list shows it", isRequired: false),
            Operand("FILE", help: "the new file, or the label", isRequired: false),
        ],
        options: CommandUsage.configurationOptions + [
            Option("on", value: "ID", help: "the agent with this device.id, wherever it runs")
        ])

    private enum Action: String, CaseIterable {
        case list
        case fetch
        case delete
        case label

        /// The operands that follow it.
        var operands: [String] {
            switch self {
            case .list: []
            case .fetch: ["NAME", "FILE"]
            case .delete: ["NAME"]
            case .label: ["NAME", "LABEL"]
            }
        }
    }

    static func run(_ arguments: Arguments) throws {
        let signals = SignalWaiter()
        let word = arguments.operand(0) ?? ""
        guard let action = Action(rawValue: word) else {
            let known = Action.allCases.map(\.rawValue)
            throw Failure(
                .usage,
                "\"\(word)\" is no action; these are: \(known.joined(separator: ", "))"
                    + EditDistance.suggestion(for: word, among: known))
        }
        let given = arguments.operands(from: 1)
        guard given.count == action.operands.count else {
            let missing = action.operands.dropFirst(given.count).first.map { "\($0) is missing" }
            throw Failure(.usage, missing ?? "\"\(given[action.operands.count])\" is too much: \(word) takes no more")
        }
        let place: any RecordingPlace
        if arguments.has("on") {
            place = RemoteRecordings(device: try RemoteDevice(arguments), signals: signals)
        } else {
            let state = LayersInForce.directory(for: Configuration.file(arguments))
            place = LocalRecordings(directory: RecordingDirectory(stateDirectory: state))
        }
        switch action {
        case .list: list(try place.list(), place)
        case .fetch: try fetch(given[0], from: place, to: given[1])
        case .delete:
            try place.delete(given[0])
            Output.line("\(given[0]): deleted")
        case .label:
            let label = given[1].isEmpty ? nil : given[1]
            if let label, !RecordingLabels.isLabel(label) {
                throw Failure(.usage, "\"\(ForeignText.excerpt(label))\" is no label: \(RecordingLabels.allowedLabels)")
            }
            try place.label(given[0], label)
            Output.line("\(given[0]): \(label.map { "labelled \"\($0)\"" } ?? "without a label now")")
        }
    }

    private static func list(_ recordings: [ListedRecording], _ place: any RecordingPlace) {
        guard !recordings.isEmpty else {
            Output.line("There are no recordings\(place.title).")
            return
        }
        let rows = recordings.map { recording in
            [
                recording.name, WallClock.dateAndTime(milliseconds: recording.time), "\(recording.bytes / 1000) kB",
                recording.labels.joined(separator: ", "),
            ]
        }
        Output.text(TextTable(rows, rightAligned: 2...2).description)
    }

    private static func fetch(_ name: String, from place: any RecordingPlace, to file: String) throws {
        let bytes = try place.fetch(name)
        guard file != "-" else {
            Output.text(String(decoding: bytes, as: UTF8.self))
            return
        }
        try Failure.about(file, .cannotCreate) {
            try FileContents.create(file, with: bytes, mode: 0o600, owner: SudoUser.owner)
        }
        Output.line("\(file): \(bytes.count / 1000) kB. Look into it with: jostle replay \(file)")
    }
}

/// A recording in a list.
struct ListedRecording {
    var name: String
    var bytes: Int
    /// When it was written, milliseconds since 1970.
    var time: Int64
    var labels: [String]
}

/// Where recordings are.
private protocol RecordingPlace {
    /// For a message: where, as the end of a sentence.
    var title: String { get }

    func list() throws -> [ListedRecording]
    func fetch(_ name: String) throws -> [UInt8]
    func delete(_ name: String) throws
    func label(_ name: String, _ label: String?) throws
}

/// Those in a state directory of this machine.
private struct LocalRecordings: RecordingPlace {
    let directory: RecordingDirectory

    var title: String { " in \(directory.path)" }

    /// The most bytes of a recording; larger ones are none of an agent.
    private static let largest = 1 << 30

    func list() throws -> [ListedRecording] {
        try failing {
            try directory.entries().map {
                ListedRecording(name: $0.name.text, bytes: $0.bytes, time: $0.time, labels: $0.labels)
            }
        }
    }

    func fetch(_ name: String) throws -> [UInt8] {
        try failing { try FileContents.bytes(of: try directory.file(name), limit: LocalRecordings.largest) }
    }

    func delete(_ name: String) throws { try failing { try directory.delete(name) } }
    func label(_ name: String, _ label: String?) throws { try failing { try directory.setLabel(label, of: name) } }

    private func failing<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch RecordingError.system(let path, let failure) where failure.isPermission {
            throw Failure(.permission, "\(path): \(failure); use sudo")
        } catch RecordingError.system(let name, let failure) where failure.isMissing {
            throw Failure(.noInput, "there is no recording \"\(ForeignText.excerpt(name))\" in \(directory.path)")
        }
    }
}

/// Those of a running agent, over MQTT.
private struct RemoteRecordings: RecordingPlace {
    let device: RemoteDevice
    let signals: SignalWaiter

    var title: String { "" }

    /// Seconds within which the agent must answer.
    private static let answerTime = 10.0
    /// Seconds between two parts of a recording: an agent takes ten commands at once and then two a second.
    private static let pause = 0.5
    private static let parts = 8
    /// The most bytes of a recording.
    private static let largest = 64 << 20

    func list() throws -> [ListedRecording] {
        let answer = try ask { $0.add("list", true) }
        return (answer.value("recordings")?.elements ?? []).map { entry in
            ListedRecording(
                name: entry["name"]?.string ?? "", bytes: entry["bytes"]?.integer.flatMap { Int(exactly: $0) } ?? 0,
                time: entry["t"]?.integer.flatMap { Int64(exactly: $0) } ?? 0,
                labels: entry["labels"]?.elements?.compactMap(\.string) ?? [])
        }
    }

    /// Fetches a recording part by part.
    func fetch(_ name: String) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var count = 0
        while true {
            let answer = try ask {
                $0.add("fetch", name)
                $0.add("offset", Int64(bytes.count))
            }
            bytes += (answer.value("text")?.string ?? "").utf8
            guard let next = answer.number("next") else { return bytes }
            guard next == Double(bytes.count), bytes.count <= RemoteRecordings.largest else {
                throw Failure(.badData, "the board sent a part of \(name) that does not follow the last one")
            }
            count += 1
            if count >= RemoteRecordings.parts, signals.wait(seconds: RemoteRecordings.pause) {
                throw BrokerError.interrupted
            }
        }
    }

    func delete(_ name: String) throws { _ = try ask { $0.add("delete", name) } }

    func label(_ name: String, _ label: String?) throws {
        _ = try ask {
            $0.add("label", name)
            $0.add("as", label ?? "")
        }
    }

    private func ask(_ fill: (inout JSONObject) -> Void) throws -> RemoteAnswer {
        var request = JSONObject()
        fill(&request)
        var attempts = 5
        while true {
            let answer = try device.request(
                "recordings", request, within: RemoteRecordings.answerTime, signals: signals)
            attempts -= 1
            // Others send commands to the board too.
            guard answer.error == "too_many", attempts > 0 else {
                guard answer.isAccepted else { throw answer.refusal }
                return answer
            }
            if signals.wait(seconds: 1) { throw BrokerError.interrupted }
        }
    }
}
