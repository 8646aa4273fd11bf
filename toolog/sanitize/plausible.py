# ruff: noqa: SIM905 - word lists read better as text
"""Is this a secret, or only text about one? Decides on the value that stands behind a sensitive name in free
text.

`token: expired`, `password = os.environ["DB_PASSWORD"]` and `api_key: ${API_KEY}` name a secret and show
none. A value in quotes, or with a digit or a sign in it, is taken for a secret; a bare lower-case word is
judged by what follows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_STATUS = frozenset(
    """expired invalid missing required optional none null nil true false ok okay yes no valid wrong incorrect
    revoked rejected accepted denied failed failure unknown undefined unset empty set changed updated reset
    sent enabled disabled hidden redacted masked filtered removed secret password token string str int integer
    bytes bool boolean number float any object array list dict text varchar char type optional secretstr
    default auto given provided present absent needed not n/a na tbd todo refreshed verified unverified
    pending active inactive locked unlocked generated created deleted rotated stored loaded found expires
    expiring mismatch mismatched matched matches ready confirmed unauthorized forbidden self cls this kwargs
    args see your the a an is was please must should may bearer basic digest oauth oauth2 mtls jwt saml ldap
    kerberos session anonymous public private internal external later lax strict accept decline sms email app
    call landline mobile work home cell fax other new old short long strong weak medium bad good include omit
    same-origin secure httponly samesite inherit inherited
    read write read-only write-only readonly read-write read-all write-all
    unchanged unmodified untouched rename renamed skip skipped ignore ignored clear cleared drop dropped keep
    kept reuse reused cached copied moved merged replaced regenerate regenerated reissued issued granted
    supplied entered typed exposed leaked compromised protected encrypted hashed salted obscured
    eof eol ident identifier literal operator keyword comment newline whitespace punctuation
    header query path body form""".split()
)
_RELEASE = (
    r"v?[0-9]{1,8}(?:\.(?:[0-9]{1,8}|[xX*])){0,4}"
    r"(?:[-+.]?(?:a|b|c|rc|alpha|beta|dev|post|pre)[.-]?[0-9]{0,6})?"
)
_RELEASED = re.compile(_RELEASE)
#: Rules of values that are never made of a few numbers with dots between them.
_NO_RELEASES = frozenset(("token", "cookie", "secret", "credential", "passport", "api_key", "authorization"))
#: How long it still lives, or until when one has to wait (`ratelimit-reset-tokens: 6ms`).
_DURATION = re.compile(r"(?:[0-9]{1,6}(?:\.[0-9]{1,3})?(?:ns|us|µs|ms|s|sec|min|m|h|d|w)){1,4}")
#: What roles may do, under the names of what they may do it to (`id-token: write`, `secrets: [get, list]`).
_PERMISSIONS = frozenset(
    "read write none admin get list watch create update patch delete read-only write-only read-write".split()
)
#: How LDAP and Spring say in which way a password is written down, before it.
SCHEMES = (
    r"s?sha(?:-?(?:1|256|384|512))?|s?md5|md4|crypt|pbkdf2(?:-?[a-z0-9]{1,12})?|argon2|bcrypt|scrypt"
    "|noop|cipher|cleartext"
)
_REFERENCE = re.compile(
    # (a default that is written into it is told)
    r"\$\{(?![^}]{0,100}:?-[^}$]{0,100}[0-9])[^}]*\}?|\$\([^)]*\)?|\{\{.*"
    r"|\$[A-Za-z_0-9@*#]\w*|\$(?:env|script|global|using|private):\w+|%\(?[A-Za-z_]\w*\)?[%s]?|<[^<>\n]{0,60}>|:[A-Za-z_]{1,60}|\{[A-Za-z_][\w.]*\}?|@\w+\b.*"
    # where vaults and clouds keep it
    r"|(?:op|vault|ssm|secretsmanager|keyring|keychain|kv|azurekv|gcpsm|gcp-sm|bws|doppler|infisical|sops)"
    r"(?:\+[a-z]{2,12})?://[\w./@%?=&:# -]*"
    r"|arn:aws[a-z-]{0,12}:[a-z0-9-]{1,40}:[\w:/.@+=*-]*|projects/[\w-]+/secrets/[\w/-]+"
    # which versions of what is called so
    rf"|(?:[~^<>] ?(?=v?[0-9]{{1,8}}\.|[0-9]{{1,3}}$)|[~<>=!^]= ?|=== ?){_RELEASE}"
    rf"(?:(?:,| ?\|\| ?| | - )(?:[~^<>]|[~<>=!]=)? ?{_RELEASE}){{0,4}}"
    r"|(?:os|process|env|ENV|System|settings|config|secrets|vault)\b\s*[.\[({:].*"
    rf"|f?[\"']?\{{(?!(?i:{SCHEMES})\}}).*",
    re.S,
)
#: What stands in documentation where a reader's own is to stand: `YOUR_API_KEY_HERE`, `sk-...`.
_PLACEHOLDER = re.compile(
    r"(?i:your|my|insert|enter|paste|replace|put|add)(?:[-_ ]?(?i:your|own|my|the|an?|with|in|real|actual|new"
    r"|api|app|auth|access|secret|private|public|client|bot|user|db|database|service|account|bearer|key|keys"
    r"|token|tokens|password|passwd|id|value|credentials?|name|username|here|this)){2,8}"
    r"|[A-Za-z0-9_-]{0,12}(?:\.{3,}|…)|(?:[A-Za-z]{2,12}[-_]){1,3}(?:x{4,}|X{4,}|\*{4,}|0{8,})"
    # what asks for it in PowerShell (`$cred = Get-Credential`)
    r"|(?:Get|Read|New|Import|Select|Convert(?:To|From))-[A-Za-z]{0,24}"
    r"(?:Credential|SecureString|Secret|Token|Password|Host|String|Content|Variable)s?"
)
_MASK = re.compile(
    r"\[MASKED(?::[a-z0-9_]{1,40})?(?::[0-9a-f]{8,32})?\](?: \(\d+\))?"
    r"|\[REDACTION_FAILED\]|\[TRUNCATED\]|\[CYCLE\]"
    r"|\*{3,}[^\s*]{0,4}|[A-Za-z0-9_-]{1,16}\*{4,}[A-Za-z0-9_.-]{0,8}|[xX]{4,}|[•●]{3,}|\.{3,}|…"
    r"|(?:REDACTED|redacted|Filtered|FILTERED|MASKED|masked|hidden)|\[[A-Za-z][A-Za-z_ -]{2,24}\]"
    r"|<(?:redacted|REDACTED|masked|hidden|secret)>|<MASK>|-+"
)
#: What parts an object from its member, and names of members; the rest of a type with types in it.
_MEMBER = re.compile(r"[?!&]?\.|::")
_NAME = re.compile(rf"[A-Za-z_]\w*(?:(?:{_MEMBER.pattern})[A-Za-z_]\w*)*")
_TYPE = re.compile(r"<&?(?:'\w+ )?(?:[A-Z]\w*|str|string|int|number|any|bool|boolean|u8|dyn|unknown)\b")
_OWNERS = frozenset(
    "self cls this os sys config conf cfg settings env environ process args kwargs request req response"
    " user ctx context obj options opts params data client secrets st app form session credentials creds auth"
    " props state".split()
)
#: Integers below it are never masked under a sensitive name: no secret is so small, and counters often are.
SMALL = 128
_DIGIT = re.compile(r"\d")
_DECIMAL = re.compile(r"[-+]?\d*[.,]\d+(?:[eE][-+]?\d+)?")
_SCHEME = re.compile(
    r"(?:bearer|basic|digest|token|api-?key|negotiate|ntlm|hawk|oauth)(?:\s+(?P<rest>.*))?\s*", re.I | re.S
)
_CLEARED = re.compile(
    r"[\w.%-]{1,80}=(?:\"\"|deleted)?"
    r"(?:;[ ]?(?:(?:expires|max-age|path|domain|samesite)=[^;]{0,80}|secure|httponly|partitioned)){1,8};?",
    re.I,
)
_OBJECT = "[object Object]"
_LONGEST_REFERENCE = 256
#: A file in which the secret is, or an element of a page that is called so.
_POINTER = re.compile(
    r"(?:\.{1,2}/|~/|/(?:run|etc|var|home|opt|usr|mnt|tmp|root|srv|app|bin)/)[\w./@-]{1,250}"
    r"|[#.][A-Za-z]{1,40}(?:[-_][A-Za-z]{1,40}){1,6}"
)
_DIRECTORY = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\|~?/|~$|\.{1,2}(?:[\\/]|$))[\w .@+()~\\/-]*")
#: The words that open a wallet: twelve of them and more.
_NEXT_WORD = re.compile(r"[ \t]+[`\"'(]?([^\W\d_]+)")
_NUMBER_AND_WORD = re.compile(r"[ \t]+(?:\d{1,4}[ \t]+)?[`\"'(]?([^\W\d_]+)")
_PHRASE = re.compile(r"[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}")
#: Scripts without blanks between words. Nobody has a password of such letters alone, and a sentence is
#: written right behind a name.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORDY = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.!?]?")


def is_mask(value: str) -> bool:
    """Tell whether the value is a mask already, ours or anybody's."""
    return len(value) <= _LONGEST_REFERENCE and _MASK.fullmatch(value) is not None


