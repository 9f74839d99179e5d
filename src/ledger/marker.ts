import { z } from "zod";
import { Category, Severity } from "../finding.ts";
import { LedgerState } from "./state.ts";

/**
 * GitHub is the ledger: what we posted is recognised by a hidden marker, the last line of each of our texts. Markers are
 * read only from texts that GitHub says are ours, and only from that line, so nothing quoted in a body counts.
 */
const Marker = z.discriminatedUnion("kind", [
  /** A review for one head and trigger. */
  z.strictObject({ kind: z.literal("review"), head: z.string(), trigger: z.string() }),
  /** A comment on a line or file, and the review that it came with. */
  z.strictObject({
    kind: z.literal("finding"),
    id: z.string(),
    severity: Severity,
    category: Category.nullable(),
    /** The definition that its code stands in. */
    symbol: z.string().nullable(),
    /** Hash of its code without white space. */
    code: z.string().nullable(),
    /** Other files that were named as evidence. */
    files: z.array(z.string()),
    head: z.string(),
    trigger: z.string(),
  }),
  /** The one summary comment of a pull request: which review it speaks of, and what the next one has to know. */
  z.strictObject({ kind: z.literal("summary"), head: z.string(), trigger: z.string(), state: LedgerState }),
  /** Our word in a finding's thread that it is fixed; `comment` is the one that opens the thread. */
  z.strictObject({ kind: z.literal("fixed"), comment: z.int(), head: z.string() }),
  /** Our word in a finding's thread, or to a command in the conversation, that it is dismissed, and by whom. */
  z.strictObject({ kind: z.literal("dismissed"), comment: z.int(), by: z.string() }),
  /** Our answer to a comment: nobody is answered twice for one. */
  z.strictObject({ kind: z.literal("answer"), comment: z.int() }),
]);
export type Marker = z.infer<typeof Marker>;

const markerLine = /^<!-- hunkwise:([a-z]{1,20}) v1 (\{[^<>]*\}) -->$/;

/** The marker as an HTML comment. Neither `--` nor an angle bracket can occur in its data. */
export function formatMarker({ kind, ...data }: Marker): string {
  const json = JSON.stringify(data).replace(
    /[<>-]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `<!-- hunkwise:${kind} v1 ${json} -->`;
}

/** The marker on the last line of a text of ours; undefined when there is none, or one of another version. */
export function parseMarker(text: string): Marker | undefined {
  const body = text.trimEnd();
  const [, kind, json] = markerLine.exec(body.slice(body.lastIndexOf("\n") + 1)) ?? [];
  if (kind === undefined || json === undefined) return undefined;
  try {
    return Marker.safeParse({ ...JSON.parse(json), kind }).data;
  } catch {
    return undefined;
  }
}

/** Takes the life out of anything that looks like the beginning of a marker; the rest of the text is left alone. */
export function stripMarkers(text: string): string {
  return text.replace(/<!--(?=\s*hunkwise:)/gi, "&lt;!--");
}
