// Names of keyboard shortcuts, with the key that the reader's keyboard has.
const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** `Ctrl K`, and `⌘ K` on a keyboard of Apple. */
export const shortcutText = (key: string): string => `${isApple ? "⌘" : "Ctrl"} ${key}`;