def is_reference(value: str) -> bool:
    """Tell whether the value only says where the secret comes from: a variable, a template, a placeholder."""
    return len(value) <= _LONGEST_REFERENCE and (
        _REFERENCE.fullmatch(value) is not None or _PLACEHOLDER.fullmatch(value) is not None
    )


def is_pointer(value: str) -> bool:
    """Tell whether a value in text only says where the secret is: a file's path, or what selects an element
    of a page."""
    return value[:1] in "./~#" and len(value) <= _LONGEST_REFERENCE and _POINTER.fullmatch(value) is not None


def is_release(value: str, rule: str) -> bool:
    """Tell whether a value is the version of a program or library that is called so (`cookie = "0.18"`).

    :param rule: the rule of its name; a password can look so.
    """
    return rule in _NO_RELEASES and "." in value and _RELEASED.fullmatch(value) is not None


def is_duration(value: str, rule: str) -> bool:
    """Tell whether a value is a time of some seconds or days that has to do with what is called so.

    :param rule: the rule of its name; a password can look so.
    """
    return rule in _NO_RELEASES and len(value) < 16 and _DURATION.fullmatch(value) is not None


def is_permission(value: str, rule: str) -> bool:
    """Tell whether a value only says what somebody may do to what is called so (`id-token: write`)."""
    return rule in _NO_RELEASES and value in _PERMISSIONS


