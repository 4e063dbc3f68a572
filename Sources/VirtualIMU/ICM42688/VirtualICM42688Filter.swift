internal import Glibc

/// A low-pass of the ICM-42688-P: the tables of DS-000347 r1.8, 5.5, and the anti-alias filter of 5.3 before it.
/// Unsourced: that of the ICM-42605, here the same.
struct VirtualICM42688Filter {
    /// Hz, and the group delay of slow signals in seconds.
    let bandwidth: Double
    let delay: Double

    /// `code` is UI_FILT_BW, `order` UI_FILT_ORD, `antiAlias` the bandwidth of the second-order anti-alias filter, Hz.
    init(rate: Double, code: UInt8, order: UInt8, antiAlias: Double) {
        let column = Int(min(7, code))
        let row = rate >= 1000 ? 0 : rate >= 500 ? 1 : 2
        // Code 0 follows the rate below 200 Hz, the others do not.
        let isHalfRate = column == 0 && row == 2
        let stretch = isHalfRate ? 200 / max(rate, 25) : 1
        bandwidth = Self.bandwidths[row][column] / stretch
        let second = isHalfRate ? Self.halfRateDelays(rate) : Self.delays[row][column]
        // The tables of the other orders are not modelled: delays of Butterworth filters.
        let perHertz = 1 / (2 * .pi * sin(.pi / (2 * (Double(order) + 1))))
        let own = order == 1 ? second * 1e-3 : perHertz / bandwidth
        delay = own + 2.0.squareRoot() / (2 * .pi * antiAlias)
    }

    /// The rate of a code in GYRO_ODR and ACCEL_ODR, Hz.
    static func rate(_ code: UInt8) -> Double {
        switch code {
        case 7: 200
        case 8: 100
        case 9: 50
        case 10: 25
        case 11: 12.5
        case 15: 500
        default: 1000
        }
    }

    /// -3 dB bandwidths of the second order, Hz: at 1000, 500 and 200 Hz, for the codes 0 to 7.
    private static let bandwidths = [
        [493.3, 230.7, 191.6, 117.5, 97.1, 59.6, 48.0, 21.3], [246.7, 115.3, 95.8, 58.8, 48.5, 29.8, 24.0, 10.6],
        [98.7, 92.3, 76.6, 47.0, 38.8, 23.8, 19.2, 8.5],
    ]

    /// Their group delays, ms.
    private static let delays = [
        [0.7, 2.1, 2.4, 3.2, 3.7, 5.2, 6.1, 12.0], [1.3, 4.1, 4.7, 6.4, 7.3, 10.4, 12.2, 24.0],
        [3.3, 5.1, 5.8, 8.0, 9.1, 12.9, 15.3, 30.0],
    ]

    /// The group delay of code 0, ms.
    private static func halfRateDelays(_ rate: Double) -> Double {
        switch rate {
        case 200...: 3.3
        case 100...: 6.5
        case 50...: 12.9
        default: 25.7
        }
    }
}
