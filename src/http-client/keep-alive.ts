// Whether a connection to an upstream or a bucket may stay open for the next call.
import { readFileSync } from "node:fs";

/** The engine keeps up to 256 connections open for minutes, and gives none of them up when a descriptor is wanted elsewhere. */
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

/** Option `keepalive` of `fetch`. */
export const KEEPS_CONNECTIONS = mayKeepConnections(ownLimits());
