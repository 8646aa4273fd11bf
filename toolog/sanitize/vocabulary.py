# ruff: noqa: SIM905 - word lists read better as text
"""The words that make a key sensitive, and the words that take it back. Data only; `words.py` decides with
it.

Every entry of `PAIRS` and `STRONG` names the rule that masks its value, so that a style can be chosen for
each rule. All words are lower case, without separators.
"""

from __future__ import annotations

from itertools import product

from toolog.sanitize import languages

#: Two neighbouring words that together are sensitive.
PAIRS: dict[tuple[str, str], str] = {}
#: One word that is enough by itself, concatenations (`accesstoken`) among them.
STRONG: dict[str, str] = {}

for _rule, _names in {
    "password": "password passwd passphrase passcode passwort kennwort wachtwoord motdepasse contrasena"
    " contraseña"
    " senha losenord lösenord haslo hasło sifre şifre salasana pwd passwords passphrases pswd userpass"
    " dbpass sshpass"
    " pgpass mysqlpass storepass keypass"
    " пароль парола лозинка पासवर्ड 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 패스워드"
    " adgangskode kodeord passord heslo jelszó jelszo lozinka geslo slaptažodis parool parolă סיסמה סיסמא"
    " รหัสผ่าน گذرواژه",
    "secret": "secret secrets секрет geheimnis シークレット",
    "token": "token jwt токен 令牌 权杖 トークン 토큰",
    "credential": "credential credentials creds cred zugangsdaten 凭证 凭据 憑證 認証情報",
    "authorization": "authorization authorisation",
    "cookie": "cookie cookies setcookie xsrf csrf",
    "private_key": "privkey 私钥 私鑰 秘密鍵 개인키",
    "api_key": "apikey apikeys apischlüssel zugriffsschlüssel 密钥 密鑰 秘钥 秘鑰"
    " アクセスキー 비밀키 액세스키",
    "phone": "phone phones telephone telefon telefono teléfono telefone téléphone cellphone phonenumber"
    " handynummer telefonnummer mobilnummer rufnummer telefoonnummer"
    " телефон 手机 手機 电话 電話 携帯番号 전화번호 휴대폰",
    "code": "otp totp cvv cvc cvv2 cvc2 csc cvn 验证码 驗證碼 校验码 인증번호",
    "ssn": "ssn",
    "passport": "passport passports паспорт 护照 護照",
    "id_number": "снилс инн cpf 身份证 身份證 身分證 주민등록번호 社保号 マイナンバー"
    " 证件号 證件號 驾驶证 駕駛證 驾照 军官证 社会保障号",
    "card": "银行卡 銀行卡 信用卡 卡号 卡號 クレジットカード番号 카드번호 creditcard debitcard",
}.items():
    for _name in _names.split():
        STRONG[_name] = _rule

for _rule, _names in {
    "password": "userpassword dbpassword rootpassword adminpassword mypassword oldpassword newpassword"
    " pgpassword"
    " mysqlpassword mysqlpwd userpasswd dbpasswd dbpwd userpwd currentpassword confirmpassword passwordhash"
    " passwordconfirmation masterpassword mypasswd rediscliauth",
    "api_key": "apikey apisecret apitoken appkey appsecret accesskey accesskeysecret secretkey"
    " secretaccesskey accountkey"
    " sharedkey sharedaccesskey sharedaccesssignature subscriptionkey signingkey encryptionkey masterkey"
    " servicekey applicationkey"
    " authkey hmackey consumersecret consumerkey serverkey",
    "secret": "clientsecret webhooksecret sharedsecret signingsecret usersecret jwtsecret",
    "private_key": "privatekey sshkey sshprivatekey rsaprivatekey deploykey",
    "token": "accesstoken refreshtoken authtoken idtoken sessiontoken bearertoken csrftoken xsrftoken"
    " apitoken devicetoken"
    " pushtoken usertoken logintoken oauthtoken securitytoken accesstokens refreshtokens authtokens"
    " resettoken"
    " githubtoken gitlabtoken slacktoken hftoken ghtoken bottoken sastoken",
    "cookie": "sessioncookie setcookie jsessionid phpsessid sessionkey",
    "phone": "phonenumber mobilenumber mobilephone mobileno phoneno cellnumber contactnumber telno"
    " telnumber faxnumber"
    " whatsappnumber",
    "card": "cardnumber cardno creditcard creditcardnumber ccnumber ccnum debitcard pannumber cardpan"
    " bankaccount"
    " bankaccountnumber accountnumber bankcard iban routingnumber",
    "code": "securitycode verificationcode verifycode smscode authcode onetimecode onetimepassword mfacode"
    " twofactorcode"
    " otpcode recoverycode recoverycodes backupcode backupcodes pincode cardcvv",
    "ssn": "socialsecurity socialsecuritynumber ssnumber",
    "id_number": "idcard idcardno idcardnumber idnumber idno identitynumber identitycard nationalid"
    " nationalidnumber"
    " governmentid residentid citizenid taxid taxnumber taxpayerid driverlicense driverslicense"
    " driverslicensenumber"
    " licensenumber drivinglicence drivinglicense aadhaar aadhaarnumber idcardnum",
    "passport": "passportnumber passportno",
}.items():
    for _name in _names.split():
        STRONG[_name] = _rule

