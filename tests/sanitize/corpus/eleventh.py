# ruff: noqa: E501
# fmt: off
"""The eleventh set of labelled cases: what clouds' tools print, files of settings, statements of databases and short
notes in many languages, written apart from the rules after those of the sets before were mended."""

from typing import Any

from .making import BASE64, HEX, LOWER, UPPER, URLSAFE, clean, hiding, made, numbered


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered("k", [*_secrets(), *_clean()])


def _secrets() -> list[dict[str, Any]]:
    return [
        hiding('gcloud print', {'stdout': '$ gcloud auth print-access-token\nya29.a0' + made(180, URLSAFE, 'g') + '\n'}, 'ya29.a0' + made(180, URLSAFE, 'g')),
        hiding('aws sts json', {'Credentials': {'AccessKeyId': 'ASIA' + made(16, UPPER, 'z'), 'SecretAccessKey': made(40, BASE64, 's'), 'SessionToken': made(300, BASE64, 't'), 'Expiration': '2026-01-01T00:00:00Z'}}, 'ASIA' + made(16, UPPER, 'z'), made(40, BASE64, 's'), made(300, BASE64, 't')),
        hiding('aws credentials file', {'content': '[default]\naws_access_key_id = AKIA' + made(16, UPPER, 'y') + '\naws_secret_access_key = ' + made(40, BASE64, 'y') + '\naws_session_token=' + made(200, BASE64, 'y') + '\nregion = eu-west-1\n'}, 'AKIA' + made(16, UPPER, 'y'), made(40, BASE64, 'y'), made(200, BASE64, 'y')),
        hiding('GCP service account json as text', {'content': '{\n  "type": "service_account",\n  "private_key_id": "ab",\n  "private_key": "-----BEGIN PRI' + 'VATE KEY-----\\n' + made(64, BASE64, 'k') + '\\n-----END PRI' + 'VATE KEY-----\\n",\n  "client_email": "x@y.iam.gserviceaccount.com"\n}'}, made(64, BASE64, 'k'), 'x@y.iam.gserviceaccount.com', expect={'content': '{\n  "type": "service_account",\n  "private_key_id": "ab",\n  "private_key": "<MASK>",\n  "client_email": "<MASK>"\n}'}),
        hiding('vault kv get', {'stdout': '====== Data ======\nKey         Value\n---         -----\npassword    Bergahorn-11\nusername    app\n'}, 'Bergahorn-11'),
        hiding('vault token create', {'stdout': 'Key                  Value\n---                  -----\ntoken                hvs.' + made(90, URLSAFE, 'v') + '\ntoken_duration       768h\n'}, 'hvs.' + made(90, URLSAFE, 'v')),
        hiding('printenv', {'stdout': 'HOME=/root\nPGPASSWORD=Esche-33\nSECRET_KEY_BASE=' + made(128, HEX, 'r') + '\nTERM=xterm\n'}, 'Esche-33', made(128, HEX, 'r')),
        hiding('django settings', {'src': "SECRET_KEY = 'django-insecure-" + made(50, LOWER + '!@#$%^&*(-_=+)', 'dj') + "'\nDEBUG = True\n"}, 'django-insecure-' + made(50, LOWER + '!@#$%^&*(-_=+)', 'dj')),
        hiding('rails credentials', {'yaml': 'production:\n  secret_key_base: ' + made(64, HEX, 'rb') + "\n  smtp:\n    user_name: a\n    password: 'Linde 44'\n"}, made(64, HEX, 'rb'), 'Linde 44'),
        hiding('spring yaml nested', {'yaml': 'spring:\n  datasource:\n    url: jdbc:postgresql://db/x\n    username: sa\n    password: Buche!55\n  mail:\n    password: "Buche#66"\n'}, 'Buche!55', 'Buche#66'),
        hiding('appsettings', {'text': '{"ConnectionStrings": {"Default": "Server=.;Database=x;User Id=sa;Password=Eibe$77;TrustServerCertificate=True"}}'}, 'Eibe$77'),
        hiding('ansible inventory', {'ini': '[db]\ndb1 ansible_host=10.0.0.1 ansible_user=root ansible_password=Tanne_88 ansible_become_pass=Tanne_99\n'}, 'Tanne_88', 'Tanne_99'),
        hiding('docker compose interpolation default', {'yaml': 'environment:\n  - POSTGRES_PASSWORD=${PGPW:-Fichte-10}\n  - MODE=x\n'}, 'Fichte-10'),
        hiding('nginx header', {'conf': 'location / {\n  proxy_set_header X-Api-Key "Kiefer-21";\n  proxy_set_header Authorization "Basic YWRtaW46S2llZmVyLTMy";\n}\n'}, 'Kiefer-21', 'Basic YWRtaW46S2llZmVyLTMy'),
        hiding('apache', {'conf': 'RequestHeader set X-Auth-Token "Larche-43"\nSetEnv DB_PASSWORD Larche-54\n'}, 'Larche-43', 'Larche-54'),
        hiding('prometheus scrape', {'yaml': 'basic_auth:\n  username: prom\n  password: Zeder-65\nbearer_token: Zeder-76-abc\n'}, 'Zeder-65', 'Zeder-76-abc'),
        hiding('git config', {'text': '[remote "origin"]\n\turl = https://oauth2:Palme-87@gitlab.internal/a/b.git\n[http]\n\textraheader = AUTHORIZATION: basic eC1hY2Nlc3M6UGFsbWUtOTg=\n'}, 'Palme-87', 'eC1hY2Nlc3M6UGFsbWUtOTg='),
        hiding('pip conf', {'text': '[global]\nindex-url = https://__token__:Olive-09@pypi.internal/simple\n'}, 'Olive-09'),
        hiding('gradle props', {'text': 'signing.keyId=AB12\nsigning.password=Myrte-10\nsonatypeUsername=x\nsonatypePassword=Myrte-21\n'}, 'Myrte-10', 'Myrte-21'),
        hiding('maven', {'xml': '<server><id>nexus</id><username>d</username><password>Lorbeer-32</password></server>'}, 'Lorbeer-32'),
        hiding('composer auth', {'json': {'http-basic': {'repo.internal': {'username': 'u', 'password': 'Feige-43'}}, 'github-oauth': {'github.com': 'ghp_' + made(36, seed='gh')}}}, 'Feige-43', 'ghp_' + made(36, seed='gh')),
        hiding('rclone', {'conf': '[b2]\ntype = b2\naccount = 001\nkey = K001' + made(27, seed='b2') + '\n[sftp]\npass = ' + made(30, URLSAFE, 'rc') + '\n'}, made(30, URLSAFE, 'rc')),
        hiding('supervisor', {'conf': '[program:x]\nenvironment=DB_PASS="Dattel-54",MODE="x"\n'}, 'Dattel-54'),
        hiding('OpenVPN auth file named', {'cmd': "printf 'user\\nQuitte-65\\n' > /etc/openvpn/auth.txt; export VPN_PASS=Quitte-76"}, 'Quitte-76'),
        hiding('wpa-eap', {'conf': 'network={\n identity="bob"\n password="Schlehe 87"\n}'}, 'Schlehe 87'),
        hiding('cisco', {'conf': 'enable secret 5 $1$mERr$hx5rVt7rPNoS4wqbXKX7m0\nusername admin password 7 0822455D0A16\nsnmp-server community Kirsche98 RO\n'}, '$1$mERr$hx5rVt7rPNoS4wqbXKX7m0', '0822455D0A16', 'Kirsche98'),
        hiding('mosquitto', {'cmd': "mosquitto_sub -h mq -u dev -P Pflaume-09 -t '#'"}, 'Pflaume-09'),
        hiding('ffmpeg rtsp', {'cmd': 'ffmpeg -i rtsp://admin:Birne-10@cam1:554/h264 -f null -'}, 'Birne-10'),
        hiding('ftp url list', {'urls': ['ftp://u:Apfel-21@h/x', 'sftp://u:Apfel-32@h:22/x', 'smb://d;u:Apfel-43@h/s', 'ldap://cn=a:Apfel-54@h', 'http://u:Apfel-65@h/']}, 'Apfel-21', 'Apfel-32', 'Apfel-43', 'Apfel-54', 'Apfel-65'),
        hiding('sqlalchemy echo', {'log': "INFO sqlalchemy.engine.Engine INSERT INTO users (name, password) VALUES (?, ?)\nINFO [generated in 0.0s] {'name': 'bob', 'password': 'Mango-76'}"}, 'Mango-76'),
        hiding('postgres log statement', {'log': "LOG:  statement: ALTER USER app WITH PASSWORD 'Papaya-87';"}, 'Papaya-87'),
        hiding('mysql set password', {'q': "SET PASSWORD FOR 'bob'@'localhost' = 'Guave-98'; GRANT ALL ON *.* TO 'x'@'%' IDENTIFIED BY 'Guave-09'"}, 'Guave-98', 'Guave-09'),
        hiding('snowflake', {'q': "CREATE USER x PASSWORD='Litschi-10' MUST_CHANGE_PASSWORD=TRUE; COPY INTO s3 CREDENTIALS=(AWS_KEY_ID='AKIA" + made(16, UPPER, 'sn') + "' AWS_SECRET_KEY='" + made(40, BASE64, 'sn') + "')"}, 'Litschi-10', 'AKIA' + made(16, UPPER, 'sn'), made(40, BASE64, 'sn')),
        hiding('mssql linked', {'q': "EXEC sp_addlinkedsrvlogin @rmtsrvname='x', @rmtuser='u', @rmtpassword='Kiwi-21'"}, 'Kiwi-21'),
        hiding('oracle', {'q': 'ALTER USER scott IDENTIFIED BY tiger99x'}, 'tiger99x'),
        hiding('JS fetch', {'src': "fetch(u, { headers: { 'x-api-key': 'Orange-43', Authorization: `Token Orange-54-abc` } })"}, 'Orange-43', 'Token Orange-54-abc'),
        hiding('axios config dump escaped', {'err': '{\\"headers\\":{\\"Authorization\\":\\"Bearer Zitrone65abcdef\\",\\"Accept\\":\\"*\\"}}'}, 'Bearer Zitrone65abcdef'),
        hiding('node inspect Map', {'log': "Map(2) { 'user' => 'bob', 'password' => 'Melone-76' }"}, 'Melone-76'),
        hiding('python logging extra', {'msg': 'login attempt user=%s password=%s', 'args': ['bob', 'x'], 'kwargs': {'pwd': 'Traube-87'}}, 'Traube-87'),
        hiding('namedtuple repr', {'r': "Credentials(user='a', password='Beere-98', token=None)"}, 'Beere-98'),
        hiding('HTTP 2 pseudo headers', {'h': {':method': 'GET', ':path': '/x?api_key=Heidel-09&p=1', 'cookie': 'a=Heidel-10'}}, 'Heidel-09', 'Heidel-10', expect={'h': {':method': 'GET', ':path': '/x?api_key=<MASK>&p=1', 'cookie': '<MASK>'}}),
        hiding('OIDC token response text', {'t': 'id_token=ey' + 'J' + made(30, seed='a') + '.ey' + 'J' + made(40, seed='b') + '.' + made(43, seed='c') + '&token_type=Bearer'}, 'ey' + 'J' + made(30, seed='a') + '.ey' + 'J' + made(40, seed='b') + '.' + made(43, seed='c')),
        hiding('matrix sync token', {'access_token': 'syt_Ym9i_' + made(20, seed='m') + '_abc', 'device_id': 'X', 'home_server': 'h'}, 'syt_Ym9i_' + made(20, seed='m') + '_abc'),
        hiding('Spanish email', {'t': 'Usuario: pedro\nContraseña temporal: Cereza-21\nPIN de acceso: 4821'}, 'Cereza-21', '4821'),
        hiding('German Zugang', {'t': 'Benutzername: ilse\nInitialpasswort: Aprikose-32\nEinmalcode: 482913\nKundennummer: 10023'}, 'Aprikose-32', '482913'),
        hiding('French wifi', {'t': "Clé WiFi : Peche-43\nCode d'accès : 7391#\nMDP: Peche-54"}, 'Peche-43', '7391#', 'Peche-54'),
        hiding('Italian', {'t': 'Nome utente: rossi\nPassword provvisoria: Prugna-65\nCodice OTP: 550912\nP.IVA pubblica'}, 'Prugna-65', '550912'),
        hiding('Russian', {'t': 'Логин: ivan\nВременный пароль: Груша-76a1\nКод из СМС: 4821\nПаспорт 4510 123456'}, 'Груша-76a1', '4510 123456'),
        hiding('Portuguese', {'t': 'Senha do Wi-Fi: Caju-87\nToken de acesso: tk-Caju-98\nCNH: 12345678900'}, 'Caju-87', 'tk-Caju-98', '12345678900'),
        hiding('Japanese', {'t': '仮パスワード：Momo-09\nワンタイムパスワード: 482913\n暗証番号は1357です'}, 'Momo-09', '482913', '1357'),
        hiding('Chinese', {'t': '初始密码：Tao-10\n动态口令 482913\n登录令牌=abc-21x'}, 'Tao-10', '482913', 'abc-21x'),
        hiding('Korean', {'t': '임시 비밀번호: Bok-32\n계좌번호 110-123-456789'}, 'Bok-32', '110-123-456789'),
        hiding('Polish', {'t': 'Tymczasowe hasło: Jabłko-43\nNumer PESEL 44051401359\nNr dowodu: ABC123456'}, 'Jabłko-43', '44051401359', 'ABC123456'),
        hiding('Turkish', {'t': 'Geçici parola: Elma-54\nTC kimlik no 10000000146'}, 'Elma-54', '10000000146'),
        hiding('Dutch', {'t': 'Tijdelijk wachtwoord: Appel-65\nBSN 111222333'}, 'Appel-65', '111222333'),
        hiding('phones', {'t': 'Ring me: 0151-23456789? or +43 (0)660 1234567; WhatsApp: +972-54-123-4567; 00 33 6 12 34 56 78'}, '+43 (0)660 1234567', '+972-54-123-4567'),
        hiding('name value XML attr', {'xml': '<setting name="SmtpPassword" serializeAs="String"><value>Aster-76</value></setting>'}, 'Aster-76'),
        hiding('INI section spaces', {'ini': '[auth]\nApi Key = Aster-87\nClient Secret = Aster-98\n'}, 'Aster-87', 'Aster-98'),
        hiding('table with blanks', {'out': 'HOST      USER     PASSWORD\ndb1       app      Dahlie-09\ndb2       app      Dahlie-10\n'}, 'Dahlie-09', 'Dahlie-10'),
        hiding('key=value in brackets log4j', {'log': '[main] INFO Conf - {db.password=Nelke-21, db.url=jdbc:h2}'}, 'Nelke-21'),
        hiding('yaml list items dict', {'yaml': 'users:\n  - name: bob\n    password: Tulpe-32\n  - {name: ann, password: Tulpe-43}\n'}, 'Tulpe-32', 'Tulpe-43'),
        hiding('dict keys caps', {'Parameters': [{'Name': '/prod/db/password', 'Type': 'SecureString', 'Value': 'Rose-54'}]}, 'Rose-54'),
        hiding('secretsmanager get', {'ARN': 'arn:aws:secretsmanager:eu:1:secret:x', 'Name': 'prod/db', 'SecretString': '{"username":"a","password":"Rose-65"}'}, 'Rose-65', expect={'ARN': 'arn:aws:secretsmanager:eu:1:secret:x', 'Name': 'prod/db', 'SecretString': '<MASK>'}),
    ]


