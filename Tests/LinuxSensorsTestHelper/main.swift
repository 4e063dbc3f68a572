// A second process for the tests of LinuxSensors.
//
//     LinuxSensorsTestHelper hold DEVICE ADDRESS        takes a chip's lock, and keeps it until its input ends
//     LinuxSensorsTestHelper identify DEVICE ADDRESS    opens a chip and reads its identity
//
// It answers with one line on standard output, and with status 1 where the line is an error.
import Glibc
import IMUDrivers
import LinuxSensors

func answer(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

func run(_ arguments: [String]) throws {
    guard arguments.count == 4, let address = UInt8(arguments[3]) else {
        answer("usage: hold|identify DEVICE ADDRESS")
        exit(64)
    }
    switch arguments[1] {
    case "hold":
        let lock = try ChipLock(device: arguments[2], address: address)
        answer("held")
        while getchar() != EOF {}
        // Without it the lock's last use, and so its end, would be above.
        extendLifetime(lock)
    default:
        var device = try I2CDevice(path: arguments[2], address: address)
        answer(String(try device.read(0x75), radix: 16))
    }
}

func extendLifetime(_ lock: borrowing ChipLock) {}

do {
    try run(CommandLine.arguments)
} catch {
    answer("\(error)")
    exit(1)
}
