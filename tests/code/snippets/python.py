#### group rows by a key and sum
rows = [{"region": "EU", "amount": 120.5}, {"region": "US", "amount": 80}, {"region": "EU", "amount": 19.5}]
totals = {}
for row in rows:
    totals[row["region"]] = totals.get(row["region"], 0) + row["amount"]
for region, total in sorted(totals.items()):
    print(f"{region}: {total:.2f}")
#### defaultdict and Counter
from collections import Counter, defaultdict
words = "the quick brown fox jumps over the lazy dog the end".split()
print(Counter(words).most_common(2))
by_length = defaultdict(list)
for word in words:
    by_length[len(word)].append(word)
print(dict(sorted(by_length.items())))
#### csv from a string, typed
import csv, io
text = "name,age\nAnn,31\nBob,\"4,2\"\n"
for row in csv.DictReader(io.StringIO(text)):
    print(row["name"], row["age"].replace(",", ""))
#### csv written to a file and read back
import csv
with open("out.csv", "w", newline="") as f:
    w = csv.writer(f)
    w.writerow(["id", "note"])
    w.writerows([[1, "a \"quoted\" word"], [2, "line\nbreak"]])
with open("out.csv", newline="") as f:
    print(list(csv.reader(f)))
print(open("out.csv", newline="").read().count("\r\n"))
#### json round trip with custom encoder
import json, datetime, decimal
class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (datetime.date, datetime.datetime)):
            return o.isoformat()
        if isinstance(o, decimal.Decimal):
            return float(o)
        return super().default(o)
data = {"day": datetime.date(2026, 2, 3), "price": decimal.Decimal("9.90"), "tags": ["ä", "b"]}
text = json.dumps(data, cls=Encoder, sort_keys=True, ensure_ascii=False, indent=1)
print(text)
print(json.loads(text)["price"] == 9.9)
#### json lines
import json
lines = [json.dumps({"i": i, "sq": i * i}) for i in range(3)]
with open("data.jsonl", "w") as f:
    f.write("\n".join(lines))
print(sum(json.loads(line)["sq"] for line in open("data.jsonl")))
#### json error is reported
import json
try:
    json.loads('{"a": 1,}')
except json.JSONDecodeError as e:
    print(e.msg, e.lineno, e.colno)
#### xml parse and query
import xml.etree.ElementTree as ET
root = ET.fromstring("<items><item id='1' price='2.5'>Pen</item><item id='2' price='10'>Book</item></items>")
print([(i.get("id"), i.text, float(i.get("price"))) for i in root.findall("item")])
print(ET.tostring(max(root, key=lambda i: float(i.get("price"))), encoding="unicode"))
#### xml build and pretty print
from xml.dom import minidom
import xml.etree.ElementTree as ET
root = ET.Element("config", version="1")
ET.SubElement(root, "name").text = "a & b"
print(minidom.parseString(ET.tostring(root)).toprettyxml(indent="  "))
#### html parser collects links
from html.parser import HTMLParser
class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []
    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found.append(dict(attrs).get("href"))
p = Links()
p.feed('<p><a href="/x?a=1&amp;b=2">x</a><a>no</a></p>')
print(p.found)
#### dates: month ends and weekdays
import calendar
from datetime import date, timedelta
start = date(2024, 1, 31)
ends = [date(2024, m, calendar.monthrange(2024, m)[1]) for m in range(1, 4)]
print(ends, [d.strftime("%a") for d in ends])
print((date(2024, 3, 1) - start).days, start + timedelta(weeks=2))
#### parse many date formats
from datetime import datetime
for text, form in [("2024-05-06", "%Y-%m-%d"), ("06/05/24", "%d/%m/%y"), ("May 6, 2024 3:04 PM", "%B %d, %Y %I:%M %p")]:
    print(datetime.strptime(text, form).isoformat())
print(datetime.fromisoformat("2024-05-06T07:08:09+02:00").utcoffset())
#### time zones
from datetime import datetime, timezone
from zoneinfo import ZoneInfo
t = datetime(2024, 7, 1, 12, tzinfo=timezone.utc)
for zone in ("Europe/Berlin", "America/New_York", "Asia/Kolkata"):
    print(zone, t.astimezone(ZoneInfo(zone)).strftime("%H:%M %Z"))
#### regular expressions with groups
import re
log = "2024-01-02 ERROR [db] timeout after 30s\n2024-01-03 INFO [web] ok"
for m in re.finditer(r"(?P<day>\S+) (?P<level>[A-Z]+) \[(?P<part>\w+)\] (?P<text>.*)", log):
    print(m.groupdict())
