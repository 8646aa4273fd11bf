"""What the prefilter looks for: the rules as expressions over bytes of any kind.

The scan reads MessagePack, JSON (also JSON inside JSON) or text, without knowing which. So it can trust
neither side of a string: in MessagePack the byte before it is a length that may look like a letter or digit,
the byte behind it any value's head; in JSON the `n` of an escaped newline may stand before it. Every pattern
here is the matching rule with those neighbours allowed.

Patterns are written as Latin-1 text over UTF-8 bytes. The module is long because it is one list, which is
read beside the rules.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache

from toolog.sanitize.calls import OPENING
from toolog.sanitize.candidates import TOLD, least_of
from toolog.sanitize.checks import IBAN_COUNTRIES
from toolog.sanitize.encoded import BEGINNING
from toolog.sanitize.fold import FOREIGN_DIGITS, TABLE, byte_class, escape_class
from toolog.sanitize.languages import BE, OF, PHRASES, WHOSE, spellings
from toolog.sanitize.phrases import NUMBERED_RULES
from toolog.sanitize.vendors import HOOKS, VENDORS
from toolog.sanitize.vocabulary import SHAPED
from toolog.sanitize.words import SUFFIXES

#: What stands behind a word in bytes that are no string any more, or a letter of another script: the head of
#: a MessagePack value that can be masked, or UTF-8. Never the heads of what stays as it is under any name:
#: nil, booleans, an empty text, list or map, and small integers. The bytes of `false` and `true` begin
#: letters, too: signs as in `password²`, of which `words.judge` keeps the same ones. A newline can stand in
#: `<password\n a=`.
_BEHIND = (
    r"(?:[\x81-\x8f\x91-\x9f\xa1-\xbf\xc4-\xff]|\xc2[\xa1-\xbf](?:[^A-Za-z0-9_]|$)"
    r"|\xc3(?:\x97|\xb7(?:[^A-Za-z0-9_]|$))|\n[\t-~\xc2-\xf4])"
)
#: Behind `null`, `true` or `false` in JSON; what makes it another word, which may be a secret in broken JSON.
_GOES_ON = r"(?:[^\s,}\]]|,(?:[^\s\"\\}]|$)|$)"


def _not(word: str) -> str:
    """Match whatever begins like a word of JSON and is not that word."""
    rest = _GOES_ON
    for char in reversed(word[1:]):
        rest = f"(?:[^{char}]|$|{char}{rest})"
    return word[0] + rest


#: A closing quote of JSON, and behind it no colon (a value, an item), or a value that can be masked.
_QUOTED = (
    r"\"[ \t\r\n]*(?:[^ \t\r\n:]|:[ \t\r\n]*(?:[^ \t\r\n\"\\\[{nft]|\"(?:[^\"]|$)"
    r"|\\(?:[^\"]|$|\"(?:[^\\]|$|\\(?:[^\"]|$)))"
    rf"|\[(?:[^\]]|$)|\{{(?:[^}}]|$)|{_not('null')}|{_not('true')}|{_not('false')}))"
)
_END = f"(?:{_QUOTED}|{_BEHIND})"
#: Behind more than the word itself, an accented letter begins or ends another word.
_TAIL_END = rf"(?:{_END}|\xc3[\x80-\xbf])"
#: Behind a word that is found inside longer runs: anything but the values that stay as they are.
AFTER = rf"(?:\\*{_QUOTED}|{_BEHIND}|\xc2\xa0|[\t !#-\[\]-~]|\\+[^\"\\])"
_GAP = r"(?:[ \t]|\\+t)+"
JOINT = r"(?:[ !#-+\-./0-9;-@\[-`{-~]|%[2-5][A-Fa-f])*"
#: The same, and apostrophes as they are printed.
_APOSTROPHES = JOINT.replace("(?:", r"(?:\xe2\x80\x99|\\+u2019|", 1)
_BLANK = (
    r"(?:[ .\-()/]|\xc2\xa0|\xe2\x80[\x82\x83\x87\x89\x90-\x95\xaf]|\xe2\x88\x92|\xe3\x80\x80"
    r"|\xef\xbc[\x88\x89]"
    r"|\\+u(?i:00a0|20[0-2][0-9f]|2212|3000|ff0[89]))"
)


def _left(letters: str) -> str:
    """Allow what can stand before a string: the start, another character, an escape, or a MessagePack
    length."""
    colour = r"[0-9;\[]m|" if "z" in letters else ""  # (where a letter is no part of it, any one may stand)
    return (
        rf"(?:^|[^{letters}]|\\[nrtbf]|%(?:25)*[0-9a-fA-F]{{2}}|\\u[0-9a-fA-F]{{4}}|\\x[0-9a-fA-F]{{2}}"
        rf"|{colour}[\xd9\xc4][{letters}]|[\xda\xc5][\x00-\xff][{letters}]"
        rf"|[\xdb\xc6][\x00-\xff]{{3}}[{letters}])"
    )


def _begun(words: Iterable[str]) -> str:
    """Match how words begin that go on behind a label: to their end, or to what is not ASCII in them."""
    starts = {re.split(r"[^\x00-\x7f]", word)[0] + ("" if word.isascii() else "~") for word in words}
    ends = r"(?:[\xc3-\xf4]|\\+u)"
    return "|".join(
        f"{start[:-1]}{ends}" if start[-1] == "~" else rf"{start}[ \t:=\\\xef]" for start in sorted(starts)
    )


#: A number behind a blank, as it may stand right behind its name.
_NO = r"(?i:no|nr|num|number|nummer|n\xc2[\xb0\xba]|\xe2\x84\x96)\.?"
NUMBER_NEXT = rf"(?:[-_.]?{_NO})?{_GAP}(?:{_NO}{_GAP})?(?:[\[(]|\xe3\x80\x90|\\+u3010)?[A-Z]{{0,6}}[0-9]"
#: What stands between a label and whom or what it is for.
_FOR = ("for", "to")
#: (what is a label's only when a sign or `is` comes in the end: it is met in every text)
_OF = (
    r"of[ ](?:[A-Za-z0-9_@.'\- ]|[\xc3-\xf4][\x80-\xbf]+|\\+u[0-9a-fA-F]{4})*"
    r"(?:[ (](?:is|was|are)[ ]|[:=(\\>]|\xc2\xa0)"
)
#: The keys of `{name, value}` items, and those of tables.
NAME_KEYS = (
    "name",
    "key",
    "header",
    "field",
    "param",
    "parameter",
    "variable",
    "column",
    "Name",
    "Key",
    "k",
    "path",
    "ParameterKey",
    "label",
    "title",
    "setting",
    "option",
    "property",
    "attribute",
)
#: The keys of steps that fill something into a field of a page or form, and of what is filled in.
FIELD_KEYS = (
    *("element", "selector", "locator", "placeholder", "field_name", "fieldName", "field_label"),
    *("fieldLabel", "attributeName", "attribute_name"),
)
FILLED_KEYS = (
    *("text", "value", "newValue", "new_value", "field_value", "fieldValue", "input_text", "inputText"),
    *("oldValue", "old_value"),
)
COLUMN_KEYS = ("columns", "column_names", "cols", "fields", "header", "headers", "names")
VALUE_KEYS = (
    *("value", "val", "content", "Value", "v", "ParameterValue"),
    *("old_value", "new_value", "oldValue", "newValue", "old", "new"),
    *("rejectedValue", "rejected_value", "invalidValue", "invalid_value"),
)
ROW_KEYS = ("rows", "data", "values", "records", "row", "results")
#: Behind the name of a column, in a tuple of Erlang, and in an item of text (`name: password, value: x`).
_IN_TABLES = (
    r"(?:[,;\t]|\\+t)[\\\"']*[A-Za-z_/\xc3-\xf4]|(?:\t|\\+t|  )[ -~]|  |(?:[ \t]|\\+t)*(?:\\+[nr]|[\r\n])"
    r"|,[ ]?(?:<<)?\\*\"[!-~\xc3-\xf4]|\xc2\xa0|\\+u(?i:00a0|202f)"
    r"|[ \t]*[,;][ \t\r\n]*(?:\\+[nrt ])*[ \t\\\"']*(?:[vV]alue|val|content|default)"
)
#: Behind a sensitive word comes the rest of the key and its end, or a sign of assignment; never a small
#: letter, which would make it another word (`secretary`). `words.judge` keeps the same bounds for keys with
#: blanks and for sentences.
_RIGHT = (
    rf"(?:\\*{_END}|(?:[#-+\-/-:<->@-`{{-~]|[!#-`{{-~][!#-~]*[#-+\-/-:<->@-~]){_TAIL_END}"
    rf"|[!#-`{{-~][!#-~]*(?:\xc2[\xa1-\xbf](?:[^A-Za-z0-9_]|$)|[\xc3-\xf4][\x80-\xbf])"
    rf"|[#&'()+/0-9A-Z_: \-](?:[#&'()+/0-9A-Za-z_: \-]|\\+u[0-9a-fA-F]{{4}})*\\*{_TAIL_END}"
    r"|(?:[A-Z0-9_.$\[\]\-][A-Za-z0-9_.$\[\]\-]*)?[\\'`*]*(?:[ \t]|\\+t|\xc2\xa0)*(?:[=:>%|]|[?]="
    r"|by[ \t]|\\+u[0-9a-fA-F]{4}|'"
    r"|(?:is|was|are|ist|est|es|lautet|\xc3[\xa8\xa9])[ :=\t]"
    r"|(?:is|es|est|ist|lautet|\xc3[\xa8\xa9])(?:\xef\xbc\x9a|\\+u(?i:ff1a)))"
    r"|(?:[A-Z0-9_.$\[\]\-][A-Za-z0-9_.$\[\]\-]*)?[\\'`*]*(?:&(?:quot|#3|apos)|<\\*/"
    rf"|(?:{_GAP})?(?:--?>|\xe2(?:\x86\x92|\x87\x92|\x80[\x93\x94])|\\+u(?:2192|201[34]|21(?i:d)2))"
    # (an element of markup with attributes)
    r"|(?:[ \t\r\n]|\\+[trn])+[A-Za-z_:.\-]+ *="
    rf"|{_GAP}(?:\(|\\*[\"`][!-~]|{_OF}"
    rf"|(?:provided|given|entered|received)[ \t:\\\xef]|{_begun((*_FOR, *BE, *OF, *WHOSE))}"
    rf"|[!-~]*[0-9][!-~]*{_GAP}{TOLD}))"
    # in the head of a table, or beside its value in a row (`tables` reads no other names)
    rf"|(?:[A-Z0-9_.$\-][A-Za-z0-9_.$\-]*)?{OPENING}"
    r"|[A-Za-z0-9_ .$\-]*[\\'\"`*]*[ ]*(?:\||\xe2\x94[\x82\x83]|\\+u250[23]|(?:\\+[nr])+[ ]*[-|+=:])"
    r"|(?:[A-Z0-9_.$\-][A-Za-z0-9_.$\-]*[A-Za-z0-9_$\-]|[A-Z0-9_$\-])?[\\'\"`]*"
    rf"(?:{_IN_TABLES}))"
)


@cache
def _char(char: str) -> str:
    forms = set()
    for form in {char, char.lower(), char.upper()}:
        if len(form) != 1:
            continue
        raw = form.encode()
        forms.add(
            "".join(f"\\x{byte:02x}" for byte in raw)
            if not form.isascii()
            else "\\" + form
            if not form.isalnum()
            else form
        )
        if not form.isascii():
            forms.add(f"\\\\+u(?i:{ord(form):04x})")
            forms.add("".join(f"%(?:25)*(?i:{byte:02x})" for byte in raw))
    return "(?:" + "|".join(sorted(forms)) + ")"


def word_of(word: str) -> str:
    """Match a word in any case; of another script also escaped and percent-encoded."""
    if word.isascii():
        return f"(?i:{word})"
    forms = [word]
    if any(
        "\u0900" <= char < "\u1800" for char in word
    ):  # (of other scripts, accents alone are hidden signs)
        forms = sorted({word, unicodedata.normalize("NFD", word)})
    spelled = ["".join(map(_char, form)) for form in forms]
    return spelled[0] if len(spelled) == 1 else f"(?:{'|'.join(spelled)})"


#: So many characters of a word of another script are looked for: few other words have them.
_SHOWN = 5


def is_foreign(word: str) -> bool:
    """Tell whether a word has no Latin letters."""
    return not word.isascii() and not any("a" <= char <= "z" for char in word)


def beginning(word: str) -> str:
    """Match how a word begins: all of it in Latin letters."""
    return word_of(word[:_SHOWN] if is_foreign(word) else word)


def ending(word: str) -> str:
    """Match how a word ends: all of it in Latin letters."""
    return word_of(word[-_SHOWN:] if is_foreign(word) else word)


def _start(words: Iterable[str]) -> str:
    """Match words where a word may begin: behind no letter, or with a capital (`userPassword`,
    `APIToken`)."""
    words = sorted(words)
    humps = "|".join(f"{word[0].upper()}(?i:{word[1:]})" for word in words)
    return f"(?:{_left('A-Za-z')}(?i:{'|'.join(words)})|{humps})"


def not_ending_in_others(words: Iterable[str]) -> list[str]:
    """Answer the words that do not end with another one of them."""
    known = set(words)
    return [word for word in known if not any(word[at:] in known for at in range(1, len(word)))]


def short_keys(words: Iterable[str]) -> str:
    """Match words as MessagePack writes short texts: behind a byte for their length."""
    return "|".join(f"\\x{0xA0 + len(word):02x}{word}" for word in words)


ROWS = r"(?:[\x91-\x9f]|\xdc[\x00-\xff]{2}|\xdd[\x00-\xff]{4})"
_WIDE = r"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
_SPACED = r"[#&'()+/0-9A-Za-z_: \-]"
#: An empty key right behind the name of an item.
EMPTY_KEY = f"(?:{short_keys(NAME_KEYS)}).(?:[ -~]|{_WIDE})*\\xa0"


def pair_ends(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Answer the first words for each second word."""
    ends: dict[str, list[str]] = {}
    for first, second in pairs:
        ends.setdefault(second, []).append(first)
    return ends


