import Foundation
import Testing

/// What people who see little, or use the keyboard or a screen reader, need from a page.
extension Browser {
    /// Checks the page as it is now; returns what is wrong.
    func accessibilityProblems() throws -> [String] {
        let structure = try run(Self.structure) as? [String] ?? ["the check of the structure failed"]
        let contrast = try run(Self.contrast) as? [String] ?? ["the check of the contrast failed"]
        return try structure + contrast + namelessElements()
    }

    /// Elements that can be operated, but have no name for a screen reader: by Chromium's own rules.
    private func namelessElements() throws -> [String] {
        let roles = [
            "button", "checkbox", "combobox", "group", "image", "img", "link", "progressbar", "region", "searchbox",
            "slider",
            "spinbutton", "switch", "tab", "tabpanel", "textbox",
        ]
        try chromium("Accessibility.enable")
        let answer = try chromium("Accessibility.getFullAXTree") as? [String: Any]
        let nodes = answer?["nodes"] as? [[String: Any]] ?? []
        func text(_ node: [String: Any], _ name: String) -> String {
            (node[name] as? [String: Any])?["value"] as? String ?? ""
        }
        let shown = nodes.filter { $0["ignored"] as? Bool == false }
        let operable = shown.filter { roles.contains(text($0, "role")) || isFocusable($0) }
        if shown.count < 5 { return ["the accessibility tree is empty"] }
        return operable.filter { text($0, "name").trimmingCharacters(in: .whitespaces).isEmpty }
            .filter { !["RootWebArea", "main", "generic"].contains(text($0, "role")) }
            .map { "no name: \(text($0, "role")) \($0["backendDOMNodeId"] ?? "")" }
    }

    private func isFocusable(_ node: [String: Any]) -> Bool {
        let properties = node["properties"] as? [[String: Any]] ?? []
        return properties.contains { property in
            property["name"] as? String == "focusable"
                && (property["value"] as? [String: Any])?["value"] as? Bool == true
        }
    }

    /// Language, headings, landmarks, roles, labels, duplicate ids, and the width.
    private static let structure = """
        const problems = [];
        const seen = (one) => one.getClientRects().length > 0;
        const check = (is, text) => is || problems.push(text);
        check(document.documentElement.lang === "en", "the document has no language");
        check(document.title.length > 3, "the document has no title");
        const headings = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter(seen);
        check(headings.filter((one) => one.tagName === "H1").length === 1, "there is not one h1");
        let level = 0;
        for (const one of headings) {
          const own = Number(one.tagName[1]);
          check(own <= level + 1, `heading ${one.tagName} “${one.textContent}” after h${level}`);
          level = own;
        }
        check(document.querySelectorAll("main").length === 1, "there is not one main");
        const roles = ["alert", "cell", "columnheader", "group", "img", "log", "region", "row", "rowgroup", "search", "status", "switch", "tab", "table", "tablist", "tabpanel"];
        for (const one of document.querySelectorAll("[role]")) {
          check(roles.includes(one.getAttribute("role")), `role ${one.getAttribute("role")}`);
        }
        for (const one of document.querySelectorAll("input, select, textarea")) {
          check(!seen(one) || one.labels?.length > 0 || one.getAttribute("aria-label"), `no label: ${one.outerHTML.slice(0, 120)}`);
        }
        const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
        for (const id of new Set(ids)) check(ids.filter((one) => one === id).length === 1, `id ${id} is not unique`);
        for (const name of ["aria-labelledby", "aria-describedby"]) {
          for (const one of document.querySelectorAll(`[${name}]`)) {
            for (const id of one.getAttribute(name).split(" ")) check(document.getElementById(id), `${name} ${id} leads nowhere`);
          }
        }
        for (const one of document.querySelectorAll("[tabindex]")) check(one.tabIndex <= 0, `tabindex ${one.tabIndex}`);
        const width = document.scrollingElement.scrollWidth;
        check(width <= innerWidth, `the page is ${width} px wide in a window of ${innerWidth} px`);
        return problems;
        """

