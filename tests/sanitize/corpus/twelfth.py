# ruff: noqa: E501
# fmt: off
"""The twelfth set of labelled cases: chats, tickets and pages, files of many languages, and short notes in which hardly
a sign stands between a name and its value; written apart from the rules after the sets before were mended."""

from typing import Any

from .making import BASE64, HEX, clean, hiding, made, numbered


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered("l", [*_secrets(), *_clean()])


def _secrets() -> list[dict[str, Any]]:
    return [
        hiding('slack export', {'messages': [{'user': 'U1', 'text': 'new staging creds: user `qa`, pass `Drossel-11x`'}]}, 'Drossel-11x'),
        hiding('jira comment', {'body': 'h3. Access\n||Env||Login||Password||\n|stage|qa|Amsel-22x|\n'}, 'Amsel-22x'),
        hiding('confluence html list', {'html': '<ul><li><b>Username:</b> qa</li><li><strong>Password:</strong> Fink-33x</li></ul>'}, 'Fink-33x'),
        hiding('yaml secret k8s stringData', {'y': 'kind: Secret\nstringData:\n  config.ini: |\n    [db]\n    password=Star-44x\n'}, 'Star-44x'),
        hiding('helm values', {'y': 'postgresql:\n  auth:\n    postgresPassword: Meise-55x\n    replicationPassword: "Meise-66x"\n'}, 'Meise-55x', 'Meise-66x'),
        hiding('grafana ini', {'t': '[security]\nadmin_password = """Kauz#88x"""\nsecret_key = SW2YcwTIb9zpOOhoPsMm\n'}, 'Kauz#88x', 'SW2YcwTIb9zpOOhoPsMm'),
        hiding('elastic setup', {'t': 'The generated password for the elastic built-in superuser is : Uhu99xQpLm\n'}, 'Uhu99xQpLm'),
        hiding('rabbit definitions', {'users': [{'name': 'app', 'password_hash': made(48, BASE64, 'rb'), 'tags': 'administrator'}]}, made(48, BASE64, 'rb')),
        hiding('ssh config ProxyCommand', {'t': 'ProxyCommand sshpass -p Specht-10x ssh -W %h:%p jump'}, 'Specht-10x'),
        hiding('curl cookie flag', {'cmd': "curl -b 'session=Eule-21x; lang=de' https://a.internal"}, 'session=Eule-21x; lang=de'),
        hiding('curl header token word', {'cmd': "curl -H 'Authorization: token Eule-32xabc' -H 'PRIVATE-TOKEN: Eule-43x' u"}, 'Eule-32xabc', 'Eule-43x', expect={'cmd': "curl -H 'Authorization: <MASK>' -H 'PRIVATE-TOKEN: <MASK>' u"}),
        hiding('powershell credential', {'ps': "$cred = New-Object PSCredential('ann', (ConvertTo-SecureString -String 'Falke-54x' -AsPlainText -Force))"}, 'Falke-54x'),
        hiding('bash heredoc env file', {'sh': 'cat > .env <<EOF\nDB_USER=a\nDB_PASS=Habicht-65x\nEOF\n'}, 'Habicht-65x'),
        hiding('make var', {'mk': 'DOCKER_PASSWORD ?= Sperber-76x\nTOKEN := Sperber-87x\n'}, 'Sperber-76x', 'Sperber-87x'),
        hiding('nix', {'n': 'services.db = { user = "a"; password = "Milan-98x"; };'}, 'Milan-98x'),
        hiding('lua table', {'l': 'local cfg = { host = "h", password = "Weihe-09x" }\ncfg["api_key"] = "Weihe-10x"'}, 'Weihe-09x', 'Weihe-10x'),
        hiding('r', {'r': 'con <- dbConnect(drv, user = "a", password = "Kondor-32x")\nSys.setenv(API_KEY = "Kondor-43x")'}, 'Kondor-32x', 'Kondor-43x'),
        hiding('vba', {'v': 'cn.Open "Provider=SQLOLEDB;User ID=sa;Password=Geier-54x;"\nConst PWD = "Geier-65x"'}, 'Geier-54x', 'Geier-65x'),
        hiding('dart kotlin named', {'d': "final client = Client(apiKey: 'Reiher-76x', baseUrl: u);"}, 'Reiher-76x'),
        hiding('graphql headers json', {'headers': '{"x-hasura-admin-secret":"Kranich-87x"}'}, 'Kranich-87x'),
        hiding('sentry breadcrumbs', {'crumbs': [{'category': 'xhr', 'data': {'url': 'https://a/api?access_token=Storch-98x&x=1'}}]}, 'Storch-98x'),
        hiding('pm2 env dump', {'t': '┌─────────────┬────────────┐\n│ status      │ online     │\n│ DB_PASSWORD │ Ibis-09x   │\n└─────────────┴────────────┘'}, 'Ibis-09x'),
        hiding('ini multi equals', {'t': 'connection = user=a password=Pelikan-10x host=h\n'}, 'Pelikan-10x'),
        hiding('django dsn', {'t': "DATABASES = {'default': {'ENGINE': 'pg', 'USER': 'a', 'PASSWORD': 'Möwe-21x', 'HOST': 'h'}}"}, 'Möwe-21x'),
        hiding('git remote with token user', {'t': 'origin  https://ghp_' + made(36, seed='gx') + '@github.com/a/b (push)'}, 'ghp_' + made(36, seed='gx')),
        hiding('otp sms en', {'sms': '482913 is your verification code.'}, '482913'),
        hiding('otp sms de', {'sms': 'Ihr Bestätigungscode lautet: 391204'}, '391204'),
        hiding('whatsapp fr', {'t': "[10:12] Luc: le mdp c'est Mouette-32x\n[10:13] Eva: merci"}, 'Mouette-32x'),
        hiding('ticket it', {'t': 'Utente: m.rossi / Password: Gabbiano-43x'}, 'Gabbiano-43x'),
        hiding('email pt', {'t': 'Login: ana | Senha: Gaivota-54x'}, 'Gaivota-54x'),
        hiding('jp mail', {'t': 'ID: tanaka\nPW: Kamome-65x'}, 'Kamome-65x'),
        hiding('cn mail', {'t': '账号 admin 密码 Haiou76x 请妥善保管'}, 'Haiou76x'),
        hiding('kr mail', {'t': '아이디 admin / 비번 Galmae87x'}, 'Galmae87x'),
        hiding('ru chat', {'t': 'логин ivan пароль Chaika98x'}, 'Chaika98x'),
        hiding('keepass xml', {'xml': '<String><Key>Password</Key><Value ProtectInMemory="True">Tern-10x</Value></String>'}, 'Tern-10x'),
        hiding('chrome csv export', {'csv': 'name,url,username,password,note\ngit,https://g,ann,Tern-21x,\n'}, 'Tern-21x'),
        hiding('bitwarden json', {'items': [{'name': 'g', 'login': {'username': 'a', 'password': 'Tern-32x', 'totp': made(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 'bw')}}]}, 'Tern-32x', made(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 'bw')),
        hiding('ms teams adaptive facts', {'facts': [{'title': 'Password', 'value': 'Tern-43x'}, {'title': 'Host', 'value': 'h'}]}, 'Tern-43x'),
        hiding('key val pairs list dict', {'env': [{'key': 'API_TOKEN', 'val': 'Tern-54x'}]}, 'Tern-54x'),
        hiding('passport de', {'t': 'Reisepass-Nr. C01X00T47, ausgestellt 2020'}, 'C01X00T47'),
        hiding('iban pl', {'t': 'Nr konta: 61 1090 1014 0000 0712 1981 2874'}, '61 1090 1014 0000 0712 1981 2874'),
        hiding('us phone in json', {'contact': {'tel': '(212) 555-0187', 'work_phone': '2125550188'}}, '(212) 555-0187', '2125550188'),
        hiding('email obfus', {'t': 'reply to Ann.Lee@Example.COM. Thanks'}, 'Ann.Lee@Example.COM'),
        hiding('mac addr style key hex', {'wep_key': '1A:2B:3C:4D:5E'}, '1A:2B:3C:4D:5E'),
        hiding('hex key named', {'aes_key': made(64, HEX, 'aes'), 'iv': '00'}, made(64, HEX, 'aes')),
    ]


