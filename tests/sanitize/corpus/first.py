"""The first set of labelled cases: written from what masking promises, before its rules were read."""

from typing import Any

from .making import ALNUM, BASE64, HEX, LOWER, UPPER, URLSAFE, clean, hiding, luhn, made, numbered, resident

_JWT = ".".join(
    [
        "ey" + "JhbGciOiJFUzI1NiJ9",
        "ey" + "JzdWIiOiJ1LTEyMyIsImV4cCI6MTkwMDAwMDAwMH0",
        made(43, URLSAFE, "jwt-a"),
    ]
)
_AWS = "AS" + "IA" + made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "aws-a")
_GITLAB = "gl" + "pat-" + made(20, URLSAFE, "gitlab")
_GOOGLE = "AI" + "za" + made(35, URLSAFE, "google")
_SENDGRID = "SG" + "." + made(22, URLSAFE, "sg1") + "." + made(43, URLSAFE, "sg2")
_NPM = "np" + "m_" + made(36, ALNUM, "npm")
_OCEAN = "do" + "p_v1_" + made(64, HEX, "ocean")
_SHOP = "shp" + "at_" + made(32, HEX, "shopify")
_PYPI = "py" + "pi-AgEIcHlwaS5vcmc" + made(80, URLSAFE, "pypi")
_GITHUB = "gith" + "ub_pat_" + made(22, ALNUM, "ghp1") + "_" + made(59, ALNUM, "ghp2")
_SQUARE = "sq" + "0csp-" + made(43, URLSAFE, "square")
_TELEGRAM = "7" + made(9, "0123456789", "tg") + ":AA" + made(33, URLSAFE, "telegram")
_GRAFANA = "gl" + "sa_" + made(32, ALNUM, "grafana") + "_" + made(8, HEX, "grafana")
_VAULT = "hv" + "s." + made(90, URLSAFE, "vault")
_POSTMAN = "PM" + "AK-" + made(24, HEX, "pm1") + "-" + made(34, HEX, "pm2")
_DATABRICKS = "da" + "pi" + made(32, HEX, "databricks")
_GROQ = "gs" + "k_" + made(52, ALNUM, "groq")
_REPLICATE = "r8" + "_" + made(37, ALNUM, "replicate")
_ALIYUN = "LT" + "AI5t" + made(18, ALNUM, "aliyun")
_DISCORD = "https://discord.com/api/web" + "hooks/123456789012345678/" + made(68, URLSAFE, "discord")
_AGE = "AGE-SECRET-" + "KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "age")
_AZURE = made(3, ALNUM, "az") + "8" + "Q~" + made(34, ALNUM + "_~.-", "azure")
_LINEAR = "lin" + "_api_" + made(40, ALNUM, "linear")
_WHSEC = "wh" + "sec_" + made(32, BASE64, "whsec")
_ROUTER = "sk-" + "or-v1-" + made(64, HEX, "router")
_MAILCHIMP = made(32, HEX, "mailchimp") + "-us" + "14"
_NVIDIA = "nv" + "api-" + made(64, URLSAFE, "nvidia")
_PEM_BODY = "\n".join(made(64, BASE64, f"pem{row}") for row in range(4))
_RSA = "-----BEGIN RSA PRIV" + "ATE KEY-----\n" + _PEM_BODY + "\n-----END RSA PRIV" + "ATE KEY-----"
_SSH_BODY = made(70, BASE64, "ssh")
_SSH = "-----BEGIN OPENSSH PRIV" + "ATE KEY-----\\n" + _SSH_BODY + "\\n-----END OPENSSH PRIV" + "ATE KEY-----"
_VISA = luhn("453201511283036")
_AMEX = luhn("37144963539843")
_MASTER = luhn("222300004841001")
_RESIDENT = resident("31010519491231002")
_RESIDENT_X = resident("44030819901015123")


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered(
        "a", [*_keys(), *_vendors(), *_containers(), *_personal(), *_clean_keys(), *_clean_values()]
    )


