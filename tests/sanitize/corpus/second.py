# ruff: noqa: E501
"""The second set of labelled cases: kept apart while the first was mended, so that its score says something."""

from typing import Any

from .making import ALNUM, BASE64, HEX, LOWER, UPPER, URLSAFE, clean, hiding, luhn, made, numbered, resident

_JWT = ".".join(
    ["ey" + "J0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9", "ey" + "JpZCI6NDJ9", made(86, URLSAFE, "jwt-b")]
)
_OPENAI = "sk-" + "svcacct-" + made(58, URLSAFE, "oa1") + "T3Blbk" + "FJ" + made(58, URLSAFE, "oa2")
_OLD_OPENAI = "sk-" + made(20, ALNUM, "old1") + "T3Blbk" + "FJ" + made(20, ALNUM, "old2")
_APP_GITHUB = "gh" + "s_" + made(36, ALNUM, "app")
_SLACK_APP = (
    "xa"
    + "pp-1-A0"
    + made(9, UPPER, "slack1")
    + "-"
    + made(13, "0123456789", "slack2")
    + "-"
    + made(64, HEX, "slack3")
)
_SLACK_USER = "xo" + "xp-" + "123456789012-123456789012-" + made(32, HEX, "slackuser")
_STRIPE = "rk" + "_live_" + made(24, ALNUM, "stripe")
_TWILIO = "SK" + made(32, HEX, "twilio")
_MAILGUN = "key" + "-" + made(32, HEX, "mailgun")
_NOTION = "nt" + "n_" + made(11, "0123456789", "notion") + made(35, ALNUM, "notion")
_PULUMI = "pu" + "l-" + made(40, HEX, "pulumi")
_DOPPLER = "dp" + ".pt." + made(43, ALNUM, "doppler")
_PLANETSCALE = "pscale" + "_tkn_" + made(43, URLSAFE, "planetscale")
_RUBYGEMS = "ruby" + "gems_" + made(48, HEX, "rubygems")
_SENTRY = "sntry" + "s_eyJ" + made(80, BASE64, "sentry") + "_" + made(43, BASE64, "sentry2")
_NEWRELIC = "NR" + "AK-" + made(27, UPPER, "newrelic")
_HEROKU = "HRKU-" + "AA" + made(58, URLSAFE, "heroku")
_DOCKER = "dck" + "r_pat_" + made(27, URLSAFE, "docker")
_FIGMA = "fig" + "d_" + made(40, URLSAFE, "figma")
_SUPABASE = "sb" + "p_" + made(40, HEX, "supabase")
_BREVO = "xkey" + "sib-" + made(64, HEX, "brevo") + "-" + made(16, ALNUM, "brevo")
_ATLASSIAN = (
    "ATA" + "TT3xFfGF0" + made(178, URLSAFE, "atlassian") + "=" + made(8, "0123456789ABCDEF", "atlassian")
)
_XAI = "xa" + "i-" + made(80, ALNUM, "xai")
_PERPLEXITY = "pp" + "lx-" + made(48, ALNUM, "perplexity")
_LANGSMITH = "lsv2" + "_pt_" + made(32, HEX, "ls1") + "_" + made(10, HEX, "ls2")
_TAVILY = "tv" + "ly-" + made(32, ALNUM, "tavily")
_TENCENT = "AK" + "ID" + made(32, ALNUM, "tencent")
_TEAMS = (
    "https://acme.web"
    + "hook.office.com/webhookb2/11111111-2222-3333-4444-555555555555@11111111-2222-3333-4444-555555555555/IncomingWebhook/"
    + made(32, HEX, "teams")
    + "/11111111-2222-3333-4444-555555555555"
)
_FEISHU = (
    "https://open.feishu.cn/open-apis/bot/v2/ho"
    + "ok/"
    + made(8, HEX, "f1")
    + "-"
    + made(4, HEX, "f2")
    + "-"
    + made(4, HEX, "f3")
    + "-"
    + made(4, HEX, "f4")
    + "-"
    + made(12, HEX, "f5")
)
_DYNATRACE = "dt0" + "c01." + made(24, UPPER, "dt1") + "." + made(64, UPPER, "dt2")
_PGP_BODY = "\n".join(made(64, BASE64, f"pgp{row}") for row in range(3))
_PGP = (
    "-----BEGIN PGP PRIV"
    + "ATE KEY BLOCK-----\n\n"
    + _PGP_BODY
    + "\n-----END PGP PRIV"
    + "ATE KEY BLOCK-----"
)
_EC_BODY = made(64, BASE64, "ec")
_EC = "-----BEGIN EC PRIV" + "ATE KEY-----\n" + _EC_BODY
_DISCOVER = luhn("601100099013942")
_JCB = luhn("353011133330000")
_UNION = luhn("622588012345678")
_MAESTRO_LIKE = luhn("510510510510510")
_RESIDENT = resident("51010219881203451")


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered(
        "b", [*_keys(), *_vendors(), *_containers(), *_personal(), *_clean_keys(), *_clean_values()]
    )


