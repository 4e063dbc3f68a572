internal import Documents
internal import MotionCore

/// A type whose fields are set by the keys of a section; `init()` gives the defaults.
protocol KeyedSettings: Equatable, Sendable {
    init()
}

extension JostleSettings: KeyedSettings {}

/// A section of the configuration itself, as opposed to the elements of a list.
typealias Section = SectionOf<JostleSettings>

/// A key of the configuration itself.
typealias Setting = SettingOf<JostleSettings>

/// A section: a group of keys that set fields of `Root`, or of sections.
struct SectionOf<Root: KeyedSettings>: Sendable {
    /// The key within the enclosing section; empty for the root.
    let name: String

    /// A description of the section.
    let summary: String

    /// The keys, in the order of the documentation.
    let members: [Member]

    /// Their names: in an array of the generic members, a search costs four times as much.
    private let names: [String]

    /// The keys that must be present.
    let required: [String]

    /// What a change of a key takes at least to become effective in a running agent.
    let effect: SettingEffect

    init(
        _ name: String, _ summary: String, _ members: [Member], required: [String] = [], effect: SettingEffect = .live
    ) {
        self.name = name
        self.summary = summary
        self.members = members
        names = members.map(\.name)
        self.required = required
        self.effect = effect
    }

    /// A key or a section.
    ///
    /// Indirect, so that a table of hundreds of them is one of pointers: with the values inline, the code that fills it
    /// is several times as long.
    indirect enum Member: Sendable {
        case setting(SettingOf<Root>)
        case section(SectionOf<Root>)
        /// Sections with the same keys, whose names are values themselves: `learned: { circle: … }`.
        case table(name: String, summary: String, NamedElements<Root>)

        var name: String {
            switch self {
            case .setting(let setting): setting.name
            case .section(let section): section.name
            case .table(let name, _, _): name
            }
        }
    }

    /// The member with this name.
    func member(_ name: String) -> Member? { names.firstIndex(of: name).map { members[$0] } }

    /// All settings below this section with their paths, in order; those of tables as far as `value` has such sections. The
    /// effect of a section is also that of its keys.
    func settings(
        under path: String = "", effect: SettingEffect = .live, in value: Root? = nil
    ) -> [(path: String, setting: SettingOf<Root>)] {
        var found: [(path: String, setting: SettingOf<Root>)] = []
        collect(into: &found, under: path, effect: effect, in: value)
        return found
    }

    private func collect(
        into found: inout [(path: String, setting: SettingOf<Root>)], under path: String, effect: SettingEffect,
        in value: Root?
    ) {
        let effect = max(effect, self.effect)
        for member in members {
            let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
            switch member {
            case .setting(var setting):
                setting.effect = max(setting.effect, effect)
                found.append((inner, setting))
            case .section(let section): section.collect(into: &found, under: inner, effect: effect, in: value)
            case .table(_, _, let elements):
                guard let value else { continue }
                for name in elements.names(value) {
                    let section = elements.section(name, value)
                    section?.collect(into: &found, under: "\(inner).\(name)", effect: effect, in: value)
                }
            }
        }
    }
}

// The functions that make keys are neither inlined nor specialised: that would make a copy of them, with their closures,
// for every key, which was a third of the module's code and of the time to compile it. They run once per key. The same
// holds for the larger functions that read values and sections.
extension SectionOf.Member {
    /// A key that always has a value.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func key<Value: Sendable>(
        _ name: String, _ field: WritableKeyPath<Root, Value> & Sendable, _ format: ValueFormat<Value>,
        _ summary: String, effect: SettingEffect = .live, touchesNetwork: Bool = false
    ) -> Self {
        .setting(
            SettingOf(name, field, format, summary, effect: effect, touchesNetwork: touchesNetwork))
    }

    /// A key that may have no value.
    @inline(never) @_semantics("optimize.sil.specialize.generic.never")
    static func key<Value: Sendable>(
        _ name: String, optional field: WritableKeyPath<Root, Value?> & Sendable, _ format: ValueFormat<Value>,
        example: String, _ summary: String, effect: SettingEffect = .live, elements: NamedElements<Root>? = nil,
        hide: (@Sendable (Root) -> Root)? = nil
    ) -> Self {
        .setting(
            SettingOf(
                name, field, format.optional, example: example, summary, effect: effect, elements: elements, hide: hide)
        )
    }

    /// A nested section.
    static func group(
        _ name: String, _ summary: String, _ members: [Self], required: [String] = [], effect: SettingEffect = .live
    ) -> Self {
        .section(SectionOf(name, summary, members, required: required, effect: effect))
    }
}

/// A key of the configuration, with everything needed to read, check, report and document it.
///
/// The type of the value is erased: the closures capture the typed field and format.
struct SettingOf<Root: KeyedSettings>: Sendable {
    /// The key within its section.
    let name: String

    /// Meaning, unit, and what smaller and larger do, in one or two sentences.
    let summary: String

