internal import JostleConfiguration

/// The option `--broker` of commands that can use another broker than the configured one.
package enum BrokerArgument {
    package static let option = CommandUsage.Option(
        name: "broker", value: "URLS",
        help: "use this broker, mqtt://HOST:PORT, instead of the configured one; several are tried in turn: URL,URL",
        isRepeatable: true)

    /// The settings that the option overrides; none without it.
    package static func overrides(_ arguments: Arguments, replacesCommandBroker: Bool = true) -> [String] {
        let urls = arguments.values("broker").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        guard !urls.isEmpty else { return [] }
        let value = urls.count == 1 ? urls[0] : JSONValue.array(urls.map { .string($0) }).compactText
        return ["mqtt.broker=\(value)"] + (replacesCommandBroker ? ["mqtt.command_broker="] : [])
    }
}
