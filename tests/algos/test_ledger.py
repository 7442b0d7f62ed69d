"""The ledger: every column is written and read again."""

import dataclasses

import pytest

from algos.ledger import Ledger


def test_all_columns_come_back():
    ledger = Ledger(**{f.name: n + 1 for n, f in enumerate(dataclasses.fields(Ledger))})
    assert Ledger.from_dict(ledger.to_dict()) == ledger
    assert 0 not in ledger.to_dict().values()


def test_unknown_columns_are_an_error():
    with pytest.raises(ValueError, match="unknown ledger columns \\['coffee'\\]"):
        Ledger.from_dict({"episodes": 1, "coffee": 3})