print(re.sub(r"(\d+)s", lambda m: f"{int(m[1]) * 1000}ms", log.splitlines()[0]))
#### regular expression split and lookahead
import re
print(re.split(r"[;,]\s*", "a, b;c,  d"))
print(re.findall(r"\b\w+(?=ing\b)", "running and jumping high"))
print(re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", "1234567"))
#### validate e-mail addresses
import re
pattern = re.compile(r"^[\w.+-]+@[\w-]+\.[\w.]+$")
for address in ["a.b+c@x.org", "no-at.example", "x@y.z", "x@y"]:
    print(address, bool(pattern.match(address)))
#### text wrap and templates
import textwrap
from string import Template
print(textwrap.fill("The quick brown fox jumps over the lazy dog.", width=16))
print(Template("$name owes $$${amount}").substitute(name="Bob", amount=5))
print(textwrap.dedent("""\
    a
      b
    """), end="")
#### format specifications
for value in (0.5, 1234567.891, -3):
    print(f"{value:>12,.1f}|{value:<10.2e}|{value:+.0%}")
print(f"{255:#x} {255:08b} {'é':*^7} {3!r:>4}")
#### unicode normalisation
import unicodedata
text = "Crème Brûlée"
plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
print(plain, len(text.encode()), unicodedata.name("é"))
#### asyncio gather with results and errors
import asyncio
async def work(n):
    await asyncio.sleep(0.01 * n)
    if n == 2:
        raise ValueError("two")
    return n * 10
async def main():
    print(await asyncio.gather(*(work(n) for n in range(4)), return_exceptions=True))
asyncio.run(main())
#### asyncio queue with workers
import asyncio
async def main():
    queue, done = asyncio.Queue(), []
    async def worker(name):
        while True:
            item = await queue.get()
            await asyncio.sleep(0)
            done.append(item * item)
            queue.task_done()
    tasks = [asyncio.create_task(worker(i)) for i in range(3)]
    for i in range(6):
        queue.put_nowait(i)
    await queue.join()
    for t in tasks:
        t.cancel()
    print(sorted(done))
asyncio.run(main())
#### asyncio timeout and semaphore
import asyncio
async def main():
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.02)
    except asyncio.TimeoutError:
        print("timed out")
    gate, most, now = asyncio.Semaphore(2), 0, 0
    async def one():
        nonlocal most, now
        async with gate:
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.01)
            now -= 1
    await asyncio.gather(*(one() for _ in range(5)))
    print(most)
asyncio.run(main())
#### async generator and context manager
import asyncio, contextlib
@contextlib.asynccontextmanager
async def opened(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)
async def ticks(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
async def main():
    async with opened("db") as db:
        print(db, [i async for i in ticks(3)])
asyncio.run(main())
#### class hierarchy with abstract methods
from abc import ABC, abstractmethod
import math
class Shape(ABC):
    @abstractmethod
    def area(self): ...
    def __repr__(self):
        return f"{type(self).__name__}({self.area():.2f})"
class Circle(Shape):
    def __init__(self, r): self.r = r
    def area(self): return math.pi * self.r ** 2
class Square(Shape):
    def __init__(self, a): self.a = a
    def area(self): return self.a ** 2
print(sorted([Circle(1), Square(1.5)], key=lambda s: s.area()))
try:
    Shape()
except TypeError as e:
    print("abstract" in str(e))
#### dataclasses with order and defaults
from dataclasses import asdict, dataclass, field, replace
@dataclass(order=True, frozen=True)
class Task:
    priority: int
    name: str = field(compare=False)
    tags: tuple = ()
tasks = [Task(3, "c"), Task(1, "a", ("x",)), Task(2, "b")]
print([t.name for t in sorted(tasks)], asdict(tasks[1]), replace(tasks[0], name="z"))
try:
    tasks[0].name = "q"
except Exception as e:
    print(type(e).__name__)
#### enums and flags
from enum import Enum, IntFlag, auto
class State(Enum):
    NEW = auto()
    DONE = "done"
class Right(IntFlag):
    READ = 1
    WRITE = 2
print(State("done").name, [s.name for s in State], Right.READ | Right.WRITE == 3, Right(3) & Right.READ)
#### properties and descriptors
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner): return getattr(obj, self.name)
    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name[1:]} must be positive")
        setattr(obj, self.name, value)
class Box:
    width = Positive()
    def __init__(self, width): self.width = width
    @property
    def area(self): return self.width ** 2
b = Box(3)
print(b.area)
try:
    b.width = -1
except ValueError as e:
    print(e)
#### decorators with arguments
import functools
def retry(times):
    def wrap(f):
        @functools.wraps(f)
        def inner(*args):
            for attempt in range(1, times + 1):
                try:
                    return f(*args), attempt
                except OSError:
                    if attempt == times:
                        raise
        return inner
    return wrap
calls = []
@retry(3)
def flaky(x):
    calls.append(x)
    if len(calls) < 3:
        raise OSError("again")
    return x * 2
print(flaky(21), flaky.__name__, calls)
#### caching and partial functions
import functools
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), fib.cache_info().hits)
print(list(map(functools.partial(pow, 2), range(5))), functools.reduce(lambda a, b: a * b, range(1, 6)))
#### generators and pipelines
def numbers():
    n = 0
    while True:
        got = yield n
        n = got if got is not None else n + 1
g = numbers()
print(next(g), next(g), g.send(10), next(g))
evens = (n for n in range(20) if n % 2 == 0)
print(sum(n * n for n in evens))
def flatten(x):
    for item in x:
        if isinstance(item, list):
            yield from flatten(item)
        else:
            yield item
print(list(flatten([1, [2, [3, [4]], 5]])))
#### itertools
import itertools as it
print(list(it.chain([1], [2, 3])), list(it.combinations("abc", 2)), list(it.accumulate([1, 2, 3, 4])))
for key, group in it.groupby(sorted(["apple", "avocado", "bean", "beet", "corn"]), key=lambda w: w[0]):
    print(key, list(group))
print(list(it.islice(it.count(5, 5), 3)), list(it.zip_longest("ab", "c", fillvalue="-")))
#### context managers and exception chaining
class Timer:
    def __enter__(self):
        print("start")
        return self
    def __exit__(self, kind, error, trace):
        print("stop", kind.__name__ if kind else None)
        return kind is KeyError
