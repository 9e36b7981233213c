-- What a gate needs once its tables are there: run as their owner, after a gate of this version has started with the owner's role once.
DO $$ BEGIN CREATE ROLE sallyport_gate NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT SELECT ON public.sallyport_schema TO sallyport_gate;
GRANT SELECT, INSERT, UPDATE, DELETE ON public.sallyport_counter, public.sallyport_mark TO sallyport_gate;
GRANT USAGE ON SCHEMA sallyport TO sallyport_gate;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sallyport TO sallyport_gate;
-- Audit logs: gates add to them, and nothing else.
REVOKE UPDATE, DELETE ON ALL TABLES IN SCHEMA sallyport FROM sallyport_gate;
GRANT UPDATE, DELETE ON sallyport.grants, sallyport.approvals, sallyport.repeats, sallyport.vault, sallyport.stops, sallyport.versions,
    sallyport.logins, sallyport.secrets, sallyport.server_logins, sallyport.pins, sallyport.pin_holds, sallyport.keys, sallyport.changes TO sallyport_gate;
GRANT UPDATE (seq, hash, at_ms, signed_seq, signed_hash, signed_ms, signature) ON sallyport.audit_chains TO sallyport_gate;
GRANT EXECUTE ON FUNCTION sallyport.audit_open_days(), sallyport.audit_drop_day(date) TO sallyport_gate;

-- Who reads and verifies the audit logs of all gates (audit query, tail, export, verify with --fleet).
DO $$ BEGIN CREATE ROLE sallyport_auditor NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
GRANT SELECT ON public.sallyport_schema TO sallyport_auditor;
GRANT USAGE ON SCHEMA sallyport TO sallyport_auditor;
GRANT SELECT ON sallyport.audit_chains, sallyport.audit_blocks, sallyport.audit_points, sallyport.audit_retired TO sallyport_auditor;
