package import IMUDrivers

/// The magnetometer of a kernel driver, read value by value from sysfs.
///
/// It changes nothing, so it does not claim the device: other programs may read it, too. To be used by one thread. Reading
/// does not allocate.
package final class IIOFieldReader {
    /// The unit of the kernel is gauss.
    package static let microteslaPerGauss = 100.0

    private let axes: [IIOValue]

    private init(_ axes: [IIOValue]) { self.axes = axes }

    /// Opens the values of a device that measures the field.
    ///
    /// - Throws: `IIOError` if a value cannot be opened, or has no scale.
    package static func open(_ device: IIODevice) throws(IIOError) -> IIOFieldReader {
        let quantity = IIOQuantity.magneticField
        var axes: [IIOValue] = []
        for channel in quantity.channels {
            let (scale, bias) = device.conversion(of: channel, sharing: quantity.rawValue)
            guard let scale else {
                throw IIOError(.cannotRead(attribute: "\(quantity.rawValue)_scale"), device: device.title)
            }
            axes.append(try IIOValue(channel, of: device, scale: microteslaPerGauss * scale, bias: bias))
        }
        return IIOFieldReader(axes)
    }

    /// Measures one axis, 0 to 2, µT. This takes as long as the driver needs: see `KernelMagnetometer`.
    ///
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
    package func read(_ index: Int) throws(BusError) -> Double { try axes[index].read() }
}
