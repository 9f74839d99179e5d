import type { LoopEntry } from "../agent/trajectory.ts";
import type { ToolCall } from "../llm/model.ts";
import { dollars, plural } from "../reporters/outcome.ts";
import { plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, columns } from "../reporters/terminal-wrap.ts";

/** Something on record, with when it was written: milliseconds since 1970. */
export type Timed<Entry> = { at: number; entry: Entry };

/**
 * What one loop asked for and was answered, turn by turn. `start` is when the run began, in milliseconds since 1970.
 *
 * @param name of the loop, with what it is about
 */
export function loopLines(
  name: string,
  entries: readonly Timed<LoopEntry>[],
  start: number,
  style: Style,
): string[] {
  const answers = answersIn(entries);
  const lines = entries.flatMap(({ at, entry }) => {
    switch (entry.kind) {
      case "turn":
        return turnLines(entry, clock(at - start), answers, style);
      case "messages":
        return saidLines(entry, clock(at - start), style);
      case "stopped":
        return endLines(entry, clock(at - start), style);
      default:
        return [];
    }
  });
  const turns = entries.flatMap(({ entry }) => (entry.kind === "turn" ? [entry.model.usage] : []));
  const tokens = turns.reduce((sum, usage) => sum + usage.promptTokens + usage.completionTokens, 0);
  const cost = turns.reduce<number | null>(
    (sum, { costUsd }) => (sum === null || costUsd === null ? null : sum + costUsd),
    0,
  );
  const paid = [
    plural(turns.length, "turn"),
    plural(tokens, "token"),
    ...(cost === null ? [] : [dollars(cost)]),
  ];
  const took = ` · ${paid.join(", ")}`;
  return [`${style.bold(clip(plainLine(name), style.width - columns(took)))}${style.dim(took)}`, ...lines];
}

/** The first line of each answer, by turn and call: ids come again in other turns. */
function answersIn(entries: readonly Timed<LoopEntry>[]): ReadonlyMap<string, string> {
  return new Map(
    entries.flatMap(({ entry }) =>
      entry.kind === "tool_results"
        ? entry.results.map(
            ({ callId, text }) => [`${entry.turn} ${callId}`, text.split("\n", 1)[0] ?? ""] as const,
          )
        : [],
    ),
  );
}

/** Left of what is said and called: the time and the number of the turn. */
export const STORY_INDENT = " ".repeat(13);

function turnLines(
  { turn, model }: Extract<LoopEntry, { kind: "turn" }>,
  time: string,
  answers: ReadonlyMap<string, string>,
  style: Style,
): string[] {
  const lead = `${time.padStart(7)}${String(turn).padStart(4)}  `;
  const words = model.content.trim();
  const said = words === "" ? [] : [style.dim(clip(plainLine(words), style.width - STORY_INDENT.length))];
  const calls = model.toolCalls.map((call) => callLine(call, answers.get(`${turn} ${call.id}`), style));
  const lines = [...said, ...calls];
  return (lines.length > 0 ? lines : [style.dim("nothing")]).map(
    (line, index) => (index === 0 ? lead : STORY_INDENT) + line,
  );
}

/** Characters of an answer that are left at least, with the arrow: what was asked tells more. */
const LEAST_ANSWER = 12;

function callLine(call: ToolCall, answer: string | undefined, style: Style): string {
  const room = style.width - STORY_INDENT.length;
  const asked = plainLine(`${call.name} ${gist(call.arguments)}`.trimEnd());
  if (!answer) return clip(asked, room);
  const left = clip(asked, room - Math.min(LEAST_ANSWER, answer.length + 3));
  return `${left} ${style.dim(`→ ${clip(plainLine(answer), room - columns(left) - 3)}`)}`;
}

const telling = [
  "severity",
  "verdict",
  "state",
  "file_path",
  "path",
  "pattern",
  "query",
  "directory",
  "page_name",
];
const saying = ["title", "reason", "summary", "content", "name"];

const places = new Set(["file_path", "path", "directory"]);

/** Columns of a path: what tells one from the other is at its end. */
const LONGEST_PATH = 44;

function ending(path: string): string {
  const [...characters] = path;
  let used = 1;
  const from = characters.findLastIndex((one) => {
    used += columns(one);
    return used > LONGEST_PATH;
  });
  return from < 0 ? path : `…${characters.slice(from + 1).join("")}`;
}

/** What a call is about, without the names of its arguments. */
function gist(text: string): string {
  try {
    const given: Record<string, unknown> = JSON.parse(text);
    const { line } = given;
    const words = [...telling, ...saying].flatMap((key) => {
      const value = given[key];
      if (typeof value !== "string" || value === "") return [];
      if (!places.has(key)) return [value];
      return [ending(key === "path" && typeof line === "number" ? `${value}:${line}` : value)];
    });
    return words.length > 0 ? words.join(" ") : text === "{}" ? "" : text;
  } catch {
    return text;
  }
}

/** The task itself is long, and told by what follows. */
function saidLines(
  { messages }: Extract<LoopEntry, { kind: "messages" }>,
  time: string,
  style: Style,
): string[] {
  if (messages.some(({ role }) => role === "system")) return [];
  const lead = `${time.padStart(7)}      `;
  return messages.map(
    ({ content }) => lead + style.dim(clip(plainLine(`told: ${content}`), style.width - STORY_INDENT.length)),
  );
}

function endLines(
  { reason, fault }: Extract<LoopEntry, { kind: "stopped" }>,
  time: string,
  style: Style,
): string[] {
  if (reason === "finished") return [];
  const text = `${time.padStart(7)}      ended: ${reason.replaceAll("_", " ")}${fault ? `, ${fault.message}` : ""}`;
  return [style.alarm(clip(plainLine(text), style.width))];
}

/** "0:07", "12:30", from the begin of the run. */
export function clock(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
