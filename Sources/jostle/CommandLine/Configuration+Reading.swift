internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration

extension Configuration {
    /// Reads the files of a command line again, on any thread.
    static func reading(_ arguments: Arguments) -> ConfigurationReading {
        let (file, overrides) = (arguments.value("config"), arguments.values("set"))
        return {
            do throws(ConfigurationErrors) {
                return .success(
                    try JostleSettings.load(file: file ?? ConfigurationFile.standard(), overrides: overrides))
            } catch {
                return .failure(error)
            }
        }
    }
}
