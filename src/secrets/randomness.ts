/** Frequent pairs of letters in words, also in code: half of all pairs there, and a tenth in random letters. */
const commonPairs = new Set(
  `th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi
   ri ro ic ne ea ra ce li ch ll be ma si om ur ac ke ey ss sw wo rd et pr ec cr ta am ge un us ex pa ct pl`.match(
    /\w+/g,
  ),
);

const shareOfCommonPairs = 0.25;
const shareOfRuns = 0.4;

/** Whether a text mostly consists of words, like names in code, and is not random. */
export function isWordLike(text: string): boolean {
  const runs = text.match(/[A-Z]?[a-z]{3,}|[A-Z]{4,}/g) ?? [];
  if (runs.join("").length < shareOfRuns * text.length) return false;
  const pairs = runs.flatMap((run) => pairsOf(run.toLowerCase()));
  const common = pairs.filter((pair) => commonPairs.has(pair)).length;
  return common > shareOfCommonPairs * pairs.length;
}

function pairsOf(run: string): string[] {
  return Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2));
}

/** Texts that people write in place of a secret. Not conclusive for long values: a secret may contain such a name by chance. */
const placeholder =
  /example|your|placeholder|change[-_]?me|replace|redacted|dummy|insert|todo|0123456789|123456789/i;
const sameCharacter = /([^\n])\1{5}/;
const fewestOfRandom = 16;
const longestPlaceholder = 40;

/** Whether the value is a placeholder for a secret: the same character over and over, or words that say so. */
export function isPlaceholder(value: string): boolean {
  if (sameCharacter.test(value) && new Set(value).size < fewestOfRandom) return true;
  return value.length <= longestPlaceholder && placeholder.test(value);
}

/** Whether a value of at least `fewest` characters is almost certainly random: no words, and characters of several kinds. */
export function looksRandom(value: string, fewest: number): boolean {
  return looksMixed(value, fewest) && !isWordLike(value);
}

/** Like `looksRandom`, for a value that may consist of words. */
export function looksMixed(value: string, fewest: number): boolean {
  if (value.length < fewest || isPlaceholder(value)) return false;
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(value)).length;
  return kinds >= 2 && new Set(value).size >= 6;
}

/** Parts of members, constants, paths, versions and names of algorithms: "body", "S3", "k8s", "pwd2Confirm", "17". */
const namePart = /^(?:[A-Z]*|[A-Z]?[a-z]+(?:[A-Z][a-z]{2,})*)(?:\d{1,4}(?:[a-z]|[A-Z][a-z]{2,})?)?$/;

/** The parts of a name in code; undefined if any part is not one. */
export function partsOfName(value: string): string[] | undefined {
  const parts = value.split(/[-_./:]/);
  return parts.every((part) => namePart.test(part)) ? parts : undefined;
}
