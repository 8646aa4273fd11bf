# ruff: noqa: SIM905 - word lists read better as text
"""Arithmetic that tells a real number from digits that only look like one: Luhn, IIN, MOD 11-2, MOD 97,
areas."""

from __future__ import annotations

import re
from operator import mul

_PROVINCES = frozenset(
    [
        *range(11, 16),
        *range(21, 24),
        *range(31, 38),
        *range(41, 47),
        *range(50, 55),
        *range(61, 66),
        71,
        81,
        82,
        83,
        91,
    ]
)
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29,
    "CH": 21,
    "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "ES": 24, "FI": 18, "FO": 18,
    "FR": 27,
    "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IS": 26,
    "IT": 27,
    "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MD": 24,
    "ME": 22,
    "MK": 19, "MT": 31, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24,
    "RS": 22,
    "SA": 24, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26, "UA": 29, "VA": 22,
}  # fmt: skip
IBAN_COUNTRIES = tuple(_IBAN_LENGTHS)
_IBAN_DIGITS = {ord("A") + place: str(10 + place) for place in range(26)}
#: Calling codes of more than one digit that exist; `1` and `7` are the only single ones.
_CODES = frozenset(
    """20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81
    82 84 86 90 91 92 93 94 95 98 211 212 213 216 218 220 221 222 223 224 225 226 227 228 229 230 231 232 233
    234 235 236 237 238 239 240 241 242 243 244 245 246 248 249 250 251 252 253 254 255 256 257 258 260 261
    262 263 264 265 266 267 268 269 290 291 297 298 299 350 351 352 353 354 355 356 357 358 359 370 371 372
    373 374 375 376 377 378 380 381 382 383 385 386 387 389 420 421 423 500 501 502 503 504 505 506 507 508
    509 590 591 592 593 594 595 596 597 598 599 670 672 673 674 675 676 677 678 679 680 681 682 683 685 686
    687 688 689 690 691 692 800 808 850 852 853 855 856 870 878 880 881 882 883 886 888 960 961 962 963 964
    965 966 967 968 970 971 972 973 974 975 976 977 979 992 993 994 995 996 998""".split()
)
#: How many digits a number has with its calling code, where that is fixed or bounded: (least, most).
_SIZES = {"1": (11, 11), "7": (11, 11), "86": (11, 13), "44": (11, 12), "33": (11, 11), "34": (11, 11),
"61": (10, 11),
          "65": (10, 10), "852": (11, 11), "853": (11, 11), "91": (12, 12), "81": (10, 12), "82": (10, 12),
          "886": (11, 12), "31": (11, 11), "48": (11, 11), "41": (11, 11)}  # fmt: skip
#: A digit -> the sum of the digits of twice as much.
_DOUBLED = str.maketrans("0123456789", "0246813579")
#: First digits of no card.
_NO_ISSUERS = frozenset("0179")
_BARE_CARD = re.compile(r"\d{14,19}")


def luhn(digits: str) -> bool:
    """Tell whether the digits pass the Luhn check."""
    return (sum(map(int, digits[-1::-2])) + sum(map(int, digits[-2::-2].translate(_DOUBLED)))) % 10 == 0


def is_card(digits: str) -> bool:
    """Tell whether the digits are a payment card: issuer range, length and Luhn, and not one digit
    repeated."""
    if digits[:1] in _NO_ISSUERS or not _BARE_CARD.fullmatch(digits):
        return False
    if not luhn(digits) or len(set(digits)) < 2:
        return False
    size, two, three, four = len(digits), int(digits[:2]), int(digits[:3]), int(digits[:4])
    return (
        (digits[0] == "4" and size in (16, 19))
        or (51 <= two <= 55 and size == 16)
        or (2221 <= four <= 2720 and size == 16)
        or (two in (34, 37) and size == 15)
        or ((two in (36, 38, 39) or 300 <= three <= 305) and size in (14, 16))
        or (3528 <= four <= 3589 and size in (16, 19))
        or ((four == 6011 or 644 <= three <= 649 or two == 65) and size in (16, 19))
        or (two == 62 and 16 <= size <= 19)
        or (two == 60 and size == 16)
        or (2200 <= four <= 2204 and size == 16)
        or (four in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763) and size in (16, 18, 19))
        or (two == 81 and size == 16)
    )


def is_resident_id(text: str) -> bool:
    """Tell whether 18 characters are a Chinese resident id: province, a real date, and the MOD 11-2 check."""
    if int(text[:2]) not in _PROVINCES:
        return False
    year, month, day = int(text[6:10]), int(text[10:12]), int(text[12:14])
    if not (1850 <= year <= 2100 and 1 <= month <= 12 and 1 <= day <= _DAYS[month - 1]):
        return False
    if month == 2 and day == 29 and (year % 4 or (year % 100 == 0 and year % 400)):
        return False
    total = sum(map(mul, map(int, text[:17]), _WEIGHTS))
    return "10X98765432"[total % 11] == text[17].upper()


def is_ssn(area: str, group: str, serial: str) -> bool:
    """Tell whether the three groups can be a US social security number (never area 000, 666 or 9xx)."""
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def is_iban(text: str) -> bool:
    """Tell whether a compact IBAN has its country's length and passes MOD 97."""
    if _IBAN_LENGTHS.get(text[:2]) != len(text):
        return False
    turned = text[4:] + text[:4]
    return int(turned.translate(_IBAN_DIGITS)) % 97 == 1


def phone_size(digits: str) -> tuple[int, int] | None:
    """Answer how many digits (least, most) an international number that starts so has; None: no such calling
    code."""
    code = (
        digits[0] if digits[0] in "17" else next((digits[:n] for n in (2, 3) if digits[:n] in _CODES), None)
    )
    if code is None:
        return None
    if code == "1" and len(digits) > 1 and digits[1] in "01":
        return None
    return _SIZES.get(code, (9, 13))
