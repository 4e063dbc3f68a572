internal import LinuxSystem

/// What makes a device take its samples, where its driver does not do that by itself
/// (Documentation/driver-api/iio/triggers.rst).
struct IIOTrigger: Equatable, Sendable {
    /// Its name, as `current_trigger` takes it.
    var name: String
    /// Its directory in sysfs.
    var path: String
    /// Whether it fires at a rate that it is given, and not when the chip has a sample.
    var isTimer: Bool

    /// All triggers, in the order of their numbers.
    static func all(in places: IIOPlaces) -> [IIOTrigger] {
        let directory = "\(places.system)/bus/iio/devices"
        return SystemFiles.names(in: directory)
            .compactMap { name in IIODevice.number(in: name, after: "trigger").map { ($0, name) } }
            .sorted { $0.0 < $1.0 }
            .compactMap { _, identifier in
                guard let path = SystemFiles.resolved("\(directory)/\(identifier)"),
                    let name = SystemFiles.line(of: "\(path)/name")
                else { return nil }
                return IIOTrigger(
                    name: name, path: path, isTimer: SystemFiles.line(of: "\(path)/sampling_frequency") != nil)
            }
    }

    /// Gives a device a trigger that fires at `rate` or when the chip has a sample; `nil` where there is none to be had,
    /// or where the device needs none.
    ///
    /// The one that it has stays: its driver or a user chose it. Else its own is taken, which tells that a sample is
    /// ready, then a timer that no other device uses, then a timer that is made for it, where that is allowed.
    static func choose(
        for device: IIODevice, rate: Double, in places: IIOPlaces, _ changes: inout IIOChanges
    ) throws(IIOError) -> IIOTrigger? {
        let triggers = all(in: places)
        if let current = device.text("trigger/current_trigger") {
            let trigger =
                triggers.first { $0.name == current } ?? IIOTrigger(name: current, path: "", isTimer: false)
            return trigger
        }
        let own = device.name.map { ["\($0)-dev\(device.number)", "\($0)-trigger"] } ?? []
        var choice = triggers.first { own.contains($0.name) }
        if choice == nil {
            let taken = IIODevice.all(in: places).filter { $0.path != device.path }
                .compactMap { $0.text("trigger/current_trigger") }
            choice =
                triggers.first { $0.isTimer && !taken.contains($0.name) } ?? made(for: device, in: places, &changes)
        }
        guard let choice else { return nil }
        if choice.isTimer { try choice.set(rate: rate, for: device, &changes) }
        let attribute = "trigger/current_trigger"
        let found: String
        do throws(SystemFailure) {
            found = try changes.set("\(device.path)/\(attribute)", to: choice.name)
        } catch {
            throw IIOError(.cannotWrite(attribute: attribute), device: device.title, error)
        }
        // The kernel takes any name without a word.
        guard found == choice.name else {
            throw IIOError(.notTaken(attribute: attribute, value: choice.name, found: found), device: device.title)
        }
        return choice
    }

    /// The rate of a timer, Hz.
    var rate: Double? {
        isTimer ? SystemFiles.line(of: "\(path)/sampling_frequency").flatMap { Double($0) } : nil
    }

    private func set(rate: Double, for device: IIODevice, _ changes: inout IIOChanges) throws(IIOError) {
        do throws(SystemFailure) {
            try changes.set("\(path)/sampling_frequency", to: IIOAvailable.text(rate))
        } catch {
            throw IIOError(
                .cannotWrite(attribute: "sampling_frequency of trigger \(name)"), device: device.title, error)
        }
    }

    /// A timer of our own out of configfs (iio-trig-hrtimer); `nil` where there is no such module or no permission.
    private static func made(
        for device: IIODevice, in places: IIOPlaces, _ changes: inout IIOChanges
    ) -> IIOTrigger? {
        let name = "jostle-\(device.number)"
        do throws(SystemFailure) {
            try changes.makeDirectory("\(places.system)/kernel/config/iio/triggers/hrtimer/\(name)")
        } catch {
            return nil
        }
        return all(in: places).first { $0.name == name && $0.isTimer }
    }
}
