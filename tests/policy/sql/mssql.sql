SELECT TOP (10) * FROM Sales.Orders WITH (NOLOCK) ORDER BY OrderDate DESC
SELECT TOP 5 PERCENT WITH TIES Name FROM dbo.Product ORDER BY ListPrice DESC
SELECT [Order ID], [Ship]]ped] FROM [Order Details] AS od
SELECT N'Unicode', 'It''s', 0xFF, $1.50, 1E3
SELECT ISNULL(a, 0), COALESCE(b, c), IIF(d > 1, 'x', 'y'), CHOOSE(2, 'a', 'b'), NULLIF(e, f) FROM t
SELECT GETDATE(), SYSDATETIME(), DATEADD(day, -7, GETDATE()), DATEDIFF(hour, a, b), DATEPART(year, c), EOMONTH(d), FORMAT(e, 'yyyy-MM') FROM t
SELECT CONVERT(varchar(10), GETDATE(), 120), TRY_CAST(a AS int), PARSE('1' AS int), CAST(b AS decimal(18, 2)), CAST(c AS nvarchar(max)) FROM t
SELECT LEN(a), LEFT(b, 3), CHARINDEX('x', c), PATINDEX('%x%', d), STUFF(e, 1, 2, 'z'), REPLICATE('a', 3), STRING_AGG(f, ','), CONCAT_WS('-', g, h), QUOTENAME(i) FROM t
SELECT value FROM STRING_SPLIT('a,b', ',')
SELECT * FROM OPENJSON('[{"a":1}]') WITH (a int '$.a')
SELECT JSON_VALUE(doc, '$.a'), JSON_QUERY(doc, '$.b'), ISJSON(doc) FROM t
SELECT x.value('(/a/b)[1]', 'int'), x.query('/a'), x.exist('/c') FROM t
SELECT n.c.value('.', 'int') FROM t CROSS APPLY x.nodes('/a') AS n(c)
SELECT * FROM t FOR JSON PATH, ROOT('r')
SELECT * FROM t FOR XML AUTO, ELEMENTS
SELECT * FROM Prices FOR SYSTEM_TIME AS OF '2024-01-01'
SELECT c.Name, o.Total FROM Customers c OUTER APPLY (SELECT TOP 1 Total FROM Orders o WHERE o.CustomerID = c.ID ORDER BY Total DESC) o
SELECT * FROM (SELECT y, m, v FROM s) AS src PIVOT (SUM(v) FOR m IN ([1], [2], [3])) AS p
SELECT id, k, v FROM t UNPIVOT (v FOR k IN (a, b)) AS u
SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY c) AS rn, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY d) OVER (PARTITION BY b) FROM t
SELECT a FROM t ORDER BY a OFFSET 10 ROWS FETCH NEXT 5 ROWS ONLY OPTION (RECOMPILE, MAXDOP 1)
SELECT * FROM #temp
SELECT @@VERSION, @@ROWCOUNT, @x, DB_NAME(), SUSER_SNAME(), OBJECT_ID('dbo.t'), SERVERPROPERTY('Edition')
SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID('dbo')
SELECT t.text FROM sys.dm_exec_requests r CROSS APPLY sys.dm_exec_sql_text(r.sql_handle) t
SELECT * FROM sys.dm_db_index_physical_stats(DB_ID(), NULL, NULL, NULL, 'LIMITED')
WITH cte AS (SELECT a, ROW_NUMBER() OVER (ORDER BY a) AS n FROM t) SELECT * FROM cte WHERE n < 5
WITH cte (a, b) AS (SELECT 1, 2) SELECT a FROM cte OPTION (MAXRECURSION 100)
SELECT a, SUM(b) FROM t GROUP BY ROLLUP(a)
SELECT a, SUM(b) FROM t GROUP BY a WITH CUBE
SELECT HASHBYTES('SHA2_256', 'a'), NEWID(), CHECKSUM(a), BINARY_CHECKSUM(*), DATALENGTH(b) FROM t
SELECT a FROM t WHERE a LIKE '[a-c]%' AND b NOT IN (1, 2) AND c IS NOT NULL AND d BETWEEN 1 AND 2
SELECT CASE WHEN a = 1 THEN 'x' ELSE 'y' END AS z FROM t
SELECT a.b.c.d FROM a.b.c AS d
SELECT * FROM dbo.t1 AS x INNER HASH JOIN dbo.t2 AS y ON x.id = y.id
SELECT * FROM CONTAINSTABLE(docs, body, 'word') AS k
SELECT * FROM docs WHERE CONTAINS(body, 'word') OR FREETEXT(body, 'word')
SELECT DISTINCT a FROM t UNION ALL SELECT b FROM s
SELECT APPROX_COUNT_DISTINCT(a), STDEV(b), VARP(c), COUNT_BIG(*), GROUPING_ID(d) FROM t GROUP BY d
SELECT a --remark
SELECT 1 AS [one], 2 AS 'two', three = 3
SELECT ORIGINAL_LOGIN(), HOST_NAME(), APP_NAME(), SESSION_CONTEXT(N'k'), HAS_PERMS_BY_NAME('t', 'OBJECT', 'SELECT')
SELECT * FROM t WHERE d >= DATEFROMPARTS(2024, 1, 1) AND d AT TIME ZONE 'UTC' < SYSUTCDATETIME()
SELECT db.dbo.t.a FROM db.dbo.t WITH (NOLOCK, READPAST)
SELECT * FROM t WHERE price > $1.50
SELECT geography::Point(1, 2, 4326).STDistance(loc) FROM places
SELECT loc.STAsText(), loc.Lat FROM places WHERE loc.STIntersects(geometry::STGeomFromText('POINT(1 1)', 0)) = 1
SELECT hierarchyid::GetRoot(), hierarchyid::Parse('/1/')
SELECT * FROM t WITH (NOLOCK, INDEX(i))
SELECT * FROM dbo.t (NOLOCK)
SELECT s.a FROM dbo.t (NOLOCK) AS s JOIN dbo.u AS u (ROWLOCK) ON s.id = u.id
SELECT * FROM a INNER MERGE JOIN b ON a.id = b.id
