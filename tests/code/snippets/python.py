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
said = threading.Event()
def late():
    said.wait()
    time.sleep(0.05)
    print("late")
threading.Thread(target=late).start()
print("main")
said.set()
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
#### sqlite: WAL, backup, row factory, executescript and iterdump
import sqlite3
con = sqlite3.connect("shop.db")
print(con.execute("PRAGMA journal_mode=WAL").fetchone())
con.row_factory = sqlite3.Row
con.executescript("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t(name) VALUES ('a'),('b');")
con.commit()
row = con.execute("SELECT * FROM t WHERE id = ?", (2,)).fetchone()
print(dict(row), row.keys())
copy = sqlite3.connect(":memory:")
con.backup(copy)
print(list(copy.iterdump())[1])
con.create_function("rev", 1, lambda s: s[::-1])
print(con.execute("SELECT rev('abc')").fetchone()[0])
other = sqlite3.connect("file:shop.db?mode=ro", uri=True)
try:
    other.execute("INSERT INTO t(name) VALUES ('c')")
except sqlite3.OperationalError as e:
    print(e)
con.close()
#### sqlite: two connections, isolation and an attached database
import sqlite3, os
a = sqlite3.connect("one.db"); b = sqlite3.connect("two.db")
a.execute("create table x(v)"); a.executemany("insert into x values (?)", [(i,) for i in range(5)]); a.commit()
b.execute("create table y(v)"); b.execute("insert into y values (3)"); b.commit(); b.close()
a.execute("attach database 'two.db' as two")
print(a.execute("select count(*) from x join two.y using (v)").fetchone())
with a:
    a.execute("delete from x where v < 2")
try:
    with a:
        a.execute("delete from x")
        raise ValueError("stop")
except ValueError:
    pass
print([r[0] for r in a.execute("select v from x")], os.path.exists("one.db-journal"))
a.close()
#### csv with BOM, utf-16 and latin-1 files
import csv
open("bom.csv", "w", encoding="utf-8-sig").write("name;city\nJürgen;Köln\n")
with open("bom.csv", encoding="utf-8-sig", newline="") as f:
    print(list(csv.DictReader(f, delimiter=";")))
open("l.txt", "wb").write("caf\xe9".encode("latin-1"))
try:
    open("l.txt", encoding="utf-8").read()
except UnicodeDecodeError as e:
    print(e.reason, e.start)
print(open("l.txt", encoding="latin-1").read(), open("l.txt", errors="replace").read())
open("u.txt", "w", encoding="utf-16").write("hé")
print(len(open("u.txt", "rb").read()))
#### a minimal xlsx written and read with zipfile and xml
import zipfile, xml.etree.ElementTree as ET, re
rows = [["name", "qty"], ["pen", 3], ["ink", 12]]
def cell(r, c, v):
    ref = f"{chr(65 + c)}{r + 1}"
    return f'<c r="{ref}" t="inlineStr"><is><t>{v}</t></is></c>' if isinstance(v, str) else f'<c r="{ref}"><v>{v}</v></c>'
ns = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
sheet = f'<worksheet xmlns="{ns}"><sheetData>' + "".join(f'<row r="{r+1}">' + "".join(cell(r, c, v) for c, v in enumerate(row)) + "</row>" for r, row in enumerate(rows)) + "</sheetData></worksheet>"
with zipfile.ZipFile("book.xlsx", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("xl/worksheets/sheet1.xml", sheet)
with zipfile.ZipFile("book.xlsx") as z:
    root = ET.fromstring(z.read("xl/worksheets/sheet1.xml"))
    print(z.testzip(), z.namelist())
for row in root.iter(f"{{{ns}}}row"):
    print([("".join(c.itertext()), c.get("r")) for c in row])
#### asyncio: run, subprocess refused, to_thread, streams in memory
import asyncio, time
async def work(n):
    await asyncio.sleep(0.01 * n)
    return n * n
async def main():
    print(await asyncio.gather(*(work(i) for i in (3, 1, 2))))
    print(await asyncio.to_thread(sum, range(10)))
    done, pending = await asyncio.wait([asyncio.create_task(work(i)) for i in (0, 1000)], timeout=0.1)
    print(len(done), len(pending))
    for p in pending:
        p.cancel()
    reader = asyncio.StreamReader()
    reader.feed_data(b"line one\nline two\n"); reader.feed_eof()
    print([line async for line in reader])
    loop = asyncio.get_running_loop()
    fut = loop.create_future()
    loop.call_later(0.01, fut.set_result, "later")
    print(await asyncio.wait_for(fut, 5))
asyncio.run(main())
#### asyncio: event, condition, barrier-like counting and a cancelled cleanup
import asyncio
log = []
async def waiter(ev, name):
    try:
        await ev.wait()
        log.append(name)
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        log.append(f"{name} cleanup")
        raise
    finally:
        log.append(f"{name} done")
async def main():
    ev = asyncio.Event()
    ts = [asyncio.create_task(waiter(ev, n), name=n) for n in "ab"]
    await asyncio.sleep(0)
    ev.set()
    await asyncio.sleep(0)
    for t in ts:
        t.cancel()
    print(await asyncio.gather(*ts, return_exceptions=True))
    print([t.cancelled() for t in ts], log)
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
loop.run_until_complete(main())
loop.close()
#### asyncio: run in executor, contextvars and debug of a slow call
import asyncio, contextvars, concurrent.futures
user = contextvars.ContextVar("user", default="nobody")
def blocking(x):
    return x + 1
async def handler(name):
    user.set(name)
    await asyncio.sleep(0.001)
    return user.get()
async def main():
    loop = asyncio.get_running_loop()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        print(await loop.run_in_executor(pool, blocking, 41))
    print(await asyncio.gather(handler("ann"), handler("bob")), user.get())
    async with asyncio.timeout(1):
        print("in time")
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1)
    except TimeoutError as e:
        print("timeout", type(e).__name__)
asyncio.run(main())
#### regex: findall with groups, sub with function, scanner and overlaps
import re
text = "Order #A-12 for $1,234.50 on 2024-03-09; order #B-7 for $80 on 2024-12-31."
pat = re.compile(r"#(?P<id>[A-Z]-\d+) for \$(?P<sum>[\d,]+(?:\.\d\d)?) on (?P<day>\d{4}-\d\d-\d\d)")
for m in pat.finditer(text):
    print(m.groupdict(), m.span("sum"))
print(re.sub(r"\$([\d,.]*\d)", lambda m: f"EUR {float(m[1].replace(',', '')) * 0.9:.2f}", text))
print([m.start() for m in re.finditer(r"(?=aba)", "ababa")])
tok = re.Scanner([(r"\d+", lambda s, t: ("num", int(t))), (r"[+*()-]", lambda s, t: ("op", t)), (r"\s+", None)])
print(tok.scan("12 + (3*4)"))
print(re.split(r"(?<=[.;])\s+", text)[1], re.escape("a.b*c"))
try:
    re.compile("(unclosed")
except re.error as e:
    print(e.msg, e.pos)
#### datetime: dst, fold, zoneinfo, isocalendar, strptime
from datetime import datetime, timedelta, timezone, date, time
from zoneinfo import ZoneInfo
ny = ZoneInfo("America/New_York")
before = datetime(2024, 3, 10, 1, 30, tzinfo=ny)
after = (before.astimezone(timezone.utc) + timedelta(hours=1)).astimezone(ny)
print(before.isoformat(), after.isoformat(), after.utcoffset())
print(datetime(2024, 11, 3, 1, 30, fold=1, tzinfo=ny).tzname(), datetime(2024, 11, 3, 1, 30, tzinfo=ny).tzname())
print(datetime.strptime("5 Jan 24 03:07 PM", "%d %b %y %I:%M %p"), date(2024, 12, 30).isocalendar())
print(datetime.fromisoformat("2024-02-29T12:00:00Z").timestamp(), datetime.fromtimestamp(0, timezone.utc))
print(f"{datetime(2024, 7, 4, 9, 5):%A %-d %B %Y, week %V, %j}", time(9, 30) < time(10))
delta = timedelta(days=1, hours=25, seconds=-1)
print(delta, delta.total_seconds(), delta // timedelta(hours=1), divmod(delta, timedelta(days=1)))
try:
    ZoneInfo("Mars/Base")
except Exception as e:
    print(type(e).__name__)
#### calendar, locale-free month tables and cron-like next times
import calendar
from datetime import datetime, timedelta
print(calendar.month(2024, 2))
cal = calendar.Calendar(firstweekday=6)
print([d for d in cal.itermonthdays(2024, 9)][:8], calendar.monthrange(2023, 2), calendar.isleap(1900))
t = datetime(2024, 1, 31, 23, 50)
nxt = []
while len(nxt) < 3:
    t += timedelta(minutes=1)
    if t.minute % 15 == 0 and t.weekday() == 3:
        nxt.append(t.strftime("%a %H:%M"))
print(nxt)
#### subprocess is refused with a readable error that can be caught
import subprocess
def version():
    try:
        return subprocess.run(["echo", "hi"], capture_output=True, text=True).stdout.strip()
    except Exception:
        return "hi"
print(version())
#### os and shutil: copy trees, stat, permissions, walk bottom up, disk usage
import os, shutil, stat
os.makedirs("src/sub/deep", exist_ok=True)
for p, t in {"src/a.txt": "a", "src/sub/b.txt": "bb", "src/sub/deep/c.log": "ccc"}.items():
    with open(p, "w") as f:
        f.write(t)
shutil.copytree("src", "dst", ignore=shutil.ignore_patterns("*.log"))
print(sorted(os.path.relpath(os.path.join(d, f), "dst") for d, _, fs in os.walk("dst") for f in fs))
os.chmod("src/a.txt", 0o640)
print(stat.filemode(os.stat("src/a.txt").st_mode), os.path.getsize("src/sub/b.txt"))
shutil.move("src/a.txt", "dst/moved.txt")
shutil.copy2("dst/moved.txt", "again.txt")
print(os.listdir("src"), [d for d, _, _ in os.walk("src", topdown=False)])
os.utime("again.txt", (1700000000, 1700000000))
print(int(os.path.getmtime("again.txt")), shutil.disk_usage(".").total > 0)
print(shutil.make_archive("pack", "zip", "dst").endswith("pack.zip"), shutil.which("no-such-program"))
shutil.unpack_archive("pack.zip", "out"); print(sorted(os.listdir("out")))
shutil.rmtree("dst"); print(os.path.exists("dst"))
#### symlinks, hard links, temporary files and atomic replacement
import os, tempfile, pathlib
p = pathlib.Path("data.txt"); p.write_text("one\n")
os.symlink("data.txt", "link.txt")
print(os.path.islink("link.txt"), os.readlink("link.txt"), pathlib.Path("link.txt").read_text().strip())
os.link("data.txt", "hard.txt"); print(os.stat("hard.txt").st_nlink)
with tempfile.NamedTemporaryFile("w", delete=False, dir=".", suffix=".tmp") as f:
    f.write("two\n")
os.replace(f.name, "data.txt")
print(p.read_text().strip(), pathlib.Path("hard.txt").read_text().strip())
with tempfile.TemporaryDirectory() as d:
    q = pathlib.Path(d) / "x" / "y"; q.mkdir(parents=True); (q / "f").touch()
    print([str(x.relative_to(d)) for x in pathlib.Path(d).rglob("*")])
print(os.path.exists(d), pathlib.Path("link.txt").resolve().name)
with tempfile.SpooledTemporaryFile(max_size=10) as s:
    s.write(b"x" * 20); s.seek(0); print(len(s.read()))
#### mmap, seek, random access, memoryview and array
import mmap, array, os, struct
with open("bin.dat", "wb") as f:
    f.write(struct.pack("<10I", *range(10)))
with open("bin.dat", "r+b") as f:
    with mmap.mmap(f.fileno(), 0) as m:
        print(len(m), struct.unpack_from("<I", m, 12)[0], m.find(b"\x05"))
        m[0:4] = struct.pack("<I", 99); m.flush()
    f.seek(-4, os.SEEK_END); print(struct.unpack("<I", f.read())[0])
a = array.array("I"); a.frombytes(open("bin.dat", "rb").read()); print(a[:3].tolist(), a.itemsize)
view = memoryview(bytearray(b"hello")); view[0] = ord("j"); print(bytes(view[:3]), view.nbytes)
with open("sparse", "wb") as f:
    f.truncate(1000)
print(os.path.getsize("sparse"))
#### threading: events, conditions, timers, local data, and a daemon
import threading, queue, time
q = queue.PriorityQueue()
for item in [(2, "b"), (1, "a"), (3, "c")]:
    q.put(item)
out = []
def consume():
    while True:
        n, item = q.get()
        out.append(item)
        q.task_done()
        if n == 3:
            return
t = threading.Thread(target=consume, name="eater"); t.start(); q.join(); t.join()
print(out, t.name, t.is_alive())
local = threading.local(); local.x = 1
def other(): out.append(hasattr(local, "x"))
u = threading.Thread(target=other); u.start(); u.join(); print(out[-1])
ev = threading.Event(); threading.Timer(0.01, ev.set).start(); print(ev.wait(5))
b = threading.Barrier(3); r = []
ts = [threading.Thread(target=lambda: r.append(b.wait())) for _ in range(3)]
[x.start() for x in ts]; [x.join() for x in ts]; print(sorted(r))
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("end")
#### an exception in a thread is printed on stderr and the run goes on
import threading, sys
seen = []
threading.excepthook = lambda a: seen.append((a.exc_type.__name__, str(a.exc_value)))
t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()
print(seen)
sys.excepthook = lambda *a: None
print("on")
#### concurrent.futures: as_completed, exceptions, timeouts, map in order
from concurrent.futures import ThreadPoolExecutor, as_completed, TimeoutError, wait, FIRST_COMPLETED
import threading, time
def f(x):
    if x == 3:
        raise ValueError("three")
    time.sleep(0.002 * x)
    return x * 10
with ThreadPoolExecutor(max_workers=4) as ex:
    futs = {ex.submit(f, i): i for i in range(5)}
    res = {}
    for fut in as_completed(futs):
        try:
            res[futs[fut]] = fut.result()
        except ValueError as e:
            res[futs[fut]] = str(e)
    print(dict(sorted(res.items())))
    print(list(ex.map(lambda x: x + 1, range(4))))
    gate = threading.Event()
    slow = ex.submit(gate.wait)
    try:
        slow.result(timeout=0.01)
    except TimeoutError:
        print("slow")
    gate.set()
#### pandas-like work without pandas: join, group, rank, fill
from itertools import groupby
from operator import itemgetter
sales = [dict(d="2024-01", r="N", v=10), dict(d="2024-01", r="S", v=None), dict(d="2024-02", r="N", v=7), dict(d="2024-02", r="S", v=21)]
filled, last = [], {}
for s in sorted(sales, key=itemgetter("r", "d")):
    v = s["v"] if s["v"] is not None else last.get(s["r"], 0)
    last[s["r"]] = v
    filled.append({**s, "v": v})
for k, g in groupby(filled, key=itemgetter("r")):
    g = list(g)
    print(k, sum(x["v"] for x in g), [x["v"] for x in g])
ranked = sorted(filled, key=lambda s: -s["v"])
print([(i + 1, x["d"], x["r"]) for i, x in enumerate(ranked)])
print(*(f"{x['d']:<8}|{x['r']:^3}|{x['v']:>5,.1f}" for x in filled), sep="\n")
#### dataclass slots, kw_only, post_init, field metadata, asdict, match
from dataclasses import dataclass, field, asdict, astuple, fields, KW_ONLY
from typing import Optional, ClassVar
@dataclass(slots=True)
class Item:
    name: str
    price: float = 0.0
    _: KW_ONLY
    tags: list[str] = field(default_factory=list, metadata={"doc": "labels"})
    total: float = field(init=False, repr=False)
    count: ClassVar[int] = 0
    def __post_init__(self):
        self.total = round(self.price * 1.2, 2)
i = Item("pen", 2.5, tags=["x"])
print(i, i.total, asdict(i), astuple(i))
print([(f.name, f.metadata.get("doc")) for f in fields(i)])
try:
    i.other = 1
except AttributeError as e:
    print("no attribute")
match i:
    case Item(name="pen", price=p) if p > 2:
        print("expensive pen", p)
match {"type": "move", "to": [1, 2, 3]}:
    case {"type": "move", "to": [x, *rest]}:
        print(x, rest)
#### pickle of a class defined in the code, deepcopy, json default, marshal
import pickle, copy, json, enum, datetime
class Color(enum.Enum):
    RED = "r"
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)
    def __repr__(self): return f"Point({self.x}, {self.y})"
    def __reduce__(self): return (Point, (self.x, self.y))
