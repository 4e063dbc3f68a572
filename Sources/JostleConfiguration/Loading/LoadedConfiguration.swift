package import Documents
internal import Glibc
internal import IMUDrivers
package import LinuxSystem
internal import MotionCore

/// A valid configuration.
package struct LoadedConfiguration: Equatable, Sendable {
    /// The settings in force.
    @ByReference package var settings: JostleSettings

    /// Which layer set each key.
    package var provenance: Provenance

    /// The files that were read, in the order in which they apply.
    package var files: [String]

    package init(settings: JostleSettings, provenance: Provenance, files: [String] = []) {
        self.settings = settings
        self.provenance = provenance
        self.files = files
    }
}

extension JostleSettings {
    /// Loads the built-in defaults, overridden by `file` if there is one, by the files of its drop-in directory, and by
    /// `overrides` (`key=value`).
    ///
    /// - Throws: all problems of all layers, or why a file could not be read.
    package static func load(
        file: String?, overrides: [String] = []
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder()
        let files = try file.map { path throws(ConfigurationErrors) in try builder.apply(fileWithDropIns: path) } ?? []
        for override in overrides { builder.apply(override: override) }
        return try builder.finish(files)
    }

    /// Loads the built-in defaults, overridden by one file of a drop-in directory alone, to check it. What it needs from
    /// the other files is not a problem.
    ///
    /// - Throws: all problems, or why the file could not be read.
    package static func load(
        alone file: String, of directory: DropInDirectory, overrides: [String] = []
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder()
        _ = try builder.apply(file: file, directory: directory.parent, limit: DropInDirectory.maximumBytes)
        for override in overrides { builder.apply(override: override) }
        guard builder.problems.isEmpty else { throw .invalid(builder.problems) }
        return LoadedConfiguration(settings: builder.settings, provenance: builder.provenance, files: [file])
    }
}

extension ConfigurationBuilder {
    /// Applies a YAML file and then those of its drop-in directory. If there are any, the file itself may be missing.
    ///
    /// - Returns: the files that were read.
    /// - Throws: if a file cannot be read. Problems in its content go to `problems`.
    fileprivate mutating func apply(fileWithDropIns path: String) throws(ConfigurationErrors) -> [String] {
        let directory = DropInDirectory(of: path)
        let dropIns = try directory.map { directory throws(ConfigurationErrors) in try files(of: directory) } ?? []
        var read: [String] = []
        do {
            let parent = path.lastIndex(of: "/").map { String(path[...$0]) }
            _ = try apply(file: path, directory: parent, limit: ReaderLimits().bytes, mayBePipe: true)
            read.append(path)
        } catch {
            guard case .unreadable(_, let failure) = error, failure.isMissing, !dropIns.isEmpty else { throw error }
        }
        guard let directory else { return read }
        var left = DropInDirectory.maximumBytes
        for file in dropIns {
            let count = try apply(file: file, directory: directory.parent, limit: left)
            read.append(file)
            left -= count
            if left < 0 { break }
        }
        return read
    }

    private mutating func files(of directory: DropInDirectory) throws(ConfigurationErrors) -> [String] {
        do {
            let files = try directory.files()
            guard files.count > DropInDirectory.maximumCount else { return files }
            report(
                DocumentProblem(
                    at: DocumentPosition(.file(files[DropInDirectory.maximumCount])),
                    "is one file too many; at most \(DropInDirectory.maximumCount) are read from \(directory.path)"))
            return Array(files.prefix(DropInDirectory.maximumCount))
        } catch {
            throw .unreadable(path: directory.path, error)
        }
    }

    /// Applies a YAML file of at most `limit` bytes; relative paths in it refer to `directory`.
    ///
    /// - Returns: the length of the file, `limit + 1` if it is too long.
    /// - Throws: only if the file cannot be read. Problems in its content go to `problems`.
    fileprivate mutating func apply(
        file path: String, directory: String?, limit: Int, mayBePipe: Bool = false
    ) throws(ConfigurationErrors) -> Int {
        let bytes: [UInt8]
        do {
            // One byte more than allowed, so that a file that is too long is noticed.
            bytes = try FileContents.bytes(of: path, limit: limit + 1, mayBePipe: mayBePipe)
        } catch {
            throw .unreadable(path: path, error)
        }
        guard bytes.count <= limit else {
            let position = DocumentPosition(.file(path))
            report(
                DocumentProblem(
                    at: position,
                    mayBePipe
                        ? "longer than \(limit) bytes"
                        : "the files of this directory are together longer than \(DropInDirectory.maximumBytes) bytes"))
            return bytes.count
        }
        do { apply(try YAMLReader.read(bytes, source: .file(path)), directory: directory) } catch { report(error) }
        return bytes.count
    }
}

