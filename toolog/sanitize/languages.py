"""Sensitive words of other languages than English: passwords, telephones, and the numbers by which states and
banks know a person. Data only; `vocabulary.py` joins them with its own words.

Words in Latin letters with marks count without their marks, too (`rodne cislo`): who writes a program leaves
them out.
"""

from __future__ import annotations

import unicodedata

#: rule -> words that are enough by themselves.
WORDS: dict[str, str] = {
    "password": "zaporka lykilorð salasõna contrasenya pasahitza contrasinal cyfrinair fjalëkalim"
    " fjalëkalimi nenosiri pasvorto passord құпиясөз гасло пароля პაროლი գաղտնաբառ পাসওয়ার্ড கடவுச்சொல்"
    " संकेतशब्द پاسورڈ پسورد συνθηματικό ລະຫັດຜ່ານ ពាក្យសម្ងាត់ စကားဝှက် 비번 通行码"
    # with the endings that say whose it is, or which one
    " şifrem şifren şifreniz şifremiz şifresi parolam parolan parolanız parolamız parolası"
    " salasanani salasanasi salasanamme salasanasta jelszavam jelszavad jelszava jelszavunk"
    " lösenordet kodeordet adgangskoden passordet lykilorðið паролем пароля"
    " паролю паролі hasła hasłem hesla heslem parolei лозинка лозинку",
    "phone": "телефону телефона τηλέφωνο τηλεφώνου الهاتف هاتف الجوال الموبايل טלפון تلفن موبایل फोन फ़ोन ফোন"
    " โทรศัพท์ เบอร์โทร 휴대전화 telepon telefonu telefonszám mobilszám puhelin puhelinnumero matkapuhelin"
    " telefonas tālrunis telefoninumber mobiilinumber telefonnummeret telefoonnr telefonnr mobiltelefon"
    " cellulaire numerotelefono",
    "passport": "passeport pasaporte passaporte passaporto reisepass reisepassnummer passnummer paspoort"
    " paspoortnummer paszport paszportu pasaport paspor útlevél útlevélszám pașaport passinumero"
    " паспорта паспорту διαβατήριο διαβατηρίου דרכון पासपोर्ट หนังสือเดินทาง 여권번호 여권 旅券番号"
    " パスポート گذرنامه",
    "id_number": "pesel burgerservicenummer sofinummer rijksregisternummer personnummer personnummeret"
    " fødselsnummer fødselsnr cprnummer henkilötunnus kennitala isikukood rodnecislo jmbg јмбг emšo егн"
    " рнокпп іпн іин жсн curp codicefiscale steuerid steueridnr steuernummer steueridentifikationsnummer"
    " sozialversicherungsnummer rentenversicherungsnummer versichertennummer krankenversichertennummer"
    " rentenversicherungsnr krankenversicherungsnummer versicherungsnummer nric mykad ppsn"
    " personalausweis personalausweisnummer ausweisnummer führerscheinnummer rijbewijsnummer"
    " identiteitskaartnummer tckn tckimlik tckimlikno kimlikno adóazonosító tajszám npwp αφμ αμκα"
    " เลขบัตรประชาชน บัตรประชาชน เลขประจำตัวประชาชน 운전면허번호 외국인등록번호 運転免許証番号 在留カード番号"
    " 個人番号 基礎年金番号 通行证号 居住证号 纳税人识别号 納稅人識別號"
    " nationalinsurancenumber socialinsurancenumber nhsnumber taxfilenumber",
    "card": "kreditkarte kreditkartennummer kartennummer kontonummer kortnummer kontonr rekeningnummer"
    " bankrekeningnummer kaartnummer tilinumero korttinumero bankszámlaszám számlaszám kártyaszám"
    " 口座番号 계좌번호 银行账号 银行帐号 银行账户 銀行帳號 銀行賬號 銀行口座 收款账号",
    "code": "einmalcode zugangscode freischaltcode aktivierungscode toegangscode engangskode engangskod"
    " bestätigungscode sicherheitscode verifizierungscode verificatiecode verifieringskod"
    " prüfnummer пинкод пінкод 認証コード 確認コード 인증코드 확인코드",
}
#: rule, first words, second words: two neighbours that are enough together.
PAIRS: tuple[tuple[str, str, str], ...] = (
    ("password", "palavra", "passe"),
    ("password", "كلمة", "مرور سر"),
    ("password", "الرقم", "السري"),
    ("password", "پاس", "ورڈ"),
    ("password", "нууц", "үг"),
    ("password", "парола", "за"),
    ("phone", "número numéro numero numer număr", "telefónico telefone téléphone teléfono telefono telefon"),
    ("phone", "telefonní", "číslo"),
    ("phone", "cep", "telefonu tel no"),
    ("phone", "رقم", "الهاتف الجوال الموبايل جوال هاتف"),
    ("phone", "мобильный мобільний", "номер телефон"),
    ("phone", "номер", "телефона телефону"),
    ("phone", "מספר", "טלפון נייד"),
    ("phone", "मोबाइल फोन फ़ोन", "नंबर नम्बर"),
    ("phone", "số", "phone đt"),
    ("phone", "no nomor nombor", "telepon telefon hp"),
    ("id_number", "kimlik vergi sgk", "no numarası"),
    ("id_number", "rodné", "číslo"),
    ("id_number", "číslo", "pasu op"),
    ("id_number", "občanský řidičský", "průkaz"),
    ("id_number", "občanského řidičského", "průkazu"),
    ("id_number", "personas", "kods"),
    ("id_number", "asmens", "kodas"),
    ("id_number", "személyi", "igazolvány szám"),
    ("id_number", "taj adó", "szám"),
    ("id_number", "numeric", "personal"),
    ("id_number", "codice", "fiscale"),
    ("id_number", "tessera", "sanitaria"),
    (
        "id_number",
        "steuer ausweis personalausweis führerschein ahv sozialversicherungs rentenversicherungs"
        " krankenversicherungs krankenversicherten versicherten versicherungs",
        "id idnr nummer nr identifikationsnummer",
    ),
    ("id_number", "ni pps nric mykad", "number no"),
    ("id_number", "my", "kad"),
    ("api_key", "klucz ключ kunci klíč kľúč cheie cheia κλειδί מפתח مفتاح khóa", "api"),
    ("api_key", "api", "anahtarı nøkkel nyckel nøgle avain kulcs klíč"),
    ("id_number", "sécurité", "sociale"),
    ("id_number", "seguridad segurança seguretat", "social"),
    ("id_number", "numéro número numero", "fiscal"),
    ("id_number", "carte", "vitale"),
    ("id_number", "de d", "identidad identidade identité identità conducir conduire motorista eleitor"),
    ("id_number", "dowód", "osobisty"),
    ("id_number", "dowodu", "osobistego"),
    ("id_number", "nr numer", "dowodu pesel"),
    ("id_number", "водительское посвідчення", "удостоверение водія"),
    ("id_number", "свидетельство", "рождении"),
    ("id_number", "полис", "омс"),
    ("id_number", "رقم", "الهوية الجواز الإقامة"),
    ("id_number", "الرقم", "القومي الوطني الضريبي"),
    ("id_number", "السجل", "المدني"),
    ("passport", "جواز", "السفر سفر"),
    ("id_number", "תעודת מספר", "זהות"),
    ("id_number", "ת", "ז"),
    ("id_number", "רישיון", "נהיגה"),
    ("id_number", "आधार", "संख्या नंबर नम्बर कार्ड क्रमांक"),
    ("id_number", "पैन", "नंबर नम्बर कार्ड संख्या"),
    ("id_number", "no nomor nombor", "ktp nik npwp kk"),
    ("id_number", "căn", "cước"),
    ("passport", "hộ", "chiếu"),
    ("id_number", "αριθμός", "ταυτότητας"),
    ("passport", "αριθμός", "διαβατηρίου"),
    ("id_number", "کد شماره", "ملی"),
    ("id_number", "insurance nhs medicare nino tfn", "number no"),
    ("id_number", "tax", "file"),
    ("card", "carte", "bancaire bleue"),
    ("card", "cuenta conto compte", "bancaria corrente bancaire"),
    ("card", "número numero", "tarjeta cuenta cartão carta conto"),
    ("card", "numer nr", "karty konta rachunku"),
    ("card", "rachunku", "bankowego"),
    ("card", "číslo", "karty účtu"),
    ("card", "номер", "карты счета счёта картки рахунку"),
    ("card", "расчетный расчётный", "счет счёт"),
    ("card", "kart hesap", "no numarası"),
    ("card", "رقم", "البطاقة الحساب"),
    ("card", "بطاقة", "الائتمان"),
    ("card", "כרטיס", "אשראי"),
    ("card", "nomor no", "rekening kartu"),
    ("card", "खाता कार्ड", "संख्या नंबर नम्बर"),
    ("card", "αριθμός", "κάρτας λογαριασμού"),
    ("card", "số", "thẻ"),
    ("code", "access activation unlock login time", "code codes"),
    ("password", "clé cle clave chave chiave codice", "wifi wlan"),
    ("code", "de di", "verificación verificação vérification verifica"),
    ("code", "doğrulama onay", "kodu"),
    ("code", "код", "подтверждения підтвердження"),
    ("code", "kod", "weryfikacyjny"),
    ("code", "kode", "verifikasi otp"),
    ("code", "رمز", "التحقق"),
    ("code", "קוד", "אימות"),
    ("code", "пин пін pin", "код коду кода"),
    ("phone", "telefon telefonu", "numaranız numaram numarası"),
)
#: rule, first words, what stands between them, last words: names of three words, of which the one between
#: says nothing (`clé d'API`, `driver's license`).
PHRASES: tuple[tuple[str, str, str, str], ...] = (
    ("api_key", "clé cle clave chave chiave llave", "d de da do di dell della del", "api"),
    ("id_number", "driver", "s", "license licence"),
    ("id_number", "número numéro numero", "de d di do del", "dni documento identificación identificação"),
    ("phone", "número numéro numero", "de d di do del", "teléfono téléphone telefono telefone celular móvil"),
    (
        "card",
        "número numéro numero",
        "de d di do della del",
        "tarjeta cartão carta carte cuenta conta compte",
    ),
    ("code", "code código codigo codice", "d de di", "accès acceso acesso accesso validation activation"),
    ("token", "token jeton", "de d di do", "acceso accès accesso acesso"),
)
#: (rule, shape) -> words that count only as the last of a name, with a value of the right look.
SHAPED: dict[tuple[str, str], str] = {
    ("password", "mixed"): "pw sandi parola clave κωδικός",
    ("secret", "mixed"): "secreto segredo segreto geheim sekret hemlighet",
    ("token", "mixed"): "jeton",
    ("phone", "number"): "tél mobil mobiel mobitel tlf sdt sđt נייד मोबाइल κινητό جوال portable",
    (
        "id_number",
        "number",
    ): "bsn nik ktp cccd cmnd cnp oib hetu cpr nif nie nir cuit cuil rut cédula cnh itin"
    " tfn nino svnr ahv आधार",
    ("id_number", "paper"): "pan sin rg rfc",
    ("card", "number"): "clabe",
    ("code", "digits"): "пин пін puk tan",
}
#: What says `is` in other languages than English -> how the words end behind which it does: some of these are
#: words of other languages, too.
BE: dict[str, tuple[str, ...]] = {
    "on": ("salasana", "salasanani", "salasanasi", "salasanamme", "salasõna", "parool"),
    "to": ("hasło", "haslo", "weryfikacyjny"),
    "je": ("heslo", "lozinka", "zaporka", "geslo"),
    "ni": ("nenosiri",),
    "c'est": ("mdp", "passe", "code"),
    **dict.fromkeys(
        ("är", "er", "jest", "brzmi", "zní", "este", "adalah", "ialah", "là", "és", "yra", "είναι"), ("",)
    ),
}
#: What stands between a label and whom or what it is of or for, in other languages than English.
OF = (
    *("du", "de", "des", "pour", "del", "della", "di", "para", "do", "da", "für", "von", "vom", "zum", "zur"),
    *("voor", "för", "till", "dla", "для", "от", "від", "untuk", "bagi"),
    *("k", "ke", "od", "pro", "na", "w", "v", "до", "к", "на", "в", "за", "til"),
)
#: Whose it is, where that stands behind the label.
WHOSE = (
    *("saya", "anda", "kamu", "kami", "aku", "awak"),
    *("của tôi", "của bạn", "của anh", "của em", "của mình", "minha", "mea", "mia"),
    # which one it is, in languages that say so behind it
    *("temporal", "temporaire", "temporanea", "temporária", "provisional", "provisoire", "provvisoria"),
    *("provisória", "inicial", "initial", "iniziale", "actual", "actuel", "attuale", "atual", "maestra"),
    *("nueva", "nouveau", "nuova", "nova", "tymczasowe", "dočasné", "temporară", "sementara"),
    *("admin", "root", "wifi", "wi-fi", "vpn", "ssh", "ftp", "sql", "email", "login"),
    # of a user, of an administrator, of an account, in one word
    *("administratora", "administrátora", "użytkownika", "uživatele", "konta", "účtu", "contului"),
    *("администратора", "адміністратора", "пользователя", "користувача", "аккаунта", "акаунта", "учётки"),
)
_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ß": "ss", "ı": "i", "ð": "d", "þ": "th"})


def spellings(word: str) -> set[str]:
    """Answer a word as it is, and in Latin letters also without its marks.

    >>> sorted(spellings("číslo"))
    ['cislo', 'číslo']
    """
    bare = "".join(
        char
        for char in unicodedata.normalize("NFD", word.translate(_LETTERS))
        if not unicodedata.combining(char)
    )
    return {word, bare} if bare.isascii() else {word}
