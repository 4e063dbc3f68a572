// A second process for the tests of LinuxSensors.
//
//     LinuxSensorsTestHelper hold DEVICE ADDRESS        acquires a chip's lock, and holds it until its input ends
//     LinuxSensorsTestHelper identify DEVICE ADDRESS    opens a chip and reads its identity
//
// It prints one line to standard output; its exit status is 1 if the line is an error.
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
        // Otherwise the lock's last use, and so its lifetime, would end above.
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
