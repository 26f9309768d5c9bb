// Creates the telemetry of services in tests: real metrics, and traces only if a test sets an endpoint.
import type { Log } from "../../src/logging/events.ts";
import { createTelemetry, type Telemetry } from "../../src/telemetry/telemetry.ts";

export const testTelemetry = (log: Log = () => undefined, env: Record<string, string> = {}): Telemetry =>
  createTelemetry(log, env, { version: "0.0.0", revision: "test", bunVersion: Bun.version, interfaceVersion: "2026-10-19" });
