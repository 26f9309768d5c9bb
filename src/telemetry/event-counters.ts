// Event counters: map each log event to the metrics that it changes.

import { API_ERRORS } from "../domain/api-errors.ts";
import { GENERATION_ERROR_CODES, MEDIA_KINDS } from "../domain/types.ts";
import { EVENTS, type EventFields, type EventName } from "../logging/events.ts";
import { createLabelCap } from "./label-cap.ts";
import type { Registered } from "./registry.ts";

/** Adds one event to the counters. */
export type CountEvent = (event: EventName, fields: EventFields) => void;

/** More than any catalogue contains; ids that were removed from the catalogue keep their series. */
const MAX_MODELS = 1_000;
const MAX_ROUTES = 4_000;
/** A provider has one host or a few. If a provider returns many hosts, the hosts beyond the limit share one series. */
const MAX_HOSTS = 200;
const MAX_WORDS = 100;

const TROUBLES = Object.entries(EVENTS).filter(([, level]) => level === "warn" || level === "error" || level === "fatal");
const TROUBLE: ReadonlyMap<string, string> = new Map(TROUBLES);

const COUNTED: ReadonlySet<EventName> = new Set<EventName>([
  "generation completed",
  "attempt ended",
  "attempt unclear",
  "route skipped",
  "credits added",
  "file uploaded",
  "provider call completed",
  "request rejected",
  "request failed",
  "submission replayed",
  "generations reclaimed",
  "signed in",
  "sign-in rejected",
  "webhook delivered",
  "webhook try failed",
  "mail sent",
  "mail try failed",
  "mail failed",
]);
/** Events that start a lasting fault, and events that end it. */
const FAULTS: ReadonlyMap<EventName, readonly [fault: string, isActive: 0 | 1]> = new Map([
  ["backup failed", ["backup", 1]],
  ["backup verification failed", ["backup", 1]],
  ["backup finished", ["backup", 0]],
  ["clock skew detected", ["clock", 1]],
  ["clock skew ended", ["clock", 0]],
  ["file descriptors exhausted", ["descriptors", 1]],
  ["file descriptors recovered", ["descriptors", 0]],
  ["payment provider unavailable", ["payments", 1]],
  ["payment provider recovered", ["payments", 0]],
  ["config reload rejected", ["settings", 1]],
  ["config reloaded", ["settings", 0]],
  ["trace export failed", ["traces", 1]],
  ["trace export recovered", ["traces", 0]],
]);
/** Whether an event changes a metric. */
export const isCounted = (event: EventName): boolean => COUNTED.has(event) || TROUBLE.has(event) || FAULTS.has(event);

const SIGN_INS = ["succeeded", "wrong", "throttled", "busy"];

const seconds = (ms: number | undefined): number => Math.max(0, ms ?? 0) / 1000;

/** Counters for alerts start at 0. A counter that appears with its first event hides that event from `increase()`. */
const beginAtZero = ({ count }: Registered): void => {
  count("genrouter_generations_reclaimed_total", {}, 0);
  for (const code of [...Object.keys(API_ERRORS), ...GENERATION_ERROR_CODES]) count("genrouter_errors_total", { code }, 0);
  for (const [event, level] of TROUBLES) count("genrouter_log_events_total", { event, level }, 0);
  for (const outcome of SIGN_INS) count("genrouter_sign_ins_total", { outcome }, 0);
  for (const result of ["replayed", "conflict"]) count("genrouter_idempotency_replays_total", { result }, 0);
  for (const result of ["delivered", "failed"]) count("genrouter_webhook_tries_total", { result }, 0);
  for (const result of ["sent", "retried", "failed"]) count("genrouter_mails_total", { result }, 0);
  for (const name of ["genrouter_uploads_total", "genrouter_upload_bytes_total"] as const)
    for (const kind of MEDIA_KINDS) count(name, { kind }, 0);
  for (const source of ["topup", "adjust"]) count("genrouter_credits_added_total", { source }, 0);
};

