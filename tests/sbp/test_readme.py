"""The README's first example runs."""

from pathlib import Path

README = Path(__file__).parents[2] / "packages" / "flow-sbp" / "README.md"


def test_the_example_runs(capsys):
    code = README.read_text().split("```python\n")[1].split("```")[0]
    exec(compile(code, str(README), "exec"), {})
    assert "reduce-scatter over tp" in capsys.readouterr().out
