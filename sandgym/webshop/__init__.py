"""WebShop: a simulated web store in which an agent shops by instruction.

``env.WebShopEnv`` is the environment; ``world.load_world`` loads what its instances
share. A catalogue is read by ``products``, its goals by ``goals``; ``site`` answers
searches with ``search`` and ``keywords``, builds ``pages`` and grades purchases with
``reward``; ``navigation`` says where an action leads.

Invariant: importing the package imports nothing else.
"""
