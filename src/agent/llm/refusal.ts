import { isObject, readStrict } from "./lenient-json.ts";

/** What an endpoint said instead of an answer: with an error status, or with an error in an answer of status 200. */
export interface Refusal {
  status: number;
  param: string;
  /** Its message for people, from all of the usual places. It may be long, and hold the key. */
  message: string;
  /** The message with the codes and details around it, to be searched. */
  words: string;
  headers: Headers | undefined;
}

/** Carries a refusal, its cause, through the client, which wraps what its `fetch` throws. */
export class Refused extends Error {}

/** The refusal behind an error of the client; null if it is another error. */
export function refusalIn(error: unknown): Refusal | null {
  const carried = error instanceof Error && error.cause instanceof Refused ? error.cause : error;
  return carried instanceof Refused ? (carried.cause as Refusal) : null;
}

/** Characters of a refusal that are searched, a dozen times. Far more than is shown. */
const MAX_WORDS = 20_000;
/** Levels of objects and of JSON within texts: gateways wrap the errors of other gateways. */
const MAX_DEPTH = 6;

/** A refusal from the body of an answer with an error status. */
export const refusalOf = (status: number, body: string, headers?: Headers): Refusal =>
  toRefusal(status, readStrict(body) ?? body, headers);

function toRefusal(status: number, body: unknown, headers?: Headers): Refusal {
  const [first] = [body].flat();
  const outer = isObject(first) ? first : {};
  const error = isObject(outer.error) ? outer.error : outer;
  const said = wordsIn(isObject(first) ? error : first).slice(0, MAX_WORDS);
  // The words of a web page are not about the request.
  const message = isPage(said) ? "" : said;
  const { code, type, param, status: name, innererror, details } = error;
  const codes = JSON.stringify([outer.code, outer.type, code, type, param, name, innererror, details]);
  const words = `${message} ${codes.slice(0, MAX_WORDS)}`;
  return { status, param: typeof param === "string" ? param : "", message, words, headers };
}

export const isPage = (text: string): boolean => /^\s*<(!doctype|html)/i.test(text);

