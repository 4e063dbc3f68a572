import Foundation

/// Keyboard, size and preferences of the browser, and what it logged.
extension Browser {
    /// Keys of the WebDriver protocol.
    enum Key: String {
        case tab = "\u{E004}"
        case enter = "\u{E007}"
        case escape = "\u{E00C}"
        case space = " "
        case left = "\u{E012}"
        case up = "\u{E013}"
        case right = "\u{E014}"
        case down = "\u{E015}"
    }

    /// Presses a key some times; it goes to the element that has the focus.
    func press(_ key: Key, times: Int = 1) throws { try type(String(repeating: key.rawValue, count: times)) }

    /// Types text with the keyboard.
    func type(_ text: String) throws {
        let actions = text.unicodeScalars.flatMap { key in
            ["keyDown", "keyUp"].map { ["type": $0, "value": String(key)] }
        }
        try command("POST", "/actions", ["actions": [["type": "key", "id": "keyboard", "actions": actions]]])
    }

    /// Clicks an element that a selector finds, where a person would.
    func click(_ selector: String) throws {
        let element = try command("POST", "/element", ["using": "css selector", "value": selector])
        guard let id = (element as? [String: String])?.values.first else {
            throw Failure.unexpected(script: selector, value: "\(element)")
        }
        try command("POST", "/element/\(id)/click")
    }

    /// Clicks the visible button with a text, which must be enabled.
    func clickButton(_ text: String) throws {
        let isClicked = try run(
            """
            const found = [...document.querySelectorAll("button")]
              .find((one) => one.textContent.trim() === arguments[0] && one.getClientRects().length > 0 && !one.matches(":disabled"));
            found?.click();
            return Boolean(found);
            """, text)
        guard isClicked as? Bool == true else { throw Failure.unexpected(script: text, value: "no such button") }
    }

    /// Sets the size of the area for pages, in CSS pixels.
    func resize(_ width: Int, _ height: Int, isPhone: Bool = false) throws {
        try chromium(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": isPhone])
    }

    /// Sets what a person prefers.
    func prefer(_ scheme: String, reducedMotion: Bool = false) throws {
        try chromium(
            "Emulation.setEmulatedMedia",
            [
                "features": [
                    ["name": "prefers-color-scheme", "value": scheme],
                    ["name": "prefers-reduced-motion", "value": reducedMotion ? "reduce" : "no-preference"],
                ]
            ])
    }

    /// The warnings and errors of the console since the last call.
    func complaints() throws -> [String] {
        let entries = try command("POST", "/se/log", ["type": "browser"]) as? [[String: Any]] ?? []
        return entries.filter { ["SEVERE", "WARNING"].contains($0["level"] as? String) }
            .map { "\($0["level"] ?? "") \($0["message"] ?? "")" }
    }

    /// The events of Chromium's protocol since the last call, by their method, if the browser records requests.
    func requestEvents() throws -> [(method: String, parameters: [String: Any])] {
        let entries = try command("POST", "/se/log", ["type": "performance"]) as? [[String: Any]] ?? []
        return try entries.compactMap { entry in
            let text = entry["message"] as? String ?? ""
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            guard let message = object?["message"] as? [String: Any], let method = message["method"] as? String,
                let parameters = message["params"] as? [String: Any]
            else { return nil }
            return (method, parameters)
        }
    }
}
