import { isUtf8 } from "node:buffer";
import { markerPath, quotePath } from "./quote-path.ts";

/**
 * The lines before the hunks as git printed them. Where a name is not UTF-8 the lines that hold one are written anew, with
 * its bytes escaped: text cannot hold them, and git applies a patch with either.
 */
export function decodeHeader(header: Buffer, names: { path: string; oldPath: string | null }): string {
  if (isUtf8(header)) return header.toString("utf8");
  const [old, path] = [names.oldPath ?? names.path, names.path];
  const whole = header.toString("latin1");
  const isThere = (mode: string) => !whole.includes(`\n${mode} file mode `);
  const [from, to] = [quotePath(`a/${old}`), quotePath(`b/${path}`)];
  const written = [
    ["diff --git ", `${from} ${to}`],
    ["--- ", markerPath(`a/${old}`)],
    ["+++ ", markerPath(`b/${path}`)],
    ["rename from ", quotePath(old)],
    ["rename to ", quotePath(path)],
    ["Binary files ", `${isThere("new") ? from : ABSENT} and ${isThere("deleted") ? to : ABSENT} differ`],
  ] as const;
  // Neither the marker of a missing file nor any other line holds a name.
  return whole.replace(/[^\n]+/g, (line) => {
    const [start, rest] = written.find(([beginning]) => line.startsWith(beginning)) ?? [];
    return start === undefined || line.slice(start.length) === ABSENT ? line : start + rest;
  });
}

const ABSENT = "/dev/null";
