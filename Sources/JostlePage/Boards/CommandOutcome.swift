internal import JostleConfiguration

/// The result of a command, as far as the server itself needs it.
struct CommandOutcome {
    var isOK: Bool
    var error: String
    var message: String?

    /// Returns `nil` if it is not a result.
    init?(_ payload: [UInt8]) {
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(payload, source: .message("result"), limits: ReaderLimits())
            guard case .mapping = tree.value, let ok = tree["ok"]?.text else { return nil }
            isOK = ok == "true"
            error = String((tree["error"]?.text ?? "").prefix(64))
            message = tree["message"]?.text.map { String($0.prefix(200)) }
        } catch {
            return nil
        }
    }
}
