"""Stored keys can be read with any of the secrets, and with nothing else."""

from typing import Any

import pytest

from chat.db.encryption import Undecryptable, decrypt, encrypt, encrypt_again

OLD, NEW = "an old secret of enough characters", "a new secret of enough characters"


def test_what_is_encrypted_comes_back_and_looks_like_nothing() -> None:
    stored = encrypt("sk-secret-ключ")
    assert "secret" not in stored
    assert encrypt("sk-secret-ключ") != stored
    assert decrypt(stored) == "sk-secret-ключ"


def test_another_secret_reads_nothing(settings: Any) -> None:
    stored = encrypt("sk-1")
    settings.SECRET_KEY = OLD
    for wrong in (stored, stored[:-4] + "AAAA", "nonsense", "ß"):
        with pytest.raises(Undecryptable):
            decrypt(wrong)
        with pytest.raises(Undecryptable):
            encrypt_again(wrong)


def test_secrets_are_exchanged_without_losing_a_key(settings: Any) -> None:
    by_secret_key = encrypt("sk-1")
    settings.ENCRYPTION_KEYS = [OLD]
    by_old = encrypt("sk-2")
    assert decrypt(by_secret_key) == "sk-1"
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    moved = [encrypt_again(by_secret_key), encrypt_again(by_old)]
    settings.ENCRYPTION_KEYS, settings.SECRET_KEY = [NEW], "changed too"
    assert [decrypt(each) for each in moved] == ["sk-1", "sk-2"]
    with pytest.raises(Undecryptable):
        decrypt(by_old)


def test_an_earlier_secret_key_still_reads(settings: Any) -> None:
    stored = encrypt("sk-1")
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], NEW
    assert decrypt(stored) == "sk-1"
