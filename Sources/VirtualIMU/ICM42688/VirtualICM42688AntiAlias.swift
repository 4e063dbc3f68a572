/// The anti-alias filter of an ICM-42688-P or ICM-42605, as its registers set it.
enum VirtualICM42688AntiAlias {
    /// DS-000347 r1.8, 5.3.
    case icm42688p
    /// DS-000292 v1.7, 5.3, as INAV's `aafLUT42605` has it. Unsourced: the first two rows, here a quarter of the
    /// ICM-42688-P's.
    case icm42605

    private var rows: [(delt: UInt8, square: UInt16, shift: UInt8, bandwidth: Double)] {
        switch self {
        case .icm42688p: [(13, 170, 8, 585), (24, 576, 6, 1163), (21, 440, 6, 997), (37, 1376, 4, 1962)]
        case .icm42605:
            [(13, 170, 8, 146), (24, 576, 6, 291), (21, 440, 6, 249), (39, 1536, 4, 524), (63, 3968, 3, 995)]
        }
    }

    /// -3 dB bandwidth, Hz, for DELT, the low byte of DELTSQR, and BITSHIFT with the high bits of DELTSQR. Values that are
    /// not of one row of the table are punished by 10 Hz.
    func bandwidth(delt: UInt8, low: UInt8, high: UInt8) -> Double {
        let square = UInt16(high & 0x0F) << 8 | UInt16(low)
        return rows.first { $0.delt == delt & 0x3F && $0.square == square && $0.shift == high >> 4 }?.bandwidth ?? 10
    }
}
