"""Reads tool definitions that are literals in a package's source: JavaScript, TypeScript, Python and Go.

Nothing is run. A definition whose name is computed is left out; one whose parameters are computed has no `inputSchema`.
What is understood:
  JavaScript  server.tool("name", "description", {shape}, ...), registerTool("name", {description, inputSchema}, ...),
              addTool({name, description, parameters}), and objects with name, description and inputSchema; shapes are zod or JSON Schema
  Python      functions under @x.tool or @x.tool(...), add_tool(function), Tool(name=..., description=..., inputSchema=...)
  Go          mcp.NewTool("name", mcp.WithDescription(...), mcp.WithString(...)...), mcp.Tool{Name: ..., Description: ...}
"""
import ast
import dataclasses
import inspect
import json
import re

FILE_MAX = 3 << 20
TOOLS_MAX = 1000
OTHERS = re.compile(r"(^|/)(node_modules|tests?|__tests__|examples?|docs?|fixtures|vendor|testdata|samples?|benchmarks?)/|\.d\.[mc]?ts$"
                    r"|\.(test|spec)\.|_test\.(go|py)$|/test_[^/]*\.py$|\.min\.js$|conftest\.py$", re.I)
SCRIPT = (".js", ".mjs", ".cjs", ".ts", ".mts")
NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_./:-]{0,127}$")


@dataclasses.dataclass
class Found:
    tools: list = dataclasses.field(default_factory=list)
    settings: list = dataclasses.field(default_factory=list)


def reads(path):
    return path.endswith(SCRIPT + (".py", ".go")) and not OTHERS.search(path)


def read(files):
    tools, settings = {}, set()
    for path, text in files:
        if not reads(path):
            continue
        settings |= set(re.findall(r"""(?:process\.env\.|process\.env\[["']|environ\[["']|environ\.get\(["']|getenv\(["'])"""
                                   r"""([A-Z][A-Z0-9_]{2,60})\b""", text))
        found = read_python(text) if path.endswith(".py") else read_go(text) if path.endswith(".go") else read_script(text)
        for tool in found:
            old = tools.get(tool["name"])
            if NAME.match(tool["name"]) and (old is None or worth(tool) > worth(old)):
                tools[tool["name"]] = tool
            if len(tools) >= TOOLS_MAX:
                break
    return Found(list(tools.values()), sorted(settings))


def worth(tool):
    return ("inputSchema" in tool) * 2 + bool(tool.get("description"))


def definition(name, description, schema=None, hints=None):
    tool = {"name": name, "description": description or ""}
    if schema is not None:
        tool["inputSchema"] = schema
    if hints:
        tool["annotations"] = hints
    return tool


# --- Python


