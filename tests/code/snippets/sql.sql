---- group and sum over a CSV file
SELECT region, sum(amount) AS total, count(*) AS n FROM sales GROUP BY region ORDER BY total DESC;
---- average, least and most with rounding
SELECT round(avg(amount), 2) AS average, min(amount) AS least, max(amount) AS most FROM sales;
---- having
SELECT product, count(*) AS n FROM sales GROUP BY product HAVING n > 2 ORDER BY product;
---- join of two files
SELECT s.day, p.label, s.amount FROM sales s JOIN products p ON p.product = s.product WHERE s.region = 'EU' ORDER BY s.day, p.label;
---- left join finds what is missing
SELECT p.product FROM products p LEFT JOIN sales s USING (product) WHERE s.day IS NULL;
---- months of dates
SELECT strftime('%Y-%m', day) AS month, sum(amount) AS total FROM sales GROUP BY month ORDER BY month;
---- running total with a window
SELECT day, amount, sum(amount) OVER (ORDER BY day, amount ROWS UNBOUNDED PRECEDING) AS running FROM sales ORDER BY day, amount;
---- best of each group
SELECT region, product, amount FROM (SELECT *, row_number() OVER (PARTITION BY region ORDER BY amount DESC, day) AS place FROM sales) WHERE place = 1 ORDER BY region;
---- share of the whole
SELECT region, round(100.0 * sum(amount) / (SELECT sum(amount) FROM sales), 1) AS percent FROM sales GROUP BY region ORDER BY region;
---- common table expressions
WITH totals AS (SELECT product, sum(amount) AS total FROM sales GROUP BY product), mean AS (SELECT avg(total) AS m FROM totals)
SELECT product, total, total > m AS above FROM totals, mean ORDER BY product;
---- recursive: a calendar
WITH RECURSIVE days(d) AS (SELECT '2024-02-27' UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2024-03-02') SELECT d, strftime('%w', d) AS weekday FROM days;
---- case and coalesce
SELECT product, CASE WHEN amount >= 100 THEN 'large' WHEN amount >= 50 THEN 'middle' ELSE 'small' END AS size, coalesce(nullif(note, ''), '-') AS note FROM sales ORDER BY day, product;
---- distinct and in
SELECT DISTINCT region FROM sales WHERE product IN ('pen', 'ink') ORDER BY 1;
---- like, upper and substr
SELECT upper(substr(label, 1, 3)) AS short FROM products WHERE label LIKE '%n%' ORDER BY label;
---- union and except
SELECT product FROM products EXCEPT SELECT product FROM sales UNION SELECT 'new' ORDER BY 1;
---- a pivot
SELECT product, sum(CASE WHEN region = 'EU' THEN amount ELSE 0 END) AS eu, sum(CASE WHEN region = 'US' THEN amount ELSE 0 END) AS us FROM sales GROUP BY product ORDER BY product;
---- JSON functions
SELECT key, value FROM json_each('{"a": 1, "b": [2, 3], "c": null}');
---- group_concat
SELECT region, group_concat(product, '/') AS products FROM (SELECT DISTINCT region, product FROM sales ORDER BY region, product) GROUP BY region;
---- tables of a run, with changes
CREATE TABLE stock (product TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);
INSERT INTO stock VALUES ('pen', 3), ('ink', 0);
INSERT INTO stock VALUES ('pen', 4) ON CONFLICT (product) DO UPDATE SET n = n + excluded.n;
UPDATE stock SET n = 9 WHERE product = 'ink';
DELETE FROM stock WHERE n > 8;
SELECT * FROM stock;
---- a trigger has semicolons of its own
CREATE TABLE t (x); CREATE TABLE log (said);
CREATE TRIGGER told AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('got ' || new.x); INSERT INTO log VALUES ('done; really'); END;
INSERT INTO t VALUES (1);
SELECT said FROM log;
---- a view and a transaction
BEGIN; CREATE TABLE n (x INTEGER); INSERT INTO n VALUES (1), (2), (3); COMMIT;
CREATE VIEW squares AS SELECT x * x AS y FROM n;
SELECT sum(y) AS s, total(y) AS t FROM squares;
---- numbers, null and text
SELECT 7 / 2 AS whole, 7 / 2.0 AS part, 7 % 3 AS rest, NULL IS NULL AS yes, 'it''s' AS quoted, typeof(1.0) AS kind, 10 || 'x' AS joined, length('größe') AS letters;
---- median with offset
SELECT avg(amount) AS median FROM (SELECT amount FROM sales ORDER BY amount LIMIT 2 - (SELECT count(*) FROM sales) % 2 OFFSET (SELECT (count(*) - 1) / 2 FROM sales));
---- change against the day before
SELECT day, total, total - lag(total) OVER (ORDER BY day) AS change FROM (SELECT day, sum(amount) AS total FROM sales GROUP BY day) ORDER BY day;
---- rank, dense_rank and row_number in one query
SELECT product, region, amount, rank() OVER w AS r, dense_rank() OVER w AS d, row_number() OVER (PARTITION BY region ORDER BY amount DESC, day) AS n, ntile(2) OVER (ORDER BY amount) AS half FROM sales WINDOW w AS (PARTITION BY product ORDER BY amount DESC) ORDER BY product, r, region, amount;
---- moving average over two rows, and first and last of a frame
SELECT day, amount, round(avg(amount) OVER (ORDER BY day, amount ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), 3) AS mean2, first_value(amount) OVER (PARTITION BY region ORDER BY day, amount) AS first_one, sum(amount) FILTER (WHERE product = 'pen') OVER (ORDER BY day, amount) AS pens FROM sales ORDER BY day, amount;
---- full join, cross join and a self join
SELECT p.label, count(s.amount) AS n, coalesce(sum(s.amount), 0) AS total, max(s.note) AS note FROM products AS p LEFT JOIN sales AS s USING (product) GROUP BY p.product HAVING n < 4
UNION ALL SELECT a.region || '>' || b.region, count(*), sum(a.amount - b.amount), NULL FROM sales a JOIN sales b ON a.amount > b.amount AND a.region <> b.region GROUP BY 1 ORDER BY 1;
---- percent of each region by month, with a CTE chain
WITH monthly AS (SELECT strftime('%Y-%m', day) AS month, region, sum(amount) AS total FROM sales GROUP BY 1, 2), whole AS (SELECT month, sum(total) AS all_of FROM monthly GROUP BY month)
SELECT month, region, printf('%.1f%%', 100.0 * total / all_of) AS share, iif(total > all_of / 2, 'lead', '') AS mark FROM monthly JOIN whole USING (month) ORDER BY month, region;
---- windows: ntile, lead, named windows, filter, exclude
SELECT day, region, amount, ntile(2) OVER w AS half, lead(amount, 1, 0) OVER w AS next, count(*) FILTER (WHERE region = 'EU') OVER w AS eu FROM sales WINDOW w AS (ORDER BY day, region) ORDER BY day, region;
---- recursive numbers, strings split, and a histogram
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 50 FROM n WHERE i < 100) SELECT i AS low, i + 49 AS high, (SELECT count(*) FROM sales WHERE amount >= i AND amount < i + 50) AS n, printf('%.*c', (SELECT count(*) FROM sales WHERE amount >= i AND amount < i + 50), '#') AS bar FROM n;
---- upsert, returning, generated column, check constraint
CREATE TABLE stock(item TEXT PRIMARY KEY, n INTEGER CHECK (n >= 0), double INTEGER GENERATED ALWAYS AS (n * 2));
INSERT INTO stock(item, n) VALUES ('pen', 1), ('ink', 5);
INSERT INTO stock(item, n) VALUES ('pen', 3) ON CONFLICT(item) DO UPDATE SET n = n + excluded.n;
SELECT * FROM stock ORDER BY item;
---- correlated subqueries, exists, not in, all in one
SELECT p.label, (SELECT max(day) FROM sales s WHERE s.product = p.product) AS last, EXISTS (SELECT 1 FROM sales s WHERE s.product = p.product AND s.amount > 50) AS big FROM products p WHERE p.product NOT IN (SELECT product FROM sales WHERE note = 'rush') ORDER BY 1;
---- date arithmetic: quarters, weekdays, gaps between sales
SELECT day, strftime('%w', day) AS weekday, (CAST(strftime('%m', day) AS INTEGER) + 2) / 3 AS quarter, CAST(julianday(day) - julianday(lag(day) OVER (ORDER BY day)) AS INTEGER) AS gap, date(day, 'start of month', '+1 month', '-1 day') AS month_end FROM (SELECT DISTINCT day FROM sales) ORDER BY day;
---- json objects, arrays and table functions
SELECT json_group_array(json_object('p', product, 'n', n)) AS doc, (SELECT sum(value) FROM json_each('[1,2,3]')) AS total, json_extract('{"a":{"b":[7,8]}}', '$.a.b[1]') AS deep, '{"k":5}' ->> 'k' AS arrow FROM (SELECT product, count(*) AS n FROM sales GROUP BY 1 ORDER BY 1);
---- values, row values, iif, nullif, typeof, quote, hex, printf, instr
SELECT iif(amount > 50, 'high', 'low') AS band, nullif(region, 'EU') AS other, typeof(amount) AS t, quote(note) AS q, printf('%08.2f', amount) AS f, instr(product, 'n') AS at FROM sales WHERE (region, product) IN (VALUES ('EU', 'pen'), ('US', 'ink')) ORDER BY day, product;
---- top rows of each group, with ranks, shares and running totals
SELECT region, product, amount, rank() OVER w AS place, round(100.0 * amount / sum(amount) OVER (PARTITION BY region), 1) AS share,
  sum(amount) OVER (PARTITION BY region ORDER BY day, product ROWS UNBOUNDED PRECEDING) AS running FROM sales WINDOW w AS (PARTITION BY region ORDER BY amount DESC) ORDER BY region, place;
---- recursive dates: each day of a month beside its sales, gaps included, only some days
WITH RECURSIVE days(d) AS (SELECT '2024-02-01' UNION ALL SELECT date(d, '+1 day') FROM days WHERE d < '2024-02-29')
SELECT d, coalesce(sum(amount), 0) AS total, CASE strftime('%w', d) WHEN '0' THEN 'Sun' WHEN '6' THEN 'Sat' ELSE 'week' END AS kind FROM days LEFT JOIN sales ON day = d GROUP BY d HAVING total > 0 OR kind <> 'week' ORDER BY d;
---- JSON made of rows, read again, and text functions
WITH j AS (SELECT json_group_array(json_object('p', s.product, 'l', label, 'n', amount)) AS doc FROM sales s JOIN products USING (product) WHERE region = 'US')
SELECT json_extract(value, '$.l') AS label, upper(substr(value ->> 'p', 1, 1)) || substr(value ->> 'p', 2) AS name, printf('%08.2f', value ->> 'n') AS amount, instr(value, 'n') > 0 AS has FROM j, json_each(doc) ORDER BY value ->> 'n' DESC, 1;
