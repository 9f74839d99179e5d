import { isTestFile } from "../../analyzers/test-file.ts";
import { fullName } from "../../tools/definition-name.ts";
import type { Changed } from "./changed.ts";
import { closeness, nearestFirst } from "./closeness.ts";
import { isProse } from "./code-file.ts";
import { isCommonName } from "./common-names.ts";
import type { Piece, ShownLines } from "./pieces.ts";
import type { RepositoryFiles } from "./repository-files.ts";
import { type Role, type Statement, statementAround } from "./statement.ts";
import { joined, type TextFile } from "./text-file.ts";
import { type Hit, inQuotes, type WordHits } from "./word-search.ts";

/** What registers a key is to it what a body is to a call. */
const KEY = 0.8;
/** Keys of one changed definition. */
const MAX_KEYS = 15;
/** A key that stands in more places of the code is a word like any other. */
const MAX_PLACES = 20;
/** A plain word that is compared in no more places may be a key. */
const MAX_PLAIN = 5;
/** Places of one key, and of one key in one file. */
const SHOWN = 3;
const SHOWN_IN_FILE = 2;
const REPEATED = 0.2;

const worthOf: Readonly<Record<Role, number>> = { registers: 1, given: 0.55, asks: 0.45 };

/** Names of options, settings, events, headers, columns and variables: words without blanks. */
const isKey = (literal: string): boolean =>
  /^[\w$@-][\w$@.:-]{1,58}\w$/.test(literal) && /\p{L}{2}/u.test(literal) && !isCommonName(literal);

/** Whether it is a word, which might mean anything. */
const isPlain = (key: string): boolean => /^(?:\p{L}\p{Ll}*|\p{Lu}+)$/u.test(key);

const keysOf = ({ literals, sourceLiterals }: Changed): string[] =>
  [...new Set([...literals, ...sourceLiterals])].filter(isKey).slice(0, MAX_KEYS);

/** The literals that look like keys on changed lines, and behind the variables they read, as they are searched. */
export const keyWords = (one: Changed): string[] => keysOf(one).map(inQuotes);

/** The other statements with a key that changed lines depend on: first those that seem to say what it is. */
export async function keyPieces(
  changed: readonly Changed[],
  hits: WordHits,
  files: RepositoryFiles,
  shown: ShownLines,
): Promise<Piece[]> {
  const seen = new Set<string>();
  const pieces: Piece[] = [];
  for (const one of changed) {
    for (const key of keysOf(one)) {
      if (seen.has(key)) continue;
      seen.add(key);
      for (const piece of await piecesOf(one, key, hits, files, shown)) pieces.push(piece);
    }
  }
  return pieces;
}

interface Use extends Statement {
  file: TextFile;
  line: number;
}

async function piecesOf(
  one: Changed,
  key: string,
  hits: WordHits,
  files: RepositoryFiles,
  shown: ShownLines,
): Promise<Piece[]> {
  const found = hits
    .of(inQuotes(key))
    .filter((hit) => !isProse(hit.path) && !isTestFile(hit.path) && !isInside(one, hit));
  if (found.length > MAX_PLACES) return [];
  const uses: Use[] = [];
  for (const hit of found) {
    if (shown.has({ path: hit.path, ref: "head" }, hit.line)) continue;
    const file = await files.read(hit.path, "head");
    if (file === null) continue;
    uses.push({ file, line: hit.line, ...statementAround(file.lines, hit.line, key) });
  }
  const isTelling = !isPlain(key) || found.length <= MAX_PLAIN;
  const telling = uses.filter(({ role }) => isTelling || role === "registers");
  const near = nearestFirst(one.path, telling, ({ line }) => line);
  const sorted = near.toSorted((a, b) => worthOf[b.role] - worthOf[a.role]);
  return ranked(one, key, sorted, found.length);
}

function isInside({ path, after }: Changed, hit: Hit): boolean {
  if (after === null || hit.path !== path) return false;
  return hit.line >= after.definition.start && hit.line <= after.definition.end;
}

/** Beyond the first few a place is worth naming only. */
function ranked(one: Changed, key: string, uses: readonly Use[], count: number): Piece[] {
  const rarity = 1 / (1 + Math.log2(1 + count) / 4);
  const inFile = new Map<string, number>();
  let taken = 0;
  return uses.map((use) => {
    const { file, line, range, role } = use;
    const places = inFile.get(file.path) ?? 0;
    inFile.set(file.path, places + 1);
    const isShown = taken < SHOWN && places < SHOWN_IN_FILE;
    const worth = KEY * worthOf[role] * rarity * closeness(one.path, file.path);
    const score = isShown ? (one.risk * worth) / (1 + taken * REPEATED) : 0;
    if (isShown) taken += 1;
    return pieceOf(one, key, { file, line, range: joined([range], file.lines.length) }, score);
  });
}

function pieceOf(
  { after, before }: Changed,
  key: string,
  { file, line, range }: { file: TextFile; line: number; range: Piece["ranges"] },
  score: number,
): Piece {
  const definition = (after ?? before)?.definition;
  const where = definition ? `, as in ${fullName(definition)}` : "";
  return {
    ...{ kind: "key", file, line, score },
    ranges: range,
    extent: null,
    subject: `"${key}"`,
    title: `has "${key}"${where}`,
    mayBeCut: false,
  };
}
