import { hash } from "node:crypto";
import pMap from "p-map";
import { type ParsedText, parseText } from "../../repo/code/parse.ts";
import type { Definition, DefinitionKind } from "../../repo/code/source.ts";
import { firstIndex } from "../../repo/code/tree.ts";
import { type DiffLine, type Hunk, signs } from "../../repo/diff/file-diff.ts";
import { takesEffect } from "../../repo/diff/takes-effect.ts";
import type { ChangedFile, DiffSource } from "../../repo/diff-source.ts";
import type { Workspace } from "../../repo/git/workspace.ts";

/*
 * The same lines can mean something else elsewhere. So the hash of a run of changed lines covers the lines, everything around them
 * that the pull request's author can change in that file, and the file's path and mode, because CI, frameworks and builds go by
 * them:
 *
 * - In the body of a function: its whole text, the place of the run in it, and which function it is.
 * - Outside of functions: all lines of the file outside of functions, and the place of the run among them.
 * - In both cases: what the whole change adds and removes outside of functions, for a body also how much of it stands before. A line there
 *   may decide whether the rest of the file runs, and nothing new would be left of it when it goes.
 * - In documentation, which nothing runs: the hunk with the lines around it. A changelog grows with each rebase. Not under a name that agents
 *   obey.
 * - In any other file that no parser understands: all of the file, before and after the change.
 * - In all code: the texts of the touched definitions that the code around it calls, and the names of those that call it.
 */

const CONCURRENCY = 4;

interface Reading {
  workspace: Pick<Workspace, "readBlob">;
  diffs: Pick<DiffSource, "fileDiff">;
}

export async function withSurroundings(
  files: readonly ChangedFile[],
  reading: Reading,
): Promise<ChangedFile[]> {
  return linked(await pMap(files, (file) => surrounded(file, reading), { concurrency: CONCURRENCY }));
}

interface Surrounded {
  file: ChangedFile;
  links: { touched: Named[]; runs: Named[][] } | null;
}

async function surrounded(file: ChangedFile, reading: Reading): Promise<Surrounded> {
  const { path, type } = file.change;
  const whole = { ...file, changes: inWholeFile(file) };
  if (file.changes.length === 0 || file.reading !== "hunks") return { file: whole, links: null };
  if (isProse(path))
    return { file: { ...file, changes: (await inHunks(file, reading)) ?? whole.changes }, links: null };
  const code = await readCode(file, reading);
  if (!code) return { file: whole, links: null };
  const isOld = type === "modified" || type === "renamed";
  const changes = isOld && code.isSound ? inFunctions(file, code) : whole.changes;
  return { file: { ...file, changes }, links: linksOf(code) };
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

async function inHunks(file: ChangedFile, { diffs }: Reading): Promise<string[][] | null> {
  const { change, changes } = file;
  const diff = await diffs.fileDiff(change, 3).catch(() => null);
  if (diff?.hunks.length !== changes.length) return null;
  return changes.map((runs, hunk) => {
    const lines = (diff.hunks[hunk]?.lines ?? []).map(({ kind, text }) => signs[kind] + text);
    return runs.map((run, at) => digestOf("hunk", placeOf(file), lines, at, run));
  });
}

interface Code {
  parsed: ParsedText;
  dialect: string;
  /** Whether the text is UTF-8 and parses without a fault. */
  isSound: boolean;
  lines: string[];
  hunks: Run[][];
}

/** Null if it cannot be read or parsed, or if its runs are not those of the digests. */
async function readCode(file: ChangedFile, { workspace, diffs }: Reading): Promise<Code | null> {
  const { change, changes } = file;
  const [diff, head] = await Promise.all([
    diffs.fileDiff(change, 3).catch(() => null),
    workspace.readBlob(change.newOid).catch(() => null),
  ]);
  if (!diff || !head || head.binary || diff.hunks.length !== changes.length) return null;
  const hunks = diff.hunks.map(runsOf);
  if (hunks.some((runs, hunk) => runs.length !== changes[hunk]?.length)) return null;
  const parsed = await parseText(change.path, head.text);
  if (!parsed) return null;
  const isSound = head.encoding === "utf8" && parsed.tree?.isSound() === true;
  return { parsed, isSound, hunks, dialect: parsed.tree?.dialect ?? "", lines: head.text.split("\n") };
}

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

function inFunctions(file: ChangedFile, { parsed, dialect, lines, hunks }: Code): string[][] {
  const bodies = bodiesIn(parsed.source.definitions, lines, dialect);
  const bodyAt = new Map<number, Body>();
  for (const body of bodies) for (let at = body.from; at <= body.to; at++) bodyAt.set(at, body);
  const runs = hunks.flatMap((ofHunk, hunk) =>
    ofHunk.map((run, at) => ({ ...run, digest: file.changes[hunk]?.[at], body: bodyOf(run, bodyAt) })),
  );
  const outsideRuns = runs.filter(({ body }) => !body);
  const outside = digestOf(outsideRuns.map((run) => outsideOf(run, bodyAt)));
  const bodyDigests = new Map(
    [...Map.groupBy(runs, ({ body }) => body)].map(([body, ofBody]) => {
      if (!body) return [body, undefined];
      const places = ofBody.map(({ at, digest }) => [at - body.start, digest]);
      // A line that ends the file's run has another effect when it moves to the other side of the body.
      const before = firstIndex(outsideRuns, ({ at }) => at > body.start);
      return [body, digestOf(body.name, lines.slice(body.start - 1, body.end), places, before)];
    }),
  );
  // Each body stands as one line among those outside.
  const outline = lines.flatMap((text, at) => {
    const body = bodyAt.get(at + 1);
    return !body || body.from === at + 1 ? [{ line: at + 1, text: body ? null : text }] : [];
  });
  const outlineDigest = digestOf(outline.map(({ text }) => text));
  const around = ({ at, added, body }: (typeof runs)[number]) => {
    if (body) return [bodyDigests.get(body), at - body.start];
    // The neighbouring lines count as touched.
    const touched = bodies.filter(({ start, end }) => start <= at + added && end >= at - 1);
    return [
      outlineDigest,
      firstIndex(outline, ({ line }) => line >= at),
      touched.map(({ start, end }) => lines.slice(start - 1, end)),
    ];
  };
  let next = 0;
  return hunks.map((ofHunk) =>
    ofHunk.map(() => {
      const run = runs[next++];
      return digestOf(placeOf(file), dialect, run?.digest, outside, run && around(run));
    }),
  );
}

interface Lines {
  start: number;
  end: number;
}

/** A function that is not inside another one. */
interface Body extends Lines {
  /** With its type, and its number among the functions of that name. */
  name: string;
  /** First and last line that hold nothing but the body. */
  from: number;
  to: number;
}

/** The function whose body contains the whole run. */
function bodyOf({ at, added, lines }: Run, bodyAt: ReadonlyMap<number, Body>): Body | null {
  const body = bodyAt.get(at);
  if (!body) return null;
  const removes = lines.length > added;
  return at + added - 1 <= body.to && (!removes || at + added <= body.end) ? body : null;
}

function outsideOf({ at, lines }: Run, bodyAt: ReadonlyMap<number, Body>): string[] {
  let next = at;
  return lines.flatMap((line) => {
    if (line.kind !== "removed" && bodyAt.has(next++)) return [];
    return [signs[line.kind] + line.text];
  });
}

const closers = /^\s*(end|[)}\];,]+)\s*$/;

