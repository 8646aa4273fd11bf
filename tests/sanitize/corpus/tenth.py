# ruff: noqa: E501
# fmt: off
"""The tenth set of labelled cases: what people of many countries write to an agent and what it reads of theirs (labels,
numbers of persons, telephones, cards), written from the definition and from what other detectors say of themselves."""

from typing import Any

from .making import clean, hiding, luhn, numbered, resident


def cases() -> list[dict[str, Any]]:
    """Return the cases, secrets and look-alikes."""
    return numbered("j", [*_languages(), *_persons(), *_speech(), *_clean()])


def iban(country: str, account: str) -> str:
    """Return an IBAN with its check digits."""
    digits = "".join(str(int(sign, 36)) for sign in account + country + "00")
    return f"{country}{98 - int(digits) % 97:02}{account}"


def _languages() -> list[dict[str, Any]]:
    nbsp, narrow = "\u00a0", "\u202f"
    return [
        hiding("French, colon behind a no-break space, with a code", {"mail": f"Voici vos accès{nbsp}:\nIdentifiant{nbsp}: jdupont\nMot de passe{nbsp}: Mésange!17\nCode de vérification{narrow}: 480213\n"}, "Mésange!17", "480213"),
        hiding("French, key of an API", {"texte": "La clé d’API : fr-Rouge-28-gorge, à mettre avant jeudi.", "clé d'API": "fr-Pinson-39"}, "fr-Rouge-28-gorge", "fr-Pinson-39"),
        hiding("German compounds", {"text": "Zugangskennwort: Kohl-40-Meise\nSteuer-Identifikationsnummer: 47036892816\nRentenversicherungs-Nr.: 65170839J003\nKrankenversichertennummer: A123456780\n"}, "Kohl-40-Meise", "47036892816", "65170839J003", "A123456780"),
        hiding("German in prose", {"text": "Das neue WLAN-Passwort lautet Blau-51-Specht und gilt ab Montag. Der API-Schlüssel ist de-Grün-62-Fink."}, "Blau-51-Specht", "de-Grün-62-Fink"),
        hiding("Spanish with a one-time code", {"sms": "Su código de verificación es 739204. No lo comparta.", "nota": "Contraseña del router: Jilguero_73\nClave de API: es-Mirlo-84"}, "739204", "Jilguero_73", "es-Mirlo-84"),
        hiding("Portuguese", {"texto": "Senha de acesso: Pardal@95\nChave de API: pt-Melro-06\nCPF: 529.982.247-25\n", "chave de API": "pt-Melro-17"}, "Pardal@95", "pt-Melro-06", "529.982.247-25", "pt-Melro-17"),
        hiding("Italian", {"testo": "La password del portale è Passero#18, il codice fiscale RSSMRA85T10A562S è già in archivio.\nChiave API: it-Merlo-29"}, "Passero#18", "RSSMRA85T10A562S", "it-Merlo-29"),
        hiding("Dutch", {"tekst": "Wachtwoord: Koolmees-30\nBSN: 111222333\nDe API-sleutel is nl-Vink-41."}, "Koolmees-30", "111222333", "nl-Vink-41"),
        hiding("Polish", {"tekst": "Hasło do panelu: Sikorka!52\nPESEL: 44051401359\nKlucz API: pl-Kos-63\nKod weryfikacyjny: 118204"}, "Sikorka!52", "44051401359", "pl-Kos-63", "118204"),
        hiding("Czech and Slovak", {"text": "Heslo k účtu: Sýkora-74\nRodné číslo: 855412/1234\nHeslo do databázy je Kos-85."}, "Sýkora-74", "855412/1234", "Kos-85"),
        hiding("Hungarian and Romanian", {"text": "Jelszó: Cinege-96\nParola contului: Pițigoi-07\nCNP: 1850412123456"}, "Cinege-96", "Pițigoi-07", "1850412123456"),
        hiding("Swedish, Danish, Norwegian, Finnish", {"text": "Lösenord: Blåmes-18\nPersonnummer: 850412-1234\nAdgangskode: Musvit-29\nPassord: Kjøttmeis-30\nSalasana: Tiainen-41\nHenkilötunnus: 120485-123A"}, "Blåmes-18", "850412-1234", "Musvit-29", "Kjøttmeis-30", "Tiainen-41", "120485-123A"),
        hiding("Turkish", {"metin": "Şifreniz: Serçe.52\nT.C. Kimlik No: 10000000146\nDoğrulama kodu: 663190\nAPI anahtarı: tr-Kuş-63"}, "Serçe.52", "10000000146", "663190", "tr-Kuş-63"),
        hiding("Russian", {"текст": "Пароль от почты: Синица-74\nКлюч API: ru-Снегирь-85\nКод подтверждения: 550138\nИНН 500100732259, СНИЛС 112-233-445 95"}, "Синица-74", "ru-Снегирь-85", "550138", "500100732259", "112-233-445 95"),
        hiding("Ukrainian and Bulgarian", {"текст": "Пароль до сервера — Горобець-96\nЕГН: 8504121234\nПарола: Врабче-07"}, "Горобець-96", "8504121234", "Врабче-07"),
        hiding("Greek", {"κείμενο": "Ο κωδικός πρόσβασης είναι Σπουργίτης-18\nΑΦΜ: 123456783\n"}, "Σπουργίτης-18", "123456783"),
        hiding("Hebrew and Arabic", {"text": "סיסמה: דרור-29\nתעודת זהות: 123456782\nكلمة السر: عصفور-30\nرقم الجواز: A1234567\n"}, "דרור-29", "123456782", "عصفور-30", "A1234567"),
        hiding("Persian and Urdu", {"text": "رمز عبور: گنجشک-41\nکد ملی: 0013542419\nپاس ورڈ: چڑیا-52\n"}, "گنجشک-41", "0013542419", "چڑیا-52"),
        hiding("Hindi, Bengali and Tamil", {"text": "पासवर्ड: गौरैया-63\nआधार संख्या: 2341 2341 2346\nপাসওয়ার্ড: চড়ুই-74\nகடவுச்சொல்: குருவி-85\n"}, "गौरैया-63", "2341 2341 2346", "চড়ুই-74", "குருவி-85"),
        hiding("Thai, Vietnamese and Indonesian", {"text": "รหัสผ่าน: นกกระจอก96\nMật khẩu: Chim-sẻ-07\nSố điện thoại: 0912 345 678\nKata sandi: Pipit-18\nNIK: 3171234567890123\n"}, "นกกระจอก96", "Chim-sẻ-07", "0912 345 678", "Pipit-18", "3171234567890123"),
        hiding("Chinese, simplified and traditional", {"内容": "数据库密码为“Maque-29”，API密钥：zh-喜鹊-30；验证码：884213。", "內容": "登入密碼：喜鵲-41，手機號碼：0912-345-678"}, "Maque-29", "zh-喜鹊-30", "884213", "喜鵲-41", "0912-345-678"),
        hiding("Japanese", {"本文": "パスワードは「すずめ-52」です。\nAPIキー：ja-つばめ-63\n認証コード：420917\nマイナンバー：123456789018\n電話番号：090-1234-5678"}, "すずめ-52", "ja-つばめ-63", "420917", "123456789018", "090-1234-5678"),
        hiding("Korean", {"본문": "비밀번호는 Chamsae-74 입니다.\nAPI 키: ko-까치-85\n인증번호 [731946]\n주민등록번호: 850412-1234567\n휴대폰: 010-1234-5678"}, "Chamsae-74", "ko-까치-85", "731946", "850412-1234567", "010-1234-5678"),
        hiding("keys of data in seven languages", {"mot_de_passe": "Aigle-96", "contraseña": "Águila-07", "Passwort": "Adler-18", "пароль": "Орёл-29", "密码": "鹰-30", "senha": "Águia-41", "wachtwoord": "Arend-52"}, "Aigle-96", "Águila-07", "Adler-18", "Орёл-29", "鹰-30", "Águia-41", "Arend-52"),
        hiding("headers of a table in German and French", {"csv": "Benutzer;Kennwort;Standort\nilse;Wespe-63;Graz\n", "md": "| Compte | Mot de passe |\n|---|---|\n| admin | Guêpe-74 |\n"}, "Wespe-63", "Guêpe-74"),
    ]