with Timer():
    raise KeyError("x")
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise RuntimeError("wrapped") from e
except RuntimeError as e:
    print(e, repr(e.__cause__))
#### match statement
def act(event):
    match event:
        case {"type": "click", "pos": (x, y)} if x > 0:
            return f"click {x},{y}"
        case {"type": "key", "key": "q" | "Q"}:
            return "quit"
        case [first, *rest]:
            return f"{first} and {len(rest)} more"
        case _:
            return "other"
print(act({"type": "click", "pos": (1, 2)}), act({"type": "key", "key": "Q"}), act([1, 2, 3]), act(None))
#### files: write, append, walk
import os
from pathlib import Path
base = Path("project/src")
base.mkdir(parents=True)
(base / "a.py").write_text("print(1)\n")
(base / "b.txt").write_text("x" * 10)
with open(base / "a.py", "a") as f:
    f.write("print(2)\n")
for top, dirs, names in os.walk("project"):
    print(top, sorted(dirs), sorted(names))
print([(p.name, p.stat().st_size) for p in sorted(Path("project").rglob("*.*"))])
#### pathlib operations
from pathlib import Path, PurePosixPath
p = PurePosixPath("/data/reports/2024/summary.tar.gz")
print(p.name, p.stem, p.suffixes, p.parent.name, p.with_suffix(".zip"), p.relative_to("/data"))
Path("x.bin").write_bytes(bytes(range(5)))
print(Path("x.bin").exists(), Path("x.bin").read_bytes(), Path("none").is_file())
#### zip archive in memory and on disk
import io, zipfile
buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a.txt", "hello " * 100)
    z.writestr("d/b.txt", "b")
open("x.zip", "wb").write(buffer.getvalue())
with zipfile.ZipFile("x.zip") as z:
    print(z.namelist(), z.getinfo("a.txt").file_size, z.testzip())
    z.extractall("unpacked")
print(open("unpacked/d/b.txt").read())
#### tar and gzip
import gzip, io, tarfile
with tarfile.open("t.tar.gz", "w:gz") as t:
    data = b"content"
    info = tarfile.TarInfo("dir/file.txt")
    info.size = len(data)
    t.addfile(info, io.BytesIO(data))
with tarfile.open("t.tar.gz") as t:
    print(t.getnames(), t.extractfile("dir/file.txt").read())
print(len(gzip.compress(b"a" * 10000)) < 100, gzip.decompress(gzip.compress(b"abc")))
#### sqlite in memory
import sqlite3
db = sqlite3.connect(":memory:")
db.row_factory = sqlite3.Row
db.executescript("create table t (id integer primary key, name text, score real); insert into t (name, score) values ('a', 1.5), ('b', 3), ('a', 2.5);")
for row in db.execute("select name, avg(score) s, count(*) n from t group by name order by s desc"):
    print(dict(row))
#### sqlite file with transactions
import sqlite3
with sqlite3.connect("shop.db") as db:
    db.execute("create table items (name text unique, qty int)")
    db.executemany("insert into items values (?, ?)", [("pen", 3), ("ink", 0)])
try:
    with db:
        db.execute("update items set qty = 9")
        db.execute("insert into items values ('pen', 1)")
except sqlite3.IntegrityError as e:
    print(e)
print(sqlite3.connect("shop.db").execute("select * from items order by name").fetchall())
#### url parsing and building
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit, urlunsplit
u = urlsplit("https://user@example.com:8443/a/b?x=1&x=2&y=%20#frag")
print(u.hostname, u.port, parse_qs(u.query), u.fragment)
print(urljoin("https://e.com/a/b", "../c?d"), urlencode({"q": "a b&c", "n": 1}), quote("ä/ö", safe=""))
print(urlunsplit(u._replace(query="", fragment="")))
#### hashing, hmac, base64
import base64, hashlib, hmac
data = b"message"
print(hashlib.sha256(data).hexdigest()[:16], hashlib.md5(data).hexdigest()[:8])
print(hmac.new(b"key", data, "sha256").hexdigest()[:16])
print(base64.b64encode(data).decode(), base64.urlsafe_b64decode("_-8="))
#### binary data with struct
import struct
packed = struct.pack("<IhB3s", 1000, -2, 255, b"abc")
print(packed.hex(), struct.unpack("<IhB3s", packed), struct.calcsize(">Qd"))
print(int.from_bytes(b"\x01\x02", "big"), (258).to_bytes(2, "little"))
#### decimal and fractions
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
print(Decimal("0.1") + Decimal("0.2"), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))
print(Fraction(1, 3) + Fraction(1, 6), float(Fraction("0.125")), 0.1 + 0.2)
#### statistics
import statistics as s
data = [2, 4, 4, 4, 5, 5, 7, 9]
print(s.mean(data), s.median(data), s.mode(data), round(s.pstdev(data), 3), s.quantiles(data, n=4))
#### heap and bisect
import bisect, heapq
heap = []
for item in [(3, "c"), (1, "a"), (2, "b")]:
    heapq.heappush(heap, item)
print([heapq.heappop(heap)[1] for _ in range(3)], heapq.nlargest(2, [5, 1, 9, 3]))
grades = [60, 70, 80, 90]
print(["FDCBA"[bisect.bisect(grades, x)] for x in (55, 70, 89, 99)])
#### threads with a lock and a pool
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
count, lock = 0, threading.Lock()
def add(n):
    global count
    for _ in range(n):
        with lock:
            count += 1
