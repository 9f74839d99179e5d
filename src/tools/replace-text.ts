import { unescapeInvisible } from "../text/escape-invisible.ts";
import { type EditableText, encode, plainText } from "./file-bytes.ts";
import { ToolError } from "./tool.ts";

/** More than a workspace takes, which says itself what is too much for it: 16 MB. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface TextReplacement {
  old: string;
  now: string;
  /** Every occurrence, not the first alone. */
  all: boolean;
}

export interface ReplacedText {
  /** The file's bytes. */
  raw: string;
  replaced: number;
  /** Other occurrences that stand there still. */
  left: number;
}

/**
 * A file with one text in place of another, found whatever its lines end with. Line ends stay as they were: of a line that comes
 * anew it is that of the one before. Throws a ToolError where the file would become too large. Undefined where the text is in the file in none of its spellings.
 */
export function replaceText(
  file: EditableText,
  { old, now, all }: TextReplacement,
): ReplacedText | undefined {
  const plain = file.raw.replaceAll("\r\n", "\n");
  for (const { from, text, encoding } of spellings(file, old, now)) {
    const parts = plain.split(from);
    if (parts.length === 1) continue;
    const occurrences = parts.length - 1;
    const replaced = all ? occurrences : 1;
    const to = encode(text, encoding);
    requireRoom(file.raw.length + replaced * (to.length - from.length));
    const raw = rejoin(file, parts, { from, to, replaced });
    return { raw, replaced, left: occurrences - replaced };
  }
  return undefined;
}

/** A long text in place of a short one that stands there a million times takes more than any memory. */
function requireRoom(bytes: number): void {
  if (bytes > MAX_BYTES) throw new ToolError(`the file would have ${bytes} bytes, more than ${MAX_BYTES}`);
}

/** What is looked for, in a file's bytes, and the text that is put there. Lines of both end with line feeds. */
interface Spelling {
  from: string;
  text: string;
  encoding: EditableText["encoding"];
}

/** The ways in which a text may be meant: as it was given, or as a rendering showed it; and each in what the file is encoded in. */
function spellings(file: EditableText, old: string, now: string): Spelling[] {
  const asGiven = { from: plainText(old, file), text: plainText(now, file) };
  const asShown = {
    from: plainText(unescapeInvisible(old), file),
    text: plainText(unescapeInvisible(now), file),
  };
  return [asGiven, asShown].flatMap(({ from, text }): Spelling[] => {
    if (from === "") return [];
    const raw = encode(from, "utf8");
    if (raw === from) return [{ from, text, encoding: file.encoding }];
    // Lines that are UTF-8 are shown as such in a file that is not.
    const asUtf8: Spelling = { from: raw, text, encoding: "utf8" };
    return file.encoding === "utf8" ? [asUtf8] : [asUtf8, { from, text, encoding: "latin1" }];
  });
}

/**
 * A file of the parts between the occurrences of a text.
 *
 * @param replaced how many of the occurrences become `to`
 */
function rejoin(
  file: EditableText,
  parts: readonly string[],
  { from, to, replaced }: { from: string; to: string; replaced: number },
): string {
  const ends = file.raw.match(/\r?\n/g) ?? [];
  let line = 0;
  const kept = (text: string) => text.replaceAll("\n", () => ends[line++] ?? file.lineEnd);
  const put = () => {
    const own = ends.slice(line, line + from.split("\n").length - 1);
    const last = own.at(-1) ?? ends[line] ?? file.lineEnd;
    line += own.length;
    let at = 0;
    return to.replaceAll("\n", () => own[at++] ?? last);
  };
  return parts.map((part, at) => (at === 0 ? "" : at <= replaced ? put() : kept(from)) + kept(part)).join("");
}
