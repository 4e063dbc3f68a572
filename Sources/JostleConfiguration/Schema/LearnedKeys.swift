internal import Documents
internal import LinuxSystem
internal import MotionCore

// The keys of `gestures.learned`, whose names are the gestures': their section, their formats, and the patterns that name them.

extension ConfigurationSchema {
    /// The gestures that somebody has shown.
    static let learned = Section.Member.table(
        name: "learned", summary: "The gestures that jostle learn made, by their names.",
        NamedElements(
            names: { $0.learned.keys.sorted().map(\.description) },
            section: { name, _ in GestureName(learned: name).map(learned) }, unknown: { _, _ in GestureName.refusal }))

    /// The keys of a learned gesture.
    static func learned(_ name: GestureName) -> Section {
        keys(
            of: "\(name)", "A gesture that somebody has shown.", \.[learned: name].common,
            \.[learned: name].quietHours,
            own: [
                .key(
                    "hold", \.[learned: name].held, .heldGestures,
                    "The gestures that wait while a movement may still become this one, and are dropped if it does; [] holds "
                        + "none back."),
                .setting(
                    Setting(
                        "template", \.[learned: name].template, ValueFormat.gestureTemplate.optional,
                        example: "circle.gesture", "What jostle learn wrote: the text itself, or the path of its file.",
                        isLong: true)),
            ])
    }

    /// The setting of a learned gesture at a path, whether there is such a gesture or not.
    static func learnedSetting(_ path: String) -> Setting? {
        let names = path.split(separator: ".", maxSplits: 3, omittingEmptySubsequences: false)
        guard names.count == 4, names[0] == "gestures", names[1] == "learned", let name = GestureName(learned: names[2])
        else { return nil }
        return learned(name).settings().first { $0.path == names[3] }?.setting
    }

    /// Whether a pattern of keys is about learned gestures: `gestures.learned`, or as far as a key of one or of all.
    static func isLearnedPattern(_ text: String) -> Bool {
        if text == "gestures.learned" { return true }
        let levels = text.split(separator: ".", omittingEmptySubsequences: false)
        guard levels.count > 2, levels[0] == "gestures", levels[1] == "learned" else { return false }
        guard let name = GestureName(levels[2].contains("*") ? "x" : levels[2]) else { return false }
        let pattern = (["gestures", "learned", "\(name)"] + levels.dropFirst(3).map(String.init)).joined(separator: ".")
        return learned(name).settings(under: "gestures.learned.\(name)").contains {
            RemoteKeys.matches(pattern, $0.path)
        }
    }
}

extension ValueFormat<GestureKind> {
    /// The gesture of a rule. Whether there is such a learned one is checked with the whole configuration.
    static var gestureKind: ValueFormat {
        let words = Gesture.builtIn.map(\.word)
        return parsed(
            "\(words.listed()), or the name of a learned gesture",
            [.init("anyOf", [["enum": .array(words.map { .string($0) })], .object(.matching(GestureName.pattern))])],
            write: \.word
        ) { text throws(ValueRefusal) in
            guard let kind = GestureKind(word: text) else {
                throw ValueRefusal("is unknown\(EditDistance.suggestion(for: text, among: words))")
            }
            return kind
        }
    }
}

extension ValueFormat<GestureSet> {
    /// A list of the gestures that a learned one may hold back.
    static var heldGestures: ValueFormat {
        let gestures: [Gesture] = [.flick, .turn, .tap, .flip]
        let list = ValueFormat<[Gesture]>.anyNumber(of: .choice(gestures.map { ($0.word, $0) }))
        return ValueFormat(
            list.allowed, list.constraints,
            read: { node, directory throws(ValueRefusal) in
                try list.read(node, directory).reduce(into: GestureSet()) { $0.insert(GestureSet($1)) }
            },
            write: { set in list.write(gestures.filter(set.contains)) })
    }
}

extension ValueFormat<GestureTemplate> {
    /// What `jostle learn` wrote. Only a file on the device itself may name another one.
    static var gestureTemplate: ValueFormat {
        ValueFormat(
            "what jostle learn wrote, or the path of its file", wantsExample: true, .nonEmptyText,
            read: { node, directory throws(ValueRefusal) in
                var text = try node.scalarText()
                guard text.utf8.count <= GestureTemplate.mostBytes else { throw ValueRefusal("is too long", found: "") }
                if !GestureTemplate.isText(text) {
                    guard node.position.source.isLocal else {
                        throw ValueRefusal(
                            "is not what jostle learn wrote; only a file on the device may name another one")
                    }
                    let path = text.hasPrefix("/") ? text : (directory.map { "\($0)/" } ?? "") + text
                    do throws(SystemFailure) {
                        text = try FileContents.text(of: path, limit: GestureTemplate.mostBytes)
                    } catch {
                        throw ValueRefusal("cannot be read: \(error)")
                    }
                }
                do throws(GestureTemplate.Failure) {
                    return try GestureTemplate(text.hasSuffix("\n") ? text : "\(text)\n")
                } catch {
                    throw ValueRefusal("is no learned gesture: \(error)")
                }
            },
            write: { .string($0.text) })
    }
}

extension DocumentSource {
    /// Whether the text is the device's own, not a message or a layer.
    fileprivate var isLocal: Bool {
        switch self {
        case .file, .argument: true
        case .message, .layer: false
        }
    }
}
