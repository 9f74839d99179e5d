import { z } from "zod";
import { Category, ruleNameOf, Severity } from "../core/finding.ts";
import type { PostedFinding } from "../core/ledger/entry.ts";
import { byteLength, cutCharacters } from "../core/text/cut.ts";
import { Coverage, type ReviewResult, TotalUsage } from "../tasks/shapes/review-result.ts";
import { markOf } from "./finding-words.ts";
import { publishedSchema } from "./json.ts";

/** Increases when a field is renamed or removed, which needs a major version. */
const VERSION = 1;

const time = z.string().describe("ISO 8601, UTC.");

/** The pull request, and the job that the event is about. */
const About = z.strictObject({
  job: z.string(),
  repository: z.strictObject({ id: z.int(), installation: z.int(), owner: z.string(), name: z.string() }),
  pull: z.strictObject({ number: z.int(), url: z.string() }),
  head_sha: z.string().nullable().describe("Null if the job ended before it knew the head."),
});

const Origin = z.strictObject({
  origin: z
    .enum(["event", "comment", "page", "rerun"])
    .describe(
      "A push or another event, a command or a reply, a form of the server's pages, or a check run that a person asked for again.",
    ),
  requested_by: z.string().nullable().describe("Login of the person who asked; null for an event."),
});

const EventFinding = z.strictObject({
  id: z.string().describe("The same for the same problem in the same code."),
  severity: Severity,
  category: Category.nullable().describe("Null in comments of older versions, like the source."),
  title: z.string(),
  path: z.string(),
  line: z.int().nullable().describe("Null for a comment on a file, and if its code has changed since."),
  url: z.string().nullable().describe("Its comment; null if it has none."),
  rule: z.string().nullable().describe("The named rule that it breaks, or the analyzer and its rule."),
  source: z.string().nullable().describe('"model", or the analyzer and its rule.'),
  mark: z
    .enum(["regression", "reproduced"])
    .optional()
    .describe(
      "What a test shows: `regression` (it passes before the change and fails with it) or `reproduced` (it fails, and passes with the suggestion). Omitted if none shows the finding, and in events about a single finding.",
    ),
  state: z
    .enum(["open", "fixed", "dismissed", "outdated"])
    .describe(
      "When the event was made. `outdated`: its code has changed since, and no review has looked yet.",
    ),
});
type EventFinding = z.infer<typeof EventFinding>;

const Ended = z.strictObject({
  ...About.shape,
  ...Origin.shape,
  reason: z.string().describe("One line for people."),
});

const Settled = z.strictObject({ ...About.shape, finding: EventFinding });

const event = <Type extends string, Data extends z.ZodType>(type: Type, data: Data) =>
  z.strictObject({
    version: z.literal(VERSION),
    type: z.literal(type),
    timestamp: time,
    data,
  });

/**
 * The body of the outgoing webhook. The shape is a contract: minor versions may add fields and types; only a major version changes others.
 */
export const EventJson = z.discriminatedUnion("type", [
  event(
    "review.completed",
    z.strictObject({
      ...About.shape,
      ...Origin.shape,
      base_sha: z.string(),
      mode: z.enum(["new", "full"]).describe("Changes that no review has read yet, or everything."),
      outcome: z
        .enum(["complete", "offline", "partial"])
        .describe("How far it got. `offline`: only analyzers looked. `partial`: something was not done."),
      conclusion: z
        .string()
        .nullable()
        .describe("Of the check run; null if there is none, or it is not known."),
      coverage: Coverage.pick({ hunks_total: true, hunks_served: true, files_total: true }),
      findings: z.array(EventFinding).describe("As this review has them, the worst first."),
      findings_left_out: z.int().describe("How many more there are that the event has no room for."),
      usage: TotalUsage,
      model: z.string().nullable().describe("Names of the models that answered; null if no model was used."),
      times: z.strictObject({ stored_at: time, started_at: time, ended_at: time }),
    }),
  ),
  event("review.skipped", Ended),
  event("review.failed", Ended),
  event("finding.fixed", Settled),
  event(
    "finding.dismissed",
    z.strictObject({
      ...Settled.shape,
      by: z.string().nullable().describe("Login; null if GitHub does not say."),
      how: z.enum(["reaction", "reply", "resolved", "command", "page", "deleted"]),
      at: time.nullable(),
    }),
  ),
]);
export type EventJson = z.infer<typeof EventJson>;
export type EventOf<Type extends EventJson["type"]> = Extract<EventJson, { type: Type }>;
export type EventAbout = z.infer<typeof About>;
export type EventOrigin = z.infer<typeof Origin>;

/** The JSON Schema of the events with this `version`. */
export const eventSchema = () =>
  publishedSchema(EventJson, {
    title: "Hunkwise event",
    description: `The body of the outgoing webhook, version ${VERSION}.`,
  });

/** An event at a time, in milliseconds since 1970. */
export function eventAt<Type extends EventJson["type"]>(type: Type, at: number, data: EventOf<Type>["data"]) {
  return { version: VERSION, type, timestamp: isoTime(at), data } as EventOf<Type>;
}

export const isoTime = (at: number): string => new Date(at).toISOString();

/** Titles are one line; what other tools say may be longer. */
const TITLE_CHARACTERS = 300;
/** Most bytes of the list of findings as JSON: with the rest of the event, below what common receivers take (100 kB). */
const FINDINGS_BYTES = 64_000;

/** The findings of a review, as far as there is room. `entryOf` is the comment that reports a finding. */
export function findingsOf(
  { findings }: Pick<ReviewResult, "findings">,
  entryOf: (id: string) => PostedFinding | undefined,
): { findings: EventFinding[]; findings_left_out: number } {
  const all = findings.map(({ finding }) => {
    const { url = "", state = "open" } = entryOf(finding.id) ?? {};
    const mark = markOf(finding);
    return { ...eventFinding({ ...finding, url, state }), ...(mark && { mark: mark.kind }) };
  });
  const kept: EventFinding[] = [];
  let left = FINDINGS_BYTES;
  for (const one of all) {
    left -= byteLength(JSON.stringify(one)) + 1;
    if (left < 0) break;
    kept.push(one);
  }
  return { findings: kept, findings_left_out: all.length - kept.length };
}

export function eventFinding(
  finding: Pick<PostedFinding, Exclude<keyof EventFinding, "mark">>,
): EventFinding {
  const { id, severity, category, title, path, line, url, source, state } = finding;
  return {
    id,
    severity,
    category,
    title: cutCharacters(title, TITLE_CHARACTERS),
    path,
    line,
    url: url || null,
    rule: ruleNameOf(finding),
    source,
    state,
  };
}
