internal import LinuxSystem

/// An LED of the board: Documentation/ABI/testing/sysfs-class-led, `brightness` and `trigger`.
///
/// The program controls it from `first` to `restore`, which restores its trigger and brightness.
struct StatusLight {
    /// The directory in which Linux lists LEDs.
    static let systemDirectory = "/sys/class/leds"

    /// A Raspberry Pi's LEDs, under recent and older kernels; then the functions in the LED names of other boards.
    private static let names = ["ACT", "PWR", "led0", "led1"]
    private static let functions = ["status", "heartbeat", "activity", "act", "power", "usr0"]

    let name: String
    private let directory: String
    private let trigger: String
    private let brightness: String
    private let brightest: String

    /// Takes control of the first LED that this program may write.
    static func first(in root: String) throws -> StatusLight {
        var failure: Failure?
        for name in candidates(in: root) {
            do { return try StatusLight(name, in: root) } catch { failure = failure ?? Failure(error) }
        }
        throw failure ?? Failure(.unavailable, "this board has no status LED in \(root)")
    }

    private static func candidates(in root: String) -> [String] {
        let found = DirectoryContents.names(ofOptional: root)
        let others = found.filter { name in functions.contains { name.hasSuffix(":\($0)") } }
        return names.filter(found.contains) + others
    }

    /// Takes control of an LED by removing its trigger.
    private init(_ name: String, in root: String) throws {
        self.name = name
        directory = "\(root)/\(name)"
        let triggers = FileContents.text(ofOptional: "\(directory)/trigger", limit: 8192) ?? ""
        // All triggers are listed, the active one in brackets.
        let present = triggers.split { $0 == " " || $0 == "\n" }.first { $0.hasPrefix("[") && $0.hasSuffix("]") }
        trigger = present.map { String($0.dropFirst().dropLast()) } ?? "none"
        brightness = StatusLight.word(in: "\(directory)/brightness") ?? "0"
        brightest = StatusLight.word(in: "\(directory)/max_brightness") ?? "1"
        for (file, text) in [("trigger", "none"), ("brightness", brightness)] {
            let path = "\(directory)/\(file)"
            try Failure.about("cannot write \(path)", .unavailable) { try FileContents.write(text, toAttribute: path) }
        }
    }

    /// Turns the LED on or off.
    func set(_ isLit: Bool) throws {
        try FileContents.write(isLit ? brightest : "0", toAttribute: "\(directory)/brightness")
    }

    /// Restores the LED's original trigger and brightness.
    ///
    /// - Throws: the first failure; the trigger is written even if the brightness could not be.
    func restore() throws {
        var first: (any Error)?
        // The trigger comes last, because one other than `none` sets the brightness itself.
        for (file, text) in [("brightness", brightness), ("trigger", trigger)] {
            do { try FileContents.write(text, toAttribute: "\(directory)/\(file)") } catch { first = first ?? error }
        }
        if let first { throw first }
    }

    private static func word(in path: String) -> String? {
        FileContents.text(ofOptional: path, limit: 64)?.split { $0 == "\n" || $0 == " " }.first.map(String.init)
    }
}
