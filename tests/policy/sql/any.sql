SELECT 1
SELECT * FROM users
select * from users where name = 'O''Brien';
SELECT id, name, email FROM users WHERE id = 42
SELECT COUNT(*) FROM orders
SELECT COUNT(DISTINCT customer_id) AS customers FROM orders WHERE status <> 'cancelled'
SELECT status, COUNT(*) AS n, SUM(total) AS revenue FROM orders GROUP BY status HAVING COUNT(*) > 10 ORDER BY revenue DESC
SELECT u.name, o.total FROM users u JOIN orders o ON o.user_id = u.id WHERE o.total > 100 ORDER BY o.total DESC LIMIT 10
SELECT u.name FROM users AS u LEFT JOIN orders AS o ON o.user_id = u.id WHERE o.id IS NULL
SELECT a.id FROM a INNER JOIN b USING (id) CROSS JOIN c
SELECT name FROM users WHERE email LIKE '%@example.com' AND created_at >= '2024-01-01'
SELECT name FROM users WHERE id IN (1, 2, 3) OR id BETWEEN 10 AND 20
SELECT name FROM users WHERE EXISTS (SELECT 1 FROM orders WHERE orders.user_id = users.id)
SELECT name FROM users WHERE id NOT IN (SELECT user_id FROM bans)
WITH a AS (SELECT 1) SELECT * FROM a
WITH "x"(a) AS (SELECT 1) SELECT a FROM "x"
WITH big AS (SELECT * FROM orders WHERE total > 1000), top AS (SELECT user_id FROM big) SELECT * FROM top
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 10) SELECT n FROM t
SELECT CASE WHEN total > 100 THEN 'big' WHEN total > 10 THEN 'middle' ELSE 'small' END AS size FROM orders
SELECT COALESCE(nickname, name, 'nobody') FROM users
SELECT UPPER(name), LOWER(email), LENGTH(bio), TRIM(city) FROM users
SELECT SUBSTRING(name, 1, 3), CONCAT(first_name, ' ', last_name) FROM users
SELECT ROUND(AVG(price), 2), MIN(price), MAX(price) FROM products
SELECT CAST(price AS DECIMAL(10, 2)), CAST(id AS VARCHAR(20)) FROM products
SELECT NULLIF(a, 0), ABS(b), FLOOR(c), CEILING(d), POWER(e, 2), SQRT(f) FROM t
SELECT name, ROW_NUMBER() OVER (PARTITION BY dept ORDER BY salary DESC) AS rn FROM employees
SELECT name, SUM(salary) OVER (ORDER BY hired ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM employees
SELECT name, LAG(salary) OVER (ORDER BY hired), LEAD(salary, 1) OVER w FROM employees WINDOW w AS (ORDER BY hired)
SELECT dept, RANK() OVER (ORDER BY SUM(salary) DESC) FROM employees GROUP BY dept
SELECT a FROM t UNION SELECT b FROM s
SELECT a FROM t UNION ALL SELECT b FROM s ORDER BY 1
SELECT a FROM t EXCEPT SELECT b FROM s
SELECT a FROM t INTERSECT SELECT b FROM s
(SELECT 1) UNION (SELECT 2)
((SELECT 1)) UNION ALL SELECT 2
SELECT * FROM (SELECT id, name FROM users) AS u WHERE u.id > 5
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS v(id, name)
SELECT t.n FROM (SELECT 1) t(n)
VALUES (1, 2)
SELECT a -- the first
SELECT /* all */ * FROM t
SELECT /*all*/ * FROM t
SELECT 'a' -- a remark
SELECT '; DROP TABLE x'
SELECT 'it''s', 'a -- b', 'c /* d */', 'e # f'
SELECT "update", "name" FROM t
SELECT replace(a, 'x', 'y') FROM t
SELECT `name` FROM `users`
SELECT `users`.`name` FROM `shop`.`users`
SELECT [name], [order id] FROM [users]
SELECT arr[1] FROM t
SELECT ARRAY['a']
SELECT ARRAY['a', 'b', 'c']
SELECT ARRAY[1, 2, 3]
SELECT * FROM t WHERE tag = ANY(ARRAY['x', 'y'])
SELECT $1::int
SELECT * FROM t WHERE id = $1 AND name = $2
SELECT * FROM t WHERE id = ?
SELECT * FROM t WHERE id = :id
SELECT * FROM t WHERE id = @id
SELECT @@version
SELECT 1e5, .5, 0xff, 1.5e-3
SELECT -1, +1, 2 * 3, 7 / 2, 7 % 2, 1 + 1
SELECT a || b, a = b, a <> b, a != b, a <= b FROM t
SELECT 'dbms_x', "read_at" FROM t
SELECT DATE '2024-01-01', TIMESTAMP '2024-01-01 00:00:00'
SELECT CURRENT_DATE, CURRENT_TIMESTAMP, CURRENT_USER
SELECT NOW(), DATE_TRUNC('month', created_at) FROM orders
SELECT EXTRACT(YEAR FROM created_at) FROM orders
SELECT EXTRACT(YEAR FROM '2024-01-01')
SELECT SUBSTRING(name FROM 1 FOR 3), TRIM(BOTH 'x' FROM 'xax') FROM t
SELECT * FROM orders WHERE created_at > NOW() - INTERVAL '7 days'
SELECT * FROM orders WHERE shipped_at IS NOT NULL AND returned_at IS NULL
SELECT * FROM a WHERE a.x IS DISTINCT FROM 'y'
SELECT DISTINCT city FROM users ORDER BY city
SELECT DISTINCT ON (user_id) user_id, created_at FROM orders ORDER BY user_id, created_at DESC
SELECT TOP 10 name FROM users
SELECT * FROM t ORDER BY a ASC, b DESC NULLS LAST LIMIT 10 OFFSET 20
SELECT * FROM t ORDER BY a OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY
SELECT dept, city, SUM(n) FROM t GROUP BY ROLLUP (dept, city)
SELECT dept, city, SUM(n) FROM t GROUP BY GROUPING SETS ((dept), (city), ())
SELECT SUM(n) FILTER (WHERE n > 0) FROM t
SELECT data->'a'->>'b' FROM t
SELECT * FROM t WHERE data @> '{"a": 1}'
SELECT json_extract(data, '$.a.b') FROM t
SELECT t.a::text, b::numeric(10, 2) FROM t
SELECT open, close, high, low FROM prices WHERE close > open
SELECT p.open, p.close FROM prices p
SELECT start, end FROM spans
SELECT größe, 名前 FROM tabelle
SELECT 'größe', '名前', 'naïve'
SELECT '\\d+', 'C:\\dir', '100\%' FROM t
SELECT * FROM information_schema.tables WHERE table_schema = 'public'
SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'users'
SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r'
SELECT name FROM sqlite_master WHERE type = 'table'
SELECT pg_catalog.pg_get_userbyid(c.relowner) FROM pg_catalog.pg_class c
SHOW TABLES
SHOW CREATE TABLE users
SHOW COLUMNS FROM users
SHOW server_version
DESCRIBE users
DESC users
TABLE users
EXPLAIN SELECT 1
EXPLAIN ANALYZE SELECT * FROM users
EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM users
EXPLAIN QUERY PLAN SELECT * FROM users
EXPLAIN FORMAT=JSON SELECT * FROM users
SELECT a AS "Total (USD)", b AS "a/b" FROM t
SELECT GREATEST(a, b), LEAST(a, b) FROM t
SELECT STRING_AGG(name, ', ') FROM users
SELECT GROUP_CONCAT(name) FROM users
SELECT * FROM a NATURAL JOIN b
SELECT * FROM a FULL OUTER JOIN b ON a.id = b.id
SELECT a.x, (SELECT MAX(b.y) FROM b WHERE b.id = a.id) AS m FROM a
SELECT x IN ('a', 'b') FROM t
SELECT (1, 'a') = (2, 'b')
SELECT * FROM t WHERE (a, b) IN (SELECT c, d FROM s)
SELECT * FROM generate_series(1, 10) AS g(n)
SELECT unnest(tags) FROM posts
SELECT x'ff', N'text'
SELECT a$b FROM t
SELECT * FROM t TABLESAMPLE SYSTEM (10)
SELECT a FROM t JOIN s ON t.data @> s.data
SELECT db.app.t.a FROM db.app.t
SELECT a FROM t WHERE a = $1 AND b = $2
SELECT CAST(a AS char) FROM t
SELECT extract(year FROM d), substring(a FROM 1 FOR 2), trim(both 'x' FROM a) FROM t
SELECT * FROM (SELECT 1) t, LATERAL (SELECT 2) u
SHOW TABLES LIKE 'a%'
DESCRIBE t
SELECT [a b] FROM [t]
SELECT a FROM t ORDER BY a DESC, b
SELECT s.json, t.db FROM s, t
SELECT * FROM mysql.db
SELECT e.value FROM json_each(x) AS e
SELECT u.n FROM unnest(a) AS u(n)
SELECT json.x FROM json
SELECT * FROM c.db.t
SELECT (addr).city, a FROM people
