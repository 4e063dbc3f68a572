internal import CLinuxI2C

/// The capabilities of an adapter, according to its kernel driver (`I2C_FUNCS`).
package struct I2CFunctionality: OptionSet, Sendable, BitwiseCopyable {
    package let rawValue: UInt

    /// Creates a set from the kernel's `I2C_FUNC_…` bits.
    package init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    private init(_ bits: Int32) {
        rawValue = UInt(UInt32(bitPattern: bits))
    }

    /// Plain message transfers with repeated starts: the preferred method.
    package static let transfers = I2CFunctionality(I2C_FUNC_I2C)

    /// Addressing without data; the Raspberry Pi 5's adapter does not support it.
    package static let smbusQuick = I2CFunctionality(I2C_FUNC_SMBUS_QUICK)

    /// A read of one byte without a register number.
    package static let smbusReadByte = I2CFunctionality(I2C_FUNC_SMBUS_READ_BYTE)

    /// A read of one register.
    package static let smbusReadByteData = I2CFunctionality(I2C_FUNC_SMBUS_READ_BYTE_DATA)

    /// A write of one register.
    package static let smbusWriteByteData = I2CFunctionality(I2C_FUNC_SMBUS_WRITE_BYTE_DATA)

    /// A read of up to 32 registers.
    package static let smbusReadBlock = I2CFunctionality(I2C_FUNC_SMBUS_READ_I2C_BLOCK)

    /// A write of up to 32 registers.
    package static let smbusWriteBlock = I2CFunctionality(I2C_FUNC_SMBUS_WRITE_I2C_BLOCK)
}

/// How registers are accessed through an adapter.
enum I2CMethod: Sendable, BitwiseCopyable {
    /// One transfer of two messages, up to 8192 bytes.
    case transfers
    /// SMBus calls, up to 32 bytes.
    case smbusBlocks
    /// SMBus calls, one byte each.
    case smbusBytes

    /// The best method that an adapter supports; `nil` if it supports none.
    init?(_ functionality: I2CFunctionality) {
        if functionality.contains(.transfers) {
            self = .transfers
        } else if functionality.isSuperset(of: [.smbusReadBlock, .smbusWriteByteData]) {
            self = .smbusBlocks
        } else if functionality.isSuperset(of: [.smbusReadByteData, .smbusWriteByteData]) {
            self = .smbusBytes
        } else {
            return nil
        }
    }

    /// The longest read, bytes. i2c-dev limits a message to 8192 (EINVAL beyond), SMBus a block to 32.
    var maximumReadLength: Int {
        switch self {
        case .transfers: 8192
        case .smbusBlocks: Int(I2C_SMBUS_BLOCK_MAX)
        case .smbusBytes: 1
        }
    }
}
