SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name
SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
SELECT * FROM pragma_table_info('people')
SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table'
PRAGMA table_info(people)
PRAGMA table_info('people');
PRAGMA index_list(people)
PRAGMA foreign_key_list(people)
PRAGMA database_list
PRAGMA user_version
PRAGMA compile_options
PRAGMA integrity_check
SELECT [name], "age", `city` FROM [people]
SELECT datetime('now'), date('now', '-7 days'), strftime('%Y-%m', born), julianday('now') - julianday(born), unixepoch() FROM people
SELECT typeof(age), quote(name), hex(name), printf('%05d', age), format('%s', name), unicode('a'), char(65) FROM people
SELECT ifnull(city, '?'), iif(age > 18, 'adult', 'minor'), coalesce(city, name), nullif(age, 0), likely(age > 1) FROM people
SELECT group_concat(name, ', '), total(age), avg(age), count(*) FILTER (WHERE age > 30) FROM people
SELECT json_extract(data, '$.a'), data -> '$.b', data ->> 'c', json_group_array(name), json_type(data) FROM people
SELECT value FROM people, json_each(people.data)
SELECT key, value, path FROM json_tree('{"a": [1, 2]}')
SELECT name FROM people WHERE name GLOB 'A*' AND name LIKE 'a%' ESCAPE '!' AND city COLLATE NOCASE = 'rome'
SELECT rowid, oid, * FROM people WHERE rowid > 5 LIMIT 10 OFFSET 2
WITH RECURSIVE cnt(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM cnt WHERE x < 5) SELECT x FROM cnt
WITH t AS MATERIALIZED (SELECT 1 AS a) SELECT a FROM t
SELECT row_number() OVER (PARTITION BY city ORDER BY age), ntile(2) OVER w, lag(age, 1, 0) OVER w FROM people WINDOW w AS (ORDER BY age)
SELECT sum(age) OVER (ORDER BY age GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW) FROM people
SELECT x'00ff', 1e3, 0x10, 'it''s', "name" FROM people
SELECT a.name FROM people a INNER JOIN people b USING (city) WHERE a.age <> b.age
SELECT * FROM people INDEXED BY by_city WHERE city = 'Rome'
SELECT * FROM people NOT INDEXED WHERE age IN (1, 2) AND city IS NOT NULL
SELECT * FROM people WHERE age = ?1 OR age = :age OR age = @age OR age = $age
SELECT sqlite_version(), last_insert_rowid(), changes(), total_changes()
SELECT abs(-1), round(1.5), max(1, 2), min(1, 2), random(), length('a'), lower('A'), upper('a'), trim(' a '), substr('abc', 2), instr('abc', 'b'), replace('a', 'b', 'c'), zeroblob(3)
SELECT name FROM people EXCEPT SELECT city FROM people
VALUES (1, 2), (3, 4)
EXPLAIN SELECT * FROM people
EXPLAIN QUERY PLAN SELECT * FROM people WHERE age > 3
SELECT CASE age WHEN 1 THEN 'a' ELSE 'b' END, CAST(age AS TEXT), age BETWEEN 1 AND 2, age ISNULL, city NOTNULL FROM people
SELECT snippet(docs), highlight(docs, 0, '[', ']'), bm25(docs) FROM docs WHERE docs MATCH 'word'
SELECT open, end FROM ticks
SELECT name -- the name
PRAGMA main.table_info(users)
PRAGMA "main".index_list('users')
PRAGMA temp.foreign_key_check
SELECT a FROM t WHERE b IN t2 AND c IN main.t3
SELECT m.name, p.name FROM sqlite_master m JOIN pragma_table_info(m.name) p
PRAGMA cache_size
PRAGMA main.synchronous
PRAGMA data_version
