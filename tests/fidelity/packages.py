"""The packages whose own test suites are run: pinned, each for a kind of code that wrappers break."""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """A package with its own tests, as its source distribution carries them.

    ``kind``: what it is here for. ``module``: what is imported and instrumented. ``inner``: its modules that
    users import by name, instrumented beside it. ``tests``: where they lie in the unpacked distribution, or a
    module name for tests that are installed with the package. ``requires``: what they need beside pytest.
    ``arguments``: given to pytest; also what leaves out tests that need a network, a terminal, or are about
    the package's build. ``variables``: of the environment, as the package's own CI sets them. ``by_nature``:
    tests that no wrapper in Python can leave alone, with the reason why.
    """

    name: str
    version: str
    module: str
    tests: tuple[str, ...]
    kind: str
    requires: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    by_nature: dict[str, str] = {}
    inner: tuple[str, ...] = ()
    variables: dict[str, str] = {}


_DEFERRED = "looks for its caller's names five frames up, from an object that stands for what is built later"

PACKAGES = (
    Subject("pluggy", "1.7.0", "pluggy", ("testing",), "hooks by signature; pytest itself runs on it",
            arguments=("--ignore=testing/benchmark.py",)),
    Subject("aiosqlite", "0.22.1", "aiosqlite", ("aiosqlite/tests/smoke.py",), "async over a thread"),
    Subject("tinydb", "4.9.0", "tinydb", ("tests",), "storages, __getattr__ forwarding",
            requires=("pyyaml", "pytest-cov")),
    Subject("jinja2", "3.1.6", "jinja2", ("tests",), "generated code, sync and async, lru_cache",
            requires=("trio",)),
    Subject("click", "8.5.1", "click", ("tests",), "decorators, inheritance, captured streams"),
    Subject("marshmallow", "4.4.0", "marshmallow", ("tests",), "metaclasses, methods marked by attributes",
            requires=("simplejson",)),
    Subject("boltons", "26.2.0", "boltons", ("tests",), "subclasses of builtins, generated functions",
            inner=("cacheutils", "debugutils", "deprutils", "dictutils", "easterutils", "ecoutils",
                   "excutils", "fileutils", "formatutils", "funcutils", "gcutils", "ioutils", "iterutils",
                   "jsonutils", "listutils", "mathutils", "mboxutils", "namedutils", "pathutils",
                   "queueutils", "setutils", "socketutils", "statsutils", "strutils", "tableutils",
                   "tbutils", "timeutils", "typeutils", "urlutils")),
    Subject("tenacity", "9.2.1", "tenacity", ("tests",), "decorators over sync and async functions",
            requires=("tornado", "typeguard"),
            by_nature={"*::TestContextManager::test_sleeps": "asserts that it takes less than 1.1 ms"}),
    Subject("attrs", "26.1.0", "attr", ("tests",), "classes made from classes, slots",
            requires=("hypothesis", "cloudpickle", "pympler")),
    Subject("more-itertools", "11.2.1", "more_itertools", ("tests",), "generators, iterator classes"),
    Subject("sqlite-utils", "4.2.1", "sqlite_utils", ("tests",), "a client with a command line",
            requires=("hypothesis", "cogapp")),
    Subject("feedparser", "6.0.14", "feedparser", ("tests/runtests.py",),
            "mixins over sgmllib, dict subclasses"),
    Subject("python-dateutil", "4.0.0", "dateutil", ("tests",), "factories, singletons by metaclass, caches",
            requires=("hypothesis", "freezegun", "six"),
            arguments=("-W", "default::pytest.PytestUnknownMarkWarning",
                       "--ignore=tests/test_tzpath_data.py"),  # all zones in all years: for hours, watched
            inner=("easter", "parser", "relativedelta", "rrule", "tz", "utils")),
    Subject("httpx", "0.28.1", "httpx", ("tests",), "sync and async twins over local servers",
            requires=("trio", "trustme", "uvicorn", "chardet", "httpx[brotli,cli,http2,socks,zstd]")),
    Subject("cattrs", "26.2.1", "cattrs", ("tests",), "generated functions, singledispatch",
            requires=("hypothesis", "pytest-benchmark", "immutables", "typing-extensions"),
            arguments=("--ignore=tests/preconf", "--ignore=tests/test_preconf.py"), variables={"FAST": "1"}),
    Subject("anyio", "4.16.0", "anyio", ("tests",), "two async backends behind one face",
            requires=("trio", "trustme", "psutil", "exceptiongroup", "hypothesis", "pytest-mock",
                      "blockbuster", "pytest-timeout"),
            arguments=("-m", "not network")),
    Subject("trio", "0.35.0", "trio", ("trio._tests",), "an event loop with its own async generators",
            requires=("trustme", "pyopenssl", "astor", "jedi"),
            arguments=("--pyargs", "-p", "trio._tests.pytest_plugin", "--ignore-glob=/*/_tests/tools/*",
                       "-k", "not pylint")),
    Subject("pydantic", "2.14.4", "pydantic", ("tests",), "a metaclass over a core in Rust, schemas",
            requires=("dirty-equals", "pytest-mock", "pytest-examples", "jsonschema", "faker", "hypothesis",
                      "pytest-benchmark", "pytest-run-parallel", "pytz", "cloudpickle"),
            arguments=("--ignore=tests/mypy", "--ignore=tests/benchmarks", "--ignore=tests/typechecking",
                       "--ignore=tests/test_docs.py"),
            inner=("aliases", "annotated_handlers", "config", "dataclasses", "fields",
                   "functional_serializers", "functional_validators", "json_schema", "main", "networks",
                   "root_model", "type_adapter", "types", "validate_call_decorator"),
            by_nature={"*::test_*_namespace_variables*True]": _DEFERRED,
                       "*::test_root_model_recursive": _DEFERRED,
                       "*::test_field_name_deprecated_method_name":
                       "knows methods by the id() that they had before they were wrapped",
                       "*::test_implicit_type_alias_recursive_error_message":
                       "asserts which function of an endless recursion meets the limit"}),
)  # fmt: skip

INSTALLED = (
    Subject("aiosqlite", "", "aiosqlite", ("aiosqlite.tests.smoke",), "async over a thread",
            arguments=("--pyargs",)),
    Subject("trio", "", "trio", ("trio._tests.test_channel", "trio._tests.test_util", "trio._tests.test_abc",
                                 "trio._tests.test_contextvars", "trio._tests.test_timeouts"),
            "an event loop with its own async generators",
            arguments=("--pyargs", "-p", "trio._tests.pytest_plugin", "-p", "no:asyncio")),
)  # fmt: skip
"""Packages that install their tests, in whatever version the development environment has: the suite runs
these without downloading anything."""