def _clean() -> list[dict[str, Any]]:
    return [
        clean('pr text', {'t': 'Adds token bucket limiter; password hashing moved to argon2 (#912). Secret rotation is next.'}),
        clean('yaml ci', {'y': 'env:\n  TOKEN: ${{ secrets.TOKEN }}\nwith:\n  password: ${{ github.token }}\n'}),
        clean('log', {'t': 'user ann changed password; 2 sessions revoked; token ids 14, 15'}),
        clean('code2', {'t': "if password != confirm: raise ValueError('passwords differ')\nsecret = hashlib.sha256(data).hexdigest()"}),
        clean('docs2', {'t': "Set API_KEY to your key. `password` (string, required): the user's password. `token` (optional)"}),
        clean('errors', {'errors': {'password': ['This field is required.'], 'token': ['Invalid value.']}}),
        clean('table feature', {'t': '| Feature | Free | Pro |\n|---|---|---|\n| API keys | 1 | 10 |\n| Secrets | 5 | unlimited |\n| Tokens per day | 10000 | 1000000 |'}),
        clean('llm', {'choices': [{'logprobs': {'content': [{'token': 'Hello', 'logprob': -0.1}]}}], 'usage': {'total_tokens': 12}}),
        clean('pci', {'t': 'PCI scan: 0 cards found; SSN fields: 0; phone fields: 2; email fields: 1'}),
        clean('vcs', {'t': "Merge branch 'feature/token-refresh' into main; tag v2.1.0-secret-fix"}),
        clean('git diff', {'t': '-    password: str\n+    password: SecretStr\n-token = get_token()\n+token = await get_token()'}),
        clean('ts types', {'t': 'export type Auth = { token: string | undefined; apiKey?: string; pin: number };'}),
        clean('k8s yaml ref', {'y': '- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n      key: password\n'}),
        clean('terraform var', {'t': 'variable "db_password" {\n  type      = string\n  sensitive = true\n}\n'}),
        clean('ansible', {'y': '- name: set password\n  user:\n    name: bob\n    password: "{{ lookup(\'env\', \'PW\') }}"\n  no_log: true\n'}),
        clean('openssl out', {'t': 'Certificate will not expire\nSHA256 Fingerprint=AB:CD:EF:01:23\nPublic-Key: (2048 bit)\nsubject=CN = a'}),
        clean('numbers', {'t': 'Order 4482 1190, batch 20241104-118, lot 88-2041, 1,204 pcs at 12.50'}),
        clean('urls', {'t': 'https://docs.example.com/auth/tokens?tab=keys#api-key and https://a.b/reset-password and https://a/?page=2&code=DE'}),
        clean('json schema example', {'password': {'type': 'string', 'format': 'password'}, 'token': {'$ref': '#/defs/Token'}}),
        clean('shell help', {'t': 'Options:\n  -p, --port PORT      port to listen on\n  -k, --key FILE       private key file\n  -t, --token-file F   read token from F\n'}),
        clean('cron', {'t': '*/5 * * * * /usr/local/bin/rotate-secrets --all >> /var/log/secrets.log 2>&1'}),
        clean('fr', {'t': 'Jeton de caisse n° 12 ; clé USB de 64 Go ; code promo ETE2024 ; mot clé : voyage'}),
        clean('de', {'t': 'Schlüsselübergabe am 4.11. um 10 Uhr, Code-Review um 14 Uhr, PIN-Eingabe dreimal falsch, Handy: iPhone 15'}),
        clean('es', {'t': 'La clave primaria es id. Código fuente en /src. Token inválido o caducado.'}),
        clean('zh', {'t': '关键字：旅行；主键：id；电话会议 10 点开始；密码学入门；卡号格式错误'}),
    ]