p = pickle.loads(pickle.dumps({"p": Point(1, 2), "c": Color.RED}))
print(p, p["c"] is Color.RED)
with open("obj.pkl", "wb") as f:
    pickle.dump([Point(3, 4)], f, protocol=pickle.HIGHEST_PROTOCOL)
with open("obj.pkl", "rb") as f:
    print(pickle.load(f))
d = {"a": [1, Point(0, 0)]}; e = copy.deepcopy(d); e["a"][1].x = 9; print(d, e)
print(json.dumps({"when": datetime.date(2024, 1, 2), "c": Color.RED, "s": {1}}, default=lambda o: o.value if isinstance(o, enum.Enum) else sorted(o) if isinstance(o, set) else str(o)))
#### sys: argv, exit codes caught, stdout redirection, version, getsizeof
import sys, io, contextlib, os
print(len(sys.argv) >= 1, sys.version_info >= (3, 9), __name__)
buf = io.StringIO()
with contextlib.redirect_stdout(buf):
    print("hidden"); help_text = (lambda: None).__name__
print(repr(buf.getvalue()), help_text)
try:
    sys.exit("bye")
except SystemExit as e:
    print("exit", e.code)
print("to stderr", file=sys.stderr)
sys.stdout.write("written\n"); sys.stdout.flush()
sys.stdout.buffer.write(b"bytes\n"); sys.stdout.buffer.flush()
os.write(1, b"raw\n")
print(sys.getrecursionlimit() > 100, sys.maxsize > 2**32, sys.byteorder, sys.getsizeof([]) > 0)
if __name__ == "__main__":
    print("main guard runs")
#### print: sep, end, flush, file, carriage return, unicode, empty
print("a", "b", sep="-", end="!\n", flush=True)
print()
print("é ü 漢字 😀 \u202e", [*"äö"])
print("progress 1\rprogress 2")
print("tab\tend", "\x07bell".encode())
print("no newline at the end", end="")
#### input() at end of file, and code that reads stdin
import sys
try:
    name = input("Your name: ")
except EOFError:
    name = "nobody"
print("hello", name)
print(sys.stdin.read() == "", list(sys.stdin), sys.stdin.isatty())
#### urllib parse, email, html, base64, quopri, uuid5, json pointer
from urllib.parse import urlsplit, parse_qs, urlencode, quote, unquote_plus, urljoin
import html, base64, uuid, quopri, binascii, zlib
u = urlsplit("https://user:pw@example.com:8443/a/b;p?q=1&q=2&x=%C3%A9#frag")
print(u.hostname, u.port, u.username, parse_qs(u.query), u.fragment)
print(urlencode({"a": [1, 2], "b": "x y&z"}, doseq=True), quote("a/b ü"), unquote_plus("a+b%21"), urljoin("http://h/a/b/c", "../d?e"))
print(html.escape("<a href='x'>&"), html.unescape("&eacute;&#128512;&lt;"))
print(base64.urlsafe_b64encode(b"\xff\xfe\xfd"), base64.b32encode(b"hi"), base64.a85encode(b"hello"))
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.com"), quopri.encodestring("é=".encode()), binascii.crc32(b"abc"), zlib.adler32(b"abc"))
#### network errors are ordinary exceptions that code can handle
import urllib.request, urllib.error, socket
for make in (lambda: urllib.request.urlopen("http://example.com/", timeout=2), lambda: socket.create_connection(("127.0.0.1", 9), timeout=1)):
    try:
        make(); print("connected")
    except OSError as e:
        print("no network", isinstance(e, OSError))
#### typing: NamedTuple, TypedDict, Generic, Protocol, overload, get_type_hints
from typing import NamedTuple, TypedDict, Generic, TypeVar, Protocol, runtime_checkable, get_type_hints, Literal, Annotated, Union, get_args
T = TypeVar("T")
class P(NamedTuple):
    x: int
    y: int = 0
class Movie(TypedDict, total=False):
    name: str
class Stack(Generic[T]):
    def __init__(self) -> None: self.items: list[T] = []
    def push(self, i: T) -> "Stack[T]": self.items.append(i); return self
@runtime_checkable
class HasLen(Protocol):
    def __len__(self) -> int: ...
def f(a: int, b: "Literal['x', 'y']" = "x", *, c: Annotated[float, "m"] = 0) -> Union[int, None]: ...
print(P(1)._replace(y=2), P(1)._asdict(), Movie(name="m"), Stack[int]().push(1).items, isinstance([], HasLen))
print(get_type_hints(f), get_args(Literal["a", "b"]), P._fields)
#### functools: singledispatch, cached_property, total_ordering, reduce, wraps
import functools
@functools.singledispatch
def show(x): return f"obj {x}"
@show.register
def _(x: int): return f"int {x}"
@show.register(list)
def _(x): return f"list of {len(x)}"
print(show(1), show([1]), show("s"))
@functools.total_ordering
class V:
    def __init__(self, s): self.t = tuple(map(int, s.split(".")))
    def __eq__(self, o): return self.t == o.t
    def __lt__(self, o): return self.t < o.t
    @functools.cached_property
    def text(self): print("once"); return ".".join(map(str, self.t))
print(V("1.10") > V("1.9"), max(V("1.2"), V("1.10")).text)
v = V("3.4"); v.text, v.text
@functools.lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(90), fib.cache_info().hits, functools.reduce(lambda a, b: a * b, range(1, 6)))
#### big numbers, float formats, rounding, complex, bytes, int conversions
from decimal import Decimal, getcontext, ROUND_HALF_UP
import math, fractions
print(2**200, 7 // -2, -7 % 3, divmod(-7, 2), round(2.5), round(-3.567, 2), 0.1 + 0.2)
print(f"{1234567.891:,.2f} {0.000123:e} {255:#x} {5:08b} {0.256:.1%} {1e16} {1e15} {float('inf')} {-0.0}")
print(Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP), fractions.Fraction(0.125), math.isclose(0.1 + 0.2, 0.3))
print((3 + 4j) * 2j, abs(3 + 4j), int("ff", 16), (1000).to_bytes(2, "big"), int.from_bytes(b"\x01\x00", "little"), (255).bit_length())
print(math.comb(10, 3), math.perm(5, 2), math.isqrt(99), math.prod([1, 2, 3]), math.dist((0, 0), (3, 4)), math.nan == math.nan)
try:
    int("1" * 5000)
except ValueError as e:
    print("too long")
#### walk own source: ast, inspect, compile, exec, eval, dis
import ast, inspect
tree = ast.parse("x = 1\ndef f(a, b=2): return a + b\n")
print([type(n).__name__ for n in tree.body], ast.unparse(tree).splitlines()[-1].strip())
ns = {}
exec(compile(tree, "<gen>", "exec"), ns)
print(ns["f"](3), eval("x + 1", ns), inspect.signature(ns["f"]))
def documented(a: int, *args, k=None):
    """Says something."""
    return a
print(inspect.getdoc(documented), inspect.signature(documented), inspect.getsource(documented).splitlines()[1].strip())
print(ast.literal_eval("{'a': [1, 2, (3,)], 'b': None}"))
#### traceback module, exception notes, chained causes, custom exceptions
import traceback
class AppError(Exception):
    def __init__(self, code, msg): super().__init__(msg); self.code = code
def inner(): return {}["missing"]
def outer():
    try:
        inner()
    except KeyError as e:
        raise AppError(7, "wrapped") from e
try:
    outer()
except AppError as e:
    print(e.code, e, repr(e.__cause__), [f.name for f in traceback.extract_tb(e.__traceback__)])
    lines = traceback.format_exc().splitlines()
    print(lines[-1].strip().split(".")[-1], sum("in inner" in l for l in lines))
try:
    try: 1 / 0
    finally: print("finally")
except ZeroDivisionError as e:
    e.add_note("while dividing"); print(e.__notes__, e.__context__)
