// Uploads of a dialect: to the provider's storage or inside the request.
import { isGivenUrl } from "../parse-response.ts";
import type { Upload } from "../port.ts";
import { seekOf, textAt } from "./pointers.ts";
import type { UploadTemplate } from "./schema.ts";

const BYTES_PER_MB = 1_048_576;

/** @throws DialectError */
export const uploadOf = (template: UploadTemplate): Upload => {
  const mostBytes = template.most_mb * BYTES_PER_MB;
  if ("inline" in template) return { as: "inline", text: template.inline, mostBytes };
  const { path, field, form = {}, url } = template;
  const seek = seekOf(url);
  return {
    ...{ as: "upload", mostBytes },
    request: ({ file, mime, name }, baseUrl) => ({
      ...{ method: "POST", url: `${baseUrl}${path}`, headers: {}, form },
      file: { field, name, mime, bytes: file },
    }),
    read: (r) => {
      const found = textAt(seek(r));
      return isGivenUrl(found) ? { url: found } : undefined;
    },
  };
};
