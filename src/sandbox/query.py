# SQL over the files of the workspace. Stands in front of sallyport-python.py in one script.
#
#   statement ─▶ sqlite: "no such table: sales" ─▶ sales.csv is loaded, or a .db file that has it is attached ─▶ again
#
# DuckDB runs instead where it is installed and the text needs it: Parquet, its read_ functions, `-- duckdb` in front, or what SQLite rejects.

SQL_ROWS_MAX = 10000  # of one table that is handed over
SQL_DELIMITERS = ",;\t|"
SQL_TABLES = ("csv", "tsv", "json", "jsonl", "ndjson", "parquet")
SQL_DATABASES = ("db", "sqlite", "sqlite3")
SQL_LISTED_MAX = 50  # tables that are loaded to be listed, columns in an error
SQL_TABLE_NAMES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
SQL_SHOW_TABLES = r"(?:SHOW\s+(?:ALL\s+)?TABLES|\.tables)\s*;?"
SQL_DESCRIBE = r"(?:DESC(?:RIBE)?(?:\s+TABLE)?|SHOW\s+COLUMNS\s+FROM|\.schema)\s+('[^']+'|\"[^\"]+\"|`[^`]+`|[\w.]+)\s*;?"


class SqlError(Exception):
    def __init__(self, text, kind="SqlError", place=""):
        super().__init__(text)
        self.kind, self.place = kind, place


def sql_quote(name):
    return '"' + name.replace('"', '""') + '"'


def sql_string(text):
    return "'" + text.replace("'", "''") + "'"


# ---- files as tables ----

def sql_number(text):
    """What a column of such values is declared as: 0 nothing to say, 1 INTEGER, 2 REAL, 3 TEXT. 007 is a name, not a number."""
    if not text:
        return 0
    digits = text.lstrip("+-")
    if len(text) - len(digits) > 1 or (len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()):
        return 3
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return 1
    if not digits or digits[0] not in ".0123456789":
        return 3
    try:
        float(digits)
        return 3 if "_" in digits else 2
    except ValueError:
        return 3


def sql_names(given):
    names, seen = [], set()
    for i, name in enumerate(given, 1):
        name = base = str(name).strip() or "column%d" % i
        count = 1
        while name.lower() in seen:
            count += 1
            name = "%s_%d" % (base, count)
        seen.add(name.lower())
        names.append(name)
    return names


def sql_text(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def sql_csv(path):
    import csv
    import io

    text = sql_text(path)
    line = text.partition("\n")[0]
    delimiter = "\t" if path.endswith(".tsv") else max(SQL_DELIMITERS, key=line.count)
    csv.field_size_limit(1 << 24)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    names, rows = sql_names(rows[0] if rows else ["column1"]), rows[1:]
    width = len(names)
    kinds = [0] * width
    for row in rows:
        row[width:] = []
        for i, value in enumerate(row):
            if kinds[i] < 3:
                kinds[i] = max(kinds[i], sql_number(value))
    for row in rows:
        row += [None] * (width - len(row))
        for i, value in enumerate(row):
            if value == "" and kinds[i] in (1, 2):
                row[i] = None
    return [(name, ("TEXT", "INTEGER", "REAL", "TEXT")[kind]) for name, kind in zip(names, kinds)], rows


def sql_json(path):
    import json

    text = sql_text(path)
    try:
        data = [json.loads(line) for line in text.splitlines() if line.strip()] if path.endswith(("jsonl", "ndjson")) else json.loads(text)
    except ValueError as error:
        raise SqlError("%s is not valid JSON: %s" % (path, error)) from None
    if isinstance(data, dict):  # {"rows": [...]} and its like
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else [data]
    data = [row if isinstance(row, dict) else {"value": row} for row in (data if isinstance(data, list) else [data])]
    names = list(dict.fromkeys(key for row in data for key in row)) or ["value"]

    def scalar(value):
        return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value

    return [(name, "") for name in sql_names(names)], [[scalar(row.get(name)) for name in names] for row in data]


def sql_files(kinds):
    import os

    return sorted(name for name in os.listdir(".") if name.rpartition(".")[2].lower() in kinds and os.path.isfile(name))


def sql_find(name):
    """The file that a table's name stands for: a path, or a name without its ending. None when there is none."""
    import os

    if name.rpartition(".")[2].lower() in SQL_TABLES and os.path.isfile(name):
        return name
    return next((file for file in sql_files(SQL_TABLES) if file.rpartition(".")[0].lower() == name.lower()), None)


# ---- tables as text ----

def sql_cell(value):
    if value is None:
        return ""
    if isinstance(value, float):
        text = "%.15g" % value
        return text.replace("e", ".0e") if "e" in text and "." not in text else text if any(c in text for c in ".inf") else text + ".0"
    if isinstance(value, bytes):
        return "x'%s'" % value.hex()
    return str(value).replace("\r", "").replace("\n", " ")


def sql_table(columns, rows):
    """Markdown, as `sqlite3 -markdown` prints it."""
    cells = [[sql_cell(value).replace("|", "&#124;") for value in row] for row in rows]
    widths = [max(len(row[i]) for row in [columns] + cells) for i in range(len(columns))]

    def middle(text, width):
        left = (width - len(text)) // 2
        return " " * left + text + " " * (width - len(text) - left)

    lines = ["| " + " | ".join(map(middle, columns, widths)) + " |", "|" + "|".join("-" * (width + 2) for width in widths) + "|"]
    return "\n".join(lines + ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in cells])


