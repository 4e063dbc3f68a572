/// What a shell may suggest for an operand or for the value of an option.
package enum Suggestions: Sendable {
    case none
    /// These words.
    case words([String])
    /// These words, or the path of a file.
    case wordsOrFiles([String])
    case files
    case directories
    /// The ids of the devices that the last fleet command saw.
    case ids
    /// Their groups.
    case groups
    /// The names of the fleet's documents.
    case documents
    /// The keys of the configuration.
    case keys
    /// `KEY=VALUE`, with the values of a key that allows only some words.
    case assignments

    /// What a placeholder of the help stands for: `FILE`, `KEY=VALUE`.
    package init(placeholder: String) {
        switch placeholder {
        case "FILE", "PATH": self = .files
        case "DIR", "DIRECTORY": self = .directories
        case "ID", "OLD": self = .ids
        case "GROUP": self = .groups
        case "DOCUMENT": self = .documents
        case "KEY": self = .keys
        case "KEY=VALUE", "DIRECTORY|KEY=VALUE": self = .assignments
        default: self = .none
        }
    }
}
