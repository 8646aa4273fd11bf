"""Passwords that command lines and setting files are told without a sign of assignment."""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import Sanitizer, default
from toolog.sanitize.commands import PROGRAMS, is_port

WORD = "Zq9-inv77"


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_the_flag_of_each_program_hides_what_stands_behind_it(program: str) -> None:
    """In a line and in a list of arguments, the password goes and all else stays."""
    flag = PROGRAMS[program]
    line = f"{program} -h db1 {flag} {WORD} shop"
    assert default().sanitize(line) == line.replace(WORD, "[MASKED:password]")
    arguments = [program, "-h", "db1", flag, WORD, "shop"]
    assert default().sanitize(arguments) == [program, "-h", "db1", flag, "[MASKED:password]", "shop"]


@pytest.mark.parametrize(
    "line",
    [
        f"helm registry login r.example -u bob -p {WORD}",
        f"twine upload -u bob -p {WORD} dist/x",
        f"tool login r.example -p {WORD}",
        f"sqlplus scott/{WORD}@//ora1:1521/XE",
        f"jdbc:oracle:thin:scott/{WORD}@//ora1:1521/XE",
        f"$s = ConvertTo-SecureString '{WORD}' -AsPlainText -Force",
        f"net user bob {WORD} /add",
        f"echo '{WORD}' | sudo -S ls",
        f"echo 'root:{WORD}' | chpasswd",
        f"echo {WORD} | docker login -u bob --password-stdin",
        f"ENV DJANGO_SECRET_KEY {WORD}",
        f"SetEnv API_TOKEN {WORD}",
        f"aws configure set aws_secret_access_key {WORD}",
        f"proxy_set_header X-Api-Key {WORD};",
        f"fastcgi_param DB_PASSWORD {WORD};",
        f"# hostname:port:database:username:password\ndb:5432:billing:bob:{WORD}\n",
        f"AUTH bob {WORD}",
        f"http -a bob:{WORD} POST api.internal/items",
        f"net use Z: \\\\fs1\\data /user:corp\\bob {WORD}",
        f"schtasks /create /tn job /ru bob /rp {WORD} /sc daily",
        f"lftp -u bob,{WORD} ftp.internal",
        f"keytool -importkeystore -srcstorepass {WORD} -noprompt",
        f"username admin password 7 {WORD}",
        f"snmp-server community {WORD} RO",
        f"cat ~/.pgpass\ndb:*:billing:bob:{WORD}\n",
    ],
)
def test_a_line_that_tells_a_program_a_password_shows_it_no_more(line: str) -> None:
    """Only the password goes; masking again changes nothing."""
    clean = default().sanitize(line)
    assert WORD not in clean
    assert clean.startswith(line.partition(WORD)[0])
    assert clean.endswith(line.partition(WORD)[2])
    assert default().sanitize(clean) == clean


@pytest.mark.parametrize(
    "value",
    [
        "docker run -u root -p 8080:80 nginx",
        ["docker", "run", "-u", "root", "-p", "8080:80"],
        "docker run -u 1000:1000 -p 127.0.0.1:80:80/tcp x",
        "echo hello | grep world",
        "echo $PASSWORD | sudo -S ls",
        "ldapsearch -x -w",
        "sqlplus / as sysdba",
        "ASP.net user experience designers",
        "ENV PATH /usr/local/bin",
        "ENV TOKEN_TTL 3600",
        "the environment config set password policy",
        "aws configure set region us-east-1",
        "~/.pgpass is missing",
        "a.py:12:34:error:text",
        "mysql -u USER -p DATABASE",
        "AUTH failed for bob",
        "http and https, or ftp",
        "password 3 attempts",
    ],
)
def test_what_only_looks_like_such_a_line_stays(value: Any) -> None:
    """Published ports, references, and prose come back as the very same object."""
    assert default().sanitize(value) is value


def test_a_port_is_told_from_a_password() -> None:
    """Digits, dots and colons publish a port; anything else does not."""
    assert is_port("8080:80")
    assert is_port("127.0.0.1:53:53/udp")
    assert not is_port("8080x")


def test_a_flag_goes_with_a_value_that_is_left_out() -> None:
    """Where a style drops values, the flag goes too: it would take the next argument for its own."""
    dropping = Sanitizer(style="drop")
    arguments = ["app", "--password", WORD, "--token", WORD, "run", "A1b2c3"]
    clean = dropping.sanitize(arguments)
    assert clean == ["app", "run", "A1b2c3"]
    assert dropping.sanitize(clean) is clean


def test_what_oracle_takes_without_quotes_is_hidden() -> None:
    """`IDENTIFIED BY` announces a password, also one of letters and digits alone."""
    clean = default().sanitize("ALTER USER scott IDENTIFIED BY Zq9inv77;")
    assert clean == "ALTER USER scott IDENTIFIED BY [MASKED:password];"


def test_the_cookies_of_a_command_line_are_hidden() -> None:
    """What curl is told to send as cookies is what a header of cookies holds."""
    clean = default().sanitize("curl -b 'sid=Zq9-inv77; a=b' https://a.internal")
    assert clean == "curl -b '[MASKED:cookie]' https://a.internal"
