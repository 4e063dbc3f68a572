extension ConfigurationStack {
    /// The same layers over a configuration that was read again while the agent runs.
    ///
    /// Keys that are only read at the start keep the values in force. The rest is taken over as a whole: if the values of
    /// these keys and the new ones do not fit together, nothing is.
    ///
    /// - Returns: the stack, and the keys that take effect at the next start.
    package func reloading(_ loaded: LoadedConfiguration) -> (stack: ConfigurationStack, pending: [String]) {
        var mixed = loaded
        var held: [String] = []
        var all: [String] = []
        for (path, setting) in ConfigurationSchema.allSettings
        where setting.write(base.settings) != setting.write(loaded.settings) {
            all.append(path)
            guard Self.isReadAtStart(path, setting) else { continue }
            held.append(path)
            setting.copy(base.settings, &mixed.settings)
            mixed.provenance[path] = base.provenance[path]
        }
        guard ConfigurationBuilder(mixed).contradictions.isEmpty else { return (self, all) }
        return (ConfigurationStack(mixed, layers: layers, patches: patches), held)
    }

    /// Whether a key is only read at the start. The device's identity, its broker and its permissions are, whoever changes
    /// them.
    private static func isReadAtStart(_ path: String, _ setting: Setting) -> Bool {
        guard path != "actions" else { return false }
        return setting.effect == .agentRestart || RemoteKeys.isLocalOnly(path)
    }
}
