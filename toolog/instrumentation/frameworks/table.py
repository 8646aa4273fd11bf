"""The form of a framework's table: where its tool calls pass, and where the facts of a call are.

A call of a tool passes several layers of a framework. An `Entry` names a method (or function) of one layer
and how to read the facts there as a `Request`:

    request   where the framework has been told to call a tool: it knows the tool's name, the model's call id
              and the arguments as the model gave them; what comes out may be a formatted result, or a text
              in place of an exception. Opens the record.
    body      where the tool itself runs: the arguments are validated, the result is raw, the exception is
              the tool's own. Fills in the record that a request opened; opens one itself when called alone.
    note      what tells something about the call in flight on the way (an exception that becomes a text).
              Never opens a record.
    field     a body that is no method, but a field of an object which holds the function: reading it gives
              the function with our wrapper around it. The class need not have it.
    checked   such a field whose function checks the arguments and runs the tool's own in one step: it tells
              what that one gets. Never opens a record, and is no body.
    made      where the framework makes, inside a call, the function that it is going to run: what it gives
              is run as a body.
    refuse    where the framework will find that the model asked for a tool that it has not, and makes no
              request of that: its arguments tell.
    after     what answered requests without calling a tool (there is none of that name): its result tells.

A request whose body was never reached and which failed was refused: bad arguments, or an unknown tool. So a
table has a body wherever the framework lets one see it.

Nothing here imports a framework: an entry names its place by text and is hooked when the module is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolog.arguments import Arguments

Given = dict[str, Any]
"""The arguments of an entry's own function, by the names of its own signature, defaults filled in."""


@dataclass(slots=True, kw_only=True)
class Request:
    """What one layer of a framework knows of a call.

    name: what the model calls the tool. Empty where a layer does not know: it then speaks of the call in
        flight, and opens none.
    call_id: the model's id for its request.
    description: what the model is told about the tool.
    tool: the object that the framework calls a tool. Its class and state are the tool instance, it tells
        which layers speak of the same call, and ``instrument(tool)`` means it.
    owners: objects that the tool belongs to; ``instrument(owner)`` means all their tools.
    function: the user's function behind the tool, as far as it is known. Its own wrapper yields to this call,
        and its signature names the arguments.
    arguments: a mapping by name; a JSON text is read; anything else is recorded as ``input``.
    args: arguments by position (after those the framework injects), bound to ``function``.
    injected: names of parameters that the framework fills beside the model's arguments.
    whole: True where the function takes all the model's arguments as one value: their names are the model's.
    known: False when the framework has no tool of this name.
    has_body: whether a body (or a note) sees this tool run; only then can a request be told to be refused.
    hands_on: False where this layer runs code of the tool's own, so that another tool further in, even one of
        the same name, is a call of its own.
    remote: the name that the same tool has on another side (an MCP server's own name for it).
    type: ``function``, or ``extension`` for a tool that another program runs.
    carrier: the context that came with the request (``traceparent``), when that came over a wire.
    refusal: why this request is not going to be a call: it is recorded as rejected at once.
    status: the status of a refusal that comes from this layer, where it is neither bad arguments nor an
        unknown tool.
    """

    name: str
    call_id: str | None = None
    description: str | None = None
    tool: Any = None
    owners: tuple[Any, ...] = ()
    function: Any = None
    arguments: Any = None
    args: tuple[Any, ...] = ()
    injected: frozenset[str] = frozenset()
    whole: bool = False
    known: bool = True
    has_body: bool = True
    hands_on: bool = True
    remote: str | None = None
    type: str = "function"
    carrier: Mapping[str, Any] | None = None
    refusal: BaseException | str | None = None
    status: str | None = None


Read = Callable[[Any, Given], Request | None]
"""Reads the facts of a call: the object that the entry's method acts on, and the arguments. None: no tool
call after all. Must run none of the application's code."""


class Refusal(str):
    """A judge's text about a result that says: the call was refused, the tool never ran.

    status: why; by default the arguments did not fit.
    """

    status = "validation_error"

    def __new__(cls, text: str, status: str = "validation_error") -> Refusal:
        """Return the text, with its status."""
        made = super().__new__(cls, text)
        made.status = status
        return made


Judge = Callable[[Any], "BaseException | str | None"]
"""Tells of a result that it is a failure: the exception, or the text that says why (a `Refusal`, where that
is what the text tells). None: it is a success."""

Positional = tuple[Any, ...]
Keywords = dict[str, Any]

Send = Callable[[Arguments, Positional, Keywords, Mapping[str, str]], tuple[Positional, Keywords]]
"""Puts a context into the arguments of a call that goes over a wire. Takes the entry's `Arguments`, the
positional and the keyword arguments and the context; gives the arguments anew (the caller's own objects are
left as they are)."""

