// A second process for the tests of LinuxSensors.
//
//     LinuxSensorsTestHelper hold DEVICE ADDRESS        locks a chip until its input ends
//     LinuxSensorsTestHelper hold-file DEVICE ADDRESS   locks the whole device file in the traditional way (lockf)
//     LinuxSensorsTestHelper announce DEVICE ADDRESS    announces itself as the holder of a lock that it does not have
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
        answer("usage: hold|hold-file|announce|identify DEVICE ADDRESS")
        exit(64)
    }
    switch arguments[1] {
    case "hold":
        var adapter = try I2CAdapter(path: arguments[2])
        try adapter.lock(address)
        answer("held")
        while getchar() != EOF {}
        // Otherwise its last use, and so its lifetime, would end above.
        extendLifetime(adapter)
    case "hold-file":
        let descriptor = open(arguments[2], O_RDWR)
        answer(lockf(descriptor, F_TLOCK, 0) == 0 ? "held" : "refused")
        while getchar() != EOF {}
    case "announce":
        let announcement = DeviceFile(path: arguments[2]).flatMap {
            HolderAnnouncement.make(file: $0, address: address)
        }
        answer(announcement == nil ? "refused" : "announced")
        while getchar() != EOF {}
        extendLifetime(announcement)
    default:
        var device = try I2CDevice(path: arguments[2], address: address)
        answer(String(try device.read(0x75), radix: 16))
    }
}

func extendLifetime(_ adapter: borrowing I2CAdapter) {}
func extendLifetime(_ announcement: borrowing HolderAnnouncement?) {}

do {
    try run(CommandLine.arguments)
} catch {
    answer("\(error)")
    exit(1)
}