/** The words of an error: a text, JSON in a text, an object, or a list of faults with their places, as FastAPI writes them. */
function wordsIn(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return "";
  if (typeof value === "string") {
    const inner = /^\s*[{[]/.test(value) ? readStrict(value) : undefined;
    return (typeof inner === "object" && wordsIn(inner, depth + 1)) || value;
  }
  const within = (one: unknown) => wordsIn(one, depth + 1);
  if (Array.isArray(value)) return joined(value.slice(0, 8).map(within), "; ");
  if (!isObject(value)) return "";
  const { message, error, detail, msg, errors, loc, metadata } = value;
  const own = [message, error, detail, msg, errors].map(within).find((text) => text !== "") ?? "";
  const place = Array.isArray(loc) ? loc.join(".") : "";
  // OpenRouter: the words of the provider behind it.
  const { raw, provider_name: provider } = isObject(metadata) ? metadata : {};
  const said = joined([typeof provider === "string" ? provider : "", within(raw)], ": ");
  return joined([place, own, raw === undefined ? "" : said], ": ");
}

const joined = (texts: string[], between: string) => texts.filter((text) => text !== "").join(between);

/** Ways to say that the provider failed in the middle of an answer. */
const FAILED = /^(error|network_error)$/i;

/** The error in an answer with status 200, beside or instead of its content; null if there is none. */
export function errorInside(raw: unknown): Refusal | null {
  if (!isObject(raw)) return null;
  const choices = Array.isArray(raw.choices) ? raw.choices.filter(isObject) : [];
  const broken = choices.find(({ error, finish_reason: end }) => isError(error) || FAILED.test(String(end)));
  const error = [raw.error, broken?.error].find(isError);
  if (error === undefined && broken === undefined && raw.type !== "error") return null;
  const body = error ?? "the provider failed in the middle of its answer";
  return toRefusal(isObject(body) ? statusOf(body) : 500, body);
}

/** Some gateways send an empty one with each answer. */
const isError = (value: unknown) =>
  (typeof value === "string" && value !== "") || (isObject(value) && Object.values(value).some(Boolean));

/** Kinds of errors by their names, where no number is given. */
const namedStatus: readonly (readonly [RegExp, number])[] = [
  [/billing|insufficient_quota/i, 402],
  [/authentication|api_key|permission/i, 401],
  [/rate_?limit|too_many/i, 429],
  [/overloaded/i, 529],
  [/invalid_?(request|argument|prompt)|bad_?request|not_found|too_large|content_|context_/i, 400],
];

function statusOf({ code, status, status_code, type }: Record<string, unknown>): number {
  const given = [code, status, status_code].map(Number).find((one) => one >= 400 && one < 600);
  const names = JSON.stringify([code, status, type]);
  return given ?? namedStatus.find(([pattern]) => pattern.test(names))?.[1] ?? 500;
}

/**
 * What a refusal is about, as far as its status and words say. "passing": it may work later.
 *
 * @param sizes of the request, by which an unknown wording for "too long" is recognized
 */
export function kindOf(refusal: Refusal, sizes?: Sizes) {
  const { status, words } = refusal;
  if (isQuota(refusal)) return "quota";
  if (status === 401) return "key";
  if (status !== 429 && CONTENT.test(words)) return "content";
  if (status === 403) return "access";
  if (isAbsent(refusal)) return "absent";
  if (status === 404) return "unsupported";
  if (isTooLong(refusal, sizes)) return "too_long";
  if (status === 429) return "rate";
  // Waiting may help with these; other 4xx are refused again on every try.
  return status === 408 || status === 409 || status >= 500 ? "passing" : "unexplained";
}

/** Azure speaks of deployments; OpenRouter and Mistral refuse an unknown model with 400. */
const isAbsent = ({ status, words }: Refusal): boolean =>
  (status === 404 && /model|deployment/i.test(words)) ||
  ([400, 422].includes(status) && /model_not_found|(invalid|unknown) model\b|valid model id/i.test(words));

/** Words of a used-up account near words for what is used up, in one part of a sentence. */
const LACK =
  "insufficient|exhausted|depleted|exceed\\w*|not enough|used (?:up|all)|(?:ran|run|is|are) out of|reach\\w*|hit|too low|\\w+n.?t have any|not have any";
const GAP = '(?:[^.,;!?"]|[.,]\\d){0,40}';
const isLacking = (what: string) =>
  new RegExp(`\\b(?:${LACK})\\b${GAP}\\b(?:${what})\\b|\\b(?:${what})\\b${GAP}\\b(?:${LACK})\\b`, "i");

/** Of tokens for thinking, a budget is no money. */
const lacksMoney = isLacking(
  "balance|credits?|(?<!thinking |reasoning )budgets?(?! tokens)|spend(?:ing)?|funds|prepa(?:id|yment)|cost limit|hard limit of \\$",
);
const lacksPeriod = isLacking("(?:daily|weekly|monthly)(?: \\w+){0,2} (?:limits?|quotas?|caps?|allocation)");
const lacksAllowance = isLacking("quotas?|(?:usage|key) (?:limits?|caps?)|free (?:tier|plan)");
const OTHER_LACK =
  /\bno (\w+ )?(credits?|balance|funds|budget|quota)\b|more credits|insufficient (\w+ )?quota|over (budget|quota)|quota failed|overdue|arrearage|billing (\w+ ){0,4}(hard limit|not active|disabled|error)|(余额|额度|配额).{0,9}(不足|用尽|耗尽|用完)|欠费/i;
const A_DAY = /(per|by|\/) ?(day|month|86400)|\b[tr]pd\b/i;
const SOON =
  /per (\d+ )?(second|minute|sec\b|min\b)|\b[tr]pm\b|burst|rate limit(?! error)|too many requests|(retry|again|wait)[^.]{0,20} \d{1,3}(\.\d+)? ?(s|m)(ec|in|\b)/i;

/** Whether an account is used up, or a limit for a day or longer. A quota with a short wait is a rate; money that is gone does not come back. */
function isQuota({ status, words }: Refusal): boolean {
  if (status === 402 || ![400, 401, 403, 412, 429].includes(status)) return status === 402;
  // Codes are words, too: insufficient_user_quota, AllocationQuota.
  const said = words.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])(?=[A-Z])/g, "$1 ");
  if ([lacksMoney, lacksPeriod, OTHER_LACK].some((one) => one.test(said))) return true;
  return (status === 429 && A_DAY.test(said)) || (lacksAllowance.test(said) && !SOON.test(said));
}

/** A filter of content, in the words of Azure, OpenAI, Anthropic, Gemini, Bedrock, xAI, OpenRouter, DashScope, DeepSeek and LiteLLM. */
const CONTENT =
  /content[_ ]?(filter|policy|management|moderation|violation)|ResponsibleAIPolicy|invalid_prompt|violat\w{1,5} [^.]{0,40}(polic|guideline)|usage polic(y|ies)|safety (system|check)|SAFETY_CHECK|(blocked|flagged|filtered)\b[^.]{0,60}\b(safety|content|polic(y|ies)|moderation|prohibited|harm\w*|recitation|blocklist|spii|violation)|(input|output|prompt|response) (was|is|has been) (blocked|flagged)|PROHIBITED_CONTENT|data_?inspection|inappropriate content|content exists risk|considered high risk|sensitive (content|information|words)|new_sensitive|requires moderation|guardrail/i;

/** Reasons of an answer's end that are a refusal of its content. */
const FILTERED = new Set([
  ...["content_filter", "content_filtered", "refusal", "sensitive", "guardrail_intervened", "error_toxic"],
  ...["safety", "prohibited_content", "recitation", "blocklist", "spii"],
]);

/** Whether an answer ended because of its content, or of that of the request. */
export const isFiltered = (reason: string): boolean =>
  FILTERED.has(reason.toLowerCase().replace(/^finish_?reason[._]|:.*$/gs, ""));

