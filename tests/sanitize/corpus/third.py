# ruff: noqa: E501
"""The third set of labelled cases: what tools of agents print, written after the other two were mended."""

from typing import Any

from .making import ALNUM, BASE64, HEX, LOWER, UPPER, URLSAFE, clean, hiding, luhn, made, numbered, resident

_S = "Wd6made81"
_HUBSPOT = "pat-" + "na1-" + "-".join(made(n, HEX, f"hub{n}{i}") for i, n in enumerate((8, 4, 4, 4, 12)))
_PLAID = (
    "access-" + "sandbox-" + "-".join(made(n, HEX, f"plaid{n}{i}") for i, n in enumerate((8, 4, 4, 4, 12)))
)
_RAZOR = "rzp" + "_live_" + made(14, ALNUM, "razor")
_SONAR = "sq" + "u_" + made(40, HEX, "sonar")
_FIRE = "fc" + "-" + made(32, HEX, "firecrawl")
_ELEVEN = "sk" + "_" + made(48, HEX, "eleven")
_PINECONE = "pc" + "sk_" + made(6, ALNUM, "pc1") + "_" + made(60, ALNUM, "pc2")
_OAUTH = "ya" + "29." + made(120, URLSAFE, "ya")
_GOCSPX = "GOC" + "SPX-" + made(28, URLSAFE, "gocspx")
_CIRCLE = "CC" + "IPAT_" + made(22, ALNUM, "cc1") + "_" + made(40, HEX, "cc2")
_BUILDKITE = "bk" + "ua_" + made(40, HEX, "bk")
_TERRAFORM = made(14, ALNUM, "tf1") + ".atlas" + "v1." + made(67, URLSAFE, "tf2")
_AIRTABLE = "pa" + "t" + made(14, ALNUM, "at1") + "." + made(64, HEX, "at2")
_CONTENTFUL = "CF" + "PAT-" + made(43, URLSAFE, "cf")
_ONEPASS = "op" + "s_eyJ" + made(260, BASE64, "op")
_SOURCEGRAPH = "sg" + "p_" + made(40, HEX, "sg")
_BOT = "M" + made(23, ALNUM, "bot1") + "." + made(6, ALNUM, "bot2") + "." + made(38, URLSAFE, "bot3")
_CLOUDFLARE = "v1" + ".0-" + made(24, HEX, "cl1") + "-" + made(146, HEX, "cl2")
_ARTIFACTORY = "AK" + "Cp" + made(69, ALNUM, "af")
_WECOM = (
    "https://qyapi.weixin.qq.com/cgi-bin/web"
    + "hook/send?key="
    + made(8, HEX, "w1")
    + "-"
    + made(4, HEX, "w2")
)
_ENCRYPTED = (
    "-----BEGIN ENCRYPTED PRIV"
    + "ATE KEY-----\r\n"
    + made(64, BASE64, "enc")
    + "\r\n-----END ENCRYPTED PRIV"
    + "ATE KEY-----"
)
_DINERS = luhn("3056930902590")
_MIR = luhn("220077016000000")
_RESIDENT = resident("32058119760229201")


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered("c", [*_printed(), *_vendors(), *_personal(), *_clean()])


