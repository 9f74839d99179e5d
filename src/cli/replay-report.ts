import { countBySeverity, plural } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, wrap } from "../reporters/terminal-wrap.ts";
import type { Difference, Replay } from "./replay-differences.ts";

/** What a replay came to, for people at a terminal. */
export function renderReplay(replay: Replay, options: { colour: boolean; width: number }): string {
  const style = createStyle(options.colour, options.width);
  const { run, played, differences } = replay;
  const place = run.pull === null ? (run.range ?? "") : `${run.repository}#${run.pull}`;
  const facts = [plural(played.loops, "loop"), plural(played.turns, "turn"), plural(played.calls, "call")];
  const lines = [
    style.bold(plainLine(`Run ${run.id} · ${place}`)),
    ...wrap(`Played back ${facts.join(", ")}; no model was asked.`, style.width).map(style.dim),
    "",
    ...verdict(replay, style),
    ...differences.flatMap((one) => ["", ...differenceLines(one, style)]),
  ];
  return `${lines.join("\n")}\n`;
}

function verdict({ recorded, today, differences }: Replay, style: Style): string[] {
  const found = countBySeverity(today.findings.map(({ finding }) => finding)) || "none";
  const count = plural(differences.length, "difference");
  if (recorded === null)
    return wrap(
      `The record ends before a result. Played to its end today: findings ${found}; ${count}.`,
      style.width,
    );
  if (differences.length === 0) return wrap(`The same findings as on record: ${found}.`, style.width);
  const isSame = !differences.some(({ kind }) => kind === "finding");
  const words = isSame ? `The same findings as on record (${found}), but ` : "";
  return wrap(`${words}${count}${isSame ? " on the way" : ""}:`, style.width).map(style.alarm);
}

function differenceLines(difference: Difference, style: Style): string[] {
  const head = (text: string) => wrap(`- ${plainLine(text)}`, style.width);
  switch (difference.kind) {
    case "task":
      return [...head(`${difference.loop}: the model is told something else`), ...sides(difference, style)];
    case "answer": {
      const { loop, turn, tool } = difference;
      const call = clip(plainLine(`${tool} ${difference.arguments}`), style.width * 2);
      return [...head(`${loop}, turn ${turn}: another answer of ${call}`), ...sides(difference, style)];
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
    case "review":
      return [...head(`${difference.field.replaceAll("_", " ")} of the review`), ...sides(difference, style)];
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

function sides({ recorded, today }: { recorded: string; today: string }, style: Style): string[] {
  const side = (name: string, text: string) => clip(`    ${name}  ${plainLine(text)}`.trimEnd(), style.width);
  return [style.removed(side("then ", recorded)), style.added(side("today", today))];
}
