import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSensors
import Synchronization
import Testing

/// A fake `/dev/i2c-N` in this process, with an MPU-6050 at 0x68. It exists as long as the test retains it.
final class FakeAdapter {
    let path: String
    private let handle: Int32

    private static let count = Atomic<Int>(0)

    /// A device path that no other test uses, in this process or another.
    static func unusedPath() -> String {
        "/dev/i2c-\(getpid())\(100 + count.add(1, ordering: .relaxed).newValue)"
    }

    /// Creates an adapter at an unused path.
    convenience init(_ configure: (inout fake_i2c_settings) -> Void = { _ in }) throws {
        try self.init(at: Self.unusedPath(), configure)
    }

    /// Creates an adapter at a path.
    init(at path: String, _ configure: (inout fake_i2c_settings) -> Void = { _ in }) throws {
        var settings = fake_i2c_default_settings()
        configure(&settings)
        self.path = path
        handle = fake_i2c_attach(path, &settings)
        try #require(handle >= 0, "the fake cannot add another adapter")
    }

    deinit { fake_i2c_detach(handle) }

    /// Makes the next `times` transactions fail.
    func fail(with error: Int32, times: UInt64 = 1, afterMilliseconds milliseconds: UInt32 = 0) {
        #expect(fake_i2c_fail(handle, transactions + 1, times, error, milliseconds))
    }

    /// Takes the chip off the bus, or puts it back.
    func setAbsent(_ absent: Bool) { fake_i2c_set_absent(handle, absent) }

    /// Unplugs the adapter with its chip, or plugs it in again.
    func setPulledOut(_ pulledOut: Bool) { fake_i2c_set_pulled_out(handle, pulledOut) }

    var transactions: UInt64 { fake_i2c_transactions(handle) }
    var rudeRequests: UInt32 { fake_i2c_rude_requests(handle) }
    var openDescriptors: UInt32 { fake_i2c_open_descriptors(handle) }

    /// The messages of the last transfer, and the code of the SMBus call, -1 if it was not one.
    var lastTransfer: (smbusSize: Int32, messages: [Message]) {
        let last = fake_i2c_last_transfer(handle)
        let messages = [last.messages.0, last.messages.1, last.messages.2, last.messages.3]
        return (last.smbus_size, messages.prefix(Int(last.count)).map(Message.init))
    }

    /// A message received by the adapter.
    struct Message: Equatable {
        var address: UInt16
        var reads: Bool
        var otherFlags: UInt16
        var length: UInt16
        /// The written bytes, up to four.
        var written: [UInt8]

        init(address: UInt16, reads: Bool, length: UInt16, written: [UInt8] = []) {
            self.address = address
            self.reads = reads
            self.otherFlags = 0
            self.length = length
            self.written = written
        }

        init(_ message: fake_i2c_message) {
            address = message.address
            reads = message.flags & 1 != 0
            otherFlags = message.flags & ~1
            length = message.length
            let bytes = [message.bytes.0, message.bytes.1, message.bytes.2, message.bytes.3]
            written = reads ? [] : Array(bytes.prefix(Int(message.length)))
        }
    }

    /// An adapter that cannot transfer messages but supports block reads.
    static let smbusBlocks = UInt(I2CFunctionality([.smbusReadByte, .smbusReadBlock, .smbusWriteByteData]).rawValue)

    /// An adapter that only reads single registers.
    static let smbusBytes = UInt(I2CFunctionality([.smbusReadByte, .smbusReadByteData, .smbusWriteByteData]).rawValue)
}

extension I2CDevice {
    /// Reads `count` registers.
    mutating func registers(_ first: UInt8, _ count: Int) throws(BusError) -> [UInt8] {
        var content = [UInt8](repeating: 0xEE, count: count)
        var failure: BusError?
        content.withUnsafeMutableBytes { buffer in
            do throws(BusError) {
                try read(first, into: buffer)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return content
    }
}

/// The error that `body` throws; `nil` if it does not throw.
func thrown<Failure>(_ body: () throws(Failure) -> Void) -> Failure? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}
