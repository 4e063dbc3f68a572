import JostleConfiguration
import JostleMessages
import Testing

@testable import jostle

/// Requirement: a report for a maintainer has no secrets, and still has what is needed to find a fault.
@Suite struct SecretRemovalTests {
    /// A URL with a token, also in a file that cannot be read as a configuration.
    @Test func webhooksAreRemoved() throws {
        var removal = SecretRemoval()
        removal.add(
            webhooksOf:
                "- { on: fall, post: 'https://a.example/hush-1', x }\n  post: http://b/hush-2 # c\nurl: http://c/d")
        let text = "to https://a.example/hush-1 and http://b/hush-2 and http://c/d"
        #expect(removal.cleaned(text) == "to [removed] and [removed] and http://c/d")
        let settings = try JostleSettings.load(
            file: nil, overrides: ["actions=[{on: fall, post: 'https://a.example/hush-3'}]"]
        ).settings
        #expect(settings.secrets.passwords == ["https://a.example/hush-3"])
    }

    private func cleaned(_ text: String) -> String { SecretRemoval().cleaned(text) }

    @Test(arguments: [
        ("password: hush-1 and more", "password: [removed]"),
        ("connecting with password=hush-1 to x", "connecting with password=[removed] to x"),
        ("MQTT_PASSWORD=hush-1", "MQTT_PASSWORD=[removed]"),
        ("{\"password\": \"hu\\\"sh-1\", \"n\": 1}", "{\"password\": \"[removed]\", \"n\": 1}"),
        ("\\\"token\\\":\\\"hush-1\\\"", "\\\"token\\\":[removed]"),
        ("Passwd = 'hush 1' x", "Passwd = '[removed]' x"),
        ("username: hush-1", "username: [removed]"),
        ("to mqtt://me:hush-1@broker:1883 now", "to mqtt://[removed]broker:1883 now"),
        ("mqtts://me:hu/sh@1@broker", "mqtts://[removed]broker"),
        ("mosquitto_pub -u me -P hush-1 -t a", "mosquitto_pub -u me -P [removed] -t a"),
        ("Authorization: Bearer hush-1", "Authorization: [removed]"),
        ("sent Bearer hush-1 there", "sent Bearer [removed] there"),
        ("reply to jostle/_reply/hush-1/77", "reply to jostle/_reply/[removed]/77"),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nhush\n-----END RSA PRIVATE KEY-----\nb", "a\n[removed]\nb"),
        ("-----BEGIN PRIVATE KEY-----\nhush", "[removed]"),
        ("jostle --password hush-1 -t a", "jostle --password [removed] -t a"),
        ("x --mqtt-password 'hush 1' -t a", "x --mqtt-password '[removed]' -t a"),
        ("mysql -phush-1 -h db", "mysql -p[removed] -h db"),
        ("mosquitto_pub -Phush-1 -t a", "mosquitto_pub -P[removed] -t a"),
        ("x -password hush-1 -t a", "x -password [removed] -t a"),
        ("x -pass hush-1 -t a", "x -pass [removed] -t a"),
        ("lowpassword=hush-1 x", "lowpassword=[removed] x"),
        ("password == hush-1 x", "password == [removed] x"),
        ("pass => hush-1 x", "pass => [removed] x"),
        ("pass: hush-1", "pass: [removed]"),
        ("MQTT_PASS=hush-1 mqttPass=hush-2", "MQTT_PASS=[removed] mqttPass=[removed]"),
        ("wlan pw=hush-1, psk=\"hush 2\"", "wlan pw=[removed], psk=\"[removed]\""),
        ("secretKey: hush-1", "secretKey: [removed]"),
        ("private-key: hush-1", "private-key: [removed]"),
        ("GET /a?key=hush-1&b=2", "GET /a?key=[removed]&b=2"),
        ("Set-Cookie: session=hush-1; Path=/", "Set-Cookie: [removed]"),
        ("sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_g there", "sent [removed] there"),
        ("as AKIAIOSFODNN7EXAMPLE.", "as [removed]"),
        ("clone with ghp_0123456789abcdefghij0123456789 failed", "clone with [removed] failed"),
        // What stays around a value.
        (
            "mosquitto_pub -u x -P 123456 -t a -m hush-is-not-here",
            "mosquitto_pub -u x -P [removed] -t a -m hush-is-not-here"
        ),
        (#"Environment="MQTT_PASSWORD=hush hush" "OTHER=b""#, #"Environment="MQTT_PASSWORD=[removed]" "OTHER=b""#),
        ("curl -H 'Authorization: Bearer hush' https://host", "curl -H 'Authorization: [removed]' https://host"),
        (
            "docker run -e MQTT_PASSWORD=hush -p 1883:1883 image",
            "docker run -e MQTT_PASSWORD=[removed] -p 1883:1883 image"
        ),
        ("password: |\n  hush\n  hush2\nnext: 1", "password: |\n  [removed]\n  [removed]\nnext: 1"),
        ("GET /login?user=a&password=hush&x=1 HTTP/1.1", "GET /login?user=a&password=[removed]&x=1 HTTP/1.1"),
        ("user=a&password=hush&x=1", "user=a&password=[removed]&x=1"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nhush\n-----END OPENSSH PRIVATE KEY-----\nb", "[removed]\nb"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nhush\n-----END PGP PRIVATE KEY BLOCK-----", "[removed]"),
        ("Config{password='hush hush', x}", "Config{password='[removed]', x}"),
        (#"password="a \"hush hush\" x" y=1"#, #"password="[removed]" y=1"#),
        ("user=me password=hush,hush2;hush3 host=h", "user=me password=[removed] host=h"),
        ("--set mqtt.password=hush --verbose", "--set mqtt.password=[removed] --verbose"),
        (#""my_secret":"hush","x":1"#, #""my_secret":"[removed]","x":1"#),
    ])
    func removesWhatStandsWhereSecretsAre(text: String, expected: String) {
        #expect(cleaned(text) == expected)
    }

    /// As other programs and files write them.
    @Test(arguments: [
        #"["--password", "hush hush", "--host", "h"]"#, "'--password' 'hush hush' '--host' h",
        #"["--password=hush hush", "-t"]"#, #""--password=hush hush" --host h"#, "MQTTPASS=hush",
        "encryptionKey: hush", "password=a,hush", "password=hush,hush2 next", "mosquitto_pub -u x -P hush -t a",
        "Environment=MQTT_PASSWORD=hush", "curl -u me:hush https://host/a",
        #"curl --user "me:hush hush" https://host/a"#, #"curl -H "X-Api-Key: hush" https://host"#,
        #"docker run -e "MQTT_PASSWORD=hush hush" image"#, "machine host login me password hush",
        "default login me password hush", "MQTT_PASSWORD=hush", #"export MQTT_TOKEN="hush hush""#,
        "{'username': 'me', 'password': 'hush', 'port': 1883}", #"{'password': "hu'hush", 'port': 1883}"#,
        "{'password': b'hush x', 'port': 1883}", #"{"msg":"{\"password\":\"hush\",\"a\":1}"}"#,
        #"{"msg":"{\"password\": \"hush hush\", \"a\": 1}","n":2}"#, #"{\\\"password\\\":\\\"hush hush\\\"}"#,
        "  password: >-\n    hush\n  next: 1", "passwords:\n- hush\n- hush2\nnext: 1",
        "passwords:\n  - hush\nnext: 1", "password = hush hush", "[mqtt]\npassword = hush hush\nport = 1883",
        "mqtt%3A%2F%2Fme%3Ahush%40host%3A1883", "next=%2Flogin%3Fpassword%3Dhush%26a%3D1", "passwd: hush",
        "pwd=hush", "Server=h;Uid=sa;Pwd=hush;Database=d", "PWD=hush;x", "passphrase: hush hush",
        "wpa_passphrase=hush", "token: hush", "api_key=hush", "apikey: hush", "X-API-KEY: hush", "secret=hush",
        "client_secret: hush", "credential=hush", "credentials: hush", #"{"credentials": "hush"}"#, "Bearer hush",
        "bearer: hush", "otp=hush", "--otp hush", "PIN: hush", "sim_pin=hush", "user_pin: hush",
        "sshpass -p hush ssh pi@board", "sshpass -phush ssh pi@board", "redis-cli -a hush ping",
        "mosquitto_passwd -b /etc/mosquitto/passwd me hush",
        "/usr/bin/mosquitto_passwd -b /etc/mosquitto/passwd me 'hush hush'", "remote_password hush",
        "requirepass hush", "<password>hush hush</password>", #"<add key="password" value="hush"/>"#,
        #"{"name": "MQTT_PASSWORD", "value": "hush"}"#, "refused: key: mqtt.password, value: hush",
        #"config["password"] = "hush hush""#, "$_POST['password'] = 'hush hush';", #"password := "hush hush""#,
        #"password=\"hush hush\" next"#, #"password='it'\''s hush' next"#, "password='it''s hush' next",
        #"password="""hush hush""" next"#, #"password=pa"ss hush" next"#, #"password=pass\ hush next"#,
        "ALTER USER x WITH PASSWORD 'hush hush';", "connect(user='a', password='hush', host='c')",
        "postgres://me:hush@db/x", "me:hush@broker.local", "mqtt://me:hush@a,mqtt://me:hush@b", "redis://:hush@host",
        "Cookie: a=hush; b=hush", "Set-Cookie: sid=hush", "Proxy-Authorization: Basic hush",
        #""Authorization": "Bearer hush""#, "authorization=Bearer%20hush", "-Dmqtt.password=hush",
        "--mqtt-password=hush", "--mqttPassword hush", "--token=hush", #"--token "hush hush""#,
        "[--password, hush, --host, h]", "['mosquitto_pub', '-P', 'hush', '-t', 'a']", #"["-Phush", "-t"]"#,
        "['-u', 'me', '-P', 'hush hush']", #"args: - "--password"\#n      - "hush""#, "- --password\n- hush\n",
        #"mosquitto_pub -P \\#n  hush \\#n  -t a"#, "MQTT_PASSWORD_1=hush", "password2: hush", "passwordHash: hush",
        "Passwort: hush", "secretAccessKey = hush", "aws_secret_access_key = hush", "wep_key0=hush",
        #"psk="hush hush""#, #"#psk="hush hush""#, #""tokens": ["hush", "hush2"]"#, #"tokens=["hush", "hush2"]"#,
        "_auth=hush", #""auth": "hush""#, "fernetKey: hush", "SMTPPassword: hush", "password -> hush",
        #"password: Some("hush hush")"#, #"password=Some("hush hush") port=1"#, "glpat-hushhushhushhushhush1",
        "nmcli dev wifi connect home password hush", "smbclient //h/s -U me%hush",
        "wget --user=x --password=hush https://h", "openssl enc -pass pass:hush -in x",
        #"echo "password: hush hush" | x"#, "{password:hush}", "password:hush", "  password: hush # the old one",
        "jostle: can't connect: password: it's hush", #"it's "PASS=hush hush" x"#, #"a 5" pipe "PASS=hush hush" x"#,
        #""password" : "hush""#, "/password:hush", "(password=hush)", "PGPASSWORD=hush psql", "SECRET_KEY_BASE=hush",
        "client-key-data: hush", "authorization=Bearer hush", #""authorization" => "Bearer hush""#,
        "Authorization 'Bearer hush'", "--pass=hush", "-pw hush", "--auth-token hush",
        "--psk hush --psk-identity me", "mosquitto_pub -L mqtt://me:hush@host/topic", "mqtt://me:hu%40hush@host",
        #"mqtt:\/\/me:hush@host"#, "<mqtt://me:hush@host>", "{password: hush, x: 1}", "password:\n    hush",
        #""passwords": [\#n  "hush",\#n  "hush2"\#n]"#, "  login me\n  password hush", #":password=>"hush","#,
        #"{:password => "hush hush"}"#, "{User:me Password:hush hush Host:h}",
        "Config(user=me, password=hush, host=h)", "%22password%22%3A%22hush%22", #"wpa-psk "hush hush""#,
        "PrivateKey = hush=", "PresharedKey = hush", "pre-shared-key=hush", "Access-Token: hush",
        "X-Auth-Token: hush", #"<password value="hush"/>"#, "psk=hush,", "keyfile-password: hush",
        "MQTT__PASSWORD=hush", "mqtt.password=hush", "mqttPassword : 'hush hush' , x", "'api-key': 'hush',",
        "AccountKey=hush;EndpointSuffix=x", "SharedAccessKey=hush", "totp: hush", "--password %hush -x",
        #"--password 'hush'\'' hush' -h x"#, "mosquitto_pub -P'hush' -t a", #"mosquitto_pub -P"hush hush""#,
        "mosquitto_pub -P=hush", "mysql -p'hush' x", "userPassword:: hush", "password :: hush", "token::hush",
        "API key: hush", "access key: hush", "Secret key: hush", "encryption key: hush", "the network key: hush",
        "passkey=hush", "wifikey: hush", "networkkey: hush", "authcode=hush", "accesscode: hush", "privkey: hush",
        "bindpw hush", "rootpw=hush", "userpw: hush", "MQTTPW=hush", "jwt: hush", "sessionid=hush",
        "got an invalid token 'hush'", #"a bad secret "hush hush" came"#,
        "SharedAccessSignature sr=a&sig=hush&se=1", "password[0]=hush", "password_old=hush", "password_new: hush",
        "me:hush@10.0.0.1", "me:hush@cafe", #"jostle.yaml:4:13: mqtt.password: "hush hush""#,
        "jostle.yaml:4:13: mqtt.password: hush", "mqtt.password: hush hush",
    ])
    func removesSecretsOfOtherPrograms(text: String) {
        // At the beginning of a line of the journal, too.
        for prefix in ["", SecretRemovalTests.prefix] {
            #expect(!cleaned(prefix + text).contains("hush"), "\(cleaned(prefix + text))")
        }
    }

    private static let prefix = "2026-11-25T07:00:00+0000 board jostle[812]: "

    @Test(arguments: [
        "mqtt.password_file: /etc/jostle/password: every user can read it; run chmod o= /etc/jostle/password",
        "password_file: credential:password", "the broker refused the connection: check user name and password",
        "connected to mqtts://broker.local:8883", "/etc/jostle/credentials/token: Permission denied", "",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "attitude.low_pass: 4 Hz -> 5 Hz", "attitude.low_pass=5 Hz", "compass: 12°, bypass=1, turnkey=2",
        "ssh -p 22 pi@board", "docker run -p8080:80 -p 1883:1883", "mosquitto_pub --key device.key --cert device.pem",
        "--set sensor.rate: has no value; write key=value", "refused: key: gestures.tap.sensitivity, value: 11",
        // Lines of the agent's log.
        "vm-fda4: reading virtual MPU-6050 (demo), publishing under jostle/vm-fda4 to mqtt://127.0.0.1:59231",
        "connecting to mqtt://localhost:1883 with MQTT 5", "no flick: it did not come to rest, 5.7 m/s²",
        "mqtt://a: Connection refused; check that the broker runs and listens on this port; trying again in 0.2 s",
        "the broker refused the connection: not authorised; check user name and password; trying again in 1.7 s",
        "mqtt.password_file: /p: its first line begins or ends with a blank, which is part of it",
        "layer all is not applied: fleet.trusted_keys: the document is signed with an unknown key",
        "gestures.shake.sensitivity: 5 -> 7, sent by operator", "the sensor is measuring", "4 events are kept",
        // Lines of the kernel, of systemd, mosquitto and others.
        "password file /etc/mosquitto/passwd: permission denied",
        #"Error: Unable to open pwfile "/etc/mosquitto/passwd"."#, "1733000000: mosquitto version 2.0.18 starting",
        "1733000000: Config loaded from /etc/mosquitto/mosquitto.conf.",
        "1733000000: Opening ipv4 listen socket on port 1883.",
        "1733000000: New connection from 192.168.1.5:51234 on port 1883.",
        "1733000000: New client connected from 192.168.1.5:51234 as auto-1 (p2, c1, k60).",
        "1733000000: Client lamp disconnected, not authorised.",
        "1733000000: Warning: Mosquitto should not be run as root/administrator.",
        "1733000000: Error: Address already in use",
        #"mqtt.password_file:  "/etc/jostle/password"  # /etc/jostle/jostle.yaml:5:18"#,
        "systemd[1]: Started jostle.service - Jostle motion sensing agent.",
        "systemd[1]: jostle.service: Main process exited, code=exited, status=78/CONFIG",
        "systemd[1]: jostle.service: Failed with result 'exit-code'.",
        "systemd[1]: jostle.service: Scheduled restart job, restart counter is at 5.",
        "systemd[1]: jostle.service: Failed to set up credentials: Permission denied",
        "systemd[1]: jostle.service: Failed at step CREDENTIALS spawning /usr/bin/jostle: No such file or directory",
        "systemd[1]: Listening on ssh.socket - OpenBSD Secure Shell server socket.",
        "systemd[1]: user@1000.service: Deactivated successfully.", "systemd-logind[512]: New session 3 of user pi.",
        "systemd-ask-password-console.path: Deactivated successfully.",
        "systemd[1]: Started systemd-ask-password-wall.path - Forward Password Requests to Wall Directory Watch.",
        "systemd-cryptsetup[300]: Set cipher aes, mode xts-plain64, key size 512 bits for device /dev/sda2.",
        "sshd[812]: Failed password for invalid user admin from 10.0.0.1 port 51022 ssh2",
        "sshd[812]: Accepted publickey for pi from 10.0.0.2 port 51022 ssh2: ED25519 SHA256:abc",
        "sshd[812]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=10.0.0.1",
        "kernel: Key type dns_resolver registered", "kernel: Asymmetric key parser 'x509' registered",
        "kernel: Loaded X.509 cert 'sforshee: 00b28ddf47aef9cea7'",
        "kernel: input: gpio-keys as /devices/platform/gpio-keys/input/input0",
        "kernel: keyboard: can't emulate rawmode for keycode 240",
        "kernel: i2c i2c-1: of_i2c: modalias failure on /soc/i2c@7e804000/mpu@68",
        "kernel: platform soc:firmware:gpio@0: deferred probe pending",
        "kernel: pinctrl-bcm2835 fe200000.gpio: pin gpio17 already requested by 1-0068; cannot claim for sensor",
        "kernel: bcm2835-power bcm2835-power: Broadcom BCM2835 power domains driver",
        "kernel: Kernel command line: coherent_pool=1M 8250.nr_uarts=0 root=PARTUUID=abc-02 rootfstype=ext4 console=tty1",
        "kernel: TCP: request_sock_TCP: Possible SYN flooding on port 1883. Sending cookies.",
        #"kernel: audit: type=1400 audit(1.2:3): apparmor="DENIED" operation="open" profile="x" name="/etc/x" pid=1"#,
        "kernel: raspberrypi-otp: probed, pin: 17", "interrupt pin: 17, pin=17", "gpio_pin=17 pin_count: 4",
        "passes: 3, bypass: yes, compass: 12°", "one low-pass: 5 Hz, lowPass=5",
        "trusted_keys: ed25519 abc, publicKey: abcdef, key_file: /etc/x/key.pem",
        #"unknown key "gestures.shack"; did you mean gestures.shake?"#,
        #"jostle.yaml:3:3: unknown key "mqtt.pasword""#, "fleet.trusted_keys: none, so every document is taken",
        "set over MQTT: gestures.shake.sensitivity, mqtt.keep_alive",
        "sensor.rate: 200 Hz -> 100 Hz, sent by operator",
        "the sensor is lost: read 0x3B: Input/output error; trying again in 1.0 s",
        "shake at 12.5 m/s², 6 swings; published to jostle/dut/event/shake",
        "the page is at http://127.0.0.1:8377/#t=1", "PID 812: CPU 12 %, memory 14 MB",
        "ERROR: cannot open /etc/jostle/credentials/token: Permission denied",
        "/etc/jostle/password: every user can read it", "conf.d/secret.yaml: no such file",
        "secret.yaml: No such file or directory", "the token is too old; log in again",
        "author: me; authority: x; monkey=1", "mkdir -p /var/lib/jostle; cp -p a b; find . -print -path x",
        "scp -P 2222 a pi@board:/tmp", "docker run -p 8080:80 -u 1000:1000 image",
        "apt-get: E: Unable to locate package jostle@latest", "http://127.0.0.1:8377/boards?sort=name&key_id=4",
        "2026-11-25T07:00:00+0000 board jostle[812]: connected to mqtt://homeassistant.local:1883 with MQTT 5",
        "jostle-upgrade[99]: the new version works for 600 s: password_file is kept",
        "OOMPolicy=stop LoadState=loaded MainPID=812 User=jostle Group=jostle", "host-key: SHA256:abc",
        "session: 12; sessions=3; turnkey=1; hotkey: a", "keyid: 0x12, key-id=7, KEY_ENTER=28",
        "the broker refused the connection: bad user name or password", "PWD=/home/pi OLDPWD=/root SHELL=/bin/bash",
        "password_file=/etc/x token_type=1 secretName=x passwordless=yes", "the keys: a, b; keyboard: de",
        #""key": "gestures.shake.sensitivity", "value": 7"#,
        #"{"key":"log.level","value":"loud","reason":"unknown value"}"#,
        "docker run --publish 8080:80 -ports x -pid 4 -path y", "gestures.shake.sensitivity: value 7 is above 5",
        #"page.key_file = credential:page: "credential:page""#,
        #"jostle fleet apply ./on-broker --sign-key ops-1.key --note "signed""#,
        "with `--sign-key`, commands build on what `--password` and `--api-key`, if given, say",
        "docker run -v ./password:/etc/jostle/password image",
        "jostle.yaml:4:13: mqtt.username: is a list, not a text",
        #"/etc/jostle/jostle.yaml:4:13: mqtt.password: unknown key; did you mean "password_file"?"#,
        "roll -pitch -peak 5", "i2c-1:mpu6050@0x68",
        "jostle fleet enroll a --passwords /etc/mosquitto/jostle/passwords",
        "jostle: mqtt.username: the embedded broker takes no user name with a colon",
        "passwd[812]: changed", "the public key: abc", "any key: 5", "crate::auth::check: done",
    ])
    func keepsWhatIsNoSecret(text: String) {
        for prefix in ["", SecretRemovalTests.prefix] { #expect(cleaned(prefix + text) == prefix + text) }
    }

    @Test func removesKnownSecretsEverywhere() {
        var removal = SecretRemoval()
        removal.add("hush\"4711\n")
        removal.add("1x")
        removal.add("cat")
        #expect(removal.cleaned("xhush\"4711x \"hush\\\"4711\" 1x") == "x[removed]x \"[removed]\" 1x")
        // A short one only as a word: otherwise half of the report would go.
        #expect(removal.cleaned("cat category cat-1 (cat)") == "[removed] category cat-1 ([removed])")
    }

    @Test func removesUserNamesThatAreNotPublic() {
        var removal = SecretRemoval()
        for name in ["lamp", "dut", "homeassistant"] { removal.add(userName: name, publicNames: ["dut"]) }
        #expect(
            removal.cleaned("lamp lamp-shaker dut homeassistant 'lamp'")
                == "[removed] lamp-shaker dut homeassistant '[removed]'")
    }

    @Test func learnsSecretsOfConfigurationFiles() {
        var removal = SecretRemoval()
        removal.add(
            secretsOf: """
                # password: first-1
                mqtt: {username: second-2, password: third-3}
                  password: "fourth 4" # comment
                  passwd: fifth-5 # comment
                  broker: mqtt://sixth-6:seventh-7@host
                  passphrase: |
                    eighth 8
                  args: ["--token", "ninth 9", "-v"]
                """, publicNames: [])
        let text = "first-1 second-2 third-3 fourth 4 fifth-5 sixth-6 seventh-7 eighth 8 ninth 9 host"
        #expect(removal.cleaned(text) == String(repeating: "[removed] ", count: 9) + "host")
    }

    @Test func removesSecretsOfMessages() throws {
        let json = """
            {"settings":{"actions":[{"on":"shake","publish":{"topic":"a","payload":"hush"}}],"mqtt":{"username":"hush"}},
            "refused":[{"key":"mqtt.password","value":"hush","reason":"unknown"},{"key":"log.level","value":"loud"}],
            "pwd":17,"token":null,"password_file":"kept","text":"password=hush","env":[{"name":"A_TOKEN","value":"hush"}],
            "secrets":{"db":"hush","more":[{"a":"hush"}]}}
            """
        let clean = SupportReport.text(ofJSON: Array(json.utf8), SecretRemoval())
        #expect(!clean.contains("hush") && !clean.contains("17"), "\(clean)")
        for kept in ["\"loud\"", "\"kept\"", "\"unknown\"", "\"topic\": \"a\"", "\"token\": null"] {
            #expect(clean.contains(kept), "\(clean)")
        }
    }

    /// With the square of the length, a line of 64 kB would take longer than a minute.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: ["%22", "'\"", "a?key=x&", "password=[ ", "-P 1 ", ":4: a.pw: x"])
    func longLinesTakeNoTime(part: String) {
        let text = String(repeating: part, count: (1 << 16) / part.utf8.count)
        #expect(cleaned(text + "\npassword=hush").hasSuffix("\npassword=[removed]"))
    }

    @Test(.timeLimit(.minutes(1))) func manyPrivateKeysTakeNoTime() {
        let begins = String(repeating: "-----BEGIN PRIVATE KEY-----", count: 4000)
        let end = "-----END " + String(repeating: "x", count: 1 << 18)
        #expect(cleaned(begins + end + "\npassword=hush") == "[removed]\npassword=[removed]")
    }

    @Test func hidesBrokerOnRequest() {
        var removal = SecretRemoval()
        removal.hide(broker: "home.example")
        removal.hide(broker: "127.0.0.1")
        #expect(removal.cleaned("mqtt://home.example:1883 127.0.0.1") == "mqtt://[broker]:1883 127.0.0.1")
    }

    @Test func reportIsBounded() {
        var report = SupportReport(secrets: SecretRemoval())
        report.add("Small", "one\ntwo\n")
        report.add("Beginning", (1...9).map { "line \($0)\n" }.joined(), limit: 40)
        report.add("End", (1...9).map { "line \($0)\n" }.joined(), limit: 40, keepsEnd: true)
        for number in 1...40 { report.add("Large \(number)", String(repeating: "0123456789\n", count: 3000)) }
        report.add("After", "nothing fits")
        let text = report.text("Report", made: "now")
        #expect(text.utf8.count <= SupportReport.maximumBytes)
        #expect(text.contains("## Small\n\n    one\n    two\n"))
        #expect(text.contains("## Beginning\n\n    line 1\n    line 2\n    line 3\n    … 6 lines left out\n"))
        #expect(text.contains("## End\n\n    … 6 lines left out\n    line 7\n    line 8\n    line 9\n"))
        #expect(text.hasSuffix("## After\n\n    … 1 line left out\n"))
    }

    @Test func linesCannotImitateHeadings() {
        var report = SupportReport(secrets: SecretRemoval())
        report.add("Log", "## Fake\n\u{1B}[2J\tx")
        #expect(report.text("Report", made: "now").hasSuffix("## Log\n\n    ## Fake\n    \\u{1b}[2J    x\n"))
    }
}
