-- A command of the command line opens the database for a moment, as a node does: it is no node of the service, and lists of nodes leave it out.
ALTER TABLE owner ADD COLUMN is_visit bigint NOT NULL DEFAULT 0 CHECK (is_visit IN (0, 1));
