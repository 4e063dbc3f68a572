import BrokerTestSupport
import Testing

extension BrowserTests {
    /// How a person signs in and out.
    @Suite struct SignIn {
        private let rig = Rig()

        @Test func linkPasswordAndSignOut() async throws {
            let broker = try await rig.broker()
            let directory = try TemporaryDirectory()
            let password = try directory.write("correct horse\n", to: "password", permissions: 0o600)
            let page = try await rig.page(broker: broker.port, ["page.password_file=\(password)"])
            let browser = try await rig.browser()

            // Without a session, the page asks for the password, whatever was opened.
            try browser.open(page.base + "/?view=boards")
            #expect(await browser.shows("location.pathname === '/login' && document.activeElement.id === 'password'"))
            try browser.type("wrong")
            try browser.press(.enter)
            #expect(
                await browser.shows(
                    "document.getElementById('problem').textContent === 'This is not the password of this page.'"))
            #expect(try browser.value("document.getElementById('password').getAttribute('aria-invalid')") == "true")
            // The wrong one is selected, so that the right one replaces it.
            try browser.type("correct horse")
            try browser.press(.enter)
            #expect(await browser.shows("location.pathname === '/' && document.querySelector('.totals')"))
            #expect(await browser.shows("!document.getElementById('sign-out').hidden"))
            try browser.click("#sign-out")
            #expect(await browser.shows("location.pathname === '/login'"))
            try browser.open(page.base + "/")
            #expect(await browser.shows("location.pathname === '/login'"), "nobody is signed in any more")

            // The link signs in once.
            try browser.open("\(page.base)/?token=\(page.token)")
            #expect(await browser.shows("location.pathname === '/' && document.querySelector('.totals')"))
            #expect(try browser.value("location.href.includes('token')") == false)
            // What was not done is said.
            try browser.run("window.fetch = () => Promise.reject(new TypeError())")
            #expect(await browser.shows("!document.getElementById('sign-out-everywhere').hidden"))
            try browser.click("#sign-out-everywhere")
            let failure = "Not signed out: The page's server does not answer."
            #expect(await browser.shows("document.getElementById('banner').innerText === \"\(failure)\""))
            try browser.open(page.base + "/")
            #expect(await browser.shows("!document.getElementById('sign-out').hidden"))
            try browser.click("#sign-out")
            #expect(await browser.shows("location.pathname === '/login'"))
            try browser.open("\(page.base)/?token=\(page.token)")
            #expect(await browser.shows("location.pathname === '/login'"))
            // Chromium reports the refused answers: 401 for the wrong password and without a session.
            let others = try browser.complaints().filter { !$0.contains("401") }
            #expect(others.isEmpty, "\(others)")
        }
    }
}
