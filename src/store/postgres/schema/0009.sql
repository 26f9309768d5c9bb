-- Deliveries of an endpoint that a recovery sends again: at least one try has failed. Deliveries of prompt receivers never enter it.
CREATE INDEX webhook_delivery_unsent ON webhook_delivery (endpoint_seq, seq)
  WHERE state = 'failed' OR (state = 'pending' AND retry_no > 0);