def _clean() -> list[dict[str, Any]]:
    return [
        clean('prose security', {'t': 'Rotate the API key every 90 days. A token of type 3 is fine. The key to the city. Secret management is hard.'}),
        clean('jira list', {'t': 'SEC-104 token refresh fails after 60 min\nSEC-105 password reset mail not sent (3 reports)\nSEC-106: cookie banner overlaps'}),
        clean('git log', {'t': 'a1b2c3d4 fix: token expiry off by one\nb2c3d4e5 feat(auth): add password strength meter (#1204)\n'}),
        clean('ls certs', {'t': 'server.key  server.crt  ca.pem  token.json  secrets.yaml.enc'}),
        clean('terraform names', {'t': 'aws_secretsmanager_secret.db: Refreshing state... [id=arn:aws:secretsmanager:eu-west-1:111122223333:secret:db-AbCdEf]\nrandom_password.db: Creation complete after 0s [id=none]\n'}),
        clean('k8s events', {'t': 'Warning  Failed  kubelet  Error: secret "db-credentials-2" not found\nNormal  Pulled  kubelet  image "redis:7.2"'}),
        clean('openapi params', {'parameters': [{'name': 'api_key', 'in': 'header', 'required': True, 'schema': {'type': 'string'}}, {'name': 'token', 'in': 'query'}]}),
        clean('gh actions log', {'t': '##[group]Run actions/checkout@v4\nwith:\n  token: ***\n  persist-credentials: true\n  ssh-strict: true\n'}),
        clean('compose secrets', {'yaml': 'services:\n  web:\n    secrets:\n      - db_password\n      - api_token\nsecrets:\n  db_password:\n    file: ./db.txt\n'}),
        clean('pytest ids', {'t': "FAILED tests/test_auth.py::test_token[expired-401] - assert 401 == 200\nFAILED test_pw.py::test_password_hash - KeyError: 'salt'"}),
        clean('js code', {'t': "const { token, password } = req.body;\nif (!token) return res.status(401).json({ error: 'token required' });\nlocalStorage.setItem('token', data.token);"}),
        clean('py code', {'t': "parser.add_argument('--password', help='password', default=None)\ntoken = jwt.encode(payload, key)\nassert resp.json()['token'] == token\n"}),
        clean('sql code', {'t': "UPDATE users SET password = crypt($1, gen_salt('bf')) WHERE id = $2; SELECT token FROM sessions WHERE expires < now()"}),
        clean('go code', {'t': 'func NewClient(token string, opts ...Option) *Client {\n\treturn &Client{token: token, password: opts.Password}\n}'}),
        clean('usage', {'t': 'usage: curl -u <user>:<password> URL\n       mysql -u USER -p DATABASE\n       psql -W'}),
        clean('counts', {'t': 'Tokens: 1,523 in / 411 out; password attempts: 3 of 5; keys rotated: 12; cookies: 14 set'}),
        clean('codes', {'t': 'error code 1045, zip code 80331, country code +49, HTTP 404, exit code: 137, code 0x80070005'}),
        clean('ids', {'t': 'customer id 10023884, ticket no 48211, order number 2024110412345678, invoice nr 118734, room no 204'}),
        clean('versions', {'t': 'token-cli 2.4.1, password-store 1.7.4, cookie@0.6.0, secret-service 3.0.1, otp-26.2.5, jwt-go v4.5.0'}),
        clean('dates', {'t': 'passport office opens 2024-11-04 09:00; licence fee 169.50; id card renewal 2026'}),
        clean('music', {'t': 'Track 3: Secret Garden (4:12); Key: C# minor; Tempo 128; PIN 2.0 album'}),
        clean('German', {'t': 'Das Token ist seit 3 Tagen abgelaufen. Passwortlänge: mindestens 12 Zeichen. Schlüsselbund auf Seite 14.'}),
        clean('French', {'t': 'Le code postal est 75011. La clé de voûte : le chapitre 4. Mot de passe : 12 caractères minimum.'}),
        clean('Spanish', {'t': 'La clave del éxito es la constancia. Contraseña: mínimo 8 caracteres. Código postal 28013.'}),
        clean('Chinese', {'t': '密码长度8-16位，验证码60秒内有效，手机号共11位，身份证18位。'}),
        clean('Russian', {'t': 'Длина пароля 8-16 символов. Код города 495. Токен действует 60 минут.'}),
        clean('headers', {'h': {'Content-Type': 'application/json', 'X-Request-Id': '0b1c-77', 'ETag': 'W/"a1b2c3"', 'WWW-Authenticate': 'Bearer error="invalid_token"', 'Cache-Control': 'no-store'}}),
        clean('status', {'auth': {'type': 'oauth2', 'enabled': True, 'provider': 'github'}, 'token_status': 'valid', 'password_set': True, 'secret_version': 3}),
        clean('config', {'retries': 3, 'keyspace': 'prod', 'tokenizer_path': '/m/tok.json', 'auth_url': 'https://id.internal', 'max_tokens': 4096, 'key_prefix': 'app:', 'partition_key': 'id'}),
        clean('html', {'t': '<form action="/login"><input type="password" name="password" required><button>Sign in</button></form><th>Password</th><td></td>'}),
        clean('md table', {'t': '| Option | Default |\n|---|---|\n| `password` | none |\n| `token` | `null` |\n| api_key | required |\n'}),
        clean('csv', {'t': 'name,password_policy,token_count\nweb,strong,12\napi,weak,7\n'}),
    ]
