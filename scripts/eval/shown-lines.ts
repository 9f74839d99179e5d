import type { Message } from "../../src/agent/llm/model.ts";
import { splitLines } from "../../src/core/text/cut.ts";
import { unescapeInvisible } from "../../src/core/text/escape-invisible.ts";

export type Revision = "head" | "merge_base";

/** The code in the first messages of a conversation, by its line numbers. */
export interface ShownLines {
  has(file: string, line: number, at: Revision): boolean;
  /** Places shown as callers of changed code. */
  callers: readonly ShownCaller[];
  /** Of all messages together. */
  characters: number;
  /** The parts of it in the diff and in the code around it. */
  diffCharacters: number;
  contextCharacters: number;
}

/** Lines of code under the heading "uses NAME". */
export interface ShownCaller {
  file: string;
  start: number;
  end: number;
  name: string;
}

/** Sources of the fenced texts that contain lines of code; people's texts may look like anything. */
const sources = { diff: "diff", context: "code" };

/** Reads the numbered lines of the diff and of the code around it, per file, from messages to a model. */
export function readShownLines(messages: readonly Message[]): ShownLines {
  const shown = new Set<string>();
  const callers: ShownCaller[] = [];
  let [diffCharacters, contextCharacters] = [0, 0];
  for (const { source, text } of messages.flatMap(({ content }) => fencedTexts(content))) {
    if (source === sources.diff) {
      diffCharacters += text.length;
      for (const one of diffLines(text)) shown.add(keyOf(one));
    } else if (source === sources.context) {
      contextCharacters += text.length;
      for (const one of contextLines(text)) shown.add(keyOf(one));
      for (const one of callersIn(text)) callers.push(one);
    }
  }
  return {
    has: (file, line, at) => shown.has(keyOf({ file, line, at })),
    callers,
    characters: messages.reduce((sum, { content }) => sum + content.length, 0),
    ...{ diffCharacters, contextCharacters },
  };
}

interface Shown {
  file: string;
  line: number;
  at: Revision;
}

const keyOf = ({ file, line, at }: Shown) => `${at} ${line} ${file}`;

/** The texts within `wrapUntrusted`: each ends at the closing mark with its own id, whatever the text contains. */
function fencedTexts(content: string): { source: string; text: string }[] {
  const texts: { source: string; text: string }[] = [];
  const opening = /^<untrusted id="([0-9a-f]+)" source="([^"\n]*)">\n/gm;
  for (let open = opening.exec(content); open; open = opening.exec(content)) {
    const [start, end] = [
      opening.lastIndex,
      content.indexOf(`\n</untrusted id="${open[1]}">`, opening.lastIndex),
    ];
    if (end < 0) continue;
    texts.push({ source: open[2] ?? "", text: content.slice(start, end) });
    opening.lastIndex = end;
  }
  return texts;
}

/** Lines below `## path`: "12 +added", "12  unchanged" at the head, "12 -removed" at the merge base. */
function diffLines(text: string): Shown[] {
  const all: Shown[] = [];
  let file: string | null = null;
  for (const line of splitLines(text)) {
    if (line.startsWith("## ")) file = readPath(line.slice(3));
    const [, number, sign] = /^(\d+) ([ +-])/.exec(line) ?? [];
    if (file === null || number === undefined) continue;
    all.push({ file, line: Number(number), at: sign === "-" ? "merge_base" : "head" });
  }
  return all;
}

const contextHeading = /^### ("(?:[^"\\]|\\.)*"|.+?):\d+(?:-\d+)?( at merge_base)?(?= |$)/;

/** Lines below `### path:12-30 what it is` or `### path:12-30 at merge_base what it is`: "12|text", "12+|text". */
function contextLines(text: string): Shown[] {
  const all: Shown[] = [];
  let file: string | null = null;
  let at: Revision = "head";
  for (const line of splitLines(text)) {
    if (/^##+ /.test(line)) {
      const [, path, isOld] = contextHeading.exec(line) ?? [];
      file = path === undefined ? null : readPath(path);
      at = isOld ? "merge_base" : "head";
    }
    const number = /^(\d+)\+?\|/.exec(line)?.[1];
    if (file !== null && number !== undefined) all.push({ file, line: Number(number), at });
  }
  return all;
}

const callerSection = /^## What uses the changed code\n((?:(?!## ).*\n?)*)/m;
const callerHeading = /^### ("(?:[^"\\]|\\.)*"|.+?):(\d+)(?:-(\d+))? uses (\S+?)(?=,? |,|$)/gm;

/** Headings `### path:12-30 uses NAME in function f` in the section of callers. */
function callersIn(text: string): ShownCaller[] {
  const section = callerSection.exec(text)?.[1] ?? "";
  return [...section.matchAll(callerHeading)].map(([, path = "", start, end, name = ""]) => ({
    file: readPath(path),
    start: Number(start),
    end: Number(end ?? start),
    name,
  }));
}

/** Reverses `showPath` and the escaping of the fence. */
function readPath(shown: string): string {
  const path = unescapeInvisible(shown);
  if (!path.startsWith('"')) return path;
  try {
    return String(JSON.parse(path));
  } catch {
    return path;
  }
}
