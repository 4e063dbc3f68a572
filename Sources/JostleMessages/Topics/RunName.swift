/// The name of one start of a program, by which the ids of its events and its client differ from those of every other start.
package enum RunName {
    /// A name that no other start has: 64 random bits, hexadecimal.
    package static func new() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