for _rule, _firsts, _seconds in (
    ("api_key", "api app application integration access account signing encryption subscription shared"
     " service auth hmac consumer server master"
     " wep wpa wifi wlan ipsec vpn"
     " secret license licence deploy webhook unseal recovery decryption aes symmetric fernet preshared",
     "key keys"),
    ("private_key", "private ssh rsa pgp gpg ecdsa ed25519 tls ssl pem client", "key keys"),
    ("seed_phrase", "seed recovery mnemonic backup wallet secret", "phrase words mnemonic"),
    ("api_key", "secret", "access"),
    ("api_key", "validation decryption nonce", "key"),
    ("secret", "auth nonce secure secret app session cookie jwt security password", "salt"),
    ("token", "access refresh auth oauth id session bearer api device push login reset security invite",
    "tokens"),
    ("phone", "mobile cell contact whatsapp fax telephone tel", "number numbers no num phone"),
    ("phone", "手机 电话", "号"),
    ("card", "card credit debit pan cc bank account routing iban", "number numbers no num"),
    ("card", "credit debit bank", "card cards account accounts"),
    ("code", "security verification verify sms auth mfa otp recovery backup pin", "code codes"),
    ("ssn", "social", "security"),
    ("id_number", "identity national government resident citizen taxpayer tax passport", "number no id"),
    ("id_number", "id identity", "card"),
    ("id_number", "driver drivers driving", "license licence"),
    ("cookie", "session", "cookie key"),
    ("password", "wifi db root admin user pg mysql ssh ftp smtp", "pass pwd psk"),
    ("password", "pre", "shared"),
    ("password", "pass", "phrase word code wd"),
    ("code", "cvv cvc totp factor", "code"),
    ("api_key", "shared", "access"),
    ("api_key", "access", "signature"),
    ("id_number", "aadhaar", "number no"),
    # French, Vietnamese, Indonesian, Malay, Arabic, Persian, Greek: a password is two words and more
    ("password", "de", "passe"),
    ("password", "mật", "khẩu"),
    ("password", "mat", "khau"),
    ("password", "kata", "sandi laluan"),
    ("password", "كلمة", "المرور السر"),
    ("password", "رمز", "عبور"),
    ("password", "κωδικός", "πρόσβασης"),
    ("api_key", "clé cle clave chave chiave", "api"),
    ("api_key", "clé cle clave chave chiave", "secrète secrete secreta segreta acceso acesso accès"),
    ("private_key", "clé cle clave chave chiave", "privée privee privada privata"),
    ("api_key", "api geheimer geheime", "schlüssel schluessel sleutel"),
    ("private_key", "privater приватный закрытый", "schlüssel schluessel ключ"),
    ("api_key", "api секретный", "ключ キー 키"),
    ("phone", "điện", "thoại"),
    ("phone", "nomor", "hp telepon telp"),
):  # fmt: skip
    for _first in _firsts.split():
        for _second in _seconds.split():
            PAIRS[_first, _second] = _rule
PAIRS.pop(("account", "no"), None)
for _rule, _firsts, _seconds in languages.PAIRS:
    for _pair in product(_firsts.split(), _seconds.split()):
        for _first, _second in product(*map(languages.spellings, _pair)):
            PAIRS.setdefault((_first, _second), _rule)
#: Three words that together are sensitive; the one between says nothing.
PHRASES: dict[tuple[str, str, str], str] = {}
for _rule, *_parts in languages.PHRASES:
    for _phrase in product(*map(str.split, _parts)):
        for _first, _between, _last in product(*map(languages.spellings, _phrase)):
            PHRASES.setdefault((_first, _between, _last), _rule)
for _rule, _names in languages.WORDS.items():
    for _name in _names.split():
        for _spelling in languages.spellings(_name):
            STRONG.setdefault(_spelling, _rule)