def _keys() -> list[dict[str, Any]]:
    return [
        hiding("abbreviated password", {"smtp_passwd": "Lm4-made", "port": 25}, "Lm4-made"),
        hiding("environment without separator", {"PGPASSWORD": "Lm4-made"}, "Lm4-made"),
        hiding("camel client secret", {"clientSecret": "Lm4-made", "clientId": "c-17"}, "Lm4-made"),
        hiding("refresh token", {"refresh_token": "Lm4made99", "expires_in": 3600}, "Lm4made99"),
        hiding("header of a gateway", {"X-Auth-Token": "Lm4made99"}, "Lm4made99"),
        hiding(
            "cookie header", {"Cookie": "sid=Lm4made99; theme=dark"}, "Lm4made99", expect={"Cookie": "<MASK>"}
        ),
        hiding("signing key, acronyms", {"webhookSigningKey": "Lm4made99"}, "Lm4made99"),
        hiding("short for password", {"dbPwd": "Lm4-made"}, "Lm4-made"),
        hiding(
            "list under a plural",
            {"api_keys": ["Lm4made99", "Nn5made00"]},
            "Lm4made99",
            "Nn5made00",
            expect="<MASK>",
        ),
        hiding(
            "object under a secret key",
            {"credentials": {"user": "bob", "value": "Lm4-made"}},
            "Lm4-made",
            expect="<MASK>",
        ),
        hiding("encryption key", {"ENCRYPTION_KEY": "00112233aabbccdd"}, "00112233aabbccdd"),
        hiding("card number by key", {"cardNumber": "9999 0000 1111 2223"}, "9999 0000 1111 2223"),
        hiding("security code", {"cvc": 737}, "737"),
        hiding("social security by key", {"ssn": "unknown-shape-1"}, "unknown-shape-1"),
        hiding("mobile by key, Chinese", {"联系电话": "010-8888"}, "010-8888"),
        hiding("bank card by key, Chinese", {"银行卡号": "1234-5"}, "1234-5"),
        hiding("login password by key, Chinese", {"登录密码": "Lm4-made"}, "Lm4-made"),
        hiding("key by key, Chinese", {"访问密钥": "Lm4-made"}, "Lm4-made"),
        hiding("German", {"Passwort": "Lm4-made"}, "Lm4-made"),
        hiding("Spanish", {"contraseña": "Lm4-made"}, "Lm4-made"),
        hiding("French", {"mot_de_passe": "Lm4-made"}, "Lm4-made"),
        hiding("Japanese", {"パスワード": "Lm4-made"}, "Lm4-made"),
        hiding("fullwidth and screaming", {"ＡＰＩ＿ＫＥＹ": "Lm4made99"}, "Lm4made99"),
        hiding("dotted property", {"spring.datasource.password": "Lm4-made"}, "Lm4-made"),
        hiding("key in a path of a config", {"auth/secret-key": "Lm4-made"}, "Lm4-made"),
    ]


def _vendors() -> list[dict[str, Any]]:
    return [
        hiding("temporary AWS id", {"t": f"caller {_AWS} assumed"}, _AWS),
        hiding("GitLab", {"t": f"remote: {_GITLAB}"}, _GITLAB),
        hiding("Google", {"t": f"maps?{_GOOGLE}"}, _GOOGLE),
        hiding("SendGrid", {"t": _SENDGRID}, _SENDGRID),
        hiding("npm", {"t": f"//r.example/:_x {_NPM}."}, _NPM),
        hiding("DigitalOcean, glued to Chinese", {"t": f"令牌是{_OCEAN}请保密"}, _OCEAN),
        hiding("Shopify", {"t": f"[{_SHOP}]"}, _SHOP),
        hiding("PyPI", {"t": f"twine -p {_PYPI}"}, _PYPI),
        hiding("fine-grained GitHub", {"t": f"'{_GITHUB}'"}, _GITHUB),
        hiding("Square", {"t": _SQUARE}, _SQUARE),
        hiding(
            "Telegram bot",
            {"t": f"https://api.telegram.org/bot{_TELEGRAM}/getMe"},
            _TELEGRAM,
            expect={"t": "https://api.telegram.org/bot<MASK>"},
        ),
        hiding("Grafana", {"t": f"grafana: {_GRAFANA}"}, _GRAFANA),
        hiding("Vault", {"t": _VAULT}, _VAULT),
        hiding("Postman", {"t": _POSTMAN}, _POSTMAN),
        hiding("Databricks", {"t": f"host x {_DATABRICKS}"}, _DATABRICKS),
        hiding("Groq", {"t": f"<{_GROQ}>"}, _GROQ),
        hiding("Replicate", {"t": _REPLICATE}, _REPLICATE),
        hiding("Aliyun", {"t": f"id {_ALIYUN} ok"}, _ALIYUN),
        hiding(
            "Discord webhook",
            {"t": _DISCORD},
            _DISCORD.rsplit("/", 1)[1],
            expect={"t": "https://discord.com/api/webhooks/<MASK>"},
        ),
        hiding("age", {"t": f"# key\n{_AGE}\n"}, _AGE),
        hiding("Azure application", {"t": f"value {_AZURE}"}, _AZURE),
        hiding("Linear", {"t": _LINEAR}, _LINEAR),
        hiding("webhook secret", {"t": _WHSEC}, _WHSEC),
        hiding("OpenRouter", {"t": f"key {_ROUTER}"}, _ROUTER),
        hiding("Mailchimp", {"t": f"list {_MAILCHIMP} ok"}, _MAILCHIMP),
        hiding("NVIDIA", {"t": _NVIDIA}, _NVIDIA),
        hiding(
            "RSA block",
            {"t": f"key:\n{_RSA}\ndone"},
            *_PEM_BODY.split("\n"),
            expect={"t": "key:\n<MASK>\ndone"},
        ),
        hiding("SSH block with escaped line ends", {"t": _SSH}, _SSH_BODY, expect="<MASK>"),
        hiding("JWT in a cookie text", {"t": f"Set-Cookie: id={_JWT}; Path=/"}, _JWT, expect={"t": "<MASK>"}),
        hiding("JWT in a path", {"t": f"/magic/{_JWT}/open"}, _JWT),
    ]


