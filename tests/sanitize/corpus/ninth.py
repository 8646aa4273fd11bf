# ruff: noqa: E501
# fmt: off
"""The ninth set of labelled cases: what tools of agents see of vendors' keys, containers of data, programs' lines and
the web, written from the definition and from what other detectors say of themselves."""

import json
import urllib.parse
from typing import Any

from .making import BASE64, HEX, LOWER, URLSAFE, clean, hiding, made, numbered


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered("i", [*_vendors(), *_containers(), *_lines(), *_web(), *_clean()])


def uuid(seed: str) -> str:
    """Return an invented UUID."""
    drawn = made(32, HEX, seed)
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-a{drawn[17:20]}-{drawn[20:]}"


def _vendors() -> list[dict[str, Any]]:
    langsmith = f"lsv2_pt_{made(32, HEX, 'ls')}_{made(10, HEX, 'ls')}"
    tavily = "tvly-dev-" + made(32, seed="tv")
    replicate = "r8_" + made(37, seed="rep")
    xai = "xai-" + made(80, seed="xai")
    cerebras = "csk-" + made(48, LOWER, "cer")
    openrouter = "sk-or-v1-" + made(64, HEX, "or")
    langfuse = "sk-lf-" + uuid("lf")
    pinecone = f"pcsk_{made(5, seed='pc')}_{made(63, seed='pc')}"
    nvidia = "nvapi-" + made(64, URLSAFE, "nv")
    e2b = "e2b_" + made(40, HEX, "e2b")
    firecrawl = "fc-" + made(32, HEX, "fc")
    supabase = "sbp_" + made(40, HEX, "sb")
    supabase2 = "sb_secret_" + made(31, URLSAFE, "sb2")
    neon = "napi_" + made(60, LOWER, "neon")
    resend = f"re_{made(8, seed='re')}_{made(24, seed='re')}"
    posthog = "phx_" + made(43, seed="ph")
    axiom = "xaat-" + uuid("ax")
    buildkite = "bkua_" + made(40, HEX, "bk")
    sonar = "squ_" + made(40, HEX, "sq")
    docker = "dckr_oat_" + made(32, URLSAFE, "do")
    onepassword = "ops_" + "ey" + "J" + made(260, seed="op")
    azure = f"{made(3, seed='a')}8Q~{made(34, URLSAFE, 'az')}"
    airtable = f"pat{made(14, seed='at')}.{made(64, HEX, 'at')}"
    contentful = "CFPAT-" + made(43, URLSAFE, "cf")
    hubspot = "pat-eu1-" + uuid("hs")
    square = "sq0csp-" + made(43, URLSAFE, "sq0")
    mercado = f"APP_USR-{made(16, '123456789', 'mp')}-110412-{made(32, HEX, 'mp')}-{made(9, '123456789', 'mp')}"
    yandex = f"t1.{made(60, URLSAFE, 'ya')}.{made(86, URLSAFE, 'yb')}"
    yandex2 = "y0_" + made(58, URLSAFE, "y0")
    vk = "vk1.a." + made(198, URLSAFE, "vk")
    aliyun = "LTAI5t" + made(18, seed="al")
    baidu = f"bce-v3/ALTAK-{made(21, seed='bd')}/{made(40, HEX, 'bd')}"
    age = "AGE-SECRET-KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "age")
    databricks = f"dapi{made(32, HEX, 'db')}-2"
    openshift = "sha256~" + made(43, URLSAFE, "os")
    clickhouse = "4b1d" + made(38, seed="ch")
    maxmind = f"{made(6, seed='mm')}_{made(29, seed='mm')}_mmk"
    harness = f"pat.{made(22, URLSAFE, 'ha')}.{made(24, seed='ha')}.{made(20, seed='hb')}"
    prefect = "pnu_" + made(36, seed="pn")
    plaid = "access-production-" + uuid("pl")
    discord = made(68, URLSAFE, "dw")
    feishu = uuid("fs")
    dingtalk = made(64, HEX, "dt")
    gchat = made(43, URLSAFE, "gc")
    zapier = made(7, LOWER, "z")
    facebook = "EAAC" + made(160, seed="fb")
    return [
        hiding("LangSmith key in a shell comment, no name before it", {"path": ".env.bak", "content": f"# rotated, do not use: {langsmith}\nLANGCHAIN_PROJECT=support-bot\n"}, langsmith),
        hiding("Tavily key as a positional argument", {"code": f'from tavily import TavilyClient\ntavily = TavilyClient("{tavily}")\nprint(tavily.search("weather in Graz"))\n'}, tavily),
        hiding("Replicate token in a sentence", {"role": "user", "content": f"I made a fresh one, {replicate}, use it for the image job and tell me the cost."}, replicate),
        hiding("xAI key and Cerebras key as items of a list of providers", {"providers": [["xai", xai, 0.2], ["cerebras", cerebras, 0.0], ["local", None, 0.7]]}, xai, cerebras),
        hiding("OpenRouter key in an error of a proxy", {"stderr": f"litellm.AuthenticationError: OpenrouterException - No auth credentials found for {openrouter} (model=meta/llama-3.1-8b)\n"}, openrouter),
        hiding("Langfuse secret in a compose file under a harmless list", {"yaml": f"x-common:\n  args:\n    - https://langfuse.internal\n    - {langfuse}\n    - sample=0.25\n"}, langfuse),
        hiding("Pinecone key printed by a failing assert", {"stdout": f"E   AssertionError: expected 'pcsk_...' got '{pinecone}'\nE   assert False\n"}, pinecone),
        hiding("NVIDIA key in the output of history", {"stdout": f"  411  cd ~/nim\n  412  docker login nvcr.io -u '$oauthtoken' -p {nvidia}\n  413  docker pull nvcr.io/nim/meta/llama3:1.0\n"}, nvidia),
        hiding("E2B and Firecrawl keys as bare JavaScript arguments", {"diff": f"+const sbx = await Sandbox.create('base', '{e2b}')\n+const app = new FirecrawlApp('{firecrawl}')\n const page = await app.scrape(url)\n"}, e2b, firecrawl),
        hiding("Supabase tokens of both kinds in a chat", {"messages": [{"role": "user", "content": f"management one is {supabase} and the server one {supabase2}"}]}, supabase, supabase2),
        hiding("Neon and Resend keys in a table of notes", {"text": f"| service | what I got | since |\n|---|---|---|\n| neon | {neon} | May |\n| resend | {resend} | June |\n"}, neon, resend),
        hiding("PostHog personal key and Axiom token in one log line", {"line": f"12:04:11 WARN exporters: posthog={posthog} axiom={axiom} flush=5s"}, posthog, axiom),
        hiding("Buildkite and SonarQube tokens of a build log", {"log": f"~~~ Preparing\n$ bk configure --org acme {buildkite}\n$ sonar-scanner -Dsonar.host.url=http://sonar:9000 -Dsonar.login={sonar}\nINFO: EXECUTION SUCCESS\n"}, buildkite, sonar),
        hiding("Docker organization token piped to login", {"cmd": f"echo {docker} | docker login -u acme --password-stdin"}, docker),
        hiding("1Password service account token as an item of Env", {"Config": {"Env": ["PATH=/usr/bin", f"OP_X={onepassword}", "LANG=C"]}}, onepassword),
        hiding("Azure client secret as the third positional argument", {"code": f'cred = ClientSecretCredential("contoso.example", "app-31", "{azure}")\n'}, azure),
        hiding("Airtable personal token in a cURL header of its own make", {"cmd": f'curl "https://api.airtable.com/v0/meta/bases" -H "X-Airtable: {airtable}"'}, airtable),
        hiding("Contentful token in a GraphQL error", {"errors": [{"message": f"The access token you sent could not be found: {contentful}", "extensions": {"requestId": "a1b2"}}]}, contentful),
        hiding("HubSpot private app token in a spreadsheet cell", {"rows": [["portal", "app", "since"], ["4811220", hubspot, "2024-11-04"]]}, hubspot),
        hiding("Square application secret in PHP", {"src": f"<?php\n$client = new SquareClient('sandbox', '{square}');\n"}, square),
        hiding("Mercado Pago access token in a retry message", {"error": f"POST /v1/payments failed with {mercado}: 401 invalid_token"}, mercado),
        hiding("Yandex tokens of two kinds", {"stdout": f"iam: {yandex}\noauth now {yandex2}\n"}, yandex, yandex2),
        hiding("VK token in the middle of a sentence in Russian", {"text": f"Бот падает, вот что лежит в конфиге {vk} и группа 218."}, vk),
        hiding("Aliyun access key id in an SDK message", {"message": f"SDK.ServerError: InvalidAccessKeyId.NotFound Specified access key is not found. AK {aliyun} RequestId 8E2"}, aliyun),
        hiding("Baidu Cloud key after the word key", {"note": f"千帆的新 key {baidu} 明天生效"}, baidu),
        hiding("age identity below its comment", {"file": f"# created: 2024-11-04T10:00:00Z\n# public key: age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kudtt0sr\n{age}\n"}, age),
        hiding("Databricks token in a notebook's cell", {"cells": [{"source": [f"spark.conf.set('x', '{databricks}')"], "outputs": []}]}, databricks),
        hiding("what oc whoami -t prints", {"command": "oc whoami -t", "stdout": openshift + "\n"}, openshift),
        hiding("ClickHouse Cloud key and a MaxMind licence in comments", {"sql": f"-- ch cloud: {clickhouse}\n-- geoip: {maxmind}\nSELECT 1"}, clickhouse, maxmind),
        hiding("Harness and Prefect tokens in a plan", {"plan": ["export it", harness, prefect, "restart the worker"]}, harness, prefect),
        hiding("Plaid access token as an item's id", {"items": [{"item": plaid, "institution": "ins_3", "status": "ok"}]}, plaid),
        hiding("Discord web hook", {"hook": f"https://discord.com/api/webhooks/1302847561920384756/{discord}"}, discord, expect={"hook": "https://discord.com/api/webhooks/<MASK>"}),
        hiding("Feishu and DingTalk robots in one configuration", {"notify": [f"https://open.feishu.cn/open-apis/bot/v2/hook/{feishu}", f"https://oapi.dingtalk.com/robot/send?access_token={dingtalk}"]}, feishu, dingtalk),
        hiding("Google Chat web hook with key and token", {"url": f"https://chat.googleapis.com/v1/spaces/AAAAx1/messages?threadKey=deploys&token={gchat}"}, gchat),
        hiding("Zapier catch hook", {"script": f"curl -d @out.json https://hooks.zapier.com/hooks/catch/1829404/{zapier}/"}, zapier, expect={"script": "curl -d @out.json https://hooks.zapier.com/hooks/catch/<MASK>"}),
        hiding("Facebook page token in a list of accounts", {"data": [{"name": "Shop", "category": "Retail", "t": facebook}]}, facebook),
    ]


