internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
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

extension RemoteDevice {
    /// The agent that `--on` names; without it that of this machine.
    convenience init(_ arguments: Arguments) throws {
        let named = arguments.value("on")
        if let named { try DeviceIDArgument.check(named) }
        let settings = try Configuration.ofBroker(arguments)
        let id = named ?? settings.device.id ?? DeviceName.ofThisMachine()
        try DeviceIDArgument.check(id)
        try self.init(id: id, settings: settings)
    }
}
