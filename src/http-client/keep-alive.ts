// Decides whether connections to upstreams and buckets stay open between calls.
import { readFileSync } from "node:fs";

/** Bun keeps up to 256 connections open for minutes and does not release them when file descriptors run out. */
const FEW_DESCRIPTORS = 1024;

/** @param limits the text of `/proc/self/limits`; other systems have none */
export const mayKeepConnections = (limits: string): boolean => {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return soft === undefined || Number(soft) >= FEW_DESCRIPTORS;
};

const ownLimits = (): string => {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
};

/** The `keepalive` option of `fetch`. */
export const KEEPS_CONNECTIONS = mayKeepConnections(ownLimits());
