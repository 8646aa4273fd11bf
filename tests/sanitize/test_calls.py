"""Secrets among the arguments of calls."""

from __future__ import annotations

import pytest

from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('ds.setPassword("Zq9-inv");', 'ds.setPassword("[MASKED:password]");'),
        ("client.set_api_key('Zq9inv77')", "client.set_api_key('[MASKED:api_key]')"),
        ('b.apiKey("Zq9inv77").build()', 'b.apiKey("[MASKED:api_key]").build()'),
        ('vault.set_secret(name, "Zq9-inv")', 'vault.set_secret(name, "[MASKED:secret]")'),
        ('AzureKeyCredential("Zq9inv77")', 'AzureKeyCredential("[MASKED:password]")'),
    ],
)
def test_a_literal_that_a_call_is_told_as_a_secret_is_hidden(text: str, masked: str) -> None:
    """What sets a secret, builds something with it, or is made of it, shows it no more."""
    assert SANITIZER.sanitize(text) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('new NetworkCredential("ann", "Zq9-inv")', 'new NetworkCredential("ann", "[MASKED:password]")'),
        ("req.basic_auth 'ann', 'Zq9-inv'", "req.basic_auth 'ann', '[MASKED:password]'"),
        ("get(url, auth=('ann', 'Zq9-inv'))", "get(url, auth=('ann', '[MASKED:password]'))"),
        ('server.login("ann", "Zq9-inv")', 'server.login("ann", "[MASKED:password]")'),
        ('getConnection("jdbc:x", "sa", "Zq9-inv")', 'getConnection("jdbc:x", "sa", "[MASKED:password]")'),
        (
            'ClientSecretCredential("t1", "app-1", "Zq9-inv")',
            'ClientSecretCredential("t1", "app-1", "[MASKED:password]")',
        ),
    ],
)
def test_of_a_user_and_a_password_only_the_password_is_hidden(text: str, masked: str) -> None:
    """Of the arguments of a sign-in the user stays, and the password goes, wherever it stands."""
    assert SANITIZER.sanitize(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        'prefs.getPassword("db2")',
        "vault.get_secret('prod-db2')",
        "user.set_password(new_password)",
        'form.setPassword("Enter new password 2")',
        'new k8s.Secret("db-secret2", {metadata: {}})',
        'lexer.token("ID3")',
        "router.login('/login', '/home2')",
        '@authenticate("admin", "editor2")',
        "HTTPBasicAuth(settings.user, settings.password)",
    ],
)
def test_a_name_that_a_call_is_told_stays(text: str) -> None:
    """What asks for a secret by its name, passes one on, or shows a text shows none."""
    assert SANITIZER.sanitize(text) is text