def read_python(text):
    if "tool" not in text and "Tool" not in text:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    classes = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    texts = {t.id: value for n in tree.body if isinstance(n, ast.Assign) for t in n.targets
             if isinstance(t, ast.Name) and isinstance(value := constant(n.value, {}), str)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for mark in node.decorator_list:
                call = mark if isinstance(mark, ast.Call) else None
                target = call.func if call else mark
                if isinstance(target, ast.Attribute) and target.attr == "tool":
                    yield from python_function(node, call, texts)
                    break
        elif isinstance(node, ast.Call):
            callee = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if callee == "Tool":
                yield from python_object(node, classes, texts)
            elif callee == "add_tool" and node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in functions:
                yield from python_function(functions[node.args[0].id], node, texts)


def constant(node, texts):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return texts.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = constant(node.left, texts), constant(node.right, texts)
        return left + right if isinstance(left, str) and isinstance(right, str) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("strip", "dedent"):
        inner = constant(node.args[0], texts) if node.args else constant(node.func.value, texts)
        return inner.strip() if isinstance(inner, str) else None
    return None


def keywords(call, texts):
    return {k.arg: constant(k.value, texts) for k in call.keywords if k.arg} if call else {}


def python_function(node, call, texts):
    said = keywords(call, texts)
    first = constant(call.args[0], texts) if call and call.args else None
    name = said.get("name") or (first if isinstance(first, str) else None) or node.name
    about = said.get("description") or ast.get_docstring(node)
    hints = next((k.value for k in call.keywords if k.arg == "annotations"), None) if call else None
    properties, required = {}, []
    own = node.args.posonlyargs + node.args.args
    defaults = dict(zip([a.arg for a in own][len(own) - len(node.args.defaults):], node.args.defaults))
    defaults |= {a.arg: d for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None}
    for argument in own + node.args.kwonlyargs:
        kind = ast.unparse(argument.annotation) if argument.annotation else ""
        if argument.arg in ("self", "cls") or "Context" in kind or argument.arg in ("ctx", "context") and not kind:
            continue
        properties[argument.arg] = python_type(argument.annotation, kind)
        default = defaults.get(argument.arg)
        if default is None or python_field_required(default):
            required.append(argument.arg)
    yield definition(name, about, {"type": "object", "properties": properties, "required": required}, python_hints(hints))


def python_field_required(node):
    if not (isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Field"):
        return False
    if node.args:
        return isinstance(node.args[0], ast.Constant) and node.args[0].value is Ellipsis
    return not any(k.arg in ("default", "default_factory") for k in node.keywords)


def python_hints(node):
    pairs = {}
    if isinstance(node, ast.Call):
        pairs = {k.arg: k.value for k in node.keywords}
    elif isinstance(node, ast.Dict):
        pairs = {k.value: v for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)}
    return {k: v.value for k, v in pairs.items() if k and k.endswith("Hint") and isinstance(v, ast.Constant)}


def python_type(node, text):
    kind = {"type": "string"}
    base = re.sub(r"^(typing\.)?(Optional|Annotated)\[", "", text)
    for word, name in (("int", "integer"), ("float", "number"), ("bool", "boolean"), ("list", "array"), ("List", "array"),
                       ("dict", "object"), ("Dict", "object")):
        if re.match(rf"{word}\b", base):
            kind = {"type": name}
    for part in ast.walk(node) if node is not None else ():
        if isinstance(part, ast.Subscript) and ast.unparse(part.value).endswith("Literal"):
            values = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
            kind = {"type": "string", "enum": [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]}
        if isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] == "Field":
            about = next((k.value for k in part.keywords if k.arg == "description"), None)
            if isinstance(about, ast.Constant) and isinstance(about.value, str):
                kind["description"] = about.value
    return kind


def python_object(node, classes, texts):
    said = keywords(node, texts)
    name, about = said.get("name"), said.get("description")
    if not isinstance(name, str):
        return
    schema = next((k.value for k in node.keywords if k.arg in ("inputSchema", "input_schema", "parameters")), None)
    if schema is None:
        return
    yield definition(name, inspect.cleandoc(about) if isinstance(about, str) else "", python_schema(schema, classes, texts),
                     python_hints(next((k.value for k in node.keywords if k.arg == "annotations"), None)))


def python_schema(node, classes, texts):
    if isinstance(node, ast.Dict):
        return python_dict(node, texts)
    text = ast.unparse(node)
    match = re.match(r"(\w+)\.(model_json_schema|schema)\(", text)
    if not match or match.group(1) not in classes:
        return None
    properties, required = {}, []
    for field in classes[match.group(1)].body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            properties[field.target.id] = python_type(field.annotation, ast.unparse(field.annotation))
            if field.value is None or python_field_required(field.value):
                required.append(field.target.id)
    bases = classes[match.group(1)].bases
    if [ast.unparse(b).split(".")[-1] for b in bases] != ["BaseModel"]:
        return None  # fields that it inherits are not here
    return {"type": "object", "properties": properties, "required": required}


def python_dict(node, texts, depth=0):
    """A literal dict; a computed value in it becomes {}; None when keys are computed."""
    result = {}
    if depth > 12:
        return {}
    for key, value in zip(node.keys, node.values):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        if isinstance(value, ast.Dict):
            result[key.value] = python_dict(value, texts, depth + 1) or {}
        elif isinstance(value, (ast.List, ast.Tuple)):
            result[key.value] = [python_dict(v, texts, depth + 1) if isinstance(v, ast.Dict) else constant(v, texts) for v in value.elts]
        else:
            single = constant(value, texts)
            result[key.value] = single if single is not None or isinstance(value, ast.Constant) else {}
    return result


# --- JavaScript, TypeScript and Go: a scanner for literals

CLOSING = {"(": ")", "[": "]", "{": "}"}
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', re.S)
PLAIN = re.compile(r"[^\"'`(){}\[\],;/]+")
REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}


def space(s, i):
    return SPACE.match(s, i).end()


def unescape(text):
    def one(m):
        g = m.group(1)
        if g[0] in "ux":
            digits = g[1:].strip("{}")
            try:
                point = int(digits, 16)
                return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else ""
            except ValueError:
                return g
        return "" if g == "\n" else ESCAPES.get(g, g)
    return re.sub(r"\\(u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", one, text, flags=re.S)


