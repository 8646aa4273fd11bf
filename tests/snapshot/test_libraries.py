"""What the types of widely used libraries become."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from toolog.snapshot import pack_cut, plain


def test_numpy() -> None:
    """Scalars become numbers, small arrays nested lists, large ones shape and head."""
    np = pytest.importorskip("numpy")
    assert plain([np.int64(3), np.float32(0.5), np.bool_(True), np.str_("a")]) == [3, 0.5, True, "a"]
    assert plain(np.float64("nan")) == "NaN"
    assert plain(np.datetime64("2026-01-02")) == "2026-01-02"
    small = np.arange(6).reshape(2, 3)
    assert plain(small) == {
        "type": "numpy.ndarray",
        "dtype": "int64",
        "shape": [2, 3],
        "values": [[0, 1, 2], [3, 4, 5]],
    }
    packed, cuts = pack_cut(np.zeros((5000, 300)), "output")
    assert len(packed) < 2000
    assert cuts == {"output.head": {"size": 1_500_000, "unit": "items", "kept": 100}}


def test_subclass_of_ndarray_runs_nothing() -> None:
    """A subclass of an array is read as an array, without its own hooks."""
    np = pytest.importorskip("numpy")
    ran = []

    class Odd(np.ndarray):  # type: ignore[misc]
        def __array_finalize__(self, made_from: Any) -> None:
            ran.append("finalize")

        def tolist(self) -> Any:
            ran.append("tolist")

    odd = np.arange(3).view(Odd)
    ran.clear()
    assert plain(odd)["values"] == [0, 1, 2]
    assert ran == []


def test_pandas() -> None:
    """A frame shows its shape and first rows, however long it is; a column that repeats loses nothing."""
    pd = pytest.importorskip("pandas")
    np = pytest.importorskip("numpy")
    frame = pd.DataFrame([[1, "x"], [2, None]], columns=["a", "a"])
    assert plain(frame)["head"][0] == {"a": 1, "a (str)": "x"}
    packed, cuts = pack_cut(pd.DataFrame({"a": np.arange(10_000_000)}), "output")
    assert len(packed) < 300
    assert cuts == {"output.head": {"size": 10_000_000, "unit": "items", "kept": 5}}
    assert plain(pd.Series([1, 2], name="n")) == {
        "type": "pandas.Series",
        "name": "n",
        "dtype": "int64",
        "values": [1, 2],
    }
    assert plain(pd.Index([1, 2])) == {"type": "pandas.Index", "values": [1, 2]}
    assert plain([pd.NaT, pd.NA, pd.Timestamp("2026-01-02")]) == ["NaT", "NA", "2026-01-02T00:00:00"]


def test_pydantic() -> None:
    """A model is its fields and extra fields; what it calls secret is masked; a root model is its root."""
    pydantic = pytest.importorskip("pydantic")

    class User(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        model_config = {"extra": "allow"}
        name: str
        password: pydantic.SecretStr  # type: ignore[name-defined]

    class Numbers(pydantic.RootModel[list[int]]):  # type: ignore[misc,name-defined]
        pass

    assert plain(User(name="A", password="p" * 9, age=3)) == {
        "name": "A",
        "password": "[MASKED:secret_type]",
        "age": 3,
    }
    assert plain(Numbers([1, 2])) == [1, 2]


@pytest.mark.filterwarnings("ignore::UserWarning")  # what pydantic says of its first version on new Pythons
def test_pydantic_1() -> None:
    """Models of pydantic's first version, which the second still carries, are their fields too."""
    v1 = pytest.importorskip("pydantic.v1")

    fields = {"name": (str, ...), "password": (v1.SecretStr, ...)}
    user = v1.create_model("User", **fields)
    assert plain(user(name="A", password="p" * 9)) == {"name": "A", "password": "[MASKED:secret_type]"}


def test_attrs() -> None:
    """An attrs class is its fields, with slots or without."""
    attr = pytest.importorskip("attr")

    @attr.define
    class Slotted:
        a: int

    @attr.s(auto_attribs=True)
    class Plain:
        a: int

    assert plain([Slotted(1), Plain(2)]) == [{"a": 1}, {"a": 2}]


def test_no_library_is_imported() -> None:
    """Knowing these types imports none of the libraries."""
    code = (
        "import sys; from toolog.snapshot import plain; plain([object(), 1, {2}]);"
        "print([m for m in ('numpy', 'pandas', 'pydantic', 'attr', 'wrapt', 'sqlite3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