def sql_write(path, columns, rows, options):
    import csv
    import json

    kind = path.rpartition(".")[2].lower()
    if path.startswith("/") and not path.startswith(("/workspace/", "/tmp/")) or ".." in path.split("/"):
        raise SqlError("COPY writes files of the workspace, not %s" % path)
    if kind not in ("csv", "tsv", "json", "jsonl", "ndjson"):
        raise SqlError("COPY writes .csv, .tsv, .json and .jsonl here, not %s" % path)
    count = 0
    with open(path, "w", newline="", encoding="utf-8") as file:
        if kind in ("csv", "tsv"):
            between = re.search(r"\bDELIM(?:ITER)?\s*=?\s*'([^'])'", options, re.I)
            writer = csv.writer(file, delimiter=between[1] if between else "," if kind == "csv" else "\t", lineterminator="\n")
            if not re.search(r"\bHEADER\s*=?\s*(?:false|off|0)\b", options, re.I):
                writer.writerow(columns)
            for count, row in enumerate(rows, 1):
                writer.writerow(row)
        else:
            whole = kind == "json"
            for count, row in enumerate(rows, 1):
                file.write(("," if count > 1 else "[") + "\n" if whole else "")
                file.write(json.dumps(dict(zip(columns, row)), ensure_ascii=False, default=str) + ("" if whole else "\n"))
            file.write(("\n]" if count else "[]") + "\n" if whole else "")
    return count


# ---- functions that SQLite 3.40 does not have ----

class SqlMedian:
    def __init__(self):
        self.values = []

    def step(self, value):
        if value is not None:
            self.values.append(value)

    def finalize(self):
        import statistics

        return statistics.median(self.values) if self.values else None


class SqlDeviation(SqlMedian):
    def finalize(self):
        import statistics

        return statistics.stdev(self.values) if len(self.values) > 1 else None


class SqlStrings:
    def __init__(self):
        self.text = None

    def step(self, value, between=","):
        if value is not None:
            self.text = str(value) if self.text is None else self.text + between + str(value)

    def finalize(self):
        return self.text


def sql_first(values, choose):
    given = [value for value in values if value is not None]
    return choose(given) if given else None


def sql_regex(call):
    """As a function of SQLite: NULL where an argument is."""
    return lambda *args: None if None in args else call(*map(str, args))


SQL_FUNCTIONS = {
    "concat": lambda *args: "".join(str(value) for value in args if value is not None),
    "concat_ws": lambda between, *args: between.join(str(value) for value in args if value is not None),
    "greatest": lambda *args: sql_first(args, max),
    "least": lambda *args: sql_first(args, min),
    "regexp": sql_regex(lambda pattern, text: re.search(pattern, text) is not None),
    "regexp_matches": sql_regex(lambda text, pattern: re.search(pattern, text) is not None),
    "regexp_replace": sql_regex(lambda text, pattern, new, flags="": re.sub(pattern, new, text, count=0 if "g" in flags else 1)),
}
SQL_AGGREGATES = {"median": (SqlMedian, 1), "stddev": (SqlDeviation, 1), "stddev_samp": (SqlDeviation, 1), "string_agg": (SqlStrings, -1)}