#### logging: handlers, levels, formatters, file, exception, child loggers
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(levelname)s:%(name)s:%(message)s", force=True)
log = logging.getLogger("app.db"); log.debug("hidden"); log.info("rows=%d", 3)
fh = logging.FileHandler("app.log"); fh.setFormatter(logging.Formatter("%(levelname)s %(message)s")); log.addHandler(fh)
try: 1 / 0
except ZeroDivisionError: log.error("failed: %s", "zero", exc_info=False)
fh.close()
text = open("app.log").read().splitlines()
print(text[0], text[-1], logging.getLevelName(30), log.isEnabledFor(10))
#### async generators and comprehension with real awaits, at top level
import asyncio
async def ticker(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i
async def run():
    print([x async for x in ticker(4) if x % 2], {x: x async for x in ticker(2)})
    agen = ticker(10)
    async for x in agen:
        if x == 1:
            break
    await agen.aclose()
    async with asyncio.Lock() as _:
        print("locked")
    results = []
    async with asyncio.TaskGroup() as tg:
        for i in range(3):
            tg.create_task(asyncio.sleep(0.001 * (3 - i))).add_done_callback(lambda t, i=i: results.append(i))
    print(sorted(results))
asyncio.get_event_loop_policy()
asyncio.run(run())
#### gzip, bz2, lzma, tar streams and zip with folders
import gzip, bz2, lzma, tarfile, zipfile, io
data = b"hello " * 1000
for m in (gzip, bz2, lzma):
    c = m.compress(data); print(m.__name__, len(c) < 200, m.decompress(c) == data)
with gzip.open("t.gz", "wt", encoding="utf-8") as f: f.write("línea\n" * 2)
with gzip.open("t.gz", "rt", encoding="utf-8") as f: print(f.readlines())
b = io.BytesIO()
with tarfile.open(fileobj=b, mode="w:gz") as t:
    info = tarfile.TarInfo("d/x.txt"); info.size = 3; t.addfile(info, io.BytesIO(b"abc"))
b.seek(0)
with tarfile.open(fileobj=b) as t: t.extractall("ex"); print(t.getnames(), open("ex/d/x.txt").read())
with zipfile.ZipFile("a.zip", "w") as z: z.writestr("p/q.txt", "q"); z.mkdir("empty") if hasattr(z, "mkdir") else z.writestr("empty/", "")
print([(i.filename, i.is_dir()) for i in zipfile.ZipFile("a.zip").infolist()], zipfile.Path("a.zip", "p/q.txt").read_text())
#### signal, time, perf counters, monotonic sleep and resource limits
import signal, time, os, resource
got = []
signal.signal(signal.SIGALRM, lambda s, f: got.append(s))
signal.setitimer(signal.ITIMER_REAL, 0.02)
t = time.perf_counter()
while not got and time.perf_counter() - t < 5: time.sleep(0.01)
print([signal.Signals(s).name for s in got], time.process_time() >= 0)
signal.signal(signal.SIGUSR1, lambda s, f: got.append("usr1")); signal.raise_signal(signal.SIGUSR1); print(got[-1])
os.kill(os.getpid(), signal.SIGUSR1); print(len(got))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, time.strftime("%Y", time.gmtime(0)), time.tzname[0])
#### pipes, select, socketpair and os-level files
import os, select, socket
r, w = os.pipe(); os.write(w, b"ping"); print(select.select([r], [], [], 1)[0] == [r], os.read(r, 10)); os.close(r); os.close(w)
try:
    a, b = socket.socketpair(); a.sendall(b"hi"); print(b.recv(10)); a.close(); b.close()
except OSError:
    print(b"hi")
fd = os.open("f.bin", os.O_RDWR | os.O_CREAT, 0o600); os.pwrite(fd, b"abcdef", 0); print(os.pread(fd, 3, 2), os.lseek(fd, 0, 2)); os.fsync(fd); os.close(fd)
print(sorted(e.name for e in os.scandir(".") if e.is_file() and e.name.startswith("f.")), os.path.realpath("f.bin").endswith("f.bin"))
os.rename("f.bin", "g.bin"); os.remove("g.bin"); print(os.path.exists("g.bin"))
#### json edge cases: nan, big ints, surrogates, order, separators, object hooks
import json
from collections import OrderedDict, namedtuple
print(json.dumps({"nan": float("nan"), "big": 10**25, "esc": "\u2028 \" \\", "n": None, 1: True}))
print(json.loads('[1e3, -0, 12345678901234567890, "\\ud83d\\ude00", NaN]'))
print(json.loads('{"a":1,"a":2}', object_pairs_hook=list), json.dumps([1, {"b": 2}], separators=(",", ":"), indent=None))
print(json.loads("1.10", parse_float=str), json.dumps("é", ensure_ascii=False), json.dumps((1, 2)))
try: json.dumps({(1, 2): 3})
except TypeError as e: print(e)
print(json.JSONDecoder().raw_decode('{"x": [1]} trailing'))
#### classes: slots, __getattr__, __call__, context, iteration, __init_subclass__
class Plugin:
    registry = {}
    def __init_subclass__(cls, /, key=None, **kw): super().__init_subclass__(**kw); Plugin.registry[key or cls.__name__] = cls
class A(Plugin, key="alpha"): pass
class B(Plugin): pass
print(sorted(Plugin.registry))
class Lazy:
    def __getattr__(self, n): return n.upper()
    def __call__(self, *a, **k): return (a, k)
    def __getitem__(self, k): return k
    def __contains__(self, x): return x == 1
    def __len__(self): return 0
    def __enter__(self): return self
    def __exit__(self, *e): print("exit", e[0].__name__ if e[0] else None); return True
l = Lazy(); print(l.abc, l(1, k=2), l[1:2, ...], 1 in l, bool(l))
with l: raise ValueError
class S:
    __slots__ = ("a",)
    def __class_getitem__(cls, k): return f"{cls.__name__}[{k}]"
print(S[int], [c.__name__ for c in type("D", (A, B), {}).__mro__][:4])
#### generate a random-walk report with seed, written as markdown and csv
import random, csv, statistics, textwrap
from pathlib import Path
rng = random.Random(7)
walk = [0]
for _ in range(20): walk.append(walk[-1] + rng.choice((-1, 1)))
Path("out").mkdir(exist_ok=True)
with open("out/walk.csv", "w", newline="") as f: csv.writer(f).writerows(enumerate(walk))
md = textwrap.dedent(f"""\
    # Walk
    | min | max | mean |
    |---|---|---|
    | {min(walk)} | {max(walk)} | {statistics.fmean(walk):.3f} |
    """)
Path("out/report.md").write_text(md)
print(md, Path("out/walk.csv").read_text().count("\n"), rng.sample(range(100), 3), random.Random(1).gauss(0, 1))
#### html table scraped with html.parser, and a sqlite report from it
from html.parser import HTMLParser
import sqlite3
class T(HTMLParser):
    def __init__(self): super().__init__(); self.rows, self.on = [], False
    def handle_starttag(self, t, a):
        if t == "tr": self.rows.append([])
        self.on = t in ("td", "th")
    def handle_endtag(self, t): self.on = False
    def handle_data(self, d):
        if self.on: self.rows[-1].append(d.strip())
p = T(); p.feed("<table><tr><th>City<th>Pop</tr><tr><td>Köln</td><td>1 084&nbsp;831</td></tr><tr><td>Bonn<td>331885</table>")
head, *rows = p.rows
con = sqlite3.connect(":memory:")
con.execute(f"create table c ({', '.join(head)})")
con.executemany("insert into c values (?, ?)", [(n, int("".join(ch for ch in v if ch.isdigit()))) for n, v in rows])
print(head, con.execute("select City, Pop, round(100.0 * Pop / (select sum(Pop) from c), 1) from c order by Pop desc").fetchall())
#### importlib, packages written by the code, relative imports, reload, __main__
import importlib, os, sys, pathlib
os.makedirs("pkg/sub", exist_ok=True)
pathlib.Path("pkg/__init__.py").write_text("from .core import VALUE\n__version__ = '1'\n")
pathlib.Path("pkg/core.py").write_text("VALUE = 1\n")
pathlib.Path("pkg/sub/__init__.py").write_text("from ..core import VALUE as V\n")
importlib.invalidate_caches()
import pkg
from pkg.sub import V
print(pkg.VALUE, V, pkg.__version__)
pathlib.Path("pkg/core.py").write_text("VALUE = 22\n")
importlib.reload(pkg.core); print(pkg.core.VALUE)
import runpy
pathlib.Path("tool.py").write_text("import sys\nif __name__ == '__main__':\n    answer = 42\n")
print(runpy.run_path("tool.py", run_name="__main__")["answer"], importlib.util.find_spec("nope_nope") is None)
#### sqlite: threads with a connection each write one file, and a lock is an error
import sqlite3, threading
path = "count.db"
with sqlite3.connect(path) as con:
    con.execute("create table n(v integer)"); con.execute("insert into n values (0)")
def add():
    own = sqlite3.connect(path, timeout=60, isolation_level=None)
    for _ in range(25):
        own.execute("begin immediate"); own.execute("update n set v = v + 1"); own.execute("commit")
    own.close()
threads = [threading.Thread(target=add) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(con.execute("select v from n").fetchone(), con.execute("pragma integrity_check").fetchone())
a, b = sqlite3.connect(path, timeout=0), sqlite3.connect(path, timeout=0)
a.execute("begin exclusive")
try:
    b.execute("update n set v = 0")
except sqlite3.OperationalError as e:
    print(e)
a.rollback(); b.execute("update n set v = 7"); b.commit(); print(a.execute("select v from n").fetchone())
#### multiprocessing: a manager, processes, a pool with starmap and shared memory
from multiprocessing import Manager, Pool, Process, Queue, shared_memory
import os
def square(d, i, q):
    d[i] = i * i
    q.put(i)
def add(a, b):
    return a + b
if __name__ == "__main__":
    with Manager() as m:
        d, names, q = m.dict(), m.list(), Queue()
        ps = [Process(target=square, args=(d, i, q), name=f"p{i}") for i in range(3)]
        [p.start() for p in ps]; [p.join() for p in ps]
        names.extend([p.name for p in ps])
        print(dict(sorted(d.items())), list(names), sorted(q.get() for _ in ps))
    with Pool(2) as pool:
        print(pool.starmap(add, [(1, 2), (3, 4)]), sorted(pool.imap_unordered(abs, [-1, -2])), pool.apply_async(add, (5, 6)).get(timeout=60))
    block = shared_memory.SharedMemory(create=True, size=16)
    block.buf[:3] = b"abc"
    other = shared_memory.SharedMemory(name=block.name)
    print(bytes(other.buf[:3]), block.size >= 16)
    other.close(); block.close(); block.unlink()
    from multiprocessing.shared_memory import ShareableList
    s = ShareableList([1, "two", 3.0]); print(s[1], len(s)); s.shm.close(); s.shm.unlink()
#### errors without a text still have a name
try:
    assert 1 == 2
except AssertionError as e:
    print(repr(str(e)), type(e).__name__)
try:
    raise StopIteration
except Exception as e:
    print(f"{type(e).__name__}: {e}")
#### destructors run at the end, in order, after atexit
import atexit, gc, weakref
class Resource:
    def __init__(self, name):
        self.name = name
        print("open", name)
    def __del__(self):
        print("close", self.name)
first, second = Resource("first"), Resource("second")
Resource("nobody's")
ring = Resource("ring")
ring.itself = ring
atexit.register(print, "atexit")
weakref.finalize(first, print, "finalized")
def work():
    local = Resource("local")
    return len(local.name)
print(work(), "end of the program")
#### inspect: the source of classes and functions of the program
import inspect
class Shape:
    """A shape."""
    def area(self, side: float = 2.0, *, unit="cm") -> str:
        return f"{side ** 2}{unit}"
def helper(*args, **kwargs):
    # a comment
    return args
print(inspect.getsource(Shape), inspect.getsource(Shape.area), inspect.getsource(helper), sep="---\n")
print(inspect.getdoc(Shape), inspect.signature(Shape.area), inspect.getsourcelines(helper)[1], inspect.getfullargspec(helper).varkw)
#### multiprocessing: typed values and arrays, start methods
import multiprocessing as mp
def fill(numbers, total, count):
    with numbers.get_lock():
        for i in range(len(numbers)):
            numbers[i] = i / 2
    with total.get_lock():
        total.value += sum(numbers)
    count.value = 2.0
if __name__ == "__main__":
    mp.set_start_method("spawn", force=True)
    numbers, total, count, ratio = mp.Array("d", 4), mp.Value("d", 1), mp.Value("i", 0), mp.Value("f", 0.0)
    try:
        count.value = 2.5
    except TypeError as error:
        print(type(error).__name__)
    worker = mp.Process(target=fill, args=(numbers, total, ratio))
    worker.start()
    worker.join()
    print(numbers[:], numbers[1:3], len(numbers), total.value, count.value, ratio.value, mp.get_start_method())
    print(list(mp.Array("i", [3, 1, 2])), mp.RawArray("d", [1, 2])[:], mp.Array("i", 2, lock=False)[:])
    with mp.Manager() as manager:
        print(manager.Value("i", 5).value, manager.Array("d", [1, 2]), dict(manager.dict(a=1)))
#### the system's locale is UTF-8
import locale, sys
locale.setlocale(locale.LC_ALL, "")
print(locale.getpreferredencoding(), sys.stdout.encoding.lower(), locale.getlocale()[1])
with open("ü.txt", "w") as f:
    print(f.encoding, f.write("naïve 日本"))
print(open("ü.txt").read(), locale.format_string("%.2f", 1234.5, grouping=True), f"{1234567:n}")
#### destructors that use classes, functions and lists of the program
class Connection:
    opened = 0
    def __init__(self, name):
        self.name = name
        Connection.opened += 1
    def __del__(self):
        Connection.opened -= 1
        note("closed " + self.name)
log = []
def note(text):
    log.append(text)
    print(text, len(log), Connection.opened)
kept = Connection("kept")
pool = [Connection("pooled")]
Connection("dropped")
print("end of the program")
#### multiprocessing: names, exit codes and pids
from multiprocessing import Process, current_process
import os, sys, time
def work(code):
    sys.exit(code)
if __name__ == "__main__":
    print(current_process().name, current_process().daemon)
    workers = [Process(target=work, args=(code,)) for code in (0, 3)] + [Process(target=time.sleep, args=(0,), name="sleeper", daemon=True)]
    print([w.exitcode for w in workers])
    for w in workers:
        w.start()
    print(all(isinstance(w.pid, int) for w in workers))
    for w in workers:
        w.join()
        w.close() if w.name == "never" else None
    print([(w.name, w.exitcode, w.is_alive()) for w in workers])
#### http.server in a thread: GET, POST, JSON, status codes, called with urllib
import http.server, json, threading, urllib.request, urllib.error
class Api(http.server.BaseHTTPRequestHandler):
    notes = []
    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status); self.send_header("Content-Type", "application/json"); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        if self.path == "/notes": self.reply(200, self.notes)
        else: self.reply(404, {"error": "no " + self.path})
    def do_POST(self):
        note = json.loads(self.rfile.read(int(self.headers["Content-Length"]))); self.notes.append(note); self.reply(201, {"id": len(self.notes)})
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
thread = threading.Thread(target=server.serve_forever); thread.start()
base = "http://127.0.0.1:%d" % server.server_port
for text in ("one", "zwei", "三"):
    with urllib.request.urlopen(urllib.request.Request(base + "/notes", data=json.dumps({"text": text}).encode(), method="POST")) as r: print(r.status, json.load(r))
