import { plural } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style, wrap } from "../reporters/terminal-style.ts";
import { escapeUnseen } from "../text/escape-unseen.ts";
import { type CommandIo, defineCommand, exitCodes } from "./command.ts";
import { wantsColour, widthsOf, write } from "./output.ts";
import type { Replay, WorkReplay } from "./play-record.ts";

export const replay = defineCommand({
  positionals: [{ name: "FILE", description: "a record that hunkwise runs --export wrote", required: true }],
  options: {
    repo: {
      type: "string",
      value: "DIR",
      description: "the repository; without it the folder that was reviewed, else the current one",
    },
    json: { type: "boolean", description: "print JSON" },
  },
  notes: [
    "Repeats the recorded review, answer or fix on the same commits. The recorded turns replace the model; the tools run again. " +
      "Says whether today's findings are the recorded ones, and names those that differ. No model is asked, nothing is fetched, and " +
      "nothing is written. The commands of a fix run again, in a sandbox.",
    "",
    "The repository must hold the commits. Those of a pull request come with git fetch origin pull/NUMBER/head.",
    "",
    "Exit code: 0 same as recorded, 1 something differs, 2 usage or failure.",
  ],
  examples: [
    {
      command: "hunkwise runs 20261122-1953 --export run.jsonl && hunkwise replay run.jsonl",
      says: "repeat a local review",
    },
    { command: "hunkwise replay run.jsonl --repo ~/src/shop", says: "a server's review, on a clone" },
  ],
  async run(values, [file = ""], io) {
    const { playRecord } = await import("./play-record.ts");
    const replayed = await playRecord(file, values.repo, io);
    await write(io.stdout, await rendered(replayed, values.json, io));
    return replayed.works.every(({ same }) => same) ? exitCodes.clean : exitCodes.found;
  },
});

async function rendered(replayed: Replay, isJson: boolean, { stdout }: CommandIo): Promise<string> {
  const { redactStrings, redactText } = await import("../secrets/redact.ts");
  if (isJson)
    return `${escapeUnseen(JSON.stringify(await redactStrings(replayed, new Set(["began_at"])), null, 2))}\n`;
  return redactText(renderReplay(replayed, createStyle(wantsColour(stdout), widthsOf(stdout).width)));
}

/** What a replay found, for people at a terminal. */
export function renderReplay({ run, version, works }: Replay, style: Style): string {
  const subject = run.pull === null ? (run.range ?? "") : `${run.repository}#${run.pull}`;
  const lines = (text: string) => wrap(plainLine(text), style.width);
  const versions =
    run.version === version ? [] : lines(`Recorded by version ${run.version}, replayed by ${version}.`);
  return `${[
    style.bold(plainLine(`Run ${run.id} · ${subject}`)),
    ...versions.map(style.dim),
    ...works.flatMap((work) => workLines(work).flatMap(lines)),
  ].join("\n")}\n`;
}

const ends = { review: "findings", answer: "answer", fix: "repair" };

function workLines({ what, played, recorded, today, same, missing, added, changed, cut_off }: WorkReplay) {
  const counts = [plural(played.loops, "loop"), plural(played.turns, "turn"), plural(played.calls, "call")];
  const end = ends[what];
  const shown = (count: number) => (what === "review" ? `: ${count}` : "");
  const named = (label: string, ids: readonly string[]) =>
    ids.length === 0 ? [] : [`- ${label}: ${ids.join(", ")}`];
  return [
    `Replayed the ${what}: ${counts.join(", ")}; no model was asked.`,
    recorded === null
      ? `The record ends before a result. Today's ${end}${shown(today)}.`
      : missing.length + added.length + changed.length === 0
        ? `The same ${end} as on record${shown(today)}${same ? "." : ", but something is missing:"}`
        : `Not the same ${end} as on record${what === "review" ? `: ${recorded} recorded, ${today} today` : ""}:`,
    ...named("missing today", missing),
    ...named("new today", added),
    ...named("changed", changed),
    ...named("turns that are not on record", cut_off),
  ];
}
