/// The random name of one start of a program. It makes event ids and MQTT client ids unique.
package enum RunName {
    /// Generates a name: 64 random bits, hexadecimal.
    package static func new() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
