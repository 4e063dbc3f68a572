extension LoadedConfiguration {
    /// The configuration without what makes this board a certain device: its id, its broker, its actions, and what others
    /// may change.
    ///
    /// Sensor, attitude, gestures and rates stay. If it `keepsConnection`, the section `mqtt` stays too.
    package func withoutIdentity(keepsConnection: Bool) -> LoadedConfiguration {
        let defaults = JostleSettings()
        var result = self
        result.settings.device = defaults.device
        result.settings.actions = defaults.actions
        result.settings.commands = defaults.commands
        result.settings.settings = defaults.settings
        result.settings.fleet = defaults.fleet
        result.settings.homeAssistant = defaults.homeAssistant
        for section in ["device", "actions", "commands", "settings", "fleet", "home_assistant"] {
            result.provenance.forget(section: section)
        }
        if !keepsConnection {
            result.settings.mqtt = defaults.mqtt
            result.provenance.forget(section: "mqtt")
        }
        return result
    }

    /// The configuration with further arguments `key=value` above it.
    ///
    /// - Throws: all problems that they cause.
    package func overridden(by overrides: [String]) throws(ConfigurationErrors) -> LoadedConfiguration {
        var builder = ConfigurationBuilder(self)
        for override in overrides { builder.apply(override: override) }
        return try builder.finish(files)
    }

    /// Whether an argument set a key.
    package func isArgument(_ key: String) -> Bool {
        if case .argument? = provenance[key]?.source { return true }
        return false
    }
}
