"""Sizes of the policies that the tests train: as small as their task allows."""

from algos.tiny import TinyConfig

SMALL = TinyConfig(vocabulary=180, hidden=32, layers=2, heads=4, kv_heads=2, intermediate=48, context=512)
SHOP = TinyConfig(vocabulary=500, hidden=32, layers=2, heads=4, kv_heads=2, intermediate=48, context=1536)
