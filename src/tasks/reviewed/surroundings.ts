import { hash } from "node:crypto";
import pMap from "p-map";
import { type ParsedText, parseText } from "../../repo/code/parse.ts";
import type { Definition, DefinitionKind } from "../../repo/code/source.ts";
import { firstIndex } from "../../repo/code/tree.ts";
import { type DiffLine, type Hunk, signs } from "../../repo/diff/file-diff.ts";
import { takesEffect } from "../../repo/diff/takes-effect.ts";
import type { ChangedFile, DiffSource } from "../../repo/diff-source.ts";
import type { FileText, Workspace } from "../../repo/git/workspace.ts";

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
 * - In documentation, which nothing runs: the hunk with the lines around it. A changelog grows with each rebase. Not under a name that agents
 *   obey.
 * - In any other file that no parser understands: all of the file, before and after the change.
 * - In all code: the texts of the touched definitions that the one around it calls, and the names of those that call it.
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
  return bound(await pMap(files, (file) => surrounded(file, reading), { concurrency: CONCURRENCY }));
}

/** A file with the definitions that it touches and what is around each run; null if no parser understands it. */
type Surrounded = { file: ChangedFile; links: { touched: Named[]; runs: Named[][] } | null };

async function surrounded(file: ChangedFile, reading: Reading): Promise<Surrounded> {
  if (file.changes.length === 0) return { file, links: null };
  if (file.reading !== "hunks") return { file: { ...file, changes: inWholeFile(file) }, links: null };
  const code = isProse(file.change.path) ? null : await readCode(file, reading);
  const changes = isProse(file.change.path) ? await inHunks(file, reading) : code && inParsedFile(file, code);
  return { file: { ...file, changes: changes ?? inWholeFile(file) }, links: code && linksOf(code) };
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
const isProse = (path: string) => /\.(?:md|markdown|rst|adoc|asciidoc)$/i.test(path) && !takesEffect(path);

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

type Code = { head: FileText; parsed: ParsedText; hunks: Run[][] };

/** Null if it cannot be read, or if its runs are not those of the digests. */
async function readCode(file: ChangedFile, { workspace, diffs }: Reading): Promise<Code | null> {
  const { change, changes } = file;
  const [diff, head] = await Promise.all([
    diffs.fileDiff(change, 3).catch(() => null),
    workspace.readBlob(change.newOid).catch(() => null),
  ]);
  if (!diff || !head || head.binary) return null;
  const hunks = diff.hunks.map(runsOf);
  const isSame = hunks.every((of, hunk) => of.length === changes[hunk]?.length);
  const parsed = isSame && hunks.length === changes.length ? await parseText(change.path, head.text) : null;
  return parsed && { head, parsed, hunks };
}

/** Null if the text of the file before the change, or all of it now, decides. */
function inParsedFile(file: ChangedFile, { head, parsed, hunks }: Code): string[][] | null {
  const isOld = file.change.type === "modified" || file.change.type === "renamed";
  if (!isOld || head.encoding !== "utf8" || !parsed.tree?.isSound()) return null;
  return identify(file, hunks, createPlaces(head.text, parsed, parsed.tree));
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
      // The neighboring lines count as touched.
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

/** Some lines: the touched definitions in them, what they call, and a digest. */
type Named = { names: string[]; calls: string[]; text: string };

const types: readonly DefinitionKind[] = ["class", "interface", "type", "module", "extension"];
const constructors = /^(?:constructor|initialize|init|__init__|__construct)$/;
/** Decorators and components are called without brackets. */
const marked = /[@<][\p{L}\p{N}_$.]+/gu;
const unique = (names: readonly string[]) => [...new Set(names)].toSorted();

function linksOf({ head, parsed: { source, tree }, hunks }: Code): Surrounded["links"] {
  const lines = head.text.split("\n");
  const values = source.definitions.filter(({ kind }) => !types.includes(kind));
  const typeStarts = new Set(source.definitions.map(({ kind, start }) => types.includes(kind) && start));
  const statements = tree?.statements().filter(({ start }) => !typeStarts.has(start)) ?? [];
  const unitAt = new Map<number, Lines>();
  for (const unit of [...statements, ...joined(values)])
    for (let at = unit.start; at <= unit.end; at++) unitAt.set(at, unit);
  const changed = hunks.map((of) => of.map(touchedBy));
  const all = changed.flat();
  const next = (line: number) => all[firstIndex(all, ({ end }) => end >= line)]?.start ?? Infinity;
  const touched = values.filter(({ start, end }) => next(start) <= end);
  const read = ({ start, end }: Lines): Named => {
    const text = lines.slice(start - 1, end).join("\n");
    const within = touched.filter((one) => start <= one.end && one.start <= end);
    const calls = source.calls(start, end).map(({ name }) => name);
    const marks = text.match(marked)?.map((mark) => mark.slice(1).split(".").at(-1) ?? "") ?? [];
    return {
      names: unique(within.map(({ name, container }) => (constructors.test(name) && container) || name)),
      calls: unique([...calls, ...marks]),
      text: digestOf(text),
    };
  };
  const known = new Map<string, Named>();
  const around = (run: Lines) => {
    const start = unitAt.get(run.start)?.start ?? run.start;
    const end = unitAt.get(run.end)?.end ?? run.end;
    const named = known.get(`${start}-${end}`) ?? read({ start, end });
    known.set(`${start}-${end}`, named);
    return named;
  };
  return { touched: touched.map(read), runs: changed.map((of) => of.map(around)) };
}

/** Where lines went, those beside them count as touched. */
function touchedBy({ at, added, lines: { length } }: Run): Lines {
  const beside = length > added ? 1 : 0;
  return { start: at - beside, end: at + added - 1 + beside };
}

/** The digests of runs with the texts of the touched definitions that they call, and the names of those that call them. */
function bound(all: readonly Surrounded[]): ChangedFile[] {
  const touched = all.flatMap(({ links }) => links?.touched ?? []);
  const by = (key: "names" | "calls") =>
    Map.groupBy(
      touched.flatMap((one) => one[key].map((name) => ({ name, one }))),
      ({ name }) => name,
    );
  const [called, callers] = [by("names"), by("calls")];
  const textsOf = (name: string) =>
    called
      .get(name)
      ?.map(({ one }) => one.text)
      .toSorted() ?? [];
  const namesOf = (name: string) => unique(callers.get(name)?.flatMap(({ one }) => one.names) ?? []);
  return all.map(({ file, links }) => {
    const changes = links?.runs.map((of, hunk) =>
      of.map(({ names, calls }, at) =>
        digestOf(file.changes[hunk]?.[at], calls.map(textsOf), names.map(namesOf)),
      ),
    );
    return changes ? { ...file, changes } : file;
  });
}
