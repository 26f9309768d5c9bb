// Controls of the upload program: services that store uploads in a wrong order. If the judge does not find it, it proves nothing.
import { join } from "node:path";
import type { Check } from "../../src/torture/crash/audit.ts";
import { patchedSources } from "../crash/patched-sources.ts";
import type { Patch } from "../mutants/mutant.ts";
import { playUploads } from "./killed-world.ts";

export type UploadControl = { name: string; finds: RegExp; patches: readonly Patch[] };

const RESUMABLE = "src/uploads/resumable-service.ts";
const STORE = "src/uploads/store-upload.ts";

export const UPLOAD_CONTROLS: readonly UploadControl[] = [
  {
    name: "the bytes of a file are stored before the store knows them",
    finds: /after the sweep, all stored bytes have a file/,
    patches: [
      {
        file: STORE,
        find: '    const begun = await post({ mutation: "begin-upload",',
        put: `    await keepBytes(received, object, signal);
    await Bun.sleep(1000);
    const begun = await post({ mutation: "begin-upload",`,
      },
      { file: STORE, find: "    try {\n      await keepBytes(received, object, signal);\n", put: "    try {\n" },
    ],
  },
  {
    name: "the offset of a resumable upload moves before its bytes are durable",
    finds: /an upload is refused only while/,
    patches: [
      {
        file: RESUMABLE,
        find: "    await keepBytes({ incoming, content }, object, time.signal).finally(time.end);\n",
        put: "",
      },
      {
        file: RESUMABLE,
        find: '    if (stored.kind === "gone") refuseLocked();\n',
        put: `    await Bun.sleep(500);
    await keepBytes({ incoming, content }, object, time.signal).finally(time.end);
    if (stored.kind === "gone") refuseLocked();
`,
      },
    ],
  },
];

const UPLOADS = 400;

/** Plays a short world of the faulty service. @param dir an empty directory */
export const playUploadControl = async (
  { name, finds, patches }: UploadControl,
  { dir, seed, say }: { dir: string; seed: number; say: (line: string) => void },
): Promise<Check> => {
  const genrouter = patchedSources(join(dir, "sources"), patches);
  const { checks } = await playUploads({ name: "disk", dir: join(dir, "world"), uploads: UPLOADS, seed, genrouter, say });
  const found = checks.find((check) => finds.test(check.name))?.faults.length ?? 0;
  return { name: `if ${name}, the judge finds it: ${found} faults`, faults: found > 0 ? [] : [`no fault of ${finds}`] };
};