def template_end(s, i):
    """Past the template literal that starts at i; whether it has no substitutions."""
    plain, i = True, i + 1
    while i < len(s):
        if s[i] == "\\":
            i += 2
        elif s[i] == "`":
            return i + 1, plain
        elif s.startswith("${", i):
            plain, i = False, expression_end(s, i + 2, "}") + 1
        else:
            i += 1
    return len(s), False


def expression_end(s, i, stop=""):
    """Where the expression at i ends: at a comma, semicolon or closing bracket that is not its own (with stop: at that)."""
    stack, before = [], "("
    while i < len(s):
        c = s[i]
        if c in "\"'":
            match = STRING.match(s, i)
            i, before = match.end() if match else i + 1, '"'
        elif c == "`":
            i, before = template_end(s, i)[0], '"'
        elif c == "/":
            after = space(s, i)
            if after == i:
                match = REGEX.match(s, i) if before in "(,=:[!&|?{};>\n" else None
                after, before = (match.end(), '"') if match else (i + 1, "/")
            i = after
        elif c in "([{":
            stack.append(CLOSING[c])
            i, before = i + 1, c
        elif c in ")]}":
            if not stack:
                return i
            stack.pop()
            i, before = i + 1, c
        elif c in ",;":
            if not stack and not stop:
                return i
            i, before = i + 1, c
        else:
            match = PLAIN.match(s, i)
            i = match.end()
            before = match.group().rstrip()[-1:] or before
    return len(s)


def string_at(s, i, raw_backtick=False):
    """The string at i, joined with those added to it by `+`; None when it is computed."""
    parts = []
    while True:
        i = space(s, i)
        if i >= len(s):
            return None
        if s[i] in "\"'":
            match = STRING.match(s, i)
            if not match:
                return None
            parts.append(unescape(match.group()[1:-1]))
            i = match.end()
        elif s[i] == "`":
            if raw_backtick:
                end = s.find("`", i + 1) + 1
                if not end:
                    return None
                parts.append(s[i + 1:end - 1])
            else:
                end, plain = template_end(s, i)
                if not plain:
                    return None
                parts.append(unescape(s[i + 1:end - 1]))
            i = end
        else:
            return None
        i = space(s, i)
        if not s.startswith("+", i):
            return "".join(parts)
        i += 1


def arguments_at(s, i, most=40):
    """Spans of the arguments of the call whose bracket is at i."""
    spans, i = [], i + 1
    while len(spans) < most:
        i = space(s, i)
        if i >= len(s) or s[i] in ")]}":
            break
        end = expression_end(s, i)
        spans.append((i, end))
        if end >= len(s) or s[end] != ",":
            break
        i = end + 1
    return spans


KEY = re.compile(r"""(?:([A-Za-z_$][\w$]*)|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')\s*:(?!:)""")


def object_at(s, i):
    """Keys of the object literal at i and where their values are; `...` and methods are under None."""
    members = {}
    for start, end in arguments_at(s, i, 200):
        match = KEY.match(s, start)
        if match:
            members[next(g for g in match.groups() if g is not None)] = (space(s, match.end()), end)
        elif re.fullmatch(r"[A-Za-z_$][\w$]*\s*", s[start:min(end, start + 80)]):
            members[s[start:end].strip()] = (start, end)
        else:
            members[None] = (start, end)
    return members


CALLED = re.compile(r"""(?:\.|\b)(tool|registerTool|addTool|defineTool|registerAppTool)\s*(?:<[^>()]{0,80}>)?\(\s*(?=["'`{\w])""")
NAMED = re.compile(r"""[{,\n]\s*["']?name["']?\s*:\s*(?=["'`])""")


def commented(s, i):
    line = s[max(s.rfind("\n", 0, i) + 1, i - 200):i].lstrip()
    return line.startswith("*") or re.search(r"(?<![:\"'])//", line) is not None


