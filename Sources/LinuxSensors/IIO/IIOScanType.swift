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
