// End users of an account: their limits, and the mutation that sets one.
import { windowEndsAtMs, windowFrom } from "./calendar.ts";
import { type Credits, KEY_WINDOWS } from "./types.ts";

/** Windows of the limit of an end user; `total` never resets. */
export const END_USER_WINDOWS = [...KEY_WINDOWS, "total"] as const;
export type EndUserWindow = (typeof END_USER_WINDOWS)[number];
export type EndUserLimit = { window: EndUserWindow; credits: Credits };

/** Maximum length of the name of an end user, in characters. */
export const MAX_END_USER_CHARS = 120;

/** The first day of the window that contains a time. Days before 1970 are not used, so the total begins with day 0. */
export const endUserWindowFrom = (window: EndUserWindow, atMs: number): number =>
  window === "total" ? 0 : windowFrom(window, atMs);

/** When the window that contains a time ends; null: never. */
export const endUserWindowEndsAtMs = (window: EndUserWindow, atMs: number): number | null =>
  window === "total" ? null : windowEndsAtMs(window, atMs);

/** Sets or removes (null) the limit of an end user, who need not have a generation yet. */
export type SetEndUserLimit = {
  mutation: "set-end-user-limit";
  accountSeq: number;
  endUser: string;
  limit: EndUserLimit | null;
  atMs: number;
};
