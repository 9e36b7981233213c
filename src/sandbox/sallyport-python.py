"""What a Python sandbox starts with: preloads the library, forks on request, then runs one piece of code.

Guest code can read and change everything here. That gives it no access: the kernel enforces the sandbox, and the gate
checks every byte that it receives over the bridge.
"""
import sys

MODULE, KIND = sys.argv[1], sys.argv[2]
CODE, PRELUDE = "<code>", "<prelude>"
LAST = "__last__"  # the value of the last expression
FRAME_MAX = 16 << 20
WARM_AFTER_MS = 20  # a child that is not needed by then warms up; under load that would only take time from other runs
DEPTH = 60  # of a value; the gate takes a little more
FRAMES = 200  # of a traceback, the innermost: recursion can go millions deep
RUN, RESULT, ERROR, CALL, PROGRESS, IMAGE, DONE = 1, 2, 3, 16, 17, 18, 19

PRELOAD = """
_strptime abc argparse array ast asyncio base64 binascii bisect calendar cmath codecs collections collections.abc
bz2 colorsys concurrent.futures.process concurrent.futures.thread configparser contextlib contextvars copy csv ctypes dataclasses datetime decimal difflib email.message email.parser encodings.ascii encodings.cp1252 encodings.idna encodings.latin_1
encodings.utf_16 encodings.utf_32 encodings.utf_8_sig enum fcntl
fractions functools gc glob graphlib gzip hashlib heapq hmac html html.parser inspect io ipaddress itertools json
keyword linecache locale logging lzma math mimetypes mmap multiprocessing.dummy multiprocessing.pool numbers operator os os.path pathlib
pickle pprint pwd queue random re
reprlib resource sched secrets select selectors shlex shutil signal socket sqlite3 statistics string struct subprocess tempfile tomllib textwrap threading time
timeit tokenize traceback types typing unicodedata unittest unittest.mock urllib.parse uuid warnings weakref xml.dom.minidom xml.etree.ElementTree
zipfile zlib zoneinfo
""".split()
DATA = ("numpy", "pandas", "matplotlib.pyplot", "matplotlib.backends.backend_agg", "PIL.PngImagePlugin")


def load_module():
    from importlib import machinery, util

    loader = machinery.ExtensionFileLoader("_sallyport", MODULE)
    spec = util.spec_from_loader("_sallyport", loader)
    module = util.module_from_spec(spec)
    loader.exec_module(module)
    return module


native = load_module()
limit, receive, send, wait = native.limit, native.receive, native.send, native.wait
if sys.version_info < (3, 9):
    native.tell(0, "Python %d.%d is older than 3.9" % sys.version_info[:2])
    sys.exit(1)

import json
import os
import site
import struct
import threading

sys.path[:] = [p for p in sys.path if p.startswith("/") and os.path.isdir(p) and p != os.path.dirname(__file__)]
# A virtual environment stands for the system's packages.
venv = [p[5:] for p in sys.argv[3:] if p.startswith("venv=")]
LIBRARY = sys.path[:]  # what stands behind it is looked at last
sys.path += [p for p in (venv or site.getsitepackages() + ["/usr/lib/python3/dist-packages"])
             if p.startswith("/") and os.path.isdir(p) and p not in sys.path]
import ast
import atexit
import io
import linecache
import random
import re
import time
import traceback
import types


def preload():
    """What code may import: with the profile that opens no file there is nothing else. Says which of the heavy packages there are."""
    for name in PRELOAD:
        try:
            __import__(name)
        except ImportError:
            pass
    loaded = []
    for name in DATA if KIND == "data" else ():
        try:
            __import__(name)
            loaded.append(name.partition(".")[0])
        except Exception:
            pass
    from importlib.util import find_spec

    return loaded if KIND == "data" else [n for n in ("numpy", "pandas", "matplotlib") if find_spec(n)]


def read_preludes():
    """{index: compiled}: a sequence of language (0 is Python), length, bytes."""
    found, index = {}, 0
    try:
        data = os.pread(6, 16 << 20, 0)
    except OSError:
        data = b""
    at = 0
    while at + 8 <= len(data):
        language, length = struct.unpack_from("<II", data, at)
        text = data[at + 8:at + 8 + length].decode()
        at += 8 + length
        index += 1
        if language == 0:
            found[index] = compile(text, PRELUDE, "exec")
    return found


class ToolError(Exception):
    """A tool that was called from code failed or was refused. kind: denied, rate_limited, approval_needed, unknown_tool,
    tool_error or failed; further details are in the other attributes, None if unknown."""

    kind, server, tool, rule, policy, reason, retry_after_ms = "failed", None, None, None, None, None, None
    approval_id, expires_at, instructions, code = None, None, None, None

    def __init__(self, text="", details=None):
        super().__init__(text)
        for name, value in (details or {}).items():
            if name != "message":
                setattr(self, name, value)


def text_stream(fd, name):
    """Complete lines are sent immediately: output before a crash is not lost."""
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = name
    return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)


class Bridge:
    """Frames on the socket. Threads may call at the same time: the waiting thread also reads for the others."""

    def __init__(self):
        self.send_lock = threading.Lock()
        self.ready = threading.Condition()
        self.reading = False
        self.answers = {}
        self.last = 0
        self.muted = False  # while warming up

    def send(self, kind, ident, data):
        with self.send_lock:
            self.write(kind, ident, data)

    def write(self, kind, ident, data):
        if self.muted:
            return
        if not send(kind, ident, data):
            raise ValueError("%d bytes are more than one message may have" % len(data))

    def call(self, server, tool, args):
        data = encode({"server": server, "tool": tool, "args": args}).encode()
        sys.stdout.flush()
        with self.send_lock:  # numbers go out in order
            self.last = ident = self.last + 1
            self.write(CALL, ident, data)
        while True:
            with self.ready:
                while ident not in self.answers and self.reading:
                    self.ready.wait()
                if ident in self.answers:
                    kind, data = self.answers.pop(ident)
                    break
                self.reading = True
            try:
                kind, other, data = receive()
            finally:
                with self.ready:
                    self.reading = False
                    self.ready.notify_all()
            with self.ready:
                self.answers[other] = (kind, data)
        value = json.loads(data)
        if kind == ERROR:
            raise ToolError(value.get("message", ""), value) if isinstance(value, dict) else ToolError(value)
        return value


