import { AppError } from "../errors.ts";
import type { CheckoutPlace } from "./checkout-place.ts";
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

/** What is compared; undefined stands for no file. */
export interface Sides {
  from?: string | undefined;
  to?: string | undefined;
}

/** git diffs a submodule as a file of one line. */
export function submoduleHunk({ from, to }: Sides): Buffer {
  const line = (sign: string, oid: string | undefined) => (oid ? `${sign}Subproject commit ${oid}\n` : "");
  return Buffer.from(`@@ -${from ? "1" : "0,0"} +${to ? "1" : "0,0"} @@\n${line("-", from)}${line("+", to)}`);
}

/** The hunks between two blobs, without a header. Empty when the blobs are equal or binary. */
export async function blobHunks(place: CheckoutPlace, sides: Sides, contextLines: number): Promise<Buffer> {
  const { from, to } = sides;
  if ([from, to].some((oid) => oid !== undefined && !isObjectName(oid))) {
    throw new AppError("revision_unknown", "A blob is named by its full object name");
  }
  const command = { git: place, gitDir: place.gitDir, what: "diff of two blobs" };
  if (from === undefined || to === undefined) {
    const { stdout } = await runGit({ ...command, args: ["cat-file", "blob", from ?? to ?? ""] });
    return wholeFileHunk(stdout, from === undefined ? "+" : "-");
  }
  const { stdout } = await runGit({
    ...command,
    args: ["diff", `-U${contextLines}`, ...diffOptions, from, to, "--"],
  });
  const start = stdout.indexOf("\n@@ ");
  return start < 0 ? Buffer.alloc(0) : stdout.subarray(start + 1);
}

/** The hunk of a file that comes or goes as a whole. */
function wholeFileHunk(content: Buffer, sign: "+" | "-"): Buffer {
  if (content.length === 0) return content;
  // One character a byte, whatever the encoding.
  const text = content.toString("latin1");
  const lines = text.endsWith("\n") ? text.slice(0, -1).split("\n") : text.split("\n");
  const range = lines.length === 1 ? "1" : `1,${lines.length}`;
  const header = sign === "+" ? `@@ -0,0 +${range} @@` : `@@ -${range} +0,0 @@`;
  const end = text.endsWith("\n") ? "" : "\\ No newline at end of file\n";
  return Buffer.from(`${header}\n${sign}${lines.join(`\n${sign}`)}\n${end}`, "latin1");
}