# ---- engines ----

class Sqlite:
    """The database of a run or session is in memory; a table that is a file cannot be changed, as the file would not be."""

    def __init__(self):
        import sqlite3

        self.module = sqlite3
        self.name = "sqlite " + sqlite3.sqlite_version
        # The kernel refuses locks; no other process has this run's files.
        self.connection = sqlite3.connect("file::memory:?vfs=unix-none", uri=True, isolation_level=None)
        self.connection.execute("PRAGMA temp_store = MEMORY")
        for name, call in SQL_FUNCTIONS.items():
            self.connection.create_function(name, -1, call, deterministic=True)
        for name, (call, count) in SQL_AGGREGATES.items():
            self.connection.create_aggregate(name, count, call)
        self.loaded, self.loading, self.files = {}, False, False
        self.connection.set_authorizer(self.allow)

    def is_fresh(self):
        """Has it nothing that another engine would miss?"""
        return not self.files and not self.connection.execute("SELECT 1 FROM main.sqlite_master UNION ALL SELECT 1 FROM temp.sqlite_master LIMIT 1").fetchone()

    def allow(self, action, first, second, database, trigger):
        if action == self.module.SQLITE_ATTACH and first != ":memory:":
            self.files = True
        changes = action in (self.module.SQLITE_INSERT, self.module.SQLITE_UPDATE, self.module.SQLITE_DELETE)
        return self.module.SQLITE_DENY if changes and not self.loading and (database, first) in self.loaded else self.module.SQLITE_OK

    def close_files(self):
        """Files may be others in the next run of a session."""
        self.loading = True
        if self.connection.in_transaction:
            self.connection.rollback()
        for schema, table in self.loaded:
            if schema == "main":
                self.connection.execute("DROP TABLE IF EXISTS main." + sql_quote(table))
        for _, name, _ in self.connection.execute("PRAGMA database_list").fetchall():
            if name not in ("main", "temp"):
                self.connection.execute("DETACH " + sql_quote(name))
        self.loaded, self.loading = {}, False

    def split(self, text, params):
        """(line, statement); a trigger's own semicolons do not end it."""
        start = at = 0
        while at < len(text):
            end = text.find(";", at)
            end = len(text) if end < 0 else end + 1
            if end == len(text) or self.module.complete_statement(text[start:end]):
                part = text[start:end]
                if sql_bare(part):
                    yield text.count("\n", 0, start) + part[:len(part) - len(part.lstrip())].count("\n") + 1, part.strip()
                start = end
            at = end

    def execute(self, text, params):
        tried = set()
        if re.search(SQL_DATES, sql_plain(text)):
            raise SqlError("CAST(... AS DATE) is a number in SQLite: use date(...) or datetime(...)", "OperationalError")
        if re.fullmatch(SQL_SHOW_TABLES, text.strip(), re.I):
            return ["name", "file"], iter(self.tables())
        text = self.described(text)
        while True:
            try:
                cursor = self.connection.execute(text, params)
                return [d[0] for d in cursor.description or ()], cursor
            except self.module.OperationalError as error:
                name = str(error).partition("no such table: ")[2]
                if "no such column: " in str(error):
                    raise SqlError(str(error) + self.columns_of(text), "OperationalError") from None
                if name.startswith("read_"):
                    plain = sql_read_functions(text)
                    name, text = (name, plain) if plain != text else ("", text)
                elif not name or not self.provide(name, tried):
                    raise
                if not name:
                    raise
            except self.module.DatabaseError as error:
                if "not authorized" not in str(error):
                    raise
                raise SqlError("a table that is a file cannot be changed: write one with COPY (SELECT ...) TO 'file.csv'; a CREATE TABLE x AS "
                               "SELECT ... can be changed") from None

    def tables(self):
        """(name, file) of every table that a statement could name; the file is empty for those that only this run has."""
        found = [(file.rpartition(".")[0], file) for file in sql_files(SQL_TABLES)]
        for file in sql_files(SQL_DATABASES):
            stem = file.rpartition(".")[0]
            other = self.module.connect(file)
            try:
                found += [("%s.%s" % (stem, name), file) for (name,) in other.execute(SQL_TABLE_NAMES)]
            except self.module.DatabaseError:
                pass  # not a database, whatever its name
            finally:
                other.close()
        made = [name for (name,) in self.connection.execute(SQL_TABLE_NAMES) if ("main", name) not in self.loaded]
        return found + [(name, "") for name in made]

    def described(self, text):
        """DESCRIBE and the like as what SQLite has for them. Its own questions do not fail for a table that is not loaded, so it is loaded first."""
        asked = re.fullmatch(SQL_DESCRIBE, text.strip(), re.I)
        if asked:
            name = asked[1].strip("'\"`")
            schema, _, table = ("", "", name) if sql_find(name) else name.rpartition(".")
            text = "SELECT name, type FROM pragma_table_info(%s)" % ", ".join(map(sql_string, (table, schema) if schema else (table,)))
        else:
            inside = re.search(r"\bpragma_table_x?info\s*\(\s*([^\s()]+)\s*\)|\bPRAGMA\s+table_x?info\s*[(=]\s*([^\s();]+)", text, re.I)
            name = (inside[1] or inside[2]).strip("'\"`") if inside else ""
        if name and not self.connection.execute("SELECT 1 FROM pragma_table_info(?)", (name,)).fetchone() and not self.provide(name, set()) and asked:
            raise SqlError("no such table: " + name, "OperationalError")
        if re.search(r"\bsqlite_(?:master|schema)\b", sql_plain(text), re.I):
            for file in sql_files(SQL_TABLES)[:SQL_LISTED_MAX]:
                name = file.rpartition(".")[0]
                if not file.endswith("parquet") and not self.connection.execute("SELECT 1 FROM pragma_table_info(?)", (name,)).fetchone():
                    self.load(file, "main", name)
        return text

    def columns_of(self, text):
        """What the tables of the statement have, for one that asks for something else."""
        lists = []
        for _, schema, _ in self.connection.execute("PRAGMA database_list").fetchall():
            names = self.connection.execute(SQL_TABLE_NAMES.replace("sqlite_master", sql_quote(schema) + ".sqlite_master")).fetchall()
            for (name,) in names:
                if name.lower() in text.lower():
                    columns = [row[1] for row in self.connection.execute("PRAGMA %s.table_info(%s)" % (sql_quote(schema), sql_quote(name)))]
                    lists.append("%s has %s" % (name, ", ".join(columns[:SQL_LISTED_MAX])))
        return "".join("; " + entry for entry in lists[:4])

    def provide(self, name, tried):
        """Loads or attaches the table; false if nothing has that name."""
        path = sql_find(name)
        schema, dot, table = name.partition(".")
        if path and ("main", name) not in self.loaded:
            return self.load(path, "main", name)
        if path and dot and name == path and (schema, table) not in self.loaded:  # unquoted: sales.csv
            self.connection.execute("ATTACH ':memory:' AS " + sql_quote(schema))
            return self.load(path, schema, table)
        for file in sql_files(SQL_DATABASES):
            stem = file.rpartition(".")[0]
            if file in tried or (dot and stem != schema):
                continue
            tried.add(file)
            if self.attach(file, stem, table if dot else name):
                return True
        return False

    def load(self, path, schema, table):
        if path.lower().endswith(".parquet"):
            raise SqlError("Parquet files need the package duckdb, which the operator can add (docs/code.md, Packages)")
        columns, rows = (sql_csv if path.lower().endswith(("csv", "tsv")) else sql_json)(path)
        where = sql_quote(schema) + "." + sql_quote(table)
        self.loading = True
        try:
            self.connection.execute("CREATE TABLE %s (%s)" % (where, ", ".join(sql_quote(name) + " " + kind for name, kind in columns)))
            self.connection.executemany("INSERT INTO %s VALUES (%s)" % (where, ", ".join("?" * len(columns))), rows)
        finally:
            self.loading = False
        self.loaded[schema, table] = path
        return True

    def attach(self, file, schema, table):
        self.connection.execute("ATTACH ? AS " + sql_quote(schema), (file,))
        try:
            if self.connection.execute("SELECT 1 FROM %s.sqlite_master WHERE lower(name) = lower(?)" % sql_quote(schema), (table,)).fetchone():
                return True
        except self.module.DatabaseError:
            pass  # not a database, whatever its name
        self.connection.execute("DETACH " + sql_quote(schema))
        return False