def phrases_in_bytes() -> list[str]:
    """Match the names of three words, of which the one between says nothing."""
    groups = (
        [_any_spelling(words.split()) for words in (firsts, between, lasts)]
        for _, firsts, between, lasts in PHRASES
    )
    return [f"{first}{_APOSTROPHES}{middle}{_APOSTROPHES}{last}" for first, middle, last in groups]


def _any_spelling(words: Iterable[str]) -> str:
    return "(?:" + "|".join(sorted({word_of(form) for word in words for form in spellings(word)})) + ")"


def rare_pairs(pairs: Iterable[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Answer the pairs that are looked for as such, and the words that are looked for alone, because few
    texts have them: second words with marks or of other alphabets, but for single signs of Han."""
    pairs = list(pairs)
    alone = {second for _, second in pairs if not second.isascii() and len(second) > 1}
    rare = [*least_of(filter(is_foreign, alone)), *(word for word in alone if not is_foreign(word))]
    return [pair for pair in pairs if pair[1] not in alone], rare


def _pair_groups(pairs: Iterable[tuple[str, str]]) -> list[str]:
    pairs, alone = rare_pairs(pairs)
    groups = sorted(set(map(beginning, alone)))
    for second, firsts in pair_ends(pairs).items():
        heads = (
            [_start(first for first in firsts if first.isascii())] if any(map(str.isascii, firsts)) else []
        )
        heads += sorted({ending(first) for first in firsts if not first.isascii()})
        groups.append(f"(?:{'|'.join(heads)}){JOINT}{beginning(second)}")
    return groups


def names_in_bytes(
    strong: Mapping[str, str], pairs: Mapping[tuple[str, str], str], shaped: Iterable[str]
) -> list[str]:
    """Match sensitive names with what can follow them; the first three are of Latin words, of codes and of
    words of other scripts."""
    latin = [word for word in strong if word.isascii()]
    foreign = least_of(word for word in [*strong, *shaped] if is_foreign(word))
    codes = [_start(word for word in latin if strong[word] == "code")]
    codes += [word_of(word) for word in strong if not word.isascii() and strong[word] == "code"]
    codes += _pair_groups(pair for pair, rule in pairs.items() if rule == "code")
    last = _start(word for word in shaped if word.isascii())
    more = r"(?:[ !#-@\[-`{-~]|\\u[0-9a-fA-F]{4})"
    others = "(?:" + "|".join(sorted(set(map(beginning, foreign)))) + ")"
    return [
        "(?:" + "|".join(latin_names(strong, pairs, shaped)) + ")",
        "(?:" + "|".join(codes) + r")(?:[!-`{-~][!-~]*)?(?:\xc2[\xa1-\xbf])?[d-\x7f]",
        others + AFTER,
        _start(latin) + r"[A-Za-z0-9_\-]*[ \t]+(?:'|(?i:by|for)[ \t])",
        last
        + rf"(?:{OPENING}|(?:[ \t\r\n]|\\+[trn])+[A-Za-z_:.\-]+ *="
        + rf"|[0-9_\-\\'\"`]*(?:{_IN_TABLES}|<\\*/|{_GAP}(?:{_OF}|\\*[\"`][!-~]))"
        + rf"|[0-9]*\\+u(?i:ff1a)|{_END}|{more}+{_TAIL_END}"
        + f"|{more}*(?:[=:>%'|]| is | was | are | ist | es | est | lautet "
        + f"|{_GAP}(?:{_begun((*_FOR, *BE, *OF, *WHOSE))})))",
        EMPTY_KEY,
        "(?:" + "|".join(phrases_in_bytes()) + ")" + AFTER,
    ]


def numbered(strong: Mapping[str, str], pairs: Mapping[tuple[str, str], str], shaped: Iterable[str]) -> str:
    """Match the names of numbers that stand right behind them (`phrases.number_behind`).

    Those of other scripts are seen whatever follows them.
    """
    names = [word for word in strong if strong[word] in NUMBERED_RULES and not is_foreign(word)]
    names += [word for word in shaped if SHAPED[word][0] in NUMBERED_RULES and not is_foreign(word)]
    groups = [_start(word for word in names if word.isascii()), *map(word_of, filter(_is_marked, names))]
    for second, firsts in pair_ends(pair for pair, rule in pairs.items() if rule in NUMBERED_RULES).items():
        heads = "|".join(sorted(set(map(ending, firsts))))
        groups.append(f"(?:{heads})(?:[ \\t]|\\\\+t){beginning(second)}")
    return f"(?:{'|'.join(groups)}){NUMBER_NEXT}"


def _is_marked(word: str) -> bool:
    return not word.isascii()


def latin_names(
    strong: Mapping[str, str], pairs: Mapping[tuple[str, str], str], shaped: Iterable[str]
) -> list[str]:
    """Match sensitive names in Latin letters with what can follow them: of one word, of two, and those of one
    or two that have marks."""
    marked = [word_of(word) for word in strong if not word.isascii() and not is_foreign(word)]
    plain = [pair for pair in pairs if "".join(pair).isascii()]
    mixed = [pair for pair in pairs if not "".join(pair).isascii()]
    groups = [
        [
            _start(word for word in strong if word.isascii()),
            f"(?i:{'|'.join(not_ending_in_others(SUFFIXES))})",
        ],
        _pair_groups(plain),
        [*marked, *_pair_groups(pair for pair in mixed if not is_foreign(pair[1]))],
    ]
    one, two, marks = ["(?:" + "|".join(group) + ")" + _RIGHT for group in groups]
    others = [word_of(word) for word in shaped if not word.isascii() and not is_foreign(word)]
    others += _pair_groups(pair for pair in mixed if is_foreign(pair[1]))  # (other scripts end such a word)
    return [one, two, f"{marks}|(?:{'|'.join(others)}){AFTER}"]


def loose(words: Iterable[str], pairs: Iterable[tuple[str, str]]) -> str:
    """Match words wherever they stand: a smaller expression, for places where few names are met."""
    least = least_of(words)
    groups = ["(?i:" + "|".join(word for word in least if word.isascii()) + ")"]
    pairs, alone = rare_pairs(pairs)
    groups += sorted({beginning(word) for word in [*least, *alone] if not word.isascii()})
    for second, firsts in pair_ends(pairs).items():
        groups.append(f"(?:{'|'.join(sorted(set(map(ending, firsts))))}){JOINT}{beginning(second)}")
    return "(?:" + "|".join([*groups, *phrases_in_bytes()]) + ")"


def describing(names: str) -> tuple[str, str]:
    """Match names that stand as values and say what something before them is: how it begins, and all of it.

    When what they describe comes later, a key stands behind them, and they are seen like keys, but for an
    empty key. Otherwise they are the last in their map, and anything may come behind them.
    """
    length = r"(?:[\xc4\xd9]|[\xc5\xda].|[\xc6\xdb].{3})?"  # its last byte is what stands left of the name
    before = f"(?:.(?:(?:[!-~]|{_WIDE})*|(?:{_SPACED}|{_WIDE})*))?"
    behind = f"(?:[!-~]*|{_SPACED}*)(?:[\\x00-\\x1f\\x7f-\\xff]|$)"
    item = f"(?:{short_keys((*NAME_KEYS, *FIELD_KEYS))}){length}{before}{names}{behind}"
    columns = f"(?:{short_keys(COLUMN_KEYS)}){ROWS}"
    begin = f"{item}|{columns}"
    inserts = f"(?i:into).*{names}.*(?i:values)"
    begin += "|(?i:into)[ \\t\\r\\n\\\\]"
    placed = f"(?:{short_keys(('loc',))}){ROWS}"  # (where a validator says which field it means)
    begin += f"|{placed}"
    fields = "|".join(FIELD_KEYS)
    field = rf"(?:{short_keys(FIELD_KEYS)}){length}|\"(?:{fields})\\*\"[ ]*:"
    begin += f"|{field}"
    valued = short_keys(sorted({*VALUE_KEYS, *FILLED_KEYS}))
    rows = f"(?:{short_keys(ROW_KEYS)}){ROWS}.+{columns}.*{names}"
    filled = f"(?:{field}).*{names}"
    whole = f"{inserts}|{filled}|{placed}.*{names}|(?:{valued}).+{item}|{rows}"
    return begin, f"{whole}|{columns}(?:[ -~]|[\\xa1-\\xbf]|{_WIDE})*\\xa0"


def flag_words(strong: Iterable[str], pairs: Iterable[tuple[str, str]], shaped: Iterable[str] = ()) -> str:
    """Match sensitive flags of command lines; behind words that must be the last ones nothing but digits
    follows."""
    words = [word for word in strong if word.isascii()]
    ends = pair_ends(pair for pair in pairs if "".join(pair).isascii())
    both = [f"(?:{'|'.join(firsts)})[0-9_.$\\[\\]\\-]*{second}" for second, firsts in ends.items()]
    part = r"[A-Za-z0-9_.$\[\]\\\x80-\xff\-]*"  # (and what is not ASCII, escaped or not)
    flags = [f"{part}(?i:{'|'.join([*not_ending_in_others(words), *both])}){part}"]
    lasts = sorted(word for word in shaped if word.isascii())
    if lasts:
        flags.append(
            f"(?:[A-Za-z0-9_.$\\[\\]\\-]*[0-9_.$\\[\\]\\-])?(?i:{'|'.join(lasts)})[0-9_.$\\[\\]\\-]*"
        )
        flags.append(f"{part}(?:{'|'.join(map(str.capitalize, lasts))})[0-9_.$\\[\\]\\-]*")
    return f"-(?:{'|'.join(flags)})[ \\t]"


#: So many characters of a vendor's key are counted; more would only make the scan larger.
_ENOUGH = 20
_COUNTED_HEAD = re.compile(r"(?:\[[^\]]*\])?\[[^\]]*\]\{[0-9,]+\}")
_COUNTED = re.compile(r"(?<=\])\{(?:[0-9]{2,}[0-9,]*|[0-9],[0-9]*)\}")


def _vendors() -> list[str]:
    shapes: list[str] = []
    inner: list[str] = []
    for _, prefix, body, least, exact in VENDORS:
        body = body.replace("/", "/\\\\")  # (not at its end, where a hyphen may stand)
        # Counting in every word would multiply the states of the scan: only what is fixed is looked for.
        head = _COUNTED_HEAD.match(prefix)
        rest = prefix[head.end() :] if head else prefix
        fixed = _COUNTED.sub("*", rest).replace("/", chr(92) * 2 + "*/")
        shape = f"{fixed}{body}{{{min(exact or least, _ENOUGH)}}}"
        (inner if head else shapes).append(shape)
    return [_left(r"A-Za-z0-9_\-") + "(?:" + "|".join(shapes) + ")", *inner]


_DIGIT = _left("0-9")
VALUES: dict[str, list[str]] = {
    "private_key": ["BEGIN (?:[A-Z0-9 ]*PRIVATE KEY|OpenVPN Static)", "Private-Lines"],
    "jwt": [r"eyJ[A-Za-z0-9_-]{8}[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{4}"],
    "vendor_key": _vendors(),
    "web_hook": ["(?:" + "|".join(path.replace("/", r"\\*/") for _, path, _ in HOOKS) + ")"],
    "credentials": [r"(?i:bearer|basic)(?:[ \t+]|\\+t|%(?:25)*20)+[A-Za-z0-9._~+/=\\-]{8}"],
    "email": [
        r"[A-Za-z0-9._%+'\x80-\xbf-](?:@|%(?:25)*40)(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2}"
        r"|[A-Za-z0-9.-]*(?:\xc3[\x80-\xbf]|[\xc4-\xc9][\x80-\xbf]|\\+u0[012])|[\xc2-\xdf][\x80-\xbf]"
        # UTF-8 as it must be, not any high byte: 0x40, the sign @, begins most MessagePack floats
        r"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|\\+u)"
    ],
    "phone": [
        rf"{_DIGIT}(?:(?:00)?86{_BLANK}?)?1[3-9][0-9]{_BLANK}?[0-9]{{4}}{_BLANK}?[0-9]{{4}}",
        rf"\+\(?[1-9](?:{_BLANK}{{0,4}}[0-9]){{8}}",
        rf"{_DIGIT}[2-9][0-9]{{2}}{_BLANK}{{1,3}}[2-9][0-9]{{2}}{_BLANK}[0-9]{{4}}",
        rf"\([2-9][0-9]{{2}}\){_BLANK}?[2-9][0-9]{{2}}{_BLANK}[0-9]{{4}}",
        r"[\xcf\xd3]\x00\x00\x00(?:\x03[\x06-\xff]|\x04[\x00-\xa8])",
    ],
    "id_number": [
        rf"{_DIGIT}[1-9][0-9]{{5}}{_BLANK}?(?:1[89]|2[01])[0-9]{{6}}{_BLANK}?[0-9]{{3}}[0-9Xx]",
        r"[\xcf\xd3](?:\x01[\x86-\xff]|[\x02-\x0b])[\x00-\xff]{6}",
    ],
    "card": [
        rf"{_DIGIT}(?:[2-6][0-9]|81)[0-9]{{12}}",
        rf"{_DIGIT}[2-8][0-9]{{3}}{_BLANK}[0-9]{{4}}{_BLANK}[0-9]{{4}}{_BLANK}[0-9]{{4}}",
        rf"{_DIGIT}3[0-9]{{3}}{_BLANK}[0-9]{{6}}{_BLANK}[0-9]{{4}}",
        r"[\xcf\xd3]\x00(?:\x01[\x35-\x5a]|[\x07-\x18])[\x00-\xff]{5}",
    ],
    "iban": ["(?:" + "|".join(IBAN_COUNTRIES) + ")[0-9]{2}(?: ?[A-Z0-9]{4}){2}"],
    "ssn": [rf"{_DIGIT}[0-9]{{3}}{_BLANK}[0-9]{{2}}{_BLANK}[0-9]{{4}}"],
}
DIGIT_FAMILIES = ("phone", "id_number", "card", "ssn")
DIGITS = [pattern for name in DIGIT_FAMILIES for pattern in VALUES[name]]
"""The patterns of numbers."""
_FOREIGN = f"(?:{byte_class(FOREIGN_DIGITS)}|{escape_class(FOREIGN_DIGITS)})"
#: Characters that hide a name or number from every other pattern: look-alikes, combining marks, escaped
#: ASCII.
HIDDEN = [
    byte_class(TABLE),
    escape_class(TABLE),
    rf"{_FOREIGN}{_FOREIGN}|[0-9]{_FOREIGN}|{_FOREIGN}[0-9]",
    r"(?:[A-Za-z]|[\xc3-\xdf][\x80-\xbf])(?:\xcc[\x80-\xbf]|\xcd[\x80-\xaf])[A-Za-z\xc3-\xdf]|\xe3\x82[\x99\x9a]",
    r"\xe1[\x84-\x87][\x80-\xbf]|\xef[\xa4-\xab][\x80-\xbf]",
    r"\\u(?i:03[0-6]|00[2-7]|309|11|f9|fa)[0-9a-fA-F]",
    # (in MessagePack a `%` behind these two bytes is the length of a text of 37 bytes)
    r"(?:^|[^\xc4\xd9])%(?:25)*(?i:4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a]|cc|cd|d9|db|df|e0|c4|c5)",
    r"(?:^|[^\xc4\xd9])%(?:25)*(?i:ef%(?:25)*b[cd]|e2%(?:25)*(?:84|92|93)|f0%(?:25)*9d)",
]
NAMED_FIXED = [
    r":\\*/\\*/[^ \t\r\n/?#\"'<>@]*@|%(?:25)*3[Aa]%(?:25)*2[Ff]%(?:25)*2[Ff][^ \t\r\n&#\"'<>]*%(?:25)*40",
    # (a password with signs in it that part an address)
    r":\\*/\\*/[^ \t\r\n/?#\"'<>@:]*:[^ \t\r\n\"'<>@]*[/?#][^ \t\r\n\"'<>@]*@",
    r"(?i:sig|signature|hmac|sid)[0-9\])]*(?:=|%)",
    r"(?:[?&#;]|%(?:25)*(?:3[FfBb]|2[36]))code(?:=|%(?:25)*3[Dd])",
    r"(?i:identified)|sshpass|requirepass|masterauth|AUTH[ \t\r\n]+[!-~]",
    rf"(?i:setx|setenv)|set{_GAP}-|(?:ENV|_set_header|_param|RequestHeader){_GAP}",
    rf"(?:config|configure|secrets?|vars?|env){_GAP}(?:--?[a-z-]+{_GAP})*(?:set|add|put){_GAP}",
    r"[0-9] (?:is your|es (?:tu|su)|est votre|ist (?:dein|Ihr)|\xc3\xa9 o seu|\\+u00e9 o seu) "
    r"|[0-9](?:\xe6\x98\xaf|\xe4\xb8\xba)\xe6\x82\xa8|[0-9]\\+u(?i:662f|4e3a)\\+u(?i:60a8)",
    r"(?:password|secret|md5) [0-9] [!-~]|snmp-server community",
    r"password 51:b:|(?:password|passwd|secret|key) ENC ",
    r"(?i:securestring)|pgpass|database:username:password|kty",
    BEGINNING + "(?:[A-Za-z0-9+_-]|\\\\*/){20}",
]