def read_script(s):
    for match in CALLED.finditer(s):
        if commented(s, match.start()):
            continue
        open_at = s.index("(", match.start(1))
        spans = arguments_at(s, open_at, 5)
        if match.group(1) == "registerAppTool":
            spans = spans[1:]
        if not spans:
            continue
        if s[spans[0][0]] == "{":
            if match.group(1) in ("addTool", "defineTool", "registerTool"):
                yield from script_object(s, spans[0][0], ("inputSchema", "parameters", "input_schema", "schema", "execute", "handler"))
        elif (name := string_at(s, spans[0][0])) and len(spans) > 1:
            yield from script_call(s, name, spans[1:])
    for match in NAMED.finditer(s):
        start = opening(s, match.start())
        if start is not None and not commented(s, start):
            yield from script_object(s, start, ("inputSchema", "input_schema"))


def opening(s, i):
    """The `{` of the object in which a member starts at i, when `name` is among its first members."""
    if s[i] == "{":
        return i
    start = s.rfind("{", max(0, i - 400), i + 1)
    return start if start >= 0 and "}" not in s[start:i] else None


def script_object(s, start, kinds):
    members = object_at(s, start)
    if "name" not in members or "description" not in members or not any(k in members for k in kinds):
        return
    name = string_at(s, members["name"][0])
    if name:
        schema = next((members[k] for k in ("inputSchema", "input_schema", "parameters", "schema") if k in members), None)
        yield definition(name, string_at(s, members["description"][0]), script_schema(s, schema),
                         script_hints(s, members.get("annotations")))


def script_call(s, name, spans):
    about = string_at(s, spans[0][0])
    if about is not None:
        shape = spans[1] if len(spans) > 2 else None
        schema = {"type": "object", "properties": {}, "required": []} if len(spans) == 2 else script_schema(s, shape)
        hints = script_hints(s, spans[2]) if len(spans) > 3 else None
        yield definition(name, about, schema, hints)
    elif s[spans[0][0]] == "{":
        members = object_at(s, spans[0][0])
        if "description" in members or "inputSchema" in members:
            described = string_at(s, members["description"][0]) if "description" in members else ""
            given = members.get("inputSchema")
            schema = script_schema(s, given) if given or None in members else {"type": "object", "properties": {}, "required": []}
            yield definition(name, described, schema, script_hints(s, members.get("annotations")))
    elif len(spans) > 1 or re.match(r"async\b|\(|function\b", s[spans[0][0]:spans[0][0] + 10]):
        yield definition(name, "")


def script_hints(s, span):
    if not span or s[span[0]] != "{":
        return None
    hints = {}
    for key, (start, end) in object_at(s, span[0]).items():
        value = s[start:end].strip()
        if key and key.endswith("Hint") and value in ("true", "false", "!0", "!1"):
            hints[key] = value in ("true", "!0")
    return hints


def script_schema(s, span, depth=0):
    """JSON Schema from a literal schema or a zod shape; None when it is computed."""
    if span is None or depth > 3:
        return None
    start, end = span
    if s[start] == "{":
        members = object_at(s, start)
        if None in members:
            return None
        if "properties" in members and "type" in members:
            return script_json(s, start)
        if "type" in members and string_at(s, members["type"][0]) == "object":
            return {"type": "object", "properties": {}, "required": []}
        return script_shape(s, members)
    inner = re.match(r"[\w$.]*\bobject\(\s*(?=\{)", s[start:start + 60])
    if inner:
        members = object_at(s, start + inner.end())
        rest = s[expression_end(s, start + inner.end()):end]
        return None if None in members or re.search(r"\.(extend|merge|and|omit|pick|partial)\(", rest) else script_shape(s, members)
    name = re.match(r"(?:[\w$.]*(?:toJsonSchema|zodToJsonSchema|toJSONSchema)\(\s*)?([A-Za-z_$][\w$]*)(?:\.shape)?\s*(?:,[^)]*)?\)?\s*(?:as \w+\s*)?$",
                    s[start:end])
    if not name:
        return None
    found = re.search(rf"\b(?:const|let|var)\s+{re.escape(name.group(1))}\s*(?::[^=]{{0,80}})?=\s*", s) or \
        re.search(rf"[,;]\s*{re.escape(name.group(1))}=(?=[\w$.]*object\(|\{{)", s)
    if not found:
        return None
    at = space(s, found.end())
    return script_schema(s, (at, expression_end(s, at)), depth + 1)