def plain(value):
    """What JSON has no form for."""
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return list(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "backslashreplace")
    for name in ("tolist", "item"):  # numpy
        if hasattr(value, name) and type(value).__module__.partition(".")[0] == "numpy":
            return getattr(value, name)()
    if type(value).__module__.partition(".")[0] == "pandas":
        if hasattr(value, "columns"):
            return value.to_dict(orient="records")
        if hasattr(value, "to_dict"):
            return {str(k): v for k, v in value.to_dict().items()}
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if hasattr(value, "__next__"):
        return list(value)
    if isinstance(value, types.MappingProxyType):
        return dict(value)
    return str(value)


def tidy(value, depth=0):
    """The slow way, for values that the encoder or the gate refuses: not-a-number becomes null, keys become text, and
    what lies too deep is left out."""
    if depth > DEPTH:
        return "..."
    if isinstance(value, float):
        return value if value == value and value not in (float("inf"), float("-inf")) else None
    if value is None or isinstance(value, (str, int, bool)):
        return value
    if isinstance(value, dict):
        named = {True: "true", False: "false", None: "null"}
        return {k if isinstance(k, str) else named[k] if k is None or isinstance(k, bool) else str(k): tidy(v, depth + 1)
                for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [tidy(v, depth + 1) for v in value]
    return tidy(plain(value), depth + 1)


encode = json.JSONEncoder(default=plain, allow_nan=False).encode
if json.encoder.c_make_encoder:  # the same result without its overhead
    def encode(value, make=json.encoder.c_make_encoder, text=json.encoder.encode_basestring_ascii):
        return "".join(make({}, plain, text, None, ": ", ", ", False, False, False)(value, 0))


def from_json(data, scan=json.JSONDecoder().scan_once):
    """Parses a message of the gate: exactly one value."""
    return scan(data.decode(), 0)[0]


NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def too_deep(text):
    """Of JSON. Brackets inside of strings may let it look deeper than it is."""
    if text.count("[") + text.count("{") <= DEPTH:
        return False
    rest = text.encode().translate(None, NO_BRACKETS)
    for _ in range(DEPTH):
        rest = rest.replace(b"[]", b"").replace(b"{}", b"")
    return len(rest) > 0


LIKE_NUMBERS = re.compile(r'"(?:-?\d[^"]*|true|false|null)": ')


def to_json(value):
    try:
        text = encode(value)
        if too_deep(text):
            text = json.dumps(tidy(value))
        elif LIKE_NUMBERS.search(text):
            json.dumps(value, default=plain, sort_keys=True)  # refuses 1 beside "1", which would be one key twice
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(tidy(value))
    if "\\ud" in text:  # a lone surrogate is replaced by its escape
        text = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Tools:
    """tools.SERVER.TOOL(**args); names that are no identifiers: tools["my-server"]["a.tool"](...)"""

    __slots__ = ("_path",)

    def __init__(self, path=()):
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Tools(self._path + (name,))

    def __getitem__(self, name):
        return Tools(self._path + (str(name),))

    def _arguments(self, args, kwargs):
        if len(self._path) != 2:
            raise ToolError("call a tool as tools.SERVER.TOOL(name=value)")
        if len(args) > 1 or (args and not isinstance(args[0], dict)):
            raise TypeError("a tool takes its arguments by name")
        return {**(args[0] if args else {}), **kwargs}

    def __call__(self, *args, **kwargs):
        if self._path and self._path[-1] == "aio":
            return Tools(self._path[:-1])._later(args, kwargs)
        return bridge.call(self._path[0], self._path[1], self._arguments(args, kwargs)) if len(self._path) == 2 \
            else self._arguments(args, kwargs)

    async def _later(self, args, kwargs):
        import asyncio

        arguments = self._arguments(args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(None, bridge.call, *self._path, arguments)

    def __repr__(self):
        return ".".join(("tools",) + self._path)


def call_tool(server, tool, args=None, **kwargs):
    return bridge.call(server, tool, {**(args or {}), **kwargs})


def search_tools(query="", **kwargs):
    return bridge.call("", "search_tools", {"query": query, **kwargs})


def describe_tool(name, **kwargs):
    """The definition of one tool: its schemas, its server; None when there is none of that name."""
    return bridge.call("", "get_tool_definition", {"tool_name": name, **kwargs})


def progress(fraction=None, text=""):
    if isinstance(fraction, str):
        fraction, text = None, fraction
    sys.stdout.flush()
    bridge.send(PROGRESS, 0, to_json({"fraction": fraction, "text": str(text)}).encode())


def parallel(calls, limit=8, errors=False):
    """Runs functions without arguments at the same time; their values in order. The first error is raised at the end;
    with `errors`, each stands where the value would, and the others are kept."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=max(1, min(limit, 32))) as pool:
        waiting = [pool.submit(call) for call in calls]
    return [errors and one.exception() or one.result() for one in waiting]


async def awaited(value):
    """`await` in front of a tool's result, which is there already."""
    return await value if hasattr(value, "__await__") else value


class Skills:
    """`import skills.NAME`: saved code as a module, fetched through the gate when it is first imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        if name == "skills":
            return ModuleSpec(name, Skills, is_package=True)
        if name.startswith("skills.") and name.count(".") == 1:
            return ModuleSpec(name, Skills)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        name = module.__name__.partition(".")[2]
        if not name:
            module.__path__ = []
            return
        try:
            found = bridge.call("", "load_skill", {"name": name})
        except ToolError as error:
            raise ModuleNotFoundError("no skill `%s`: %s" % (name, error), name=module.__name__) from None
        code = found.get("code") if isinstance(found, dict) else None
        if not isinstance(code, str):
            raise ModuleNotFoundError("no skill `%s`" % name, name=module.__name__)
        place = "<skill %s>" % name
        remember(place, code)
        exec(compile(code, place, "exec"), module.__dict__)


def remember(place, text):
    linecache.cache[place] = (len(text), None, (text + "\n").splitlines(True), place)  # marks are one off in a line without an end


def parses(text):
    try:
        return ast.parse(text) is not None
    except (SyntaxError, ValueError):
        return False


def unfence(text):
    """The first block of code. A fence inside of a string is no fence."""
    lines = text.strip().split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("```")), None)
    if first is None or (first and parses(text)):
        return text
    ends = [i for i, line in enumerate(lines) if i > first and line.strip() == "```"] or [len(lines)]
    blocks = ["\n".join(lines[first + 1:end]) for end in ends]
    return next(filter(parses, blocks), blocks[-1])


def unfence_other(text):
    """The same for what is not Python: only a fence that the text begins with is one."""
    text = text.lstrip("\ufeff").strip("\n")
    if not text.startswith("```"):
        return text
    lines = text.split("\n")[1:]
    end = next((i for i, line in enumerate(lines) if line.strip() == "```"), len(lines))
    return "\n".join(lines[:end])


def clean(code):
    """Code as models hand it over: in a fence, with words around it, or indented as a whole."""
    if code[:1].isalpha() and "```" not in code:
        return code
    text = code.lstrip("\ufeff").strip("\n")
    if "```" in text:
        text = unfence(text)
    first = next((line for line in text.split("\n") if line.strip()), "")
    if first[:1] in " \t":
        import textwrap

        text = textwrap.dedent(text)
    return text


# ---- libraries that expect more of a machine than there is ----

HOME, PROGRAM = "/workspace", "/workspace/main.py"
NO_PROCESSES = ("no programs or processes can be started in this sandbox: use Python's own library instead, or ask the operator, who can allow programs "
                "with `code: {bash: true}` or --bash, and in `code run` with --profile proc (docs/code.md, bash)")


def stand_in():
    """For what cannot be had here: accounts, locks on files that no other program has, processes."""
    import concurrent.futures.process
    import fcntl
    import grp
    import itertools
    import multiprocessing
    import multiprocessing.dummy
    import multiprocessing.managers
    import multiprocessing.pool
    import pwd

    user = pwd.struct_passwd(("sandbox", "x", 1000, 1000, "", HOME, "/bin/sh"))

    def account(find, mine):
        return lambda key: user if key in mine() else find(key)

    pwd.getpwuid, pwd.getpwnam = account(pwd.getpwuid, lambda: (1000, os.getuid())), account(pwd.getpwnam, lambda: ("sandbox",))
    group = grp.struct_group(("sandbox", "x", 1000, []))
    by_id = grp.getgrgid
    grp.getgrgid = lambda key: group if key in (1000, os.getgid()) else by_id(key)
    # The kernel refuses locks, as those on shared files would be a channel between runs. No other process has this run's own files.
    def own(lock):
        def locked(file, *args, **kwargs):
            number = file if isinstance(file, int) else file.fileno()
            about = os.fstat(number)  # below tier 1 the system's files may be on the same device
            mine = about.st_uid == os.getuid() and about.st_dev in (os.stat(HOME).st_dev, os.stat("/tmp").st_dev)
            return None if mine else lock(file, *args, **kwargs)

        return locked

    fcntl.flock, fcntl.lockf = own(fcntl.flock), own(fcntl.lockf)

    class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
        """Threads: there are no other processes here."""

        def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), **kwargs):
            super().__init__(max_workers, "", initializer, initargs)

    concurrent.futures.process.ProcessPoolExecutor = concurrent.futures.ProcessPoolExecutor = ProcessPoolExecutor
    from ctypes import Array as CArray
    from multiprocessing.sharedctypes import typecode_to_type

    def raw_value(code, *values):
        return typecode_to_type.get(code, code)(*values)

    def raw_array(code, values):
        return (typecode_to_type.get(code, code) * values)() if isinstance(values, int) else (typecode_to_type.get(code, code) * len(values))(*values)

    class Shared:
        """A value or an array of C with a lock, as processes would share it."""

        def __init__(self, given, lock=True):
            self.__dict__.update(_given=given, _lock=threading.RLock() if lock is True else lock)
            self.__dict__.update(acquire=self._lock.acquire, release=self._lock.release)

        def get_lock(self):
            return self._lock

        def get_obj(self):
            return self._given

        def __enter__(self):
            return self._lock.__enter__()

        def __exit__(self, *error):
            return self._lock.__exit__(*error)

        def __getattr__(self, name):
            return getattr(self._given, name)

        def __setattr__(self, name, value):
            setattr(self._given, name, value)

        def __len__(self):
            return len(self._given)

        def __iter__(self):
            return iter(self._given)

        def __getitem__(self, at):
            return self._given[at]

        def __setitem__(self, at, value):
            self._given[at] = value

        def __repr__(self):
            return "<%s>" % (list(self) if isinstance(self._given, CArray) else self._given)

    def Value(code, *values, lock=True):
        return Shared(raw_value(code, *values), lock) if lock else raw_value(code, *values)

    def Array(code, values, *, lock=True):
        return Shared(raw_array(code, values), lock) if lock else raw_array(code, values)

    class SimpleQueue:
        """As pools of threads use it: a pipe, with a lock of threads instead of a semaphore of processes."""

        def __init__(self, **kwargs):
            from multiprocessing.connection import Pipe

            self._reader, self._writer = Pipe(duplex=False)
            self._reads, self._writes = threading.Lock(), threading.Lock()

        def get(self):
            with self._reads:
                return self._reader.recv()

        def put(self, value):
            with self._writes:
                self._writer.send(value)

        def empty(self):
            return not self._reader.poll()

        def close(self):
            self._reader.close()
            self._writer.close()

    class Manager:
        """What a manager's processes share, threads share anyway."""

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def start(self, *args):
            pass

        shutdown = join = start

    for kind in (dict, list, multiprocessing.managers.Value):
        setattr(Manager, kind.__name__, kind)
    Manager.Array = staticmethod(multiprocessing.managers.Array)
    for name in "Barrier BoundedSemaphore Condition Event JoinableQueue Lock Namespace Pool Queue RLock Semaphore".split():
        setattr(Manager, name, staticmethod(getattr(multiprocessing.dummy, name)))
    threads = {name: getattr(multiprocessing.dummy, name) for name in multiprocessing.dummy.__all__ if name != "freeze_support"}
    count = itertools.count(1)

    class Process(multiprocessing.dummy.Process):
        pid = property(lambda self: os.getpid())

        def __init__(self, group=None, target=None, name=None, args=(), kwargs={}, *, daemon=None):
            super().__init__(group, target, name or "Process-%d" % next(count), args, kwargs)
            if daemon is not None:
                self.daemon = daemon

        @property
        def exitcode(self):
            return getattr(self, "_code", 0) if self._start_called and not self.is_alive() else None

        def run(self):
            try:
                super().run()
            except SystemExit as error:
                self._code = error.code if isinstance(error.code, int) else int(error.code is not None)
            except BaseException:
                self._code = 1
                raise

        def terminate(self):
            if self.is_alive():
                raise NotImplementedError("processes are threads in this sandbox, which cannot be ended: let them look at an Event")

        kill = terminate

        def close(self):
            pass

    main_process = types.SimpleNamespace(name="MainProcess", pid=1, ident=1, daemon=False, exitcode=None, is_alive=lambda: True)

    def current_process():
        here = threading.current_thread()
        return main_process if here is threading.main_thread() else here

    method = ["fork"]
    threads.update(Process=Process, current_process=current_process, Value=Value, Array=Array, RawValue=raw_value, RawArray=raw_array, SimpleQueue=SimpleQueue, Manager=Manager, get_context=lambda method=None: multiprocessing,
                   set_start_method=lambda name, force=False: method.__setitem__(0, name or "fork"), get_start_method=lambda allow_none=False: method[0])
    multiprocessing.__dict__.update(threads)
    multiprocessing.pool.get_context = multiprocessing.get_context
    share_in_files()


def share_in_files():
    """There is no /dev/shm, and no process that would remove what is left there."""
    import _posixshmem
    from multiprocessing import resource_tracker

    _posixshmem.shm_open = lambda path, flags, mode=0o777: os.open("/tmp/.shm-" + path.strip("/"), flags | os.O_CLOEXEC, mode)
    _posixshmem.shm_unlink = lambda path: os.unlink("/tmp/.shm-" + path.strip("/"))
    resource_tracker.register = resource_tracker.unregister = resource_tracker.ensure_running = lambda *args: None


def lead(root):
    """Where no mounts are possible, /workspace and /tmp are directories elsewhere: paths lead there."""
    import builtins
    import sqlite3
    import tempfile

    def place(path):
        try:
            text = os.fspath(path)
        except TypeError:
            return path
        for name in (HOME, "/tmp"):
            name, start = (name.encode(), root.encode()) if isinstance(text, bytes) else (name, root)
            if text.startswith(start):
                break
            if text == name or text[:len(name) + 1] == name + name[:1]:
                return start + text
        return path

    def led(call):
        return lambda *args, **kwargs: call(*map(place, args[:2]), *args[2:], **kwargs)

    names = ("access", "chdir", "chmod", "link", "listdir", "lstat", "mkdir", "open", "readlink", "remove", "rename", "replace", "rmdir",
             "scandir", "stat", "statvfs", "symlink", "truncate", "unlink", "utime")
    for name in names:
        setattr(os, name, led(getattr(os, name)))
    io.open = builtins.open = led(io.open)
    io.open_code = led(io.open_code)
    without_modes()
    where, connect = os.getcwd, sqlite3.connect
    os.getcwd = lambda: where()[len(root):] if where().startswith(root + "/") else where()
    sqlite3.connect = sqlite3.dbapi2.connect = led(connect)
    tempfile.tempdir = "/tmp"


def without_modes():
    """Modes and times cannot be changed there: copies do without them."""
    import shutil

    def lenient(copy):
        def copied(*args, **kwargs):
            try:
                copy(*args, **kwargs)
            except PermissionError:
                pass

        return copied

    shutil.copystat, shutil.copymode = lenient(shutil.copystat), lenient(shutil.copymode)


def no_processes():
    """With profiles that cannot fork: an error that says so, instead of the kernel's. Returns what was there, for the one that can."""
    import signal
    import subprocess

    def refuse(*args, **kwargs):
        raise PermissionError(1, NO_PROCESSES)

    names = ("system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp", "execvpe")
    ways = [(os, name, refuse) for name in names] + [(subprocess.Popen, "__init__", refuse), (subprocess.Popen, "__del__", lambda self: None)]
    kill = os.kill
    # The kernel lets code signal itself with raise() alone.
    ways.append((os, "kill", lambda pid, number: signal.raise_signal(number) if number and pid == os.getpid() else kill(pid, number)))
    before = [(where, name, getattr(where, name)) for where, name, _ in ways]
    for where, name, value in ways:
        setattr(where, name, value)
    return before


def with_processes(before):
    """With the profile that can fork: programs get the variables that those of bash have."""
    import subprocess

    for where, name, value in before:
        setattr(where, name, value)
    start = subprocess.Popen.__init__

    def started(self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, preexec_fn=None, close_fds=True, shell=False, cwd=None, env=None, *more, **named):
        start(self, args, bufsize, executable, stdin, stdout, stderr, preexec_fn, close_fds, shell, cwd, program_environment(env), *more, **named)

    subprocess.Popen.__init__ = started
    os.system = lambda command: wait_status(subprocess.call(command, shell=True))


def wait_status(code):
    return code << 8 if code >= 0 else -code


def program_environment(given=None):
    preload = {"LD_PRELOAD": PROGRAMS} if os.path.exists(PROGRAMS) else {}
    return {**BASH_ENVIRONMENT, **preload, **(os.environ if given is None else given)}


NO_NETWORK = "no network here: the operator can allow hosts with code.network.allow or --network (docs/code.md)"
BY_PROXY = "names are resolved by the gate: connect through the proxy in HTTPS_PROXY, as HTTP libraries do by themselves"


IP = re.compile(r"[\d.]+$|[\da-fA-F:.]*:[\da-fA-F:.]*$")


def no_network():
    """Errors that say so, instead of the kernel's."""
    import socket

    find = socket.getaddrinfo

    def getaddrinfo(host, port, *args, **kwargs):
        text = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if text and text != "localhost" and not IP.match(text):
            raise socket.gaierror(socket.EAI_NONAME, BY_PROXY if "HTTPS_PROXY" in os.environ else NO_NETWORK)
        return find(host, port, *args, **kwargs)

    class Socket(socket.socket):
        __slots__ = ()

        def __init__(self, family=-1, *args, **kwargs):
            try:
                super().__init__(family, *args, **kwargs)
            except PermissionError:
                raise OSError(101, BY_PROXY if "HTTPS_PROXY" in os.environ else NO_NETWORK) from None

        def connect(self, address):
            try:
                super().connect(address)
            except OSError as error:
                if error.errno != 101:
                    raise
                raise OSError(101, BY_PROXY if "HTTPS_PROXY" in os.environ else NO_NETWORK) from None

        def listen(self, *args):
            super().listen(*args)
            if "HTTPS_PROXY" in os.environ:  # until then loop-back is the gate's machine
                os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1,::1"

    def here(name):
        return name in ("", "localhost", "sandbox", "0.0.0.0", "::", "::1") or name.startswith("127.")

    by_address = socket.gethostbyaddr
    socket.getfqdn = lambda name="": "localhost" if here(name.strip()) else name
    socket.gethostbyaddr = lambda name: ("localhost", [], ["127.0.0.1"]) if here(name) else by_address(name)
    Socket.__name__ = Socket.__qualname__ = "socket"
    Socket.__module__ = "socket"
    socket.getaddrinfo, socket.socket, socket.SocketType = getaddrinfo, Socket, Socket


MAGIC = re.compile(r"^\s*(?:!|%%?[a-z]|\?\w)", re.M)
SILENT_MAGIC = re.compile(r"^[ \t]*%%?(?:matplotlib|config|load_ext|autoreload|time|timeit|capture|precision)\b.*$", re.M)


def without_magic(text):
    """Commands of notebooks: those that only set one up are left out, the others explained."""
    if not MAGIC.search(text) or parses_at_all(text):
        return text
    text = SILENT_MAGIC.sub("pass", text)
    if not MAGIC.search(text) or parses_at_all(text):
        return text
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if word.startswith(("!", "%")):
            hint = ("packages are chosen by the operator (docs/code.md, Packages)" if re.match(r"[!%]\s*(?:pip|conda|uv|apt)\b", word)
                    else "no programs can be started here" if word[0] == "!" else "use plain Python instead")
            raise SyntaxError("`%s` is a command of notebooks, not Python: %s" % (word[:60], hint), (CODE, number, 1, line))
    return text


def parses_at_all(text):
    try:
        compile(text, CODE, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        return True
    except (SyntaxError, ValueError):
        return False


TOOL_NAMES = {"tools", "call_tool", "search_tools", "describe"}


class Awaits(ast.NodeTransformer):
    def visit_Await(self, node):
        self.generic_visit(node)
        root = node.value.func if isinstance(node.value, ast.Call) else None
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name) and root.id in TOOL_NAMES:
            name = ast.copy_location(ast.Name("__awaited__", ast.Load()), node)
            node.value = ast.copy_location(ast.Call(name, [node.value], []), node)
        return node


class Returned(BaseException):
    """The code has ended by a `return` at its top."""


Returned.__module__ = ToolError.__module__ = "builtins"  # not classes of the program


class Returns(ast.NodeTransformer):
    """The value of a `return` at the top is the result."""

    def visit_Return(self, node):
        end = ast.Raise(ast.Name("__returned__", ast.Load()), None)
        value = ast.Assign([ast.Name("result", ast.Store())], node.value or ast.Constant(None))
        return [ast.copy_location(value, node), ast.copy_location(end, node)]

    def leave(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = leave


def compiled(source, mode="exec"):
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compile(source, CODE, mode, flags, True)
    except SyntaxError as error:
        if error.msg != "'return' outside function":
            raise
    tree = ast.parse(source, CODE) if isinstance(source, str) else source
    return compile(ast.fix_missing_locations(Returns().visit(tree)), CODE, mode, flags, True)


def run_code(code, space):
    if code.co_flags & 0x80:
        import asyncio

        asyncio.run(eval(code, space))
    else:
        exec(code, space)


def keep_last(tree):
    """The value of a last statement that is an expression, as notebooks show it, under a name of its own."""
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(LAST, ast.Store())], last.value), last)
        ast.fix_missing_locations(tree)


