// Toasts: short messages about something that has just been done, which disappear by themselves.
import { signal } from "@preact/signals";
import { X } from "lucide";
import type { VNode } from "preact";
import { words } from "../words/words.ts";
import { Icon } from "./icon.tsx";

type Toast = { id: number; text: string };
const toasts = signal<readonly Toast[]>([]);
const SHOWN_MS = 5_000;
let last = 0;

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export const showToast = (text: string): void => {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text }];
  setTimeout(() => remove(id), SHOWN_MS);
};

export const Toasts = (): VNode => (
  <div class="toasts" role="status">
    {toasts.value.map(({ id, text }) => (
      <p key={id} class="toast">
        {text}
        <button type="button" class="button is-quiet is-icon" aria-label={words.actions.close} onClick={() => remove(id)}>
          <Icon of={X} size={16} />
        </button>
      </p>
    ))}
  </div>
);