def _keys() -> list[dict[str, Any]]:
    return [
        hiding("nested environment name", {"DJANGO_SECRET_KEY": "Rt7-made"}, "Rt7-made"),
        hiding("mixed separators", {"db.admin-Password_1": "Rt7-made"}, "Rt7-made"),
        hiding("id token", {"idToken": "Rt7made55"}, "Rt7made55"),
        hiding("bearer key", {"bearerToken": "Rt7made55"}, "Rt7made55"),
        hiding("personal token", {"personal_access_token": "Rt7made55"}, "Rt7made55"),
        hiding("passphrase", {"sshPassphrase": "two words"}, "two words"),
        hiding("pin code", {"card_pin": "4471"}, "4471"),
        hiding("one-time code", {"otpCode": "559120"}, "559120"),
        hiding("verification code, Chinese", {"短信验证码": "559120"}, "559120"),
        hiding("identity card, Chinese", {"证件号码": "T-1"}, "T-1"),
        hiding(
            "set-cookie",
            {"set-cookie": "a=Rt7made55; HttpOnly"},
            "Rt7made55",
            expect={"set-cookie": "<MASK>"},
        ),
        hiding("shared access key", {"SharedAccessKey": "Rt7made55="}, "Rt7made55="),
        hiding("storage key", {"storage_account_key": "Rt7made55=="}, "Rt7made55=="),
        hiding(
            "private key of a service account",
            {"type": "service_account", "private_key_id": "k1", "privateKey": "Rt7made55"},
            "Rt7made55",
        ),
        hiding("driver's licence", {"drivers_license": "D-100-2"}, "D-100-2"),
        hiding("bank account", {"bank_account_number": "00012345"}, "00012345"),
        hiding("Portuguese", {"senha": "Rt7-made"}, "Rt7-made"),
        hiding("Italian", {"parola_chiave": "x", "password_utente": "Rt7-made"}, "Rt7-made"),
        hiding("Russian", {"пароль": "Rt7-made"}, "Rt7-made"),
        hiding("Korean", {"비밀번호": "Rt7-made"}, "Rt7-made"),
        hiding(
            "dictionary of passwords",
            {"password": {"old": "Rt7-made", "new": "Su8-made"}},
            "Rt7-made",
            "Su8-made",
            expect="<MASK>",
        ),
        hiding("telephone", {"homeTelephone": 5550172}, "5550172"),
        hiding("app secret", {"wx_app_secret": "Rt7made55"}, "Rt7made55"),
        hiding("consumer secret", {"oauthConsumerSecret": "Rt7made55"}, "Rt7made55"),
    ]


