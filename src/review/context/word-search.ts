import { AppError } from "../../errors.ts";
import type { Workspace } from "../../git/workspace.ts";

/** A line of the head that holds a word. */
export interface Hit {
  path: string;
  line: number;
  text: string;
}

/** Where words stand in the repository. */
export interface WordHits {
  /** Lines in order of path and number; of a word that is common those that seem to define it. */
  of(word: string): readonly Hit[];
}

export interface SearchLimits {
  /** Whether matches in the file at this path count. */
  wants(path: string): boolean;
  signal: AbortSignal;
  /** Milliseconds that are left. */
  timeLeft(): number;
}

/** Words of one search; what comes behind them is looked for only where it is defined. */
export const MAX_WORDS = 400;
const MAX_WORD_LENGTH = 80;
/** Matching lines of one search. */
const MAX_MATCHES = 6_000;
/** A word with more lines is common. */
const MAX_LINES = 250;
/** Common words whose definitions are searched all the same. */
const MAX_COMMON = 60;
/** Searches: each but the last drops the words that crowded the others out. */
const ROUNDS = 4;

const identifier = /[\p{L}\p{N}_$]+/gu;
const quotes = ['"', "'", "`"] as const;

/** A word for {@link searchWords} that finds a string literal with exactly this text. */
export const inQuotes = (text: string): string => `"${text}"`;

/** What stands between the quotes; null for a word that is searched as it is. */
const quotedText = (word: string) => /^"(.+)"$/.exec(word)?.[1] ?? null;

const escapeRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&");

/** Plain texts, each quote by itself: a search for classes of characters takes several times as long. */
function patternOf(word: string): string {
  const text = quotedText(word);
  if (text === null) return escapeRegex(word);
  return quotes.map((quote) => quote + escapeRegex(text) + quote).join("|");
}

/**
 * Finds words, the more important first, with as few searches as can be. What a time limit cuts off is not found.
 *
 * @param words identifiers, strings that hold no line feed, or what {@link inQuotes} makes
 */
export async function searchWords(
  workspace: Workspace,
  words: readonly string[],
  limits: SearchLimits,
): Promise<WordHits> {
  const usable = [...new Set(words)].filter(
    (word) => word.length <= MAX_WORD_LENGTH && /[\p{L}]/u.test(word) && !/[\n\r\0]/.test(word),
  );
  let left = usable.slice(0, MAX_WORDS);
  const common = new Set(usable.slice(MAX_WORDS));
  let hits = new Map<string, Hit[]>();
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    const found = await search(workspace, left.map(patternOf).join("|"), true, limits);
    hits = byWord(found.hits, left);
    const crowding = left.filter((word) => (hits.get(word)?.length ?? 0) > MAX_LINES);
    for (const word of crowding) common.add(word);
    left = left.filter((word) => !common.has(word));
    if (!found.limited) break;
    // Without one word that is common by itself, the rest crowds each other out: the last ones are the least important.
    if (crowding.length === 0) left = left.slice(0, Math.floor(left.length / 2));
  }
  const known = new Set(left);
  const crowded = usable.filter((word) => common.has(word) && isIdentifier(word)).slice(0, MAX_COMMON);
  const defining = byWord((await search(workspace, definitionOf(crowded), false, limits)).hits, crowded);
  return {
    of: (word) => (known.has(word) ? hits.get(word) : defining.get(word)) ?? [],
  };
}

const isIdentifier = (word: string) => /^[\p{L}\p{N}_$]+$/u.test(word);

/** Words in front of a name that is defined, and what a type and a name at the beginning of a line look like in C. */
const defines =
  "(?:\\b(?:function\\*?|func|def|class|struct|interface|type|enum|trait|fn|fun|define|const|let|var)\\s+(?:\\([^)]{0,80}\\)\\s*)?" +
  "|\\b(?:public|private|protected|internal|static|final|async|override|virtual|inline)\\s[A-Za-z0-9_<>\\[\\], ?*&]{0,80}" +
  "|^[A-Za-z_][A-Za-z0-9_<>:*& ]{0,80}[ *&])";

/** An expression for lines that seem to define one of the words; empty for none. */
function definitionOf(words: readonly string[]): string {
  if (words.length === 0) return "";
  return `${defines}(?:${words.map(escapeRegex).join("|")})\\s*[(<{=:]`;
}

async function search(
  workspace: Workspace,
  pattern: string,
  wholeWord: boolean,
  { wants, signal, timeLeft }: SearchLimits,
): Promise<{ hits: Hit[]; limited: boolean }> {
  const none = { hits: [], limited: false };
  const milliseconds = timeLeft();
  if (milliseconds <= 0 || pattern === "") return none;
  const query = {
    pattern,
    contextLines: 0,
    maxResults: MAX_MATCHES,
    wants,
    fixedString: false,
    ignoreCase: false,
    wholeWord,
    invertMatch: false,
    mode: "content" as const,
  };
  const ended = AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(milliseconds))]);
  try {
    const found = await workspace.search(query, ended);
    if (found.mode !== "content") return none;
    return {
      hits: found.matches.map(({ path, line, text }) => ({ path, line, text })),
      limited: found.limited,
    };
  } catch (error) {
    // The review goes on without what cannot be searched: the tools can still be asked.
    if (!signal.aborted && error instanceof AppError) return none;
    throw error;
  }
}

/** A line may hold several of the words. */
function byWord(hits: readonly Hit[], words: readonly string[]): Map<string, Hit[]> {
  const plain = new Set(words.filter(isIdentifier));
  const others = words.filter((word) => !plain.has(word));
  const all = new Map<string, Hit[]>(words.map((word) => [word, []]));
  for (const hit of hits) {
    const found = new Set((hit.text.match(identifier) ?? []).filter((word) => plain.has(word)));
    for (const word of found) all.get(word)?.push(hit);
    for (const word of others) if (holds(hit.text, word)) all.get(word)?.push(hit);
  }
  return all;
}

function holds(line: string, word: string): boolean {
  const text = quotedText(word);
  return text === null ? line.includes(word) : quotes.some((quote) => line.includes(quote + text + quote));
}