def _printed() -> list[dict[str, Any]]:
    return [
        hiding("compose list", {"t": f"environment:\n  - DB_PASSWORD={_S}\n  - TZ=UTC"}, _S),
        hiding(
            "kubernetes secret",
            {"t": "kind: Secret\ndata:\n  password: V2Q2bWFkZTgx\n  username: Ym9i"},
            "V2Q2bWFkZTgx",
        ),
        hiding("helm", {"t": f"helm install x --set auth.password={_S},image.tag=1"}, _S),
        hiding(
            "credentials file",
            {"t": f"[default]\naws_access_key_id = x\naws_secret_access_key = {_S}/abc+1\n"},
            f"{_S}/abc+1",
        ),
        hiding("Java property flag", {"t": f"java -Ddb.password={_S} -jar a.jar"}, _S),
        hiding("PowerShell", {"t": f'$env:API_KEY = "{_S}"'}, _S),
        hiding("cmd", {"t": f"set API_KEY={_S}\r\nrun.exe"}, _S),
        hiding("fish", {"t": f"set -x API_KEY {_S}"}, _S),
        hiding("environ of Python", {"t": f'os.environ["API_KEY"] = "{_S}"'}, _S),
        hiding("environ of Ruby", {"t": f"ENV['API_KEY'] = '{_S}'"}, _S),
        hiding("setter of Go", {"t": f'os.Setenv("API_KEY", "{_S}")'}, _S),
        hiding("storage of a browser", {"t": f"localStorage.setItem('token', '{_S}')"}, _S),
        hiding("setter of headers", {"t": f'headers.set("X-Api-Key", "{_S}")'}, _S),
        hiding("argument with blanks", {"t": f'login(user = "bob", password = "{_S}")'}, _S),
        hiding("SOAP", {"t": f'<wsse:Password Type="x#PasswordText">{_S}</wsse:Password>'}, _S),
        hiding("CDATA", {"t": f"<password><![CDATA[{_S}]]></password>"}, _S),
        hiding("LDIF", {"t": f"dn: cn=bob\nuserPassword: {_S}\nsn: x"}, _S),
        hiding(
            "insert with columns", {"t": f"INSERT INTO users (name, password) VALUES ('bob', '{_S}')"}, _S
        ),
        hiding("update", {"t": f"UPDATE users SET password='{_S}' WHERE id=1"}, _S),
        hiding("Redis command", {"t": f"CONFIG SET requirepass {_S}"}, _S),
        hiding("Redis auth", {"t": f"AUTH default {_S}"}, _S),
        hiding("set password for", {"t": f"SET PASSWORD FOR 'bob'@'%' = '{_S}'"}, _S),
        hiding(
            "CSV",
            {"t": f"name,email_verified,api_key\nbob,true,{_S}\nann,false,Xe7made92\n"},
            _S,
            "Xe7made92",
        ),
        hiding("Markdown table", {"t": f"| user | password |\n| --- | --- |\n| bob | {_S} |\n"}, _S),
        hiding("TSV", {"t": f"host\tpassword\nh1\t{_S}\n"}, _S),
        hiding("verification mail", {"t": "Your verification code is 482913. It expires soon."}, "482913"),
        hiding("one-time password", {"t": "one-time password: 482913"}, "482913"),
        hiding("verification message, Chinese", {"t": "【某某】验证码：482913，5分钟内有效"}, "482913"),
        hiding(
            "HTTP debug",
            {"t": f"send: b'GET / HTTP/1.1\\r\\nX-Api-Key: {_S}\\r\\nAccept: */*\\r\\n\\r\\n'"},
            _S,
        ),
        hiding(
            "GraphQL",
            {"query": "mutation($p:String!){login(password:$p)}", "variables": {"p": "x", "password": _S}},
            _S,
        ),
        hiding(
            "service account in a string",
            {"body": '{"type":"service_account","client_secret":"' + _S + '"}'},
            _S,
        ),
        hiding(
            "repr of a dataclass in a list",
            {"t": f"[Login(user='bob', token='{_S}'), Login(user='x', token=None)]"},
            _S,
        ),
        hiding("f-string of debugging", {"t": f"password={_S!r}"}, _S),
        hiding(
            "header dump",
            {"t": "> Authorization: Basic dXNlcjp3ZDZtYWRlODE=\n> Accept: */*"},
            "dXNlcjp3ZDZtYWRlODE=",
        ),
        hiding("WebSocket", {"u": f"wss://x.example/ws?access_token={_S}&v=1"}, _S),
        hiding("SMTP URL", {"t": f"smtps://bob%40x.example:{_S}@mail.example:465"}, "bob%40x.example", _S),
        hiding("git remote with a token", {"t": f"https://oauth2:{_S}@code.example/g/r.git"}, _S),
        hiding("basic auth pair", {"auth": ["bob", _S]}, _S),
        hiding("nested header map", {"request": {"headers": {"x-amz-security-token": _S}}}, _S),
        hiding("JSON in a query", {"u": "https://x.example/a?f=%7B%22password%22%3A%22" + _S + "%22%7D"}, _S),
        hiding("Unicode-escaped JSON", {"body": '{"\\u0070assword": "' + _S + '"}'}, _S),
        hiding("HTML form", {"t": f'<input type="hidden" name="csrf_token" value="{_S}">'}, _S),
        hiding("meta tag", {"t": f'<meta name="api-key" content="{_S}">'}, _S),
        hiding("Chinese sentence", {"t": f"账号是bob，密码是{_S}，请尽快修改"}, _S),
        hiding("Russian label", {"t": f"Пароль: {_S}"}, _S),
        hiding("Spanish label", {"t": f"La contraseña es: {_S}"}, _S),
    ]