def _vendors() -> list[dict[str, Any]]:
    return [
        hiding("OpenAI service account", {"t": f"using {_OPENAI}"}, _OPENAI),
        hiding("OpenAI of old", {"t": f"({_OLD_OPENAI})"}, _OLD_OPENAI),
        hiding("GitHub application", {"t": f"x-access:{_APP_GITHUB}"}, _APP_GITHUB),
        hiding("Slack application", {"t": _SLACK_APP}, _SLACK_APP),
        hiding("Slack user", {"t": f"{_SLACK_USER}\n"}, _SLACK_USER),
        hiding("Stripe restricted", {"t": f"key={_STRIPE}&a=1"}, _STRIPE),
        hiding("Twilio", {"t": f"twilio {_TWILIO} ok"}, _TWILIO),
        hiding("Mailgun", {"t": f"api:{_MAILGUN}"}, _MAILGUN),
        hiding("Notion", {"t": f"notion={_NOTION};"}, _NOTION),
        hiding("Pulumi", {"t": f"login {_PULUMI}"}, _PULUMI),
        hiding("Doppler", {"t": _DOPPLER}, _DOPPLER),
        hiding("PlanetScale", {"t": _PLANETSCALE}, _PLANETSCALE),
        hiding("RubyGems", {"t": f"gem push {_RUBYGEMS}"}, _RUBYGEMS),
        hiding("Sentry", {"t": f"auth {_SENTRY}"}, _SENTRY),
        hiding("New Relic", {"t": f"x,{_NEWRELIC},y"}, _NEWRELIC),
        hiding("Heroku", {"t": _HEROKU}, _HEROKU),
        hiding("Docker", {"t": f"echo {_DOCKER} | docker login"}, _DOCKER),
        hiding("Figma", {"t": _FIGMA}, _FIGMA),
        hiding("Supabase", {"t": f"{_SUPABASE}/x"}, _SUPABASE),
        hiding("Brevo", {"t": _BREVO}, _BREVO),
        hiding("Atlassian", {"t": f"jira {_ATLASSIAN}"}, _ATLASSIAN),
        hiding("xAI", {"t": _XAI}, _XAI),
        hiding("Perplexity", {"t": f"“{_PERPLEXITY}”"}, _PERPLEXITY),
        hiding("LangSmith", {"t": _LANGSMITH}, _LANGSMITH),
        hiding("Tavily", {"t": f"搜索{_TAVILY}。"}, _TAVILY),
        hiding("Tencent", {"t": f"id {_TENCENT} ok"}, _TENCENT),
        hiding(
            "Teams webhook",
            {"t": _TEAMS},
            _TEAMS.split("/")[-2],
            expect={"t": "https://acme.webhook.office.com/webhookb2/<MASK>"},
        ),
        hiding("Feishu webhook", {"t": _FEISHU}, _FEISHU.rsplit("/", 1)[1]),
        hiding("Dynatrace", {"t": _DYNATRACE}, _DYNATRACE),
        hiding("PGP block", {"t": _PGP}, *_PGP_BODY.split("\n"), expect="<MASK>"),
        hiding("EC block that is cut off", {"t": "dump: " + _EC}, _EC_BODY, expect={"t": "dump: <MASK>"}),
        hiding("JWT as a query", {"u": f"https://x.example/in?x={_JWT}&lang=de"}, _JWT),
        hiding("JWT in bearer prose", {"t": f"got header 'bearer {_JWT}' here"}, _JWT),
    ]


