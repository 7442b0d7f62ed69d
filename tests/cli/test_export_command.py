"""``sandgym export``: a run's policy as a model folder."""

from pathlib import Path

from commands import ENV, SMALL, Invoke


def test_a_run_is_exported_and_can_be_evaluated(trained: tuple[Path, str], invoke: Invoke) -> None:
    run = trained[0]
    result = invoke("export", str(run), "model")
    assert result.exit_code == 0, result.output
    for expected in (str(run / "checkpoints" / "update-000002"), "model, float32", "logits of 256 tokens differ from"):
        assert expected in result.output
    assert "from those of the model before learning by up to" in result.output
    evaluated = invoke("eval", "model", "--env", ENV, "--tasks", "2", "--samples", "2")
    assert evaluated.exit_code == 0, evaluated.output


def test_an_adapter_is_trained_exported_and_not_exchanged(invoke: Invoke, tmp_path: Path) -> None:
    start = ["train", "--algo", "rloo", *SMALL, "--updates", "1", "--out"]
    result = invoke(*start, "run", "--set", "lora.rank=4", "--set", "optimizer.lr=1e-2")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "run" / "checkpoints" / "update-000001" / "adapter_model.safetensors").is_file()
    assert invoke("eval", "run").exit_code == 0
    done = invoke("export", "run", "model")
    assert done.exit_code == 0, done.output
    again = invoke(*start, "again", "--model", "run/checkpoints/update-000001", "--set", "lora.rank=8")
    assert again.exit_code == 1
    assert "is an adapter already, of rank 4" in again.stderr
    assert not (tmp_path / "again").exists()


def test_an_adapter_is_fitted_to_demonstrations_and_goes_on_learning(
    trained: tuple[Path, str], invoke: Invoke, tmp_path: Path
) -> None:
    rank, fitting = ("--set", "lora.rank=4"), ("--set", "sft.steps=3", "--set", "sft.demonstrations=20")
    base = str(trained[0] / "start")
    result = invoke("sft", "--env", ENV, "--model", base, "--out", "warm", *rank, *fitting)
    assert result.exit_code == 0, result.output
    assert {p.name for p in (tmp_path / "warm").glob("*.safetensors")} == {"adapter_model.safetensors"}
    words = ["train", "--algo", "rloo", *SMALL, "--model", "warm", "--updates", "1", "--out", "run", *rank]
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    first, last = ((tmp_path / "run" / p / "base.json").read_text() for p in ("start", "checkpoints/update-000001"))
    assert first == last == (tmp_path / "warm" / "base.json").read_text()
    assert base in first, "the model under the adapter, not the adapter that it began with"


def test_what_cannot_be_exported(trained: tuple[Path, str], invoke: Invoke, tmp_path: Path) -> None:
    run = str(trained[0])
    (tmp_path / "there").mkdir()
    for words, message, code in (
        ((run, "there"), "there is there already; choose another folder", 2),
        ((run, "out", "--checkpoint", "update-9"), "no policy 'update-9'", 2),
        ((run, "out", "--dtype", "int8"), "--dtype is one of float32, float16, bfloat16, not int8", 2),
        (("there", "out"), "there is neither a run (no config.yaml) nor an adapter (no adapter_config.json)", 2),
        ((run, "out", "--checkpoint", "start"), "is the one that learning started from; nothing was written", 1),
    ):
        result = invoke("export", *words)
        assert result.exit_code == code, result.output
        assert message in result.stderr
        assert not (tmp_path / "out").exists()


def test_models_that_are_not_there(invoke: Invoke) -> None:
    result = invoke("train", "--env", ENV, "--model", "./none.gguf")
    assert result.exit_code == 2
    assert "there is no model file ./none.gguf" in result.stderr
    result = invoke("sft", "--env", ENV, "--set", "lora.rank=4")
    assert result.exit_code == 2
    assert "tiny is fitted as a whole: leave out lora.rank" in result.stderr