threads = [threading.Thread(target=add, args=(1000,)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(count)
with ThreadPoolExecutor(max_workers=3) as pool:
    print(sorted(f.result() for f in as_completed([pool.submit(pow, 2, n) for n in range(5)])))
#### a thread that is not joined still prints
import threading, time
def late():
    time.sleep(0.05)
    print("late")
threading.Thread(target=late).start()
print("main")
#### atexit and an unclosed file
import atexit
f = open("left.txt", "w")
f.write("text that nobody flushed")
atexit.register(lambda: print("bye"))
print("hello")
#### process pool
from concurrent.futures import ProcessPoolExecutor
def square(n):
    return n * n
if __name__ == "__main__":
    with ProcessPoolExecutor(max_workers=2) as pool:
        print(list(pool.map(square, range(5))))
#### multiprocessing pool and queue
from multiprocessing import Pool, Process, Queue
def work(n):
    return n + 1
def put(q, value):
    q.put(value)
if __name__ == "__main__":
    with Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
    q = Queue()
    p = Process(target=put, args=(q, "done"))
    p.start()
    p.join()
    print(q.get(), p.exitcode)
#### logging to stdout
import logging, sys
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("app")
log.info("count=%d", 3)
log.debug("hidden")
try:
    {}["x"]
except KeyError:
    log.warning("missing", exc_info=False)
#### argparse on a list
import argparse
p = argparse.ArgumentParser(prog="tool")
p.add_argument("path")
p.add_argument("-n", "--number", type=int, default=1)
p.add_argument("--flag", action="store_true")
print(p.parse_args(["in.txt", "-n", "5", "--flag"]))
#### configparser and toml
import configparser
c = configparser.ConfigParser()
c.read_string("[db]\nhost = localhost\nport = 5432\n[empty]\n")
print(c["db"]["host"], c.getint("db", "port"), c.sections(), c.get("db", "user", fallback="none"))
import tomllib
print(tomllib.loads('title = "x"\n[a]\nb = [1, 2]\nd = 2024-01-02'))
#### pickle and copy
import copy, pickle
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
a = {"p": Point(1, 2), "l": [1, [2]]}
b = pickle.loads(pickle.dumps(a))
c = copy.deepcopy(a)
c["l"][1].append(3)
print(a == b, a["l"], c["l"])
#### typing and protocols at run time
from typing import NamedTuple, Protocol, TypedDict, get_type_hints, runtime_checkable
@runtime_checkable
class Closes(Protocol):
    def close(self) -> None: ...
class P(NamedTuple):
    x: int
    y: int = 0
class T(TypedDict, total=False):
    name: str
print(isinstance(open("f", "w"), Closes), P(1), P(1, 2)._asdict(), get_type_hints(T))
#### matrix without libraries
a = [[1, 2], [3, 4]]
b = [[0, 1], [1, 0]]
product = [[sum(x * y for x, y in zip(row, col)) for col in zip(*b)] for row in a]
print(product, [list(r) for r in zip(*a)], [row[::-1] for row in a[::-1]])
#### graph search
from collections import deque
graph = {"a": ["b", "c"], "b": ["d"], "c": ["d", "e"], "d": ["f"], "e": ["f"], "f": []}
def path(start, goal):
    queue, seen = deque([[start]]), {start}
    while queue:
        way = queue.popleft()
        if way[-1] == goal:
            return way
        for n in graph[way[-1]]:
            if n not in seen:
                seen.add(n)
                queue.append(way + [n])
print(path("a", "f"))
#### dijkstra
import heapq
roads = {"A": {"B": 7, "C": 3}, "B": {"D": 2}, "C": {"B": 1, "D": 8}, "D": {}}
def shortest(start):
    best, heap = {start: 0}, [(0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        for v, w in roads[u].items():
            if d + w < best.get(v, float("inf")):
                best[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return best
print(shortest("A"))
#### primes and gcd
import math
sieve = [True] * 50
for i in range(2, 8):
    if sieve[i]:
        sieve[i * i::i] = [False] * len(sieve[i * i::i])
print([i for i in range(2, 50) if sieve[i]])
print(math.gcd(84, 36), math.lcm(4, 6), math.comb(10, 3), math.isqrt(99), divmod(-7, 3))
#### bank account simulation
class InsufficientFunds(Exception):
    def __init__(self, need, have):
        super().__init__(f"need {need}, have {have}")
class Account:
    def __init__(self, balance=0):
        self.balance, self.history = balance, []
    def withdraw(self, n):
        if n > self.balance:
            raise InsufficientFunds(n, self.balance)
        self.balance -= n
        self.history.append(-n)
a = Account(10)
a.withdraw(4)
try:
    a.withdraw(7)
except InsufficientFunds as e:
    print(e, a.balance, a.history)
#### difflib
import difflib
a, b = "one\ntwo\nthree".splitlines(), "one\n2\nthree\nfour".splitlines()
print("\n".join(difflib.unified_diff(a, b, "a", "b", lineterm="")))
print(difflib.get_close_matches("appel", ["ape", "apple", "peach"]))
#### shelve and temporary files
import shelve, tempfile, os
with shelve.open("store") as s:
    s["a"] = [1, 2]
with shelve.open("store") as s:
    print(s["a"], len(s))
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "x.txt")
    open(path, "w").write("tmp")
    print(open(path).read(), os.path.basename(path))
print(os.path.exists(d))
#### home, file and mime types
import mimetypes, os
from pathlib import Path
print(Path.home().is_absolute(), os.path.isabs(os.path.expanduser("~/x")), os.path.basename(__file__).endswith(".py"))
print(mimetypes.guess_type("report.csv")[0], mimetypes.guess_type("a.png")[0], mimetypes.guess_extension("application/json"))
#### import of a module written by the code
import importlib, sys
with open("helper_mod.py", "w") as f:
    f.write("VALUE = 41\ndef plus(n):\n    return VALUE + n\n")
sys.path.insert(0, ".")
importlib.invalidate_caches()
import helper_mod
print(helper_mod.plus(1), helper_mod.__name__)
#### operator overloading
class Vec:
    def __init__(self, *v): self.v = v
    def __add__(self, o): return Vec(*(a + b for a, b in zip(self.v, o.v)))
    def __mul__(self, k): return Vec(*(a * k for a in self.v))
    __rmul__ = __mul__
    def __getitem__(self, i): return self.v[i]
    def __len__(self): return len(self.v)
    def __bool__(self): return any(self.v)
    def __repr__(self): return f"Vec{self.v}"
print(2 * Vec(1, 2) + Vec(0, 5), Vec(1, 2, 3)[1:], len(Vec(1)), bool(Vec(0, 0)))
#### metaclass and registry
class Meta(type):
    registry = {}
    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        mcs.registry[name.lower()] = cls
        return cls
class Plugin(metaclass=Meta): pass
class Csv(Plugin): pass
class Base:
    def __init_subclass__(cls, tag=None): cls.tag = tag
class Sub(Base, tag="t"): pass
print(sorted(Meta.registry), Sub.tag)
#### walrus, unpacking, comprehensions
data = [3, 8, 1, 9]
print([y for x in data if (y := x * x) > 8])
first, *middle, last = range(6)
print(first, middle, last, {**{"a": 1}, "b": 2}, [*"ab", *[1]])
print({len(w): w for w in ["a", "bb", "cc"]}, {x % 3 for x in range(9)} == {0, 1, 2})
#### string methods
s = "  Hello, World  "
print(s.strip().lower().partition(", "), "a-b-c".rsplit("-", 1), "x".join(["1", "2"]), "Title Case".swapcase())
print("abc".translate(str.maketrans("ab", "xy")), "tab\tx".expandtabs(4), "ß".casefold(), "%05.1f|%-4s|" % (3.14159, "a"))
#### sorting with keys and stability
people = [("Ann", 31), ("bob", 25), ("Cid", 31)]
print(sorted(people, key=lambda p: (-p[1], p[0].lower())), sorted(["b", "A", "c"], key=str.lower, reverse=True))
from operator import itemgetter
print(max(people, key=itemgetter(1)), min(people)[0])
#### random with a seed
import random
r = random.Random(42)
print(r.randint(1, 100), r.choice("abc"), r.sample(range(10), 3), round(r.random(), 4))
#### recursion limit is an exception
def deep(n):
    return deep(n + 1)
try:
    deep(0)
except RecursionError as e:
    print("RecursionError", str(e)[:31])
#### traceback of the code's own error
import traceback
def outer():
    inner()
def inner():
    raise ValueError("bad value")
try:
    outer()
except ValueError:
    lines = traceback.format_exc().splitlines()
    print(lines[0], lines[-1], sum("in inner" in l for l in lines))
#### unit tests run inside
import io, unittest
class Tests(unittest.TestCase):
    def test_sum(self): self.assertEqual(sum([1, 2]), 3)
    def test_raises(self):
        with self.assertRaises(ZeroDivisionError): 1 / 0
result_ = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(Tests))
print(result_.testsRun, result_.wasSuccessful())
#### email message
from email.message import EmailMessage
from email import message_from_string
m = EmailMessage()
m["Subject"], m["From"], m["To"] = "Hi", "a@x.org", "b@y.org"
m.set_content("Body text\n")
m.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="d.csv")
back = message_from_string(m.as_string())
print(back["Subject"], back.is_multipart(), [p.get_filename() for p in back.walk()])
#### ip addresses
import ipaddress
net = ipaddress.ip_network("192.168.4.0/22")
print(net.num_addresses, ipaddress.ip_address("192.168.7.9") in net, list(net.subnets(new_prefix=23)))
print(ipaddress.ip_address("::1").is_loopback)
#### uuid and secrets shapes
import secrets, uuid
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), uuid.uuid4().version, len(secrets.token_hex(8)))
#### contextlib helpers
import contextlib, io
out = io.StringIO()
with contextlib.redirect_stdout(out):
    print("captured")
