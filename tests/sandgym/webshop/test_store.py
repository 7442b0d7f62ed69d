"""Stored catalogues: the same products back, in any process, and damage noticed."""

import json
import pickle
import subprocess
import sys

import pytest

from sandgym.core import SandboxError
from sandgym.webshop.build import build_store
from sandgym.webshop.generate import write_catalogue
from sandgym.webshop.jsonfiles import iter_json_array, read_json
from sandgym.webshop.products import Product, iter_products
from sandgym.webshop.store import StoredCatalogue, check_store, decode_product, encode_product, is_store, open_store


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_catalogue(tmp_path_factory.mktemp("source"), products=60)


@pytest.fixture
def catalogue(source, tmp_path):
    return build_store(source, tmp_path / "built")


@pytest.fixture(scope="module")
def products(source):
    rows = iter_json_array(source / "items_shuffle.json")
    return list(iter_products(rows, read_json(source, "items_ins_v2*"), read_json(source, "nouns")))


def test_products_come_back_as_they_were(catalogue, products):
    assert len(catalogue) == len(products) == 60
    assert [catalogue[position] for position in range(60)] == products


def test_odd_values_survive_encoding():
    product = Product(
        asin="B0",
        title='a "b"\\ \u203a \U0001f600 \ud800 \x00',
        description="",
        bullets=(),
        price_text="$1.1 to $0.1",
        price_range=(1.1, 0.1),
        options={"size": ("7  |  8", "7  |  8"), "color": ()},
        option_images={"é": "x"},
        attributes=("DUMMY_ATTR",),
        category="beauty",
        query="",
        product_category="",
        main_image="",
        instruction=None,
        instruction_attributes=(),
        nouns=("b", "b"),
    )
    assert decode_product(encode_product(product)) == product


def test_asins_and_prices_are_found(catalogue, products, source):
    prices = json.loads((source / "prices.json").read_text())
    assert [catalogue.index(product.asin) for product in products] == list(range(60))
    assert [catalogue.price(position) for position in range(60)] == [prices[product.asin] for product in products]
    for absent in ("", "B", "ZZZZZZZZZZ", "B" * 40, products[0].asin + "\0", "é"):
        assert catalogue.index(absent) is None


@pytest.mark.parametrize("position", [-1, 60, 10**9])
def test_positions_outside_are_errors(catalogue, position):
    with pytest.raises(IndexError, match="the catalogue has 60"):
        catalogue[position]


def test_search_finds_a_product_by_its_title(catalogue, products):
    assert 7 in catalogue.search_index.search(products[7].title)


def test_one_catalogue_a_process(catalogue):
    assert open_store(catalogue.folder) is open_store(str(catalogue.folder)) is catalogue


def test_it_opens_in_another_process_and_from_a_pickle(catalogue, products):
    code = (
        "import pickle, sys; c = pickle.load(sys.stdin.buffer); "
        "print(c[3].asin, c.key, c.search_index.search('hat shoe')) "
    )
    query = catalogue.search_index.search("hat shoe")
    output = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(catalogue), stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    assert output.strip() == f"{products[3].asin} {catalogue.key} {query}"


def test_a_folder_that_is_no_store(tmp_path):
    assert not is_store(tmp_path)
    with pytest.raises(SandboxError, match=r"holds no built catalogue.*sandgym data build"):
        open_store(tmp_path)


@pytest.mark.parametrize("name", ["products.bin", "prices.npy", "index/docs.npy", "goals.json"])
def test_a_truncated_file_is_noticed(catalogue, name):
    path = catalogue.folder / name
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(SandboxError, match=rf"damaged: {name} has [\d,]+ bytes instead of [\d,]+.*sandgym data build"):
        StoredCatalogue(catalogue.folder)


def test_a_missing_file_is_noticed(catalogue):
    (catalogue.folder / "starts.npy").unlink()
    with pytest.raises(SandboxError, match=r"starts.npy is missing"):
        StoredCatalogue(catalogue.folder)


def test_a_changed_byte_is_noticed_by_the_full_check_and_by_the_reader(catalogue):
    path = catalogue.folder / "products.bin"
    content = bytearray(path.read_bytes())
    content[0] = ord("x")
    path.write_bytes(content)
    changed = StoredCatalogue(catalogue.folder)
    with pytest.raises(SandboxError, match=r"product 0 of .* is damaged"):
        changed[0]
    with pytest.raises(SandboxError, match=r"products.bin has changed since it was built"):
        check_store(catalogue.folder, contents=True)


@pytest.mark.parametrize("text", ["", "{}", '{"format": 99, "files": {}}'])
def test_a_manifest_that_cannot_be_used(catalogue, text):
    (catalogue.folder / "manifest.json").write_text(text)
    with pytest.raises(SandboxError, match="sandgym data build"):
        StoredCatalogue(catalogue.folder)