def execute(text, space, echo, last):
    """Compiles and runs; top-level await is allowed."""
    if not echo and not last and "await" not in text:
        return run_code(compiled(text), space)
    tree = ast.parse(text, CODE)
    if "await" in text:
        tree = ast.fix_missing_locations(Awaits().visit(tree))
    if last:
        keep_last(tree)
    parts = [(tree, "exec")]
    if echo and tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Interactive([tree.body.pop()])
        parts = [(tree, "exec"), (last, "single")]
    for part, mode in parts:
        run_code(compiled(part, mode), space)


LAYER = re.compile(r"/[^\s\"]*/packages/py/[0-9a-f]{64}(?=/)")
PLACES = [(p, "<python>") for p in sorted({os.path.dirname(os.__file__), *sys.path}, key=len, reverse=True)]


def own_frames(error):
    """The traceback as the agent should see it: without this file's frames, and without where anything lies here."""
    shown = traceback.TracebackException(type(error), error, error.__traceback__, limit=-FRAMES, lookup_lines=False)
    todo, seen = [shown], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        own = [frame for frame in one.stack if frame.filename not in (__file__, PRELUDE)]
        first = next((i for i, frame in enumerate(own) if frame.filename == CODE), 0)  # what stands before is what runs it
        one.stack[:] = own[first:]
        todo += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    text = "".join(shown.format())
    for path, name in PLACES:
        text = text.replace(path, name)
    return LAYER.sub("<packages>", text)