def _containers() -> list[dict[str, Any]]:
    key = made(40, BASE64, "aws")
    jwt = "ey" + "J" + made(30, seed="j1") + ".ey" + "J" + made(60, seed="j2") + "." + made(43, URLSAFE, "j3")
    inner = json.dumps({"user": "ops", "password": "Lerche-77-Zaun"})
    return [
        hiding("psql, expanded", {"stdout": "-[ RECORD 1 ]+---------------------\nid           | 7\nlogin        | ilse\napi_token    | tk-Ahorn-5519-xx\ncreated_at   | 2024-11-04 10:00:00\n"}, "tk-Ahorn-5519-xx"),
        hiding("mysql with \\G", {"stdout": "*************************** 1. row ***************************\n      id: 3\n    name: crm\npassword: Buchfink!90 Tor\n    port: 5432\n1 row in set (0.00 sec)\n"}, "Buchfink!90 Tor"),
        hiding("sqlite in line mode", {"stdout": "       id = 12\n     host = db2\n   secret = wiese-8841-hang\n  enabled = 1\n"}, "wiese-8841-hang"),
        hiding("box of DuckDB with types below the header", {"stdout": "┌───────┬─────────┬──────────────────┐\n│  id   │  owner  │     api_key      │\n│ int32 │ varchar │     varchar      │\n├───────┼─────────┼──────────────────┤\n│     1 │ anna    │ dk-Eiche-22-Moor │\n│     2 │ jörg    │ dk-Fichte-9-See  │\n└───────┴─────────┴──────────────────┘\n"}, "dk-Eiche-22-Moor", "dk-Fichte-9-See"),
        hiding("INSERT with a list of columns and two rows", {"query": "INSERT INTO users (id, login, password, age) VALUES (1, 'ann', 'Kranich,55', 31), (2, 'bo', 'Reiher''66', 44);"}, "Kranich,55", "Reiher''66"),
        hiding("UPDATE ... SET among others", {"query": "UPDATE integrations SET api_token = 'it-9931-Uhu', retries = 3 WHERE id = 4"}, "it-9931-Uhu"),
        hiding("CREATE USER, ALTER LOGIN and a dictionary of ClickHouse", {"sql": "CREATE USER 'app'@'%' IDENTIFIED WITH mysql_native_password BY 'Dohle_41';\nALTER LOGIN sa WITH PASSWORD = N'Elster#52';\nCREATE USER ro IDENTIFIED WITH sha256_password BY 'Amsel-63';"}, "Dohle_41", "Elster#52", "Amsel-63"),
        hiding("a user of MongoDB's shell", {"input": 'db.createUser({ user: "etl", pwd: "Zeisig:74", roles: [ { role: "readWrite", db: "shop" } ] })'}, "Zeisig:74"),
        hiding("what Redis is told", {"commands": ["AUTH etl Star-85-Nest", "CONFIG SET requirepass Meise-96-Ast", "SET page:1 ok"]}, "Star-85-Nest", "Meise-96-Ast"),
        hiding("the console's CSV with spaces in its header", {"content": f"User name,Access key ID,Secret access key\nci,placeholder,{key}\n"}, key),
        hiding("CSV with semicolons and quoted headers of two words", {"text": '"Name";"Client secret";"Valid until"\n"crm";"cs-Sperber-17-Horst";"2025-01-01"\n"erp";"cs-Bussard-28-Flug";"2025-06-01"\n'}, "cs-Sperber-17-Horst", "cs-Bussard-28-Flug"),
        hiding("TSV out of a sheet", {"text": "host\tuser\troot password\tsite\nnas1\tadmin\tHabicht 39!\tGraz\nnas2\tadmin\tFalke 40!\tLinz\n"}, "Habicht 39!", "Falke 40!"),
        hiding("Markdown table with code and bold", {"md": "| **Environment** | **API Key** |\n| :-- | --: |\n| staging | `ak-Milan-51-Luft` |\n| live | `ak-Weihe-62-Wind` |\n"}, "ak-Milan-51-Luft", "ak-Weihe-62-Wind"),
        hiding("table of HTML", {"html": "<table><tr><th>Host</th><th>Password</th></tr><tr><td>gw1</td><td>Adler-73-Fels</td></tr></table>"}, "Adler-73-Fels"),
        hiding("table of reStructuredText", {"rst": "=======  ================\nHost     Password\n=======  ================\ngw1      Kauz-84-Stamm\ngw2      Eule-95-Scheune\n=======  ================\n"}, "Kauz-84-Stamm", "Eule-95-Scheune"),
        hiding("environment in kubectl describe", {"stdout": "    Environment:\n      LOG_LEVEL:    info\n      DB_PASSWORD:  Specht-16-Rinde\n      CACHE_TTL:    300\n    Mounts:\n      /data from data (rw)\n"}, "Specht-16-Rinde"),
        hiding("kubectl get secret -o yaml", {"stdout": "apiVersion: v1\ndata:\n  password: S3VrdWNrLTI3LVJ1Zg==\n  username: YXBw\nkind: Secret\nmetadata:\n  name: db\ntype: Opaque\n"}, "S3VrdWNrLTI3LVJ1Zg=="),
        hiding("change in a plan of Terraform", {"stdout": '  ~ resource "aws_db_instance" "main" {\n        id                = "shop"\n      ~ password          = "Pirol-38-alt" -> "Pirol-49-neu"\n        multi_az          = false\n    }\n'}, "Pirol-38-alt", "Pirol-49-neu"),
        hiding("heredoc in a file of variables", {"tfvars": 'region = "eu-west-1"\ndb_password = <<EOT\nDrossel-60-Lied\nEOT\nsize = 3\n'}, "Drossel-60-Lied"),
        hiding("property list", {"plist": "<dict>\n\t<key>Host</key>\n\t<string>mail.internal</string>\n\t<key>IncomingPassword</key>\n\t<string>Lerche&amp;71</string>\n\t<key>Port</key>\n\t<integer>993</integer>\n</dict>"}, "Lerche&amp;71"),
        hiding("properties with blanks and with colons", {"text": "ssl.keystore.location = /etc/ks.p12\nssl.keystore.password   Ammer-82-Feld\nspring.datasource.password: Fink-93-Busch\nspring.datasource.hikari.maximum-pool-size: 5\n"}, "Ammer-82-Feld", "Fink-93-Busch"),
        hiding("SOAP header and CDATA", {"xml": '<wsse:UsernameToken><wsse:Username>b2b</wsse:Username><wsse:Password Type="PasswordText">Gimpel-14</wsse:Password></wsse:UsernameToken><db><password><![CDATA[Zaun<König>25]]></password></db>'}, "Gimpel-14", "Zaun<König>25"),
        hiding("attributes of XML", {"xml": '<dataSource name="crm" user="crm" password="Kiebitz-36" maxActive="10"/>'}, "Kiebitz-36"),
        hiding("text of several lines in TOML", {"toml": 'name = "api"\nsecret_key = """\nStorch-47-Dach\nStorch-58-Rad\n"""\nport = 8080\n'}, "Storch-47-Dach", "Storch-58-Rad", expect={"toml": 'name = "api"\nsecret_key = """\n<MASK>\n"""\nport = 8080\n'}),
        hiding("flow mapping and quoted keys of YAML", {"yaml": "db: {host: db1, user: app, password: Rabe-69-Turm, port: 5432}\n'api-key': \"Rabe-70-Horst\"\n"}, "Rabe-69-Turm", "Rabe-70-Horst"),
        hiding("list below a plural key of YAML", {"yaml": "service: gateway\napi_keys:\n  - gk-Taube-81\n  - gk-Taube-92\nreplicas: 2\n"}, "gk-Taube-81", "gk-Taube-92"),
        hiding("unit of systemd", {"unit": '[Service]\nEnvironment="DB_PASSWORD=Wachtel 13!" "TZ=UTC"\nExecStart=/usr/bin/app\n'}, "Wachtel 13!"),
        hiding("line of a crontab", {"crontab": "15 3 * * * MYSQL_PWD=Fasan-24-Feld /usr/bin/mysqldump shop > /backup/shop.sql\n"}, "Fasan-24-Feld"),
        hiding("hashes of Ruby, old and new", {"log": "{:host=>\"db\", :password=>\"Rebhuhn-35\", :port=>5432}\n#<Config user: \"a\", api_token: \"Rebhuhn-46\", ttl: 3>\n"}, "Rebhuhn-35", "Rebhuhn-46"),
        hiding("PHP: array, print_r and var_dump", {"out": "'password' => 'Schwan-57',\n[secret] => Schwan-68\n[\"api_key\"]=>\n  string(9) \"Schwan-79\"\n[\"port\"]=>\n  int(80)\n"}, "Schwan-57", "Schwan-68", "Schwan-79"),
        hiding("PHP, serialized", {"session": 'a:2:{s:4:"user";s:3:"bob";s:8:"password";s:8:"Gans-801";}'}, "Gans-801"),
        hiding("Rust's Debug", {"stderr": 'thread \'main\' panicked: Config { host: "db", password: "Ente-91-See", token: Some("Ente-02-Moor"), port: 5432 }'}, "Ente-91-See", "Ente-02-Moor"),
        hiding("Erlang's and Elixir's terms", {"log": '[{user,"app"},{password,"Pfau-13-Rad"},{ssl,true}]\n%{"host" => "db", "secret" => "Pfau-24-Hof"}\n'}, "Pfau-13-Rad", "Pfau-24-Hof"),
        hiding("toString of a map and of a data class", {"log": "cfg={user=app, password=Hahn-35-Mist, pool=5} User(name=app, apiKey=Hahn-46-Korn, admin=false)"}, "Hahn-35-Mist", "Hahn-46-Korn"),
        hiding("map of Clojure and settings of Lisp", {"edn": '{:db {:user "app" :password "Huhn-57-Ei"} :port 80}\n(setq erc-password "Huhn-68-Nest")\n'}, "Huhn-57-Ei", "Huhn-68-Nest"),
        hiding("text form of protocol buffers", {"txt": 'auth {\n  user: "app"\n  password: "Henne-79-Stall"\n  timeout_ms: 500\n}\n'}, "Henne-79-Stall"),
        hiding("PowerShell's list", {"stdout": "\nUserName : svc-backup\nPassword : Küken 80 gelb\nDomain   : CORP\n"}, "Küken 80 gelb"),
        hiding("JSON in a string of YAML", {"yaml": f"data:\n  config.json: '{inner}'\n  mode: ro\n"}, "Lerche-77-Zaun"),
        hiding("JSON in JSON in JSON", {"payload": json.dumps({"body": json.dumps({"config": inner, "n": 1})})}, "Lerche-77-Zaun"),
        hiding("JSON as part of an address", {"url": "https://app.internal/open?state=" + urllib.parse.quote(json.dumps({"api_key": "Kran-91-ich", "page": 2}))}, "Kran-91-ich"),
        hiding("JSON lines, the last one cut", {"stdout": '{"ts":1,"password":"Ibis-12-Nil"}\n{"ts":2,"secret":"Ibis-23-Del'}, "Ibis-12-Nil", "Ibis-23-Del"),
        hiding("bytes that hold a form", {"body": b"user=ann&password=Lori%2D34&remember=1".decode()}, "Lori%2D34"),
        hiding("a web token that stands as a key", {"cache": {jwt: {"hits": 3}}}, jwt),
        hiding("settings of a connector as items", {"items": [{"key": "connection.url", "value": "jdbc:h2:mem"}, {"key": "connection.password", "value": "Ara-45-rot"}]}, "Ara-45-rot"),
        hiding("item with other names for name and value", {"EnvironmentVariables": [{"Key": "TZ", "Value": "UTC"}, {"Key": "DB_PASSWORD", "Value": "Ara-56-blau"}], "parameters": [{"ParameterKey": "AdminPassword", "ParameterValue": "Ara-67-gelb"}]}, "Ara-56-blau", "Ara-67-gelb"),
        hiding("columns and rows apart", {"columns": ["id", "login", "password"], "rows": [[1, "ann", "Tukan-78"], [2, "bo", "Tukan-89"]]}, "Tukan-78", "Tukan-89"),
        hiding("netrc and pgpass", {"netrc": "machine ftp.internal\n  login up\n  password Tukan-90-Obst\n", "line": "# hostname:port:database:username:password\ndb1:5432:shop:app:Tukan-01-Wald\n"}, "Tukan-90-Obst", "Tukan-01-Wald"),
        hiding("credentials of git and of npm", {"a": "https://ilse:Kolibri-12-Blüte@git.internal\n", "b": f"//npm.internal/:_authToken={uuid('npm')}\nregistry=https://npm.internal/\n"}, "Kolibri-12-Blüte", uuid("npm")),
        hiding("configuration of Docker's client", {"auths": {"images.example.org": {"auth": "aWxzZTpLb2xpYnJpLTIz"}}, "HttpHeaders": {"User-Agent": "Docker/27"}}, "aWxzZTpLb2xpYnJpLTIz"),
        hiding("rc file of a wireless network", {"conf": 'network={\n  ssid="Werkstatt"\n  psk="Specht klopft 34"\n  key_mgmt=WPA-PSK\n}\n'}, "Specht klopft 34"),
        hiding("WireGuard", {"conf": f"[Interface]\nPrivateKey = {made(43, BASE64, 'wg')}=\nAddress = 10.8.0.2/24\n[Peer]\nAllowedIPs = 0.0.0.0/0\n"}, made(43, BASE64, "wg") + "="),
        hiding("one-time seed in base32 and its address", {"totp": {"secret": made(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "t1")}, "uri": f"otpauth://totp/Acme:ann?secret={made(26, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 't2')}&issuer=Acme"}, made(32, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "t1"), made(26, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "t2")),
        hiding("keys of wallets by their names", {"env": f"DEPLOYER_PRIVATE_KEY={made(64, HEX, 'eth')}\nSEED_PHRASE='river lamp oak music tiger salt dune paper cloud fox melt zone'\nCHAIN=sepolia\n"}, made(64, HEX, "eth"), "river lamp oak music tiger salt dune paper cloud fox melt zone"),
        hiding("key in armour inside a block of YAML", {"yaml": "tls:\n  key: |\n    -----BEGIN EC " + "PRIVATE KEY-----\n    " + made(64, BASE64, "p1") + "\n    " + made(64, BASE64, "p2") + "\n    -----END EC " + "PRIVATE KEY-----\n  minVersion: '1.2'\n"}, made(64, BASE64, "p1"), made(64, BASE64, "p2"), expect={"yaml": "tls:\n  key: |\n    <MASK>\n  minVersion: '1.2'\n"}),
        hiding("key in armour on one line of an environment", {"env": 'NAME=app\nKEY_PEM="-----BEGIN ' + "PRIVATE KEY-----\\n" + made(64, BASE64, "q1") + "\\n" + made(40, BASE64, "q2") + '=\\n-----END ' + 'PRIVATE KEY-----\\n"\nPORT=80\n'}, made(64, BASE64, "q1"), made(40, BASE64, "q2"), expect={"env": 'NAME=app\nKEY_PEM="<MASK>\\n"\nPORT=80\n'}),
        hiding("JSON Web Key with its private part", {"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "k1", "x": made(43, URLSAFE, "x"), "d": made(43, URLSAFE, "d")}]}, made(43, URLSAFE, "d")),
    ]


def _lines() -> list[dict[str, Any]]:
    return [
        hiding("sshpass", {"cmd": "sshpass -p 'Luchs-11-Wald' ssh -o StrictHostKeyChecking=no root@10.0.0.4 uptime"}, "Luchs-11-Wald"),
        hiding("openssl with pass:", {"cmd": "openssl pkcs12 -export -in c.pem -inkey k.pem -passin pass:Luchs-22-Bau -passout pass:Luchs-33-Ohr -out c.p12"}, "Luchs-22-Bau", "Luchs-33-Ohr"),
        hiding("openssl enc -k", {"cmd": "openssl enc -aes-256-cbc -salt -in a.tar -out a.enc -k Wolf-44-Mond"}, "Wolf-44-Mond"),
        hiding("mysql and mysqldump", {"stdout": "+ mysql -h db1 -u root -pWolf-55-Rudel shop\n+ mysqldump --user=root --password=Wolf-66-Heul shop\n"}, "Wolf-55-Rudel", "Wolf-66-Heul"),
        hiding("argv of redis-cli, mongosh and psql", {"calls": [["redis-cli", "-h", "c1", "-a", "Dachs-77-Bau"], ["mongosh", "--username", "etl", "--password", "Dachs-88-Erde"], ["psql", "postgresql://app:Dachs-99-Nacht@db1/shop"]]}, "Dachs-77-Bau", "Dachs-88-Erde", "Dachs-99-Nacht"),
        hiding("curl with a proxy's user and a bearer's flag", {"cmd": "curl --proxy-user corp:Biber-10-Damm --oauth2-bearer Biber-21-Zahn-xyz https://api.internal/v1"}, "Biber-10-Damm", "Biber-21-Zahn-xyz", expect={"cmd": "curl --proxy-user <MASK> --oauth2-bearer <MASK> https://api.internal/v1"}),
        hiding("curl with a form and with data", {"cmd": "curl -s -X POST https://id.internal/token -d 'grant_type=password&username=ann&password=Otter-32-Fluss' -d client_secret=Otter-43-Bach"}, "Otter-32-Fluss", "Otter-43-Bach"),
        hiding("httpie", {"cmd": "http -a ann:Iltis-54-Hof POST api.internal/items X-Auth-Token:Iltis-65-Nest name=x"}, "Iltis-54-Hof", "Iltis-65-Nest", expect={"cmd": "http -a <MASK> POST api.internal/items X-Auth-Token:<MASK> name=x"}),
        hiding("ldapsearch and smbclient", {"stdout": "$ ldapsearch -x -D cn=admin,dc=corp -w Marder-76-Dach -b dc=corp uid=ann\n$ smbclient //fs1/share -U corp/ann%Marder-87-Auto -c ls\n"}, "Marder-76-Dach", "Marder-87-Auto"),
        hiding("net user and net use", {"cmd": "net user backup Hermelin-98! /add && net use Z: \\\\fs1\\data /user:corp\\ann Hermelin-09!"}, "Hermelin-98!", "Hermelin-09!"),
        hiding("sqlcmd, cmdkey and schtasks", {"ps": "sqlcmd -S sql1 -U sa -P 'Wiesel#10' -Q 'select 1'\ncmdkey /add:fs1 /user:ann /pass:Wiesel#21\nschtasks /create /tn job /ru ann /rp Wiesel#32 /sc daily\n"}, "Wiesel#10", "Wiesel#21", "Wiesel#32"),
        hiding("remote desktop", {"cmd": "xfreerdp /v:win1 /u:ann /p:Hamster-43-Rad /cert:ignore"}, "Hamster-43-Rad"),
        hiding("docker run, helm and kubectl", {"stdout": "$ docker run -d -e POSTGRES_PASSWORD=Igel-54-Laub -p 5432:5432 postgres:16\n$ helm upgrade db bitnami/postgresql --set auth.password=Igel-65-Herbst,replicaCount=2\n$ kubectl create secret generic db --from-literal=password=Igel-76-Winter --from-literal=user=app\n"}, "Igel-54-Laub", "Igel-65-Herbst", "Igel-76-Winter"),
        hiding("gpg, keytool and zip", {"cmds": ["gpg --batch --passphrase Maulwurf-87 -d a.gpg", "keytool -importkeystore -srcstorepass Maulwurf-98 -deststorepass Maulwurf-09 -noprompt", "zip -r -P Maulwurf-10 out.zip data"]}, "Maulwurf-87", "Maulwurf-98", "Maulwurf-09", "Maulwurf-10"),
        hiding("sudo, chpasswd and expect", {"sh": "echo 'Reh-21-Wiese' | sudo -S apt-get update\necho 'deploy:Reh-32-Rain' | chpasswd\n"}, "Reh-21-Wiese", "Reh-32-Rain"),
        hiding("networks without wires", {"sh": "nmcli dev wifi connect Werkstatt password 'Hirsch 43 Brunft'\n"}, "Hirsch 43 Brunft"),
        hiding("ipmitool, snmpwalk and lftp", {"sh": "ipmitool -I lanplus -H bmc1 -U admin -P Gams-54-Fels power status\nlftp -u up,Gams-65-Grat ftp.internal\n"}, "Gams-54-Fels", "Gams-65-Grat"),
        hiding("settings of clouds' tools", {"sh": f"aws configure set aws_secret_access_key {made(40, BASE64, 'cfg')} --profile ci\naz login --service-principal -u app-1 -p Steinbock-76-Alm --tenant t1\nvault kv put secret/db password=Steinbock-87-Horn ttl=1h\n"}, made(40, BASE64, "cfg"), "Steinbock-76-Alm", "Steinbock-87-Horn"),
        hiding("variables for a build", {"sh": 'echo "NPM_TOKEN=Elch-98-Sumpf" >> $GITHUB_ENV\nexport API_SECRET="Elch-09-Moor"\nset DB_PASSWORD=Elch-10-Tann\n$env:SMTP_PASSWORD = "Elch-21-Eis"\nsetx CLIENT_SECRET Elch-32-Nord\n'}, "Elch-98-Sumpf", "Elch-09-Moor", "Elch-10-Tann", "Elch-21-Eis", "Elch-32-Nord"),
        hiding("addresses of brokers and stores, each with a password", {"env": "BROKER=amqps://pub:Ren-43-Schlitten@mq:5671/prod\nCACHE=rediss://:Ren-54-Nord@c2:6380/1\nDOCS=mongodb+srv://etl:Ren-65-Lappland@m1.internal/shop?retryWrites=true\nSEARCH=elasticsearch+https://elastic:Ren-76-Moos@es1:9200\nMQ=nats://svc:Ren-87-Flechte@n1:4222\nGRAPH=neo4j+s://neo:Ren-98-Polar@g1:7687\n"}, "Ren-43-Schlitten", "Ren-54-Nord", "Ren-65-Lappland", "Ren-76-Moos", "Ren-87-Flechte", "Ren-98-Polar"),
        hiding("passwords in addresses that hold signs of addresses", {"env": "A=postgres://app:Pa#ss/45@db1:5432/shop\nB=amqp://pub:Po?ny:67@mq/prod\nC=mysql://root:p@ss@word9@db2/x\n"}, "Pa#ss/45", "Po?ny:67", "p@ss@word9"),
        hiding("connection strings with keywords", {"cfg": "Driver={ODBC Driver 18 for SQL Server};Server=sql1;Uid=app;Pwd={Esel;09};Encrypt=yes;\nEndpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey=" + made(43, BASE64, "sb") + "=\nhost=db1 dbname=shop user=app password='Esel 10' sslmode=require"}, "Esel;09", made(43, BASE64, "sb") + "=", "Esel 10", expect={"cfg": "Driver={ODBC Driver 18 for SQL Server};Server=sql1;Uid=app;Pwd=<MASK>;Encrypt=yes;\nEndpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=send;SharedAccessKey=<MASK>\nhost=db1 dbname=shop user=app password='<MASK>' sslmode=require"}),
        hiding("JDBC with the secret as an option", {"url": "jdbc:sqlserver://sql1:1433;databaseName=x;user=app;password={Muli#21;a};encrypt=true", "thin": "jdbc:oracle:thin:app/Muli32@db1:1521/ORCL"}, "Muli#21;a", "Muli32", expect={"url": "jdbc:sqlserver://sql1:1433;databaseName=x;user=app;password=<MASK>;encrypt=true", "thin": "jdbc:oracle:thin:app/<MASK>@db1:1521/ORCL"}),
        hiding("a question of a program and its answer", {"tty": "$ su - postgres\nPassword: Kamel-43-Sand\nLast login: Mon Nov  4\n$ "}, "Kamel-43-Sand"),
        hiding("answer to a question about a user and a host", {"tty": "root@10.0.0.4's password: Kamel-54-Oase\nPermission denied, please try again.\n"}, "Kamel-54-Oase"),
        hiding("Python's locals in a traceback", {"tb": "  File \"a.py\", line 9, in connect\n    conn = connect(host='db1', passwd='Lama-65-Anden', db='shop')\n    host = 'db1'\n    passwd = 'Lama-65-Anden'\nOperationalError: (1045, \"Access denied\")"}, "Lama-65-Anden"),
        hiding("Java's exception with properties", {"tb": "java.sql.SQLException: connect failed {user=app, password=Alpaka-76, ssl=false}\n\tat com.acme.Db.open(Db.java:31)\n\tat com.acme.Main.main(Main.java:9)"}, "Alpaka-76"),
        hiding("source line of C#", {"src": 'var c = new SqlCredential { UserId = "app", Password = "Yak-87-Tibet" };\nprivate const string ApiKey = "Yak-98-Hoch";\n'}, "Yak-87-Tibet", "Yak-98-Hoch"),
        hiding("sources of Go, Swift and Kotlin", {"src": 'cfg := Config{Host: "db", Password: "Bison-09-Gras"}\nlet apiKey: String = "Bison-10-Steppe"\nval clientSecret = "Bison-21-Huf"\n'}, "Bison-09-Gras", "Bison-10-Steppe", "Bison-21-Huf"),
        hiding("calls that set", {"src": 'System.setProperty("javax.net.ssl.keyStorePassword", "Büffel-32");\nos.environ["API_TOKEN"] = "Büffel-43"\nconfig.set("db.password", "Büffel-54")\nSetEnv SECRET_KEY Büffel-65\n'}, "Büffel-32", "Büffel-43", "Büffel-54", "Büffel-65"),
    ]


def _web() -> list[dict[str, Any]]:
    basic = "YW5uOk5hc2hvcm4tNzYtU3RlcHBl"
    return [
        hiding("request with Basic, a cookie and a form", {"raw": f"POST /login HTTP/1.1\r\nHost: id.internal\r\nAuthorization: Basic {basic}\r\nCookie: sid=Nashorn-87\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nuser=ann&pass=Nashorn-98&next=%2Fhome"}, basic, "Nashorn-87", "Nashorn-98", expect={"raw": "POST /login HTTP/1.1\r\nHost: id.internal\r\nAuthorization: <MASK>\r\nCookie: <MASK>\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\nuser=ann&pass=<MASK>&next=%2Fhome"}),
        hiding("part of a form with many parts", {"raw": '--b1\r\nContent-Disposition: form-data; name="title"\r\n\r\nhello\r\n--b1\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nGnu-09-Savanne\r\n--b1--\r\n'}, "Gnu-09-Savanne"),
        hiding("archive of requests", {"request": {"headers": [{"name": "Authorization", "value": "Token Gnu-10-Herde"}], "postData": {"params": [{"name": "password", "value": "Gnu-21-Huf"}]}, "cookies": [{"name": "sid", "value": "Gnu-32-Horn"}]}}, "Gnu-10-Herde", "Gnu-21-Huf", "Gnu-32-Horn", expect={"request": {"headers": [{"name": "Authorization", "value": "<MASK>"}], "postData": {"params": [{"name": "password", "value": "<MASK>"}]}, "cookies": "<MASK>"}}),
        hiding("callback with a code", {"log": '10.0.0.9 - - "GET /oauth/callback?code=4-0AfJohXn7Gazelle-43-Lauf&state=ab12&scope=openid HTTP/1.1" 302'}, "4-0AfJohXn7Gazelle-43-Lauf"),
        hiding("fragment with tokens", {"to": f"https://app.internal/cb#id_token=Gazelle-54-Sprung&access_token={made(40, seed='at')}&expires_in=3600&state=x"}, "Gazelle-54-Sprung", made(40, seed="at")),
        hiding("signed addresses of three clouds", {"urls": [f"https://b.s3.amazonaws.com/k?X-Amz-Expires=900&X-Amz-Signature={made(64, HEX, 's3')}", f"https://storage.googleapis.com/b/k?X-Goog-Expires=900&X-Goog-Signature={made(64, HEX, 'gs')}", f"https://d1.cloudfront.net/k?Expires=1730700000&Signature={made(60, URLSAFE, 'cf')}&Key-Pair-Id=K2"]}, made(64, HEX, "s3"), made(64, HEX, "gs"), made(60, URLSAFE, "cf")),
        hiding("other schemes of Authorization", {"h": ["Authorization: ApiKey Antilope-65-Gras==", "Proxy-Authorization: Basic " + basic, f'Authorization: Digest username="ann", realm="x", nonce="n1", uri="/", response="{made(32, HEX, "dg")}"', f"Authorization: AWS4-HMAC-SHA256 Credential=x/20241104/eu/s3/aws4_request, SignedHeaders=host, Signature={made(64, HEX, 'v4')}"]}, "Antilope-65-Gras==", basic, made(32, HEX, "dg"), made(64, HEX, "v4"), expect={"h": ["Authorization: <MASK>", "Proxy-Authorization: <MASK>", "Authorization: <MASK>", "Authorization: <MASK>"]}),
        hiding("answer with tokens", {"body": '{"access_token":"Impala-76-Sprung","token_type":"Bearer","expires_in":3599,"refresh_token":"Impala-87-Flucht","scope":"read"}'}, "Impala-76-Sprung", "Impala-87-Flucht"),
        hiding("cookies that a server sets", {"headers": [["Server", "nginx"], ["Set-Cookie", "session=Kudu-98-Horn; Path=/; HttpOnly"], ["set-cookie", "csrf=Kudu-09-Ohr"]]}, "Kudu-98-Horn", "Kudu-09-Ohr", expect={"headers": [["Server", "nginx"], ["Set-Cookie", "<MASK>"], ["set-cookie", "<MASK>"]]}),
        hiding("socket's address with a token", {"error": "WebSocket connection to 'wss://rt.internal/ws?v=2&auth_token=Oryx-10-Wüste&ch=7' failed"}, "Oryx-10-Wüste"),
        hiding("mutation with literals and with variables", {"query": 'mutation { login(email: "x", password: "Eland-21-Kap") { id } }', "variables": {"input": {"newPassword": "Eland-32-Kap"}}}, "Eland-21-Kap", "Eland-32-Kap"),
        hiding("member of XML-RPC", {"xml": "<struct><member><name>user</name><value><string>a</string></value></member><member><name>password</name><value><string>Okapi-43-Wald</string></value></member></struct>"}, "Okapi-43-Wald"),
        hiding("hidden field of a form", {"html": '<form><input type="hidden" name="csrf_token" value="Giraffe-54-Hals"><input name="q" value="shoes"></form>'}, "Giraffe-54-Hals"),
        hiding("link to set a password anew", {"text": "Open https://id.internal/reset?uid=7&reset_token=Zebra-65-Streif&lang=en within the hour."}, "Zebra-65-Streif"),
        hiding("headers as Python prints them, with bytes", {"log": "send: {b'host': b'api', b'x-api-key': b'Quagga-76-Kap', b'accept': b'*/*'}"}, "Quagga-76-Kap"),
        hiding("verbose output of curl", {"stderr": "> GET /v1 HTTP/2\n> Host: api.internal\n> x-api-key: Wisent-87-Wald\n> accept: */*\n< HTTP/2 200\n< set-cookie: sid=Wisent-98-Heide; path=/\n"}, "Wisent-87-Wald", "Wisent-98-Heide", expect={"stderr": "> GET /v1 HTTP/2\n> Host: api.internal\n> x-api-key: <MASK>\n> accept: */*\n< HTTP/2 200\n< set-cookie: <MASK>\n"}),
    ]


def _clean() -> list[dict[str, Any]]:
    return [
        clean("packages whose names hold sensitive words, pinned", {"stdout": "PyJWT==2.10.1\npython-jose[cryptography]==3.3.0\ncookie>=0.4\nsecretstorage~=3.3\ntoken-bucket==0.3.0\npasslib>=1.7.4,<2\ndjango-phonenumber-field!=7.0\n"}),
        clean("dependencies of a package", {"dependencies": {"cookie": "~0.6.0", "passport": "^0.7.0", "jsonwebtoken": "9.0.2", "express": "4.21.1"}, "devDependencies": {"secretlint": ">=8 <9"}}),
        clean("dependencies of Cargo and of a lock file of Ruby", {"toml": '[dependencies]\ncookie = "0.18"\npassword-hash = { version = "0.5", features = ["std"] }\nsecrecy = "0.8"\n', "lock": "    cookie (1.0.2)\n    jwt (2.9.3)\n"}),
        clean("permissions of a workflow", {"permissions": {"id-token": "write", "contents": "read", "packages": "none"}}),
        clean("permissions of a workflow as text", {"yaml": "permissions:\n  id-token: write\n  contents: read\njobs:\n  build:\n    runs-on: ubuntu-24.04\n"}),
        clean("table of a cluster's secrets", {"stdout": "NAME                 TYPE                 DATA   AGE\ndb-password          Opaque               2      14d\nregistry-token       kubernetes.io/token  1      90d\n"}),
        clean("secret as describe shows it", {"stdout": "Name:         db\nType:  Opaque\n\nData\n====\npassword:  16 bytes\ntoken:     1024 bytes\nusername:  3 bytes\n"}),
        clean("list of a cloud's secrets without values", {"SecretList": [{"ARN": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:prod/db-AbC", "Name": "prod/db", "RotationEnabled": True}]}),
        clean("list of a repository's secrets", {"stdout": "NAME          UPDATED\nDEPLOY_TOKEN  about 2 months ago\nNPM_TOKEN     less than a minute ago\n"}),
        clean("state of a login", {"stdout": "github.com\n  ✓ Logged in to github.com account ilse (keyring)\n  - Active account: true\n  - Token: gho_************************************\n  - Token scopes: 'gist', 'read:org', 'repo'\n"}),
        clean("references of many vaults", {"cfg": {"password": "op://ops/db/password", "token": "vault:secret/data/ci#token", "api_key": "arn:aws:secretsmanager:eu-west-1:111122223333:secret:api", "secret": "@Microsoft.KeyVault(SecretUri=https://kv.vault.azure.net/secrets/x)"}}),
        clean("references of templates", {"yaml": "password: {{ .Values.db.password }}\ntoken: ${{ secrets.NPM_TOKEN }}\nsecret: !Ref DbSecret\napi_key: ${API_KEY:-}\n"}),
        clean("Terraform that refers", {"tf": 'password = var.db_password\ntoken = data.vault_generic_secret.ci.data["token"]\nsecret = random_password.db.result\n'}),
        clean("Terraform that hides", {"stdout": "      + password = (sensitive value)\n      + secret_key = (known after apply)\n"}),
        clean("where a pod takes it from", {"env": [{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]}),
        clean("files and their lines", {"stdout": "src/auth/token.py:12:    token = request.headers.get('X-Token')\nsrc/auth/password.py:88:def check_password(password: str) -> bool:\n"}),
        clean("coverage", {"stdout": "Name                   Stmts   Miss  Cover\n------------------------------------------\nauth/password.py          88      3    97%\nauth/token.py            120      4    97%\n"}),
        clean("names of tests", {"stdout": "tests/test_login.py::test_password_reset PASSED [ 50%]\ntests/test_login.py::test_token_expired PASSED [100%]\n"}),
        clean("schema of JSON", {"properties": {"password": {"type": "string", "minLength": 8}, "token": {"type": "string", "description": "what the server gave"}}, "required": ["password"]}),
        clean("field of a form without a value", {"html": '<label for="pw">Password</label><input id="pw" type="password" name="password" placeholder="Password" autocomplete="current-password">'}),
        clean("definition of a table and a question", {"sql": "CREATE TABLE users (id INT, password VARCHAR(255) NOT NULL, token TEXT);\nSELECT id, password, token FROM users WHERE password IS NOT NULL;"}),
        clean("Python that passes on", {"src": "password = getpass('Password: ')\ntoken = tokens.pop()\nself.secret = secret\nreturn Client(api_key=settings.API_KEY, token=token)\n"}),
        clean("Go, JavaScript and Java that pass on", {"src": "token := os.Getenv(\"TOKEN\")\nconst apiKey = process.env.API_KEY;\nprivate final String password;\nthis.password = password;\nif (token == null) { throw new Error(); }\n"}),
        clean("shell that passes on", {"sh": 'curl -u "$USER:$PASS" -H "Authorization: Bearer $TOKEN" https://api.internal\nexport DB_PASSWORD="$(cat /run/secrets/db)"\nread -s -p "Password: " pw\n'}),
        clean("Bearer without a token", {"log": "AxiosError: 401\n  headers: { 'WWW-Authenticate': 'Bearer realm=\"api\", error=\"invalid_token\"' }\nexpected Authorization header with Bearer scheme\n"}),
        clean("scheme in a document", {"yaml": "securitySchemes:\n  bearerAuth:\n    type: http\n    scheme: bearer\n    bearerFormat: JWT\n"}),
        clean("example of a document", {"md": "Send `Authorization: Bearer <token>` and `X-Api-Key: YOUR_API_KEY`, then read `token_type`."}),
        clean("messages about passwords", {"log": "passwd: password updated successfully\nsudo: a password is required\nPassword for user postgres:\nEnter password:\nFATAL: password authentication failed for user \"app\"\n"}),
        clean("messages about tokens", {"log": "token expired at 2024-11-04T10:00:00Z\nAccess token expires in 3600 seconds\nInvalid token: signature mismatch\nSyntaxError: Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON\n"}),
        clean("hidden by others", {"log": "password=*** token=[REDACTED] secret=<hidden> api_key=xxxxxxxx Password: ********"}),
        clean("counts of tokens", {"usage": {"prompt_tokens": 1523, "completion_tokens": 411, "total_tokens": 1934, "cached_tokens": 1024}, "tokens": 1934, "tokens_per_second": 41.7}),
        clean("results of tests and passes", {"pass": 141, "fail": 2, "passes": 3, "bypass": False, "summary": "pass=141 fail=2 skip=0"}),
        clean("words that hold words", {"compass": "north", "passage": "b", "tokenizer": "bpe", "secretary": "Dana", "authority": "city", "keyboard": "qwerty", "monkey": "k1"}),
        clean("keys that are none", {"primary_key": "id", "sort_key": "created_at", "cache_key": "page:7", "public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq", "key": "value", "keywords": "a, b"}),
        clean("switches and settings of tokens", {"token_type": "Bearer", "session_timeout": 1800, "cookies_enabled": True, "password_policy": "strong", "otp_enabled": False, "credential_source": "environment", "auth_type": "oauth2"}),
        clean("public halves", {"jwks": {"keys": [{"kty": "RSA", "use": "sig", "kid": "k1", "e": "AQAB", "n": made(86, URLSAFE, "n")}]}, "pem": "-----BEGIN PUBLIC KEY-----\n" + made(64, BASE64, "pub") + "\n-----END PUBLIC KEY-----"}),
        clean("hashes, digests and ids", {"commit": made(40, HEX, "c"), "image": "nginx@sha256:" + made(64, HEX, "d"), "trace_id": made(32, HEX, "t"), "integrity": "sha512-" + made(86, BASE64, "i") + "==", "id": uuid("id")}),
        clean("addresses with users only", {"urls": ["ssh://git@github.com/acme/app.git", "ftp://anonymous@ftp.internal/pub", "postgres://app@db1:5432/shop", "git@github.com:acme/app.git", "https://example.com:8443/a?b=c#d"]}),
        clean("address with references", {"env": "DATABASE_URL=postgres://${DB_USER}:${DB_PASSWORD}@db:5432/app\nREDIS=redis://:<password>@cache:6379\n"}),
        clean("scopes and versions that look like mail", {"log": "added @types/node@20.11.5 and lodash@4.17.21; pkg:npm/%40angular/core@16.1.0; user@1.2.3 skipped; me@localhost"}),
        clean("state of a vault", {"stdout": "Key                     Value\n---                     -----\nSeal Type               shamir\nTotal Shares            5\nVersion                 1.17.2\n"}),
        clean("names of files", {"stdout": "-rw-r--r-- 1 root root  812 Nov  4 10:00 password.txt\ndrwxr-xr-x 2 root root 4096 Nov  4 10:00 secrets\n-rw------- 1 root root  120 Nov  4 10:00 .token\n"}),
        clean("rules of a linter", {"out": "auth.py:3:1: S105 Possible hardcoded password assigned to: \"password\"\nauth.py:9:5: S106 Possible hardcoded password assigned to argument: \"token\"\n"}),
        clean("steps of a recipe and of a page", {"text": "1. Open Settings > API keys. 2. Click Create key. 3. Copy the key; you will not see the secret again. 4. Set the password policy."}),
        clean("options of a program", {"help": "  -p, --password PASSWORD  password of the user (default: prompt)\n      --token TEXT         API token  [env var: APP_TOKEN]\n      --api-key KEY        key to use\n"}),
        clean("enumeration and type", {"ts": "interface Login { user: string; password: string; token?: string | null }\ntype Secret = 'none' | 'env' | 'file';\n"}),
        clean("status of features", {"log": "auth: enabled\nmfa: required\ntoken: valid\nsecret: present\npassword: set\ncookie: secure; HttpOnly\n"}),
        clean("commands on keys", {"sh": "ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519 -C build\nkubectl delete secret db-password --ignore-not-found\naws secretsmanager get-secret-value --secret-id prod/db\ngh secret set DEPLOY_TOKEN < token.txt\n"}),
        clean("data as an address", {"img": "data:image/png;base64,iVBORw0KGgo" + made(120, BASE64, "png") + "==", "css": "url(data:font/woff2;base64,d09GMgAB" + made(60, BASE64, "w") + ")"}),
        clean("flags that name files", {"argv": ["app", "--password-file", "/run/secrets/db", "--token-path=/var/run/token", "--key", "server.key", "--cert", "server.pem"]}),
    ]
