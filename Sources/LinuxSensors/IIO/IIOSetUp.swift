internal import Glibc
internal import IMUDrivers
internal import LinuxSystem

/// The exclusive use of a kernel driver's device: claims it, sets its attributes, and restores their previous values at `end`
/// or at the end of the object's lifetime.
///
/// The kernel admits one program to the device file (iio_chrdev_open). But it lets any number of programs set attributes
/// and read single values, and a device without buffer and events has no device file. So programs of ours also lock an
/// attribute, as they lock a chip on a bus, and the holder announces itself in the same way (`ChipLock`).
final class IIOSetUp {
    let device: IIODevice
    let places: SystemPlaces

    /// The device file, open for reading; -1 if there is none, or if this process may not open it.
    private(set) var file: Int32

    /// The lock of an attribute; `nil` if this process may set none, so that it cannot disturb another one.
    private var lock: FileLock?
    private var changes = IIOChanges()

    /// 12.5 Hz may be listed as 12.4.
    private static let rateTolerance = 0.01

    private init(_ device: IIODevice, in places: SystemPlaces, file: Int32, _ lock: consuming FileLock?) {
        self.device = device
        self.places = places
        self.file = file
        self.lock = lock
    }

    deinit { restore() }

    /// Claims a device: first, because another program's settings must not be changed. Single values can be read without the
    /// device file; with `needsFile`, it must be opened.
    ///
    /// - Throws: `inUse` with the holder, if it is known; `cannotOpen`; `cannotWrite` if an attribute cannot be locked.
    static func claim(_ device: IIODevice, in places: SystemPlaces, needsFile: Bool) throws(IIOError) -> IIOSetUp {
        let lock = try lock(device)
        let file = open("\(places.devices)/\(device.identifier)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let code = errno
        if file < 0, needsFile || ![ENOENT, EACCES, EPERM].contains(code) {
            // A program of ours would have locked the attribute.
            throw IIOError(
                code == EBUSY ? .inUse(by: ChipLock.Holder()) : .cannotOpen, device: device.title,
                SystemFailure(code: code))
        }
        return IIOSetUp(device, in: places, file: file, lock)
    }

    /// Locks the first attribute that this process may set. Every user may read the others, and could lock them for ever.
    private static func lock(_ device: IIODevice) throws(IIOError) -> FileLock? {
        for setting in ["sampling_frequency", "scale"] {
            for prefix in ["", "in_accel_", "in_anglvel_"] {
                let attribute = prefix + setting
                let file = open("\(device.path)/\(attribute)", O_RDWR | O_CLOEXEC)
                guard file >= 0 else { continue }
                do {
                    return try FileLock.acquire(file, attempts: .several)
                } catch {
                    switch error {
                    case .inUse(let holder):
                        throw IIOError(.inUse(by: holder), device: device.title, SystemFailure(code: EBUSY))
                    case .system(let failure):
                        throw IIOError(.cannotWrite(attribute: attribute), device: device.title, failure)
                    }
                }
            }
        }
        return nil
    }

    /// Restores the settings and ends the claim.
    ///
    /// - Throws: the kernel's error for the first setting that could not be restored.
    func end() throws(BusError) {
        if let failure = restore() { throw .opening(failure) }
    }

    @discardableResult
    private func restore() -> SystemFailure? {
        let failure = changes.undo()
        if file >= 0 { close(file) }
        file = -1
        lock = nil
        return failure
    }

    /// Sets an attribute. Returns its content afterwards.
    @discardableResult
    func set(_ attribute: String, to value: String) throws(IIOError) -> String {
        try set(attribute, at: "\(device.path)/\(attribute)", to: value)
    }

    /// Sets an attribute at a path, which errors call `name`. Returns its content afterwards.
    @discardableResult
    func set(_ name: String, at path: String, to value: String) throws(IIOError) -> String {
        do {
            return try changes.set(path, to: value)
        } catch {
            throw IIOError(.cannotWrite(attribute: name), device: device.title, error)
        }
    }

    /// Creates a directory: mkdir(2).
    func makeDirectory(_ path: String) throws(SystemFailure) { try changes.makeDirectory(path) }

    /// Sets rate and ranges to the nearest available values that are not smaller. Returns the rate, if the driver
    /// reports it.
    func configure(_ settings: IMUSettings) throws(IIOError) -> Double? {
        var rate: Double?
        for quantity in device.quantities {
            if let attribute = device.rateAttribute(of: quantity) {
                let real = try chooseRate(attribute, settings)
                if rate == nil { rate = real }
            }
            try configureRange(of: quantity, settings)
        }
        return rate.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Sets the rate. A driver that stays busy keeps the rate that it has.
    private func chooseRate(_ attribute: String, _ settings: IMUSettings) throws(IIOError) -> Double? {
        let rate: Double?? = try IIOSetUp.whileBusy { () throws(IIOError) in
            try choose(attribute, atLeast: settings.rate, tolerance: IIOSetUp.rateTolerance)
        }
        return rate ?? device.number(attribute)
    }

    /// Repeats what a driver refuses while it is busy (EAGAIN: its FIFO is being read), 100 ms at most. Returns `nil` if it stays
    /// busy.
    static func whileBusy<Value>(_ body: () throws(IIOError) -> Value) throws(IIOError) -> Value? {
        for _ in 0..<5 {
            do {
                return try body()
            } catch {
                guard error.busError.code == EAGAIN else { throw error }
                usleep(20_000)
            }
        }
        return nil
    }

    /// Sets the scale for the wanted full scale, if the driver offers a choice and the size of a raw value is known.
    private func configureRange(of quantity: IIOQuantity, _ settings: IMUSettings) throws(IIOError) {
        guard let type = device.scanType(of: "\(quantity.rawValue)_x"), type.isSigned else { return }
        let attribute = "\(quantity.rawValue)_scale"
        guard device.available(attribute) != nil else { return }
        let range = quantity == .acceleration ? settings.accelerometerRange : settings.gyroscopeRange
        // A chip's full scale is nominal: ±8 g of an LSM6DSO end at 7.995 g.
        _ = try choose(attribute, atLeast: range / (Double(type.maximum) + 1), tolerance: 0.025)
    }

    /// Sets an attribute to the smallest value that suffices. Returns its content afterwards.
    private func choose(
        _ attribute: String, atLeast wanted: Double, tolerance: Double
    ) throws(IIOError) -> Double? {
        let choice = device.available(attribute)?.text(atLeast: wanted, tolerance: tolerance)
        let value = choice ?? IIOAvailable.text(wanted)
        guard isWritable(attribute) else { return device.number(attribute) }
        return Double(try set(attribute, to: value))
    }

    /// Whether the driver allows any user to change an attribute.
    private func isWritable(_ attribute: String) -> Bool {
        var status = stat()
        return stat("\(device.path)/\(attribute)", &status) == 0 && status.st_mode & 0o222 != 0
    }

    // MARK: The buffer

    /// Enables the channels that are used, with the field if it is wanted, and disables all others. Returns the layout of
    /// the resulting frame.
    func selectChannels(in directory: String, withField: Bool) throws(IIOError) -> IIOFrame {
        let axes = device.quantities.flatMap(\.channels)
        let optional = (withField ? IIOQuantity.magneticField.channels : []) + ["in_temp"]
        let wanted = axes + optional + ["in_timestamp"]
        var elements: [IIOFrameLayout.Element] = []
        for file in DirectoryContents.names(ofOptional: "\(device.path)/\(directory)") where file.hasSuffix("_en") {
            let name = String(file.dropLast(3))
            let isWanted = wanted.contains(name)
            do {
                try set("\(directory)/\(file)", to: isWanted ? "1" : "0")
            } catch {
                // Some chips cannot measure the temperature together with the rest. The field is not worth the samples.
                guard optional.contains(name) else { throw error }
                continue
            }
            guard isWanted else { continue }
            elements.append(try element(name, in: directory))
        }
        let names = elements.map(\.name)
        if let missing = axes.first(where: { !names.contains($0) }) {
            throw IIOError(.cannotRead(attribute: "\(directory)/\(missing)_en"), device: device.title)
        }
        return frame(IIOFrameLayout(elements))
    }

    private func element(_ name: String, in directory: String) throws(IIOError) -> IIOFrameLayout.Element {
        guard let index = device.text("\(directory)/\(name)_index").flatMap({ Int($0) }) else {
            throw IIOError(.cannotRead(attribute: "\(directory)/\(name)_index"), device: device.title)
        }
        let text = device.text("\(directory)/\(name)_type") ?? ""
        guard let type = IIOScanType(text), type.repeats == 1 else {
            throw IIOError(.unknownFormat(channel: name, text), device: device.title)
        }
        return IIOFrameLayout.Element(name: name, index: index, type: type)
    }

    private func frame(_ layout: IIOFrameLayout) -> IIOFrame {
        func axis(_ channel: String, sharing prefix: String) -> IIOAxis? {
            guard let offset = layout.offsets[channel], let type = layout.types[channel] else { return nil }
            let (scale, bias) = device.conversion(of: channel, sharing: prefix)
            return IIOAxis(offset: offset, type: type, scale: scale ?? 1, bias: bias)
        }
        func axes(_ quantity: IIOQuantity) -> IIOAxes? {
            let three = quantity.channels.compactMap { axis($0, sharing: quantity.rawValue) }
            return three.count == 3 ? IIOAxes(x: three[0], y: three[1], z: three[2]) : nil
        }
        return IIOFrame(
            length: layout.frameLength, acceleration: axes(.acceleration), rotationRate: axes(.rotationRate),
            field: axes(.magneticField), temperature: axis("in_temp", sharing: "in_temp"),
            time: axis("in_timestamp", sharing: "in_timestamp"))
    }

    /// Prepares the drivers of InvenSense's chips, so that they compute times with the rate that `configure` sets.
    ///
    /// While the buffer is off, they only note a new rate, and adopt it when the buffer is switched on. They keep the note
    /// if the rate returns to the one adopted last: from 200 Hz to 50 Hz and back, their times are 20 ms apart
    /// (inv_sensors_timestamp of Linux 6.1, not of 6.12). Jostle itself sets the rate back when it ends. So the buffer is
    /// switched on and off at another rate than the wanted one, and no note is left.
    func clearNotedRate(before wanted: Double, elements: String, buffer: String) {
        guard device.driver?.hasPrefix("inv-") == true,
            let attribute = device.quantities.first.flatMap({ device.rateAttribute(of: $0) }),
            let old = device.text(attribute), let available = device.available(attribute),
            case .values(let rates) = available
        else { return }
        let next = available.text(atLeast: wanted, tolerance: IIOSetUp.rateTolerance)
        let other = IIOChanges.isSame(old, next) ? rates.first { !IIOChanges.isSame($0, next) } ?? old : old
        // What fails here fails again when the buffer is switched on for good, and is reported then.
        do { _ = try selectChannels(in: elements, withField: false) } catch { return }
        let steps = [(attribute, other), ("\(buffer)/enable", "1"), ("\(buffer)/enable", "0"), (attribute, old)]
        for (attribute, value) in steps {
            do { try IIOChanges.write("\(device.path)/\(attribute)", value) } catch { continue }
        }
    }

    /// Sets how many frames the kernel buffers, and after how many it reads a chip that has a FIFO.
    func setLength(in directory: String, rate: Double, _ settings: IMUSettings) throws(IIOError) {
        let length = max(64, Int(rate * max(1, 4 * settings.movingBatch)))
        // A buffer of fixed length is used as it is.
        if isWritable("\(directory)/length") { try set("\(directory)/length", to: "\(length)") }
        if isWritable("\(directory)/watermark") {
            let frames = min(length / 2, max(1, Int(rate * settings.movingBatch)))
            try set("\(directory)/watermark", to: "\(frames)")
        }
    }
}

extension IIODevice {
    /// The directory of the channels' enable attributes; `nil` if the device has no buffer. Since Linux 5.13 it is
    /// buffer0; the older scan_elements still exists.
    var elementsDirectory: String? {
        ["buffer0", "scan_elements"].first { directory in
            quantities.contains { text("\(directory)/\($0.rawValue)_x_en") != nil }
        }
    }

    /// The directory of the buffer's attributes.
    var bufferDirectory: String? { ["buffer0", "buffer"].first { text("\($0)/enable") != nil } }

    /// The storage format of a channel; `nil` if it cannot be captured or its format is not supported.
    func scanType(of channel: String) -> IIOScanType? {
        elementsDirectory.flatMap { text("\($0)/\(channel)_type") }.flatMap { IIOScanType($0) }
    }
}

/// The layout of a frame.
///
/// The kernel stores the enabled elements in the order of their indices, each aligned to its own length, and pads the
/// frame to a multiple of the longest (industrialio-buffer.c, `iio_compute_scan_bytes`).
struct IIOFrameLayout: Equatable, Sendable {
    /// A channel that can be captured.
    struct Element: Equatable, Sendable {
        /// Its name: `in_accel_x`.
        var name: String
        var index: Int
        var type: IIOScanType
    }

    /// Byte offsets within the frame, by element name.
    private(set) var offsets: [String: Int] = [:]

    /// The storage formats, by element name.
    private(set) var types: [String: IIOScanType] = [:]

    /// Bytes per frame.
    private(set) var frameLength = 0

    init(_ elements: [Element]) {
        var longest = 1
        for element in elements.sorted(by: { $0.index < $1.index }) {
            let length = element.type.length
            frameLength = IIOFrameLayout.aligned(frameLength, to: length)
            offsets[element.name] = frameLength
            types[element.name] = element.type
            frameLength += length
            longest = max(longest, length)
        }
        frameLength = IIOFrameLayout.aligned(frameLength, to: longest)
    }

    private static func aligned(_ offset: Int, to length: Int) -> Int {
        (offset + length - 1) / length * length
    }
}

/// The storage format of one element of a frame: the kernel's `[be|le]:[s|u]bits/storagebitsXrepeat>>shift`
/// (Documentation/ABI/testing/sysfs-bus-iio, `in_…_type`).
package struct IIOScanType: Equatable, Sendable, BitwiseCopyable {
    package var isBigEndian: Bool
    package var isSigned: Bool
    /// Valid bits.
    package var bits: UInt8
    /// Bits of one stored value: 8, 16, 32 or 64.
    package var storageBits: UInt8
    /// Number of consecutive values.
    package var repeats: UInt8
    /// The right shift to apply to a stored value.
    package var shift: UInt8

    /// Parses the kernel's text; `nil` if it is invalid or inconsistent.
    package init?(_ text: some StringProtocol) {
        let halves = text.split(separator: ":", omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0] == "be" || halves[0] == "le", let sign = halves[1].first,
            sign == "s" || sign == "u"
        else { return nil }
        let sizes = halves[1].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        guard sizes.count == 2, let bits = UInt8(sizes[0]) else { return nil }
        // The shift is written as ">>n"; there is always one.
        let parts = sizes[1].split(separator: ">", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, let shift = UInt8(parts[2]) else { return nil }
        let storage = parts[0].split(separator: "X", omittingEmptySubsequences: false)
        guard storage.count <= 2, let storageBits = storage.first.flatMap({ UInt8($0) }) else { return nil }
        let repeats = storage.count == 2 ? UInt8(storage[1]) : 1
        guard let repeats, repeats > 0, [8, 16, 32, 64].contains(storageBits), bits > 0,
            Int(bits) + Int(shift) <= Int(storageBits)
        else { return nil }
        isBigEndian = halves[0] == "be"
        isSigned = sign == "s"
        self.bits = bits
        self.storageBits = storageBits
        self.repeats = repeats
        self.shift = shift
    }

    /// Bytes of the element, which is also its alignment (industrialio-buffer.c, `iio_compute_scan_bytes`).
    var length: Int { Int(storageBits) / 8 * Int(repeats) }

    /// The largest value.
    var maximum: Int64 { isSigned || bits == 64 ? Int64.max >> (64 - Int64(bits)) : (1 << Int64(bits)) - 1 }

    /// The smallest value.
    var minimum: Int64 { isSigned ? -maximum - 1 : 0 }

    /// The element's first value; `pointer` is the start of the element.
    @inline(__always)
    func value(at pointer: UnsafeRawPointer) -> Int64 {
        let stored: UInt64
        switch storageBits {
        case 8: stored = UInt64(pointer.loadUnaligned(as: UInt8.self))
        case 16:
            let word = pointer.loadUnaligned(as: UInt16.self)
            stored = UInt64(isBigEndian ? UInt16(bigEndian: word) : UInt16(littleEndian: word))
        case 32:
            let word = pointer.loadUnaligned(as: UInt32.self)
            stored = UInt64(isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word))
        default:
            let word = pointer.loadUnaligned(as: UInt64.self)
            stored = isBigEndian ? UInt64(bigEndian: word) : UInt64(littleEndian: word)
        }
        // Shifted up to the top of the word first, so that the shift down drops the bits above the valid ones and
        // extends the sign.
        let raised = stored << (64 - UInt64(bits) - UInt64(shift))
        return isSigned
            ? Int64(bitPattern: raised) >> (64 - Int64(bits)) : Int64(truncatingIfNeeded: raised >> (64 - UInt64(bits)))
    }
}
