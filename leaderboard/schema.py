"""What a submission says, as strict models; ``schema.json`` is their JSON Schema.

Invariant: no value is converted, unknown keys are refused, numbers are finite and bounded, and texts
are one printable line.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from leaderboard.chain import LENGTH
from sandgym.core import digest_of

VERSION = 1
MAX_PASSES = 32  # runs times samples
MAX_CONFIG_DEPTH = 8
_LARGEST = 2**63 - 1


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("a text has one line of printable characters")
    return text


Line = Annotated[str, AfterValidator(_printable)]
Natural = Annotated[int, Field(ge=0, le=_LARGEST)]
Positive = Annotated[int, Field(ge=1, le=_LARGEST)]
Number = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Hash = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{LENGTH}}}$")]
Ledger = Annotated[dict[Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")], Amount], Field(max_length=40)]
Name = Annotated[Line, Field(min_length=1, max_length=100)]
Sentence = Annotated[Line, Field(max_length=500)]


class Strict(BaseModel):
    """A model without conversions and unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Step(Strict):
    """One action and what it led to.

    Attributes:
        action: as the environment got it.
        reward: that it earned.
        observation: hash of the observation after it.
        digest: of the environment's state after it.
        chain: link of this step (see ``chain``).
    """

    action: str
    reward: Number
    observation: Hash
    digest: Hash
    chain: Hash


class Episode(Strict):
    """One line of ``episodes.jsonl.gz``.

    Attributes:
        task: task id.
        seed: of the evaluation.
        sample: which of the seed's episodes of this task.
        steps: from the reset on.
        end: how it ended: by the environment, by the horizon, or because the player had no further action.
        total: sum of the rewards.
        score: the environment's own, in [0, 1].
        success: the environment's own verdict.
    """

    task: Annotated[str, Field(min_length=1, max_length=300)]
    seed: Natural
    sample: Natural
    steps: Annotated[list[Step], Field(min_length=1)]
    end: Literal["terminated", "truncated", "stopped"]
    total: Number
    score: Share
    success: bool


class PanelPin(Strict):
    """The panel that was played, and everything that fixes it.

    Attributes:
        name: of the panel.
        env_id: environment and version.
        content_hash: of the tasks.
        data_hash: of the data set.
        reward_version: of the environment.
        horizon: actions of an episode.
    """

    name: Name
    env_id: Name
    content_hash: Sha256
    data_hash: Sha256
    reward_version: Name
    horizon: Positive


class Shown(Strict):
    """Arguments of the environment that a panel leaves open, and that change what is seen."""

    observation_mode: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] | None = None


class Method(Strict):
    """How the actions were chosen.

    Attributes:
        name: under which it is listed.
        algorithm: by which it was trained; empty for none.
        description: in a sentence or two.
    """

    name: Name
    algorithm: Annotated[Line, Field(max_length=40)]
    description: Sentence


class Model(Strict):
    """What chose the actions.

    Attributes:
        name: folder name or hub id of the model before training; ``none`` for a programme.
        revision: of the hub's model.
        adapter_sha256: of an adapter's weights, where there is one.
    """

    name: Name
    revision: Name | None = None
    adapter_sha256: Sha256 | None = None


class Run(Strict):
    """One policy and the seed that it was evaluated with.

    Attributes:
        evaluation_seed: of resets and of sampling; differs between the runs of a submission.
        training_seed: of the policy's training.
        weights_sha256: of the policy's weights, where it has any.
    """

    evaluation_seed: Natural
    training_seed: Natural | None = None
    weights_sha256: Sha256 | None = None


class Sampling(Strict):
    """How actions were drawn.

    Attributes:
        samples: episodes a task and run.
        temperature: of a model; 0 is greedy, none for a programme.
        top_p, top_k: the sampled distribution was cut off there; none where it was not.
        max_turn_tokens: of one action, for a model.
    """

    samples: Annotated[int, Field(ge=1, le=MAX_PASSES)]
    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    top_k: Positive | None = None
    max_turn_tokens: Positive | None = None


