import { isTestFile } from "../../../repo/code/test-file.ts";
import { namesOf } from "./callers.ts";
import type { Changed } from "./changed.ts";
import { firstOfFiles, type Hit, type RepositoryFiles, rarity, type WordHits } from "./lookup.ts";
import { type Piece, placePiece } from "./pieces.ts";

const DOCUMENT = 0.5;
const SHOWN = 3;
const SHOWN_IN_FILE = 2;
/** A word on more lines of the documentation is an ordinary word, not a name. */
const MAX_LINES = 40;

const documents = /\.(?:md|mdx|markdown|rst|adoc|txt|conf)$/i;
/** Files about the past, and files that users do not read. */
const notDocuments =
  /(?:^|\/)(?:CHANGE(?:S|LOG)|HISTORY|NEWS|RELEASES?(?:[-_]NOTES)?|LICEN[CS]E|COPYING|NOTICE|AUTHORS|CONTRIBUTORS|requirements)[^/]*$|(?:^|\/)\.?(?:changes|changelogs?|changesets?|newsfragments|releases)\//i;

/** Maximum values of one definition that are searched in the documentation: an option is often read as a member. */
const MAX_VALUES = 6;

export const isDocument = (path: string): boolean =>
  documents.test(path) && !notDocuments.test(path) && !isTestFile(path);

export function documentedWords(one: Changed): string[] {
  // A `#private` name is not documented.
  const names = namesOf(one).filter((name) => name.length > 2 && !name.startsWith("#"));
  const values = [...one.newNames, ...one.setNames].filter(isDistinctive).slice(0, MAX_VALUES);
  // `server.max_entries` is often `max-entries` in a configuration.
  const written = [...values, ...one.touchedNames.slice(0, MAX_VALUES)].filter((name) =>
    /[a-z\d]_[a-z]/.test(name),
  );
  return [
    ...names,
    ...one.literals.filter(isOption),
    ...values,
    ...written.map((name) => name.replaceAll("_", "-")),
  ];
}

/** `--max-size`, `max_size`, `X-Forwarded-For`: not a sentence or an ordinary word. */
const isOption = (literal: string): boolean =>
  /^[\w$@.:/-]{3,50}$/.test(literal) && /[A-Za-z]/.test(literal) && isDistinctive(literal);

const isDistinctive = (word: string): boolean => /[a-z][A-Z]|[_\d:/@.-]/.test(word);

export async function documentPieces(
  changed: readonly Changed[],
  hits: WordHits,
  files: RepositoryFiles,
): Promise<Piece[]> {
  const seen = new Set<string>();
  const pieces: Piece[] = [];
  for (const one of changed) {
    for (const word of documentedWords(one)) {
      if (seen.has(word)) continue;
      seen.add(word);
      const found = hits.of(word).filter((hit) => isDocument(hit.path) && mentionsWord(hit, word));
      if (found.length > MAX_LINES) continue;
      for (const piece of await piecesOf(one, word, found, files)) pieces.push(piece);
    }
  }
  return pieces;
}

/** A plain word counts only if it is written as code. */
function mentionsWord({ text }: Hit, word: string): boolean {
  if (isDistinctive(word)) return true;
  const at = text.indexOf(word);
  const [before, behind] = [text.slice(0, at), text.slice(at + word.length)];
  return /[`.'"<]$/.test(before) || /^[`('"(]/.test(behind) || /^(?: {4}|\t|>>> )/.test(text);
}

async function piecesOf(
  one: Changed,
  word: string,
  hits: readonly Hit[],
  files: RepositoryFiles,
): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const { path, line } of firstOfFiles(hits, (hit) => hit.path, SHOWN_IN_FILE)) {
    if (pieces.length >= SHOWN) break;
    const file = await files.read(path, "head");
    if (file === null) continue;
    const score = (one.risk * DOCUMENT * rarity(hits.length)) / (1 + pieces.length * 0.2);
    const around = { start: line - 1, end: line + 1 };
    pieces.push(
      placePiece("document", { file, line }, [around], { subject: word, title: `mentions ${word}`, score }),
    );
  }
  return pieces;
}
