package import JostleConfiguration
package import JostleMessages

/// Whose documents a tool builds on: those that one of some keys has signed.
package struct DocumentTrust: Sendable {
    let keys: TrustedKeys
    let topics: FleetTopics

    /// - Returns: `nil` without keys: then every document is trusted.
    package init?(_ keys: [JostleSettings.TrustedKey], topics: FleetTopics) {
        guard !keys.isEmpty else { return nil }
        self.keys = TrustedKeys(keys)
        self.topics = topics
    }
}
