@testable import JostleConfiguration

extension AcceptedValue {
    /// Accepted values of the section `page`.
    static let page: [AcceptedValue] = [
        .init("page.listen", "0.0.0.0:80") { $0.page.listen.text == "0.0.0.0:80" },
        .init("page.listen", "'[::1]:0'") { $0.page.listen.text == "[::1]:0" },
        .init("page.listen", "pi.local:65535") { $0.page.listen.text == "pi.local:65535" },
        .init("page.hosts", "[]") { $0.page.hosts.isEmpty },
        .init("page.hosts", "[Pi.Example.org, pi, pi]") { $0.page.hosts == ["pi.example.org", "pi"] },
        .init("page.base_path", "/jostle") { $0.page.basePath == "/jostle" },
        .init("page.base_path", "/iot/jostle-1") { $0.page.basePath == "/iot/jostle-1" },
        .init("page.base_path", "/iot/login") { $0.page.basePath == "/iot/login" },
        .init("page.trusted_proxies", "[127.0.0.1, '10.0.0.0/8', '::1', 'fd00::/8']") {
            $0.page.trustedProxies.map(\.text) == ["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"]
        },
        .init("page.password_file", "/etc/jostle/page-password") {
            $0.page.passwordFile == "/etc/jostle/page-password"
        },
        .init("page.password_file", "credential:page") { $0.page.passwordFile == "credential:page" },
        .init("page.certificate_file", "/etc/page.pem") { $0.page.certificateFile == "/etc/page.pem" },
        .init("page.key_file", "credential:page-key") { $0.page.keyFile == "credential:page-key" },
        .init("page.control", "true") { $0.page.mayControl },
        .init("page.metrics_token_file", "/etc/jostle/metrics-token") {
            $0.page.metricsTokenFile == "/etc/jostle/metrics-token"
        },
        .init("page.metrics_token_file", "credential:metrics") { $0.page.metricsTokenFile == "credential:metrics" },
        .init("page.history.max_age", "7 d") { $0.page.history.maximumAge == 604_800 },
        .init("page.history.max_age", "0") { $0.page.history.maximumAge == 0 },
        .init("page.history.max_bytes", "50000000") { $0.page.history.maximumBytes == 50_000_000 },
    ]
}

extension RefusedValue {
    /// Refused values of the section `page`.
    static let page: [Row] = [
        ("page.listen", ["8088"], "has no port"),
        ("page.listen", ["localhost:99999"], "has a port that is not a number"),
        ("page.listen", ["'::1:8088'", "':8088'"], "has no host before its port"),
        ("page.hosts", ["pi.local"], "is not a list"),
        ("page.hosts", ["['pi:8088']", "[-pi]"], "is not a host name"),
        ("page.base_path", ["jostle", "/jostle/", "/", "//", "/a b", "/../x"], "is not such a path"),
        ("page.base_path", ["/login", "/metrics", "/events", "/api"], "is an address of the page itself"),
        ("page.trusted_proxies", ["127.0.0.1"], "is not a list"),
        (
            "page.trusted_proxies", ["[localhost]", "['10.0.0.0/33']", "['::1/129']", "['10.0.0.0/']", "['/8']"],
            "is not a numeric"
        ),
        ("page.password_file", ["''"], "is empty"),
        ("page.certificate_file", ["''"], "is empty"),
        ("page.key_file", ["'credential:'"], "is not the name of a credential"),
        ("page.control", ["maybe"], "is neither true nor false"),
        ("page.metrics_token_file", ["''"], "is empty"),
        ("page.metrics_token_file", ["'credential:../metrics'"], "is not the name of a credential"),
        ("page.history.max_age", ["10 min", "400 d"], "out of bounds"),
        ("page.history.max_bytes", ["1000", "1e12"], "out of bounds"),
    ]
}