/** Whether an answer without content has the mark of a filter: Azure's results for the prompt, Gemini's feedback. */
export function hasFilterMark(raw: unknown): boolean {
  if (!isObject(raw)) return false;
  const marks = [raw.prompt_filter_results, raw.promptFeedback, raw.prompt_feedback];
  return /"filtered":true|"block_?reason":"/i.test(JSON.stringify(marks));
}

const TOO_LONG =
  /context[_ ]?(length|window|size|limit)|maximum context|ContextWindow|(prompt|inputs?|request|conversation|messages?|text)( \w+){0,3} too (long|large|big)\b|too many (input |prompt )?tokens|token count[^.]{0,60}exceed|(max(imum)?|your) (prompt|input|sequence|model) len|`inputs`|range of input length|reduce (the length of |your |the number of )?(the |your |input |requested )?(messages?|prompt|inputs?|tokens)|token limit|exceed\w*[^.]{0,40}(number of tokens|max(imum)? length|input tokens|prompt length)|prompt (exceeds|contains \d+ tokens)|current length is|input length|tokens to keep|longer than the (model|maximum)/i;

function isTooLong(refusal: Refusal, sizes?: Sizes): boolean {
  const { status, words } = refusal;
  if (status === 413) return true;
  if (![400, 422].includes(status)) return status >= 500 && TOO_LONG.test(words);
  return TOO_LONG.test(words) || (sizes !== undefined && numbersSay(refusal, sizes));
}

/** Sizes of a refused request, in tokens: the answer that was asked for, and an estimate of the prompt. */
export interface Sizes {
  answer: number;
  prompt: number;
}

/** The number after words for a limit. */
const LIMIT =
  /(?:context (?:length|window|size|limit)|model length|max\w* (?:prompt|input) length|must be <=|(?:limit|maximum)\w{0,3} (?:is|of)|allowed)\D{0,30}?(\d{3,9})/i;

/** What two numbers of a message may be: a limit, and a prompt that exceeds it with its answer. `isSum`: their sum is named, too; `isNamed`: the answer. */
function fitsIn(message: string, { answer }: Sizes) {
  const text = message.slice(0, 2_000).replaceAll(/(\d),(?=\d{3}\b)|(?<=\d{2})\.0(?!\.?\w)/g, "$1");
  const [, one, , all] = /(\d{2,9}) \+ (\d{2,9}) > (\d{2,9})/.exec(text)?.map(Number) ?? [];
  if (one && all) return [{ limit: all, prompt: one, isSum: true, isNamed: true }];
  const numbers = [...text.matchAll(/(?<![\w.])\d{2,9}(?!\w|\.\d)/g)].slice(0, 12).map(Number);
  const others = numbers.filter((number) => number !== answer);
  const named = Number(LIMIT.exec(text)?.[1]);
  const isNamed = others.length < numbers.length;
  const sums = isNamed ? others.map((sum) => sum - answer) : [];
  return (named > 0 ? [named] : others).flatMap((limit) =>
    [...others, ...sums]
      .filter((prompt) => prompt > 0 && prompt !== limit && prompt + answer > limit)
      .map((prompt) => ({ limit, prompt, isSum: sums.includes(prompt) && others.includes(prompt), isNamed })),
  );
}

const OF_SIZES = /token|context|prompt|input|window|length|limit|exceed|max|long|large|size|[\u3040-\ud7af]/i;
const LEAST_WINDOW = 512;

/** Whether the numbers of an unknown wording say so: a named sum above a limit, our answer and about our prompt, or that above a window. */
function numbersSay({ message }: Refusal, sizes: Sizes): boolean {
  return fitsIn(message, sizes).some(({ limit, prompt, isSum, isNamed }) => {
    const isNear = prompt > sizes.prompt / 2 && prompt < sizes.prompt * 2;
    if (isSum || (isNamed && isNear && prompt < limit)) return limit > sizes.answer;
    return isNear && prompt > limit && limit >= LEAST_WINDOW && OF_SIZES.test(message);
  });
}

/**
 * Tokens that a refusal's numbers leave for an answer; negative if the prompt alone does not fit, null if they do not say. `isSure` is false
 * if the server stopped counting at its limit, as vLLM does.
 */
export function roomLeft({ message }: Refusal, sizes: Sizes): { tokens: number; isSure: boolean } | null {
  const [best] = fitsIn(message, sizes)
    .map((fit) => ({ ...fit, distance: fit.isSum ? -1 : Math.abs(Math.log(fit.prompt / sizes.prompt)) }))
    .toSorted((a, b) => a.distance - b.distance);
  if (!best) return null;
  const isSure = !/at least/i.test(message);
  const prompt = isSure ? best.prompt : Math.max(best.prompt, sizes.prompt);
  // Servers count a little differently from one request to the next.
  return { tokens: best.limit - prompt - Math.max(16, Math.ceil(prompt / 200)), isSure };
}