def _persons() -> list[dict[str, Any]]:
    visa, master, amex, jcb, union = luhn("453201511283036"), luhn("555555103344210"), luhn("37144963539841"), luhn("353011133330001"), luhn("621234561234567")
    fr, no, mt = iban("FR", "20041010050500013M02606"), iban("NO", "86011117947"), iban("MT", "MALT011000012345MTLCAST001S")
    cn = resident("44030519900307123")
    return [
        hiding("cards of five makers, grouped in three ways", {"text": f"{visa[:4]} {visa[4:8]} {visa[8:12]} {visa[12:]}; {master[:4]}-{master[4:8]}-{master[8:12]}-{master[12:]}; {amex[:4]} {amex[4:10]} {amex[10:]}; {jcb}; {union}"}, f"{visa[:4]} {visa[4:8]} {visa[8:12]} {visa[12:]}", f"{master[:4]}-{master[4:8]}-{master[8:12]}-{master[12:]}", f"{amex[:4]} {amex[4:10]} {amex[10:]}", jcb, union),
        hiding("card beside Chinese and in fullwidth digits", {"备注": f"卡号{visa}已绑定", "b": "".join(chr(ord(sign) + 0xFEE0) for sign in master)}, visa, "".join(chr(ord(sign) + 0xFEE0) for sign in master)),
        hiding("bank accounts of three countries", {"text": f"Virement: {' '.join(fr[i:i + 4] for i in range(0, len(fr), 4))}\nKonto {no}\nMT: {mt}"}, " ".join(fr[i:i + 4] for i in range(0, len(fr), 4)), no, mt),
        hiding("telephones of many countries", {"text": "Call +49 151 23456789, +33 6 12 34 56 78, +44 7911 123456, +91 98765 43210, +55 (11) 91234-5678, +81 90-1234-5678 or +1 415 555 0132."}, "+49 151 23456789", "+33 6 12 34 56 78", "+44 7911 123456", "+91 98765 43210", "+55 (11) 91234-5678", "+81 90-1234-5678", "+1 415 555 0132"),
        hiding("telephones under labels, without a country", {"text": "Tel.: 030 901820\nHandy: 0151 23456789\nMobile: 07911 123456\nTéléphone : 06 12 34 56 78\nTeléfono: 612 34 56 78\nТелефон: 8 (912) 345-67-89\n"}, "030 901820", "0151 23456789", "07911 123456", "06 12 34 56 78", "612 34 56 78", "8 (912) 345-67-89"),
        hiding("telephone links and cards of visit", {"html": '<a href="tel:+15085550142">call</a>', "vcard": "BEGIN:VCARD\nFN:J. Roe\nTEL;TYPE=cell:+43 660 1234567\nEMAIL:j.roe@example.org\nEND:VCARD"}, "+15085550142", "+43 660 1234567", "j.roe@example.org"),
        hiding("North American numbers", {"text": "office (508) 555-0142, mobile 508-555-0173, fax 508.555.0199"}, "(508) 555-0142", "508-555-0173", "508.555.0199"),
        hiding("Chinese mobile and resident id in a sentence", {"text": f"联系人手机13912345678，身份证号{cn}，请尽快联系"}, "13912345678", cn),
        hiding("mail in odd places", {"log": "from=<ann.lee+ci@mail.example.co.uk> to=\"Bo\" <bo@example.de>; cc:%20cy%40example.com", "id": "联系dan@example.cn吧"}, "ann.lee+ci@mail.example.co.uk", "bo@example.de", "cy%40example.com", "dan@example.cn"),
        hiding("numbers of the United States", {"text": "SSN 219-09-4521, EIN on file. Social Security no. 219 09 4521; driver's license: D1234567; Passport number: 512345678"}, "219-09-4521", "219 09 4521", "D1234567", "512345678"),
        hiding("numbers of Britain, Ireland, Canada, Australia", {"text": "NI number: AB 12 34 56 C\nNHS number: 943 476 5919\nPPS number: 1234567T\nSIN: 046 454 286\nTFN: 123 456 782\nMedicare number: 2123 45670 1\n"}, "AB 12 34 56 C", "943 476 5919", "1234567T", "046 454 286", "123 456 782", "2123 45670 1"),
        hiding("numbers of Spain, France, Italy, Portugal, Belgium", {"text": "DNI: 12345678Z\nNIE: X1234567L\nNuméro de sécurité sociale : 1 85 04 75 116 001 28\nNIF: 123456789\nRijksregisternummer: 85.04.12-123.45\nNuméro fiscal : 3012345678901\n"}, "12345678Z", "X1234567L", "1 85 04 75 116 001 28", "123456789", "85.04.12-123.45", "3012345678901"),
        hiding("numbers of Asia", {"text": "Aadhaar: 2341 2341 2346\nPAN: ABCPE1234F\nNRIC: S1234567D\nCCCD: 001085012345\n護照號碼：312345678\nMyKad: 850412-14-5123\n"}, "2341 2341 2346", "ABCPE1234F", "S1234567D", "001085012345", "312345678", "850412-14-5123"),
        hiding("numbers of Latin America", {"text": "CURP: LOOA850412HDFPRN09\nRFC: LOOA850412AB1\nRUT: 12.345.678-5\nCUIT: 20-12345678-6\nCédula: 1.023.456.789\nRG: 12.345.678-9\n"}, "LOOA850412HDFPRN09", "LOOA850412AB1", "12.345.678-5", "20-12345678-6", "1.023.456.789", "12.345.678-9"),
        hiding("numbers of persons as keys", {"applicant": {"passportNumber": "C01X00T47", "driving_licence_no": "MORGA753116SM9IJ", "nationalId": 850412123456, "tax_id": "123-45-6789", "bankAccountNumber": "0123456789"}}, "C01X00T47", "MORGA753116SM9IJ", "850412123456", "123-45-6789", "0123456789"),
        hiding("card and its check value in a form", {"form": {"cardNumber": visa, "cvc": "737", "expiry": "03/30", "cardholder": "J ROE"}, "text": f"card {visa}, cvv: 737"}, visa, "737"),
    ]


