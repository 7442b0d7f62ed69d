"""How ``sandgym.checker`` finds out whether an environment keeps the contract."""
