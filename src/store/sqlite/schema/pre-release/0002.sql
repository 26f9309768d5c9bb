-- Credentials of the providers, sealed: what opens them is not in this file.
CREATE TABLE provider_key (
  account TEXT PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  sealed TEXT NOT NULL,
  set_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Routes that the operator has switched off, and why.
CREATE TABLE route_switch (
  route_id TEXT PRIMARY KEY,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
