# What stands ready in every Python run: the agent's own globals get the names below. The functions keep globals of
# their own, so that nothing the agent assigns can break them, and nothing here is a wall: the sandbox is.
import collections
import json
import math
import re
import statistics
from datetime import date, datetime, timedelta

workspace = "/workspace"


def _inside(path, missing_ok=True):
    text = os.fspath(path)
    if not isinstance(text, str) or "\0" in text:
        raise PermissionError(f"Access denied: path outside workspace: {path!r}")
    full = os.path.normpath(os.path.join(ROOT, text))
    if full != ROOT and not full.startswith(ROOT + "/"):
        raise PermissionError(f"Access denied: path outside workspace: {text}")
    return full


def read_file(filename):
    """The text of a file in the workspace."""
    full = _inside(filename)
    if not os.path.isfile(full):
        raise FileNotFoundError(f"File not found: {filename}")
    with open(full, encoding="utf-8") as file:
        return file.read()


def write_file(filename, content):
    """Writes text (or bytes) to a file in the workspace, with the directories above it."""
    full = _inside(filename)
    if full == ROOT:
        raise PermissionError(f"Access denied: path outside workspace: {filename}")
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if isinstance(content, (bytes, bytearray)):
        with open(full, "wb") as file:
            file.write(content)
    else:
        content = str(content)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content)
    return f"Written {len(content)} bytes to {filename}"


def list_files(subpath="."):
    """The files of the workspace, or of a directory in it, with their paths."""
    top = _inside(subpath)
    found = []
    for directory, _, names in os.walk(top):
        found += [os.path.relpath(os.path.join(directory, name), ROOT) for name in names]
    return sorted(found)


def delete_file(filename):
    """Deletes a file of the workspace."""
    full = _inside(filename)
    if not os.path.isfile(full):
        raise FileNotFoundError(f"File not found: {filename}")
    os.remove(full)
    return f"Deleted {filename}"


def _ask(tool, args):
    answer = call_tool("", tool, args)
    if isinstance(answer, dict) and set(answer) == {"error"}:
        raise ToolError(answer["error"])
    return answer


def save_skill(name, code, description=""):
    """Keeps code for later runs: they can `import` it by that name."""
    try:
        return _ask("save_skill", {"name": name, "code": code, "description": description})["message"]
    except ToolError as error:
        raise ValueError(_words(error)) from None


def _words(error):
    # A tool that fails answers JSON where its result has a schema.
    text = str(error)
    try:
        parsed = json.loads(text)
        return parsed.get("error", text) if isinstance(parsed, dict) else text
    except ValueError:
        return text


def _load(name):
    try:
        return _ask("load_skill", {"name": name})
    except ToolError as error:
        raise FileNotFoundError(_words(error)) from None


def load_skill(name):
    """The code of a skill."""
    return _load(name)["code"]


def list_skills():
    """What is known of every skill."""
    return _ask("list_skills", {})["skills"]


def tokenize_pii(text):
    """The text with tokens in place of personal data, and which token stands for what."""
    answer = _ask("sanitize_pii", {"text": text})
    return answer["sanitized_text"], answer.get("map", {})


def detokenize_pii(text, map=None):
    """The text with the values in place of their tokens."""
    if map is None:
        return _ask("restore_pii", {"text": text})["restored_text"]
    for token, value in map.items():
        text = text.replace(token, value)
    return text


def filter_by_field(data, field, value):
    """The rows whose field has that value."""
    return [row for row in data if isinstance(row, dict) and row.get(field) == value]


def summarize_list(data, limit=10):
    """How many there are, and the first few."""
    data = list(data)
    return {"count": len(data), "sample": data[:limit]}


def aggregate_stats(data, fields=None):
    """Sum, average, minimum and maximum of the numbers in each field."""
    data = list(data)
    stats = {"count": len(data)}
    if fields is None:
        fields = [key for key, value in (data[0] if data else {}).items() if _is_number(value)]
    for field in fields:
        values = [row[field] for row in data if isinstance(row, dict) and _is_number(row.get(field))]
        if values:
            stats[f"{field}_sum"] = sum(values)
            stats[f"{field}_avg"] = sum(values) / len(values)
            stats[f"{field}_min"] = min(values)
            stats[f"{field}_max"] = max(values)
    return stats


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def format_output(data, max_chars=5000):
    """Indented JSON, cut at that many characters."""
    text = data if isinstance(data, str) else json.dumps(data, indent=2, default=str)
    return text if len(text) <= max_chars else text[:max_chars] + f"\n... [{len(text) - max_chars} more characters]"


def _find_spec(name, path=None, target=None):
    if name == "skills":
        spec = ModuleSpec(name, SKILLS, is_package=True)
        spec.submodule_search_locations = []
        return spec
    short = name[7:] if name.startswith("skills.") else name
    if not short.isidentifier():
        return None
    try:
        skill = _load(short)
    except FileNotFoundError:
        return None
    if skill["metadata"].get("language", "python") != "python":
        return None
    spec = ModuleSpec(name, SKILLS, origin=f"skill {short}")
    spec.loader_state = skill["code"]
    return spec


def _create_module(spec):
    return None


def _exec_module(module):
    code = module.__spec__.loader_state
    if code is not None:
        exec(compile(code, f"<skill {module.__name__}>", "exec"), module.__dict__)


def _sallyport_setup(names):
    import os
    import sys
    from importlib.machinery import ModuleSpec
    from types import FunctionType

    own = {"__builtins__": __builtins__, "__name__": "sallyport", "os": os, "json": json, "ROOT": "/workspace",
           "ModuleSpec": ModuleSpec, "call_tool": call_tool, "ToolError": ToolError}
    for function in (_inside, read_file, write_file, list_files, delete_file, _ask, save_skill, _words, _load, load_skill,
                     list_skills, tokenize_pii, detokenize_pii, filter_by_field, summarize_list, aggregate_stats,
                     _is_number, format_output, _find_spec, _create_module, _exec_module):
        name = function.__name__
        copy = FunctionType(function.__code__, own, name, function.__defaults__)
        copy.__doc__ = function.__doc__
        own[name] = copy
        names[name] = copy
        if name.startswith("_"):
            del names[name]
    own["SKILLS"] = type("SkillFinder", (), {
        "find_spec": staticmethod(own["_find_spec"]), "create_module": staticmethod(own["_create_module"]),
        "exec_module": staticmethod(own["_exec_module"])})()
    # A session runs this again: one finder is enough.
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "SkillFinder"]
    sys.meta_path.append(own["SKILLS"])


_sallyport_setup(globals())
del _sallyport_setup
