-- Accepted definitions of servers (pins), and what gates hold because it differs from them. An entry is that of the lock file.
CREATE TABLE sallyport.pins (server bytea PRIMARY KEY, number bigint NOT NULL, entry bytea NOT NULL);
CREATE TABLE sallyport.pin_holds (
    server bytea NOT NULL, name bytea NOT NULL, reason bytea NOT NULL, PRIMARY KEY (server, name)
);
INSERT INTO sallyport.changes VALUES ('pins', 1);

-- For a table that belongs to the store of another name.
CREATE FUNCTION sallyport.changed_of() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE sallyport.changes SET number = number + 1 WHERE store = TG_ARGV[0];
    PERFORM pg_notify('sallyport', TG_ARGV[0]);
    RETURN NULL;
END $$;
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON sallyport.pins
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.changed_of('pins');
CREATE TRIGGER changed AFTER INSERT OR DELETE OR UPDATE ON sallyport.pin_holds
    FOR EACH STATEMENT EXECUTE FUNCTION sallyport.changed_of('pins');