HAVE = "there are the standard library, files of the workspace, skills, and packages that the run asks for (`packages`)"
INSTALLS = "; the operator can install it with `sallyport code packages add %s`"
# Packages that are called differently than what they bring.
PACKAGE_OF = {"PIL": "pillow", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless", "dateutil": "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv",
              "fitz": "pymupdf", "pptx": "python-pptx", "skimage": "scikit-image", "sklearn": "scikit-learn", "yaml": "pyyaml"}


def describe(error):
    if isinstance(error, SyntaxError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name and "." not in error.name and str(error).startswith("No module named"):
        return "%s: %s%s" % (error, HAVE, INSTALLS % PACKAGE_OF.get(error.name, error.name))
    try:
        return str(error) or type(error).__name__
    except Exception:
        return type(error).__name__


# ---- what code shows, as a notebook would ----

SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_BYTES = 20, 20, 64 << 10


def send_shown(mime, data):
    data = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
    bridge.send(IMAGE, 0, bytes([len(mime)]) + mime.encode() + data)


def rich(value):
    """(type, data) of its best picture or page, None when it has none."""
    if hasattr(value, "savefig"):
        data = io.BytesIO()
        value.savefig(data, format="png")
        return "image/png", data.getvalue()
    for name, mime in (("_repr_png_", "image/png"), ("_repr_jpeg_", "image/jpeg"), ("_repr_html_", "text/html"), ("_repr_svg_", "text/html")):
        if isinstance(value, type) or not callable(getattr(value, name, None)):
            continue
        data = value.to_html(max_rows=SHOWN_ROWS, max_cols=SHOWN_COLUMNS) if hasattr(value, "to_html") and hasattr(value, "columns") else getattr(value, name)()
        if data is not None and (not mime.startswith("text/") or len(data) <= SHOWN_BYTES):
            return mime, data
    return None


def as_text(value):
    for name, options in (("to_string", {"max_rows": SHOWN_ROWS}), ("_repr_markdown_", {})):
        if callable(getattr(value, name, None)) and not isinstance(value, type):
            try:
                return getattr(value, name)(**options, **({"max_cols": SHOWN_COLUMNS} if hasattr(value, "columns") else {}))
            except Exception:
                pass
    return value if isinstance(value, str) else repr(value)


def display(*values, **_):
    """Prints values as text, and hands over the picture or HTML that they have."""
    for value in values:
        shown = rich(value)
        if not shown or shown[0] == "text/html":
            print(as_text(value))
        if shown:
            send_shown(*shown)
        if hasattr(value, "savefig") and "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close(value)  # else it is shown again at the end


def preview(value):
    """A result that a notebook would show as more than text: a DataFrame, an object with HTML or a picture of its own."""
    shown = None if isinstance(value, (str, int, float, dict, list, tuple, type(None))) or hasattr(value, "savefig") else rich(value)
    if shown and shown[0] == "text/html":
        send_shown("text/plain", as_text(value)[:SHOWN_BYTES])
    if shown:
        send_shown(*shown)


def shown_as(name, method):
    def __init__(self, data=None, *args, filename=None, **kwargs):
        if filename is not None or (method == "_repr_png_" and isinstance(data, str)):
            with open(filename or data, "rb") as file:
                data = file.read()
        self.data = data

    return type(name, (), {"__init__": __init__, method: lambda self: self.data, "__repr__": lambda self: "<%s>" % name})


class Notebook:
    """`from IPython.display import display, HTML`, as code for notebooks has it, where there is no IPython. Only when it is imported:
    libraries look whether it is there to find out where they are."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, Notebook, is_package=name == "IPython") if name in ("IPython", "IPython.display") else None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        names = {"display": display, "get_ipython": lambda: None, "version_info": (9, 0, 0)}
        if module.__name__ == "IPython.display":
            names = {"display": display, "clear_output": lambda *args, **kwargs: None,
                     **{name: shown_as(name, method) for name, method in (("HTML", "_repr_html_"), ("SVG", "_repr_svg_"), ("Image", "_repr_png_"),
                                                                          ("Markdown", "_repr_markdown_"))}}
        module.__dict__.update(names)


def send_figures():
    pyplot = sys.modules.get("matplotlib.pyplot")
    if not pyplot:
        return
    for number in pyplot.get_fignums()[:32]:
        data = io.BytesIO()
        pyplot.figure(number).savefig(data, format="png")
        bridge.send(IMAGE, 0, b"\x09image/png" + data.getvalue())
    pyplot.close("all")


def failed(error, text=None, lines=None):
    return {"ok": False, "error": describe(error)[:65536] if text is None else text, "kind": type(error).__name__,
            "traceback": own_frames(error)[-65536:] if lines is None else lines}


def entries_of(layer):
    try:
        return os.listdir(layer)
    except PermissionError:
        raise ImportError("packages cannot be read here: with profile pure no file is opened, and below tier 1 a gate of root needs a home "
                          "(SALLYPORT_HOME) that other users can enter") from None


def use_packages(root, layers):
    """Layers that the run asked for: behind the standard library, before the system's packages."""
    new = [path for path in (root + "/" + layer for layer in layers) if path not in sys.path]
    for path in new:
        for name in {entry.partition(".")[0] for entry in entries_of(path) if not entry.endswith(".dist-info")} & set(sys.modules):
            if getattr(sys.modules[name], "__file__", None) and not sys.modules[name].__file__.startswith(tuple(new)):
                raise ImportError("`%s` is loaded already, from elsewhere: ask for its package in another session" % name)
    at = max((i for i, path in enumerate(sys.path) if path in LIBRARY), default=0) + 1
    sys.path[at:at] = new
    os.environ.setdefault("MPLCONFIGDIR", "/tmp")  # its list of fonts does not belong into the workspace


SETS_RESULT = re.compile(r"^result\s*=[^=]", re.M)


def flush_files():
    """Files that the code has opened and not closed."""
    import gc

    for one in gc.get_objects():
        if isinstance(one, (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)) and not one.closed:
            try:
                one.flush()
            except Exception:
                pass


def destroy():
    """Destructors of the code's own classes, as the collector of an ending interpreter calls them: in the order in which the objects were made, and
    before anything that they use is gone."""
    import gc

    gc.collect()  # frees what is unreachable, and moves the rest into one generation
    for one in gc.get_objects():
        if type(one).__module__ == "__main__" and hasattr(type(one), "__del__"):
            try:
                one.__del__()
            except Exception:
                print("Exception ignored in: %r" % type(one).__del__, file=sys.stderr)
                traceback.print_exc()


def leave():
    """What an interpreter does at its end: threads that are no daemons are awaited, functions of atexit run."""
    for call in reversed(getattr(threading, "_threading_atexits", ())):  # pools of threads end only then
        call()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()


SESSION_S = 5  # a session waits for its threads, but not for long: what is left goes on in its next run


def await_threads(before, latest):
    """Those that this run has started; a pool's threads wait for work and do not end."""
    import concurrent.futures.thread

    until = min(time.monotonic() + SESSION_S, latest)
    for thread in set(threading.enumerate()) - before - set(concurrent.futures.thread._threads_queues):
        if not thread.daemon:
            thread.join(max(0, until - time.monotonic()))


def run_sql(text, order):
    return sql_run(text, order.get("context"), sql_engines, order.get("echo"))


PROGRAMS = "/opt/sallyport/sallyport-programs.so"  # loaded into each program, for what it misses here
SCRIPT, BASH_START, BASH_STATE, GIT = "/tmp/main.sh", "/tmp/.bash-start", "/tmp/.bash-state", "/tmp/.gitconfig"
BASH_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "TZ": "UTC", "USER": "sandbox", "LOGNAME": "sandbox", "SHELL": "/bin/bash",
                    "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_SYSTEM": GIT}
