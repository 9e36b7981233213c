-- The counters of limits. What a row's columns mean depends on the kind of its limit, which is part of the key:
--
--   f  start_ms, used                 s  parts: {"SLOT": used}            b  start_ms, used, rest
--   c  parts: {"NAME:N": when it ends}  i  parts: {"FINGERPRINT": [first, used]}
--
-- The rules are those of meter.c; the clock is the server's.
CREATE TABLE sallyport_counter (
    key text PRIMARY KEY,
    start_ms bigint NOT NULL DEFAULT 0,
    used bigint NOT NULL DEFAULT 0,
    rest numeric NOT NULL DEFAULT 0,
    parts jsonb NOT NULL DEFAULT '{}',
    expires_ms bigint NOT NULL DEFAULT 0 -- 0: never
);
CREATE INDEX sallyport_counter_expires ON sallyport_counter (expires_ms) WHERE expires_ms > 0;

CREATE TYPE sallyport_limit AS (key text, kind text, win bigint, max bigint, refill bigint, amount bigint, print text, last text);

CREATE FUNCTION sallyport_now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint$$;

CREATE FUNCTION sallyport_slot(win bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$SELECT (win + 30) / 31$$;

-- The row brought up to now: windows that are over are empty, what has flowed back is back.
CREATE FUNCTION sallyport_fresh(c sallyport_counter, l sallyport_limit, now bigint) RETURNS sallyport_counter
LANGUAGE plpgsql STABLE AS $$
DECLARE
    start bigint;
    flowed numeric;
    slot bigint;
BEGIN
    CASE l.kind
    WHEN 'f' THEN
        start := now - (now + CASE WHEN l.win = 604800000 THEN 259200000 ELSE 0 END) % l.win;
        IF c.start_ms < start THEN
            c.start_ms := start;
            c.used := 0;
        END IF;
    WHEN 's' THEN
        slot := sallyport_slot(l.win);
        SELECT greatest(now / slot, coalesce(max(key::bigint), 0)) INTO c.start_ms FROM jsonb_object_keys(c.parts) key;
        SELECT coalesce(jsonb_object_agg(key, value), '{}'), coalesce(sum(value::bigint), 0) INTO c.parts, c.used
        FROM jsonb_each_text(c.parts) WHERE key::bigint + 32 > c.start_ms;
    WHEN 'b' THEN
        IF now > c.start_ms THEN
            flowed := (now - c.start_ms)::numeric * greatest(l.refill, 0) + c.rest;
            IF div(flowed, l.win) >= c.used THEN
                c.used := 0;
                c.rest := 0;
            ELSE
                c.used := c.used - div(flowed, l.win)::bigint;
                c.rest := flowed % l.win;
            END IF;
            c.start_ms := now;
        END IF;
    WHEN 'c' THEN
        SELECT coalesce(jsonb_object_agg(key, value::bigint), '{}'), count(*) * 1000000 INTO c.parts, c.used
        FROM jsonb_each_text(c.parts) WHERE value::bigint > now;
    WHEN 'i' THEN
        c.used := CASE WHEN (c.parts -> l.print ->> 0)::bigint > now - l.win THEN (c.parts -> l.print ->> 1)::bigint ELSE 0 END;
        c.used := coalesce(c.used, 0);
    END CASE;
    RETURN c;
END$$;

-- How long until the limit would fit; 0: waiting does not help.
CREATE FUNCTION sallyport_retry(c sallyport_counter, l sallyport_limit, now bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    over numeric := c.used::numeric + l.amount - l.max;
BEGIN
    IF l.amount > l.max THEN
        RETURN 0;
    END IF;
    RETURN coalesce(CASE l.kind
        WHEN 'f' THEN c.start_ms + l.win - now
        WHEN 'i' THEN (c.parts -> l.print ->> 0)::bigint + l.win - now
        WHEN 'b' THEN CASE WHEN l.refill > 0 THEN ceil(over * l.win / l.refill)::bigint ELSE 0 END
        WHEN 's' THEN (SELECT (min(key) + 32) * sallyport_slot(l.win) - now FROM
            (SELECT key::bigint AS key, sum(value::numeric) OVER (ORDER BY key::bigint) AS freed FROM jsonb_each_text(c.parts)) s
            WHERE freed >= over)
        ELSE 0 END, 0);
END$$;

-- Counts the limit in the row.
CREATE FUNCTION sallyport_count(c sallyport_counter, l sallyport_limit, name text, lease bigint, now bigint)
RETURNS sallyport_counter LANGUAGE plpgsql STABLE AS $$
BEGIN
    CASE l.kind
    WHEN 's' THEN
        c.parts := c.parts || jsonb_build_object(c.start_ms::text, coalesce((c.parts ->> c.start_ms::text)::bigint, 0) + l.amount);
        c.expires_ms := now + l.win * 2;
    WHEN 'c' THEN
        SELECT c.parts || coalesce(jsonb_object_agg(name || ':' || n, now + lease), '{}') INTO c.parts
        FROM generate_series(1, l.amount / 1000000) n;
        c.expires_ms := now + lease * 2;
    WHEN 'i' THEN
        IF coalesce((c.parts -> l.print ->> 0)::bigint, 0) <= now - l.win THEN
            c.parts := c.parts || jsonb_build_object(l.print, jsonb_build_array(now, 0));
        END IF;
        c.parts := jsonb_set(c.parts, ARRAY[l.print, '1'], to_jsonb((c.parts -> l.print ->> 1)::bigint + l.amount));
        SELECT jsonb_object_agg(key, value) INTO c.parts
        FROM (SELECT key, value FROM jsonb_each(c.parts) ORDER BY (value ->> 0)::bigint DESC LIMIT 8) newest;
        c.expires_ms := now + l.win;
    ELSE
        c.expires_ms := CASE WHEN l.kind = 'f' THEN c.start_ms + l.win + 1000
            WHEN l.refill > 0 THEN least(now + ceil((c.used::numeric + l.amount) * l.win / l.refill) + 1000, 9007199254740992)::bigint
            ELSE 0 END;
    END CASE;
    c.used := c.used + l.amount;
    RETURN c;
END$$;

-- Every limit is counted, or none. `holds` says where each went, for undo: '' is nowhere.
CREATE FUNCTION sallyport_reserve(name text, lease bigint, limits jsonb,
    OUT granted boolean, OUT refused bigint, OUT retry bigint, OUT shadow text, OUT holds text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now bigint := sallyport_now();
    l sallyport_limit;
    c sallyport_counter;
BEGIN
    granted := true; refused := 0; retry := 0; shadow := ''; holds := '';
    -- In one order, so that two decisions never wait for each other.
    INSERT INTO sallyport_counter (key)
    SELECT DISTINCT x.key FROM jsonb_to_recordset(limits) AS x(key text) ORDER BY x.key ON CONFLICT DO NOTHING;
    PERFORM 1 FROM sallyport_counter s
    WHERE s.key IN (SELECT x.key FROM jsonb_to_recordset(limits) AS x(key text)) ORDER BY s.key FOR UPDATE;
    BEGIN
        FOR l IN SELECT * FROM jsonb_populate_recordset(NULL::sallyport_limit, limits) LOOP
            SELECT * INTO c FROM sallyport_counter s WHERE s.key = l.key;
            c := sallyport_fresh(c, l, now);
            IF c.used <= l.max AND l.amount <= l.max - c.used THEN
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
    IF random() < 0.01 THEN
        DELETE FROM sallyport_counter WHERE key IN (SELECT s.key FROM sallyport_counter s
            WHERE s.expires_ms > 0 AND s.expires_ms < now ORDER BY s.key LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;
END$$;

-- Takes holds back from the windows that they went into.
CREATE FUNCTION sallyport_undo(name text, limits jsonb) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    l sallyport_limit;
BEGIN
    FOR l IN SELECT * FROM jsonb_populate_recordset(NULL::sallyport_limit, limits) x ORDER BY x.key LOOP
        UPDATE sallyport_counter s SET
            used = CASE WHEN l.kind = 'b' OR (l.kind = 'f' AND s.start_ms = l.last::bigint)
                THEN greatest(s.used - l.amount, 0) ELSE s.used END,
            parts = CASE
                WHEN l.kind = 's' AND s.parts ? l.last
                THEN s.parts || jsonb_build_object(l.last, greatest((s.parts ->> l.last)::bigint - l.amount, 0))
                WHEN l.kind = 'c' THEN s.parts - (SELECT array_agg(name || ':' || n) FROM generate_series(1, l.amount / 1000000) n)
                WHEN l.kind = 'i' AND (s.parts -> l.print ->> 0)::bigint <= l.last::bigint
                THEN jsonb_set(s.parts, ARRAY[l.print, '1'], to_jsonb(greatest((s.parts -> l.print ->> 1)::bigint - l.amount, 0)))
                ELSE s.parts END
        WHERE s.key = l.key;
    END LOOP;
END$$;

-- The values that count now, in the order of the limits.
CREATE FUNCTION sallyport_read(limits jsonb) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    now bigint := sallyport_now();
    l sallyport_limit;
    c sallyport_counter;
    found_values text := '';
BEGIN
    FOR l IN SELECT * FROM jsonb_populate_recordset(NULL::sallyport_limit, limits) LOOP
        SELECT * INTO c FROM sallyport_counter s WHERE s.key = l.key;
        IF FOUND THEN
            c := sallyport_fresh(c, l, now);
        END IF;
        found_values := found_values || coalesce(c.used, 0) || ',';
    END LOOP;
    RETURN found_values;
END$$;

-- Calls in flight go on to count.
CREATE FUNCTION sallyport_renew(counter text, name text, calls bigint, lease bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    UPDATE sallyport_counter SET expires_ms = sallyport_now() + lease * 2,
        parts = parts || (SELECT coalesce(jsonb_object_agg(name || ':' || n, sallyport_now() + lease), '{}') FROM generate_series(1, calls) n
            WHERE parts ? (name || ':' || n))
    WHERE key = counter$$;