Stream = Callable[[Any, Any, Callable[[Any], Any]], bool]
"""Takes the object that the entry's method acts on, the result, and what makes of a stream (a generator, say)
one that is recorded, and of anything else that itself."""

Note = Callable[[Any, Any, Given, Any], None]
"""Told after a note's function returned: the call in flight (`calls.FrameworkCall`), the object, the
arguments, the result."""


After = Callable[[Any, Given, Any], Iterable[Request]]
"""Told the object, the arguments and the result of what answered requests; gives those that it refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One method or function of a framework that tool calls pass; see the module's text.

    place: ``"package.module:Class.method"`` or ``"package.module:function"``. Methods of the same name in
        subclasses are entries, too.
    role: ``request``, ``body``, ``field``, ``made``, ``note``, ``refuse`` or ``after``.
    read: needed for a request, a body and a field (whose arguments are given as ``args`` and ``kwargs``).
    judge: when a result that came back is a failure all the same.
    meaning: what an exception means as event and status, where its type does not tell.
    output: gives the tool's own result out of what this layer returns (default: that itself); of a request
        inside another, says that what it returns holds the tool's own.
    stream: for a body whose result holds the tool's own: where that is a stream, puts what follows it in its
        place, and tells whether it did.
    own: gives what the tool itself raised, behind an exception that this layer raises (default: that).
    opens: False for a body that is shared with what is no tool call: it only fills in what a request opened.
    delegates: for a request that the framework makes of another one, under another name (a mounted server).
    send: for a request that goes over a wire.
    note, after: for the roles of those names. ``raised``: the exception that came out is told to ``after``,
        too, in place of a result.
    refuse: for the role ``refuse``: gives the calls that will be refused.
    check: for the role ``checked``: makes the same of another function as the field holds of the tool's own.
    makes: for the role ``made``: whether what is made of these arguments runs a tool's own code (default:
        yes).
    """

    place: str
    role: str = "request"
    read: Read | None = None
    judge: Judge | None = None
    meaning: Callable[[BaseException], tuple[str, str] | None] | None = None
    output: Callable[[Any], Any] | None = None
    stream: Stream | None = None
    send: Send | None = None
    note: Note | None = None
    after: After | None = None
    raised: bool = False
    refuse: Callable[[Any, Given], list[Request]] | None = None
    own: Callable[[BaseException], BaseException] | None = None
    opens: bool = True
    delegates: bool = False
    check: Callable[[Any], Any] | None = None
    makes: Callable[[Given], bool] | None = None

    @property
    def is_body(self) -> bool:
        """Whether the tool itself runs here."""
        return self.role in ("body", "field")

    def behind(self, error: BaseException) -> BaseException:
        """Return the tool's own exception behind one that this layer raised."""
        return error if self.own is None else self.own(error)

    @property
    def module(self) -> str:
        """The module in whose namespace the place is."""
        return self.place.partition(":")[0]

    @property
    def path(self) -> str:
        """The path inside the module."""
        return self.place.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """A class of a framework whose public methods are tools, in the classes that users derive from it.

    place: ``"package.module:Class"``.
    name: what the model calls a method, given the class and the attribute.
    leave_out: public methods that are no tools (what the framework itself asks of a toolbox).
    """

    place: str
    name: Callable[[type, str], str]
    leave_out: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A framework's table.

    name: what `instrument` knows it by; ``aliases`` are other names.
    distribution: the name of its package as installed by pip; ``packages`` its root packages.
    minimum, tested: the oldest version that has the entries, and the newest that the tests ran with.
    entries: where its calls pass.
    tools: places of the classes whose instances and subclasses are its tools, or own tools: a user's class or
        object of these goes through this adapter without being told.
    family: tables of one family speak of the same calls (fastmcp serves by mcp); by default the name.
    expand: gives the objects that stand for such an object in the requests (default: it itself).
    toolbox: its class of toolboxes, if it has one.
    recorded, not_recorded: for the reference page, what a user should know.
    """

    name: str
    distribution: str
    packages: tuple[str, ...]
    minimum: str
    tested: str
    entries: tuple[Entry, ...]
    aliases: tuple[str, ...] = ()
    family: str = ""
    tools: tuple[str, ...] = ()
    expand: Callable[[Any], tuple[Any, ...]] | None = None
    toolbox: Toolbox | None = None
    recorded: str = ""
    not_recorded: str = ""
    modules: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "modules", frozenset(entry.module for entry in self.entries))
        object.__setattr__(self, "family", self.family or self.name)
