import { decodeText, looksBinary } from "../../text/decode.ts";
import { submoduleHunk, wholeFileHunk } from "../blob-diff.ts";
import { markerPath, quotePath } from "../quote-path.ts";
import { lineHunks } from "./line-hunks.ts";

/** A file on one side of a comparison. */
export interface Side {
  path: string;
  /** git's six octal digits. */
  mode: string;
  oid: string;
  bytes: Buffer;
}

const SUBMODULE = "160000";
/** How many digits of an object name a header shows. */
const SHORT = 7;

/**
 * The patch from one file to another as git prints it; null stands for no file. A change of kind is written as one file that
 * goes and one that comes.
 */
export function editedPatch(from: Side | null, to: Side | null, contextLines: number): string {
  if (from && to && kindOf(from) !== kindOf(to))
    return editedPatch(from, null, contextLines) + editedPatch(null, to, contextLines);
  return decodeText(Buffer.concat([Buffer.from(headerOf(from, to)), bodyOf(from, to, contextLines)])).text;
}

/** The patch between any two files, which says of them nothing but their lines. */
export function comparisonPatch(from: Side | null, to: Side | null, contextLines: number): string {
  const names = `${quotePath(`a/${from?.path}`)} ${quotePath(`b/${to?.path}`)}`;
  return `diff --git ${names}\n${decodeText(bodyOf(from, to, contextLines)).text}`;
}

/** Regular file, link, submodule. */
const kindOf = ({ mode }: Side) => mode.slice(0, 3);

function headerOf(from: Side | null, to: Side | null): string {
  const [old, path] = [from?.path ?? to?.path ?? "", to?.path ?? from?.path ?? ""];
  const lines = [`diff --git ${quotePath(`a/${old}`)} ${quotePath(`b/${path}`)}`];
  if (from === null) lines.push(`new file mode ${to?.mode}`);
  else if (to === null) lines.push(`deleted file mode ${from.mode}`);
  else if (from.mode !== to.mode) lines.push(`old mode ${from.mode}`, `new mode ${to.mode}`);
  if (from && to && from.path !== to.path)
    lines.push(`rename from ${quotePath(old)}`, `rename to ${quotePath(path)}`);
  if (from?.oid !== to?.oid) lines.push(indexLine(from, to));
  return `${lines.join("\n")}\n`;
}

function indexLine(from: Side | null, to: Side | null): string {
  const short = (side: Side | null) => (side?.oid ?? "0".repeat(SHORT)).slice(0, SHORT);
  const mode = from && to && from.mode === to.mode ? ` ${to.mode}` : "";
  return `index ${short(from)}..${short(to)}${mode}`;
}

function bodyOf(from: Side | null, to: Side | null, contextLines: number): Buffer {
  if (from?.oid === to?.oid) return Buffer.alloc(0);
  const [a, b] = [from && `a/${from.path}`, to && `b/${to.path}`];
  if ([from, to].some((side) => side && looksBinary(side.bytes))) {
    const names = [a, b].map((name) => (name ? quotePath(name) : "/dev/null"));
    return Buffer.from(`Binary files ${names.join(" and ")} differ\n`);
  }
  const hunks = hunksOf(from, to, contextLines);
  if (hunks.length === 0) return hunks;
  const markers = `--- ${a ? markerPath(a) : "/dev/null"}\n+++ ${b ? markerPath(b) : "/dev/null"}\n`;
  return Buffer.concat([Buffer.from(markers), hunks]);
}

function hunksOf(from: Side | null, to: Side | null, contextLines: number): Buffer {
  if ((from ?? to)?.mode === SUBMODULE) return submoduleHunk({ from: from?.oid, to: to?.oid });
  if (from && to) return lineHunks(from.bytes, to.bytes, contextLines);
  return from ? wholeFileHunk(from.bytes, "-") : to ? wholeFileHunk(to.bytes, "+") : Buffer.alloc(0);
}
