"""Passwords that command lines and setting files of well-known programs are told without a name, or with a
name and no sign: one-letter flags, `ENV NAME value`, `.netrc`, `.pgpass`, users of Oracle, PowerShell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from toolog.sanitize.literals import Held
from toolog.sanitize.plausible import is_mask, is_reference
from toolog.sanitize.rules import Span

#: Programs and the flag behind which each takes a password.
PROGRAMS: dict[str, str] = {
    "sshpass": "-p",
    "redis-cli": "-a",
    **dict.fromkeys(("ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldappasswd", "ldapwhoami"), "-w"),
    **dict.fromkeys(("mongo", "mongosh", "mongodump", "mongorestore", "mongoimport", "mongoexport"), "-p"),
    **dict.fromkeys(("cqlsh", "rabbitmqadmin"), "-p"),
    **dict.fromkeys(("sqlcmd", "ipmitool", "mosquitto_pub", "mosquitto_sub", "unzip", "zip"), "-P"),
    **dict.fromkeys(("snmpwalk", "snmpget", "snmpset"), "-A"),
    **dict.fromkeys(("plink", "pscp", "psftp"), "-pw"),
    "openssl": "-k",
}
#: Words without which no command line is one of a program that takes a password so.
WORDS = (
    *(name for name in PROGRAMS if not name.startswith(("ldap", "mongo", "mosquitto"))),
    *("ldap", "mongo", "mosquitto", "mysql", "login", "echo", "net", "oracle", "sqlplus", "sqlldr", "expdp"),
    *("impdp", "rman", "requirepass", "masterauth", "smbclient", "htpasswd", "nmcli", "freerdp"),
    *("AUTH", "schtasks", "lftp", "community", "md0"),
    *("keyvault", "put-parameter", "keygen", "rabbitmqctl", "SETUSER", "NickServ", "PASS", "LOGIN", "WIFI"),
    *("printf", " ENC=", " 0z[ar]?="),
)
#: What sets a variable to what comes behind its name, with nothing but blanks between: `set -x`, `setx`,
#: `ENV` of images, headers and parameters of web servers, `aws configure set`.
SETS = (
    r"(?:set(?:x|env|(?:[ \t]{1,4}-{1,2}[A-Za-z]{1,8})+)|SetEnv|ENV"
    r"|(?:proxy|grpc)_set_header|(?:fastcgi|uwsgi|scgi)_param|RequestHeader[ \t]{1,4}(?:set|add)"
    r"|(?:config|configure|(?:user-)?secrets?|vars?|env)[ \t]{1,4}"
    r"(?:--?[a-z-]{1,20}[ \t]{1,4}){0,3}(?:set|add|put))"
)


def _up_to(flag: str) -> str:
    """Match what stands between a program and its flag; asked first is whether that comes at all, which is
    much faster than to try each place on the line."""
    return rf"(?=(?s:.{{0,202}}){flag})[^\n]{{0,200}}?"


#: Between a flag and its value: blanks, or what stands between two items of a list.
_NEXT = r"(?:[ ]{1,4}|[\"'],[ ]?)"
_LINE = r"(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n)"
_WORD = r"[\"']?([^\s\"'-][^\s\"']{1,200}+)"
_BEGUN = r"[\"']?[^\s\"'-][^\s\"']"
_USER = re.compile(
    r"-(?<![^\s\"']-)(?:u|-user|-proxy-user)(?:[ =]?|[\"'],[ ]?)[\"']?([^\s:\"'@/]{1,128}):([^\s\"']{1,512}+)"
)
#: A user and a password side by side, whatever program they are for.
_BESIDE = re.compile(
    r"-(?<![^\s\"']-)(?:u|-user|-username)(?:[ =]{1,4}|[\"'],[ ]?)"
    r"[\"']?([^\s\"'-][^\s\"']{0,127})[\"']?,?[ \t]{1,4}[\"']?-p" + _NEXT + _WORD
)
_BEFORE = 200
_ASKS = re.compile(r"\b(?:mysql|mariadb)(?:dump|admin|import|-dump|-admin)?\b[^|;&]*$")
_PORTS = re.compile(r"[0-9.:/-]+(?:tcp|udp)?")
_MYSQL = re.compile(
    rf"mysql(?<!\wmysql)(?:dump|admin|import)?\b{_up_to('-p' + _BEGUN)}[\s\"']-p([^\s\"'-][^\s\"']{{1,200}}+)"
)
_LOGIN = re.compile(rf"login(?<=[\s\"']login)\b{_up_to('-p' + _NEXT + _BEGUN)}[\s\"']-p{_NEXT}{_WORD}")


def _behind_flag(programs: Iterable[str], flag: str) -> re.Pattern[str]:
    names = "|".join(f"{name[0]}(?<!\\w.){name[1:]}" for name in programs)
    blank = "(?:[ ]{0,4}|[\"'],[ ]?)" if flag == "-p" and "sshpass" in programs else _NEXT
    return re.compile(rf"(?:{names})\b{_up_to(flag + blank + _BEGUN)}[\s\"']{flag}{blank}{_WORD}")


_FLAGS = tuple(
    (programs, _behind_flag(programs, flag))
    for programs, flag in (
        (("sshpass",), "-p"),
        *(
            (tuple(name for name, own in PROGRAMS.items() if own == flag and name != "sshpass"), flag)
            for flag in dict.fromkeys(PROGRAMS.values())
        ),
    )
)
#: The lines of a `.netrc`, where only blanks stand between names and values.
_NETRC = re.compile(
    r"(?:machine(?<!\wmachine)\s{1,8}\S{1,255}|default(?<!\wdefault))\s{1,8}login\s{1,8}\S{1,255}\s{1,8}(?:account\s{1,8}\S{1,255}\s{1,8})?"
    r"password\s{1,8}(\S{1,512}+)"
)
#: The lines of a `.pgpass`: host, port, database, user, password.
_PGPASS = re.compile(
    r":(?<=[\w.*-]:)(?:[0-9]{2,5}|\*):[^\s:]{1,63}:[^\s:]{1,63}:((?:[^\s:\\\"']|\\[:\\]){1,512}+)(?=[\s\"']|\\[nr]|$)"
)
_PGPASS_SHOWN = ("pgpass", "database:username:password")
#: How servers of Redis and of mail are told a password.
_TOLD = re.compile(
    r"(?:requirepass(?<!\wrequirepass)\s{1,4}|masterauth(?<!\wmasterauth)\s{1,4}"
    r"|AUTH(?<!\wAUTH)\s{1,4}(?:PLAIN|LOGIN|default)\s{1,4}"
    # (a line of its own)
    r"|AUTH(?<![^\n\"'>]AUTH)[ ](?:[\w.@-]{1,64}[ ])?"
    r"(?=[^\s\"']{0,100}[0-9!-/:-@\[-`{-~][^\s\"']{0,512}(?:[\"'\r\n]|\\{1,8}[nr\"']|$)))"
    r"([^\s\"']{4,512}+)"
)
_ORACLE = re.compile(
    r"(?:oracle:(?:thin|oci8?):|(?:sqlplus|sqlldr|expdp|impdp|rman)\b[^\n/]{0,80}?[ \"'])"
    r"[A-Za-z][\w$#.-]{0,63}/([^\s@/\"']{1,128}+)(?=@)"
)
_ORACLE_SHOWN = ("oracle:", "sqlplus", "sqlldr", "expdp", "impdp", "rman")
_POWERSHELL = re.compile(
    r"(?i:convertto-securestring)\s{1,4}(?:-(?i:string)\s{1,4})?(?P<quote>[\"'])([^\"'\r\n]{1,512}+)(?P=quote)"
)
#: A share of another machine: the password stands behind it, before or behind the user.
_NET_USE = re.compile(
    r"net(?<![\w.]net)[ ]{1,4}use[ ]{1,4}(?:[A-Za-z*]:?[ ]{1,4})?\\{2,8}[^\s\"']{1,255}[ ]{1,4}"
    r"(?:/user:[^\s\"']{1,128}[ ]{1,4})?([^\s/*\"'][^\s\"']{1,127}+)"
    r"(?=[ ]{1,4}/|[ ]{0,4}(?:[\r\n\"'&|;]|\\{1,8}[nr]|$))"
)
_NET_USER = re.compile(
    r"net(?<![\w.]net)[ ]{1,4}user[ ]{1,4}[\w.@\\-]{1,64}[ ]{1,4}([^\s/*\"'][^\s\"']{1,127}+)"
    r"(?=[ ]{1,4}/|[ ]{0,4}(?:[\r\n\"']|$))"
)
#: What devices of networks are told: how the secret is written down, and the secret.
_DEVICE = re.compile(
    r"(?:password|secret|md5)[ ][0-9][ ]"
    r"(?=[^\s]{0,100}[0-9])(?=[^\s]{0,100}[A-Za-z$])([^\s\"']{8,200}+)"
    r"|snmp-server[ ]community[ ]([^\s\"']{4,64}+)"
    r"|password[ ]51:b:([0-9A-F]{8,4096}+)"
    r"|(?:password|passwd|secret|key)[ ]ENC[ ]([A-Za-z0-9+/=]{8,512}+)"
)
_DEVICE_WORDS = ("password ", "secret ", "community ", "md5 ", " ENC ")
#: Programs that are told a password in ways of their own.
_OWN_WAYS = tuple(
    (word, re.compile(pattern))
    for word, pattern in (
        ("smbclient", rf"smbclient\b{_up_to('-U')}\s-U[ ]?[\"']?[^\s%\"']{{1,64}}%([^\s\"']{{2,200}}+)"),
        ("7z", r"7z[ar]?\s[^\n]{0,120}?\s?-p([^\s\"']{2,200}+)"),
        (
            "htpasswd",
            rf"htpasswd\s{{1,4}}-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}\s{{1,4}}\S{{1,200}}\s{{1,4}}\S{{1,64}}\s{{1,4}}{_WORD}",
        ),
        ("vault login", rf"vault login\s{{1,4}}(?=[^\s]{{0,60}}[0-9]){_WORD}"),
        ("secret set", rf"secret set\s{{1,4}}\S{{1,100}}\s{{1,4}}(?:--body|-b)[ =]{_WORD}"),
        ("nmcli", rf"nmcli\b[^\n]{{0,200}}?\spassword\s{{1,4}}{_WORD}"),
        ("wpa_passphrase", rf"wpa_passphrase\s{{1,4}}\S{{1,64}}\s{{1,4}}{_WORD}"),
        (
            "http",
            rf"https?(?<![\w./:-]http)(?<![\w./:-]https)[ ]{_up_to('-(?:a|-auth)')}(?:-a|--auth)[ =]"
            r"[\"']?[\w.@-]{1,64}:([^\s\"']{2,200}+)",
        ),
        (
            "curl",
            rf"curl\b{_up_to('-(?:b|-cookie)')}\s(?:-b|--cookie)[ =]?"
            r"(?P<q>[\"'])(?P<secret>[\w.-]{1,60}=[^\"'\n]{2,4096}+)(?P=q)",
        ),
        ("lftp", rf"lftp\b{_up_to('-u')}\s-u[ ]?[\"']?[^\s,\"']{{1,64}},([^\s\"']{{2,200}}+)"),
        ("schtasks", rf"schtasks\b[^\n]{{0,300}}?\s/(?i:rp)\s{{1,4}}{_WORD}"),
        ("keyvault secret", rf"keyvault secret set\b{_up_to('--value[ =]' + _BEGUN)}\s--value[ =]{_WORD}"),
        (
            "put-parameter",
            rf"put-parameter\b(?=[^\n]{{0,400}}SecureString)[^\n]{{0,400}}?\s--value[ =]{_WORD}",
        ),
        ("ssh-keygen", rf"ssh-keygen\b{_up_to('-P[ ]' + _BEGUN)}\s-P[ ]{_WORD}"),
        ("ssh-keygen", rf"ssh-keygen\b{_up_to('-N[ ]' + _BEGUN)}\s-N[ ]{_WORD}"),
        (
            "rabbitmqctl",
            rf"rabbitmqctl\b[^\n]{{0,80}}?\s(?:add_user|change_password)\s{{1,4}}\S{{1,64}}\s{{1,4}}{_WORD}",
        ),
        ("SETUSER", r"SETUSER\s{1,4}\S{1,64}[^\n]{0,200}?\s>([^\s\"']{2,200}+)"),
        ("NickServ", r"NickServ[ :]{1,4}(?i:identify)[ ](?:[\w-]{1,32}[ ])?([^\s\"']{4,128}+)"),
        # (of servers of mail and files: what a client says to sign in)
        (
            "PASS ",
            rf"USER[ ]\S{{1,64}}[^\r\n\\]{{0,80}}{_LINE}[^\r\n\\]{{0,40}}?PASS[ ]([^\s\"'\\]{{2,200}}+)",
        ),
        (
            "LOGIN ",
            r"[A-Za-z][0-9]{1,6} LOGIN \\{0,8}\"?[^\s\"\\=]{1,100}\\{0,8}\"? \\{0,8}\"?([^\s\"\\]{2,200}+)",
        ),
        ("WIFI:", r"WIFI:(?:[A-OQ-Z]:[^;\n]{0,64};){0,4}P:((?:[^;\\\s]|\\[;,:\\\"]){2,128}+)"),
        ("Input Password", r"Input Password(?:[ ]{2,8}|\t)\S{1,100}(?:[ ]{2,8}|\t)([^\s\"']{2,200}+)"),
        ("freerdp", r"freerdp\b[^\n]{0,200}?\s/p:([^\s\"']{2,200}+)"),
    )
)
_PIPED = re.compile(
    r"(?:e(?<!\we)cho|p(?<!\wp)rintf)\s{1,4}(?:-[ne]{1,2}\s{1,4})?[\"']?(?:[\w.-]{1,64}:)?([^\s\"'|:]{2,200}+)[\"']?\s{0,4}\|"
    r"\s{0,4}(?:sudo\s{1,4}(?:chpasswd|passwd\b|[^\n|]{0,40}?-S\b)|chpasswd|passwd\s{1,4}--stdin"
    r"|[^\n|]{1,120}?(?:--password-stdin|--passphrase-fd|--with-token"
    r"|(?:secrets?|env)\s(?:put|set|add|create|import)\b)|kinit\b|cryptsetup\b|smbpasswd\b)"
)


#: What the searches look for in a text before they read it.
_FLAG_SIGNS = ("-p", "-P", "-a", "-A", "-w", "-k")
SHOWN = (
    *("login", "requirepass", "masterauth", "AUTH", "@", "|", "echo", "printf", "net", " user ", " use "),
    *("-", "mysql", *_PGPASS_SHOWN, *_ORACLE_SHOWN, *_DEVICE_WORDS, *_FLAG_SIGNS),
    *(word for word, _ in _OWN_WAYS),
    *(name for programs, _ in _FLAGS for name in programs),
)


def find_program_passwords(text: str, held: Held) -> Iterator[Iterator[Span]]:
    """Yield the searches for passwords that well-known programs and servers are told, each in the text's
    order.

    :param held: which words (`SHOWN`) stand in the text.
    """
    if held["login"]:
        yield _shown(_NETRC.finditer(text), 1)
    if any(map(held.__getitem__, _PGPASS_SHOWN)):
        yield _shown(_PGPASS.finditer(text), 1, wordy=False)
    if held["requirepass"] or held["masterauth"] or held["AUTH"]:
        yield _shown(_TOLD.finditer(text), 1, wordy=False)
    if held["@"] and any(map(held.__getitem__, _ORACLE_SHOWN)):
        yield _shown(_ORACLE.finditer(text), 1)
    if held["|"] and (held["echo"] or held["printf"]):
        yield _shown(_PIPED.finditer(text), 1)
    if held["net"] and held[" user "]:
        yield _shown(_NET_USER.finditer(text), 1, wordy=False)
    if held["net"] and held[" use "]:
        yield _shown(_NET_USE.finditer(text), 1, wordy=False)
    if any(map(held.__getitem__, _DEVICE_WORDS)):
        yield _shown(_DEVICE.finditer(text), 0)
    for word, pattern in _OWN_WAYS:
        if held[word]:
            rule = "cookie" if word == "curl" else "password"
            yield _shown(pattern.finditer(text), pattern.groups, rule=rule)
    if not held["-"]:
        return
    lowered = text.encode("ascii", "replace").lower()  # (folding the case of other scripts is slow)
    first = lowered.find(b"curl")
    if first >= 0:
        users = _USER.finditer(text, first)
        yield _shown((user for user in users if not (user.group(1).isdigit() and user.group(2).isdigit())), 2)
    if b"securestring" in lowered:
        yield _shown(_POWERSHELL.finditer(text), 2)
    if held["mysql"]:
        yield _shown(_MYSQL.finditer(text), 1)
    if not any(map(held.__getitem__, _FLAG_SIGNS)):
        return
    yield _shown(_no_ports(_besides(text)), 2)
    if held["login"]:
        yield _shown(_no_ports(_LOGIN.finditer(text)), 1)
    for programs, pattern in _FLAGS:
        if any(map(held.__getitem__, programs)):
            yield _shown(pattern.finditer(text), 1)


def is_port(value: str) -> bool:
    """Tell whether a value behind `-p` publishes a port (`docker run -u 1000 -p 8080:80`)."""
    return _PORTS.fullmatch(value) is not None


def _besides(text: str) -> Iterator[re.Match[str]]:
    """Yield users with passwords beside them; programs that ask when nothing stands close to `-p` are told
    what is behind it for something else (`mysql -u root -p shop`)."""
    for match in _BESIDE.finditer(text):
        if match.group(2).isidentifier() and not any(map(str.isdigit, match.group(2))):
            line = text[
                max(text.rfind("\n", max(0, match.start() - 200), match.start()), match.start() - 200)
                + 1 : match.start()
            ]
            if _ASKS.search(line):
                continue
        yield match


def _no_ports(matches: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    return (match for match in matches if not is_port(match.group(match.lastindex or 0)))


def _shown(
    matches: Iterable[re.Match[str]], group: int, *, wordy: bool = True, rule: str = "password"
) -> Iterator[Span]:
    for match in matches:
        place = group or match.lastindex or 0
        secret = match.group(place)
        if is_mask(secret) or is_reference(secret) or secret.startswith("[MASKED:"):
            continue
        if (wordy or not secret.isalpha()) and not (secret.isalpha() and secret.isupper()):  # (`-p DATABASE`)
            yield match.start(place), match.end(place), rule