    /// The contrast of each visible text against what is behind it: at least 4.5, for large text 3.
    private static let contrast = """
        const parse = (text) => {
          const parts = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
          const scale = text.startsWith("color(") ? 255 : 1;
          return [...parts.slice(0, 3).map((part) => part * scale), parts[3] ?? 1];
        };
        const linear = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
        const luminance = (color) => 0.2126 * linear(color[0]) + 0.7152 * linear(color[1]) + 0.0722 * linear(color[2]);
        const over = (color, back) => back.map((part, index) => color[index] * color[3] + part * (1 - color[3]));
        const problems = new Set();
        let count = 0;
        for (const one of document.querySelectorAll("body *")) {
          // A control that cannot be used, and the picture of the board, which is said in figures too, are exempt.
          if (one.closest(".stage, canvas, .unseen, .skip, option, noscript") || one.matches(":disabled") || one.getClientRects().length === 0) continue;
          const isField = one.matches("input:not([type=checkbox], [type=range]), select");
          if (!isField && !one.matches("[role=switch]") && ![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
          const layers = [];
          let opacity = 1;
          for (let node = one; node; node = node.parentElement) {
            const style = getComputedStyle(node);
            opacity *= Number(style.opacity);
            layers.push(parse(style.backgroundColor));
            if (layers.at(-1)[3] === 1) break;
          }
          let back = [255, 255, 255];
          for (const layer of layers.reverse()) back = over(layer, back);
          const style = getComputedStyle(one);
          const color = parse(style.fill !== "rgb(0, 0, 0)" && one.namespaceURI.endsWith("svg") ? style.fill : style.color);
          color[3] *= opacity;
          const [a, b] = [luminance(over(color, back)), luminance(back)];
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const size = parseFloat(style.fontSize);
          const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
          count += 1;
          // The edge of a control must be seen too.
          const edge = parse(style.borderTopColor);
          if ((isField || one.matches("[role=switch]")) && edge[3] > 0) {
            const [around, line] = [luminance(over(parse(getComputedStyle(one.closest(".card, .gesture, .general, .command, .bar, body")).backgroundColor), back)), luminance(over(edge, back))];
            const seen = (Math.max(around, line) + 0.05) / (Math.min(around, line) + 0.05);
            if (seen < 3) problems.add(`edge ${seen.toFixed(2)}: ${one.tagName} ${one.id || one.className}`);
          }
          if (one.matches("[role=switch]")) continue;
          if (ratio < (isLarge ? 3 : 4.5)) problems.add(`contrast ${ratio.toFixed(2)}: ${one.tagName} ${one.className.baseVal ?? one.className} “${(one.textContent || one.value).slice(0, 30)}”`);
        }
        if (count < 3) problems.add("no text was found");
        return [...problems].slice(0, 20);
        """

    /// Goes through the page with the Tab key; returns what cannot be reached, is out of order or does not show the focus.
    func keyboardProblems() throws -> [String] {
        let expected = try value(Self.countOfStops, as: Int.self)
        try run(Self.startAtTheTop)
        for _ in 0..<expected + 3 {
            try press(.tab)
            try runAndWait(Self.recordFocus)
        }
        return try run(Self.judgeFocus) as? [String] ?? ["the check of the keyboard failed"]
    }

    private static let findStops = """
        const visible = (one) => one.getClientRects().length > 0 && getComputedStyle(one).visibility !== "hidden";
        const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
          .filter((one) => visible(one) && !one.matches(":disabled") && one.tabIndex >= 0);
        """
    private static let countOfStops = "(() => { \(findStops) return stops.length; })()"

    private static let startAtTheTop = """
        document.activeElement.blur();
        const range = document.createRange();
        range.setStart(document.body, 0);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        window.focusPath = [];
        """

    /// What a person sees after a key: the next picture.
    private static let recordFocus = """
        await new Promise(requestAnimationFrame);
        const target = document.activeElement;
        const shown = [null, "::after"].some((part) => {
          const style = getComputedStyle(target, part);
          return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
        });
        if (target !== document.body) focusPath.push({ target, shown });
        return true;
        """

    private static let judgeFocus = """
        \(findStops)
        const words = (one) => `${one.tagName} ${one.id || one.getAttribute("aria-label") || one.textContent.slice(0, 30)}`;
        const problems = [];
        const reached = new Set(focusPath.map(({ target }) => target));
        for (const one of stops) if (!reached.has(one)) problems.push(`not reached: ${words(one)}`);
        for (const { target, shown } of focusPath) if (!shown) problems.push(`the focus does not show: ${words(target)}`);
        const first = focusPath.findIndex(({ target }, index) => index > 0 && target === focusPath[0].target);
        const path = focusPath.slice(0, first < 0 ? undefined : first).map(({ target }) => target);
        path.forEach((one, index) => {
          const before = path[index - 1];
          // The first one follows the last one.
          if (before && one !== stops[0] && !(before.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING)) {
            problems.push(`order: ${words(one)} after ${words(before)}`);
          }
        });
        if (stops.length < 2) problems.push("nothing can be reached");
        return problems;
        """
}
