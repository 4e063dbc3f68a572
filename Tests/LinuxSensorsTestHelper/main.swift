// A second process for the tests of LinuxSensors.
//
//     LinuxSensorsTestHelper hold DEVICE ADDRESS        locks a chip until its input ends
//     LinuxSensorsTestHelper hold-file DEVICE ADDRESS   locks the whole device file in the traditional way (lockf)
//     LinuxSensorsTestHelper announce DEVICE ADDRESS    announces itself as the holder of a lock that it does not have
//     LinuxSensorsTestHelper identify DEVICE ADDRESS    opens a chip and reads its identity
//
// With `as USER GROUP` before these arguments, root becomes that user, with that group besides the one of the same number
// as the user. It prints one line to standard output; its exit status is 1 if the line is an error.
import Glibc
import IMUDrivers
import LinuxSensors

func answer(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

/// Becomes another user: setgroups(2), setgid(2), setuid(2).
func become(_ user: uid_t, in group: gid_t) -> Bool {
    withUnsafePointer(to: group) { setgroups(1, $0) == 0 } && setgid(user) == 0 && setuid(user) == 0
}

func run(_ arguments: [String]) throws {
    if arguments.count > 4, arguments[1] == "as", let user = uid_t(arguments[2]), let group = gid_t(arguments[3]) {
        guard become(user, in: group) else {
            answer("the user cannot be changed")
            exit(77)
        }
        return try run([arguments[0]] + arguments[4...])
    }
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