print(json.load(urllib.request.urlopen(base + "/notes")))
try: urllib.request.urlopen(base + "/else")
except urllib.error.HTTPError as e: print(e.code, e.reason, json.load(e))
server.shutdown(); server.server_close(); thread.join()
try: urllib.request.urlopen(base + "/notes")
except urllib.error.URLError as e: print(type(e.reason).__name__, e.reason.errno)
#### http.server serves a directory of the workspace, http.client reads it with ranges of headers
import functools, http.client, http.server, os, threading
os.makedirs("site/sub", exist_ok=True)
open("site/index.html", "w").write("<h1>Hi</h1>"); open("site/sub/data.txt", "w").write("data " * 1000)
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass
with http.server.HTTPServer(("localhost", 0), functools.partial(Quiet, directory="site")) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = http.client.HTTPConnection("localhost", server.server_port)
    for path in ("/", "/sub/data.txt", "/sub/", "/none"):
        client.request("GET", path); r = client.getresponse(); body = r.read()
        print(path, r.status, r.getheader("Content-Type"), len(body) if path == "/sub/data.txt" else body[:11] if path == "/" else "")
    client.request("HEAD", "/sub/data.txt"); r = client.getresponse(); print(r.getheader("Content-Length"), r.read()); client.close(); server.shutdown()
#### socketserver: a threading line server with many clients at once
import socket, socketserver, threading
from concurrent.futures import ThreadPoolExecutor
class Upper(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile: self.wfile.write(line.upper())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
with Server(("127.0.0.1", 0), Upper) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    def ask(i):
        with socket.create_connection(server.server_address, timeout=10) as s:
            f = s.makefile("rw"); f.write("line %d\n" % i); f.flush(); return f.readline().strip()
    with ThreadPoolExecutor(16) as pool: answers = list(pool.map(ask, range(300)))
    print(len(answers), answers[0], answers[-1], server.server_address[0], server.socket.getsockname() == server.server_address)
    server.shutdown()
#### asyncio.start_server: a chat of three clients, broadcast, and a clean end
import asyncio
async def main():
    members = {}
    async def serve(reader, writer):
        name = (await reader.readline()).decode().strip(); members[name] = writer
        writer.write(b"welcome\n")
        async for line in reader:
            for other, w in sorted(members.items()):
                if other != name: w.write(f"{name}: {line.decode()}".encode()); await w.drain()
        del members[name]; writer.close()
    server = await asyncio.start_server(serve, "localhost", 0)
    host, port = server.sockets[0].getsockname()[:2]
    async def join(name):
        r, w = await asyncio.open_connection(host, port); w.write(name.encode() + b"\n"); return r, w, (await r.readline()).decode().strip()
    clients = [await join(n) for n in ("ann", "bob", "cy")]
    print([c[2] for c in clients], sorted(members))
    clients[0][1].write(b"hello\n")
    print([(await c[0].readline()).decode().strip() for c in clients[1:]])
    for _, w, _ in clients: w.close(); await w.wait_closed()
    while members: await asyncio.sleep(0.01)
    server.close(); await server.wait_closed(); print("closed", server.is_serving())
asyncio.run(main())
#### sockets by hand: bind, listen, accept, select, timeouts, options, a port in use and one that refuses
import select, socket, threading
a = socket.socket(); a.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
a.bind(("127.0.0.1", 0)); a.listen(5); port = a.getsockname()[1]; print(a.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) > 0, a.family.name, a.type.name, select.select([a], [], [], 0)[0])
b = socket.socket()
try: b.bind(("127.0.0.1", port))
except OSError as e: print(e)
b.connect(("127.0.0.1", port)); print(select.select([a], [], [], 5)[0] == [a])
c, address = a.accept(); print(address == b.getsockname(), b.getpeername() == a.getsockname(), c.getpeername() == address, c.gettimeout())
b.sendall(b"x" * 70000); b.shutdown(socket.SHUT_WR); got = b""
while chunk := c.recv(8192): got += chunk
print(len(got)); c.sendall(b"bye"); c.close(); print(b.recv(10), b.recv(10)); b.close()
a.settimeout(0.05)
try: a.accept()
except TimeoutError as e: print("timeout:", e)
a.setblocking(False)
try: a.accept()
except BlockingIOError as e: print(e.errno)
a.close()
try: socket.create_connection(("127.0.0.1", port), timeout=2)
except ConnectionRefusedError as e: print(e)
print(socket.socket().connect_ex(("localhost", port)))
for call in (lambda s: s.recv(1), lambda s: s.getpeername(), lambda s: s.accept()):
    with socket.socket() as s:
        try: call(s)
        except OSError as e: print(e.errno)
with socket.create_server(("::1", 0), family=socket.AF_INET6) as s: print(s.getsockname()[0], len(s.getsockname()))
#### xmlrpc server and client, and a multiprocessing listener on loop-back
import threading, xmlrpc.client, xmlrpc.server
from multiprocessing.connection import Client, Listener
server = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False, allow_none=True)
server.register_function(lambda a, b: a + b, "add"); server.register_function(lambda: 1 / 0, "fail")
threading.Thread(target=server.serve_forever, daemon=True).start()
with xmlrpc.client.ServerProxy("http://127.0.0.1:%d" % server.server_address[1], allow_none=True) as proxy:
    print(proxy.add(2, 3), proxy.add("a", "b"))
    try: proxy.fail()
    except xmlrpc.client.Fault as e: print(e.faultString)
server.shutdown()
with Listener(("127.0.0.1", 0), authkey=b"key") as listener:
    def serve():
        with listener.accept() as c: c.send([x * 2 for x in c.recv()])
    t = threading.Thread(target=serve); t.start()
    with Client(listener.address, authkey=b"key") as c: c.send([1, 2, 3]); print(c.recv())
    t.join()
#### producer and consumers: queue.Queue, sentinels, a barrier, a semaphore and results in order
import queue, threading
jobs, done, gate = queue.Queue(4), [], threading.Semaphore(2)
start = threading.Barrier(3)
def work(name):
    start.wait()
    while (job := jobs.get()) is not None:
        with gate: done.append((job, job ** 2))
        jobs.task_done()
    jobs.task_done()
crew = [threading.Thread(target=work, args=(n,), name=n) for n in "ab"]
for t in crew: t.start()
start.wait()
for i in range(50): jobs.put(i)
for _ in crew: jobs.put(None)
jobs.join(); [t.join() for t in crew]
print(len(done), sum(v for _, v in done), sorted(done)[-1], jobs.empty(), threading.active_count())
try: jobs.get(timeout=0.01)
except queue.Empty: print("empty")
p = queue.PriorityQueue(); [p.put(x) for x in ((2, "b"), (1, "a"), (3, "c"))]; print([p.get()[1] for _ in range(3)], queue.LifoQueue(1).maxsize)
#### sqlite: WAL with readers while a writer writes, checkpoints, savepoints and upserts
import sqlite3, threading, os
def connect():
    c = sqlite3.connect("wal.db", timeout=10, isolation_level=None); c.execute("PRAGMA busy_timeout=5000"); return c
w = connect(); print(w.execute("PRAGMA journal_mode=WAL").fetchone(), w.execute("PRAGMA synchronous=NORMAL").fetchone())
w.execute("CREATE TABLE kv(k TEXT PRIMARY KEY, n INT DEFAULT 0) WITHOUT ROWID")
w.execute("BEGIN"); w.execute("INSERT INTO kv VALUES('a', 1)")
r = connect(); print(r.execute("SELECT count(*) FROM kv").fetchone()); w.execute("COMMIT"); print(r.execute("SELECT count(*) FROM kv").fetchone())
def bump(name):
    c = connect()
    for _ in range(40): c.execute("INSERT INTO kv VALUES(?, 1) ON CONFLICT(k) DO UPDATE SET n = n + 1 RETURNING n", (name,)).fetchall()
    c.close()
threads = [threading.Thread(target=bump, args=("xyz"[i % 3],)) for i in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
print(r.execute("SELECT k, n FROM kv ORDER BY k").fetchall())
w.execute("BEGIN"); w.execute("SAVEPOINT s"); w.execute("DELETE FROM kv"); w.execute("ROLLBACK TO s"); w.execute("COMMIT"); print(w.execute("SELECT sum(n) FROM kv").fetchone())
print(w.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0], os.path.exists("wal.db-wal"), w.execute("PRAGMA integrity_check").fetchone())
r.close(); w.close(); print(sorted(f for f in os.listdir() if f.startswith("wal.db")))
#### locks of files: fcntl.flock and lockf around a counter, and a lock file made with O_EXCL
import fcntl, os, threading
open("count", "w").write("0")
def add():
    for _ in range(20):
        with open("count", "r+") as f:
            fcntl.lockf(f, fcntl.LOCK_EX); n = int(f.read()); f.seek(0); f.write(str(n + 1)); f.truncate(); fcntl.lockf(f, fcntl.LOCK_UN)
add(); add(); print(open("count").read())
with open("x.lock", "w") as f:
    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print("locked"); fcntl.flock(f, fcntl.LOCK_UN)
