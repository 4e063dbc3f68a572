internal import JostleConfiguration

/// A value that somebody wanted and did not get, as it is reported.
struct SettingRefusal: Sendable {
    let key: String
    private let problem: ConfigurationProblem

    init(_ problem: ConfigurationProblem, key: String) {
        self.key = key
        self.problem = problem
    }

    /// What was wanted, why it was refused, and what is allowed.
    var json: JSONValue {
        let source = problem.position.source
        // A message's problem is one of the layer that it was meant for.
        var layer = LocalLayer.name
        if case .layer(let name) = source { layer = name }
        let fields: [(name: String, text: String?)] = [
            ("key", key), ("value", problem.found), ("reason", problem.reason), ("allowed", problem.allowed),
            ("layer", layer),
        ]
        return .object(fields.compactMap { field in field.text.map { JSONValue.Member(field.name, .string($0)) } })
    }
}
