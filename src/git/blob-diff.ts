import { AppError } from "../errors.ts";
import type { ObjectPlace } from "./checkout-place.ts";
import { isObjectName } from "./git-environment.ts";
import { runGit } from "./run-git.ts";

/** What decides how git writes a diff, for every diff of this room. No driver, no program, no configuration. */
export const diffOptions = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--inter-hunk-context=0",
  "--diff-algorithm=myers",
  "--ignore-submodules=none",
  "--submodule=short",
];

/** Renames as GitHub finds them; `-C` would turn an added file into a copy that GitHub does not know. */
export const renameOptions = ["-M", "-l1000"];

/** Hunks beyond this size are for nobody, and several of them may be in memory. */
const MAX_HUNKS_BYTES = 32 * 1024 * 1024;
const NEWLINE = 10;

/** What is compared; undefined stands for no file. */
export interface Sides {
  from?: string | undefined;
  to?: string | undefined;
}

type Both = Record<keyof Sides, string>;

/** git diffs a submodule as a file of one line. */
export function submoduleHunk({ from, to }: Sides): Buffer {
  const line = (sign: string, oid: string | undefined) => (oid ? `${sign}Subproject commit ${oid}\n` : "");
  return Buffer.from(`@@ -${from ? "1" : "0,0"} +${to ? "1" : "0,0"} @@\n${line("-", from)}${line("+", to)}`);
}

/** The hunks between two blobs, without a header. Empty when the blobs are equal or binary. Rejects with `too_large`. */
export async function blobHunks(
  place: ObjectPlace,
  { from, to }: Both,
  contextLines: number,
): Promise<Buffer> {
  if (![from, to].every(isObjectName)) {
    throw new AppError("revision_unknown", "A blob is named by its full object name");
  }
  const { stdout } = await runGit({
    git: place,
    gitDir: place.gitDir,
    what: "diff of two blobs",
    maxBytes: MAX_HUNKS_BYTES,
    args: ["diff", `-U${contextLines}`, ...diffOptions, from, to, "--"],
  });
  const start = stdout.indexOf("\n@@ ");
  return start < 0 ? Buffer.alloc(0) : stdout.subarray(start + 1);
}

/** The hunk of a file that comes or goes as a whole. Made of bytes: as texts, many short lines take many times the room. */
export function wholeFileHunk(content: Buffer, sign: "+" | "-"): Buffer {
  if (content.length === 0) return content;
  const isEnded = content.at(-1) === NEWLINE;
  let lines = isEnded ? 0 : 1;
  for (const byte of content) if (byte === NEWLINE) lines += 1;
  const body = Buffer.allocUnsafe(content.length + lines);
  let at = 0;
  let previous = NEWLINE;
  for (const byte of content) {
    if (previous === NEWLINE) body[at++] = sign.charCodeAt(0);
    body[at++] = byte;
    previous = byte;
  }
  const range = lines === 1 ? "1" : `1,${lines}`;
  const header = sign === "+" ? `@@ -0,0 +${range} @@\n` : `@@ -${range} +0,0 @@\n`;
  const end = isEnded ? "" : "\n\\ No newline at end of file\n";
  return Buffer.concat([Buffer.from(header), body, Buffer.from(end)]);
}