#: Words that are sensitive only when they are the last of the key and the value has the right look: (rule,
#: shape).
SHAPED: dict[str, tuple[str, str]] = {
    "mdp": ("password", "mixed"),
    "cellulare": ("phone", "number"),
    "telemóvel": ("phone", "number"),
    "auth": ("authorization", "credential"),
    "pass": ("password", "mixed"),
    "pin": ("code", "digits"),
    "mobile": ("phone", "number"),
    "tel": ("phone", "number"),
    "cell": ("phone", "number"),
    "fax": ("phone", "number"),
    "whatsapp": ("phone", "number"),
    "celular": ("phone", "number"),
    "móvil": ("phone", "number"),
    "movil": ("phone", "number"),
    "handy": ("phone", "number"),
    "ccn": ("card", "number"),
    "iban": ("card", "number"),
    "aadhaar": ("id_number", "number"),
    "dni": ("id_number", "number"),
    "msisdn": ("phone", "number"),
    "手机号": ("phone", "number"),
    "psk": ("password", "mixed"),
    "mnemonic": ("seed_phrase", "phrase"),
}
for _look, _names in languages.SHAPED.items():
    for _name in _names.split():
        for _spelling in languages.spellings(_name):
            SHAPED.setdefault(_spelling, _look)

#: Names that, standing alone, ask for a value of the right look: `PWD` is the working directory, too.
WHOLE: dict[str, str] = {"pwd": "no_path"}

#: Last words that say that the value is about the secret, not the secret.
TAILS = frozenset(
    """count counts type types id ids url urls uri link links expiry expires expire expiration expired exp ttl
    verified valid validity required enabled disabled length len min max policy policies changed at on by date
    time times timestamp hint strength field fields label labels name names format formats provider providers
    source status state method methods mode limit limits used usage budget budgets consent banner version
    versions algorithm alg size sizes rotation updated created fingerprint index class category scheme schemes
    scope scopes issuer audience endpoint host path paths file filename dir directory model models carrier os
    brand brands plan plans country code codes region plural app apps case cases manager management support
    supported present available set exists missing error errors message messages reset resets history age days
    hours minutes seconds ms in out per cost costs price prices rate rates stdin prompt placeholder regex
    pattern validator validation rule rules settings setting config configuration options option handler
    factory class cls store storage service services store provider generator parser ratio percent total
    average avg sum latency throughput pool bucket vault arn ref reference alias kind owner screen page button
    input view form title description domain samesite secure httponly jar lifetime lifecycle rotated enabled
    attempts retries allowed needed confirmed policyid authorities logprobs logprob prob probs stats metrics
    metric ids mask bytes offset position positions pos start end stop index indices verification area
    extension calls call lines line center book tree bank banks booth camera screen stand charger accessories
    accessory cover group groups helper helpers""".split()
)
#: Last two words that take it back where the last word alone would not.
TAIL_PAIRS = frozenset(
    {("country", "code"), ("area", "code"), ("dial", "code"), ("calling", "code"), ("type", "code")}
)
#: First words that ask about the secret, or that name something else.
HEADS = frozenset(
    """has is was are max min num total show hide use uses using need needs require requires allow allows
    enable enables disable disables supports support should can without no avg average mean estimated missing
    include includes ignore skip""".split()
)
#: Two neighbouring words that are harmless though the second alone is not.
HARMLESS_PAIRS = frozenset(
    [(first, "token") for first in
     "page continuation cursor next sync eos bos pad unk mask sep cls stop special start end begin beginning"
     " unknown padding per first last prev previous pagination nft max min output input prompt completion"
     " cached reasoning thinking total erc20 governance lp sos decoder encoder image audio text"
     " vocab".split()]
    + [("i", "phone"), ("public", "key"), ("secret", "santa"), ("head", "phone"), ("head", "phones"),
    ("smart", "phone"),
       ("smart", "phones"), ("ear", "phones"), ("micro", "phone"), ("pass", "through"), ("cookie", "cutter"),
       ("i", "phones"), ("window", "phone")]
)  # fmt: skip

#: What takes a Chinese, Japanese or Korean key back when it stands at its end, or at its start.
CJK_TAILS = (
    "长度 強度 强度 类型 類型 次数 时间 時間 状态 狀態 有效期 过期 過期 规则 規則 策略 提示 型号 品牌 系统"
    " 归属地 歸屬地 数量 數量 已验证"
    " 是否有效 验证 驗證 名称 名稱 格式 版本 链接 地址 服务 服務 会议 會議 客服 壳 壳套 配件 错误 錯誤 管理"
    " 管理器 设置 設定 政策"
    " 长短 位数 算法 重置 找回 修改 验证方式 类别 图片 照片 费用 话费 设备 应用 游戏 银行 中心 电池 市场"
    " 用户数 丢失 登录方式 日期 来源 学 學 学家 锁 鎖 亭 线 線 局 用户 리셋 화폐 화 학 재설정 길이"
).split()
CJK_HEADS = (
    "是否 有无 有無 忘记 忘記 重置 修改 找回 无 無 支持 启用 啟用 禁用 需要 显示 顯示 隐藏 隱藏"
    " 最大 最小 智能"
).split()