class Duckdb:
    def __init__(self):
        import duckdb

        self.module = duckdb
        self.name = "duckdb " + duckdb.__version__
        self.connection = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False, "temp_directory": "/tmp"})

    def close_files(self):
        pass

    def split(self, text, params):
        for name in params:
            text = re.sub(r"(?<![:\w]):(%s)\b" % re.escape(name), r"$\1", text)  # as SQLite has them
        for statement in self.connection.extract_statements(text):
            part = statement.query.strip()
            yield text.count("\n", 0, max(0, text.find(part))) + 1, part

    def execute(self, text, params):
        used = {name: value for name, value in params.items() if re.search(r"\$%s\b" % re.escape(name), text)}
        tried = set()
        while True:
            try:
                cursor = self.connection.execute(text, used or None)
                return [d[0] for d in cursor.description or ()], iter(cursor.fetchone, None)
            except self.module.CatalogException as error:
                missing = re.search(r"Table with name (\S+) does not exist", str(error))
                path = missing and missing[1] not in tried and sql_find(missing[1])
                if not path:
                    raise
                tried.add(missing[1])
                self.connection.execute("CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM '%s'" % (sql_quote(missing[1]), path.replace("'", "''")))


def sql_bare(text):
    """Without comments and semicolons: is there anything?"""
    return re.sub(r"--[^\n]*|/\*.*?\*/|;", "", text, flags=re.S).strip()


