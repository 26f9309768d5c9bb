-- Computed from the transfers with `usage_daily`.
CREATE TABLE outcome_hourly (
  hour bigint NOT NULL,
  outcome text COLLATE "C" NOT NULL,
  route_id text COLLATE "C" NOT NULL,
  generations bigint NOT NULL,
  charged_credits bigint NOT NULL,
  cost_micro_usd bigint NOT NULL,
  uncosted_credits bigint NOT NULL,
  PRIMARY KEY (hour, outcome, route_id)
) WITH (fillfactor = 50);
INSERT INTO outcome_hourly
  SELECT g.completed_at_ms / 3600000, CASE g.status WHEN 'succeeded' THEN 'succeeded' ELSE coalesce(CAST(g.error AS json) ->> 'code', '') END,
    coalesce(a.route_id, ''), count(*), CAST(sum(g.cost_credits) AS bigint), 0, CAST(sum(g.cost_credits) AS bigint)
  FROM transfer p JOIN usage_progress m ON m.epoch = p.epoch AND (m.is_done = 1 OR p.seq <= m.up_to_seq)
    JOIN generation g ON g.seq = p.generation_seq
    LEFT JOIN attempt a ON p.kind = 'capture' AND a.generation_seq = p.generation_seq AND a.attempt_no = p.attempt_no
  WHERE p.kind = 'capture' OR g.status = 'failed'
  GROUP BY 1, 2, 3;
