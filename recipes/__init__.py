"""Settings of runs as files; ``sandgym train --recipe NAME`` reads them (see ``cli.recipes``)."""
