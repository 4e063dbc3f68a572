internal import JostleConfiguration
internal import LinuxSystem

/// Validates the device id of the commands that send requests to a running agent.
enum DeviceIDArgument {
    /// Checks the value of `--on`, or of another option.
    static func check(_ id: String, option: String = "on") throws {
        guard JostleSettings.Device.isID(id) else {
            throw Failure(.usage, "--\(option) is \"\(id)\", not a device id: letters, digits, _ and -")
        }
    }

    static func check(operand id: String) throws {
        guard JostleSettings.Device.isID(id) else {
            throw Failure(.usage, "\"\(id)\" is not a device id: letters, digits, _ and -")
        }
    }
}
