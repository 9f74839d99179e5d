import { hash } from "node:crypto";
import pMap from "p-map";
import { type ParsedText, parseText } from "../../code/parse.ts";
import type { Definition } from "../../code/source.ts";
import { firstIndex } from "../../code/tree.ts";
import { type DiffLine, type Hunk, signs } from "../../diff/file-diff.ts";
import type { Workspace } from "../../git/workspace.ts";
import type { ChangedFile, DiffSource } from "../../tools/tool.ts";

/*
 * The same lines can mean something else elsewhere. So the hash of a run of changed lines covers the lines, everything around them
 * that the pull request's author can change in that file, and the file's path and mode, because CI, frameworks and builds go by
 * them:
 *
 * - In the body of a function: its whole text, the place of the run in it, what is around the function up to the top of the file
 *   without the bodies of others, and which of several equal ones it is.
 * - Outside of functions: the statements that it touches and those before and behind it, and which of several equal ones they are.
 * - In both cases: what else the change adds and removes outside of functions, before the place and behind it. A line there may
 *   decide whether the rest of the file runs, and nothing new would be left of it when it goes.
 * - In documentation, which nothing runs: the hunk with the lines around it. A changelog grows with each rebase. Under another name, agents may
 *   obey it.
 * - In any other file that no parser understands: all of the file, before and after the change.
 */

/** Files that are read at the same time. */
const CONCURRENCY = 4;

interface Reading {
  workspace: Pick<Workspace, "readBlob">;
  diffs: Pick<DiffSource, "fileDiff">;
}

/** The files with digests of changes that include the surroundings. */
export async function withSurroundings(
  files: readonly ChangedFile[],
  reading: Reading,
): Promise<ChangedFile[]> {
  return await pMap(
    files,
    async (file) => {
      if (file.changes.length === 0) return file;
      const changes = isProse(file.change.path)
        ? await inHunks(file, reading)
        : await inParsedFile(file, reading);
      return { ...file, changes: changes ?? inWholeFile(file) };
    },
    { concurrency: CONCURRENCY },
  );
}

/** Path and mode decide whether and how a file is run. The diff shows neither. */
const placeOf = ({ change: { path, newMode } }: ChangedFile) => [path, newMode];

/** As JSON, so that the parts stay separable. */
const digestOf = (...parts: unknown[]) => hash("sha256", JSON.stringify(parts), "base64url");

function inWholeFile(file: ChangedFile): string[][] {
  const { oldOid, newOid } = file.change;
  return file.changes.map((runs, hunk) =>
    runs.map((run, at) => digestOf("whole file", placeOf(file), oldOid, newOid, hunk, at, run)),
  );
}

/** By extension: `README.py` is code, and so are `.mdx` and some `.txt` files. */
const isProse = (path: string) => /\.(?:md|markdown|rst|adoc|asciidoc)$/i.test(path);

/** Null if the diff cannot be read. */
async function inHunks(file: ChangedFile, { diffs }: Reading): Promise<string[][] | null> {
  const { change, changes } = file;
  const diff = await diffs.fileDiff(change, 3).catch(() => null);
  if (diff?.hunks.length !== changes.length) return null;
  return changes.map((runs, hunk) => {
    const lines = (diff.hunks[hunk]?.lines ?? []).map(({ kind, text }) => signs[kind] + text);
    return runs.map((run, at) => digestOf("hunk", placeOf(file), lines, at, run));
  });
}

/** Null if no parser understands the file. */
async function inParsedFile(file: ChangedFile, { workspace, diffs }: Reading): Promise<string[][] | null> {
  const { change } = file;
  if (change.type !== "modified" && change.type !== "renamed") return null;
  const [diff, head] = await Promise.all([
    diffs.fileDiff(change, 3).catch(() => null),
    workspace.readBlob(change.newOid).catch(() => null),
  ]);
  if (!diff || !head || head.binary || head.encoding !== "utf8") return null;
  const parsed = await parseText(change.path, head.text);
  if (!parsed?.tree?.isSound()) return null;
  const runs = diff.hunks.map(runsOf);
  const isSame = runs.every((of, hunk) => of.length === file.changes[hunk]?.length);
  if (!isSame || runs.length !== file.changes.length) return null;
  return identify(file, runs, createPlaces(head.text, parsed, parsed.tree));
}

/** A run of changed lines. */
interface Run {
  /** The first line at head or, if it only removes lines, the line after it. */
  at: number;
  added: number;
  lines: readonly DiffLine[];
}

function runsOf({ newStart, newLines, lines }: Hunk): Run[] {
  const runs: { at: number; added: number; lines: DiffLine[] }[] = [];
  // Git numbers a hunk that leaves no line by the line before it.
  let next = newLines === 0 ? newStart + 1 : newStart;
  let isOpen = false;
  for (const line of lines) {
    if (line.kind !== "context") {
      if (!isOpen) runs.push({ at: next, added: 0, lines: [] });
      const run = runs.at(-1);
      run?.lines.push(line);
      if (run && line.kind === "added") run.added += 1;
    }
    isOpen = line.kind !== "context";
    if (line.kind !== "removed") next += 1;
  }
  return runs;
}

