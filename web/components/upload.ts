// Uploads one file to the service, with progress.
//
// `fetch` reports no progress of a request, so this uses XMLHttpRequest.
import type { UploadedFileDto } from "../../src/console/files-dto.ts";
import { words } from "../words/console-words.ts";
import { Fault, me } from "./api.ts";

const faultOf = (status: number, text: string): Fault => {
  if (status === 0) return new Fault(0, "unreachable", words.upload.lost);
  try {
    const { code, message } = (JSON.parse(text) as { error: { code: string; message: string } }).error;
    return new Fault(status, code, message);
  } catch {
    return new Fault(status, "unclear", words.upload.status(status));
  }
};

/**
 * Sends the bytes of a file. @param onProgress receives the sent part, from 0 to 1
 * @throws Fault, also after an abort
 */
export const uploadFile = (file: Blob, onProgress: (part: number) => void, signal: AbortSignal): Promise<UploadedFileDto> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/console/api/files");
    request.setRequestHeader("content-type", "application/octet-stream");
    request.setRequestHeader("x-csrf-token", me.value?.signedIn?.csrf ?? "");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onloadend = () => {
      if (request.status === 200) resolve(JSON.parse(request.responseText) as UploadedFileDto);
      else reject(faultOf(request.status, request.responseText));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
