import { isUtf8 } from "node:buffer";
import { looksBinary } from "../text/decode.ts";
import { ToolError } from "./tool.ts";

/** In UTF-8, a character for each byte. */
const BYTE_ORDER_MARK = "\xef\xbb\xbf";

/**
 * A text file for changing. Its bytes stand in `raw`, one character each, so that what is not changed stays as it is in any
 * encoding.
 */
export interface EditableText {
  /** Without the byte order mark. */
  raw: string;
  /** The byte order mark with which the file begins, if it does. */
  mark: "" | typeof BYTE_ORDER_MARK;
  encoding: "utf8" | "latin1";
  /** What ends its lines; of a file with both, what most of them end with. */
  lineEnd: "\n" | "\r\n";
}

/** Throws a ToolError for a binary file. */
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

/** The bytes of a file whose text is `raw` now. */
export const toBytes = ({ mark }: EditableText, raw: string): Buffer => Buffer.from(mark + raw, "latin1");

/** A text as the bytes of a file's encoding. Throws a ToolError for what Latin-1 does not have. */
export function encode(text: string, encoding: EditableText["encoding"]): string {
  if (encoding === "utf8") return Buffer.from(text, "utf8").toString("latin1");
  const beyond = /[^\0-\xff]/u.exec(text)?.[0];
  if (beyond === undefined) return text;
  throw new ToolError(`the file is not UTF-8 but Latin-1, which has no '${beyond}'; write it without`);
}

/**
 * A text as it is meant: its lines end with line feeds, without the sign by which a carriage return is shown at the end of a line;
 * and the file's byte order mark is none of it.
 */
export function plainText(text: string, { mark }: EditableText): string {
  const meant = mark === "" ? text : text.replace(/^(?:\ufeff|\\u\{FEFF\})/, "");
  return meant.replaceAll(/\u240d?\r?\n/g, "\n").replace(/\u240d$/, "");
}

/** A text as it is meant, with the line ends of a file. */
export function withLineEnds(text: string, file: EditableText): string {
  const plain = plainText(text, file);
  return file.lineEnd === "\n" ? plain : plain.replaceAll("\n", "\r\n");
}

/** Throws a ToolError for text that cannot be the text of a file as it is. */
export function requireText(text: string, name: string): void {
  if (text.includes("\0")) throw new ToolError(`${name} holds a NUL character, which no text file has`);
  if (!text.isWellFormed()) throw new ToolError(`${name} holds half of a character (a lone surrogate)`);
}