/** Only functions have a body: values and fields are computed together with the code around them. */
function bodiesIn(definitions: readonly Definition[], lines: readonly string[], dialect: string): Body[] {
  const bodies: Body[] = [];
  const counts = new Map<string, number>();
  for (const { kind, name, container, start, end, signatureEnd } of definitions) {
    if ((kind !== "function" && kind !== "method") || start <= (bodies.at(-1)?.end ?? 0)) continue;
    const full = `${container ?? ""} ${name}`;
    const count = (counts.get(full) ?? 0) + 1;
    counts.set(full, count);
    // Behind its last bracket a line may go on with something else.
    const ends = dialect === "python" || closers.test(lines[end - 1] ?? "");
    const [from, to] = [signatureEnd + 1, ends ? end : end - 1];
    if (from <= to) bodies.push({ name: `${full} ${count}`, start, end, from, to });
  }
  return bodies;
}

/** Some lines: the touched definitions in them, what they call, and a digest. */
interface Named {
  names: string[];
  calls: string[];
  text: string;
}

const types: readonly DefinitionKind[] = ["class", "interface", "type", "module", "extension"];
const constructors = /^(?:constructor|initialize|init|__init__|__construct)$/;
/** Decorators and components are called without brackets. */
const marked = /[@<][\p{L}\p{N}_$.]+/gu;
const unique = (names: readonly string[]) => [...new Set(names)].toSorted();

function linksOf({ parsed: { source }, lines, hunks }: Code): Surrounded["links"] {
  const values = source.definitions.filter(({ kind }) => !types.includes(kind));
  const changed = hunks.map((runs) => runs.map(touchedBy));
  const all = changed.flat();
  const next = (line: number) => all[firstIndex(all, ({ end }) => end >= line)]?.start ?? Infinity;
  const touched = values.filter(({ start, end }) => next(start) <= end);
  const known = new Map<string, Named>();
  const read = ({ start, end }: Lines): Named => {
    const key = `${start}-${end}`;
    // A hostile file has many runs outside of definitions, and each of them reads all of it.
    const hit = known.get(key);
    if (hit) return hit;
    const text = lines.slice(start - 1, end).join("\n");
    const within = touched.filter((one) => start <= one.end && one.start <= end);
    const marks = text.match(marked)?.map((mark) => mark.slice(1).split(".").at(-1) ?? "") ?? [];
    const named = {
      names: unique(within.map(({ name, container }) => (constructors.test(name) && container) || name)),
      calls: unique([...source.calls(start, end).map(({ name }) => name), ...marks]),
      text: digestOf(text),
    };
    known.set(key, named);
    return named;
  };
  /** The definition around a run; what is in none may be run with all of the file. */
  const around = (run: Lines) =>
    values.find(({ start, end }) => start <= run.start && run.end <= end) ?? { start: 1, end: lines.length };
  return { touched: touched.map(read), runs: changed.map((runs) => runs.map((run) => read(around(run)))) };
}

/** Where lines went, those beside them count as touched. */
function touchedBy({ at, added, lines: { length } }: Run): Lines {
  const beside = length > added ? 1 : 0;
  return { start: at - beside, end: at + added - 1 + beside };
}

/** The digests of runs with the texts of the touched definitions that they call, and the names of those that call them. */
function linked(all: readonly Surrounded[]): ChangedFile[] {
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
    const changes = links?.runs.map((runs, hunk) =>
      runs.map(({ names, calls }, at) =>
        digestOf(file.changes[hunk]?.[at], calls.map(textsOf), names.map(namesOf)),
      ),
    );
    return changes ? { ...file, changes } : file;
  });
}
