-- Bounds of what counters in Redis have used, for `state.after_loss: database`: a call passes only when a mark here covers what its counter has then. A
-- server that lost writes goes on from the mark. `lost_ms` is the loss that the writer knew of: who knows an older one counted at a server that the
-- others have left, and is refused. In the row of an epoch, name is that of the epoch with the newest loss: where two servers count and neither knows of a
-- loss, only the one whose name stands here gets marks. Its start_ms is since when gates there keep marks (0: not known yet), as the one that joined first
-- knows; used is when the last gate without marks counted.
CREATE TABLE sallyport_mark (
    key text PRIMARY KEY,
    start_ms bigint NOT NULL DEFAULT 0,
    used bigint NOT NULL DEFAULT 0,
    lost_ms bigint NOT NULL DEFAULT 0,
    name text NOT NULL DEFAULT '',
    expires_ms bigint NOT NULL DEFAULT 0 -- 0: never
);
CREATE INDEX sallyport_mark_expires ON sallyport_mark (expires_ms) WHERE expires_ms > 0;

-- Each of {at, key, start, over, used, lost, win, epoch, name}; `over`: what starts before it is of a window that has ended. `bounds` is "AT:USED,...", what each
-- may use without another mark. NULL: somebody knows a newer loss, or another server counts in the same window.
CREATE FUNCTION sallyport_mark_put(marks jsonb, OUT bounds text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    m record;
    now bigint := sallyport_now();
    bound bigint;
BEGIN
    bounds := '';
    FOR m IN SELECT * FROM jsonb_to_recordset(marks)
        AS x(at int, key text, start bigint, over bigint, used bigint, lost bigint, win bigint, epoch text, name text) ORDER BY x.key LOOP
        IF m.name IS NOT NULL AND NOT EXISTS (SELECT FROM sallyport_mark s WHERE s.key = m.epoch) THEN
            INSERT INTO sallyport_mark (key, name) VALUES (m.epoch, m.name) ON CONFLICT DO NOTHING;
        END IF;
        IF m.name IS NULL OR EXISTS (SELECT FROM sallyport_mark s WHERE s.key = m.epoch AND s.name <> m.name AND s.lost_ms >= m.lost) THEN
            bounds := NULL;
            RETURN;
        END IF;
        INSERT INTO sallyport_mark AS s (key, start_ms, used, lost_ms, expires_ms) VALUES (m.key, m.start, m.used, m.lost, now + m.win * 2 + 60000)
        ON CONFLICT (key) DO UPDATE SET start_ms = greatest(s.start_ms, m.start), lost_ms = m.lost, expires_ms = excluded.expires_ms,
            used = CASE WHEN s.start_ms > m.start THEN s.used WHEN s.start_ms = m.start THEN greatest(s.used, m.used) ELSE m.used END
        WHERE s.lost_ms = m.lost OR (s.lost_ms < m.lost AND s.start_ms < m.over)
        RETURNING CASE WHEN s.start_ms = m.start THEN s.used ELSE m.used END INTO bound;
        IF NOT FOUND THEN
            bounds := NULL;
            RETURN;
        END IF;
        bounds := bounds || m.at || ':' || bound || ',';
    END LOOP;
    IF random() < 0.01 THEN
        DELETE FROM sallyport_mark WHERE key IN (SELECT s.key FROM sallyport_mark s
            WHERE s.expires_ms > 0 AND s.expires_ms < now ORDER BY s.key LIMIT 100 FOR UPDATE SKIP LOCKED);
    END IF;
END$$;

-- After a loss: each of {at, key, lost, win}. From now on nobody who knows only an older loss can write a mark. `bounds` is "AT:START:USED,...".
CREATE FUNCTION sallyport_recall(epoch text, marks jsonb, OUT since bigint, OUT bounds text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    m record;
    bound text;
BEGIN
    bounds := '';
    FOR m IN SELECT * FROM jsonb_to_recordset(marks) AS x(at int, key text, lost bigint, win bigint) ORDER BY x.key LOOP
        INSERT INTO sallyport_mark AS s (key, lost_ms, expires_ms) VALUES (m.key, m.lost, sallyport_now() + m.win * 2 + 60000)
        ON CONFLICT (key) DO UPDATE SET lost_ms = m.lost WHERE s.lost_ms <= m.lost
        RETURNING s.start_ms || ':' || s.used INTO bound;
        IF NOT FOUND THEN
            bounds := NULL;
            RETURN;
        END IF;
        bounds := bounds || m.at || ':' || bound || ',';
    END LOOP;
    since := (SELECT greatest(s.start_ms, s.used) FROM sallyport_mark s WHERE s.key = epoch AND s.start_ms > 0);
END$$;

-- A gate joined at a server: its epoch's name, since when all gates there keep marks, when one that keeps none joined last, and the newest loss.
CREATE FUNCTION sallyport_mark_join(epoch text, epoch_name text, since bigint, unmarked bigint, lost bigint) RETURNS void LANGUAGE sql VOLATILE AS $$
    INSERT INTO sallyport_mark AS s (key, name, start_ms, used, lost_ms) VALUES (epoch, epoch_name, since, unmarked, lost)
    ON CONFLICT (key) DO UPDATE SET
        name = CASE WHEN excluded.lost_ms > s.lost_ms OR s.name = '' THEN excluded.name ELSE s.name END,
        lost_ms = greatest(s.lost_ms, excluded.lost_ms),
        start_ms = CASE WHEN s.start_ms = 0 THEN since ELSE least(s.start_ms, since) END,
        used = greatest(s.used, unmarked);
$$;
