internal import CYAML

/// The version of libyaml that is loaded, such as 0.2.5 (`yaml_get_version_string`).
package var libyamlVersion: String {
    String(cString: yaml_get_version_string())
}