def sql_read_functions(text):
    return re.sub(r"\bread_(?:csv|csv_auto|json|json_auto|ndjson|ndjson_auto)\s*\(\s*'((?:[^']|'')*)'\s*\)", lambda m: sql_quote(m[1].replace("''", "'")), text)


def sql_plain(text):
    """Without comments and what is in strings."""
    return re.sub(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'", " ", text, flags=re.S)


# What SQLite says of statements in the dialects of others.
SQL_DIALECT = (r"syntax error|unrecognized token|no such function|no such column: [\d'\"]|no such table: \w+\(|no such table: (?:generate_series|range|unnest)\b"
                         r"|wrong number of arguments|CAST\(\.\.\. AS DATE")
SQL_DATES = r"(?i)\bAS\s+(?:DATE|TIME|DATETIME|TIMESTAMP(?:TZ)?)\s*\)"
SQL_NO_DUCKDB = "; the dialect is SQLite's. DuckDB's needs the package duckdb: ask for it with `packages`, once the operator has run `sallyport code packages add duckdb`"


def sql_has_duckdb():
    from importlib.util import find_spec

    return find_spec("duckdb") is not None


def sql_engine(text, engines):
    asked = re.match(r"\s*--\s*duckdb\b", text, re.I)
    kept = Duckdb in engines and Sqlite not in engines  # the session's tables are there
    there = (asked or kept or re.search(r"\.parquet\b|\bread_\w+\s*\(", text, re.I)) and sql_has_duckdb()
    if asked and not there:
        raise SqlError("duckdb is not installed here: the operator can add the package (docs/code.md, Packages)")
    return sql_open(Duckdb if there else Sqlite, engines)


def sql_open(kind, engines):
    if kind not in engines:
        engines[kind] = kind()
    return engines[kind]


def sql_hint(error):
    if re.search(SQL_DIALECT, str(error)) and not sql_has_duckdb():
        return SQL_NO_DUCKDB
    if "no such table" not in str(error) and "does not exist" not in str(error):
        return ""
    files = sql_files(SQL_TABLES + SQL_DATABASES)
    return ": tables are files of the workspace (`sales` or 'sales.csv' is sales.csv), the tables of its .db files, and what this run creates; " + \
        ("there are " + ", ".join(files[:20]) if files else "there are no such files")


def sql_copy(engine, text, params):
    """COPY (SELECT ...) TO 'file.csv', which SQLite does not have; Parquet is written by DuckDB itself. None when the statement is another."""
    found = re.fullmatch(r"\s*COPY\s+(\(.*\)|[^\s(]+)\s+TO\s+'((?:[^']|'')+)'\s*(\([^()]*\))?\s*;?\s*", text, re.I | re.S)
    if not found:
        return None
    what, path = found[1], found[2].replace("''", "'")
    if path.lower().endswith(".parquet") and isinstance(engine, Duckdb):
        return "%d rows written to %s" % (next(engine.execute(text, params)[1])[0], path)
    columns, rows = engine.execute(what[1:-1] if what[0] == "(" else "SELECT * FROM " + what, params)
    return "%d rows written to %s" % (sql_write(path, columns, list(rows), found[3] or ""), path)


class SqlOutput:
    """Tables are printed as soon as a later one follows. What another engine does once more is not printed again."""

    def __init__(self):
        self.printed = self.seen = 0

    def print(self, text):
        self.seen += 1
        if self.seen > self.printed:
            self.printed = self.seen
            print(text)


def sql_script(engine, text, params, output):
    """Runs all of it with one engine: the last table, or an SqlError with the engine's own error as its cause."""
    import itertools

    last, line, part = None, 0, ""
    try:
        for line, part in engine.split(text, params):
            note = sql_copy(engine, part, params)
            columns, cursor = ((), ()) if note else engine.execute(part, params)
            if last and (note or columns):
                output.print(sql_table(last["columns"], last["rows"]))
                last = None
            if note:
                output.print(note)
                engine.files = True
            if not columns:
                continue
            rows = [[sql_value(value) for value in row] for row in itertools.islice(cursor, SQL_ROWS_MAX + 1)]
            last = {"columns": columns, "rows": rows[:SQL_ROWS_MAX], "row_count": min(len(rows), SQL_ROWS_MAX), "engine": engine.name}
            if len(rows) > SQL_ROWS_MAX:
                last["more"] = True
        return last
    except (SqlError, OSError, engine.module.Error) as error:
        if not isinstance(error, SqlError) and isinstance(error, engine.module.Error) and "memory" in str(error):
            raise MemoryError from None
        error.last, error.place = last, "line %d: %s" % (line, part[:500]) if part else ""
        raise


def sql_value(value):
    import decimal

    return float(value) if isinstance(value, decimal.Decimal) else value


def sql_run(text, params, engines, echo):
    """Runs a script. The table of the last statement that gives one is the result; those before it, and with `echo` all, are printed."""
    if not isinstance(params, dict):
        params = {}
    params = {name: value if isinstance(value, (str, int, float, type(None))) else to_json(value) for name, value in params.items()}
    output, engine = SqlOutput(), sql_engine(text, engines)
    fresh = isinstance(engine, Sqlite) and engine.is_fresh()
    try:
        try:
            last = sql_script(engine, text, params, output)
        except Exception as error:
            if not fresh or engine.files or not re.search(SQL_DIALECT, str(error)) or not sql_has_duckdb():
                raise
            engines.pop(Sqlite).close_files()  # with all that the script has made there
            other = {}
            engine, output.seen = sql_open(Duckdb, other), 0
            try:
                last = sql_script(engine, text, params, output)
            except Exception as second:
                second.place = getattr(second, "place", "") or error.place
                raise
            engines.update(other)
    except MemoryError:
        raise
    except Exception as error:
        if getattr(error, "last", None):
            output.print(sql_table(error.last["columns"], error.last["rows"]))
        raise SqlError(str(error) + sql_hint(error), getattr(error, "kind", type(error).__name__), getattr(error, "place", "")) from None
    finally:
        engine.close_files()
    if last and echo:
        print(sql_table(last["columns"], last["rows"]))
    return None if echo else last