def script_shape(s, members):
    properties, required = {}, []
    for key, (start, end) in members.items():
        text = s[start:min(end, start + 4000)]
        kind = {"type": next((t for t in ("number", "boolean", "array", "object") if re.match(rf"[\w$.]*\b{t}\(", text)), "string")}
        values = re.search(r"\benum\(\s*\[(.*?)\]", text, re.S)
        if values:
            kind["enum"] = [unescape(v[1:-1]) for v in STRING.findall(values.group(1))][:100]
        about = re.search(r"\.describe\(", text)
        if about and (said := string_at(s, start + about.end())):
            kind["description"] = said
        properties[key] = kind
        if not re.search(r"\.(optional|default|nullish|catch)\(|\boptional\(", text):
            required.append(key)
    return {"type": "object", "properties": properties, "required": required}


def script_json(s, start, depth=0):
    """The value of a literal; what is computed becomes {}."""
    if depth > 12:
        return {}
    if s[start] == "{":
        return {k: script_json(s, at, depth + 1) for k, (at, _) in object_at(s, start).items() if k is not None}
    if s[start] == "[":
        return [script_json(s, at, depth + 1) for at, _ in arguments_at(s, start, 300)]
    text = string_at(s, start)
    if text is not None:
        return text
    word = s[start:expression_end(s, start)].strip().removesuffix(" as const")
    try:
        return json.loads({"!0": "true", "!1": "false"}.get(word, word))
    except ValueError:
        return {}


# --- Go

GO_TYPES = {"WithString": "string", "WithNumber": "number", "WithBoolean": "boolean", "WithArray": "array", "WithObject": "object",
            "WithInteger": "integer"}


def go_text(s, start, end):
    """The text of an expression of literals; t("KEY", "text") gives the text."""
    text = string_at(s, start, raw_backtick=True)
    if text is not None:
        return text
    call = re.match(r"[\w.]+\(", s[start:end])
    if call:
        for at, stop in reversed(arguments_at(s, start + call.end() - 1, 6)):
            if (text := go_text(s, at, stop)) is not None:
                return text
    return None


def read_go(s):
    if "mcp" not in s:
        return
    for match in re.finditer(r"\b(NewTool(?:WithRawSchema)?|MustTool)\(", s):
        spans = arguments_at(s, match.end() - 1, 60)
        name = spans and string_at(s, spans[0][0], raw_backtick=True)
        if name and match.group(1) == "MustTool" and len(spans) > 1:
            yield definition(name, go_text(s, *spans[1]), None, go_hints(s[spans[-1][0]:spans[-1][1]]))
        elif name:
            yield go_tool(s, name, spans[1:])
    for match in re.finditer(r"\bmcp\.Tool\s*\{", s):
        members = object_at(s, match.end() - 1)
        name = string_at(s, members["Name"][0], raw_backtick=True) if "Name" in members else None
        if name and "Description" in members:
            yield definition(name, go_text(s, *members["Description"]), None, go_hints(s[slice(*members.get("Annotations", (0, 0)))]))


def go_tool(s, name, spans):
    about, properties, required, hints, whole = "", {}, [], {}, True
    for start, end in spans:
        call = re.match(r"(?:\w+\.)?(\w+)\(", s[start:end])
        if not call:
            whole = False
            continue
        inside = arguments_at(s, start + call.end() - 1)
        if call.group(1) == "WithDescription" and inside:
            about = go_text(s, *inside[0]) or ""
        elif call.group(1) in GO_TYPES and inside and (key := string_at(s, inside[0][0], raw_backtick=True)):
            properties[key] = {"type": GO_TYPES[call.group(1)]}
            options = [s[a:b] for a, b in inside[1:]]
            if any(re.match(r"(\w+\.)?Required\(", o) for o in options):
                required.append(key)
            for (a, b), option in zip(inside[1:], options):
                inner = re.match(r"(?:\w+\.)?(Enum|Description)\(", option)
                if inner and inner.group(1) == "Enum":
                    properties[key]["enum"] = [v for v in (string_at(s, x, True) for x, _ in arguments_at(s, a + inner.end() - 1)) if v]
                elif inner and (text := go_text(s, *(arguments_at(s, a + inner.end() - 1) or [(a, a)])[0])):
                    properties[key]["description"] = text
        elif "Annotation" in call.group(1):
            hints |= go_hints(s[start:end])
        else:
            whole = False
    schema = {"type": "object", "properties": properties, "required": required} if whole else None
    return definition(name, about, schema, hints)


def go_hints(text):
    hints = {}
    for key, value in re.findall(r"(ReadOnlyHint|DestructiveHint|IdempotentHint|OpenWorldHint)\w*[:(]\s*(?:[\w.]+\()?(true|false)", text):
        hints[key[0].lower() + key[1:]] = value == "true"
    return hints
