"""The middle of the output is left out, and nothing else, however it arrives."""

from hypothesis import given
from hypothesis import strategies as st

from sandgym.sandboxes.confined.output import CappedOutput


@given(st.text(alphabet="aé€😀\n", max_size=300), st.integers(2, 40), st.lists(st.integers(1, 60), max_size=20))
def test_first_and_last_characters_are_kept(text: str, limit: int, cuts: list[int]) -> None:
    output, data = CappedOutput(limit), text.encode()
    for cut in cuts:
        output.add(data[:cut])
        data = data[cut:]
    output.add(data)
    half = limit // 2
    if len(text) <= limit:
        assert output.text() == (text, False)
    else:
        left_out = len(text) - 2 * half
        expected = f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
        assert output.text() == (expected, True)