/// Finds the configuration file.
package enum ConfigurationFile {
    /// The file of an installed system.
    package static let systemPath = "/etc/jostle/jostle.yaml"

    /// The file to load if the user names none: `$JOSTLE_CONFIG`, else the file of the instance `$JOSTLE_INSTANCE`
    /// beside the system's, `/etc/jostle/left.yaml` for example, else the system's if it or its drop-in directory
    /// exists.
    ///
    /// The file need not exist; loading it then fails, unless its drop-in directory has files.
    package static func standard(
        environment: (String) -> String? = { name in getenv(name).map { String(cString: $0) } },
        systemPath: String = systemPath
    ) -> String? {
        if let path = environment("JOSTLE_CONFIG"), !path.isEmpty { return path }
        if let instance = environment("JOSTLE_INSTANCE"), !instance.isEmpty {
            let directory = systemPath.lastIndex(of: "/").map { systemPath[...$0] } ?? ""
            return "\(directory)\(instance).yaml"
        }
        let hasDropIns = DropInDirectory(of: systemPath).map { $0.isUsed } ?? false
        return access(systemPath, F_OK) == 0 || hasDropIns ? systemPath : nil
    }
}

extension LoadedConfiguration {
    /// Values that are valid but have no effect, most often because of another value: rules that can never act, gestures
    /// that can never begin.
    package var warnings: [DocumentProblem] {
        settings.actions.indices.compactMap(warning(ofAction:)) + silencedGestures
    }

    // MARK: Actions

    /// Why there is no gyroscope; `nil` if there may be one.
    private var lackOfGyroscope: String? {
        if !settings.imu.readsGyroscope { return "sensor.gyroscope is false" }
        guard case .family(let family) = settings.sensor.driver, !family.hasGyroscope else { return nil }
        return "the \(family.partName) has no gyroscope"
    }

    /// The first reason why a rule can never act; `nil` if it can.
    private func warning(ofAction index: Int) -> DocumentProblem? {
        let action = settings.actions[index]
        // Somebody switched it off, and knows.
        guard action.isEnabled else { return nil }
        let path = "actions[\(index)]"
        let name = action.on.word
        if settings[action.on]?.isEnabled == false {
            return problem(at: "\(path).on", "never acts: \(action.on.section).enabled is false", found: name)
        }
        if isAlwaysQuiet(action.on) {
            return problem(
                at: "\(path).on", "never acts: \(action.on.section).when.quiet_hours covers the whole day", found: name)
        }
        if Gesture.needingGyroscope.contains(action.gesture), let reason = lackOfGyroscope {
            return problem(at: "\(path).on", "never acts: \(reason)", found: name)
        }
        if let counts = action.filter.counts, action.gesture == .tap,
            !counts.contains(where: settings.motion.gestures.tap.counts.contains(count:))
        {
            let wanted = counts.map(String.init).joined(separator: ", ")
            let missing = counts.map { TapCounts.words[$0 - 1] }.joined(separator: ", ")
            return problem(
                at: "\(path).count",
                "never acts: gestures.tap.counts does not include \(missing); without it, such taps are reported as "
                    + "single ones", found: wanted)
        }
        let wanted = settings.motion.gestures.flick.directions
        if action.gesture == .flick, let directions = action.filter.directions,
            !directions.contains(where: { wanted.contains($0) })
        {
            let names = MotionDirection.allCases.filter { directions.contains($0) }.map(\.word).joined(
                separator: ", ")
            return problem(
                at: "\(path).direction", "never acts: gestures.flick.directions does not include \(names)", found: names
            )
        }
        let earlier = settings.actions[..<index].firstIndex { $0.isEnabled && $0.isConsuming && $0.hides(action) }
        if let earlier {
            return problem(
                at: "\(path).on", "never acts: actions[\(earlier)] consumes every \(name) before it", found: name)
        }
        return nil
    }

    // MARK: Gestures

    /// Enabled gestures whose quiet hours leave no minute of the day. An action on one of them is reported instead.
    private var silencedGestures: [DocumentProblem] {
        settings.gestureKinds.compactMap { kind in
            let hasAction = settings.actions.contains { $0.on == kind }
            guard settings[kind]?.isEnabled == true, !hasAction, isAlwaysQuiet(kind) else { return nil }
            return problem(
                at: "\(kind.section).when.quiet_hours", "covers the whole day, so that \(kind.word) never begins")
        }
    }

