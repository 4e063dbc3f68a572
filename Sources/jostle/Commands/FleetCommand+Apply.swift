internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// `jostle fleet apply` and `export`: a fleet's configuration as a directory of files.
extension FleetCommand {
    private static let form = """
        The directory has all.yaml, groups/GROUP.yaml, devices/ID.yaml and registry.yaml. A layer is written as in
        jostle.yaml; registry.yaml lists the groups of devices: washer-1: [laundry].
        """

    static let applyUsage = CommandUsage(
        name: "fleet apply", summary: "publish the configuration of a fleet from a directory of files",
        details: """
            \(form)

            Only documents that differ are published, under revisions above those of the broker and of the boards. So it
            also restores what a broker lost. Documents that are not in the directory are listed, and stay.

            \(RolloutOptions.details)
            """,
        operands: [CommandUsage.Operand(name: "DIRECTORY", help: "the directory of files")],
        options: [
            CommandUsage.Option(name: "check", help: "only check the files, without a broker"),
            CommandUsage.Option(name: "prune", help: "empty the layers and groups that are not in the directory"),
            CommandUsage.Option(
                name: "document", value: "NAME",
                help: "only this one: all, group:GROUP, device:ID, or registry for all groups; may be repeated",
                isRepeatable: true, suggestions: .documents),
        ] + FleetOptions.publishing + RolloutOptions.options + [FleetEdit.unknownOption, FleetOptions.json]
            + FleetConnection.options)

    static let exportUsage = CommandUsage(
        name: "fleet export", summary: "write what the broker holds as files for jostle fleet apply",
        details: form,
        operands: [CommandUsage.Operand(name: "DIRECTORY", help: "an empty or a new directory")],
        options: [CommandUsage.Option(name: "force", help: "overwrite files in a directory that is not empty")]
            + FleetConnection.options)

    static func apply(_ arguments: Arguments) throws(CommandFailure) {
        let path = arguments.operand(0) ?? ""
        let ignores = try FleetFiles.ignoresUnknownKeys(arguments)
        var directory = try FleetFiles.read(path, ignoresUnknownKeys: ignores ?? false)
        try limit(&directory, to: arguments.values("document"), prunes: arguments.has("prune"))
        if arguments.has("prune"), directory.documents.isEmpty {
            throw CommandFailure(
                .noInput,
                "\(path) has no file of a fleet, and --prune would empty everything: is it the right directory?")
        }
        let note = try FleetOptions.note(arguments)
        let manner = try FleetRun.Manner(arguments)
        if arguments.has("check") {
            let layers = FleetText.count(directory.layers.count, "layer")
            Output.line("\(path): valid, \(layers), groups of \(FleetText.count(directory.registry.count, "device"))")
            return
        }
        let rollout = try RolloutOptions.areIn(arguments) ? RolloutOptions(arguments) : nil
        let connection = try FleetConnection.open(arguments, interests: rollout == nil ? [] : .health)
        try connection.complete(directory.documents)
        let author = ApplyPlan.Author(by: FleetConnection.author, at: FleetConnection.now, note: note)
        let plan = ApplyPlan(
            directory, connection.model, author: author, prunes: arguments.has("prune"), ignoresUnknownKeys: ignores)
        let showsRest = !arguments.has("prune") && arguments.values("document").isEmpty
        if !manner.isJSON { describe(plan, showsRest: showsRest) }
        let changes = plan.items.map {
            FleetRun.Change(document: $0.document, draft: $0.draft, revision: $0.revision)
        }
        if let rollout, !changes.isEmpty { return try rollOut(changes, connection, rollout, manner, note: note) }
        try FleetRun.publish(changes, unchanged: plan.unchanged, connection, manner)
    }

    /// Leaves only the named documents in a directory.
    private static func limit(
        _ directory: inout FleetDirectory, to names: [String], prunes: Bool
    ) throws(CommandFailure) {
        guard !names.isEmpty else { return }
        if prunes { throw CommandFailure(.usage, "--prune and --document exclude each other") }
        for name in names where name != "registry" {
            guard let id = FleetDocumentID(name), id.layer != nil else {
                throw CommandFailure(
                    .usage, "\"\(name)\" is no document: all, group:GROUP, device:ID, or registry")
            }
            guard directory.layers[id] != nil else {
                throw CommandFailure(.noInput, "the directory has no file for \(name)")
            }
        }
        directory.keep(layers: names.compactMap { FleetDocumentID($0) }, registry: names.contains("registry"))
    }

    private static func describe(_ plan: ApplyPlan, showsRest: Bool) {
        for item in plan.items { Output.line("\(item.document.text): \(item.reason)") }
        if !plan.unchanged.isEmpty { Output.line("\(FleetText.count(plan.unchanged.count, "document")) unchanged") }
        for id in plan.candidates { Output.line("\(id.text): its candidate stays as it is") }
        guard showsRest, !plan.extra.isEmpty else { return }
        for id in plan.extra { Output.line("\(id.text): not in the directory; it stays (--prune empties it)") }
    }

    static func export(_ arguments: Arguments) throws(CommandFailure) {
        let operand = arguments.operand(0) ?? ""
        let path = operand.hasSuffix("/") && operand.count > 1 ? String(operand.dropLast()) : operand
        var present: [String] = []
        var former: [String] = []
        if DirectoryContents.exists(path) {
            do throws(SystemFailure) {
                present = try DirectoryContents.names(path).filter { !$0.hasPrefix(".") }
            } catch {
                throw CommandFailure(.cannotCreate, "\(path): \(error)")
            }
            do throws(FleetDirectoryError) {
                former = try FleetDirectory.names(at: path)
            } catch {
                throw CommandFailure(.cannotCreate, "\(error)")
            }
        }
        if !present.isEmpty, !arguments.has("force") {
            throw CommandFailure(.cannotCreate, "\(path) is not empty; --force overwrites the files in it")
        }
        let connection = try FleetConnection.open(arguments)
        for (id, stored) in connection.model.documents.sorted(by: { $0.key < $1.key }) {
            if let problem = stored.problem { Output.errors("jostle: \(id.text) is unreadable: \(problem)") }
            guard let layer = stored.layer else { continue }
            if layer.ignoresUnknownKeys {
                Output.errors(
                    "jostle: \(id.text): boards leave out keys that they do not know; files do not say so. It stays so if "
                        + "you apply them, with --unknown ignore if this program does not know a key either")
            }
            if layer.candidate != nil { Output.errors("jostle: \(id.text): files do not hold its candidate") }
        }
        let files = FleetDirectory.files(of: connection.model)
        FileContents.makeDirectories(path)
        for directory in ["groups", "devices"] where files.contains(where: { $0.name.hasPrefix("\(directory)/") }) {
            FileContents.makeDirectories("\(path)/\(directory)")
        }
        for file in files {
            do throws(SystemFailure) {
                try FileContents.replace("\(path)/\(file.name)", with: Array(file.text.utf8))
            } catch {
                throw CommandFailure(.cannotCreate, "\(path)/\(file.name): \(error)")
            }
        }
        let written = Set(files.map(\.name))
        for name in former where !written.contains(name) {
            Output.errors("jostle: \(path)/\(name) is not on the broker; it stays")
        }
        Output.line("\(path): \(FleetText.count(files.count, "file")) written")
    }
}
