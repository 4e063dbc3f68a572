internal import Documents

/// The key that switches a rule of `actions` off and on by its name: `actions.lamp.enabled`.
///
/// It is the only key whose path depends on other values. What a rule publishes, and where, can be changed only in a file.
package struct RuleSwitch: Equatable, Sendable {
    /// The name of the rule.
    package let name: String

    /// The pattern of all such keys, for `settings.allow` and `fleet.remote`.
    static let pattern = JostleSettings.Action.switches

    package init(_ name: String) {
        self.name = name
    }

    /// The switch with this key; `nil` if the key is another one.
    package init?(key: String) {
        let names = key.split(separator: ".", omittingEmptySubsequences: false)
        guard names.count == 3, names[0] == "actions", names[2] == "enabled",
            JostleSettings.Device.isID(String(names[1]))
        else { return nil }
        name = String(names[1])
    }

    /// Its key.
    package var key: String { "actions.\(name).enabled" }

    /// Whether a pattern of keys, which may contain `*`, is about such switches and nothing else.
    static func isPattern(_ text: String) -> Bool {
        let levels = text.split(separator: ".", omittingEmptySubsequences: false)
        return levels.count == 3 && levels[0] == "actions" && levels[2] == "enabled" && !levels[1].isEmpty
    }

    /// The setting that it is.
    var setting: Setting { Setting("enabled", \.[isRuleEnabled: name], .boolean, "Whether the rule acts.") }

    /// The keys that a rule has beside its place in the list; `nil` if no rule has the name.
    static func section(_ name: String, in settings: JostleSettings) -> Section? {
        guard settings.ruleNames.contains(name) else { return nil }
        return Section(name, "A rule with a name.", [.setting(RuleSwitch(name).setting)])
    }

    /// Why a name is refused.
    static func unknown(_ name: String, in settings: JostleSettings) -> (reason: String, allowed: String) {
        let names = settings.ruleNames
        let suggestion = EditDistance.suggestion(for: name, among: names)
        let known = names.isEmpty ? "none: no rule of actions has a name" : names.listed()
        return ("there is no rule \"\(DocumentProblem.escaped(name))\"\(suggestion)", known)
    }
}

extension JostleSettings {
    /// The names of the rules that have one, in their order.
    package var ruleNames: [String] { actions.compactMap(\.name) }

    /// Whether the rule with a name acts; true if there is none.
    subscript(isRuleEnabled name: String) -> Bool {
        get { actions.first { $0.name == name }?.isEnabled ?? true }
        set { for index in actions.indices where actions[index].name == name { actions[index].isEnabled = newValue } }
    }

    /// The rules as if all were switched on.
    var actionsSwitchedOn: [Action] {
        actions.map { action in
            var action = action
            if action.name != nil { action.isEnabled = true }
            return action
        }
    }
}
