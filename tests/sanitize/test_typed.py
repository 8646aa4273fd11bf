"""What is typed into fields of pages and forms."""

from __future__ import annotations

from typing import Any

import pytest

from toolog.sanitize import Sanitizer

SANITIZER = Sanitizer()


@pytest.mark.parametrize(
    "text",
    [
        "await page.fill('#password', 'Zq9-inv');",
        "await page.getByLabel('Password').fill('Zq9-inv');",
        'page.locator("input[name=\'password\']").fill("Zq9-inv")',
        "cy.get('#password').type('Zq9-inv{enter}')",
        'driver.find_element(By.ID, "password").send_keys("Zq9-inv")',
        'driver.findElement(By.xpath("//input[@type=\'password\']")).sendKeys("Zq9-inv");',
        "await user.type(screen.getByLabelText(/password/i), 'Zq9-inv')",
        "fill_in 'Password', with: 'Zq9-inv'",
        'When I fill in "Password" with "Zq9-inv"',
        'And I enter "Zq9-inv" into "Password"',
    ],
)
def test_what_a_step_types_into_a_sensitive_field_is_hidden(text: str) -> None:
    """Only what is typed goes, whichever driver's or test's words say it."""
    assert SANITIZER.sanitize(text) == text.replace("Zq9-inv", "[MASKED:password]")


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"element": "Password textbox", "ref": "e12", "text": "Zq9-inv"}, "text"),
        ({"selector": "#password", "text": "12345678"}, "text"),
        ({"text": "4821", "element": "PIN input"}, "text"),
        ({"field_name": "api_key", "field_value": "Zq9inv77"}, "field_value"),
        ({"attributeName": "password", "newValue": "Zq9-inv"}, "newValue"),
    ],
)
def test_a_step_as_data_shows_nothing_that_is_typed(value: dict[str, Any], key: str) -> None:
    """The field stays, and what is filled in is hidden."""
    output = SANITIZER.sanitize(value)
    assert output[key].startswith(("[MASKED:", "****"))
    assert {**output, key: value[key]} == value


@pytest.mark.parametrize(
    "value",
    [
        {"selector": "#search", "text": "lamp2"},
        {"locator": "#show-password", "text": "Show"},
        {"element": "Password rules", "text": "At least 12 characters"},
        "await page.fill('#search', 'desk lamp 42')",
        "page.locator('#username').fill('ann42')",
        "await page.click('#password-toggle')",
        "cy.get('#password').should('have.value', '')",
    ],
)
def test_what_is_typed_into_other_fields_stays(value: Any) -> None:
    """Searches, users and what a page shows are no secrets."""
    assert SANITIZER.sanitize(value) is value
