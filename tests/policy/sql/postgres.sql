SELECT ARRAY[[1, 2], [3, 4]], (ARRAY[1, 2, 3])[1:2]
SELECT '{"a": {"b": [1, 2]}}'::jsonb #>> '{a,b,0}', '{"a": 1}'::jsonb ? 'a'
SELECT $$it's$$, $tag$a $$ b$tag$, E'a\nb\\', U&'d\0061t\+000061'
SELECT jsonb_path_query('{"a": [1, 2, 3]}', '$.a[*] ? (@ > 1)')
SELECT key, value FROM jsonb_each('{"a": 1, "b": 2}')
SELECT e->>'name' FROM events, jsonb_array_elements(payload->'items') AS e
SELECT x.* FROM json_to_recordset('[{"a": 1, "b": "foo"}]') AS x(a int, b text)
SELECT to_tsvector('english', body) @@ to_tsquery('english', 'cat & rat') FROM posts
SELECT ts_headline('english', body, websearch_to_tsquery('cat')), ts_rank(v, q) FROM posts, to_tsquery('cat') q
SELECT date_trunc('week', created_at) AS week, count(*) FROM orders GROUP BY 1 ORDER BY 1
SELECT now() - interval '1 day', age(now(), '2020-01-01'::timestamptz), extract(epoch FROM now())
SELECT date_bin('15 minutes', ts, timestamp '2001-01-01') FROM samples
SELECT created_at AT TIME ZONE 'UTC', created_at::date, created_at::timestamptz FROM orders
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount), mode() WITHIN GROUP (ORDER BY kind) FROM payments
SELECT count(*) FILTER (WHERE paid), array_agg(id ORDER BY id DESC), string_agg(DISTINCT kind, ',') FROM payments
SELECT sum(x) OVER (PARTITION BY g ORDER BY t RANGE BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM s
SELECT DISTINCT ON (device) device, reading FROM readings ORDER BY device, ts DESC
SELECT * FROM a LEFT JOIN LATERAL (SELECT * FROM b WHERE b.a_id = a.id LIMIT 1) b ON true
WITH RECURSIVE tree AS (SELECT id, parent FROM nodes WHERE parent IS NULL UNION ALL SELECT n.id, n.parent FROM nodes n JOIN tree t ON n.parent = t.id) SEARCH DEPTH FIRST BY id SET ord SELECT * FROM tree ORDER BY ord
WITH RECURSIVE g(f, t) AS (SELECT 1, 2 UNION ALL SELECT g.t, e.t FROM g, e WHERE e.f = g.t) CYCLE f SET is_cycle USING path SELECT * FROM g
WITH x AS MATERIALIZED (SELECT 1), y AS NOT MATERIALIZED (SELECT 2) SELECT * FROM x, y
SELECT * FROM pg_stat_activity WHERE state = 'active'
SELECT pg_size_pretty(pg_total_relation_size('users')), pg_database_size(current_database())
SELECT relname, n_live_tup FROM pg_stat_user_tables ORDER BY n_live_tup DESC
SELECT n.nspname, c.relname, pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', '') AND n.nspname !~ '^pg_toast' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) FROM pg_catalog.pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef), a.attnotnull FROM pg_catalog.pg_attribute a WHERE a.attrelid = '16384' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'users'::regclass
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'users'
SELECT current_setting('work_mem'), version(), current_schema(), current_schemas(true), inet_server_addr()
SELECT has_table_privilege('users', 'SELECT'), pg_has_role('app', 'member')
SELECT regexp_replace(name, '[aeiou]', 'X', 'g'), regexp_matches(name, '(\w+)') , split_part(path, '/', 2) FROM files
SELECT name ~ '^A', name ~* 'b', name !~ 'c', name SIMILAR TO '%(b|d)%', name ILIKE 'x%' ESCAPE '!' FROM t
SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4), position('om' IN 'Thomas'), trim(LEADING 'x' FROM 'xTom'), substring('Thomas' FROM '...$')
SELECT int4range(1, 10) @> 3, numrange(1.1, 2.2) && numrange(1.8, 3.4), tstzrange(now(), NULL) -|- tstzrange(NULL, now())
SELECT width_bucket(5.35, 0.024, 10.06, 5), mod(9, 4), div(9, 4), gcd(12, 18), trunc(42.8), random()
SELECT md5('a'), sha256('a'::bytea), encode('123'::bytea, 'base64'), gen_random_uuid()
SELECT COALESCE(a, b), NULLIF(a, b), GREATEST(a, b, c), LEAST(a, b) FROM t
SELECT xmlelement(name foo, xmlattributes(a AS bar), b), xpath('/a/text()', x) FROM t
SELECT * FROM xmltable('/r/i' PASSING data COLUMNS id int PATH '@id', n text)
SELECT row_to_json(t), to_jsonb(t), json_build_object('a', 1, 'b', ARRAY[1, 2]), jsonb_agg(t) FROM t
SELECT (t).*, (addr).city, t.name FROM people t
SELECT ROW(1, 'a') = ROW(2, 'b'), (1, 2) < (2, 1), a IS NOT DISTINCT FROM b, a BETWEEN SYMMETRIC 3 AND 1 FROM t
SELECT generate_series('2024-01-01'::date, '2024-02-01', '1 day')
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) WITH ORDINALITY AS u(a, b, n)
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) AS x(a, b)
SELECT * FROM big TABLESAMPLE BERNOULLI (1) REPEATABLE (42)
SELECT a, b, grouping(a, b), sum(c) FROM t GROUP BY CUBE (a, b)
SELECT * FROM t WHERE id = ANY($1::int[]) AND name = $2
SELECT * FROM ONLY parent
SELECT * FROM t ORDER BY a COLLATE "C" DESC NULLS FIRST FETCH FIRST 3 ROWS WITH TIES
SELECT "Select", "from" FROM "Weird Table" AS "a b"
SELECT B'101', X'1F', 1.5e3, .5
SELECT /* a /* nested */ comment */ 1 -- and more
SELECT CASE x WHEN 1 THEN 'a' ELSE 'b' END, CAST(x AS numeric(10, 2)), x::double precision, int '3' FROM t
SELECT embedding <-> '[1,2,3]', embedding <=> '[1,2,3]', 1 - (embedding <#> '[1,2,3]') FROM items ORDER BY embedding <-> '[3,1,2]' LIMIT 5
SELECT name FROM places WHERE ST_DWithin(geom, ST_SetSRID(ST_MakePoint(-71.06, 42.36), 4326), 1000)
SELECT time_bucket('5 minutes', ts) AS b, avg(v), last(v, ts) FROM m GROUP BY b
SELECT similarity(name, 'bob'), name % 'bob' FROM users ORDER BY name <-> 'bob'
SELECT num_nulls(a, b), pg_typeof(a), pg_column_size(b), pg_backend_pid() FROM t
SELECT nth_value(x, 2) OVER w, first_value(x) OVER w, ntile(4) OVER w, cume_dist() OVER w, percent_rank() OVER w FROM t WINDOW w AS (ORDER BY x)
SELECT corr(a, b), regr_slope(a, b), stddev_pop(a), var_samp(b), bool_and(c), every(c), bit_or(d) FROM t
SELECT make_date(2024, 1, 1), to_char(now(), 'YYYY-MM-DD'), to_timestamp(1700000000), to_number('12,454.8', '99G999D9')
SELECT host('10.0.0.1/8'::inet), network(ip), ip << '10.0.0.0/8' FROM clients
SELECT hstore_to_json(h), h -> 'a', akeys(h) FROM t
SELECT l.pid, l.mode, a.query FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted
SELECT query, calls, mean_exec_time FROM pg_stat_statements ORDER BY mean_exec_time DESC LIMIT 20
TABLE users
VALUES (1, 'one'), (2, 'two')
SHOW search_path
SHOW ALL
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM t
EXPLAIN VERBOSE WITH a AS (SELECT 1) SELECT * FROM a
SELECT lastval(), currval('s'), obj_description('users'::regclass), col_description('users'::regclass, 1)
SELECT 1;
SELECT (jsonb_each(data)).key, (jsonb_each(data)).value FROM users
SELECT u.elem, u.ord FROM users, unnest(tags) WITH ORDINALITY AS u(elem, ord)
SELECT g.g FROM generate_series(1, 3) g
SELECT e.value ->> 'x' FROM users, jsonb_array_elements(users.data) e
SELECT (aclexplode(relacl)).grantee FROM pg_class
SELECT a.pid, a.query FROM pg_stat_get_activity(NULL) a
SELECT p.name FROM jsonb_populate_recordset(NULL::users, '[]') p
SELECT x.id FROM jsonb_to_recordset('[]') AS x(id int, name text)
SELECT k.word FROM pg_get_keywords() k