def _containers() -> list[dict[str, Any]]:
    return [
        hiding("environment file", {"t": "export DB_USER=bob\nexport DB_PASSWORD=Lm4made99\n"}, "Lm4made99"),
        hiding("YAML", {"t": "db:\n  user: bob\n  password: Lm4made99\n  port: 5432"}, "Lm4made99"),
        hiding("ini", {"t": "[smtp]\nuser = bob\npassword = Lm4made99!\n"}, "Lm4made99!"),
        hiding("JavaScript object", {"t": "connect({host: 'h1', apiKey: 'Lm4made99'})"}, "Lm4made99"),
        hiding("Python repr of a dict", {"t": "{'user': 'bob', 'password': 'Lm4-made', 'n': 1}"}, "Lm4-made"),
        hiding(
            "XML element", {"t": "<cfg><user>bob</user><password>Lm4made99</password></cfg>"}, "Lm4made99"
        ),
        hiding("XML attribute", {"t": '<ds user="bob" password="Lm4made99" pool="5"/>'}, "Lm4made99"),
        hiding(
            "ADO connection",
            {"t": "Server=db1;Database=x;User Id=sa;Password=Lm4made99;Encrypt=true"},
            "Lm4made99",
        ),
        hiding("JDBC", {"t": "jdbc:mysql://db1:3306/x?user=bob&password=Lm4made99&useSSL=true"}, "Lm4made99"),
        hiding("database URL", {"t": "postgresql://bob:Lm4%40made@db1:5432/x?sslmode=require"}, "Lm4%40made"),
        hiding(
            "MongoDB SRV", {"t": "connect mongodb+srv://bob:Lm4made99@c0.example.net/app failed"}, "Lm4made99"
        ),
        hiding("SQL statement", {"t": "ALTER USER bob WITH PASSWORD 'Lm4made99'"}, "Lm4made99"),
        hiding(
            "SQL columns",
            {"columns": ["id", "password"], "rows": [[1, "Lm4-made"], [2, "Nn5-made"]]},
            "Lm4-made",
            "Nn5-made",
        ),
        hiding(
            "key and value items",
            {"vars": [{"key": "API_TOKEN", "value": "Lm4made99"}, {"key": "A", "value": "1"}]},
            "Lm4made99",
        ),
        hiding("flag with equals", {"t": "deploy --api-key=Lm4made99 --region eu"}, "Lm4made99"),
        hiding("flag in an argument list", {"argv": ["x", "--client-secret=Lm4made99", "-v"]}, "Lm4made99"),
        hiding("curl header", {"t": "curl -H 'X-Api-Key: Lm4made99' https://x.example/a"}, "Lm4made99"),
        hiding("docker login", {"t": "docker login -u bob -p Lm4made99 reg.example"}, "Lm4made99"),
        hiding(
            "percent-encoded URL in a URL",
            {"u": "https://x.example/go?next=https%3A%2F%2Fy.example%2F%3Faccess_token%3DLm4made99%26a%3D1"},
            "Lm4made99",
        ),
        hiding("form body", {"body": "grant_type=password&username=bob&password=Lm4made99"}, "Lm4made99"),
        hiding("JSON array in a string", {"body": '[{"name": "bob", "secret": "Lm4-made"}]'}, "Lm4-made"),
        hiding("JSON with a prefix", {"t": 'POST body={"user":"bob","password":"Lm4-made"} 200'}, "Lm4-made"),
        hiding(
            "JSON, escaped, in a log line", {"t": 'sent "{\\"api_key\\": \\"Lm4made99\\"}" ok'}, "Lm4made99"
        ),
        hiding(
            "header pairs as objects",
            {"headers": [{"name": "authorization", "value": "Lm4made99"}]},
            "Lm4made99",
        ),
        hiding(
            "raw HTTP",
            {"t": "GET /a HTTP/1.1\r\nHost: h\r\nX-Api-Key: Lm4made99\r\nAccept: */*\r\n\r\n"},
            "Lm4made99",
        ),
        hiding("token scheme", {"t": "Authorization: Token Lm4made99aabbcc"}, "Lm4made99aabbcc"),
        hiding(
            "quoted call of a traceback",
            {
                "error": {
                    "message": "bad login",
                    "stack": '    client = Api(token="Lm4made99", retries=3)\nKeyError',
                }
            },
            "Lm4made99",
        ),
        hiding("assertion text", {"t": "AssertionError: password='Lm4-made' != password=''"}, "Lm4-made"),
        hiding("Chinese label", {"t": "用户名：bob，密码：Lm4made99，请登录"}, "Lm4made99"),
        hiding("German label", {"t": "Benutzer: bob, Passwort: Lm4made99"}, "Lm4made99"),
        hiding("deep list", {"a": [[[{"b": [{"auth_token": "Lm4made99"}]}]]]}, "Lm4made99"),
        hiding(
            "model's tool call",
            {"function": {"name": "login", "arguments": '{"user":"bob","password":"Lm4-made"}'}},
            "Lm4-made",
        ),
    ]


