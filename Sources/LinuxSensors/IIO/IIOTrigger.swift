internal import LinuxSystem

/// The trigger that makes a device take samples, for drivers that need one (Documentation/driver-api/iio/triggers.rst).
struct IIOTrigger: Equatable, Sendable {
    /// Its name, as written to `current_trigger`.
    var name: String
    /// Its directory in sysfs.
    var path: String
    /// Whether it fires at a configurable rate, rather than when the chip has a sample.
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

    /// Assigns a trigger that fires at `rate` or when the chip has a sample; `nil` if none is available.
    ///
    /// A trigger that is already assigned stays, because its driver or a user chose it. Otherwise the order of
    /// preference is: the device's own data-ready trigger, a timer that no other device uses, a newly created timer (if
    /// permitted).
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
                triggers.first { $0.isTimer && !taken.contains($0.name) }
                ?? makeTimer(for: device, in: places, &changes)
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
        // The kernel accepts any name without an error.
        guard found == choice.name else {
            throw IIOError(.notKept(attribute: attribute, value: choice.name, found: found), device: device.title)
        }
        return choice
    }

    /// The rate of a timer, Hz; `nil` for other triggers.
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

    /// Creates a timer in configfs (iio-trig-hrtimer); `nil` without the kernel module or the permission.
    private static func makeTimer(
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
