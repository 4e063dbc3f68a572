internal import JostleCommandLine
internal import JostleConfiguration

/// Validates the device id of the commands that send requests to a running agent.
enum DeviceIDArgument {
    /// Checks the value of `--on`, or of another option.
    static func check(_ id: String, option: String = "on") throws(CommandFailure) {
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "--\(option) is \"\(id)\", not a device id: letters, digits, _ and -")
        }
    }
}