def _containers() -> list[dict[str, Any]]:
    return [
        hiding("TOML", {"t": '[db]\nuser = "bob"\npassword = "Rt7-made"\n'}, "Rt7-made"),
        hiding("properties", {"t": "db.user=bob\ndb.password=Rt7made55\n"}, "Rt7made55"),
        hiding("docker run", {"t": "docker run -e DB_PASSWORD=Rt7made55 -e A=1 img"}, "Rt7made55"),
        hiding("Ruby hash", {"t": "{:user => 'bob', :password => 'Rt7-made'}"}, "Rt7-made"),
        hiding("PHP array", {"t": "['user' => 'bob', 'api_key' => 'Rt7made55']"}, "Rt7made55"),
        hiding("Go struct", {"t": 'Config{User:"bob", Password:"Rt7-made", Port:1}'}, "Rt7-made"),
        hiding("Java toString", {"t": "Login[user=bob, password=Rt7made55, retries=3]"}, "Rt7made55"),
        hiding("logfmt", {"t": 'level=info user=bob api_key="Rt7 made" took=3ms'}, "Rt7 made"),
        hiding("AMQP", {"t": "amqps://bob:Rt7made55@mq.example:5671/vhost"}, "Rt7made55"),
        hiding("proxy", {"HTTPS_PROXY": "http://bob:Rt7made55@proxy.example:3128"}, "Rt7made55"),
        hiding("ODBC", {"t": "Driver={PG};Server=db1;Uid=bob;Pwd=Rt7made55;Port=5432"}, "Rt7made55"),
        hiding("libpq", {"t": "host=db1 user=bob password=Rt7made55 dbname=x"}, "Rt7made55"),
        hiding(
            "service bus",
            {"t": "Endpoint=sb://a.example/;SharedAccessKeyName=n;SharedAccessKey=Rt7made55cc=;EntityPath=q"},
            "Rt7made55cc=",
        ),
        hiding("SQL grant", {"t": "CREATE USER bob IDENTIFIED BY 'Rt7made55'"}, "Rt7made55"),
        hiding("flag and value", {"t": "tool login --token Rt7made55aa --verbose"}, "Rt7made55aa"),
        hiding(
            "short user flag with equals", {"t": "curl --user bob:Rt7made55 https://x.example"}, "Rt7made55"
        ),
        hiding("wget", {"t": "wget --http-password=Rt7made55 https://x.example"}, "Rt7made55"),
        hiding("sshpass", {"t": "sshpass -p Rt7made55 ssh bob@h1"}, "Rt7made55"),
        hiding(
            "multipart",
            {"t": '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nRt7made55\r\n--b--'},
            "Rt7made55",
        ),
        hiding(
            "tuples of headers in text",
            {"t": "headers=[('X-Api-Key', 'Rt7made55'), ('Accept', '*/*')]"},
            "Rt7made55",
        ),
        hiding(
            "header with bytes in text",
            {"t": "{b'authorization': b'Bearer Rt7made55aa'}"},
            "Bearer Rt7made55aa",
        ),
        hiding(
            "parameters as items",
            {"parameters": [{"field": "a", "value": "1"}, {"Name": "client_secret", "Value": "Rt7made55"}]},
            "Rt7made55",
        ),
        hiding(
            "presigned, Google",
            {"u": "https://s.example/o?X-Goog-Expires=60&X-Goog-Signature=0a1b2c3d4e"},
            "0a1b2c3d4e",
        ),
        hiding(
            "code of an OAuth return",
            {"u": "https://x.example/cb?client_secret=Rt7made55&lang=de"},
            "Rt7made55",
        ),
        hiding("percent-encoded key", {"u": "https://x.example/a?api%5Fkey=Rt7made55&b=2"}, "Rt7made55"),
        hiding("array of an URL", {"u": "https://x.example/a?auth%5Btoken%5D=Rt7made55&b=2"}, "Rt7made55"),
        hiding("JSON lines", {"t": '{"a":1}\n{"password":"Rt7-made"}\n{"b":2}'}, "Rt7-made"),
        hiding(
            "three times JSON",
            {"t": '"{\\"a\\": \\"{\\\\\\"secret\\\\\\": \\\\\\"Rt7made55\\\\\\"}\\"}"'},
            "Rt7made55",
        ),
        hiding("markdown", {"t": "**Password:** `Rt7made55`\n"}, "Rt7made55"),
        hiding("table of a model", {"t": "| key | value |\n|---|---|\n| api_key | Rt7made55 |"}, "Rt7made55"),
        hiding(
            "chain of causes",
            {"error": {"chain": [{"message": "bad url redis://default:Rt7made55@r1:6379/0"}]}},
            "Rt7made55",
        ),
        hiding("stdout", {"stdout": "logging in with password: Rt7made55\nok\n"}, "Rt7made55"),
        hiding("French label", {"t": "Mot de passe : Rt7made55"}, "Rt7made55"),
        hiding("Japanese label", {"t": "パスワード：Rt7made55"}, "Rt7made55"),
        hiding("Chinese assignment", {"t": "密码=Rt7made55, 用户=bob"}, "Rt7made55"),
        hiding("netrc", {"t": "machine x.example login bob password Rt7made55"}, "Rt7made55"),
        hiding(
            "digest header in text",
            {"t": 'Proxy-Authorization: Digest username=bob, response="Rt7made55"'},
            "Rt7made55",
            expect="<MASK>",
        ),
    ]


