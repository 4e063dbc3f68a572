internal import JostleMessages

/// How a device took the fleet's layers of its configuration: `layers` in its `config/reported`.
package struct WatchedConfiguration: Equatable, Sendable {
    /// The most layers that are kept.
    private static let maximumLayers = 16

    /// The statuses from the worst to the best.
    private static let statuses = [
        "rolled_back", "rejected", "conflict", "stale", "missing", "pending", "applied", "none",
    ]

    /// One layer.
    package struct Layer: Equatable, Sendable {
        /// `all`, `group:<group>` or `device`.
        package var name: String
        /// `applied`, `rejected` and so on. Unknown statuses of later agents are kept.
        package var status: String
        /// The revision that the status is about, and the one in force if it is another.
        package var revision: Int?
        package var revisionInForce: Int?
        /// The key and the reason of the first error, or why the layer was undone or has to wait.
        package var error: String?
        /// The same, of a candidate that is not in force on a device that it is for.
        package var candidateError: String?

        init(_ name: String, _ fields: MessageFields) {
            self.name = name
            status = fields.text("status") ?? "unknown"
            revision = fields.number("revision").flatMap { Int(exactly: $0) }
            revisionInForce = fields.number("in_force").flatMap { Int(exactly: $0) }
            error = Layer.error(fields, "errors") ?? fields.text("reason")
            candidateError = Layer.error(fields, "candidate_errors")
        }

        private static func error(_ fields: MessageFields, _ name: String) -> String? {
            guard let first = fields.firstObject(name) else { return nil }
            let parts = [first.text("path"), first.text("reason")].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }

        /// Whether the device does not follow what the fleet wants.
        package var needsAttention: Bool { LayerStatus(status).isProblem }
    }

    /// The layers, in the device's order.
    package let layers: [Layer]

    /// Returns `nil` if the message has no layers, as from a device whose agent has no fleet layers.
    init?(_ fields: MessageFields) {
        let objects = fields.objects("layers", atMost: WatchedConfiguration.maximumLayers)
        guard !objects.isEmpty else { return nil }
        layers = objects.map { Layer($0.key, $0.fields) }
    }

    /// The worst status among the layers; one that this program does not know, so that it is seen.
    package var status: String {
        let ranks = layers.map { layer in
            (layer.status, WatchedConfiguration.statuses.firstIndex(of: layer.status) ?? 0)
        }
        return ranks.min { $0.1 < $1.1 }?.0 ?? "none"
    }

    /// Whether the device does not follow one of its layers.
    package var needsAttention: Bool { layers.contains { $0.needsAttention } }
}
