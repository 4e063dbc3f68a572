internal import Glibc
package import IMUDrivers
internal import LinuxSystem

/// The magnetometer of a kernel driver, read value by value from sysfs.
///
/// It changes nothing, so it does not claim the device: other programs may read it, too. To be used by one thread. Reading
/// does not allocate.
package final class IIOFieldReader {
    /// The unit of the kernel is gauss.
    package static let microteslaPerGauss = 100.0

    private struct Axis {
        var file: Int32
        var scale: Double
        var bias: Double
    }

    private let axes: [Axis]

    private init(_ axes: [Axis]) { self.axes = axes }

    deinit {
        for axis in axes { close(axis.file) }
    }

    /// Opens the values of a device that measures the field.
    ///
    /// - Throws: `IIOError` if a value cannot be opened, or has no scale.
    package static func open(_ device: IIODevice) throws(IIOError) -> IIOFieldReader {
        var axes: [Axis] = []
        do {
            for letter in ["x", "y", "z"] { axes.append(try open(letter, of: device)) }
        } catch {
            for axis in axes { close(axis.file) }
            throw error
        }
        return IIOFieldReader(axes)
    }

    private static func open(_ letter: String, of device: IIODevice) throws(IIOError) -> Axis {
        let quantity = IIOQuantity.magneticField
        guard let scale = device.number(of: quantity, axis: letter, "scale") else {
            throw IIOError(.cannotRead(attribute: "\(quantity.rawValue)_scale"), device: device.title)
        }
        let attribute = "\(quantity.rawValue)_\(letter)_raw"
        let file = Glibc.open("\(device.path)/\(attribute)", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            throw IIOError(.cannotRead(attribute: attribute), device: device.title, SystemFailure(code: errno))
        }
        return Axis(
            file: file, scale: microteslaPerGauss * scale,
            bias: device.number(of: quantity, axis: letter, "offset") ?? 0)
    }

    /// Measures one axis, 0 to 2, µT. This takes as long as the driver needs: see `KernelMagnetometer`.
    ///
    /// - Throws: `absent` if the driver was unbound or the chip unplugged; otherwise the kernel's error.
    package func read(_ index: Int) throws(BusError) -> Double {
        let axis = axes[index]
        return (Double(try IIONumber.read(axis.file)) + axis.bias) * axis.scale
    }
}