def _vendors() -> list[dict[str, Any]]:
    return [
        hiding("HubSpot", {"t": f"key {_HUBSPOT}"}, _HUBSPOT),
        hiding("Plaid", {"t": _PLAID}, _PLAID),
        hiding("Razorpay", {"t": f"({_RAZOR})"}, _RAZOR),
        hiding("Sonar", {"t": f"-D x={_SONAR}"}, _SONAR),
        hiding("Firecrawl", {"t": _FIRE}, _FIRE),
        hiding("ElevenLabs", {"t": f"voice {_ELEVEN}"}, _ELEVEN),
        hiding("Pinecone", {"t": _PINECONE}, _PINECONE),
        hiding("Google access", {"t": f"tok {_OAUTH}"}, _OAUTH),
        hiding("Google client", {"t": _GOCSPX}, _GOCSPX),
        hiding("CircleCI", {"t": _CIRCLE}, _CIRCLE),
        hiding("Buildkite", {"t": f"{_BUILDKITE},"}, _BUILDKITE),
        hiding("Terraform", {"t": f"x {_TERRAFORM}"}, _TERRAFORM),
        hiding("Airtable", {"t": f"use {_AIRTABLE} now"}, _AIRTABLE),
        hiding("Contentful", {"t": _CONTENTFUL}, _CONTENTFUL),
        hiding("1Password", {"t": _ONEPASS}, _ONEPASS),
        hiding("Sourcegraph", {"t": _SOURCEGRAPH}, _SOURCEGRAPH),
        hiding("Discord bot", {"t": f"client.run('{_BOT}')"}, _BOT),
        hiding("Cloudflare origin", {"t": _CLOUDFLARE}, _CLOUDFLARE),
        hiding("Artifactory", {"t": f"k={_ARTIFACTORY}"}, _ARTIFACTORY),
        hiding("WeCom", {"t": _WECOM}, _WECOM.rsplit("=", 1)[1]),
        hiding("encrypted block", {"t": _ENCRYPTED}, made(64, BASE64, "enc"), expect="<MASK>"),
    ]


def _personal() -> list[dict[str, Any]]:
    return [
        hiding(
            "address with a dash domain",
            {"t": "x_y-z@mail-1.sub.example.museum!"},
            "x_y-z@mail-1.sub.example.museum",
        ),
        hiding(
            "address in quotes",
            {"t": '"jo@example.com","ann@example.com"'},
            "jo@example.com",
            "ann@example.com",
        ),
        hiding("Australian", {"t": "+61 2 9374 4000"}, "+61 2 9374 4000"),
        hiding("Korean", {"t": "+82-10-1234-5678"}, "+82-10-1234-5678"),
        hiding("Hong Kong", {"t": "+852 5123 4567"}, "+852 5123 4567"),
        hiding("Spanish", {"t": "+34 612 345 678"}, "+34 612 345 678"),
        hiding("double zero China", {"t": "0086 13912345678"}, "0086 13912345678"),
        hiding("Diners", {"t": f"card {_DINERS}"}, _DINERS),
        hiding("Mir", {"t": _MIR}, _MIR),
        hiding("resident id, leap day", {"t": _RESIDENT}, _RESIDENT),
        hiding("social security, words glued", {"t": "社保449-61-2207号"}, "449-61-2207"),
    ]