    private func isAlwaysQuiet(_ kind: GestureKind) -> Bool {
        guard let spans = settings.quietHours(of: kind), !spans.isEmpty else { return false }
        return (0..<1440).allSatisfy { minute in spans.contains { $0.contains(minute: minute) } }
    }

    /// A problem at the position of a key; at that of the list for an element without one.
    private func problem(at path: String, _ reason: String, found: String? = nil) -> DocumentProblem {
        let position = provenance[path] ?? provenance["actions"] ?? DocumentPosition(.argument(path))
        return DocumentProblem(at: position, path: path, found: found, reason)
    }
}

extension JostleSettings.Action {
    /// Whether this rule, if it consumes, leaves nothing for `other`: it takes every gesture that the other one takes.
    fileprivate func hides(_ other: JostleSettings.Action) -> Bool {
        on == other.on && (filter == JostleSettings.EventFilter() || filter == other.filter)
    }
}

extension LoadedConfiguration {
    /// The configuration without what makes this board a certain device: its id, its broker, its actions, and what others
    /// may change.
    ///
    /// Sensor, attitude, gestures and rates stay. If it `keepsConnection`, the section `mqtt` stays too.
    package func withoutIdentity(keepsConnection: Bool) -> LoadedConfiguration {
        let defaults = JostleSettings()
        var result = self
        result.settings.device = defaults.device
        result.settings.actions = defaults.actions
        result.settings.commands = defaults.commands
        result.settings.settings = defaults.settings
        result.settings.fleet = defaults.fleet
        result.settings.homeAssistant = defaults.homeAssistant
        for section in ["device", "actions", "commands", "settings", "fleet", "home_assistant"] {
            result.provenance.forget(section)
        }
        if !keepsConnection {
            result.settings.mqtt = defaults.mqtt
            result.provenance.forget("mqtt")
        }
        return result
    }

    /// The configuration with further arguments `key=value` above it.
    ///
    /// - Throws: all problems that they cause.
    package func overridden(by overrides: [String]) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder(self)
        for override in overrides { builder.apply(override: override) }
        return try builder.finish(files)
    }

    /// Whether an argument set a key.
    package func isArgument(_ key: String) -> Bool {
        if case .argument? = provenance[key]?.source { return true }
        return false
    }
}

/// Why a configuration was not loaded.
package enum ConfigurationErrors: FailureConvertible, Equatable, Sendable, CustomStringConvertible {
    /// The file could not be read: its path, and why open(2) or read(2) failed.
    case unreadable(path: String, SystemFailure)
    /// The file was read, but has these problems, in the order in which they occur in it.
    case invalid([DocumentProblem])

    package var failure: Failure {
        switch self {
        case .unreadable(let path, _) where isPermission:
            Failure(
                .noInput,
                path.hasPrefix("/etc/jostle/")
                    ? "\(self); the group jostle may read it: sudo adduser $USER jostle, then log in again"
                    : "\(self); use sudo")
        case .unreadable: Failure(.noInput, description)
        case .invalid(let problems): Failure(.configuration, lines: problems.map(\.description))
        }
    }

    /// Whether this user may not read a file.
    package var isPermission: Bool {
        if case .unreadable(_, let failure) = self { failure.code == EACCES } else { false }
    }

    /// One line per problem.
    package var description: String {
        switch self {
        case .unreadable(let path, let failure): "\(path): \(failure)"
        case .invalid(let problems): problems.map(\.description).joined(separator: "\n")
        }
    }
}

/// A large value behind one reference: a structure that has it is copied by counting one reference, not all of the value's.
///
/// Without it, each structure that has settings repeats the code that copies and destroys all their fields.
@propertyWrapper
package struct ByReference<Value: Equatable & Sendable>: Equatable, Sendable {
    @usableFromInline
    package final class Storage: Sendable {
        @usableFromInline package let value: Value

        @inlinable
        package init(_ value: Value) { self.value = value }
    }

    @usableFromInline package var storage: Storage

    @inlinable package var wrappedValue: Value {
        get { storage.value }
        set { storage = Storage(newValue) }
    }

    @inlinable
    package init(wrappedValue: Value) { storage = Storage(wrappedValue) }

    @inlinable
    package static func == (one: ByReference, other: ByReference) -> Bool {
        one.storage === other.storage || one.storage.value == other.storage.value
    }
}
