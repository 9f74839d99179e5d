import { isUtf8 } from "node:buffer";
import { looksBinary } from "../text/decode.ts";
import { ToolError } from "./tool.ts";

/**
 * A text file for changing. Its bytes stand in `raw`, one character each, so that what is not changed stays as it is in any
 * encoding.
 */
export interface EditableText {
  raw: string;
  encoding: "utf8" | "latin1";
  /** What ends its lines; of a file with both, what most of them end with. */
  lineEnd: "\n" | "\r\n";
}

/** Throws a ToolError for a binary file. */
export function toEditable(path: string, bytes: Buffer): EditableText {
  if (looksBinary(bytes))
    throw new ToolError(`'${path}' is a binary file; it can be copied, moved or deleted`);
  const raw = bytes.toString("latin1");
  const all = raw.split("\n").length - 1;
  const windows = raw.split("\r\n").length - 1;
  return {
    raw,
    encoding: isUtf8(bytes) ? "utf8" : "latin1",
    lineEnd: windows * 2 > all ? "\r\n" : "\n",
  };
}

export const toBytes = (raw: string): Buffer => Buffer.from(raw, "latin1");

/** A text as the bytes of a file's encoding. Throws a ToolError for what Latin-1 does not have. */
export function encode(text: string, encoding: EditableText["encoding"]): string {
  if (encoding === "utf8") return Buffer.from(text, "utf8").toString("latin1");
  const beyond = /[^\0-\xff]/u.exec(text)?.[0];
  if (beyond === undefined) return text;
  throw new ToolError(`the file is not UTF-8 but Latin-1, which has no '${beyond}'; write it without`);
}

/** A text with the line ends of a file. The sign by which a carriage return is shown at the end of a line is none of its text. */
export function withLineEnds(text: string, lineEnd: EditableText["lineEnd"]): string {
  const plain = text.replaceAll(/\u240d?\r?\n/g, "\n").replace(/\u240d$/, "");
  return lineEnd === "\n" ? plain : plain.replaceAll("\n", "\r\n");
}

/** Throws a ToolError for text that would make its file a binary one. */
export function requireText(text: string, name: string): void {
  if (text.includes("\0")) throw new ToolError(`${name} holds a NUL character, which no text file has`);
}