def _personal() -> list[dict[str, Any]]:
    return [
        hiding(
            "several addresses",
            {"t": "to: a.roe@example.com; b-roe@sub.example.net"},
            "a.roe@example.com",
            "b-roe@sub.example.net",
        ),
        hiding(
            "address with apostrophe and digits", {"t": "mail o.neil99@example.io."}, "o.neil99@example.io"
        ),
        hiding(
            "address with an international domain",
            {"t": "an jana@müller.example senden"},
            "jana@müller.example",
        ),
        hiding("address after a colon", {"t": "email:bob_roe@example.com"}, "bob_roe@example.com"),
        hiding("French number", {"t": "tél +33612345678"}, "+33612345678"),
        hiding("Indian number", {"t": "+91 98765 43210"}, "+91 98765 43210"),
        hiding("Brazilian number", {"t": "+55 (11) 91234-5678"}, "+55 (11) 91234-5678"),
        hiding("NANP with one", {"t": "1-415-555-0132 ext 4"}, "1-415-555-0132"),
        hiding("Chinese mobile with spaces", {"t": "电话 139 1234 5678"}, "139 1234 5678"),
        hiding("Chinese mobile, fullwidth plus", {"t": "＋86 13912345678"}, "＋86 13912345678"),
        hiding(
            "resident id, lower x and words",
            {"t": f"身份证号:{resident('33010619950606123')}"},
            resident("33010619950606123"),
        ),
        hiding("resident id in brackets", {"t": f"（{_RESIDENT}）"}, _RESIDENT),
        hiding("Discover", {"t": f"card={_DISCOVER}"}, _DISCOVER),
        hiding("JCB", {"t": _JCB}, _JCB),
        hiding("UnionPay after Chinese", {"t": f"卡号{_UNION}"}, _UNION),
        hiding(
            "Mastercard with hyphens",
            {"t": "-".join(_MAESTRO_LIKE[i : i + 4] for i in range(0, 16, 4))},
            "-".join(_MAESTRO_LIKE[i : i + 4] for i in range(0, 16, 4)),
        ),
        hiding("social security in a table", {"t": "| Roe | 449-61-2207 |"}, "449-61-2207"),
        hiding("number as a key", {"13912345678": {"orders": 2}}, "13912345678"),
    ]


