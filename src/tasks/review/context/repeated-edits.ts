import type { DiffLine, FileDiff } from "../../../repo/diff/file-diff.ts";

/** Consecutive changed lines. */
export interface Block {
  removed: Extract<DiffLine, { kind: "removed" }>[];
  added: Extract<DiffLine, { kind: "added" }>[];
}

/** Longer lines are data. */
export const MAX_CHARACTERS = 400;
export function blocksOf(lines: readonly DiffLine[]): Block[] {
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

const keyword =
  /^(?:true|false|null|nil|None|True|False|undefined|and|or|not|is|in|if|else|elif|unless|while|until|for|return|break|continue|yield|await|async|throw|raise|let|const|var|val|public|private|protected|internal|static|final|new|delete|this|self|super|try|catch|finally|except|int|long|short|float|double|bool|boolean|char|void|unsigned|signed)$/;

export const isName = (text: string) => /^[\p{L}_$]/u.test(text) && !keyword.test(text);

/** From so many blocks in so many files on, an edit is a rewrite by a program or by search and replace. */
const LEAST_BLOCKS = 5;
const LEAST_FILES = 3;

/** Whether all of a block is edits that the change makes at many places: the same tokens replaced by the same others. */
export function repeatedEdits(diffs: readonly FileDiff[]): (block: Block) => boolean {
  const places = new Map<string, { blocks: number; files: Set<string> }>();
  for (const { path, hunks } of diffs)
    for (const block of hunks.flatMap(({ lines }) => blocksOf(lines)))
      for (const edit of new Set(editsOf(block) ?? [])) {
        const known = places.get(edit) ?? { blocks: 0, files: new Set() };
        known.blocks += 1;
        known.files.add(path);
        places.set(edit, known);
      }
  const isRepeated = (edit: string) => {
    const { blocks = 0, files } = places.get(edit) ?? {};
    return blocks >= LEAST_BLOCKS && (files?.size ?? 0) >= LEAST_FILES;
  };
  return (block) => editsOf(block)?.every(isRepeated) ?? false;
}

/** Whether a file has changed lines, and each of them is part of a repeated edit. */
export function isMechanical({ hunks }: FileDiff, isRepeated: (block: Block) => boolean): boolean {
  const blocks = hunks.flatMap(({ lines }) => blocksOf(lines));
  return blocks.length > 0 && blocks.every(isRepeated);
}

/** The edit of each line; null if a line is data, or if its edit has no name: `0` for `1` means another thing at each place. */
function editsOf({ removed, added }: Block): string[] | null {
  const isPaired = removed.length === added.length;
  const pairs = isPaired
    ? removed.map(({ text }, at) => [text, added[at]?.text ?? ""])
    : [...removed.map(({ text }) => [text, ""]), ...added.map(({ text }) => ["", text])];
  const edits: string[] = [];
  for (const [from = "", to = ""] of pairs) {
    const edit = from.length > MAX_CHARACTERS || to.length > MAX_CHARACTERS ? null : editOf(from, to);
    if (edit === null) return null;
    edits.push(edit);
  }
  return edits;
}

function editOf(from: string, to: string): string | null {
  const [before, after] = [wordsOf(from), wordsOf(to)];
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [old, now] = [before, after].map((words) => words.slice(start, words.length - end));
  const isNamed = [...(old ?? []), ...(now ?? [])].some((word) => word.length > 2 && isName(word));
  return isNamed ? `${old?.join(" ")}\n${now?.join(" ")}` : null;
}

/** Words and marks, those within strings too, after the indentation. */
const wordsOf = (text: string): string[] => [
  /^\s*/.exec(text)?.[0] ?? "",
  ...(text.match(/[\p{L}\p{N}_$]+|[^\s\p{L}\p{N}_$]/gu) ?? []),
];
