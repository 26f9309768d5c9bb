// Types of the build output of `web/`: its files and the entry files of each page.

/**
 * A file as it is served; its name contains a hash of its content. `gzip` and `br` are absent if compression does not make it
 * smaller.
 */
export type WebFile = { name: string; type: string; raw: Uint8Array; gzip?: Uint8Array; br?: Uint8Array };
/** Files that a page loads, by name. */
export type WebPage = { script: string; styles: string[]; preload: string[] };
/** The complete build output of `web/`. */
export type Web = { files: WebFile[]; pages: Record<PageName, WebPage> };
export type PageName = "console" | "inspector";