function identify(file: ChangedFile, hunks: readonly (readonly Run[])[], places: Places): string[][] {
  const runs = hunks.flat();
  const digestsOfRuns = file.changes.flat();
  const outside = runs.map((run) => (places.bodyOf(run) ? "" : places.outsideOf(run)));
  const before = accumulated(outside);
  const behind = accumulated(outside.toReversed()).toReversed();
  const inBody = Map.groupBy(
    runs.map((run, at) => ({ run, digest: digestsOfRuns[at] })),
    ({ run }) => places.bodyOf(run),
  );
  const all = new Map(
    [...inBody].map(([body, of]) => [
      body,
      body ? digestOf(of.map(({ run, digest }) => [run.at - body.start, digest])) : "",
    ]),
  );
  let at = -1;
  return hunks.map((of) =>
    of.map((run) => {
      at += 1;
      const body = places.bodyOf(run);
      const around = body ? [places.around(body), all.get(body)] : places.beside(run);
      return digestOf(
        ...[placeOf(file), places.dialect, digestsOfRuns[at], before[at], behind[at + 1]],
        ...[body ? run.at - body.start : null, around],
      );
    }),
  );
}

/** For each position, a digest of the non-empty parts before it. */
function accumulated(parts: readonly string[]): string[] {
  let sum = "";
  return ["", ...parts.map((part) => (sum = part === "" ? sum : digestOf(sum, part)))];
}

/** Lines from 1, inclusive. */
interface Lines {
  start: number;
  end: number;
}

/** A function that is not inside another one. */
interface Body extends Lines {
  /** First and last line that hold nothing but the body. */
  from: number;
  to: number;
}

interface Places {
  dialect: string;
  /** The function whose body contains the whole run. */
  bodyOf(run: Run): Body | null;
  /** Digest of the lines that a run changes outside of bodies. */
  outsideOf(run: Run): string;
  around(body: Body): unknown;
  beside(run: Run): unknown;
}

function createPlaces(text: string, { source }: ParsedText, tree: NonNullable<ParsedText["tree"]>): Places {
  const lines = text.split("\n");
  const bodies = bodiesIn(source.definitions, lines, tree.dialect);
  const bodyAt = new Map<number, Body>();
  for (const body of bodies) for (let at = body.from; at <= body.to; at++) bodyAt.set(at, body);
  const groups = joined([...tree.statements(), ...bodies]);
  const textOf = ({ start, end }: Lines) => digestOf(lines.slice(start - 1, end));
  /** For each group: its text without bodies, its index among groups with that text, and their number. */
  const groupMarks = numbered(
    groups.map(({ start, end }) => {
      const own: string[] = [];
      for (let at = start; at <= end; at++) {
        const body = bodyAt.get(at);
        if (!body) own.push(`=${lines[at - 1]}`);
        else if (at === body.from) own.push("body");
      }
      return digestOf(own);
    }),
  );
  /** The number of groups that end before a line. */
  const endedBefore = (line: number) => firstIndex(groups, ({ end }) => end >= line);
  /** Lines outside of bodies from the beginning of a group. */
  const offsetIn = (group: Lines | undefined, line: number) => {
    let offset = 0;
    for (let at = group?.start ?? line; at < line; at++) {
      const body = bodyAt.get(at);
      if (!body || body.from === at) offset += 1;
    }
    return offset;
  };
  const aroundBody = new Map<Body, unknown>();

  return {
    dialect: tree.dialect,
    bodyOf({ at, added, lines: changed }) {
      const body = bodyAt.get(at) ?? null;
      if (!body) return null;
      const removes = changed.length > added;
      const last = at + added - 1;
      return last <= body.to && (!removes || at + added <= body.end) ? body : null;
    },
    outsideOf({ at, lines: changed }) {
      let next = at;
      const outside = changed.flatMap((line) => {
        if (line.kind !== "removed" && bodyAt.has(next++)) return [];
        return [signs[line.kind] + line.text];
      });
      return digestOf(outside);
    },
    around(body) {
      if (!aroundBody.has(body)) {
        const group = endedBefore(body.start);
        const offset = offsetIn(groups[group], body.start);
        aroundBody.set(body, [textOf(body), groupMarks[group], offset]);
      }
      return aroundBody.get(body);
    },
    beside({ at, added }) {
      // The neighbouring lines count as touched.
      const first = Math.max(0, endedBefore(at) - 1);
      const last = Math.min(
        groups.length - 1,
        firstIndex(groups, ({ start }) => start >= at + added),
      );
      const from = firstIndex(bodies, ({ end }) => end >= at - 1);
      const touched = bodies
        .slice(
          from,
          firstIndex(bodies, ({ start }) => start > at + added),
        )
        .map(textOf);
      const group = groups[endedBefore(at)];
      const inGroup = group && group.start <= at ? offsetIn(group, at) : null;
      return [groupMarks.slice(first, last + 1), first === 0, last === groups.length - 1, inGroup, touched];
    },
  };
}

/** Only functions have a body: values and fields are computed together with the code around them. */
const isFunction = ({ kind }: Definition) => kind === "function" || kind === "method";
const closers = /^\s*(end|[)}\];,]+)\s*$/;

function bodiesIn(definitions: readonly Definition[], lines: readonly string[], dialect: string): Body[] {
  const bodies: Body[] = [];
  for (const one of definitions) {
    if (!isFunction(one) || one.start <= (bodies.at(-1)?.end ?? 0)) continue;
    const from = one.signatureEnd + 1;
    // Behind its last bracket a line may go on with something else.
    const ends = dialect === "python" || closers.test(lines[one.end - 1] ?? "");
    const to = ends ? one.end : one.end - 1;
    if (from <= to) bodies.push({ start: one.start, end: one.end, from, to });
  }
  return bodies;
}

/** Joins parts that share a line. */
function joined(parts: readonly Lines[]): Lines[] {
  const all: Lines[] = [];
  for (const { start, end } of parts.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

function numbered(texts: readonly string[]): unknown[] {
  const counts = new Map<string, number>();
  const numbers = texts.map((text) => {
    counts.set(text, (counts.get(text) ?? 0) + 1);
    return counts.get(text);
  });
  return texts.map((text, at) => [text, numbers[at], counts.get(text)]);
}
