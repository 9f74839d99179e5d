import { countBySeverity, plural } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, wrap } from "../reporters/terminal-wrap.ts";
import { ReviewResult } from "../review/review-result.ts";
import type { Difference, Replay, WorkReplay } from "./replay-differences.ts";
import { fromWhereTheyPart } from "./replay-text.ts";

/** Differences that people are shown; a program gets all of them. */
const MOST_SHOWN = 40;

/** What a replay came to, for people at a terminal. */
export function renderReplay(replay: Replay, options: { colour: boolean; width: number }): string {
  const style = createStyle(options.colour, options.width);
  const { run, version, works } = replay;
  const place = run.pull === null ? (run.range ?? "") : `${run.repository}#${run.pull}`;
  const others =
    run.version === version
      ? []
      : wrap(plainLine(`Recorded by version ${run.version}, played by ${version}.`), style.width);
  const lines = [
    style.bold(plainLine(`Run ${run.id} · ${place}`)),
    ...others.map(style.dim),
    ...works.flatMap((work, index) => [...(index > 0 ? [""] : []), ...workLines(work, style)]),
  ];
  return `${lines.join("\n")}\n`;
}

function workLines(work: WorkReplay, style: Style): string[] {
  const { what, played, differences } = work;
  const facts = [plural(played.loops, "loop"), plural(played.turns, "turn"), plural(played.calls, "call")];
  const left = differences.length - MOST_SHOWN;
  return [
    ...wrap(`Played the ${what} back: ${facts.join(", ")}; no model was asked.`, style.width).map(style.dim),
    "",
    ...verdict(work, style),
    ...differences.slice(0, MOST_SHOWN).flatMap((one) => ["", ...differenceLines(one, style)]),
    ...(left > 0 ? ["", style.dim(`and ${plural(left, "difference")} more; --format json has all`)] : []),
  ];
}

const ends = { review: "findings", answer: "answer", fix: "repair" };

function verdict({ what, recorded, today, differences }: WorkReplay, style: Style): string[] {
  const came = cameTo(today);
  const count = plural(differences.length, "difference");
  const words = `The same ${ends[what]} as on record`;
  if (recorded === null)
    return wrap(
      `The record ends before a result. Played to its end today: ${ends[what]}${came && ` ${came}`}; ${count}.`,
      style.width,
    );
  if (differences.length === 0) return wrap(`${words}${came && `: ${came}`}.`, style.width);
  const isSame = !differences.some(({ kind }) => kind === (what === "review" ? "finding" : "result"));
  const begin = isSame ? `${words}${came && ` (${came})`}, but ` : "";
  return wrap(`${begin}${count}${isSame ? " on the way" : ""}:`, style.width).map(style.alarm);
}

/** The findings of a review, by their number; of other work nothing. */
function cameTo(today: WorkReplay["today"]): string {
  const { data } = ReviewResult.safeParse(today);
  return data ? countBySeverity(data.findings.map(({ finding }) => finding)) || "none" : "";
}

function differenceLines(difference: Difference, style: Style): string[] {
  const head = (text: string) => wrap(`- ${plainLine(text)}`, style.width);
  switch (difference.kind) {
    case "task": {
      const { loop, line, lines } = difference;
      const where = `from line ${line} on, ${plural(lines.recorded, "line")} for ${lines.today}`;
      return [...head(`${loop}: the model is told something else, ${where}`), ...sides(difference, style)];
    }
    case "answer": {
      const { loop, turn, tool } = difference;
      const call = clip(plainLine(`${tool} ${difference.arguments}`), style.width * 2);
      return [...head(`${loop}, turn ${turn}: another answer of ${call}`), ...sides(difference, style)];
    }
    case "turn": {
      const { loop, turn, change } = difference;
      const words = change === "missing" ? "is not on record" : "is on record, and not reached today";
      return head(`${loop}: turn ${turn} ${words}`);
    }
    case "loop": {
      const [then, now] = [difference.recorded ?? "not there", difference.today ?? "not there"];
      return head(`${difference.loop}: ended with ${then} on record, and with ${now} today`);
    }
    case "finding":
      return head(findingWords(difference));
    case "dropped":
      return head(
        `left out ${difference.change === "new" ? "today" : "on record"} alone: ${titled(difference)}`,
      );
    case "result":
      return [
        ...head(`another result: ${difference.field.replaceAll("_", " ")}`),
        ...sides(difference, style),
      ];
  }
}

function findingWords(difference: Extract<Difference, { kind: "finding" }>): string {
  switch (difference.change) {
    case "missing":
      return `not found today: ${titled(difference)}`;
    case "new":
      return `found today alone: ${titled(difference)}`;
    case "changed":
      return `${titled(difference)}: another ${difference.fields.join(", ")}`;
  }
}

const titled = ({ path, line, title }: { path: string; line: number; title: string }) =>
  `${path}:${line} ${title}`;

function sides({ recorded, today }: { recorded: string | null; today: string }, style: Style): string[] {
  const side = (name: string, text: string) => clip(`    ${name}  ${plainLine(text)}`.trimEnd(), style.width);
  const [then, now] = fromWhereTheyPart(recorded ?? "(not on record)", today, style.width / 2);
  return [style.removed(side("then ", then)), style.added(side("today", now))];
}
