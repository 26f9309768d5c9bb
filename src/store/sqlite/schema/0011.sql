-- Ended generations by the hour of their end (hours since 1970, UTC) and their outcome, for the operator's figures. The rows are added with
-- those of `usage_daily` up to the same transfer. Their number depends on hours and routes, not on generations.
CREATE TABLE outcome_hourly (
  hour INTEGER NOT NULL,
  -- `succeeded`, or the code of the error.
  outcome TEXT NOT NULL,
  -- The route that delivered; empty for a failure.
  route_id TEXT NOT NULL,
  generations INTEGER NOT NULL,
  charged_credits INTEGER NOT NULL,
  -- The provider's cost by the plans of the generations, in micro-USD, and the charged credits of generations whose plan has no cost.
  cost_micro_usd INTEGER NOT NULL,
  uncosted_credits INTEGER NOT NULL,
  PRIMARY KEY (hour, outcome, route_id)
) STRICT, WITHOUT ROWID;
INSERT INTO outcome_hourly
  SELECT g.completed_at_ms / 3600000, CASE g.status WHEN 'succeeded' THEN 'succeeded' ELSE coalesce(g.error ->> 'code', '') END,
    coalesce(a.route_id, ''), count(*), sum(g.cost_credits), 0, sum(g.cost_credits)
  FROM transfer p JOIN generation g ON g.seq = +p.generation_seq
    LEFT JOIN attempt a ON p.kind = 'capture' AND a.generation_seq = p.generation_seq AND a.attempt_no = p.attempt_no
  WHERE p.seq <= coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'usage_up_to'), 0)
    AND (p.kind = 'capture' OR g.status = 'failed')
  GROUP BY 1, 2, 3;
