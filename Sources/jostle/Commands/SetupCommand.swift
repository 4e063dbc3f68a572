internal import JostleCommandLine
internal import LinuxSensors
internal import MotionKit

/// `jostle setup`: a guided start, from the wires to the running service.
enum SetupCommand {
    static let usage = CommandUsage(
        name: "setup", summary: "set a board up step by step: sensor, broker, name, calibration, service",
        details: """
            It looks for the sensor, or says how to wire it, asks for the broker, tests both, and writes a few lines to
            /etc/jostle/conf.d/10-setup.yaml and the password to a file that only root can read. Then it offers to
            calibrate the gyroscope, starts the service and waits until the device is online. Run it again to change an
            answer: it proposes the values in force.

            Every answer is also an option. Without a terminal, or with --yes, nothing is asked: an answer without option is
            the value in force, and --calibrate and --no-enable decide on the last two steps. Nothing is written before
            sensor and broker work, unless --no-test says so.
            """,
        options: [
            CommandUsage.Option(
                name: "broker", value: "URL",
                help: "mqtt://HOST or mqtts://HOST; found with avahi if it announces itself"),
            CommandUsage.Option(name: "username", value: "NAME", help: "the user at the broker; empty for none"),
            CommandUsage.Option(
                name: "password-file", value: "FILE", help: "a file with the password; - for standard input"),
            CommandUsage.Option(
                name: "ca-file", value: "FILE", help: "the CA of an mqtts broker, unless the system has it"),
            CommandUsage.Option(name: "id", value: "TEXT", help: "the device's id in topics"),
            CommandUsage.Option(name: "name", value: "TEXT", help: "the device's name for people"),
            CommandUsage.Option(name: "area", value: "TEXT", help: "the area that Home Assistant suggests"),
            CommandUsage.Option(
                name: "driver", value: "NAME",
                help: "a family of chips, iio, or virtual for a trial without a sensor; auto otherwise",
                suggestions: .words(["auto", "iio", "virtual"] + SensorScan.families.map(\.name))),
            CommandUsage.Option(name: "bus", value: "PATH", help: "the I2C bus, for example /dev/i2c-1; all otherwise"),
            CommandUsage.Option(
                name: "address", value: "ADDRESS", help: "the chip's address; all usual ones otherwise"),
            CommandUsage.Option(name: "calibrate", help: "calibrate the gyroscope, without asking"),
            CommandUsage.Option(name: "no-calibrate", help: "do not offer that"),
            CommandUsage.Option(name: "enable", help: "start the service, now and with the board, without asking"),
            CommandUsage.Option(name: "no-enable", help: "leave the service as it is"),
            CommandUsage.Option(name: "no-test", help: "write the answers even if sensor or broker do not work"),
            CommandUsage.Option(name: "yes", help: "ask nothing"),
            CommandUsage.Option(
                name: "output", value: "DIR", help: "write to this directory instead of /etc/jostle, and start nothing"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        for (one, other) in [("calibrate", "no-calibrate"), ("enable", "no-enable")]
        where arguments.has(one) && arguments.has(other) {
            throw CommandFailure(.usage, "--\(one) and --\(other) exclude each other")
        }
        var setup = try Setup(arguments)
        try setup.run()
    }
}