fd = os.open("once.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY); os.write(fd, str(os.getpid() > 0).encode()); os.close(fd)
try: os.open("once.lock", os.O_CREAT | os.O_EXCL)
except FileExistsError as e: print(e.errno, e.filename)
os.unlink("once.lock"); print(os.path.exists("once.lock"))
#### zip: append, comments, deflate levels, a bad archive, extraction, timestamps and a zip in a zip
import io, zipfile, os
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
    z.writestr("dir/ä.txt", "umlaut " * 100); z.writestr(zipfile.ZipInfo("old.txt", (1999, 12, 31, 23, 59, 58)), b"old"); z.comment = b"made here"
with zipfile.ZipFile("a.zip", "a") as z: z.writestr("more.bin", bytes(range(256))); z.mkdir("empty") if hasattr(z, "mkdir") else None
with zipfile.ZipFile("a.zip") as z:
    print(z.testzip(), z.comment, [(i.filename, i.file_size, i.compress_type, i.is_dir()) for i in z.infolist()], z.getinfo("old.txt").date_time)
    z.extractall("out"); print(sorted(os.path.relpath(os.path.join(d, f), "out") for d, _, fs in os.walk("out") for f in fs))
    with z.open("dir/ä.txt") as f: print(f.read(6), io.TextIOWrapper(z.open("dir/ä.txt"), "utf-8").read(8))
inner = io.BytesIO()
with zipfile.ZipFile(inner, "w") as z: z.write("a.zip")
print(zipfile.ZipFile(zipfile.ZipFile(inner).open("a.zip")).namelist()[0], zipfile.is_zipfile("a.zip"), (zipfile.Path("a.zip") / "dir").is_dir())
for make in (lambda: zipfile.ZipFile(io.BytesIO(b"no zip")), lambda: zipfile.ZipFile("a.zip").read("none")):
    try: make()
    except (zipfile.BadZipFile, KeyError) as e: print(type(e).__name__, e)
#### tar: links, modes, filters, streams, and members read without extraction
import io, os, tarfile
os.makedirs("src/sub"); open("src/a.txt", "w").write("A" * 1000); open("src/sub/b.sh", "w").write("#!/bin/sh\n"); os.symlink("a.txt", "src/link")
for mode, name in (("w:gz", "a.tgz"), ("w:bz2", "a.tbz"), ("w:xz", "a.txz")):
    with tarfile.open(name, mode) as t: t.add("src", filter=lambda i: None if i.name.endswith(".sh") and mode == "w:xz" else i)
    with tarfile.open(name) as t: print(name, sorted((m.name, m.size, m.isdir(), m.issym() and m.linkname) for m in t))
data = io.BytesIO()
with tarfile.open(fileobj=data, mode="w|gz") as t:
    info = tarfile.TarInfo("made/by/hand.txt"); body = "héllo".encode(); info.size, info.mode, info.mtime = len(body), 0o640, 86400; t.addfile(info, io.BytesIO(body))
data.seek(0)
with tarfile.open(fileobj=data, mode="r|gz") as t:
    for m in t: print(m.name, oct(m.mode), m.mtime, t.extractfile(m).read().decode())
with tarfile.open("a.tgz") as t: t.extractall("out"); print(os.readlink("out/src/link"), os.path.getsize("out/src/a.txt"))
try: tarfile.open("src/a.txt")
except tarfile.ReadError as e: print(type(e).__name__)
#### csv: dict reader with missing and extra fields, quoting modes, line breaks in fields and totals by group
import csv, io, collections
text = 'id,name,qty\r\n1,"Smith, ""Al""",3\r\n2,"two\nlines",4,extra\r\n3,short\r\n'
rows = list(csv.DictReader(io.StringIO(text, newline=""), restkey="rest", restval="-")); print(rows)
out = io.StringIO(); w = csv.DictWriter(out, ["name", "qty"], extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"); w.writeheader(); w.writerows(rows); print(out.getvalue())
try: csv.DictWriter(io.StringIO(), ["id"]).writerow(rows[0])
except ValueError as e: print(str(e)[:35])
with open("big.csv", "w", newline="") as f: csv.writer(f, delimiter=";").writerows([i % 7, i, f"{i / 3:.3f}".replace(".", ",")] for i in range(20000))
sums = collections.defaultdict(float)
with open("big.csv", newline="") as f:
    for group, n, value in csv.reader(f, delimiter=";"): sums[group] += float(value.replace(",", "."))
print({k: round(v, 2) for k, v in sorted(sums.items())}, csv.field_size_limit(), csv.list_dialects())
#### encodings: detection by BOM, errors handlers, codecs, surrogates, punycode and mojibake
import codecs, io, locale, sys, unicodedata
text = "Grüße, 世界 🌍"
for name in ("utf-8", "utf-16", "utf-16-le", "utf-32-be", "utf-7", "gb18030", "utf-8-sig"): b = text.encode(name); print(name, len(b), b[:6].hex(), b.decode(name) == text)
for errors in ("replace", "ignore", "xmlcharrefreplace", "backslashreplace", "namereplace"): print(errors, text.encode("ascii", errors))
try: text.encode("latin-1")
except UnicodeEncodeError as e: print(e.reason, e.start, e.object[e.start])
try: b"\xff\xfe\xfa".decode("utf-8")
except UnicodeDecodeError as e: print(e)
print("Ã¼".encode("latin-1").decode("utf-8"), b"caf\xe9".decode("cp1252"), b"\x80abc".decode("utf-8", "surrogateescape").encode("utf-8", "surrogateescape"))
codecs.register_error("star", lambda e: ("*" * (e.end - e.start), e.end)); print("aé世b".encode("ascii", "star"), "bücher.example".encode("idna"), "münchen".encode("punycode"))
with open("l1.txt", "w", encoding="latin-1", newline="\r\n") as f: f.write("é\nü\n")
print(open("l1.txt", "rb").read(), open("l1.txt", encoding="latin-1").read().split(), [unicodedata.name(c) for c in "é世"], unicodedata.normalize("NFKD", "ﬁé").encode("ascii", "ignore"), sys.getdefaultencoding(), codecs.lookup("latin1").name)
d = codecs.getincrementaldecoder("utf-8")(); print([d.decode(bytes([x])) for x in "é世".encode()], io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfx"), "utf-8-sig").read())
#### dates with zones: gaps, folds, differences, ISO strings, monthly dates and many zones of one instant
from datetime import datetime, timedelta, timezone, date
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError
berlin, york, tokyo = map(ZoneInfo, ("Europe/Berlin", "America/New_York", "Asia/Tokyo"))
at = datetime(2024, 3, 31, 0, 30, tzinfo=timezone.utc)
for z in (berlin, york, tokyo, ZoneInfo("Asia/Kathmandu"), ZoneInfo("Australia/Lord_Howe")): print(at.astimezone(z).isoformat(), at.astimezone(z).tzname(), at.astimezone(z).dst())
first, second = (datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=f) for f in (0, 1)); print(first.utcoffset(), second.utcoffset(), first == second, second.timestamp() - first.timestamp())
gap = datetime(2024, 3, 31, 2, 30, tzinfo=berlin); print(gap.isoformat(), gap.astimezone(timezone.utc).astimezone(berlin).isoformat())
day = datetime(2024, 3, 30, 12, tzinfo=berlin) + timedelta(days=1); print(day, (day.astimezone(timezone.utc) - datetime(2024, 3, 30, 12, tzinfo=berlin).astimezone(timezone.utc)))
print(datetime.fromisoformat("2024-02-29T12:00:00.123456+05:30").astimezone(timezone.utc), datetime.fromisoformat("20240229T1200Z"), datetime.strptime("29 Feb 2024 12:00 +0100", "%d %b %Y %H:%M %z"))
def add_months(d, n): y, m = divmod(d.year * 12 + d.month - 1 + n, 12); return date(y, m + 1, min(d.day, [31, 29 if y % 4 == 0 and (y % 100 or y % 400 == 0) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m]))
print([str(add_months(date(2024, 1, 31), n)) for n in (1, 2, 13, -2)], datetime(2024, 12, 30).strftime("%G-W%V-%u %j %a"), datetime.max.year)
try: ZoneInfo("Mars/Olympus")
except ZoneInfoNotFoundError as e: print(e)
try: at < datetime(2024, 1, 1)
except TypeError as e: print(e)
#### decorators: with and without arguments, classes as decorators, stacked, retry, memo with expiry, and of methods
import functools, itertools, time
def traced(f=None, *, prefix="->"):
    if f is None: return functools.partial(traced, prefix=prefix)
    @functools.wraps(f)
    def inner(*a, **k): print(prefix, f.__name__, a, k); return f(*a, **k)
    return inner
def retry(times, errors=(Exception,)):
    def wrap(f):
        @functools.wraps(f)
        def inner(*a):
            for n in itertools.count(1):
                try: return f(*a)
                except errors as e:
                    print("try", n, e)
                    if n == times: raise
        return inner
    return wrap
class Count:
    def __init__(self, f): functools.update_wrapper(self, f); self.f, self.n = f, 0
    def __call__(self, *a): self.n += 1; return self.f(*a)
    def __get__(self, o, t=None): return self if o is None else functools.partial(self, o)
@traced
def add(a, b=1): "adds"; return a + b
@traced(prefix="=>")
@Count
def square(x): return x * x
class Shop:
    @Count
    def sell(self, x): return x * 2
    @functools.singledispatchmethod
    def show(self, x): return "any"
    @show.register
    def _(self, x: int): return f"int {x}"
attempts = iter([ValueError("a"), KeyError("b"), 7])
@retry(3, (ValueError, KeyError))
def flaky():
    r = next(attempts)
    if isinstance(r, Exception): raise r
    return r
print(add(1, b=2), add.__name__, add.__doc__, square(4), square.__wrapped__.n, flaky(), Shop().sell(3), Shop.sell.n, Shop().show(1), Shop().show("x"))
#### large outputs: many lines, one long line, stderr beside it, and a table of wide rows
import sys
for i in range(800): print(f"{i:05d}", "x" * 20)
print("y" * 20000); print("to stderr " * 10, file=sys.stderr)
print("\n".join("|".join(f"{i * j:6d}" for j in range(40)) for i in range(20)))
sys.stdout.write("no newline at the end")
#### async iterators: pipelines of generators, aclosing, anext with a default, merged streams and cancellation
import asyncio, contextlib
async def ticks(name, n, step):
    try:
        for i in range(n): await asyncio.sleep(step); yield f"{name}{i}"
    finally: print("closed", name)
async def merge(*streams):
    out, end = asyncio.Queue(), object()
    async def pump(s):
        async for x in s: await out.put(x)
        await out.put(end)
    tasks = [asyncio.create_task(pump(s)) for s in streams]; left = len(tasks)
    while left:
        if (x := await out.get()) is end: left -= 1
        else: yield x
async def batched(source, n):
    batch = []
    async for x in source:
        batch.append(x)
        if len(batch) == n: yield batch; batch = []
    if batch: yield batch
class Pages:
    def __init__(self): self.n = 0
    def __aiter__(self): return self
    async def __anext__(self):
        self.n += 1
        if self.n > 3: raise StopAsyncIteration
        return self.n
async def main():
    print(sorted([x async for x in merge(ticks("a", 3, 0.1), ticks("b", 2, 0.001))]))
    print([b async for b in batched(Pages(), 2)], await anext(Pages()), await anext(ticks("z", 0, 0), "none"))
    async with contextlib.aclosing(ticks("c", 100, 0.001)) as s:
        async for x in s:
            if x == "c1": break
    task = asyncio.create_task(anext(ticks("d", 1, 30))); await asyncio.sleep(0.01); task.cancel()
    try: await task
    except asyncio.CancelledError: print("cancelled")
    async with asyncio.timeout(5) if hasattr(asyncio, "timeout") else contextlib.AsyncExitStack(): print({k: v async for k, v in zipped()})
async def zipped():
    for k, v in zip("ab", (1, 2)): yield k, v
asyncio.run(main())
#### asyncio: a worker pool with a rate, back pressure, results by id and one failure that does not stop the others
import asyncio
async def fetch(i):
    await asyncio.sleep(0.001 * (i % 3))
    if i == 7: raise ValueError(f"no {i}")
    return i * i
async def main():
    limit, active, most = asyncio.Semaphore(3), 0, 0
    async def one(i):
        nonlocal active, most
        async with limit:
            active += 1; most = max(most, active)
            try: return await fetch(i)
            finally: active -= 1
    results = await asyncio.gather(*(one(i) for i in range(12)), return_exceptions=True)
    print([r if not isinstance(r, Exception) else repr(r) for r in results], most)
    done, pending = await asyncio.wait([asyncio.create_task(asyncio.sleep(d, d)) for d in (0.001, 60)], return_when=asyncio.FIRST_COMPLETED); print([t.result() for t in done], len(pending)); [t.cancel() for t in pending]
    try:
        async with asyncio.TaskGroup() as g: g.create_task(fetch(7)); g.create_task(asyncio.sleep(60))
    except* ValueError as group: print([str(e) for e in group.exceptions])
    loop = asyncio.get_running_loop(); fut = loop.create_future(); loop.call_later(0.001, fut.set_result, "later"); print(await fut, await asyncio.wait_for(asyncio.to_thread(sum, [1, 2]), 5))
    lock, order = asyncio.Lock(), []
    async def turn(n):
        async with lock: order.append(n); await asyncio.sleep(0)
    await asyncio.gather(*map(turn, range(4))); print(order)
asyncio.run(main())

#### asyncio: TaskGroup-free structured shutdown with signals
import asyncio, signal, os

async def main():
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, lambda: print("usr1"))
    loop.call_later(0.05, os.kill, os.getpid(), signal.SIGUSR1)
    loop.call_later(0.1, os.kill, os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(stop.wait(), 5)
    print("stopped")
    loop.remove_signal_handler(signal.SIGTERM)

asyncio.run(main())

#### signal alarm as a timeout, setitimer and sigprocmask
import signal, time

class Timeout(Exception):
    pass

def handler(signum, frame):
    raise Timeout(signal.Signals(signum).name)

old = signal.signal(signal.SIGALRM, handler)
signal.alarm(1)
try:
    while True:
        time.sleep(0.1)
except Timeout as e:
    print("timed out by", e)
finally:
    signal.alarm(0)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    time.sleep(2)
except Timeout as e:
    print("again", e)
signal.signal(signal.SIGALRM, old)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
signal.raise_signal(signal.SIGUSR1)
print(signal.sigpending() == {signal.SIGUSR1})
print(signal.sigwait({signal.SIGUSR1}).name)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")

#### os.environ, getpass, getlogin, os.getcwd, hostname
import os, getpass, socket, platform, pwd, sys
print(type(getpass.getuser()).__name__, len(getpass.getuser()) > 0)
os.environ["MY_VAR"] = "1"
print(os.environ.get("MY_VAR"), os.getenv("NOPE", "default"), os.path.expandvars("$MY_VAR/x"))
print(isinstance(socket.gethostname(), str), len(socket.gethostname()) > 0)
print(platform.system(), platform.python_implementation(), platform.machine() == os.uname().machine)
print(isinstance(pwd.getpwuid(os.getuid()).pw_dir, str))
print(os.cpu_count() >= 1, os.getpid() > 0, os.getppid() >= 0)
print(os.access(".", os.W_OK), os.path.isdir(os.getcwd()), os.path.isabs(sys.executable))
print(len(os.get_terminal_size(fallback := None).__class__.__name__) > 0 if False else "skip")

#### sys.exit in the middle with a message and a finally
import sys, atexit

atexit.register(lambda: print("atexit ran"))

def main(argv):
    try:
        print("working")
        if not argv:
            sys.exit(0)
        print("not reached")
    finally:
        print("cleanup")

if __name__ == "__main__":
    main(sys.argv[1:])

#### argparse usage error exits with 2 and is caught
import argparse, sys, io, contextlib

p = argparse.ArgumentParser(prog="tool", description="A tool.")
p.add_argument("path")
p.add_argument("-n", "--count", type=int, default=3, help="how many (default: %(default)s)")
p.add_argument("--mode", choices=["fast", "slow"], default="fast")
sub = argparse.ArgumentParser(prog="git")
sp = sub.add_subparsers(dest="cmd", required=True)
add = sp.add_parser("add"); add.add_argument("files", nargs="+")
rm = sp.add_parser("rm"); rm.add_argument("--force", action="store_true")
err = io.StringIO()
with contextlib.redirect_stderr(err):
    try:
        p.parse_args(["x", "--count", "abc"])
    except SystemExit as e:
        print("exit", e.code)
print(err.getvalue().strip().splitlines()[-1])
print(p.parse_args(["file", "-n", "5"]))
print(sub.parse_args(["add", "a", "b"]))
print(p.format_help())

#### doctest and unittest with a runner on stdout
import doctest, unittest, sys, io

def fib(n):
    """
    >>> [fib(i) for i in range(8)]
    [0, 1, 1, 2, 3, 5, 8, 13]
    >>> fib(-1)
    Traceback (most recent call last):
        ...
    ValueError: negative
    """
    if n < 0:
        raise ValueError("negative")
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a

print(doctest.testmod())

class T(unittest.TestCase):
    def setUp(self):
        self.data = [1, 2, 3]
    def test_ok(self):
        self.assertEqual(sum(self.data), 6)
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertLess(i, 3)
    @unittest.skip("later")
    def test_skip(self):
        pass
    @unittest.expectedFailure
    def test_exp(self):
        self.assertTrue(False)
    def test_fail(self):
        self.assertEqual({"a": 1}, {"a": 2}, "dicts differ")

stream = io.StringIO()
res = unittest.TextTestRunner(stream=stream, verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
print(res.testsRun, len(res.failures), len(res.skipped), len(res.expectedFailures))
print("AssertionError: {'a': 1} != {'a': 2}" in res.failures[0][1])

#### unittest.main with argv and exit False
import unittest
from unittest import mock
from unittest.mock import MagicMock, patch, AsyncMock
import os, asyncio

class Service:
    def __init__(self, client): self.client = client
    def total(self): return sum(x["v"] for x in self.client.fetch("/items"))

class ServiceTest(unittest.TestCase):
    def test_total(self):
        c = MagicMock(); c.fetch.return_value = [{"v": 1}, {"v": 2}]
        self.assertEqual(Service(c).total(), 3)
        c.fetch.assert_called_once_with("/items")
    @patch("os.getcwd", return_value="/x")
    def test_patch(self, m):
        self.assertEqual(os.getcwd(), "/x")

class AsyncT(unittest.IsolatedAsyncioTestCase):
    async def test_a(self):
        f = AsyncMock(side_effect=[1, ValueError])
        self.assertEqual(await f(), 1)
        with self.assertRaises(ValueError):
            await f()

if __name__ == "__main__":
    r = unittest.main(argv=["first"], exit=False)
    print(r.result.wasSuccessful(), r.result.testsRun)

#### unittest.main() plain, as a script ends
import sys, unittest

class TestMath(unittest.TestCase):
    def test_add(self):
        self.assertEqual(1 + 1, 2)
    def test_div(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            1 / 0

if __name__ == "__main__":
    print("running")
    unittest.main(verbosity=0)

#### pickling functions and classes through a file, with protocol and dispatch
import pickle, io, copyreg, datetime, decimal, collections

class Point:
    __slots__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
    def __getstate__(self): return {"x": self.x, "y": self.y}
    def __setstate__(self, s): self.x, self.y = s["x"], s["y"]
    def __eq__(self, o): return (self.x, self.y) == (o.x, o.y)

class Node:
    def __init__(self, name): self.name, self.children = name, []
    def __reduce__(self): return (Node, (self.name,), {"children": self.children, "name": self.name})

with open("p.pkl", "wb") as f:
    for obj in (Point(1, 2), [datetime.date(2024, 1, 1), decimal.Decimal("1.10")], collections.OrderedDict(a=1)):
        pickle.dump(obj, f, protocol=pickle.HIGHEST_PROTOCOL)
with open("p.pkl", "rb") as f:
    out = []
    while True:
        try:
            out.append(pickle.load(f))
        except EOFError:
            break
print(out[0] == Point(1, 2), out[1:], len(out))
n = Node("a"); n.children.append(n)
m = pickle.loads(pickle.dumps(n))
print(m.children[0] is m)
try:
    pickle.dumps(lambda x: x)
except Exception as e:
    print(type(e).__name__, "lambda" in str(e))

class Safe(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"forbidden {module}.{name}")
try:
    Safe(io.BytesIO(pickle.dumps(print))).load()
except pickle.UnpicklingError as e:
    print(e)

#### locale: formatting, setlocale, strxfrm, currency
import locale
print(locale.setlocale(locale.LC_ALL, "C"))
print(locale.format_string("%d", 1234567, grouping=True))
try:
    locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
    print("de", locale.format_string("%.2f", 1234.5, grouping=True))
except locale.Error as e:
    print("unsupported", e)
print(f"{1234567.891:,.2f}", f"{0.256:.1%}", f"{1e10:g}", f"{42:#x} {42:08b} {42:^10}|")
print(locale.getpreferredencoding(False))
print(sorted(["b", "A", "a", "B"], key=str.casefold))

#### zoneinfo: many zones, available, fromutc, keys and missing zones
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones
from datetime import datetime, timezone, timedelta
t = datetime(2024, 7, 1, 12, 0, tzinfo=timezone.utc)
for z in ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC"):
    l = t.astimezone(ZoneInfo(z))
    print(z, l.isoformat(), l.tzname(), l.dst())
try:
    ZoneInfo("Mars/Base")
except ZoneInfoNotFoundError as e:
    print("missing", e)
print(len(available_timezones()) > 100)
print(datetime.now().astimezone().tzinfo is not None)
import time
print(time.tzname[0], time.timezone)
time_s = time.strftime("%Y-%m-%d", time.gmtime(0))
print(time_s)

#### tempfile: named, spooled, directory, mkstemp, gettempdir
import tempfile, os, pathlib
with tempfile.NamedTemporaryFile("w+", suffix=".txt", delete=False) as f:
    f.write("hello"); name = f.name
print(pathlib.Path(name).read_text(), name.endswith(".txt")); os.unlink(name)
with tempfile.TemporaryDirectory(prefix="job-") as d:
    p = pathlib.Path(d, "a", "b"); p.mkdir(parents=True); (p / "c.txt").write_text("x")
    print(sorted(os.path.relpath(os.path.join(r, x), d) for r, _, fs in os.walk(d) for x in fs))
print(os.path.exists(d))
with tempfile.SpooledTemporaryFile(max_size=10) as s:
    s.write(b"x" * 20); s.seek(0); print(len(s.read()))
fd, path = tempfile.mkstemp(); os.write(fd, b"1"); os.close(fd); print(os.stat(path).st_mode & 0o777 == 0o600); os.remove(path)
print(tempfile.gettempdir())
with tempfile.TemporaryFile() as t:
    t.write(b"abc"); t.seek(0); print(t.read())

#### mmap shared, anonymous, with find and resize
import mmap, os
with open("m.bin", "w+b") as f:
    f.write(b"hello world\n" * 100); f.flush()
    with mmap.mmap(f.fileno(), 0) as m:
        print(m.size(), m.find(b"world"), m[:5])
        m[0:5] = b"HELLO"
        m.flush()
        m.seek(6); print(m.read(5), m.readline())
        m.resize(24); print(len(m))
print(os.path.getsize("m.bin"), open("m.bin", "rb").read(12))
a = mmap.mmap(-1, 4096); a.write(b"anon"); a.seek(0); print(a.read(4)); a.close()
with open("m.bin", "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
    try:
        m[0] = 1
    except TypeError as e:
        print("read only", e)

#### contextlib: ExitStack, suppress, closing, chdir, nullcontext, redirect
import contextlib, os, io, pathlib

@contextlib.contextmanager
def tag(name):
    print(f"<{name}>")
    try:
        yield name
    except ValueError as e:
        print("caught", e)
    finally:
        print(f"</{name}>")

with tag("a"), tag("b") as b:
    raise ValueError("in " + b)
with contextlib.ExitStack() as st:
    files = [st.enter_context(open(f"f{i}.txt", "w")) for i in range(3)]
    st.callback(print, "closing")
print([f.closed for f in files])
pathlib.Path("sub").mkdir(exist_ok=True)
with contextlib.chdir("sub"):
    print(os.path.basename(os.getcwd()))
print(os.path.exists("f0.txt"))
with contextlib.suppress(FileNotFoundError):
    os.remove("nope")
buf = io.StringIO()
with contextlib.redirect_stdout(buf):
    print("hidden")
    help(len)
print(buf.getvalue()[:6], "Return the number" in buf.getvalue())

class Conn(contextlib.AbstractContextManager):
    def __exit__(self, *a): print("exit", a[0]); return False
with contextlib.nullcontext(5) as five, Conn():
    print(five)

@contextlib.contextmanager
def bad():
    yield 1
    yield 2
try:
    with bad(): pass
except RuntimeError as e:
    print(e)

#### concurrent.futures process pool with a module level function and chunks
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, wait, FIRST_COMPLETED
import os, math

def is_prime(n):
    if n < 2: return False
    return all(n % i for i in range(2, int(math.sqrt(n)) + 1))

def main():
    nums = list(range(10**4, 10**4 + 100))
    with ProcessPoolExecutor(max_workers=2) as ex:
        primes = [n for n, p in zip(nums, ex.map(is_prime, nums, chunksize=20)) if p]
        f = ex.submit(divmod, 17, 5)
        bad = ex.submit(divmod, 1, 0)
        print(f.result(), type(bad.exception()).__name__)
    print(primes)
    with ThreadPoolExecutor(3, thread_name_prefix="w", initializer=lambda: None) as ex:
        fs = {ex.submit(pow, i, 2): i for i in range(5)}
        done, pending = wait(fs)
        print(sorted((fs[d], d.result()) for d in done), len(pending))

if __name__ == "__main__":
    main()

#### multiprocessing with queues, events and a worker that fails
import multiprocessing as mp, os, sys

def worker(q, out):
    while True:
        item = q.get()
        if item is None:
            break
        out.put((item, item ** 2))

def crash():
    raise RuntimeError("boom")

if __name__ == "__main__":
    q, out = mp.Queue(), mp.Queue()
    ps = [mp.Process(target=worker, args=(q, out)) for _ in range(2)]
    for p in ps: p.start()
    for i in range(6): q.put(i)
    for _ in ps: q.put(None)
    res = sorted(out.get() for _ in range(6))
    for p in ps: p.join()
    print(res, [p.exitcode for p in ps])
    with mp.Pool(2) as pool:
        print(pool.map(abs, [-1, -2]), pool.apply_async(pow, (2, 5)).get(timeout=5))
    a, b = mp.Pipe()
    a.send({"k": [1]}); print(b.recv())

#### curses-free terminal output: progress bars, colours, carriage returns, shutil size
import sys, shutil, time
size = shutil.get_terminal_size()
print(size.columns, size.lines)
for i in range(0, 101, 25):
    sys.stdout.write(f"\r[{'#' * (i // 10):<10}] {i:3d}%")
    sys.stdout.flush()
print()
print("\033[1;32mOK\033[0m", sys.stdout.isatty(), sys.stdin.isatty())
try:
    import os
    os.get_terminal_size()
except OSError as e:
    print("no terminal")
print("a\bb", "bell\a", "ff\f", sep="|")

#### input in a loop at end of file, with a default and with readline
import sys

def ask(prompt, default="y"):
    try:
        return input(prompt) or default
    except EOFError:
        print("(no input)")
        return default

print(ask("Continue? "))
print(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin))
import fileinput, select
print(list(fileinput.input(files=("-",))))

#### sqlite: types, adapters, functions, aggregates, fts, json, backup
import sqlite3, datetime, json
db = sqlite3.connect("app.db", detect_types=sqlite3.PARSE_DECLTYPES)
db.row_factory = sqlite3.Row
db.execute("pragma journal_mode=wal"); db.execute("pragma foreign_keys=on")
db.executescript("create table u(id integer primary key, name text unique, born date); create table o(id integer primary key, uid references u(id) on delete cascade, tot real)")
with db:
    db.executemany("insert into u(name, born) values(?,?)", [("ann", "1990-01-02"), ("bob", "1985-05-06")])
    db.executemany("insert into o(uid, tot) values(?,?)", [(1, 9.5), (1, 3), (2, 1)])
try:
    with db:
        db.execute("insert into u(name) values('cat')"); db.execute("insert into u(name) values('ann')")
except sqlite3.IntegrityError as e:
    print(e)
db.create_function("rev", 1, lambda s: s[::-1])
class Longest:
    def __init__(self): self.v = ""
    def step(self, s): self.v = max(self.v, s, key=len)
    def finalize(self): return self.v
db.create_aggregate("longest", 1, Longest)
for r in db.execute("select name, rev(name) r, sum(tot) t from u join o on o.uid=u.id group by u.id order by t desc"):
    print(dict(r))
print(db.execute("select longest(name) from u").fetchone()[0], db.execute("select count(*) from u").fetchone()[0])
db.execute("create virtual table notes using fts5(body)")
db.execute("insert into notes values('the quick fox'),('slow dog')")
print([r[0] for r in db.execute("select body from notes where notes match 'quick OR dog' order by rank")])
print(db.execute("select json_extract('{\"a\":[1,2]}', '$.a[1]')").fetchone()[0])
db.execute("delete from u where id=1"); print(db.total_changes > 0, db.execute("select count(*) from o").fetchone()[0])
db.commit(); db.close()
import os
print(os.path.exists("app.db"))

#### logging to stderr by default, warnings captured, and print interleaved
import logging, warnings
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
logging.info("to stderr")
print("to stdout")
warnings.warn("careful", DeprecationWarning, stacklevel=1)
logging.captureWarnings(True)
warnings.warn("captured")
print(logging.getLogger().handlers[0].__class__.__name__)

#### csv with Sniffer, DictWriter, quoting, json conversion, and statistics
import csv, json, io, statistics as st
from collections import defaultdict
from pathlib import Path
Path("d.csv").write_text("id;name;price\n1;\"A; b\";3,50\n2;C;\n3;\"multi\nline\";7,25\n", encoding="utf-8")
with open("d.csv", newline="", encoding="utf-8") as f:
    d = csv.Sniffer().sniff(f.read(200), delimiters=";,"); f.seek(0)
    rows = list(csv.DictReader(f, dialect=d))
print(d.delimiter, rows)
pr = [float(r["price"].replace(",", ".")) for r in rows if r["price"]]
print(st.mean(pr), st.stdev(pr), st.quantiles(pr, n=4))
out = io.StringIO(); w = csv.DictWriter(out, ["id", "name"], extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC); w.writeheader(); w.writerows(rows)
print(repr(out.getvalue()))
Path("d.json").write_text(json.dumps(rows, indent=2, ensure_ascii=False)); print(Path("d.json").stat().st_size)
csv.register_dialect("pipe", delimiter="|", lineterminator="\n")
csv.writer(out2 := io.StringIO(), "pipe").writerow([None, 1.5, "x|y", True]); print(out2.getvalue(), end="")
print(csv.field_size_limit())

#### builtins of interactive use: help, exit, quit, copyright, license
import builtins
print([n for n in ("help", "exit", "quit", "copyright", "credits", "license") if hasattr(builtins, n)])
print(repr(exit), repr(help)[:20])
try:
    exit(3)
except SystemExit as e:
    print("exit", e.code)
try:
    quit()
except SystemExit as e:
    print("quit", e.code)

#### exit called by its builtin name at the end of a script
print("before")
exit()
print("after")

#### pathlib: every operation of a small build tool
from pathlib import Path, PurePosixPath, PureWindowsPath
import shutil, os, stat, fnmatch, glob
root = Path("proj"); (root / "src" / "pkg").mkdir(parents=True); (root / "docs").mkdir()
for n in ("a.py", "b.py", "c.txt"):
    (root / "src" / n).write_text(f"# {n}\n")
(root / "src/pkg/__init__.py").touch()
print(sorted(p.relative_to(root).as_posix() for p in root.rglob("*.py")))
print(sorted(p.name for p in root.glob("**/*") if p.is_dir()))
p = root / "src" / "a.py"
print(p.stem, p.suffix, p.parts, p.parent.name, p.with_suffix(".bak").name, p.with_stem("z").name, p.is_relative_to(root))
(root / "run.sh").write_text("#!/bin/sh\n"); (root / "run.sh").chmod(0o755); print(oct((root / "run.sh").stat().st_mode & 0o777), os.access(root / "run.sh", os.X_OK))
(root / "link").symlink_to("src/a.py"); print((root / "link").readlink(), (root / "link").read_text().strip(), (root / "link").is_symlink())
(root / "hard").hardlink_to(root / "src/a.py"); print((root / "hard").stat().st_nlink, (root / "hard").samefile(root / "src/a.py"))
p.rename(root / "src" / "aa.py"); (root / "src" / "b.py").replace(root / "src" / "bb.py")
print(sorted(os.listdir(root / "src")))
try:
    (root / "src").rmdir()
except OSError as e:
    print(e.strerror)
shutil.copytree(root, "copy", symlinks=True, ignore=shutil.ignore_patterns("*.txt"))
print(sorted(os.path.join(r, f) for r, d, fs in os.walk("copy") for f in fs))
print(Path(shutil.make_archive("arch", "zip", root)).name, shutil.which("nope"))
shutil.unpack_archive("arch.zip", "un"); print(sorted(glob.glob("un/**/*.py", recursive=True)))
shutil.move("copy", "moved"); shutil.rmtree("moved"); print(Path("moved").exists(), shutil.disk_usage(".").total > 0)
print(PureWindowsPath("C:\\a\\b.txt").as_posix(), PurePosixPath("/a/../b").name, fnmatch.filter(["a.py", "b.c"], "*.py"))
print(Path("~/x").expanduser() == Path.home() / "x", Path("a/../b").resolve().name, list(Path("proj/src").iterdir()) != [])
print(Path.cwd() == Path(".").absolute())
with os.scandir(root) as it:
    print(sorted((e.name, e.is_dir()) for e in it))

#### os: low level files, umask, utime, xattr, truncate, pipes, dup, statvfs
import os, stat, time, errno
fd = os.open("f.bin", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o640)
os.write(fd, b"0123456789"); os.lseek(fd, 2, os.SEEK_SET); print(os.read(fd, 3), os.pread(fd, 2, 8), os.pwrite(fd, b"XX", 0))
os.ftruncate(fd, 5); print(os.fstat(fd).st_size); os.fsync(fd); os.posix_fallocate(fd, 0, 100); print(os.fstat(fd).st_size)
d = os.dup(fd); os.close(fd); print(os.pread(d, 5, 0)); os.close(d)
try:
    os.close(d)
except OSError as e:
    print(errno.errorcode[e.errno])
os.utime("f.bin", (1, 2)); print(os.stat("f.bin").st_mtime)
old = os.umask(0o077); open("g", "w").close(); os.umask(old); print(oct(os.stat("g").st_mode & 0o777))
r, w = os.pipe(); os.write(w, b"pipe"); os.close(w); print(os.read(r, 100), os.read(r, 1)); os.close(r)
print(os.statvfs(".").f_bsize > 0, stat.filemode(os.stat("f.bin").st_mode))
os.makedirs("x/y/z", exist_ok=True); os.removedirs("x/y/z"); print(os.path.exists("x"))
print(os.path.commonpath(["/a/b/c", "/a/b/d"]), os.path.relpath("/a/b", "/a/c"), os.path.normpath("a//b/../c"))
print(os.urandom(4) != os.urandom(4), len(os.getrandom(8)), os.cpu_count() == len(os.sched_getaffinity(0)) or True)
os.mkfifo("fifo"); print(stat.S_ISFIFO(os.stat("fifo").st_mode))
rfd = os.open("fifo", os.O_RDONLY | os.O_NONBLOCK); wfd = os.open("fifo", os.O_WRONLY); os.write(wfd, b"q"); print(os.read(rfd, 9))
print(os.times().user >= 0, os.getloadavg() is not None)
print(os.listdir("/workspace") == os.listdir(".") if os.path.isdir("/workspace") else True)
os.chdir("/"); print(os.getcwd())

#### resource, tracemalloc, gc and profilers
import resource, tracemalloc, gc, sys, time, cProfile, pstats, io, timeit
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0, resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 10)
tracemalloc.start(); x = [bytes(1000) for _ in range(100)]; cur, peak = tracemalloc.get_traced_memory(); print(cur > 90000); print(len(tracemalloc.take_snapshot().statistics("lineno")) > 0); tracemalloc.stop()
pr = cProfile.Profile(); pr.enable(); sum(i for i in range(1000)); pr.disable()
s = io.StringIO(); pstats.Stats(pr, stream=s).sort_stats("cumulative").print_stats(3); print("function calls" in s.getvalue())
print(timeit.timeit("1+1", number=10) >= 0, gc.collect() >= 0, gc.isenabled(), sys.getrefcount([]) > 0)
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); print("set")
except (ValueError, OSError) as e:
    print(e)
import faulthandler; faulthandler.enable(); print(faulthandler.is_enabled())
print(sys.getswitchinterval() > 0, sys.flags.optimize, sys.maxsize, sys.byteorder, sys.platform, sys.version_info[:2] >= (3, 9))

#### memory: MemoryError is caught and the program goes on
try:
    x = bytearray(10**12)
except MemoryError as e:
    print("memory", type(e).__name__)
print(len(bytearray(10**6)))

#### recursion, deep json, big ints, long strings
import sys, json
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
try:
    depth(10**6)
except RecursionError as e:
    print("recursion", str(e)[:32])
sys.setrecursionlimit(20000); print(depth(15000))
x = []
for _ in range(900): x = [x]
print(len(json.dumps(x)))
try:
    str(10**5000)
except ValueError as e:
    print(str(e)[:24])
sys.set_int_max_str_digits(0); print(len(str(10**5000)))
print(len("ab" * 10**6), hash("a") == hash("a"), sum(map(ord, "x" * 1000)))
import threading
threading.stack_size(64 * 1024 * 1024)
t = threading.Thread(target=lambda: print("deep", depth(19000))); t.start(); t.join()

#### typing at run time: pydantic-free validation of dataclasses
from __future__ import annotations
import dataclasses as dc, typing as t, enum, json, types
class Color(enum.StrEnum):
    RED = enum.auto(); BLUE = "b"
@dc.dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    name: str
    tags: list[str] = dc.field(default_factory=list)
    price: float | None = None
    color: Color = Color.RED
    def __post_init__(self):
        for f in dc.fields(self):
            hint = t.get_type_hints(type(self))[f.name]
            args = t.get_args(hint) if isinstance(hint, types.UnionType) else (t.get_origin(hint) or hint,)
            if not isinstance(getattr(self, f.name), tuple(args)):
                raise TypeError(f"{f.name}: {hint}")
print(Item(name="a", price=1.5), dc.asdict(Item(name="b")), dc.replace(Item(name="c"), name="d").name)
try: Item(name=1)
except TypeError as e: print(e)
try: Item(name="x").name = "y"
except dc.FrozenInstanceError as e: print(e)
T = t.TypeVar("T", bound=t.Hashable)
class Box(t.Generic[T]):
    def __class_getitem__(cls, k): return super().__class_getitem__(k)
print(Box[int], t.get_args(dict[str, list[int]]), list[int] | None, t.Literal["a"], Color.RED, [c.value for c in Color])
class Movie(t.TypedDict, total=False):
    title: t.Required[str]; year: int
print(Movie.__required_keys__, t.get_type_hints(Movie))
@t.runtime_checkable
class Has(t.Protocol):
    def close(self) -> None: ...
print(isinstance(open("f", "w"), Has), t.cast(int, "x"), t.assert_type(1, int))
def f(a: int, /, b: str = "x", *args: int, c: bool, **kw: t.Any) -> None: ...
import inspect; print(inspect.signature(f), inspect.signature(f).parameters["c"].kind.name)

#### re: a tokenizer, a template engine, unicode classes, flags and catastrophic guard
import re
tok = re.compile(r"(?P<num>\d+(?:\.\d*)?)|(?P<id>[^\W\d]\w*)|(?P<op>[-+*/()=])|(?P<ws>\s+)|(?P<bad>.)")
print([(m.lastgroup, m[0]) for m in tok.finditer("x1 = 3.5*(ünï + 2)$") if m.lastgroup != "ws"])
def render(t, **kw): return re.sub(r"\{\{\s*(\w+)(?:\|(\w+))?\s*\}\}", lambda m: getattr(str(kw[m[1]]), m[2] or "__str__")(), t)
print(render("Hi {{ name|upper }}, {{n}}!", name="bob", n=3))
print(re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", "1234567"), re.split(r"([,;])\s*", "a, b;c"), re.findall(r"(?i)\b(\w)(\w*)\b", "Foo bar"))
print(re.fullmatch(r"(?x) (\d{4}) - (\d\d) # date", "2024-05").groups(), re.escape("a.b*c"), bool(re.match(r"\A\s*\Z", "")))
try: re.compile("(unclosed")
except re.error as e: print(e, e.pos)
print(re.search(r"(?P<q>['\"]).*?(?P=q)", "say 'hi' now")[0], re.subn("a", "b", "banana", count=2), re.compile("x", re.I | re.M).flags & re.M > 0)

#### decimal money, fractions, rounding modes, contexts and traps
from decimal import *
from fractions import Fraction
getcontext().prec = 28
print(Decimal("0.1") + Decimal("0.2"), Decimal(1) / 7, Decimal("2.675").quantize(Decimal(".01"), ROUND_HALF_UP), round(2.675, 2))
with localcontext() as c:
    c.prec = 5; c.rounding = ROUND_DOWN; print(Decimal(2).sqrt(), +Decimal("1.234567"))
try: Decimal(1) / 0
except DivisionByZero as e: print(type(e).__name__)
print(Decimal("NaN").is_nan(), Decimal("1e3").normalize().to_eng_string(), f"{Decimal('1234567.891'):,.2f}", Decimal("-0"), Decimal("1.10").as_tuple())
print(Fraction("0.75") + Fraction(1, 3), Fraction(3.14).limit_denominator(100), sum(Fraction(1, n) for n in range(1, 6)))
print(sum([Decimal("19.99")] * 3), Decimal("100") * Decimal("0.0825"), Decimal(str(1.1)), int(Decimal("3.99")), divmod(Decimal(7), 2))

#### json, zip, tar in memory and streaming, with progress
import json, zipfile, tarfile, io, gzip, hashlib, zlib, base64, os
buf = io.BytesIO()
with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/b.json", json.dumps({"k": [1, None, True]})); z.writestr(zipfile.ZipInfo("c.txt", (2020, 1, 1, 0, 0, 0)), "hello")
with zipfile.ZipFile(buf) as z:
    print(z.namelist(), z.testzip(), json.load(z.open("a/b.json")), z.getinfo("c.txt").date_time)
    z.extractall("out")
print(zipfile.Path(buf, "a/").joinpath("b.json").read_text(), zipfile.is_zipfile("nope"))
with tarfile.open("t.tar.gz", "w:gz") as t:
    t.add("out", arcname="data"); ti = tarfile.TarInfo("mem"); ti.size = 3; t.addfile(ti, io.BytesIO(b"abc"))
with tarfile.open("t.tar.gz") as t:
    print(sorted(t.getnames()), t.extractfile("mem").read()); t.extractall("un")
print(os.path.exists("un/data/a/b.json"))
with gzip.open("x.gz", "wt", encoding="utf-8") as f: f.write("línea\n" * 3)
with gzip.open("x.gz", "rt", encoding="utf-8") as f: print(f.readlines())
d = zlib.decompressobj(); print(d.decompress(zlib.compress(b"z" * 100))[:3], zlib.crc32(b"a"), base64.b85encode(b"hi"), hashlib.file_digest(open("x.gz", "rb"), "sha256").name)
try: zipfile.ZipFile(io.BytesIO(b"junk"))
except zipfile.BadZipFile as e: print(e)

#### threading: rwlock, deadlock-free ordering, timers, thread names, excepthook, main thread
import threading, time, queue, sched
lock, res = threading.RLock(), []
def w(i):
    with lock:
        with lock: res.append((i, threading.current_thread().name))
ts = [threading.Thread(target=w, args=(i,), name=f"T{i}") for i in range(40)]
[t.start() for t in ts]; [t.join() for t in ts]; print(len(res), sorted(res)[0], threading.active_count(), threading.main_thread().name)
c = threading.Condition(); items = []
def cons():
    with c:
        ok = c.wait_for(lambda: len(items) == 3, timeout=5); print("cons", ok, items)
t = threading.Thread(target=cons); t.start()
for i in range(3):
    with c: items.append(i); c.notify_all()
t.join()
b = threading.Barrier(3); order = []
ts = [threading.Thread(target=lambda: (b.wait(), order.append(1))) for _ in range(3)]; [t.start() for t in ts]; [t.join() for t in ts]; print(order, b.n_waiting)
s = threading.BoundedSemaphore(1); s.acquire(); s.release()
try: s.release()
except ValueError as e: print(e)
pq = queue.PriorityQueue(); [pq.put(x) for x in (3, 1, 2)]; print([pq.get() for _ in range(3)])
try: pq.get(timeout=0.01)
except queue.Empty: print("empty")
sc = sched.scheduler(); sc.enter(0.02, 1, print, ("second",)); sc.enter(0.01, 1, print, ("first",)); sc.run()
d = threading.local(); d.x = 1; th = threading.Thread(target=lambda: print(hasattr(d, "x"))); th.start(); th.join()
print(threading.get_native_id() > 0, threading.get_ident() > 0)
try:
    threading.Thread(target=print, args=("max threads ok",)).start()
except RuntimeError as e: print(e)

#### fifty threads at once sleep and add
import threading, time
n = 0; l = threading.Lock()
def f():
    global n
    time.sleep(0.2)
    with l: n += 1
ts = [threading.Thread(target=f) for _ in range(50)]
for t in ts: t.start()
for t in ts: t.join()
print(n)

#### graphics without libraries: PNG, BMP, PPM, SVG and an ASCII chart
import struct, zlib, os, math
def png(path, w, h, px):
    raw = b"".join(b"\0" + bytes(v for x in range(w) for v in px(x, y)) for y in range(h))
    ch = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + ch(b"IHDR", struct.pack(">2I5B", w, h, 8, 2, 0, 0, 0)) + ch(b"IDAT", zlib.compress(raw)) + ch(b"IEND", b""))
png("a.png", 8, 8, lambda x, y: (x * 30, y * 30, 128)); print(os.path.getsize("a.png") > 50, open("a.png", "rb").read(8))
open("c.svg", "w").write('<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>')
for x in range(0, 361, 60): print(f"{x:4d} {'*' * int(10 + 8 * math.sin(math.radians(x)))}")

#### ctypes: libc functions, structures, callbacks, errno
import ctypes, ctypes.util
libc = ctypes.CDLL(None)
print(libc.abs(-5), libc.strlen(b"hello"))
class P(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_double)]
p = P(1, 2.5); print(p.x, p.y, ctypes.sizeof(P))
CMP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
arr = (ctypes.c_int * 5)(5, 1, 4, 2, 3)
libc.qsort(arr, 5, ctypes.sizeof(ctypes.c_int), CMP(lambda a, b: a[0] - b[0])); print(list(arr))
b = ctypes.create_string_buffer(b"abc", 10); print(b.value, len(b.raw), ctypes.string_at(b, 2))
m = ctypes.CDLL("libm.so.6"); m.sqrt.restype = ctypes.c_double; m.sqrt.argtypes = [ctypes.c_double]; print(m.sqrt(2.0))

#### generators, async generators, aiter and closing order at the end
import asyncio
async def agen():
    try:
        for i in range(3):
            await asyncio.sleep(0)
            yield i
    finally:
        print("agen closed")
async def main():
    async for x in agen():
        if x == 1: break
    print([x async for x in agen()])
    g = agen(); print(await anext(g)); await g.aclose()
    async with asyncio.timeout(1):
        print(await asyncio.gather(*(asyncio.sleep(0.01 * (3 - i), i) for i in range(3))))
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(asyncio.sleep(1)); tg.create_task(fail())
    except* ValueError as eg: print(eg.exceptions)
    r = await asyncio.to_thread(sum, [1, 2]); print(r)
    proc = asyncio.create_task(asyncio.sleep(10)); proc.cancel()
    try: await proc
    except asyncio.CancelledError: print("cancelled")
    async with asyncio.Runner if False else asyncio.Lock(): print("locked")
async def fail(): raise ValueError("x")
asyncio.run(main())
with asyncio.Runner() as r: print(r.run(asyncio.sleep(0, "runner")))
print(asyncio.new_event_loop().run_until_complete(asyncio.sleep(0, 5)))

#### nest: asyncio.run inside async code, get_event_loop, un-awaited coroutine
import asyncio, warnings
async def inner(): return 1
async def outer():
    try: asyncio.run(inner())
    except RuntimeError as e: print(e)
    loop = asyncio.get_running_loop()
    f = loop.create_future(); loop.call_later(0.01, f.set_result, "fut"); print(await f)
    loop.call_soon_threadsafe(print, "soon"); await asyncio.sleep(0.01)
    print(await loop.run_in_executor(None, lambda: "exec"))
    q = asyncio.Queue(maxsize=1)
    async def prod():
        for i in range(3): await q.put(i)
    t = asyncio.create_task(prod(), name="prod"); print(t.get_name(), [await q.get() for _ in range(3)])
    r, w = await asyncio.open_connection(*(await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)).sockets[0].getsockname())
    print(await r.read()); w.close()
asyncio.run(outer())
print(asyncio.iscoroutinefunction(outer))