def _clean() -> list[dict[str, Any]]:
    return [
        clean("hidden by pydantic", {"t": "Login(user='bob', password=SecretStr('**********'))"}),
        clean("hidden by httpx", {"t": "Headers({'authorization': '[secure]', 'accept': '*/*'})"}),
        clean("select of columns", {"t": "SELECT id, password, token FROM users WHERE id = 1"}),
        clean(
            "create table", {"t": "CREATE TABLE users (id INT, password VARCHAR(64) NOT NULL, token TEXT)"}
        ),
        clean("insert with parameters", {"t": "INSERT INTO users (name, password) VALUES (?, ?)"}),
        clean(
            "update with parameters", {"t": "UPDATE users SET password = %s, token = :token WHERE id = $1"}
        ),
        clean(
            "table of options",
            {
                "t": "| option | meaning |\n|---|---|\n| password | the password of the user |\n| token | its token |"
            },
        ),
        clean("CSV of usage", {"t": "model,total_tokens\ngpt,1200\nclaude,900\n"}),
        clean("CSV of headings", {"t": "password,token\n"}),
        clean("list of words", {"t": "password, token, secret and key are words"}),
        clean("issue title", {"t": "Fix: token refresh fails when the password has a quote (#123)"}),
        clean(
            "log line of a login", {"t": "2026-03-04 05:06:07 INFO auth: login ok user=bob method=password"}
        ),
        clean("log of a policy", {"t": "password policy: min_length=12 max_age=90d"}),
        clean("exit of a linter", {"t": 'S105 Possible hardcoded password assigned to: "token_type"'}),
        clean("doc string", {"t": ":param token: the token of the session\n:param password: optional"}),
        clean("numpy doc", {"t": "password : str\n    The password.\ntoken : str, optional"}),
        clean(
            "Dockerfile", {"t": "ARG NPM_TOKEN\nENV PATH=/usr/bin\nRUN --mount=type=secret,id=token npm ci"}
        ),
        clean("actions", {"t": "with:\n  token: ${{ github.token }}\n  password: ${{ env.PW }}"}),
        clean("Ansible vault reference", {"t": 'password: "{{ vault_db_password }}"'}),
        clean(
            "Kotlin code",
            {"t": "val token = repository.findToken(id)\nval password = config.getString(name)"},
        ),
        clean(
            "JavaScript code", {"t": "const token = await getToken(); const apiKey = process.env.API_KEY;"}
        ),
        clean("Go code", {"t": 'token := r.Header.Get(name)\nif password == "" { return err }'}),
        clean("Rust code", {"t": "let token: String = args.token; let key = cache_key(&id);"}),
        clean("comparison", {"t": "if token == other_token and password != confirm:"}),
        clean("indexing", {"t": "token = tokens[0]; secret = secrets[name]; password = row['pw']"}),
        clean(
            "type hints", {"t": "token: Optional[str] = None\npassword: SecretStr\napi_key: str = Field(...)"}
        ),
        clean(
            "JSON schema in a string", {"body": '{"password":{"type":"string"},"token":{"type":"string"}}'}
        ),
        clean(
            "tool definition",
            {"tools": [{"name": "login", "input_schema": {"properties": {"api_key": {"type": "string"}}}}]},
        ),
        clean(
            "a question of a model", {"content": "What is your password? Please do not share your API key."}
        ),
        clean(
            "an answer of a model",
            {"content": "I cannot see any token. The secret key is stored in the vault."},
        ),
        clean(
            "prose with is",
            {"t": "The password is wrong. The token is valid until Monday. The secret is safe."},
        ),
        clean("prose in Chinese", {"t": "密码是必填项，令牌已过期，请重新获取验证码。"}),
        clean("prose in Spanish", {"t": "La contraseña es obligatoria; el token ha caducado."}),
        clean("prose in French", {"t": "Le mot de passe est incorrect. Jeton expiré."}),
        clean("prose in Russian", {"t": "Пароль введён неверно, токен истёк."}),
        clean("prose in Japanese", {"t": "パスワードを忘れた場合は、再設定してください。"}),
        clean("prose in Korean", {"t": "비밀번호가 올바르지 않습니다."}),
        clean("codes that are none", {"t": "exit code is 137, status code: 404, error code 10054"}),
        clean("ZIP and area", {"t": "zip code: 94107, country code: 86, area code: 415"}),
        clean("postal codes", {"postal_code": "94107", "zipCode": "10115", "countryCode": "+86"}),
        clean(
            "promo",
            {"promo_code": "SPRING26", "discount_code": "AB12", "error_code": 137, "code": "print(1)"},
        ),
        clean("status codes", {"status_code": 200, "exitCode": 1, "language_code": "de"}),
        clean("versions of TLS", {"t": "TLSv1.3 ECDHE-RSA-AES128-GCM-SHA256, key exchange x25519"}),
        clean("fingerprint", {"t": "SHA256:" + made(43, BASE64, "fp") + " bob@host (ED25519)"}),
        clean("webhook docs", {"t": "POST to https://hooks.example.com/services/<your-path>"}),
        clean("URL of docs", {"u": "https://docs.example.com/api/tokens?key=value&id=3"}),
        clean("URL with an at", {"u": "https://www.example.com/@jane/post-12?tab=keys"}),
        clean("mail-like paths", {"t": "node_modules/@babel/core@7.2.0/lib, image@2x.jpg, a@1.0"}),
        clean("host of a shell", {"t": "bob@web-1:~$ ls\nroot@db:/# exit"}),
        clean("metrics", {"t": 'http_requests_total{code="200",method="get"} 1027 1395066363000'}),
        clean("statistics", {"p50": 13912345678, "rows": 15912345678, "size_bytes": 13800138000}),
        clean("duration", {"duration_ns": 13912345678, "elapsed": 13800138000.5}),
        clean("geo", {"lat": 39.9042, "lon": 116.4074, "bbox": [116.1, 39.7, 116.7, 40.2]}),
        clean("vector", {"embedding": [0.0123456789012, -0.9876543210987, 0.4111111111111111]}),
        clean("a table of numbers", {"t": "2024 2025 2026\n1000 2000 3000\n415 555 0132 9 8"}),
        clean("phone-like version", {"t": "build 415-555-0132-rc1 and v1.415.555.0132"}),
        clean(
            "pod names", {"t": "pod/api-" + made(10, LOWER, "p1") + "-abcde, rs/api-" + made(10, LOWER, "p2")}
        ),
        clean("hashes in a list", {"files": [{"sha1": made(40, HEX, "s1"), "md5": made(32, HEX, "m1")}]}),
        clean("upper hash", {"t": "MD5 " + made(32, "0123456789ABCDEF", "m2")}),
        clean("base32", {"t": "id " + made(26, UPPER, "b32")}),
        clean("slug", {"t": "how-to-reset-your-password-in-5-steps-2026"}),
        clean("keyboard keys", {"key": "Enter", "keys": ["ctrl", "k"], "keyCode": 13, "hotkey": "cmd+k"}),
        clean("dictionary of a model", {"logprobs": {"token": "Hello", "logprob": -0.1, "top": []}}),
        clean(
            "tokens of a parser", {"tokens": [{"type": "NAME", "value": "x1"}, {"type": "OP", "value": "="}]}
        ),
        clean(
            "attention", {"special_tokens": {"bos_token": "<s>", "eos_token": "</s>"}, "token_ids": [1, 2]}
        ),
    ]