# A session's next run starts with the variables, functions and directory of the one before.
BASH_KEEPS = """unset BASH_ENV
[ -f %s ] && . %s 2>/dev/null
trap '_status=$?; { declare -p; declare -f; printf "cd %%q\\n" "$PWD"; } > %s; exit $_status' EXIT
""" % (BASH_STATE, BASH_STATE, BASH_STATE)
BASH_HINTS = {126: ": a file that cannot be executed: a script needs its mode (chmod +x), and a program of one's own cannot be started here", 127: ": a command was not found", 137: ": a program was killed, most likely for its memory"}


class ExitStatus(Exception):
    """Of a script that failed."""


def run_bash(text, order):
    import shlex
    import subprocess

    given = {name: value if isinstance(value, str) else to_json(value) for name, value in (order.get("context") or {}).items()}
    for name, value in given.items():
        if not (name.isascii() and name.isidentifier()) or "\0" in value:
            raise ValueError("context_vars: `%s` cannot be a variable of bash" % name)
    environment = {**program_environment(), **given}
    with open(SCRIPT, "w") as file:
        file.write(text + "\n")
    with open(GIT, "w") as file:
        file.write("[user]\nname = sandbox\nemail = sandbox@localhost\n[init]\ndefaultBranch = main\n")
    if order.get("session"):
        environment["BASH_ENV"] = BASH_START
        with open(BASH_START, "w") as file:
            file.write(BASH_KEEPS + "".join("export %s=%s\n" % (name, shlex.quote(value)) for name, value in given.items()))
    status = subprocess.Popen(["/bin/bash", SCRIPT], stdin=subprocess.DEVNULL, env=environment, cwd=HOME).wait()
    if status:
        status = 128 - status if status < 0 else status
        raise ExitStatus("exit status %d%s" % (status, BASH_HINTS.get(status, "")))