with contextlib.suppress(FileNotFoundError):
    open("nope")
with contextlib.ExitStack() as stack:
    stack.callback(print, "cleanup")
    print(repr(out.getvalue()))
#### weak references and garbage
import gc, weakref
class Node: pass
n = Node()
r = weakref.ref(n, lambda _: print("gone"))
print(r() is n)
del n
gc.collect()
print(r())
#### walk json with a path
data = {"users": [{"name": "Ann", "roles": ["admin"]}, {"name": "Bob", "roles": []}]}
def walk(node, path="$"):
    if isinstance(node, dict):
        for k, v in node.items():
            yield from walk(v, f"{path}.{k}")
    elif isinstance(node, list):
        for i, v in enumerate(node):
            yield from walk(v, f"{path}[{i}]")
    else:
        yield path, node
for item in walk(data):
    print(*item)
#### moving average and normalisation
data = [1, 3, 5, 7, 9]
window = 3
print([sum(data[i:i + window]) / window for i in range(len(data) - window + 1)])
lo, hi = min(data), max(data)
print([(x - lo) / (hi - lo) for x in data])
#### pivot without pandas
rows = [("Q1", "EU", 5), ("Q1", "US", 7), ("Q2", "EU", 6)]
cols = sorted({r[1] for r in rows})
table = {}
for q, region, v in rows:
    table.setdefault(q, dict.fromkeys(cols, 0))[region] += v
