import type { ChangedFile } from "../../tools/tool.ts";
import { type FileKind, kindOf } from "./file-kind.ts";

/**
 * The possible loss by a fault in a file, as a number without a unit:
 *
 *     weight of its kind x (1 + size + removals + ground + rules + users)
 *
 * | what it counts                                                        | at most |
 * |-----------------------------------------------------------------------|---------|
 * | size: changed lines, on a logarithmic scale; 1,000 are the maximum    | 0.8     |
 * | removals: removed lines in the same way; removed code may be missed   | 0.3     |
 * | ground: words in the path for areas that are easy to get wrong        | 0.5     |
 * | rules: lines that analyzers matched; three are the maximum            | 0.5     |
 * | users: changed files that import it; 32 are the maximum               | 0.4     |
 *
 * The second factor is 3.5 at most. With these weights, tests, documentation and data never rank above code, documentation never above a
 * test, and data never above documentation, however much of them changed; code and configuration compete.
 */
export function fileRisk({ change }: ChangedFile, { candidates, users }: Circumstances): number {
  const [added, removed] = [change.additions ?? 0, change.deletions ?? 0];
  const factor =
    1 +
    0.8 * share(added + removed, 1_000) +
    0.3 * share(removed, 1_000) +
    0.5 * ground(change.oldPath === null ? change.path : `${change.path}/${change.oldPath}`) +
    0.5 * Math.min(1, candidates / 3) +
    0.4 * share(users, 32);
  return round(weights[kindOf(change.path)] * factor);
}

interface Circumstances {
  /** Lines that analyzers matched. */
  candidates: number;
  /** Changed files that import it. */
  users: number;
}

/** The weights of code, tests, documentation and data are each more than 3.5 times the next one. */
const weights: Record<FileKind, number> = {
  code: 10,
  configuration: 7,
  test: 2.8,
  documentation: 0.7,
  data: 0.15,
};

/** `count` as a share of `many`, at most 1, on a scale on which each doubling counts the same. */
const share = (count: number, many: number) => Math.min(1, Math.log2(1 + count) / Math.log2(1 + many));

/** Equal files have equal risks on every machine. */
const round = (value: number) => Math.round(value * 1_000) / 1_000;

/** Whole words. */
const words = new Set([
  ...["auth", "authn", "authz", "oauth", "saml", "sso", "jwt", "login", "logout", "session", "sessions"],
  ...[
    "token",
    "tokens",
    "secret",
    "secrets",
    "acl",
    "rbac",
    "role",
    "roles",
    "policy",
    "csrf",
    "cors",
    "xss",
  ],
  ...["tls", "ssl", "hmac", "hash", "sql", "query", "schema", "lock", "locks", "locking", "mutex", "race"],
  ...["atomic", "thread", "threads", "worker", "async", "queue", "retry", "cache", "exec", "shell", "eval"],
  ...[
    "payment",
    "payments",
    "billing",
    "price",
    "pricing",
    "checkout",
    "refund",
    "wallet",
    "balance",
    "upload",
  ],
  ...[
    "webhook",
    "proxy",
    "redirect",
    "sandbox",
    "admin",
    "codec",
    "decode",
    "decoder",
    "lexer",
    "unsafe",
    "ffi",
  ],
]);

/** Beginnings of words. */
const beginnings =
  /^(?:authenticat|authori[sz]|crypt|encrypt|decrypt|cipher|password|passwd|credential|signature|permission|privileg|impersonat|securit|saniti[sz]|escap|validat|migrat|transaction|concurren|synchroni[sz]|semaphore|schedul|pars(?:e|er|ers|ing)$|seriali[sz]|deseriali[sz]|unmarshal|pickle|allocat|malloc)/;

const MAX_PATH = 1_000;

/** 0 without such a word, 0.7 with one, 1 with several. */
function ground(path: string): number {
  const found = new Set(
    wordsOf(path.slice(-MAX_PATH)).filter((word) => words.has(word) || beginnings.test(word)),
  );
  return found.size === 0 ? 0 : found.size === 1 ? 0.7 : 1;
}

/** `src/authHTTPClient_v2.ts` -> src, auth, http, client, v, ts. */
function wordsOf(path: string): string[] {
  return (path.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());
}