sql_engines = {}  # of a session
OTHER = {"sql": run_sql, "bash": run_bash}


def run(order, space):
    global NO_NETWORK

    outcome, text = None, ""
    NO_NETWORK = order.get("no_network", NO_NETWORK)
    space.pop("result", None)
    space.pop(LAST, None)
    threads, latest = set(threading.enumerate()), time.monotonic() + order.get("timeout_ms", 0) * 0.75 / 1000
    try:
        os.environ.update(order.get("environment") or {})
        if order.get("context") and order["language"] not in OTHER:
            space.update(order["context"])
        if order.get("packages"):
            use_packages(order["packages_dir"], order["packages"])
        if "__begin__" in space:
            space["__begin__"](space)
        other = OTHER.get(order["language"])
        text = unfence_other(order["code"]) if other else without_magic(clean(order["code"]))
        remember(CODE, text)
        remember(PROGRAM, text)  # where inspect looks for classes
        if "cpu_s" in order and not limit(order.get("memory_mb", 0), order["cpu_s"]):
            raise RuntimeError("the limits could not be set")
        try:
            if other:
                space["result"] = other(text, order)
            else:
                execute(text, space, order.get("echo"), order.get("last") and not SETS_RESULT.search(text))
        except Returned:
            pass
        if LAST in space:
            space.setdefault("result", space.pop(LAST))
        if isinstance(space.get("result"), types.CoroutineType):  # an `await` was forgotten
            import asyncio

            space["result"] = asyncio.run(space["result"])
        if "__end__" in space:
            space["result"] = space["__end__"](space)
        if order.get("last") and not other:
            preview(space.get("result"))
        if "matplotlib.pyplot" in sys.modules:
            send_figures()
    except SystemExit as error:
        if error.code not in (None, 0):
            outcome = failed(error, "SystemExit: %s" % (error.code,))
    except ExitStatus as error:
        outcome = failed(error, None, "")
    except SqlError as error:
        outcome = {"ok": False, "error": str(error), "kind": error.kind, "traceback": error.place}
    except MemoryError as error:
        space.clear()
        outcome = failed(error, "out of memory")
    except BaseException as error:
        outcome = failed(error)
    try:
        value = to_json(space.get("result"))
    except BaseException as error:
        value = "null"
        outcome = outcome or failed(error, "`result` cannot be shown as JSON: " + describe(error), "")
    if not bridge.muted:
        try:
            if order.get("session"):
                await_threads(threads, latest)
            else:
                leave()
                if "__del__" in text and threading.active_count() == 1:
                    destroy()
        except BaseException as error:
            outcome = outcome or failed(error)
        flush_files()
    for stream in {sys.stdout, sys.stderr, *streams}:
        try:
            stream.flush()
        except Exception:
            pass
    data = to_json(outcome)[:-1] if outcome else '{"ok": true'
    if len(value) > FRAME_MAX - len(data) - 64:
        value = json.dumps("the result has %d characters of JSON, more than can be handed over" % len(value))
    bridge.send(DONE, 0, (data + ', "result": ' + value + "}").encode())


