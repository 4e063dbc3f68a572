package import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Reads the configuration files again, with the arguments of the command line above them.
package typealias ConfigurationReading = @Sendable () -> Result<LoadedConfiguration, ConfigurationErrors>

/// Whether the files are being read.
enum ReloadState {
    case idle
    /// A thread reads them. If the files may have changed since it began, they are read once more.
    case reading(isOutdated: Bool)
}

extension AgentLoop {
    /// Reads the configuration files on a thread of its own, because the disk may stall.
    func beginReload() {
        guard let read = parts.readConfiguration, !isStopping else { return }
        parts.services.reloading()
        switch reloadState {
        case .reading: reloadState = .reading(isOutdated: true)
        case .idle:
            let mailbox = parts.mailbox
            guard let thread = WorkerThread(name: "configuration", { mailbox.post(.configuration(read())) }) else {
                log.error("cannot read the configuration again: \(SystemFailure.noResources)")
                parts.services.ready()
                return
            }
            // Nobody waits for it, not even at the end of the program.
            thread.join(within: 0)
            reloadState = .reading(isOutdated: false)
        }
    }

    /// Applies what was read. A configuration with a mistake, or one that the sensor refuses, changes nothing.
    func endReload(_ result: Result<LoadedConfiguration, ConfigurationErrors>, at now: ClockReading) {
        let state = reloadState
        reloadState = .idle
        guard !isStopping else { return }
        if case .reading(isOutdated: true) = state { return beginReload() }
        switch result {
        case .success(let loaded): takeOver(loaded, at: now)
        case .failure(.unreadable(let path, let failure)):
            log.error("the configuration stays as it is: \(path): \(failure)")
        case .failure(.invalid(let problems)):
            log.error("the configuration stays as it is, because the files have mistakes:")
            for problem in problems { log.error("\(problem)") }
        }
        parts.services.ready()
    }

    /// Takes over what was read, unless the sensor cannot be read with it. Only the open sensor shows what its chip and
    /// bus permit.
    private func takeOver(_ loaded: LoadedConfiguration, at now: ClockReading) {
        let (stack, pending) = settings.stack.reloading(loaded)
        let imu = stack.resolution.settings.imu
        if imu != parts.sensor.imu {
            defer { supervision.sensingStarted() }
            do throws(SensorError) {
                try parts.sensor.configure(imu)
            } catch {
                log.error("the configuration stays as it is: \(error.description(in: .agent))")
                return
            }
        }
        perform(settings.takeOver(stack, pending: pending, at: now))
    }
}
