"""The operator's own prices: a JSON file that WORKBENCH_PRICES names.

    {"models": {"ollama/qwen3.5:9b": {"input_per_million": "0.10", "output_per_million": "0.40"}, "ollama/tiny": "free"},
     "machines": {"ollama": {"usd_per_hour": "1.20", "watts": 300}}}

`machines` are by provider: what its machine takes for an hour of computing, an estimate that stands beside money.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.engine.documents import read_json
from workbench.engine.errors import WorkbenchError, has_errors
from workbench.engine.faultwords import fault_words
from workbench.engine.pricing import Machine, Price

VARIABLE = "WORKBENCH_PRICES"
Dollars = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]


class WrongPrices(WorkbenchError):
    """The file of prices can't be used."""

    code = "setting"


class Prices(NamedTuple):
    """Own prices by `provider/name`, the models marked as free, machines by provider."""

    models: Mapping[str, Price] = {}
    free: frozenset[str] = frozenset()
    machines: Mapping[str, Machine] = {}


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Model(_Entry):
    input_per_million: Dollars
    output_per_million: Dollars
    cache_read_per_million: Dollars | None = None
    cache_write_per_million: Dollars | None = None


class _Machine(_Entry):
    usd_per_hour: Dollars | None = None
    watts: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class _File(_Entry):
    models: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*/.+$")], Literal["free"] | _Model] = {}
    machines: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], _Machine] = {}


UNION = ("_Model", "literal['free']")
"""What pydantic adds to a place where one of two shapes may stand."""
NO_PRICES = Prices()
_read: dict[Path, tuple[int, Prices]] = {}


def prices_from(environ: Mapping[str, str]) -> Prices:
    """The prices of that environment, read anew when the file has changed. Raises `WrongPrices`."""
    name = environ.get(VARIABLE, "").strip()
    if not name:
        return NO_PRICES
    path = Path(name).expanduser()
    try:
        changed = path.stat().st_mtime_ns
        if _read.get(path, (None, None))[0] != changed:
            _read[path] = changed, prices_read(path.read_bytes())
    except OSError as error:
        raise WrongPrices(f"{VARIABLE} names {name}, which can't be read ({error.strerror}).") from error
    return _read[path][1]


def prices_read(text: bytes) -> Prices:
    """What such a file says. Raises `WrongPrices`, naming the place."""
    read = read_json(text)
    if has_errors(read.problems):
        raise WrongPrices(f"The file of {VARIABLE}: {read.problems[0].message}")
    try:
        said = _File.model_validate(read.data)
    except ValidationError as error:
        raise WrongPrices(_sentence(max(error.errors(), key=lambda fault: len(fault["loc"])))) from error
    models = {name: it for name, it in said.models.items() if isinstance(it, _Model)}
    return Prices(
        {name: Price(**it.model_dump()) for name, it in models.items()},
        frozenset(said.models.keys() - models.keys()),
        {name: Machine(**it.model_dump()) for name, it in said.machines.items()},
    )


def _sentence(fault: Any) -> str:
    where = "/".join(str(part) for part in fault["loc"] if part not in UNION)
    example = '"ollama/tiny": {"input_per_million": "0.10", "output_per_million": "0.40"} or "ollama/tiny": "free"'
    return (
        f"The file of {VARIABLE}, at {where or 'the top'}: {fault_words(fault)}. Under `models` "
        f'write {example}; under `machines` "ollama": {{"usd_per_hour": "1.20", "watts": 300}}.'
    )
