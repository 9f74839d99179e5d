import { hash } from "node:crypto";

/** Frequent pairs of letters in words, also in code: half of all pairs there, and a tenth in random letters. */
const commonPairs = new Set(
  `th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi
   ri ro ic ne ea ra ce li ch ll be ma si om ur ac ke ey ss sw wo rd et pr ec cr ta am ge un us ex pa ct pl`.match(
    /\w+/g,
  ),
);

const shareOfCommonPairs = 0.25;
const shareOfRuns = 0.5;

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

/** One of 1,000 random tokens of 16 to 40 characters or fewer has more. */
const mostOfRandom = 6.5;
/** The beginning of a token, which names its issuer and kind. */
const beginningOfToken =
  /^[A-Za-z\d]{1,8}[-_.](?:(?:live|test|prod|pat|oat|auth|oauth|secret|api|tkn|pw)[-_])?/;

/** Whether a token consists of words behind its beginning: by how much likelier its pairs of characters are in words than in random tokens. */
export function isOfWords(token: string): boolean {
  const text = token.replace(beginningOfToken, "");
  let score = 0;
  for (const pair of pairsOf(text)) {
    if (/^[a-z][A-Z]/.test(pair)) score -= 0.3;
    else if (/^[A-Za-z]{2}/.test(pair)) score += commonPairs.has(pair.toLowerCase()) ? 2 : -0.6;
    else if (/^(?:[A-Za-z]\d|\d[A-Za-z])/.test(pair)) score -= 1;
  }
  return score > mostOfRandom;
}

/** Texts that people write in place of a secret, in one case as words are. Not conclusive for long values: one may contain such a name. */
const placeholder =
  /[Ee]xample|EXAMPLE|[Ss]ample|SAMPLE|[Yy]our|YOUR|[Pp]laceholder|PLACEHOLDER|[Cc]hange[-_]?[Mm]e|CHANGE[-_]?ME|[Rr]eplace|REPLACE|[Rr]edacted|REDACTED|[Dd]ummy|DUMMY|[Ii]nsert|INSERT|[Tt]odo|TODO|[Ff]ake|FAKE|[Ff]oobar|FOOBAR|123456789/;
const fewestOfRandom = 16;
const longestPlaceholder = 40;
const shortestRun = 4;

/**
 * SHA-256 of keys that Stripe, GitHub, Slack, Telegram, Azure's emulators and jwt.io publish for tests. As hashes, because no scanner should
 * find them here.
 */
const published = new Set([
  "2cafc0970149a84f3b9e62eaf169f36f59907a3b3e31f7b82e68c69cd27f7326",
  "f2d6ca16515033e5dce14eba840b979d27b5cbae24bb3e5bf484339667f86397",
  "2d1f7723aabc5c7a51fcdc2463c99b5f3fdbc57cf3134db4ac12913c35976e6f",
  "0011cc25eb4320717494d2703e8cba85743e71b500283c21c8b88147992f9059",
  "aa6547439583c3a275d4542a0df6c1ad6a863971be9f2a2220f027cc02aef615",
  "7f75367e7881255134e1375e723d1dea8ad5f6a4fdb79d938df1f1754a830606",
  "da816f9f2c16e6c5390e7636cadc40c43551bf0bbcf8f36c65539e6633a9c5e8",
  "bc3ae723f57c6b9e3fd80b699fcc420f6074b0b1718039669d22631d508ac0a7",
  "7e8de44ea9ecf6d53415c90f5b249a8591f7abafbf7d65a2c0d855afeca3ec09",
  "e94bb87c35362e26934e35463a99d82baa2763a2e6eb5194ea299b0d16353177",
  "f5375a46365089a84f4f822b70d44e744d64775cc747f030f8488a6274fe28f8",
]);

/** Whether the value is a placeholder: a sequence, the same part over and over, words that say so, or a key that its issuer publishes. */
export function isPlaceholder(value: string): boolean {
  if (value.length <= longestPlaceholder && placeholder.test(value)) return true;
  if (new Set(value).size < fewestOfRandom && /([^\n])\1{5}/.test(value)) return true;
  const body = value.replace(/^(?:[A-Za-z\d]{1,8}[-_.]){1,3}/, "");
  const repeated = /([a-z]{1,12}?|[A-Z]{1,12}?|\d{1,12}?)\1{2,}/.exec(body)?.[0].length ?? 0;
  return isMadeOfRuns(body) || repeated * 5 > body.length * 3 || published.has(hash("sha256", value));
}

/** Whether most characters continue a run such as "aaaa", "4567" or "dcba". */
function isMadeOfRuns(value: string): boolean {
  let inRuns = 0;
  let run = 1;
  let step = 0;
  for (let at = 1; at <= value.length; at++) {
    const next = at < value.length ? value.charCodeAt(at) - value.charCodeAt(at - 1) : NaN;
    if (next === step && Math.abs(next) <= 1) {
      run += 1;
      continue;
    }
    if (run >= shortestRun) inRuns += run;
    [run, step] = [2, next];
  }
  return inRuns * 2 > value.length;
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
