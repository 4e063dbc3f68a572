internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// The recordings that `jostle tune` keeps: consent, list, export and deletion.
extension TuneCommand {
    // MARK: Keeping

    /// Whether the recordings of this run may be kept. Without a terminal, only an option says so.
    static func isConsentGiven(
        _ recordings: TuningRecordings, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws(CommandFailure) -> Bool {
        if arguments.has("keep") { return true }
        guard !arguments.has("no-keep"), dialogue.isInteractive else { return false }
        return try dialogue.ask(
            """
            May the recordings be kept? They are what the sensor measures during the next minutes: acceleration, rotation \
            and temperature, with the times of your gestures, the name of the chip, and the settings of gestures and \
            sensor. There is no name and no id of the device among it.
            They stay in \(recordings.path) on this machine, where only you and root can read them. Nothing is sent.
            If a gesture is missed, you can attach them to a bug report (jostle tune --export FILE), and delete them at \
            any time (jostle tune --forget all).
            Keep them?
            """)
    }

    /// Keeps the recordings. If the user only agreed to it, a failure is said and the command goes on.
    ///
    /// - Throws: with `--keep`, that they cannot be kept.
    static func keep(
        _ movements: TuningMovements, _ gesture: Gesture, _ proposal: TuningProposal, _ settings: JostleSettings,
        in recordings: TuningRecordings, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws(CommandFailure) {
        let contents = TuningContents(
            gesture: gesture, movements: movements, proposal: proposal, settings: settings)
        do throws(RecordingError) {
            let (added, deleted) = try recordings.add(gesture) { (directory) throws(RecordingError) in
                try contents.write(into: directory)
            }
            dialogue.say(
                "Kept in \(added.path) (\(megabytes(added.bytes))). Delete it with: jostle tune --forget \(added.name)")
            if !deleted.isEmpty {
                dialogue.say("Deleted to make room: \(deleted.map(\.name).joined(separator: ", "))")
            }
        } catch {
            let message = "the recordings are not kept: \(error)"
            if arguments.has("keep") { throw CommandFailure(CommandFailure(writing: error).status, message) }
            dialogue.say(message.prefix(1).uppercased() + message.dropFirst())
        }
    }

    // MARK: Managing

    /// Lists, exports or deletes recordings, if an option says so.
    ///
    /// - Returns: whether one did.
    static func manageRecordings(_ arguments: Arguments) throws(CommandFailure) -> Bool {
        let actions =
            (arguments.has("list") ? ["--list"] : [])
            + ["export", "forget"].filter { arguments.value($0) != nil }.map { "--\($0)" }
        guard let action = actions.first else { return false }
        guard actions.count == 1 else {
            throw CommandFailure(.usage, "\(actions.joined(separator: " and ")) exclude each other")
        }
        guard arguments.operand(0) == nil else {
            throw CommandFailure(.usage, "\(action) is about all recordings that are kept: it takes no GESTURE")
        }
        let recordings = TuningRecordings(for: Configuration.file(arguments))
        let runs: [TuningRecordings.Run]
        do throws(SystemFailure) { runs = try recordings.runs() } catch {
            throw failure(error, recordings.path)
        }
        if let name = arguments.value("forget") {
            try forget(name, runs, recordings)
        } else if let file = arguments.value("export") {
            try export(runs, to: file, recordings)
        } else {
            list(runs, recordings)
        }
        return true
    }

    private static func failure(_ error: SystemFailure, _ path: String) -> CommandFailure {
        guard error.code == EACCES else { return CommandFailure(.noInput, "\(path): \(error)") }
        return CommandFailure(.permission, "\(path): \(error); use sudo")
    }

    private static func list(_ runs: [TuningRecordings.Run], _ recordings: TuningRecordings) {
        guard !runs.isEmpty else {
            Output.line("No recordings are kept in \(recordings.path).")
            return
        }
        let rows = runs.map { run in
            let time = DirectoryContents.modificationTime(run.path).map {
                WallClock.dateAndTime(milliseconds: $0 / 1_000_000)
            }
            return [run.name, time ?? "", megabytes(run.bytes)]
        }
        Output.text(TextTable(rows, rightAligned: 2...2).description)
        Output.line("\(megabytes(runs.map(\.bytes).reduce(0, +))) in \(recordings.path)")
        Output.line("Delete one with: jostle tune --forget \(runs[0].name), or all with: jostle tune --forget all")
    }

    private static func forget(
        _ name: String, _ runs: [TuningRecordings.Run], _ recordings: TuningRecordings
    ) throws(CommandFailure) {
        let chosen = name == "all" ? runs : runs.filter { $0.name == name }
        guard !chosen.isEmpty || name == "all" else {
            let names = runs.map(\.name)
            let known = names.isEmpty ? "there are none" : "there are \(names.joined(separator: ", "))"
            throw CommandFailure(
                .noInput,
                "no recordings \"\(name)\" in \(recordings.path): \(known)\(EditDistance.suggestion(for: name, among: names))"
            )
        }
        for run in chosen {
            do throws(SystemFailure) { try recordings.delete(run) } catch {
                throw CommandFailure(.permission, "\(run.path) cannot be deleted: \(error); use sudo")
            }
        }
        Output.line(
            chosen.isEmpty ? "There was nothing to delete." : "Deleted: \(chosen.map(\.name).joined(separator: ", "))")
    }

    /// Writes all runs into a new tar file.
    private static func export(
        _ runs: [TuningRecordings.Run], to file: String, _ recordings: TuningRecordings
    ) throws(CommandFailure) {
        guard !runs.isEmpty else {
            throw CommandFailure(
                .noInput, "no recordings are kept in \(recordings.path): jostle tune GESTURE --keep keeps some")
        }
        var tar = TarFile()
        do throws(SystemFailure) {
            for run in runs {
                for name in try DirectoryContents.names(run.path) {
                    let bytes = try FileContents.bytes(of: "\(run.path)/\(name)", limit: TuningRecordings.capacity + 1)
                    tar.add("jostle-tune/\(run.name)/\(name)", bytes)
                }
            }
        } catch {
            throw failure(error, recordings.path)
        }
        let contents = tar.contents
        do throws(SystemFailure) {
            try FileContents.create(file, with: contents, mode: 0o600, owner: SudoUser.owner)
        } catch {
            let advice = error.code == EEXIST ? "; an export does not replace a file" : "; name another file"
            throw CommandFailure(.cannotCreate, "\(file): \(error)\(advice)")
        }
        Output.line("\(file): \(megabytes(contents.count)), readable only for you")
        Output.line(
            "It has \(runs.map(\.name).joined(separator: ", ")): recordings, labels, chip, rate, mounting, settings.")
        Output.line("Nothing was sent. Look into it with tar tf before you attach it.")
    }

    private static func megabytes(_ bytes: Int) -> String { "\(decimal(Double(bytes) / 1e6, 1)) MB" }
}
