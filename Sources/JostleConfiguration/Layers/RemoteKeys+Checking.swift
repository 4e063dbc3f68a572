extension RemoteKeys {
    /// Throws if a key may not be changed or does not exist.
    func check(_ key: String, at position: ConfigurationPosition) throws(ConfigurationProblem) {
        let names = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard key.utf8.count <= RemoteKeys.longest, let section = names.first,
            allows(key) || !RemoteKeys.isLocalOnly(section) && allowsKey(in: section)
        else { throw refusal(key, at: position) }
        if ConfigurationSchema.setting(key) != nil {
            guard allows(key) else { throw refusal(key, at: position) }
            return
        }
        if ConfigurationSchema.isSection(names) {
            throw ConfigurationProblem(at: position, path: key, "is a group of keys; set one of them")
        }
        // The builder suggests the nearest valid key.
        var builder = ConfigurationBuilder()
        builder.apply(ConfigurationLayer.Entry(key: key, value: .null).tree(at: position))
        throw builder.problems.first ?? ConfigurationProblem(at: position, path: key, "unknown key")
    }
}