export const createEventCounters = (registered: Registered): CountEvent => {
  const { count, observe } = registered;
  const model = createLabelCap(MAX_MODELS);
  const route = createLabelCap(MAX_ROUTES);
  const host = createLabelCap(MAX_HOSTS);
  const word = createLabelCap(MAX_WORDS);
  beginAtZero(registered);
  const active = new Map([...FAULTS.values()].map(([fault]) => [fault, 0]));
  const reportFaults = () =>
    registered.set(
      "genrouter_fault_active",
      [...active].map(([fault, isActive]) => [{ fault }, isActive]),
    );
  reportFaults();

  const generationEnded = (fields: EventFields) => {
    const labels = { model: model(fields.model), status: word(fields.state) };
    count("genrouter_generations_total", labels);
    observe("genrouter_generation_duration_seconds", labels, seconds(fields.dur_ms));
    if (fields.error_code !== undefined) count("genrouter_errors_total", { code: word(fields.error_code) });
    if (fields.credits) count("genrouter_credits_charged_total", { model: labels.model }, fields.credits);
    if (fields.released_credits) count("genrouter_credits_released_total", { model: labels.model }, fields.released_credits);
  };
  const attemptEnded = (fields: EventFields) => {
    const outcome = word(fields.outcome);
    const through = route(fields.route_id);
    count("genrouter_attempts_total", { model: model(fields.model), route: through, outcome });
    if (fields.provider_credits !== undefined)
      count(
        "genrouter_provider_cost_credits_total",
        { provider: word(fields.provider), model: model(fields.model), outcome },
        fields.provider_credits,
      );
    // An attempt that was never sent has no duration on its route.
    if (fields.dur_ms !== undefined)
      observe("genrouter_attempt_duration_seconds", { route: through, outcome }, seconds(fields.dur_ms));
  };
  const refused = (fields: EventFields) => {
    count("genrouter_errors_total", { code: word(fields.error_code) });
    if (fields.error_code === "idempotency_conflict") count("genrouter_idempotency_replays_total", { result: "conflict" });
  };
  const called = (fields: EventFields) => {
    const labels = {
      server_address: host(fields.host),
      http_request_method: word(fields.method),
      http_response_status_code: fields.status === undefined ? "" : String(fields.status),
      error_type: word(fields.error_type),
    };
    observe("http_client_request_duration_seconds", labels, seconds(fields.dur_ms));
  };

  return (event, fields) => {
    const level = TROUBLE.get(event);
    if (level !== undefined) count("genrouter_log_events_total", { event, level });
    const turned = FAULTS.get(event);
    if (turned) {
      active.set(...turned);
      reportFaults();
    }
    switch (event) {
      case "generation completed":
        return generationEnded(fields);
      case "attempt ended":
        return attemptEnded(fields);
      case "attempt unclear":
      case "route skipped":
        return count("genrouter_attempts_total", {
          model: model(fields.model),
          route: route(fields.route_id),
          outcome: word(fields.outcome),
        });
      case "credits added":
        return count("genrouter_credits_added_total", { source: word(fields.source) }, Math.max(0, fields.credits ?? 0));
      case "file uploaded":
        count("genrouter_uploads_total", { kind: word(fields.kind) });
        return count("genrouter_upload_bytes_total", { kind: word(fields.kind) }, fields.bytes ?? 0);
      case "provider call completed":
        return called(fields);
      case "request rejected":
      case "request failed":
        return refused(fields);
      case "generations reclaimed":
        return count("genrouter_generations_reclaimed_total", {}, fields.count ?? 0);
      case "signed in":
      case "sign-in rejected":
        return count("genrouter_sign_ins_total", { outcome: word(fields.outcome) });
      case "webhook delivered":
        return count("genrouter_webhook_tries_total", { result: "delivered" });
      case "webhook try failed":
        return count("genrouter_webhook_tries_total", { result: "failed" });
      case "mail sent":
        return count("genrouter_mails_total", { result: "sent" });
      case "mail try failed":
        return count("genrouter_mails_total", { result: "retried" });
      case "mail failed":
        return count("genrouter_mails_total", { result: "failed" });
      case "submission replayed":
        return count("genrouter_idempotency_replays_total", { result: "replayed" });
    }
  };
};
