-- Which programs can use the database: those that support at least the highest of these numbers. A gate that was not upgraded yet can be
-- started again, unless a migration says otherwise.
ALTER TABLE sallyport_schema ADD COLUMN oldest int NOT NULL DEFAULT 0;

-- Every limit is counted, or none. `holds` says where each went, for undo: '' is nowhere.
CREATE OR REPLACE FUNCTION sallyport_reserve(name text, lease bigint, limits jsonb,
    OUT granted boolean, OUT refused bigint, OUT retry bigint, OUT shadow text, OUT holds text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := sallyport_now();
    l sallyport_limit;
    c sallyport_counter;
    made text[];
    clients text[];
    full_up boolean := false;
BEGIN
    granted := true; refused := 0; retry := 0; shadow := ''; holds := '';
    -- In one order, so that two decisions never wait for each other. A row that is there is locked by the same statement, though nothing is
    -- updated: it cannot be removed as expired before it is counted in.
    WITH fresh AS (
        INSERT INTO sallyport_counter AS s (key, client, expires_ms)
        SELECT DISTINCT ON (x.key) x.key, coalesce(nullif(x.client, '-'), ''), now + 60000
        FROM jsonb_to_recordset(limits) AS x(key text, client text) ORDER BY x.key
        ON CONFLICT (key) DO UPDATE SET client = excluded.client WHERE false RETURNING s.key, s.client)
    SELECT array_agg(f.key), array_agg(DISTINCT f.client) FILTER (WHERE f.client <> '') INTO made, clients FROM fresh f;
    IF clients IS NOT NULL THEN
        full_up := (SELECT max(n) > 16384 FROM (SELECT count(*) AS n FROM sallyport_counter s
            WHERE s.client = ANY (clients) AND s.client <> '' AND (s.expires_ms = 0 OR s.expires_ms > now) GROUP BY s.client) many);
    END IF;
    BEGIN
        FOR l IN SELECT * FROM jsonb_populate_recordset(NULL::sallyport_limit, limits) LOOP
            SELECT * INTO c FROM sallyport_counter s WHERE s.key = l.key;
            c := sallyport_fresh(c, l, now);
            IF full_up AND c.client <> '' AND l.key = ANY (made) THEN
                IF l.last <> '1' THEN
                    retry := l.win;
                    RAISE SQLSTATE 'SP001';
                END IF;
                holds := holds || ',';
                shadow := shadow || '1';
            ELSIF c.used <= l.max AND l.amount <= l.max - c.used THEN
                holds := holds || CASE WHEN l.kind IN ('f', 's', 'b') THEN c.start_ms ELSE now END || ',';
                shadow := shadow || '0';
                IF l.amount > 0 THEN
                    c := sallyport_count(c, l, name, lease, now);
                    UPDATE sallyport_counter s SET (start_ms, used, rest, parts, expires_ms) =
                        (c.start_ms, c.used, c.rest, c.parts, c.expires_ms) WHERE s.key = l.key;
                END IF;
            ELSIF l.last = '1' THEN
                holds := holds || ',';
                shadow := shadow || '1';
            ELSE
                retry := sallyport_retry(c, l, now);
                RAISE SQLSTATE 'SP001';
            END IF;
            refused := refused + 1;
        END LOOP;
    EXCEPTION WHEN SQLSTATE 'SP001' THEN
        granted := false;
    END;
    IF NOT granted AND made IS NOT NULL THEN
        DELETE FROM sallyport_counter s WHERE s.key = ANY (made);
    END IF;
    IF random() < 0.01 THEN
        DELETE FROM sallyport_counter WHERE key IN (SELECT s.key FROM sallyport_counter s
            WHERE s.expires_ms > 0 AND s.expires_ms < now ORDER BY s.key LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;
END$$;
