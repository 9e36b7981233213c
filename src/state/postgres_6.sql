-- Logins at servers that want OAuth, encrypted by the gates; empty: it was forgotten. The holder refreshes it, until its lease is over.
CREATE TABLE sallyport.server_logins (
    name text PRIMARY KEY, number bigint NOT NULL, sealed bytea NOT NULL, holder text NOT NULL DEFAULT '', lease_ms bigint NOT NULL DEFAULT 0
);
INSERT INTO sallyport.changes VALUES ('server_logins', 1);
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE OF number ON sallyport.server_logins
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.changed_of('server_logins');
