/// What a name such as `mqttPassword`, `api_key` or `--token` says about the value that follows it.
enum SecretName {
    /// It is secret.
    case secret
    /// It is secret if this is clearly a name, and not a word of a sentence: "failed to set up credentials: …".
    case noun
    /// It may be that of a setting.
    case key
    /// It is the name of a user.
    case user

    /// How the names of secrets end, in small letters without `_` and `-`; a plural does not matter.
    private static let secrets = [
        "password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "pwd", "pass", "psk", "pincode",
        "simpin", "userpin", "secret", "token", "cookie", "bearer", "authorization", "apikey", "accesskey",
        "privatekey", "privkey", "secretkey", "encryptionkey", "signingkey", "authkey", "sharedkey", "masterkey",
        "networkkey", "passkey", "wifikey", "accesscode", "authcode", "jwt", "pw", "sessionid",
    ]

    /// How names end that look like these.
    private static let harmless = [
        "lowpass", "highpass", "bandpass", "bypass", "compass", "keepass", "cachekey", "configkey", "foreignkey",
        "groupkey", "hostkey", "hotkey", "primarykey", "publickey", "pubkey", "routingkey", "settingkey", "signkey",
        "sortkey", "trustedkey", "uniquekey", "unknownkey",
    ]

    /// Last words that say in which form a secret is, or which of two.
    private static let forms = [
        "base", "base64", "data", "encoded", "hash", "hex", "new", "old", "plain", "string", "text", "value",
    ]

    /// Judges the last part of a name such as `mqtt.password` or `/mqtt/password`; `nil` if it names no secret.
    init?(_ name: ArraySlice<UInt8>) {
        // A longer one is no name.
        var name = (name.split { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }.last ?? []).suffix(64)
        while let last = name.last {
            let form = SecretName.forms.first { SecretName.hasLastWord($0, name) }
            guard form != nil || "0123456789_-".utf8.contains(last) else { break }
            name.removeLast(form?.utf8.count ?? 1)
        }
        let whole = SecretFinder.lowercased(name).filter { !"_- ".utf8.contains($0) }
        let singular = whole.last == UInt8(ascii: "s") ? whole.dropLast() : whole[...]
        func hasEnding(_ ending: String) -> Bool {
            // Most names end otherwise.
            let last = ending.utf8.last
            guard last == whole.last || last == singular.last else { return false }
            return [whole[...], singular].contains { $0.suffix(ending.utf8.count).elementsEqual(ending.utf8) }
        }
        func hasWord(_ word: String) -> Bool { SecretName.hasLastWord(word, name) }
        if SecretName.harmless.contains(where: hasEnding) {
            return nil
        } else if SecretName.secrets.contains(where: hasEnding) || name.elementsEqual("PIN".utf8) {
            self = .secret
        } else if ["auth", "credential", "credentials", "otp", "totp"].contains(where: hasWord) {
            self = .noun
        } else if hasWord("login") || hasEnding("username") {
            self = .user
        } else if hasWord("key") {
            self = whole.elementsEqual("key".utf8) ? .key : .secret
        } else if name.elementsEqual("sig".utf8) {
            // The signature in a query.
            self = .key
        } else {
            return nil
        }
    }

    /// Whether a key names a secret itself, and not a file that contains it.
    static func isSecret(_ key: String) -> Bool {
        let name = SecretName(Array(key.utf8)[...])
        return name != nil && name != .key
    }

    /// Whether the last word of a name in camel case, in snake case or with hyphens is this one.
    private static func hasLastWord(_ word: String, _ name: ArraySlice<UInt8>) -> Bool {
        guard name.last.map({ $0 | 0x20 }) == word.utf8.last else { return false }
        let last = name.suffix(word.utf8.count)
        guard SecretFinder.lowercased(last).elementsEqual(word.utf8) else { return false }
        guard let before = name.dropLast(last.count).last, !"_-0123456789".utf8.contains(before) else { return true }
        // As in `mqttKey` and `MQTTKey`.
        func isSmall(_ byte: UInt8?) -> Bool { byte.map { $0 >= 0x61 } ?? false }
        return !isSmall(last.first) && (isSmall(before) || isSmall(last.dropFirst().first))
    }
}