def _speech() -> list[dict[str, Any]]:
    return [
        hiding("told in passing", {"role": "user", "content": "log in as ops, the password is Hornet-12-Comb, and check the queue"}, "Hornet-12-Comb"),
        hiding("told with quotes, a colon, an arrow", {"notes": ["admin password → Hornet-23", "the api key: `ak-Hornet-34`", "token = 'tk-Hornet-45' (read only)"]}, "Hornet-23", "ak-Hornet-34", "tk-Hornet-45"),
        hiding("label with more words", {"text": "Password for the staging box (till Friday): Hornet!56\nSecret of the web hook: wh-Hornet-67\n"}, "Hornet!56", "wh-Hornet-67"),
        hiding("one-time code in a message", {"sms": "Your verification code is 482 913. It expires in 10 minutes.", "mail": "Use OTP 551203 to sign in."}, "482 913", "551203"),
        hiding("PIN and code of a door", {"text": "The PIN is 8264 and the security code 991 for the gate."}, "8264"),
        hiding("what an agent thinks and does", {"steps": [{"thought": "I will log in", "action": "fill", "args": {"selector": "#pw", "name": "password", "value": "Hornet-78"}}]}, "Hornet-78"),
        hiding("call of a tool with arguments in a string", {"tool_calls": [{"function": {"name": "http", "arguments": '{"headers":{"Authorization":"Bearer Hornet-89-abcdef"},"url":"https://a"}'}}]}, "Hornet-89-abcdef", expect={"tool_calls": [{"function": {"name": "http", "arguments": '{"headers":{"Authorization":"<MASK>"},"url":"https://a"}'}}]}),
        hiding("keys of every spelling", {"DBPassword": "Hornet-90", "db.password": "Hornet-01", "db-password": "Hornet-12x", "DB PASSWORD": "Hornet-23x", "dbPassword1": "Hornet-34x", "x_api_key": "Hornet-45x", "ＡＰＩ＿ＫＥＹ": "Hornet-56x"}, "Hornet-90", "Hornet-01", "Hornet-12x", "Hornet-23x", "Hornet-34x", "Hornet-45x", "Hornet-56x"),
        hiding("fields of a form with their labels", {"fields": [{"label": "Wi-Fi password", "value": "Hornet-67x"}, {"label": "Office", "value": "Graz"}, {"label": "API key", "value": "api_key"}]}, "Hornet-67x"),
        hiding("change of a setting with old and new", {"event": "setting_changed", "name": "smtp_password", "old_value": "Hornet-78x", "new_value": "Hornet-89x"}, "Hornet-78x", "Hornet-89x"),
    ]