def _personal() -> list[dict[str, Any]]:
    return [
        hiding(
            "address in angle brackets",
            {"t": "From: Bob Roe <bob.roe@mail.example.org>"},
            "bob.roe@mail.example.org",
        ),
        hiding(
            "address in a link",
            {"t": "<a href='mailto:bob.roe@example.org'>write</a>"},
            "bob.roe@example.org",
        ),
        hiding(
            "address in a query, percent",
            {"u": "https://x.example/u?who=bob.roe%40example.org"},
            "bob.roe%40example.org",
        ),
        hiding("address after Japanese", {"t": "連絡先はbob.roe@example.orgです"}, "bob.roe@example.org"),
        hiding("German number", {"t": "Tel. +49 30 901820 anrufen"}, "+49 30 901820", "901820"),
        hiding("Japanese number", {"t": "+81-90-1234-5678"}, "+81-90-1234-5678"),
        hiding("NANP with dots", {"t": "call 415.555.0132 today"}, "415.555.0132"),
        hiding("NANP in brackets", {"t": "call (415) 555-0132 today"}, "(415) 555-0132"),
        hiding("Chinese mobile, labelled", {"t": "手机：15912345678，备用"}, "15912345678"),
        hiding("Chinese mobile in JSON text", {"body": '{"text": "打给 18612345678"}'}, "18612345678"),
        hiding("resident id", {"t": f"证件{_RESIDENT}有效"}, _RESIDENT),
        hiding("resident id ending with X", {"t": f"id {_RESIDENT_X} ok"}, _RESIDENT_X),
        hiding("Visa", {"t": f"paid with {_VISA}."}, _VISA),
        hiding(
            "Visa grouped",
            {"t": " ".join([_VISA[i : i + 4] for i in range(0, 16, 4)])},
            " ".join([_VISA[i : i + 4] for i in range(0, 16, 4)]),
        ),
        hiding(
            "Amex grouped 4-6-5",
            {"t": f"{_AMEX[:4]} {_AMEX[4:10]} {_AMEX[10:]}"},
            f"{_AMEX[:4]} {_AMEX[4:10]} {_AMEX[10:]}",
        ),
        hiding("Mastercard of the 2 series", {"t": f"pan={_MASTER}"}, _MASTER),
        hiding("US social security", {"t": "employee 536-22-8731 joined"}, "536-22-8731"),
        hiding(
            "number in a list of words",
            {"messages": [{"role": "user", "content": "I am on +33 6 12 34 56 78"}]},
            "+33 6 12 34 56 78",
        ),
    ]