print("quarter " + " ".join(f"{c:>4}" for c in cols))
for q, values in table.items():
    print(f"{q:<8}" + " ".join(f"{values[c]:>4}" for c in cols))
#### base conversion and bit operations
print(bin(37), oct(64), hex(255), int("ff", 16), int("0b101", 0), 37 & 12, 37 ^ 12, ~5, 1 << 10, (37).bit_count())
#### time measurement is positive
import time
t = time.perf_counter()
time.sleep(0.01)
print(time.perf_counter() - t >= 0.01, time.strftime("%Y", time.gmtime(0)))
#### environment reads have defaults
import os, sys, platform
print(os.environ.get("API_KEY", "none"), os.getenv("X") is None, sys.version_info >= (3, 9), platform.system())
os.environ["MY_VAR"] = "set"
print(os.environ["MY_VAR"])
#### stdin is empty
import sys
print(repr(sys.stdin.read()))
try:
    input("? ")
except EOFError:
    print("EOF")
#### large output is fine
for i in range(2000):
    print(i, "x" * 10)
#### star expressions in calls, keyword only
def f(a, /, b, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
print(f(1, 2, 3, c=5, e=6), f(*[1, 2], **{"c": 3}))
try:
    f(1, 2)
except TypeError as e:
    print(e)
#### exception groups
try:
    raise ExceptionGroup("many", [ValueError("a"), TypeError("b")])
except* ValueError as g:
    print("value", g.exceptions)
except* TypeError as g:
    print("type", g.exceptions)
#### orders of a CSV file joined with prices, top customers
import csv, io
from collections import defaultdict
orders = """order_id,customer,sku,qty
1,Ann,A-1,3
2,Bob,B-2,1
3,Ann,B-2,2
4,Cid,X-9,5
5,Bob,A-1,10
"""
prices = {r["sku"]: float(r["price"]) for r in csv.DictReader(io.StringIO("sku,price\nA-1,2.50\nB-2,19.99\n"))}
totals, missing = defaultdict(float), []
for row in csv.DictReader(io.StringIO(orders)):
    if row["sku"] not in prices:
        missing.append(row["order_id"])
        continue
    totals[row["customer"]] += int(row["qty"]) * prices[row["sku"]]
for name, total in sorted(totals.items(), key=lambda kv: -kv[1]):
    print(f"{name:<5}{total:>10,.2f}")
print("no price:", missing)
#### csv dialects, quoting and a sniffer
import csv, io
text = 'name;note\n"Smith; John";"said ""hi"""\nDoe;\n'
dialect = csv.Sniffer().sniff(text, delimiters=";,")
print(dialect.delimiter, list(csv.reader(io.StringIO(text), dialect)))
out = io.StringIO()
w = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
w.writerow(["a", 1, 2.5, None, 'q"q'])
print(out.getvalue(), end="")
csv.register_dialect("pipes", delimiter="|", quotechar="'")
print(next(csv.reader(["a|'b|c'|d"], "pipes")))
#### log lines to a report by hour with regular expressions
import re
from collections import Counter
log = """2024-03-01T10:00:12Z INFO  api GET /users 200 12ms
2024-03-01T10:05:40Z ERROR api POST /orders 500 812ms
2024-03-01T11:15:03Z INFO  api GET /users 200 9ms
2024-03-01T11:59:59Z WARN  db slow query 1532ms
2024-03-01T12:00:00Z ERROR api GET /orders/17 404 3ms"""
pattern = re.compile(r"^(?P<day>[\d-]+)T(?P<hour>\d\d):\S+\s+(?P<level>[A-Z]+)\s+(?P<rest>.*?)\s(?P<ms>\d+)ms$", re.M)
rows = [m.groupdict() for m in pattern.finditer(log)]
print(Counter(r["level"] for r in rows).most_common())
print({h: sum(int(r["ms"]) for r in rows if r["hour"] == h) for h in sorted({r["hour"] for r in rows})})
print([re.sub(r"/\d+\b", "/:id", r["rest"]) for r in rows if r["level"] == "ERROR"])
#### regular expressions: verbose, conditional, named back references and functions
import re
number = re.compile(r"""
    (?P<sign>[-+])?            # sign
    (?P<int>\d{1,3}(?:,\d{3})*|\d+)
    (?:\.(?P<frac>\d+))?
""", re.X)
print([m.groupdict() for m in number.finditer("-1,234.50 +7 0.5")])
print(re.findall(r"\b(\w+)\s+\1\b", "this is is a test test", re.I))
print(re.sub(r"(?P<a>\w+)@(?P<b>\w+)", lambda m: f"{m['b']}.{m['a']}", "x@y p@q"))
print(re.fullmatch(r"(\()?\d+(?(1)\))", "(12)") is not None, re.fullmatch(r"(\()?\d+(?(1)\))", "(12") is not None)
try:
    re.compile("(unclosed")
except re.error as e:
    print(e)
#### asyncio: task group, cancellation and shielding
import asyncio
async def work(n, fail=False):
    try:
        await asyncio.sleep(0.001 * n)
        if fail:
            raise ValueError(f"job {n}")
        return n * n
    except asyncio.CancelledError:
        print("cancelled", n)
        raise
async def main():
    async with asyncio.TaskGroup() as tg:
        tasks = [tg.create_task(work(i)) for i in (3, 1, 2)]
    print([t.result() for t in tasks])
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(work(1, fail=True))
            tg.create_task(work(5000000))
    except* ValueError as group:
        print([str(e) for e in group.exceptions])
    t = asyncio.create_task(work(2))
    try:
        await asyncio.wait_for(asyncio.shield(t), 0)
    except asyncio.TimeoutError:
        print("waited no longer")
    print(await t)
asyncio.run(main())
#### asyncio: streams of events, locks and as_completed
import asyncio
async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
async def main():
    print([i async for i in ticker(5) if i % 2 == 0])
    lock, log = asyncio.Lock(), []
    async def critical(name):
        async with lock:
            log.append(name + " in"); await asyncio.sleep(0); log.append(name + " out")
    await asyncio.gather(*(critical(n) for n in "abc"))
    print(log)
    done = []
    for next_one in asyncio.as_completed([asyncio.sleep(0.2, "slow"), asyncio.sleep(0, "fast")]):
        done.append(await next_one)
    print(done)
    event = asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    await event.wait()
    print(await asyncio.to_thread(lambda: sum(range(1000))), asyncio.current_task().get_name().startswith("Task"))
asyncio.run(main())
#### dataclasses: nested, frozen, factories, replace and JSON
import json
from dataclasses import asdict, dataclass, field, fields, replace, FrozenInstanceError, InitVar
@dataclass(frozen=True)
class Money:
    amount: int
    currency: str = "EUR"
    def __add__(self, other): return replace(self, amount=self.amount + other.amount)
@dataclass
class Order:
    id: int
    lines: list[Money] = field(default_factory=list, repr=False)
    discount: InitVar[int] = 0
    total: Money = field(init=False)
    def __post_init__(self, discount):
        self.total = sum(self.lines, Money(-discount))
o = Order(7, [Money(100), Money(250)], discount=50)
print(o, [f.name for f in fields(o)])
print(json.dumps(asdict(o), sort_keys=True))
try:
    o.total.amount = 1
except FrozenInstanceError as e:
    print(type(e).__name__, e)
print({Money(1), Money(1, "EUR"), Money(1, "USD")} == {Money(1), Money(1, "USD")})
@dataclass(slots=True, kw_only=True, order=True)
class Version:
    major: int; minor: int = 0
print(sorted([Version(major=2), Version(major=1, minor=5)])[0], hasattr(o, "__dict__"), hasattr(Version(major=1), "__dict__"))
#### datetime: ISO weeks, durations, quarters and business days
from datetime import date, datetime, timedelta, timezone
import calendar
d = date(2024, 12, 30)
print(d.isocalendar(), d.strftime("%G-W%V-%u"), date.fromisocalendar(2025, 1, 1))
print([(date(2024, m, 1).month - 1) // 3 + 1 for m in (1, 4, 9, 12)])
def add_business_days(day, n):
    while n:
        day += timedelta(days=1)
        n -= day.weekday() < 5
    return day
print(add_business_days(date(2024, 3, 28), 3), calendar.monthrange(2024, 2), calendar.isleap(1900))
a = datetime(2024, 3, 1, 12, tzinfo=timezone.utc); b = datetime.fromisoformat("2024-03-03T01:30:15+02:00")
delta = b - a
print(delta, delta.total_seconds(), divmod(delta, timedelta(hours=1)))
print(b.astimezone(timezone.utc).isoformat(), datetime.strptime("05 Mar 2024 14:30", "%d %b %Y %H:%M"))
print(timedelta(days=-1, hours=3), timedelta(hours=1.5) * 3, datetime.fromtimestamp(0, timezone.utc).strftime("%A %d. %B %Y"))
print(calendar.TextCalendar().formatmonth(2024, 2).splitlines()[2])
#### pathlib: a small project tree, globbing, renaming and sizes
from pathlib import Path, PurePosixPath
import shutil
root = Path("proj")
for name, text in {"src/a.py": "print(1)\n", "src/pkg/b.py": "x = 2\n", "docs/readme.md": "# hi\n", "data/x.csv": "a,b\n1,2\n"}.items():
    p = root / name
    p.parent.mkdir(parents=True, exist_ok=True)
    p.write_text(text, encoding="utf-8")
print(sorted(str(p.relative_to(root)) for p in root.rglob("*.py")))
print(sum(p.stat().st_size for p in root.rglob("*") if p.is_file()), sorted(p.name for p in root.iterdir()))
(root / "docs/readme.md").rename(root / "docs" / "index.md")
print([p.with_suffix(".txt").name for p in root.glob("docs/*")], (root / "src/../src/a.py").resolve().relative_to(Path.cwd()))
print(PurePosixPath("/a/b.tar.gz").suffixes, PurePosixPath("/a/b") / "../c", PurePosixPath("x/y/z").parts, Path("~").expanduser() == Path.home())
shutil.copytree(root / "src", root / "copy"); shutil.rmtree(root / "src")
print(sorted(p.as_posix() for p in root.rglob("*.py")), (root / "src").exists())
try:
    (root / "none.txt").read_text()
except FileNotFoundError as e:
    print(e.errno, e.filename)
#### generators: send, throw, delegation, windows and a coroutine accumulator
from collections import deque
from itertools import islice
def averager():
    total = count = 0
    value = None
    while True:
        try:
            value = yield (total / count if count else None)
        except ValueError:
            total = count = 0
            continue
        total += value; count += 1
g = averager(); next(g)
print([g.send(x) for x in (10, 20, 60)], g.throw(ValueError), g.send(4))
def windows(items, n):
    it = iter(items); w = deque(islice(it, n), maxlen=n)
    if len(w) == n: yield tuple(w)
    for x in it:
        w.append(x); yield tuple(w)
print(list(windows("abcde", 3)))
def flatten(x):
    if isinstance(x, (list, tuple)):
        for y in x: yield from flatten(y)
    else: yield x
print(list(flatten([1, [2, (3, [4])], 5])))
def child():
    got = yield 1
    return f"child got {got}"
def parent():
    result = yield from child()
    yield result
p = parent(); print(next(p), p.send("x"))
g.close()
#### a small expression parser and evaluator
import ast, operator, re
OPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg}
def evaluate(text):
    def go(n):
        match n:
            case ast.Expression(body=b): return go(b)
            case ast.Constant(value=int() | float() as v): return v
            case ast.BinOp(left=a, op=o, right=b): return OPS[type(o)](go(a), go(b))
            case ast.UnaryOp(op=o, operand=a): return OPS[type(o)](go(a))
        raise SyntaxError(f"not allowed: {ast.dump(n)}")
    return go(ast.parse(text, mode="eval"))
print(evaluate("2 + 3 * (4 - 1) ** 2 / -3"))
for bad in ("__import__('os')", "1 +"):
    try:
        evaluate(bad)
    except SyntaxError as e:
        print(e.msg.split("(")[0])
print([m.lastgroup + ":" + m.group() for m in re.finditer(r"(?P<num>\d+)|(?P<op>[-+*/])|(?P<ws>\s+)", "12 + 3")])
print(ast.unparse(ast.parse("x=[i for i in range(3) if i]")))
#### warnings, tracebacks and exception notes as text
import traceback, warnings, sys
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    warnings.warn("old thing", DeprecationWarning)
print([(w.category.__name__, str(w.message)) for w in seen])
def inner(): raise KeyError("k")
try:
    try:
        inner()
    except KeyError as e:
        e.add_note("while reading the settings")
        raise RuntimeError("no settings") from e
except RuntimeError as e:
    print(type(e.__cause__).__name__, e.__cause__.__notes__)
    print("".join(traceback.format_exception_only(e)).strip())
    print([f.name for f in traceback.extract_tb(e.__cause__.__traceback__)][-1])
try:
    sys.exit(3)
except SystemExit as e:
    print("exit", e.code)
print(sys.exc_info())
#### report as a table, with totals and a markdown version
rows = [("widget", 3, 4.5), ("gadget", 10, 12.25), ("thingamajig", 1, 999.0)]
head = ("item", "qty", "price")
width = [max(len(str(r[i])) for r in [head, *rows]) for i in range(3)]
line = lambda r: " | ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(r, width)))
print(line(head)); print("-+-".join("-" * w for w in width))
for r in rows: print(line(r))
print(f"{'total':.<20}{sum(q * p for _, q, p in rows):>12,.2f}")
print("\n".join(["| " + " | ".join(head) + " |", "|---" * 3 + "|"] + ["| " + " | ".join(map(str, r)) + " |" for r in rows]))
print("{0!r:>10}|{1:^9}|{2:+e}|{3:#x}|{4:_}".format("a", "mid", 12345.678, 255, 10**6))
#### inventory with sqlite, a context manager and parameterised queries
import sqlite3
from contextlib import closing
with closing(sqlite3.connect("inventory.db")) as db, db:
    db.row_factory = sqlite3.Row
    db.executescript("CREATE TABLE item(sku TEXT PRIMARY KEY, qty INT CHECK(qty >= 0)); CREATE INDEX by_qty ON item(qty);")
    db.executemany("INSERT INTO item VALUES (:sku, :qty)", [{"sku": s, "qty": q} for s, q in (("a", 5), ("b", 0), ("c", 12))])
    try:
        with db:
            db.execute("UPDATE item SET qty = qty - 6 WHERE sku = ?", ("a",))
    except sqlite3.IntegrityError as e:
        print("refused:", e)
    db.execute("INSERT INTO item VALUES ('a', 1) ON CONFLICT(sku) DO UPDATE SET qty = qty + excluded.qty")
    print([dict(r) for r in db.execute("SELECT * FROM item WHERE qty > ? ORDER BY sku", (0,))], db.total_changes)
    db.create_function("shout", 1, lambda s: s.upper() + "!")
    print(db.execute("SELECT group_concat(shout(sku), ' ') FROM (SELECT sku FROM item ORDER BY sku)").fetchone()[0])
print(sqlite3.connect("inventory.db").execute("SELECT count(*), sum(qty) FROM item").fetchone())