def _clean() -> list[dict[str, Any]]:
    return [
        clean("French prose", {"texte": "Le mot de passe a été changé hier ; choisissez un mot de passe d'au moins 12 caractères. Mot de passe oublié ?"}),
        clean("German prose", {"text": "Das Passwort wurde geändert. Bitte das Kennwort niemals weitergeben. Passwort vergessen? Der Schlüssel zum Erfolg ist Geduld."}),
        clean("Spanish prose", {"texto": "La contraseña debe tener 8 caracteres. ¿Olvidó su contraseña? El token ha caducado."}),
        clean("Portuguese and Italian prose", {"texto": "A senha deve conter letras e números. La password è scaduta, reimpostala dal portale."}),
        clean("Russian prose", {"текст": "Пароль успешно изменён. Забыли пароль? Токен истёк, войдите снова."}),
        clean("Polish and Czech prose", {"tekst": "Hasło musi mieć co najmniej 8 znaków. Heslo bylo změněno."}),
        clean("Chinese prose", {"内容": "密码已修改。忘记密码？请输入新密码，密码长度不少于8位。手机号格式不正确。"}),
        clean("Japanese prose", {"本文": "パスワードを変更しました。パスワードを忘れた方はこちら。トークンの有効期限が切れています。"}),
        clean("Korean prose", {"본문": "비밀번호가 변경되었습니다. 비밀번호를 입력하세요. 인증번호가 만료되었습니다."}),
        clean("Arabic and Turkish prose", {"text": "تم تغيير كلمة المرور بنجاح. Şifreniz değiştirildi. Şifremi unuttum"}),
        clean("Greek and Hebrew prose", {"text": "Ο κωδικός πρόσβασης άλλαξε. הסיסמה שונתה בהצלחה"}),
        clean("Hindi and Vietnamese prose", {"text": "पासवर्ड बदल दिया गया है। Mật khẩu đã được thay đổi."}),
        clean("numbers of orders and parcels", {"order": "4532015112830361", "text": "Parcel 1Z999AA10123456784, order 2024110412345678, invoice RE-2024-118734, ticket 48211"}),
        clean("times and dates", {"t": [1730711001, 1730711001123, "2024-11-04T10:30:02.120+02:00", "20241104103002"], "cron": "15 3 * * 1-5", "took": "00:12:44.120"}),
        clean("books, goods and articles", {"text": "ISBN 978-3-16-148410-0, EAN 4006381333931, DOI 10.1000/182, ISSN 2049-3630, SKU 8801-2231-44"}),
        clean("places and measures", {"gps": [48.208490, 16.372080], "text": "N 48.20849 E 16.37208, 1 204,50 EUR, 3.14159265358979, 1e-9, 1,234,567.89"}),
        clean("addresses of machines", {"text": "10.0.0.4:5432, 192.168.178.201, fe80::1ff:fe23:4567:890a, 00:1B:44:11:3A:B7, AS64512, port 65535"}),
        clean("pins of a board", {"pins": {"led_pin": 13, "rx": 0}, "text": "Connect pin 13 to ground; pinMode(13, OUTPUT); GPIO pin 4, header pin 27"}),
        clean("telephones that are words", {"phone_model": "Pixel 8", "mobile": True, "phone_verified": False, "tel": "n/a", "text": "call the phone shop, hours 9-17, 2024-2025"}),
        clean("versions and builds", {"text": "v1.2.3-rc.4+build.5678, 10.0.22631.4317, Chrome/130.0.6723.91, glibc 2.39-0ubuntu8.3"}),
        clean("ids of records", {"id": "01JBXA5Q3ZJ6Y8V0M2K4T7W9RC", "request_id": "req_011CVinv7Qk2", "order_id": 13800138000, "size_bytes": 13912345678, "span": "b7ad6b7169203331"}),
        clean("code that is no secret", {"code": 404, "exit_code": 1, "country_code": "AT", "zip_code": "8010", "status code": 200, "text": "exit code 137, error code 1045, code review, zip code 8010"}),
        clean("passes and passengers", {"text": "Boarding pass at gate 12, passenger list, mountain pass 1,204 m, pass the salt, all checks pass: 12 of 12", "season_pass": None}),
        clean("signatures of functions and mails", {"text": "signature: def f(a, b) -> int; method signature mismatch; -- \nBest, Ann\nsigned-off-by: bot"}),
        clean("sessions that are talks", {"session_title": "Keynote", "sessions": 14, "session_notes": "about tokens", "text": "Session 3: tokens and tokenizers, room 204"}),
        clean("secrets that are none", {"text": "The secret of good bread is time. Secret Santa: 20 December. No secret: we like tea. Victoria's secret"}),
        clean("keys of a keyboard and of music", {"text": "Press any key; the key is C minor; key: value pairs; turn the key twice; Key points: 1, 2, 3"}),
        clean("cookies of a bakery and of a page", {"text": "Chocolate cookie recipe: 200 g flour. This site uses cookies. Cookie policy updated 2024-11-04."}),
        clean("tokens of a grammar", {"text": "expected token ';' but found '}' at line 12; token limit 4096; 12 tokens left; next token: IDENT"}),
        clean("cards that are not of a bank", {"card_type": "visa", "text": "score card 12-4-3, graphics card RTX 4090, SIM card slot 2, card 4 of 52, 1234 5678 9012 3456"}),
        clean("people without numbers", {"name": "Ilse Graf", "role": "admin", "city": "Graz", "age": 44, "birthday_card": "sent"}),
        clean("names of fields in a list", {"required": ["password", "token", "phone"], "columns": ["id", "password_hash", "api_key"], "labels": ["secret", "auth"]}),
        clean("questions of a form without answers", {"questions": ["Which password manager do you use?", "Is your phone number public?", "Do you have an API key?"]}),
        clean("headings of a document", {"md": "# Tokens\n## Access tokens\n## Refresh tokens\n### Password reset\n- API keys\n- Secrets\n"}),
        clean("log lines with levels and words of auth", {"log": "INFO auth: user ann logged in\nWARN token: refresh scheduled\nDEBUG password: policy loaded\nERROR secret: not found\n"}),
        clean("masks of ours", {"password": "[MASKED:password]", "text": "password=[MASKED:password] call [MASKED:phone]", "card": "****0361"}),
        clean("nothing under names", {"password": None, "token": "", "secret": False, "api_key": [], "cookie": {}, "phone": "-"}),
        clean("chat about keys", {"messages": [{"role": "user", "content": "How do I rotate an API key?"}, {"role": "assistant", "content": "Create a new key, deploy it, then delete the old key. Never paste keys here."}]}),
        clean("amounts and rates", {"text": "EUR 13.800.138,00 of 1,380,013,800.00; rate 0.13800138000; account balance 4532.01"}),
        clean("hexadecimal and colours", {"css": "color: #13800138; background: #0f0; box-shadow: 0 0 4px #0008", "mem": "0x7f13800138000, 0xdeadbeef"}),
    ]
