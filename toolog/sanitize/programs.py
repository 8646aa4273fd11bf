"""Command lines and steps in which a secret is told, as expressions over bytes of any kind: how each begins,
and all of it.
"""

from __future__ import annotations

from toolog.sanitize.commands import PROGRAMS
from toolog.sanitize.typed import VERBS

#: What is a secret only when something else stands far behind it. Such a search, as a part of the scan, would
#: double the states of all the rest; so the scan looks for its beginning, and only a hit asks for all of it.
PROGRAM_LINES = (
    r"login.*password|(?:og_?[iI]n|ign_?[iI]n|uthenticate|getConnection|mysqli?[a-z_]*|PDO)\(.*,"
    rf"|\.(?:{VERBS})\(|fill_in[ (]|[\"'] (?:into|in) .*[\"']"
    r"|(?i:curl).*-(?:u|b|-user|-proxy-user)|mysql.*-p|login.*-p|-(?:u|-user|-username)[^a-z].*-p|"
    + "|".join(f"{name}.*{flag}" for name, flag in PROGRAMS.items())
    + r"|smbclient.*-U|7z.*-p|htpasswd.*-|freerdp.*/p:|nmcli.*password|vault login|wpa_passphrase|secret set"
    + r"|keyvault secret set.*--value|put-parameter.*--value|ssh-keygen.*-[PN]"
    + r"|rabbitmqctl.*(?:add_user|change_password)"
    + r"|SETUSER.*>|NickServ.*(?i:identify)|USER .*PASS |[0-9] LOGIN |WIFI:.*P:|Input Password.*[ \t]"
    + r"|lftp.*-u|schtasks.*/(?i:rp)|https? .*(?:-a|--auth)[ =]"
    + r"|(?:echo|printf).*\||net +user? +.*[^ ]|oracle:|(?:sqlplus|sqlldr|expdp|impdp|rman)[ \t\\'\"].*/.*@"
)
PROGRAM_NAMES = (
    r"login|(?:og_?[iI]n|ign_?[iI]n|uthenticate|getConnection|PDO)\("
    rf"|\.(?:{VERBS})\(|fill_in[ (]|[\"'] (?:into|in) |(?i:curl)|mysql|echo|-(?:u|-user|-username)[^a-z]"
    r"|net +user?|https? |keyvault secret set|put-parameter|ssh-keygen|rabbitmqctl|SETUSER|NickServ"
    r"|PASS |[0-9] LOGIN |WIFI:"
    r"|Input Password"
    r"|printf|lftp|schtasks|smbclient|7z|htpasswd|freerdp|nmcli"
    r"|wpa_passphrase|secret set"
    r"|oracle:|sqlplus|sqlldr|expdp|impdp|rman|" + "|".join(PROGRAMS)
)
