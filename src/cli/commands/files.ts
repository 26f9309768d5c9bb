// `genrouter files`: lists, uploads and deletes the files of the account.
import { statSync } from "node:fs";
import { basename } from "node:path";
import type { Command } from "commander";
import type { Client, UploadedFile } from "../../../client/src/client.ts";
import { CommandError, EXITS } from "../exit-codes.ts";
import { uploadFile } from "../local-media.ts";
import {
  type ClientFlags,
  clientOf,
  interruptible,
  type JsonFlag,
  PAGE_TRIES,
  parseWhole,
  type Session,
  withClient,
  withExamples,
  withJson,
} from "../session.ts";
import { table } from "../terminal.ts";

type Flags = ClientFlags & JsonFlag;

const PAGE = 100;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 10_000;
const MEGABYTE = 1_000_000;

const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(1)} MB`;
/** `864×496, 4.0 s`: what was measured. */
const measures = ({ width, height, duration_s }: UploadedFile): string =>
  [
    ...(width !== null && height !== null ? [`${width}×${height}`] : []),
    ...(duration_s === null ? [] : [`${duration_s.toFixed(1)} s`]),
  ].join(", ");

/** The newest files, at most `limit`, page by page. */
const newest = async (client: Pick<Client, "files">, limit: number, signal: AbortSignal): Promise<UploadedFile[]> => {
  const found: UploadedFile[] = [];
  let after: string | undefined;
  do {
    const page = await client.files({ limit: Math.min(PAGE, limit - found.length), after, signal, tries: PAGE_TRIES });
    found.push(...page.data);
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < limit);
  return found;
};

/** @throws CommandError (usage) before any upload */
const requireFiles = (paths: readonly string[]): void => {
  for (const path of paths)
    if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true)
      throw new CommandError(EXITS.usage, `${path} is not a file`, { fix: "pass paths of local files", code: "bad_argument" });
};

const addList = (files: Command, session: Session): void => {
  const { terminal } = session;
  const list = files
    .command("list", { isDefault: true })
    .description("list the uploaded files, newest first")
    .option("--limit <n>", `maximum number of files (default: ${DEFAULT_LIMIT})`)
    .action(async (flags: Flags & { limit?: string }) =>
      interruptible(async (signal) => {
        const limit = flags.limit === undefined ? DEFAULT_LIMIT : parseWhole(flags.limit, "--limit", 1, MAX_LIMIT);
        const found = await newest(await clientOf(session, flags), limit, signal);
        if (flags.json) return terminal.print(JSON.stringify(found));
        if (found.length === 0) return terminal.print("none");
        const rows = found.map((file) => [
          file.id,
          file.content_type,
          megabytes(file.bytes),
          measures(file),
          file.created_at,
          file.expires_at,
        ]);
        for (const line of table(["FILE", "TYPE", "SIZE", "MEASURES", "CREATED", "EXPIRES"], rows, [2])) terminal.print(line);
      }),
    );
  withExamples(withJson(withClient(list)), "files list", "files list --limit 500 --json | jq -r '.[].id'");
};

const addUpload = (files: Command, session: Session): void => {
  const { terminal } = session;
  const upload = files
    .command("upload <path...>")
    .description("upload pictures, clips or sounds; media fields of an input take the printed ids")
    .action(async (paths: string[], flags: Flags) =>
      interruptible(async (signal) => {
        requireFiles(paths);
        const client = await clientOf(session, flags);
        for (const path of paths) {
          const file = await uploadFile(path, { client, terminal, signal });
          if (flags.json) terminal.print(JSON.stringify(file));
          else
            terminal.print(
              `${file.id}  ${basename(path)}  ${[megabytes(file.bytes), measures(file)].filter(Boolean).join(", ")}`,
            );
        }
      }),
    );
  withExamples(withJson(withClient(upload)), "files upload kite.png", "files upload *.png --json | jq -r .id");
};

const addDelete = (files: Command, session: Session): void => {
  const { terminal } = session;
  const remove = files
    .command("delete <id...>")
    .description("delete uploaded files; a file that a generation needs is kept (exit 6)")
    .action(async (ids: string[], flags: Flags) =>
      interruptible(async (signal) => {
        const client = await clientOf(session, flags);
        for (const id of ids) {
          const deleted = await client.deleteFile(id, { signal, tries: 1 });
          terminal.print(flags.json ? JSON.stringify(deleted) : `${id}  deleted`);
        }
      }),
    );
  withExamples(withJson(withClient(remove)), "files delete file_01h…");
};

export const addFiles = (program: Command, session: Session): void => {
  const files = withExamples(
    program.command("files").description("list, upload and delete the files of the account"),
    "files",
    "files upload kite.png",
    "files delete file_01h…",
  );
  addList(files, session);
  addUpload(files, session);
  addDelete(files, session);
};