def _clean_keys() -> list[dict[str, Any]]:
    return [
        clean("author and kin", {"authority": "city", "authoring": "x", "coauthor": "Jo Roe"}),
        clean("numbers of tokens", {"maxOutputTokens": 512, "tokensPerSecond": 33.1, "token_budget": 9}),
        clean("next page", {"next_page_token_type": "opaque", "page": 2}),
        clean("keys of data", {"partition_key": "tenant", "foreignKey": "user_id", "hotkey": "ctrl+k"}),
        clean("keyboard", {"keyboard": "us", "keywords": ["a", "b"], "monkey": "see"}),
        clean("policies", {"password_policy": "strong", "passwordMaxAge": 90, "secret_name": "db-main"}),
        clean("compass", {"compass": "north", "passenger": "Jo", "passive": True}),
        clean("pins", {"pinpoint": "here", "pineapple": 2, "opinions": ["fine"]}),
        clean("cards", {"card_type": "visa", "discarded": 3, "scorecard": "A"}),
        clean("session facts", {"session_notes": "went well", "session_count": 3, "sessions": 4}),
        clean("phones", {"phone_model": "X1", "microphone": "on", "telephone_type": "desk"}),
        clean("cookies", {"cookie_banner": "shown", "cookiecutter": "v2", "cookie_count": 2}),
        clean(
            "flags about secrets",
            {"has_password": True, "is_token_valid": False, "secret_rotation_enabled": True},
        ),
        clean("urls of auth", {"token_url": "https://x.example/oauth", "auth_uri": "https://x.example/auth"}),
        clean("expiry", {"token_expires_at": "2026-02-01", "password_expiry": "2026-03-01"}),
        clean("public keys", {"public_key_id": "k1", "publicKeyAlgorithm": "ed25519"}),
        clean("nothing in it", {"api_key": None, "secret": "", "token": False}),
        clean("emails as a count", {"emails_sent": 10, "email_template": "welcome", "email_type": "html"}),
        clean("secretariat", {"secretariat": "Bonn", "secretion": "low"}),
        clean("Chinese innocent", {"密码学": "课程", "电话数量": 3}),
        clean("map of words", {"tokens": 7, "tokenized": True, "detokenize": "x"}),
        clean("idp", {"idempotency_key_required": True, "access_level": "read", "accessibility": "AA"}),
    ]


