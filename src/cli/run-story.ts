import { isLoopEntry } from "../agent/trajectory.ts";
import type { RecordedEntry } from "../queue/runs.ts";
import { duration, plural } from "../reporters/outcome.ts";
import { createStyle, plainLine, type Style } from "../reporters/terminal-style.ts";
import { clip, wrap } from "../reporters/terminal-wrap.ts";
import type { WholeRun } from "./run-sources.ts";
import { clock, loopLines, STORY_INDENT, type Timed } from "./run-story-loops.ts";
import { digestLines, paidLines } from "./run-story-paid.ts";
import { titlesIn, toldBy } from "./run-story-result.ts";

type Of<Kind extends RecordedEntry["entry"]["kind"]> = Extract<RecordedEntry["entry"], { kind: Kind }>;

/** What one run did, from the first to the last, for people at a terminal. */
export function renderStory(run: WholeRun, options: { colour: boolean; width: number }): string {
  const style = createStyle(options.colour, options.width);
  const loops = Map.groupBy(loopEntries(run.entries), ({ entry }) => entry.loop);
  const entries = run.entries.map(({ entry }) => entry);
  const { asked, results } = toldBy(entries, style);
  const titles = titlesIn(entries);
  const sections = [
    [...headerLines(run, style), ...digestLines(entries, style)],
    section("Asked", asked, style),
    ...[...loops].map(([loop, steps]) => loopLines(nameOf(loop, titles), steps, startOf(run), style)),
    noteLines(run, style),
    ...results.map((lines) => section("Result", lines, style)),
    writtenLines(run, style),
    paidLines(entries, style),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

const section = (title: string, lines: string[], style: Style) =>
  lines.length === 0 ? [] : [style.bold(title), ...lines];

/** A second look is named after its finding. */
function nameOf(loop: string, titles: ReadonlyMap<string, string>): string {
  const title = titles.get(loop.slice(loop.indexOf(":") + 1));
  return title === undefined ? loop : `${loop} ${title}`;
}

const startOf = ({ header }: WholeRun) => Date.parse(header.began_at);

const loopEntries = (entries: readonly RecordedEntry[]) =>
  entries.flatMap(({ at, entry }) => (isLoopEntry(entry) ? [{ at, entry }] : []));

function ofKind<Kind extends RecordedEntry["entry"]["kind"]>(run: WholeRun, kind: Kind): Timed<Of<Kind>>[] {
  return run.entries.flatMap(({ at, entry }) =>
    entry.kind === kind ? [{ at, entry: entry as Of<Kind> }] : [],
  );
}

function headerLines(run: WholeRun, style: Style): string[] {
  const { row } = run;
  const of = row.pull === null ? `${row.range ?? ""} in ${row.repository}` : `${row.repository}#${row.pull}`;
  const took = row.ended_at === null ? [] : [duration(Date.parse(row.ended_at) - startOf(run))];
  const attempts = new Set(
    run.entries.filter(({ entry }) => entry.kind !== "ended").map(({ claim }) => claim),
  ).size;
  const shas = ofKind(run, "run").at(-1)?.entry.shas;
  const facts = [
    `${row.began_at.slice(0, 19).replace("T", " ")} UTC`,
    ...took,
    ...(attempts > 1 ? [plural(attempts, "attempt")] : []),
    ...(shas ? [`${shas.mergeBase.slice(0, 7)}..${shas.head.slice(0, 7)}`] : []),
    ...(row.requested_by === null ? [] : [`asked for by ${row.requested_by}`]),
    `Hunkwise ${run.header.version}`,
  ];
  const end = `${row.state}${row.reason ? `: ${row.reason}` : ""}`;
  return [
    style.bold(clip(plainLine(`${row.id} · ${row.task} of ${of}`), style.width)),
    ...wrap(plainLine(facts.join(" · ")), style.width).map(style.dim),
    ...wrap(plainLine(end), style.width).map(row.state === "failed" ? style.alarm : String),
  ];
}

function noteLines(run: WholeRun, style: Style): string[] {
  const notes = ofKind(run, "note");
  if (notes.length === 0) return [];
  const lines = notes.flatMap(({ at, entry: { page, content } }) => [
    `${clock(at - startOf(run)).padStart(7)}  ${clip(plainLine(page), style.width - 9)}`,
    ...wrap(plainLine(content), style.width - STORY_INDENT.length).map((line) => STORY_INDENT + line),
  ]);
  return [style.bold("Notes"), ...lines];
}

function writtenLines(run: WholeRun, style: Style): string[] {
  const written = ofKind(run, "wrote");
  if (written.length === 0) return [];
  const lines = written.map(({ at, entry: { request, id, url } }) => {
    const what = request.replace(/\/repos\/[^/]+\/[^/]+/, "");
    const where = url ?? (id === null ? "" : `id ${id}`);
    const text = `${clock(at - startOf(run)).padStart(7)}  ${what}  ${where}`;
    // Addresses are there to be opened: they are cut only where nobody would open them.
    return clip(plainLine(text.trimEnd()), Math.max(style.width, LONGEST_ADDRESS));
  });
  return [style.bold("Written to GitHub"), ...lines];
}

const LONGEST_ADDRESS = 160;