def _clean_keys() -> list[dict[str, Any]]:
    return [
        clean("authors", {"authorName": "Jo", "authorized": True, "unauthorized_count": 3}),
        clean(
            "token numbers", {"tokens_left": 10, "completionTokens": 7, "tokenLimit": 8, "avg_tokens": 3.2}
        ),
        clean("token facts", {"token_type": "bearer", "tokenName": "deploy", "tokenExpiresIn": 3600}),
        clean("keys of structures", {"key_name": "k", "sortKey": "a", "rowKey": "r1", "keyspace": "ks"}),
        clean("answers about keys", {"has_api_key": False, "requires_auth": True, "auth_enabled": True}),
        clean(
            "password facts", {"password_length": 12, "passwordUpdatedAt": "2026-01-01", "password_count": 1}
        ),
        clean("secret facts", {"secret_id": "s-1", "secretVersion": 4, "secretsCount": 2}),
        clean("cookie facts", {"cookiePolicyUrl": "https://x.example/c", "cookie_type": "session"}),
        clean("phone facts", {"phone_count": 2, "phoneVerifiedAt": "2026-01-01", "megaphone": "on"}),
        clean("mail facts", {"email_count": 2, "emailVerified": False, "mailbox_size": 3}),
        clean("card facts", {"cards": 3, "cardBrand": "visa", "card_expiry": "12/30", "cardinality": 8}),
        clean("pass words", {"pass_rate": 0.93, "passes": 3, "bypass_cache": True, "overpass": "a1"}),
        clean("pin words", {"pin_count": 1, "spinner": "x", "shipping": "dhl", "mapping": {"a": 1}}),
        clean("signature facts", {"signature_algorithm": "ed25519", "signed": True, "assigned_to": "Jo"}),
        clean(
            "session facts", {"session_type": "chat", "session_length": 4, "sessionStartedAt": "2026-01-01"}
        ),
        clean("ssl", {"ssl": True, "ssl_mode": "require", "tls_version": "1.3"}),
        clean("ids", {"id_number_type": "passport", "identity": "service", "identifier": "a-1"}),
        clean("bearing", {"bearing": 270, "bearer_format": "JWT"}),
        clean("Chinese innocent", {"密码长度": 8, "邮箱已验证": True, "手机型号": "X1"}),
        clean("empty", {"password": [], "token": {}, "secret": None}),
        clean("generation", {"stop_token_ids": [1, 2], "pad_token_id": 0, "eos_token_id": 2}),
    ]