def _clean_values() -> list[dict[str, Any]]:
    return [
        clean("sha256 digest", {"t": "sha256:" + made(64, HEX, "digest")}),
        clean("commit", {"t": "fixed in 1f0c2d3e4b5a69788796a5b4c3d2e1f001234567"}),
        clean("trace id", {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}),
        clean("integrity", {"t": "sha512-" + made(86, BASE64, "integrity") + "=="}),
        clean("semantic versions", {"t": "1.2.3-beta.4+build.5 and 10.20.30"}),
        clean("timestamps", {"t": "2026-03-04T05:06:07.123456Z took 1234567890123 ns"}),
        clean("epoch seconds", {"t": "at 1767225600 and 1767225600.123"}),
        clean("phone-like price", {"t": "USD 415,555,013.20 in total"}),
        clean("range of numbers", {"t": "rows 1000-2000-3000, pages 12-34"}),
        clean("ip and port", {"t": "192.168.100.200:8080 -> 10.1.2.3"}),
        clean("ipv6", {"t": "2001:db8:85a3::8a2e:370:7334"}),
        clean("mac address", {"t": "00:1b:44:11:3a:b7"}),
        clean("time zone", {"t": "Tue, 3 Mar 2026 10:00:00 +0800 (GMT+8)"}),
        clean("difference", {"t": "@@ -12,7 +12,9 @@ def f(): +120 -45"}),
        clean("exponent", {"t": "1.5e+10 and 6.02214076e+23"}),
        clean("UnionPay-like run with a wrong check", {"t": "6200000000000006"}),
        clean("an order number", {"t": "order 2026030412345678 shipped"}),
        clean("tracking number", {"t": "1Z999AA10123456784"}),
        clean("EAN", {"t": "EAN 4006381333931"}),
        clean("ISSN", {"t": "ISSN 2049-3630"}),
        clean(
            "social-security-like with a wrong area",
            {"t": "part 000-12-3456 and 666-12-3456 and 912-34-5678"},
        ),
        clean("date like a social security number", {"t": "2026-03-04, 12-31-2026"}),
        clean("decorators", {"t": "@pytest.mark.parametrize\n@app.route('/a')\n@dataclass"}),
        clean("git remote", {"t": "git@code.example:group/repo.git"}),
        clean("image digest", {"t": "reg.example/app@sha256:" + made(64, HEX, "image")}),
        clean("scoped packages", {"t": "npm i @types/node@20.1.0 lodash@4.17.21"}),
        clean("mention", {"t": "thanks @bob, see #12"}),
        clean("prose on tokens", {"t": "The model used 512 tokens; a token is about four characters."}),
        clean("prose on passwords", {"t": "Please reset your password: it has expired."}),
        clean("prose on secrets", {"t": "No secret was found in the secret store."}),
        clean("prose on keys", {"t": "Press any key to continue; the api key page is here."}),
        clean("error without a value", {"t": "ValueError: missing api_key"}),
        clean("refusal", {"t": "invalid token: unexpected end of input"}),
        clean("Python parser", {"t": "SyntaxError: unexpected token ')' at line 3"}),
        clean("code that reads", {"t": "token = request.headers.get('X-Token')\npassword = input()"}),
        clean("code that passes on", {"t": "connect(user=user, password=password, token=self.token)"}),
        clean("annotations", {"t": "def login(user: str, password: str, token: str | None = None) -> bool:"}),
        clean("templates", {"t": "password: {{ vault.db_password }}\ntoken: <your-token>\nkey: %(api_key)s"}),
        clean("shell references", {"t": '--token $TOKEN --password "$DB_PASSWORD" -u "$USER:$PASS"'}),
        clean("secret of GitHub actions", {"t": "token: ${{ secrets.GITHUB_TOKEN }}"}),
        clean("already masked", {"t": "password=**** token=[REDACTED] api_key=<hidden>"}),
        clean("help text", {"t": "--password PASSWORD  the password of the user\n--token TOKEN"}),
        clean(
            "schema",
            {"properties": {"password": {"type": "string", "minLength": 8}}, "required": ["password"]},
        ),
        clean("slug with a prefix", {"t": "task-force-report-sk-summary-and-more-words"}),
        clean("too short", {"t": "glpat-abc npm_x dop_v1_ SG.x"}),
        clean("names of prefixes", {"t": "AKIA, ASIA, ghp_, xoxb- and sk_live_ are prefixes"}),
        clean(
            "certificate request",
            {
                "t": "-----BEGIN CERTIFICATE REQUEST-----\n"
                + made(64, BASE64, "csr")
                + "\n-----END CERTIFICATE REQUEST-----"
            },
        ),
        clean("public SSH key", {"t": "ssh-ed25519 " + made(68, BASE64, "pub") + " bob"}),
        clean("base64 text", {"t": "VGhpcyBpcyBhIGxvbmcgc2VudGVuY2Ugd2l0aG91dCBzZWNyZXRz"}),
        clean("embedded picture", {"t": "url(data:font/woff2;base64," + made(120, BASE64, "font") + ")"}),
        clean(
            "url with a long path",
            {"u": "https://x.example/docs/" + made(40, LOWER, "path") + "/v2?page=3&sort=name"},
        ),
        clean("url of a tokenizer", {"u": "https://x.example/tokenizer?max_tokens=5&keyword=secret"}),
        clean("ports", {"u": "http://host.example:8080/path:with:colons@v2"}),
        clean("file names", {"t": "/etc/ssl/private.d/README, id_rsa.pub, password_reset.html, tokens.py"}),
        clean("Chinese prose", {"t": "请输入密码后继续，电话会议在三点。"}),
        clean("coordinates", {"t": "48.858370, 2.294481"}),
        clean("uuid4", {"t": "id 9b2e7c52-1a3f-4e0b-8c1d-2f3a4b5c6d7e"}),
        clean("ULID", {"t": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
        clean("Mongo id", {"t": "507f1f77bcf86cd799439011"}),
        clean("constants", {"t": "MAX_TOKENS = 4096\nTOKEN_TYPE = 'bearer'\nAUTH_METHOD = 'basic'"}),
        clean("header names alone", {"t": "Allowed headers: Authorization, Cookie, X-Api-Key"}),
        clean("basic words", {"t": "Basic authentication is used; bearer tokens are not."}),
        clean("usage", {"usage": {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 0}}),
        clean("model's words", {"t": "sk-learn, hf_hub, r8_model and gsk are names"}),
        clean("JSON kept as it is", {"body": '{ "tokens" : 12 , "author":"Jo" }'}),
        clean("upper-case id", {"t": "REQ-" + made(12, UPPER, "request")}),
    ]