def take(data, space):
    """Runs what the gate sent; the world that it ran in."""
    order = from_json(data)
    if order.get("prelude"):
        space = enter(order["prelude"])
    run(order, space)
    return space


def main_module(prelude):
    """A world for code: its module, and the finders that belong to it."""
    module = types.ModuleType("__main__")
    finders = sys.meta_path[:]
    module.__dict__.update(__builtins__=__builtins__, tools=Tools(), call_tool=call_tool, search_tools=search_tools, describe=describe_tool,
                           progress=progress, parallel=parallel, display=display, __file__=PROGRAM, ToolError=ToolError, __awaited__=awaited, __returned__=Returned,
                           __clean__=clean)
    if prelude:
        exec(prelude, module.__dict__)
    finders, sys.meta_path[:] = sys.meta_path[:], finders
    return module, finders


def enter(index):
    sys.modules["__main__"], sys.meta_path[:] = worlds[index]
    return sys.modules["__main__"].__dict__


def interactive_names():
    """What `site` adds: help(), exit() and the others."""
    import _sitebuiltins
    import builtins

    site.setquit()
    site.setcopyright()
    builtins.help = _sitebuiltins._Helper()


def explain_threads():
    """The kernel's refusal does not say how many are allowed."""
    start = threading._start_new_thread

    def started(*args):
        try:
            return start(*args)
        except RuntimeError:
            raise RuntimeError("can't start new thread: a run has at most 64 threads and processes") from None

    threading._start_new_thread = started