def _clean_values() -> list[dict[str, Any]]:
    return [
        clean("hash of docker", {"t": "Digest: sha256:" + made(64, HEX, "d2")}),
        clean("etag", {"t": '"' + made(32, HEX, "etag") + '-12"'}),
        clean("span", {"span_id": made(16, HEX, "span"), "trace_id": made(32, HEX, "trace")}),
        clean("nanoseconds", {"t": "started 1767225600123456789"}),
        clean("microseconds", {"ts": 1767225600123456}),
        clean("compact date", {"t": "backup-20260304-050607.tar.gz"}),
        clean("counts", {"t": "13,800,138,000 rows in 415 s"}),
        clean("snowflake", {"t": "message 1135550132415555013"}),
        clean("decimal", {"t": "3.14159265358979323846"}),
        clean("negative number", {"t": "-15912345678.5"}),
        clean("version with four parts", {"t": "Chrome/120.0.6099.109 Safari/537.36"}),
        clean("ip range", {"t": "10.0.0.1-10.0.0.254"}),
        clean("serial", {"t": "SN 5105-1051-0510-5101"}),
        clean("invoice", {"t": "invoice 4532015112830367 of March"}),
        clean("account in prose", {"t": "Account 12345678 was closed."}),
        clean("resident-like, no such province", {"t": "99010519491231002X"}),
        clean("resident-like, no such day", {"t": "110105194902310021"}),
        clean("mobile-like, in hex", {"t": "0x13912345678 and a13912345678f"}),
        clean("number with an underscore", {"t": "user_13912345678_avatar.png"}),
        clean("temperature", {"t": "between +10 and +25 degrees, +5 %"}),
        clean("offset", {"t": "2026-03-04T05:06:07+08:00"}),
        clean("phone words", {"t": "dial extension 4155"}),
        clean("handles", {"t": "@user1 and @org/team and user@"}),
        clean("ssh command", {"t": "ssh -p 2222 git@code.example"}),
        clean("version tags", {"t": "uses: actions/checkout@v4, pkg@latest, a@b"}),
        clean("matrix product", {"t": "y = x@W + b; z = a @ b.T"}),
        clean("password rules", {"t": "Your password must have at least 12 characters."}),
        clean("password question", {"t": "Forgot password? Click here."}),
        clean("no password", {"t": "password: none, token: null, secret: false"}),
        clean("status of keys", {"t": "api_key: missing; token: invalid; password: required"}),
        clean("counts in text", {"t": "prompt_tokens=12 completion_tokens=34 max_tokens: 100"}),
        clean("code that checks", {"t": "assert password is not None and len(token) == 3"}),
        clean("code that decodes", {"t": "secret = base64.b64decode(value)\ntoken = tokens[i]"}),
        clean("TypeScript types", {"t": "interface A { password: string; token?: string; apiKey: number }"}),
        clean("signature of a function", {"t": "login(username, password, otp=None, *, token=...)"}),
        clean("argparse", {"t": "usage: x [--token TOKEN] [--password-file FILE] [-u USER]"}),
        clean("CI reference", {"t": "env:\n  TOKEN: ${{ secrets.T }}\n  PASSWORD: $(DB_PASSWORD)"}),
        clean("terraform", {"t": "password = var.db_password\ntoken = data.vault.x.token"}),
        clean("hidden already", {"t": "Authorization: Bearer ***\npassword: xxxxxxxx\ntoken=<redacted>"}),
        clean("OpenAPI", {"securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer"}}}),
        clean(
            "tool schema",
            {
                "parameters": {
                    "type": "object",
                    "properties": {
                        "token": {"type": "string", "description": "the token"},
                        "email": {"type": "string", "format": "email"},
                    },
                }
            },
        ),
        clean("form error", {"errors": {"password": ["This field is required."]}}),
        clean("CSS and names", {"t": ".password-field, #token-list { color: red } data-token-count"}),
        clean("kebab words", {"t": "sk-spruce-mask-desk-task-list and pk-index-of-things"}),
        clean("cut prefixes", {"t": "rk_live_ xoxp-1 npm_install_failed glsa_ pul-request"}),
        clean(
            "prefix in names", {"t": "hf_transfer_enabled_by_default_for_all, npm_config_registry_url_is_set"}
        ),
        clean(
            "public block",
            {
                "t": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
                + made(64, BASE64, "pgpp")
                + "\n-----END PGP PUBLIC KEY BLOCK-----"
            },
        ),
        clean("known hosts", {"t": "h1 ssh-rsa AAAAB3NzaC1yc2E" + made(80, BASE64, "kh")}),
        clean("gzip as base64", {"data": "H4sIAAAAAAAA" + made(200, BASE64, "gz") + "=="}),
        clean("eyJ words", {"t": "eyJhbGc is how a JWT begins; eyJ.eyJ. is none"}),
        clean("url of documents", {"u": "https://docs.example/auth/tokens#bearer-token?x=password"}),
        clean("search", {"u": "https://x.example/s?q=api+key+rotation&tokens=5&author=jo"}),
        clean("url with port and time", {"u": "https://x.example:443/2026-03-04T05:06:07"}),
        clean("Windows path", {"t": "C:\\Users\\bob\\token\\password.txt"}),
        clean("imports", {"t": "from auth.token import Token, password_hash as ph"}),
        clean("Chinese help", {"t": "密码错误，请联系管理员重置。手机号格式不正确。"}),
        clean("Chinese figures", {"t": "共１２３４条，第５页，用时１３８毫秒"}),
        clean("German prose", {"t": "Das Passwort ist falsch, bitte erneut eingeben."}),
        clean("KSUID", {"t": "0ujtsYcgvSTl8PAuAdqWYSMnLOv"}),
        clean("nano id", {"t": "V1StGXR8_Z5jdHi6B-myT"}),
        clean("S3 object", {"t": "s3://bucket/a/b=1/part-0001-" + made(32, HEX, "s3") + ".parquet"}),
        clean("arn", {"t": "arn:aws:iam::123456789012:role/deploy"}),
        clean("model name", {"t": "model claude-3-5-sonnet-20241022, gpt-4o-2024-08-06"}),
        clean("emoji", {"t": "🔑 the key is 🔐 under the mat"}),
        clean("JSON of usage", {"body": '{"usage":{"total_tokens":46},"token_type":"Bearer"}'}),
        clean("cookie prose", {"t": "This site uses cookies: accept or decline."}),
        clean("lower ids", {"t": "pod web-" + made(10, LOWER, "pod") + "-x7x2z restarted"}),
    ]
