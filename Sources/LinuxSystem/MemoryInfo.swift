/// The memory of this machine: /proc/meminfo, proc_meminfo(5).
package enum MemoryInfo {
    /// The file's text; empty if it cannot be read.
    package static var text: String { FileContents.text(ofOptional: "/proc/meminfo", limit: 1 << 14) ?? "" }

    /// A value as it is written there, with its unit: `24684096 kB`; `nil` if there is none of this name.
    package static func value(of name: String, in text: String) -> String? {
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
}