bridge = Bridge()
interactive_names()
explain_threads()
sys.argv[:] = [""]
sys.meta_path.insert(0, Skills)
sys.meta_path.append(Notebook)
sys.dont_write_bytecode = True
sys.path_importer_cache.clear()
worlds = {0: main_module(None), **{index: main_module(code) for index, code in read_preludes().items()}}

SAMPLE = to_json({"code": "def f(a):\n  return sum(i * 2 for i in a)\nprint(f([1, 2]), f'{1!r:>4}'.upper())\nresult = {'a': [f([1]), 2.5, None]}",
                  "context": {"warm": [1]}, "language": "python", "prelude": 0, "memory_mb": 0, "cpu_s": 0, "echo": False, "session": False}).encode()
nowhere = text_stream(0, "<null>")
streams = text_stream(1, "<stdout>"), text_stream(2, "<stderr>")
sys.stdin, sys.stdout, sys.stderr = io.StringIO(""), *streams
sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def warm_up(rounds):
    """Touches what every run touches: in the interpreter to have it made, in a child to have it in its own pages
    before the clock runs."""
    global streams
    bridge.muted, kept, streams = True, streams, (nowhere, nowhere)
    sys.stdout = sys.stderr = nowhere
    for _ in range(rounds):
        take(SAMPLE, worlds[0][0].__dict__.copy())
    bridge.muted, streams = False, kept
    sys.stdout, sys.stderr = streams


def reseed(seed=super(random.Random, random._inst).seed):
    """No two children draw the same numbers."""
    seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def live(profile, space):
    """In a child that is locked: one run, or those of a session."""
    reseed()
    here = os.getcwd()
    if profile != 0:
        sys.path.insert(0, here)
    if profile != 0 and here != HOME:
        lead(os.path.dirname(here))
    if profile == 2:
        with_processes(processes)
    if not wait(WARM_AFTER_MS):
        warm_up(1)
        for index in (*worlds, 0):
            enter(index)
    while True:
        kind, ident, data = receive()
        if kind == RUN:
            space = take(data, space)


# What every run uses was loaded first, and so lies together: a child makes copies of those pages and shares the rest.
warm_up(30)
native.part()
loaded = preload()
stand_in()
processes = no_processes()
no_network()
os.environ.clear()  # packages that were just loaded looked there for places
os.putenv("LANG", "C.UTF-8")  # for setlocale(LC_ALL, "") alone: the code's own environment stays empty
import gc

space = enter(0)
reseed()
warm_up(2)  # lookups during the start evicted cache entries that runs need
linecache.cache.clear()
gc.collect()
native.shut()
gc.freeze()
native.tell(1, "CPython %d.%d.%d|%s" % (*sys.version_info[:3], " ".join(loaded)))
live(native.serve(), space)
