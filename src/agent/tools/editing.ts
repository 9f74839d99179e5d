import { isUtf8 } from "node:buffer";
import { decodeText, looksBinary } from "../../core/text/decode.ts";
import { takeLines, totalLines } from "../../repo/show.ts";
import { type EditPort, type ToolContext, ToolError } from "./tool.ts";

export function editsOf(context: ToolContext): EditPort {
  if (context.edit) return context.edit;
  throw new ToolError("files can be changed only by a fix");
}

const BYTE_ORDER_MARK = "\xef\xbb\xbf";

/** A text file to edit. `raw` contains its bytes, one character each, so that unchanged parts stay the same in any encoding. */
export interface EditableText {
  raw: string;
  /** The byte order mark at the beginning of the file, if any. */
  mark: "" | typeof BYTE_ORDER_MARK;
  encoding: "utf8" | "latin1";
  /** Its line end; if a file has both, the more frequent one. */
  lineEnd: "\n" | "\r\n";
}

export function toEditable(path: string, bytes: Buffer): EditableText {
  if (looksBinary(bytes))
    throw new ToolError(`'${path}' is a binary file; it can be copied, moved or deleted`);
  const whole = bytes.toString("latin1");
  const mark = whole.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : "";
  const raw = whole.slice(mark.length);
  const all = raw.split("\n").length - 1;
  const windows = raw.split("\r\n").length - 1;
  return {
    raw,
    mark,
    encoding: isUtf8(bytes) ? "utf8" : "latin1",
    lineEnd: windows * 2 > all ? "\r\n" : "\n",
  };
}

export const toBytes = ({ mark }: EditableText, raw: string): Buffer => Buffer.from(mark + raw, "latin1");

/** A text as bytes in a file's encoding. Throws a ToolError for characters that Latin-1 lacks. */
export function encode(text: string, encoding: EditableText["encoding"]): string {
  if (encoding === "utf8") return Buffer.from(text, "utf8").toString("latin1");
  const beyond = /[^\0-\xff]/u.exec(text)?.[0];
  if (beyond === undefined) return text;
  throw new ToolError(`the file is not UTF-8 but Latin-1, which has no '${beyond}'; write it without`);
}

/** A text as the model means it: with line feeds, without the sign for a carriage return and without the file's byte order mark. */
export function plainText(text: string, { mark }: EditableText): string {
  const meant = mark === "" ? text : text.replace(/^(?:\ufeff|\\u\{FEFF\})/, "");
  return meant.replaceAll(/\u240d?\r?\n/g, "\n").replace(/\u240d$/, "");
}

/** A text as the model means it, with the line ends of a file. */
export function withLineEnds(text: string, file: EditableText): string {
  const plain = plainText(text, file);
  return file.lineEnd === "\n" ? plain : plain.replaceAll("\n", "\r\n");
}

/** Throws a ToolError if a file cannot contain the text unchanged. */
export function requireText(text: string, name: string): void {
  if (text.includes("\0"))
    throw new ToolError(`${name} holds a NUL character, which a text file cannot have`);
  if (!text.isWellFormed()) throw new ToolError(`${name} holds half of a character (a lone surrogate)`);
}

const MARGIN = 3;
const MAX_BYTES = 4_096;

/** The changed lines of a file with some lines around them, numbered as in `read_file_part`. */
export function changedLines(before: string, after: string): string {
  const text = decodeText(Buffer.from(after, "latin1")).text;
  const total = totalLines(text);
  if (total === 0) return "";
  const start = Math.max(lineAt(after, commonStart(before, after)) - MARGIN, 1);
  const tail = commonEnd(before, after);
  const end = Math.min(lineAt(after, after.length - tail) + MARGIN, total);
  return takeLines(text, { start: Math.min(start, total), end: Math.max(end, start) }, MAX_BYTES).join("\n");
}

function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function commonStart(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

function commonEnd(one: string, other: string): number {
  const length = Math.min(one.length, other.length) - commonStart(one, other);
  let taken = 0;
  while (
    taken < length &&
    one.charCodeAt(one.length - 1 - taken) === other.charCodeAt(other.length - 1 - taken)
  )
    taken += 1;
  return taken;
}
