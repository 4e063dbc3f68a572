internal import JostleConfiguration

/// A refused value, as it is reported.
struct SettingRefusal: Sendable {
    let key: String
    private let problem: ConfigurationProblem

    init(_ problem: ConfigurationProblem, key: String) {
        self.key = key
        self.problem = problem
    }

    /// The key, the value, why it was refused, and which values are allowed.
    var json: JSONValue {
        let source = problem.position.source
        // A problem in a message belongs to the layer that the message was meant for.
        var layer = LocalLayer.name
        if case .layer(let name) = source { layer = name }
        let fields: [(name: String, text: String?)] = [
            ("key", key), ("value", problem.found), ("reason", problem.reason), ("allowed", problem.allowed),
            ("layer", layer),
        ]
        return .object(fields.compactMap { field in field.text.map { JSONValue.Member(field.name, .string($0)) } })
    }
}