    /// The values allowed, with an example.
    var allowed: String {
        let (allowed, wantsExample, _) = describe()
        return allowed + (wantsExample ? ", for example \(example ?? YAMLText.flow(write(Root())))" : "")
    }

    /// Whether the key may have no value, which is then also its default.
    var isOptional: Bool { example != nil }

    /// The constraints as members of a JSON Schema.
    var constraints: [JSONValue.Member] { describe().constraints }

    private let example: String?
    private let describe: @Sendable () -> (allowed: String, wantsExample: Bool, constraints: [JSONValue.Member])

    /// Sets the value of a node; relative paths refer to the directory.
    let read: @Sendable (JSONValue, _ directory: String?, inout Root) throws(ValueRefusal) -> Void

    /// The value in the form in which it is written; null if there is none.
    let write: @Sendable (Root) -> JSONValue

    /// The value as reports show it: of a text that is too long for them, its length and checksum.
    func shown(_ value: Root) -> JSONValue { isLong ? .digest(of: write(value)) : write(hide?(value) ?? value) }

    /// The same without what a report must not say; `nil` if it may say everything.
    private let hide: (@Sendable (Root) -> Root)?

    /// Whether the value is a text of several lines.
    let isLong: Bool

    /// Gives the second settings the value that the first have.
    let copy: @Sendable (Root, inout Root) -> Void

    /// What a change takes to become effective in a running agent.
    var effect: SettingEffect

    /// Whether a change can affect the connection to the broker, because it changes how much is sent.
    let touchesNetwork: Bool

    /// For a list whose elements may have names: the keys of one element.
    let elements: NamedElements<Root>?

    /// A setting of a field. With an `example` it may have no value; without one, its default is the example.
    init<Value: Sendable>(
        _ name: String, _ field: WritableKeyPath<Root, Value> & Sendable, _ format: ValueFormat<Value>,
        example: String? = nil, _ summary: String, effect: SettingEffect = .live, touchesNetwork: Bool = false,
        elements: NamedElements<Root>? = nil, isLong: Bool = false, hide: (@Sendable (Root) -> Root)? = nil
    ) {
        self.name = name
        self.summary = summary
        self.example = example
        describe = { (format.allowed, format.wantsExample, format.constraints) }
        read = { node, directory, settings throws(ValueRefusal) in
            settings[keyPath: field] = try format.read(node, directory)
        }
        write = { format.write($0[keyPath: field]) }
        copy = { $1[keyPath: field] = $0[keyPath: field] }
        self.effect = effect
        self.touchesNetwork = touchesNetwork
        self.elements = elements
        self.isLong = isLong
        self.hide = hide
    }

    /// A setting of a part, as one of the whole.
    init<Part>(_ setting: SettingOf<Part>, of part: WritableKeyPath<Root, Part> & Sendable) {
        name = setting.name
        summary = setting.summary
        example = setting.example
        describe = setting.describe
        read = { node, directory, settings throws(ValueRefusal) in
            try setting.read(node, directory, &settings[keyPath: part])
        }
        write = { setting.write($0[keyPath: part]) }
        copy = { setting.copy($0[keyPath: part], &$1[keyPath: part]) }
        effect = setting.effect
        touchesNetwork = setting.touchesNetwork
        elements = nil
        isLong = setting.isLong
        hide = nil
    }

    /// Sets the default.
    func reset(_ value: inout Root) { copy(Root(), &value) }
}

/// The elements of a list or a table that can be addressed by their names: `actions: { lamp: { enabled: false } }`.
struct NamedElements<Root: KeyedSettings>: Sendable {
    /// The names that there are.
    let names: @Sendable (Root) -> [String]

    /// The keys of the element with a name; `nil` if there is none.
    let section: @Sendable (_ name: String, Root) -> SectionOf<Root>?

    /// Why a name that no element has is refused.
    let unknown: @Sendable (_ name: String, Root) -> (reason: String, allowed: String)

    /// Whether a mapping is about elements by their names, and not a single element in place of a list.
    func matches(_ node: JSONValue) -> [JSONValue.Member]? {
        guard let entries = node.members, !entries.isEmpty else { return nil }
        let isByName = entries.allSatisfy { entry in
            entry.value.isNull || entry.value.members != nil
        }
        return isByName ? entries : nil
    }
}

extension JSONValue {
    /// The length and the checksum of a text.
    fileprivate static func digest(of value: JSONValue) -> JSONValue {
        guard let text = value.string else { return value }
        var checksum = Checksum()
        for byte in text.utf8 { checksum.add(byte: byte) }
        return .string("\(text.utf8.count) bytes, checksum \(String(checksum.state, radix: 16))")
    }
}

/// What a changed setting takes to become effective.
package enum SettingEffect: Comparable, Sendable {
    /// Nothing: the running agent takes it over between two samples.
    case live
    /// The sensor is stopped, configured and started again, which takes some tenths of a second.
    case sensorRestart
    /// A new start of the agent.
    case agentRestart
}
