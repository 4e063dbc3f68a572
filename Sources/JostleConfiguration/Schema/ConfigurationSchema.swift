internal import MotionCore

/// The description of every key, from which all else follows: reading and checking files and messages, suggestions for
/// misspelt keys, the JSON Schema for editors, and the report of what is in force.
///
/// A new setting is a field of `JostleSettings`, a key here and one in `config/jostle.yaml`, the schema written anew, and
/// values that are accepted and refused: tests demand all but the first. A list of mappings is one key whose format is
/// `list(of:faults:)`, with a section of the elements' own: `actions` shows how.
package enum ConfigurationSchema {
    /// The whole configuration.
    static let root = Section(
        "", "The configuration of Jostle, an MQTT edge agent for motion sensing.",
        [
            .section(device), .section(sensor), .section(attitude), .section(motion), .section(gestures), actions,
            .section(publish), .section(commands), .section(mqtt), .section(homeAssistant), .section(log),
        ])

    private static let device = Section(
        "device", "Who this device is.",
        [
            .key(
                "id", optional: \.device.id, .deviceID, example: "washer-1",
                "The device's name in topics. Without it, one is made of the host's name and the board's serial number."
            ),
            .key(
                "name", optional: \.device.name, .text(maximum: 128), example: "Washing machine",
                "The device's name for people. Without it, the id is shown."),
            .key(
                "area", optional: \.device.area, .text(maximum: 128), example: "Laundry",
                "Where it is: Home Assistant suggests it as the device's area."),
            .key(
                "configuration_url", optional: \.device.configurationURL, .webAddress,
                example: "http://washer-1.local/", "A page about the device, to which Home Assistant links."),
        ])

    private static let sensor = Section(
        "sensor", "Which sensor is read, and what it is configured to.",
        [
            .key(
                "enabled", \.sensor.isEnabled, .boolean,
                "Whether the sensor is read from the start on; false leaves it alone until somebody commands start."),
            .key(
                "driver", \.sensor.driver, .driver,
                """
                The chip's driver: auto takes the preferred one of the chips that are found, or else what a kernel driver \
                owns; iio insists on a kernel driver's device, virtual simulates a chip.
                """),
            .key(
                "bus", \.sensor.bus, .bus, "The I2C bus; auto searches all of them."),
            .key(
                "address", \.sensor.address, .address,
                "The chip's 7-bit address on the bus; auto searches those that it can have."),
            .key(
                "identity", \.imu.assumedIdentity, .identity,
                "What a chip is taken for whose number no driver knows; needs the driver. For copies of known chips."),
            .key(
                "device", \.sensor.device, .kernelDevice,
                "The kernel driver's device (IIO): auto takes the preferred one; naming one means driver iio."),
            .key(
                "rate", \.imu.rate, .quantity(.frequency, 4...2000),
                "Samples a second (Hz), as far as chip and bus allow. Smaller costs less power, larger catches shorter movements."
            ),
            .key(
                "accelerometer_range", \.imu.accelerometerRange,
                .oneOf([2, 4, 8, 16].map { ($0, $0 * standardGravity) }, .accelerationRange),
                "Full scale of the accelerometer (±g). Smaller resolves finer, larger survives harder shakes."),
            .key(
                "gyroscope_range", \.imu.gyroscopeRange,
                .oneOf([250, 500, 1000, 2000].map { ($0, $0 * .pi / 180) }, .rotationRange),
                "Full scale of the gyroscope (±°/s). Smaller resolves finer, larger survives faster turns."),
            .key(
                "batch", \.imu.batchInterval, .quantity(.duration, 0.001...1),
                "Time between two reads of the chip's memory (s). Smaller is prompter, larger costs less processor."),
            .group(
                "interrupt",
                "The GPIO line that the chip's data-ready pin is wired to: samples then have the instants of its edges.",
                [
                    .key(
                        "chip", optional: \.sensor.interrupt.chip, .gpioChip, example: "gpiochip0",
                        "The GPIO chip. Without it, gpiochip0, or any that has a line of the name."),
                    .key(
                        "line", optional: \.sensor.interrupt.line, .gpioLine, example: "17",
                        "The line's number or name, such as GPIO17. Without it, the FIFO's fill tells when samples were taken."
                    ),
                ]),
            .key(
                "mount_matrix", \.motion.mount, .rotationMatrix,
                "How the sensor is mounted: the rotation that turns its axes into the device's, row by row."),
            .key(
                "trajectory", \.sensor.trajectory, .nameOrPath,
                "What the virtual sensor does: demo (turns and shakes), rest, or a recording to play back."),
        ])

    private static let attitude = Section(
        "attitude", "How the attitude is filtered and what it is measured from.",
        [
            .key(
                "low_pass", \.motion.attitudeLowPass, .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published attitude (Hz). Smaller is smoother and later; 0 is off."),
            .key(
                "reference", \.motion.reference, .choice(["none": .none, "start": .start, "stored": .stored]),
                "The attitude published as zero: none, the one at each start, or the stored one that was last taken."),
        ])

    private static let motion = Section(
        "motion", "How acceleration and rotation are filtered.",
        [
            .key(
                "acceleration_low_pass", \.motion.accelerationLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published acceleration (Hz). Smaller is smoother and later; 0 is off."),
            .key(
                "rotation_low_pass", \.motion.rotationRateLowPass,
                .quantity(.frequency, 0.01...500, zeroIsOff: true),
                "Cut-off of the low-pass on the published rotation (Hz). Smaller is smoother and later; 0 is off."),
        ])

    private static let commands = Section(
        "commands", "What may be asked of the device over MQTT.",
        [
            .key(
                "allow", \.commands.allow, .names(JostleSettings.Command.allCases.map { ($0.rawValue, $0) }),
                "The commands that are carried out; the others are refused. An empty list allows none.")
        ])

    private static let log = Section(
        "log", "What is logged.",
        [
            .key(
                "level", \.log.level,
                .choice(["error": .error, "warning": .warning, "info": .info, "debug": .debug]),
                "The least important messages that are written.")
        ])
}
