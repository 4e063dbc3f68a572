internal import MotionCore

/// The description of every key. From it follow: reading and checking files and messages, suggestions for misspelt
/// keys, the JSON Schema for editors, and the report of the values in force.
///
/// A new setting needs a field of `JostleSettings`, a key here and in `config/jostle.reference.yaml`, a regenerated schema file,
/// and examples of accepted and refused values; tests check for all but the field. A list of mappings is one key with
/// the format `list(of:faults:)` and a section for its elements: see `actions`.
package enum ConfigurationSchema {
    /// The whole configuration.
    static let root = Section(
        "", "The configuration of Jostle, an MQTT edge agent for motion sensing.",
        [
            .section(device), .section(sensor), .section(attitude), .section(motion), .section(gestures), actions,
            .section(publish), .section(settings), .section(commands), .section(fleet), .section(mqtt),
            .section(homeAssistant), .section(page), .section(log),
        ])

    private static let device = Section(
        "device", "The device's identity.",
        [
            .key(
                "id", optional: \.device.id, .deviceID, example: "washer-1",
                "The device's name in topics. Without it, one is made from the host name and the board's serial number."
            ),
            .key(
                "name", optional: \.device.name, .text(maximum: 128), example: "Washing machine",
                "The device's name for people. Without it, the id is shown."),
            .key(
                "area", optional: \.device.area, .text(maximum: 128), example: "Laundry",
                "The device's location, which Home Assistant suggests as its area."),
            .key(
                "groups", \.device.groups, .groupNames,
                "The groups whose configuration the device takes over MQTT, lowest first. The fleet's registry may replace "
                    + "them."),
            .key(
                "configuration_url", optional: \.device.configurationURL, .webAddress,
                example: "http://washer-1.local/", "A web page about the device, to which Home Assistant links."),
            .key(
                "version", optional: \.device.version, .packageVersion, example: "0.5.0-1",
                "The version of the Debian package that jostle-upgrade.service installs. Without it, nothing is upgraded."
            ),
        ])

    private static let sensor = Section(
        "sensor", "Which sensor is read, and how it is configured.",
        [
            .key(
                "enabled", \.sensor.isEnabled, .boolean,
                "Whether the sensor is read from the start; false waits for the command start."
            ).restartingAgent,
            .key(
                "driver", \.sensor.driver, .driver,
                """
                The chip's driver: auto takes the preferred chip among those found, or else a kernel driver's device; iio \
                accepts only a kernel driver's device; virtual simulates a chip.
                """
            ).restartingAgent,
            .key(
                "bus", \.sensor.bus, .bus, "The I2C bus; auto searches all of them."
            ).restartingAgent,
            .key(
                "address", \.sensor.address, .address,
                "The chip's 7-bit address on the bus; auto tries all addresses that it can have."
            ).restartingAgent,
            .key(
                "identity", \.imu.assumedIdentity, .identity,
                "The identity to assume for a chip with a number unknown to the driver, such as a copy; needs driver."
            ).restartingAgent,
            .key(
                "device", \.sensor.device, .kernelDevice,
                "The kernel driver's device (IIO); auto takes the preferred one, and a name implies driver iio."
            ).restartingAgent,
            .key(
                "rate", \.imu.rate, .quantity(.frequency, 4...2000),
                "Samples per second (Hz), as far as chip and bus allow. Smaller saves power, larger catches shorter movements."
            ).restartingSensor,
            .key(
                "accelerometer_range", \.imu.accelerometerRange,
                .oneOf([2, 4, 8, 16].map { ($0, $0 * standardGravity) }, .accelerationRange),
                "Full scale of the accelerometer (±g). Smaller resolves finer, larger survives harder shakes."
            ).restartingSensor,
            .key(
                "gyroscope_range", \.imu.gyroscopeRange,
                .oneOf([250, 500, 1000, 2000].map { ($0, $0 * .pi / 180) }, .rotationRange),
                "Full scale of the gyroscope (±°/s). Smaller resolves finer, larger survives faster turns."
            ).restartingSensor,
            .key(
                "batch", \.imu.batchInterval, .quantity(.duration, 0.001...1),
                "Time between two reads of the chip's memory (s). Smaller reduces the latency, larger the CPU load."
            ).restartingSensor,
            .key(
                "magnetometer", \.imu.connectsMagnetometer, .boolean,
                "Whether the chip's magnetometer is read, for a heading that does not drift. Calibrate it first."
            ).restartingSensor,
            .group(
                "interrupt",
                "The GPIO line to which the chip's data-ready pin is wired: its edges then time the samples.",
                [
                    .key(
                        "chip", optional: \.sensor.interrupt.chip, .gpioChip, example: "gpiochip0",
                        "The GPIO chip. Without it, gpiochip0, or any that has a line with this name."),
                    .key(
                        "line", optional: \.sensor.interrupt.line, .gpioLine, example: "17",
                        "The line's number or name, such as GPIO17. Without it, samples are timed by the fill level of the FIFO."
                    ),
                ]
            ).restartingAgent,
            .key(
                "mount_matrix", \.motion.mount, .rotationMatrix,
                "How the sensor is mounted: the rotation from its axes to the device's, row by row."
            ).restartingSensor,
            .key(
                "trajectory", \.sensor.trajectory, .nameOrPath,
                "The virtual sensor's movement: demo (turns and shakes), rest, or a recording to play back."
            ).restartingAgent,
        ])

    private static let attitude = Section(
        "attitude", "How the attitude is filtered, and its zero.",
        [
            .key(
                "low_pass", \.motion.attitudeLowPass, .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published attitude (Hz). Smaller is smoother but slower; 0 is off."),
            .key(
                "reference", \.motion.reference, .choice(["none": .none, "start": .start, "stored": .stored]),
                "The attitude published as zero: none, the one at the first rest after each start, or the one stored by the "
                    + "last tare."),
        ])

    private static let motion = Section(
        "motion", "How acceleration and rotation are filtered.",
        [
            .key(
                "acceleration_low_pass", \.motion.accelerationLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published acceleration (Hz). Smaller is smoother but slower; 0 is off."),
            .key(
                "rotation_low_pass", \.motion.rotationRateLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published rotation (Hz). Smaller is smoother but slower; 0 is off."),
        ])

    private static let commands = Section(
        "commands", "Which commands the device accepts over MQTT.",
        [
            .key(
                "allow", \.commands.allow, .names(JostleSettings.Command.allCases.map { ($0.rawValue, $0) }),
                "The allowed commands; the others are refused. An empty list allows none."
            ).restartingAgent
        ])

    private static let settings = Section(
        "settings", "Which keys a home may set over MQTT.",
        [
            .key(
                "allow", \.settings.allow, .keyPatterns,
                "The sections and keys that may be set on the device's set topics; an empty list allows none."
            ).restartingAgent
        ])

    private static let fleet = Section(
        "fleet", "The configuration of a fleet over MQTT.",
        [
            .key(
                "remote", \.fleet.remote, .fleetKeyPatterns,
                "The sections and keys that the fleet's layers may set; an empty list allows none."
            ).restartingAgent,
            .key(
                "probation", \.fleet.probation, .quantity(.duration, 10...3600),
                "Time for which a new revision is watched, and undone if the device works no longer (s). Larger notices "
                    + "slower faults."
            ).restartingAgent,
            .key(
                "trusted_keys", \.fleet.trustedKeys, .trustedKeys,
                "The keys whose signature the fleet's documents need; without any, they need none. With keys, the defaults "
                    + "of settings.allow and commands.allow are [] and [ping, get-state]."
            ).restartingAgent,
        ])

    private static let log = Section(
        "log", "What is logged.",
        [
            .key(
                "level", \.log.level,
                .choice(["error": .error, "warning": .warning, "info": .info, "debug": .debug]),
                "The least severe messages that are logged."
            ).restartingAgent
        ])
}
