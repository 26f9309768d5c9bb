// What `web/` is built to: the files that browsers load, and which of them each page begins with.

/** A file as it leaves: its name changes with what is in it. `gzip` and `br` are absent where packing does not make it smaller. */
export type WebFile = { name: string; type: string; raw: Uint8Array; gzip?: Uint8Array; br?: Uint8Array };
/** What a page loads, by file name. */
export type WebPage = { script: string; styles: string[]; preload: string[] };
/** All that `web/` is built to. */
export type Web = { files: WebFile[]; pages: Record<PageName, WebPage> };
export type PageName = "console" | "inspector";