class Compute(Strict):
    """What was spent, as the harness counted it; summed over runs."""

    training: Ledger
    evaluation: Ledger


class Code(Strict):
    """The code that played.

    Attributes:
        version: of sandgym.
        commit: of the repository, where it is known.
        modified: whether files differed from the commit.
    """

    version: Name
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    modified: bool | None = None


class Disclosure(Strict):
    """Whether the method has seen tasks of the panel before.

    Attributes:
        overlap: of what it learned from, or was tuned on, with the panel's tasks.
        note: what overlaps, or why it is unknown.
    """

    overlap: Literal["none", "some", "unknown"]
    note: Sentence


class Claims(Strict):
    """Numbers that a replay must give exactly.

    Attributes:
        episodes: in the file.
        success: share of them.
        score: mean of theirs.
    """

    episodes: Positive
    success: Share
    score: Share


class Submission(Strict):
    """``submission.yaml``.

    Attributes:
        version: of this schema.
        track: ``fixed-budget`` (see ``tracks.BUDGETS``), ``open``, or ``reference`` for players that are
            there to compare with and have no rank.
        config: resolved settings of the training, and their hash.
        episodes_sha256: of ``episodes.jsonl.gz``.
        contact: how to reach the authors.
    """

    version: Annotated[int, Field(ge=VERSION, le=VERSION)]
    panel: PanelPin
    shown: Shown
    method: Method
    model: Model
    runs: Annotated[list[Run], Field(min_length=1, max_length=MAX_PASSES)]
    sampling: Sampling
    track: Literal["fixed-budget", "open", "reference"]
    config: dict[str, Any] | None
    config_sha256: Sha256 | None
    compute: Compute
    code: Code
    disclosure: Disclosure
    contact: Annotated[Line, Field(min_length=1, max_length=200)]
    claims: Claims
    episodes_sha256: Sha256

    @model_validator(mode="after")
    def _consistent(self) -> Submission:
        seeds = [run.evaluation_seed for run in self.runs]
        if len(set(seeds)) != len(seeds):
            twice = next(seed for seed in seeds if seeds.count(seed) > 1)
            raise ValueError(f"evaluation seed {twice} is there twice; every run needs its own")
        if len(seeds) * self.sampling.samples > MAX_PASSES:
            raise ValueError(f"runs times samples must be at most {MAX_PASSES}")
        if self.config is not None:
            _check_plain(self.config, MAX_CONFIG_DEPTH)
        if self.config_sha256 != hash_config(self.config):
            raise ValueError("config_sha256 is not the hash of config")
        return self


def hash_config(config: dict[str, Any] | None) -> str | None:
    """SHA-256 of resolved settings; nothing for none."""
    return None if config is None else digest_of(config)


def _check_plain(value: Any, depth: int) -> None:
    """Refuse what JSON cannot hold."""
    if depth == 0:
        raise ValueError(f"config is nested deeper than {MAX_CONFIG_DEPTH}")
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise ValueError("config has keys that are not texts")
        for member in value.values():
            _check_plain(member, depth - 1)
    elif isinstance(value, list):
        for member in value:
            _check_plain(member, depth - 1)
    elif isinstance(value, bool) or value is None or isinstance(value, str):
        return
    elif not isinstance(value, int | float) or not abs(value) <= _LARGEST:  # nor is NaN
        raise ValueError(f"config holds a {type(value).__name__} that is not plain and finite")


def export_json_schema() -> str:
    """The JSON Schema of both files, as it is committed."""
    document = {
        "title": "sandgym leaderboard submission",
        "version": VERSION,
        "submission.yaml": Submission.model_json_schema(),
        "episodes.jsonl.gz, each line": Episode.model_json_schema(),
    }
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    print(export_json_schema(), end="")