def is_scheme(value: str) -> bool:
    """Tell whether a header's value is a scheme without a credential: `Bearer`, `Bearer undefined`."""
    scheme = _SCHEME.fullmatch(value) if len(value) <= _LONGEST_REFERENCE else None
    if scheme is None:
        return False
    rest = (scheme["rest"] or "").strip()
    return not rest or rest == _OBJECT or rest.lower() in _STATUS or is_mask(rest) or is_reference(rest)


def is_cleared(value: str) -> bool:
    """Tell whether a line that sets a cookie takes it away: its value is empty."""
    return len(value) <= _LONGEST_REFERENCE and _CLEARED.fullmatch(value) is not None


def is_small(value: str) -> bool:
    """Tell whether a value is a number that is so small that it counts something."""
    return value.isascii() and value.isdigit() and value[0] != "0" and int(value[:9]) < SMALL


def says_nothing(word: str) -> bool:
    """Tell whether a word behind a sensitive name only says how it is with the secret (`expired`, `null`)."""
    return word.lower() in _STATUS


def shows_secret(value: str, *, strict: bool, rest: str, sensitive: Callable[[str], object]) -> bool:
    """Tell whether an unquoted value behind a sensitive name is the secret itself.

    :param strict: the separator was weak (a colon and a blank, a flag): a bare word is then read as prose
        when more words follow.
    :param rest: what follows the value (a few characters are enough).
    :param sensitive: the key predicate; code that passes a variable on (`password=db_password`) shows
        nothing.
    """
    if is_mask(value) or is_reference(value):
        return False
    if value[-1:] == "-" and rest[:1] == ">":
        return False  # a member of an object of PHP or C (`$this->token`)
    bare = value.rstrip(".!?,:;")
    if not bare or bare.lower() in _STATUS or _UNSPACED.fullmatch(bare):
        return False
    if _NAME.fullmatch(value):
        if rest[:1] in ("(", "[", "?") or (value[0].isupper() and _TYPE.match(rest)):
            return False
        *heads, tail = _MEMBER.split(value)
        head = "".join(heads)
        if (head or tail.islower() or tail.isupper()) and not _DIGIT.search(tail) and sensitive(tail):
            return False
        if heads and heads[-1][0].isupper() and tail.isupper():
            return False  # a member of an enumeration
        owner = (heads or [tail])[0]
        if head and (owner in _OWNERS or (not _DIGIT.search(value) and sensitive(owner))):
            return False
    if strict and _WORDY.fullmatch(value):
        if value[-1] in ".!?":
            return False
        if value.isascii() and not value.islower() and not value.istitle() and not value.isupper():
            return True  # mixed capitals: nobody writes prose so
        following = (_NUMBER_AND_WORD if value.islower() else _NEXT_WORD).match(rest)
        return following is None
    return any(char.isalnum() for char in value)


def fits_shape(value: str, shape: str) -> bool:
    """Tell whether a value fits what a shaped key asks for: `digits`, `number`, `paper`, `oauth`, `mixed`,
    `credential`,
    `phrase` or `no_path`."""
    digits = sum(char.isdigit() for char in value)
    if shape == "digits":
        return value.isdigit() and 3 < len(value) < 13
    if shape == "number":
        return digits >= 5 and digits * 2 >= len(value)
    if shape == "paper":
        size = sum(map(str.isalnum, value))
        return digits >= 4 and size >= 9 and "/" not in value and _DECIMAL.fullmatch(value) is None
    if shape == "oauth":
        return len(value) >= 16 and digits > 0 and any(map(str.isalpha, value))
    if shape == "mixed":
        return (
            len(value) >= 4
            and (digits > 0 or not value.isalpha())
            and not value.replace(".", "").replace("%", "").isdigit()
        )
    if shape == "credential":
        return (
            len(value) >= 4
            and value.lower() not in _STATUS
            and not value.replace("_", "").replace("-", "").isalpha()
        )
    if shape == "phrase":
        return _PHRASE.fullmatch(value.strip()) is not None
    if shape == "no_path":
        return _DIRECTORY.fullmatch(value) is None
    return True
