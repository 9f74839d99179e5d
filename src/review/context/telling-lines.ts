import type { DiffLine, FileDiff } from "../../diff/file-diff.ts";

/** Changed lines of a file that differ in more than names and comments: added ones at head, removed ones at the merge base. */
export interface TellingLines {
  added: ReadonlySet<number>;
  removed: ReadonlySet<number>;
}

/** Lines that are changed together: without an unchanged one between them. */
interface Block {
  removed: Extract<DiffLine, { kind: "removed" }>[];
  added: Extract<DiffLine, { kind: "added" }>[];
}

/** Longer lines are data. */
const MAX_CHARACTERS = 400;
/** A name that is replaced once may be another function; one that is replaced everywhere goes by another name. */
const LEAST_BLOCKS = 2;

/** What tells renames and comments from the rest: a name that nothing around the change still has, always replaced by the same. */
export function tellingLines(diffs: readonly FileDiff[]): Map<string, TellingLines> {
  const blocks = new Map(
    diffs.map(({ path, hunks }) => [path, hunks.flatMap(({ lines }) => blocksOf(lines))]),
  );
  const renamed = renamedNames([...blocks.values()].flat(), diffs);
  return new Map(
    [...blocks].map(([path, all]) => {
      const telling = all.filter((block) => !isSlight(block, renamed));
      return [
        path,
        {
          added: new Set(telling.flatMap(({ added }) => added.map(({ newLine }) => newLine))),
          removed: new Set(telling.flatMap(({ removed }) => removed.map(({ oldLine }) => oldLine))),
        },
      ];
    }),
  );
}

function blocksOf(lines: readonly DiffLine[]): Block[] {
  const blocks: Block[] = [];
  let open: Block | null = null;
  for (const line of lines) {
    if (line.kind === "context") {
      open = null;
      continue;
    }
    if (open === null) {
      open = { removed: [], added: [] };
      blocks.push(open);
    }
    if (line.kind === "added") open.added.push(line);
    else open.removed.push(line);
  }
  return blocks;
}

function isSlight(block: Block, renamed: ReadonlyMap<string, string>): boolean {
  const pairs = replacedIn(block);
  return pairs?.every(([from, to]) => renamed.get(from) === to) ?? false;
}

/** The names that take the place of others in a block which is the same otherwise; null where more differs. */
function replacedIn({ removed, added }: Block): [string, string][] | null {
  if ([...removed, ...added].some(({ text }) => text.length > MAX_CHARACTERS)) return null;
  const [before, after] = [
    removed.flatMap(({ text }) => tokensOf(text)),
    added.flatMap(({ text }) => tokensOf(text)),
  ];
  if (before.length !== after.length) return null;
  const pairs: [string, string][] = [];
  for (const [at, from] of before.entries()) {
    const to = after[at] ?? "";
    if (from === to) continue;
    if (!isName(from) || !isName(to)) return null;
    pairs.push([from, to]);
  }
  return pairs;
}

/** Old names with their new ones. */
function renamedNames(blocks: readonly Block[], diffs: readonly FileDiff[]): Map<string, string> {
  const places = new Map<string, { from: string; to: string; blocks: number }>();
  for (const block of blocks) {
    const pairs = new Map((replacedIn(block) ?? []).map(([from, to]) => [`${from} ${to}`, { from, to }]));
    for (const [key, pair] of pairs) places.set(key, { ...pair, blocks: (places.get(key)?.blocks ?? 0) + 1 });
  }
  if (places.size === 0) return new Map();
  const [olds, news] = [namesOn(diffs, "removed"), namesOn(diffs, "added")];
  const found = [...places.values()].filter(
    (pair) => pair.blocks >= LEAST_BLOCKS && !news.has(pair.from) && !olds.has(pair.to),
  );
  // Two that take the place of one, or one of two, are not the same under another name.
  const [from, to] = [countOf(found.map((pair) => pair.from)), countOf(found.map((pair) => pair.to))];
  const unique = found.filter((pair) => from.get(pair.from) === 1 && to.get(pair.to) === 1);
  return new Map(unique.map((pair) => [pair.from, pair.to]));
}

function countOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, 1 + (counts.get(name) ?? 0));
  return counts;
}

/** The names on one side of the diffs. */
function namesOn(diffs: readonly FileDiff[], kind: "removed" | "added"): Set<string> {
  const lines = diffs.flatMap(({ hunks }) => hunks.flatMap((hunk) => hunk.lines));
  return new Set(
    lines
      .filter((line) => line.kind === kind || line.kind === "context")
      .flatMap(({ text }) => tokensOf(text.slice(0, MAX_CHARACTERS)).filter(isName)),
  );
}

const token = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[\p{L}_$][\p{L}\p{N}_$]*|\d[\w.]*|\S/gu;
/** A line that is a comment; in C, `#` begins other things as well. */
const comment =
  /^\s*(?:\/\/|\/\*(?!.*\*\/\s*\S)|\*(?:\s|\/\s*$|$)|#\s(?!\s*(?:include|define|if|ifdef|ifndef|else|elif|endif|undef|pragma|error)\b))/;
const trailing = /^([^"'`]*?)\s\/\/\s.*$/;

function tokensOf(text: string): string[] {
  if (comment.test(text)) return [];
  const indent = /^\s*/.exec(text)?.[0] ?? "";
  const tokens = text.replace(trailing, "$1").match(token) ?? [];
  // How far a line is indented says what it belongs to.
  return tokens.length > 0 ? [indent, ...tokens] : [];
}

const keyword =
  /^(?:true|false|null|nil|None|True|False|undefined|and|or|not|is|in|if|else|elif|unless|while|until|for|return|break|continue|yield|await|async|throw|raise|let|const|var|val|public|private|protected|internal|static|final|new|delete|this|self|super|try|catch|finally|except|int|long|short|float|double|bool|boolean|char|void|unsigned|signed)$/;

const isName = (text: string) => /^[\p{L}_$]/u.test(text) && !keyword.test(text);
