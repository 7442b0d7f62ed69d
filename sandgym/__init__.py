"""Snapshottable environments for language agents.

``import sandgym`` registers ``sandgym/WebShop-v0``, ``sandgym/ALFWorld-v0`` and
``sandgym/SWEbenchVerified-v0`` with Gymnasium. Environments are registered without wrappers,
so that ``gymnasium.make`` returns an object whose ``snapshot``, ``restore`` and ``fork`` work directly.
"""

import gymnasium

from sandgym.checker import check_snapshottable_env
from sandgym.core import Snapshot, SnapshottableEnv

__all__ = ["ENV_IDS", "Snapshot", "SnapshottableEnv", "check_snapshottable_env"]

ENV_IDS = {
    "alfworld": "sandgym/ALFWorld-v0",
    "swebench": "sandgym/SWEbenchVerified-v0",
    "webshop": "sandgym/WebShop-v0",
}

gymnasium.register(
    "sandgym/WebShop-v0",
    entry_point="sandgym.webshop.env:WebShopEnv",
    disable_env_checker=True,
    order_enforce=False,
)

gymnasium.register(
    "sandgym/ALFWorld-v0",
    entry_point="sandgym.alfworld.env:ALFWorldEnv",
    disable_env_checker=True,
    order_enforce=False,
)

gymnasium.register(
    "sandgym/SWEbenchVerified-v0",
    entry_point="sandgym.swebench.env:SWEbenchVerifiedEnv",
    disable_env_checker=True,
    order_enforce=False,
)
