import { z } from "zod";
import { AppError, type ErrorCode } from "../../core/errors.ts";
import { backoffMs, type Headers, type Refusal, rateLimitOf } from "./rate-limit.ts";

/** The words in GitHub's settings for the API's access levels. */
const accesses: Record<string, string> = { read: "Read-only", write: "Read and write", admin: "Admin" };

/** A call that is refused for reading will need writing next. */
const neededInTheEnd = new Set(["checks=read", "pull_requests=read"]);

/**
 * The permission that a refused call needs, as the settings of a GitHub App name it: `"Pull requests: Read and write"`. `header` is
 * `x-accepted-github-permissions`: a comma joins permissions that are needed together, a semicolon separates alternatives.
 */
function permissionFor(header: string): string | undefined {
  // An external header: only text that looks like permissions is repeated.
  if (!/^\w+=\w+(\s*[,;]\s*\w+=\w+)*$/.test(header) || header.length > 200) return undefined;
  return header
    .split(";")
    .map((set) => set.split(",").map(settingOf).join(" and "))
    .join(" or ");
}

function settingOf(pair: string): string {
  const asked = pair.trim();
  const [name = "", access = ""] = (neededInTheEnd.has(asked) ? asked.replace("read", "write") : asked).split(
    "=",
  );
  const words = name.replaceAll("_", " ");
  return `"${words.charAt(0).toUpperCase()}${words.slice(1)}: ${accesses[access] ?? access}"`;
}

/** The fields of octokit's RequestError that we use. Its `request` carries the token and is never touched. */
interface RequestFailure extends Error {
  status: number;
  response?: { status: number; headers: Headers; data: unknown };
}

/** GitHub's answer, if the error has one; undefined for a connection that failed before an answer. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!isRequestFailure(error) || !error.response) return undefined;
  // Not the status of the answer: GraphQL reports faults with 200, for which the plugin sets 500.
  const { headers, data } = error.response;
  return { status: error.status, headers, message: messageOf(data) };
}

/** The error that octokit would throw for a refusal. */
export function refusalError({ status, headers, message }: Refusal): Error {
  const response = { status, headers, data: { message } };
  return Object.assign(new Error(message), { status, response } satisfies Omit<RequestFailure, keyof Error>);
}

/** The AppError for any error of a request. Keeps nothing of the request: its headers and the original error hold the token. */
export function toAppError(error: unknown, call: string): AppError {
  const carried = error instanceof Error && error.cause instanceof AppError ? error.cause : error;
  if (carried instanceof AppError) return carried;
  const refusal = refusalOf(error);
  if (!refusal) {
    return new AppError("github_failed", `${call} got no answer from GitHub: ${connectionFault(error)}`, {
      retryable: true,
      remedy: "Check the network, the proxy and https://www.githubstatus.com",
    });
  }
  const detail = refusal.message === "" ? "" : `: ${refusal.message}`;
  const message = `GitHub answered ${call} with ${refusal.status}${detail}`;
  const limit = rateLimitOf(refusal, Date.now());
  if (limit) {
    const retryAfterMs = limit.waitMs ?? backoffMs(0);
    return new AppError("github_rate_limited", message, { retryable: true, retryAfterMs });
  }
  return new AppError(codeFor(refusal), message, {
    ...remedyFor(refusal),
    retryable: refusal.status >= 500 || refusal.status === 408,
  });
}

/** The answer was a success, but its content is not what GitHub documents: cut off, or a proxy's page. */
export function unreadableAnswer(call: string, what: string): AppError {
  return new AppError("github_failed", `GitHub's answer to ${call} is unreadable: ${oneLine(what)}`, {
    retryable: true,
    remedy: "Check whether there is a proxy between this machine and GitHub",
  });
}

interface Answer {
  status: number;
  headers: { "content-type"?: string | undefined };
  data: unknown;
}

/** octokit returns JSON that it cannot parse as plain text. Throws octokit's form of a server error: its plugin repeats a read. */
export function refuseCutOff({ status, headers, data }: Answer, call: string, request: object): void {
  // A deleted thing has no body, even if the answer has a content type, and neither has the address of a file elsewhere.
  if (status === 204 || status === 302) return;
  const json = /^application\/(json|[\w.+-]+\+json)\b/.test(String(headers["content-type"] ?? ""));
  if (!json || typeof data !== "string") return;
  const cause = unreadableAnswer(call, "its JSON is cut off or broken");
  throw Object.assign(new Error(cause.message, { cause }), { status: 502, request });
}

/** The answer; `without` if GitHub says that the thing does not exist. */
export const unlessGone = <T, W = null>(asked: Promise<T>, without: W = null as W): Promise<T | W> =>
  unless(asked, without, "github_not_found");

/** The same if we may not see it. */
export const unlessRefused = <T, W>(asked: Promise<T>, without: W): Promise<T | W> =>
  unless(asked, without, "github_not_found", "github_forbidden");

async function unless<T, W>(asked: Promise<T>, without: W, ...codes: readonly ErrorCode[]): Promise<T | W> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof AppError && codes.includes(error.code))) throw error;
    return without;
  }
}

/** The first three faults of an answer: to describe a hundred thousand faults takes a second. */
export const firstFaults = ({ issues }: z.ZodError): string =>
  z.prettifyError(new z.ZodError(issues.slice(0, 3)));

/** The AppError for an action that needs permissions which the GitHub App does not have, such as `contents=write`. */
export function notGranted(what: string, permissions: string): AppError {
  const named = permissionFor(permissions);
  return new AppError("github_forbidden", `${what} needs the permission ${named}, which is not granted`, {
    remedy: `Give Hunkwise the permission ${named}`,
  });
}

/** In a locked conversation GitHub answers 403 for a comment and 422 for a review ("lock prevents review"). */
const isLocked = ({ status, message }: Refusal) =>
  (status === 403 && /\bis locked\b/i.test(message)) ||
  (status === 422 && /\block prevents\b/i.test(message));

function codeFor(refusal: Refusal): ErrorCode {
  const { status } = refusal;
  if (isLocked(refusal)) return "github_forbidden";
  if (status === 401) return "github_unauthorized";
  if (status === 403) return "github_forbidden";
  if (status === 404 || status === 410 || status === 451) return "github_not_found";
  if (status === 400 || status === 413 || status === 422) return "github_invalid";
  return "github_failed";
}

function remedyFor(refusal: Refusal): { remedy?: string } {
  const { status, headers, message } = refusal;
  if (status === 401) return { remedy: "Check APP_ID and the private key, or the token" };
  if (isLocked(refusal)) return { remedy: "Unlock the conversation of the pull request" };
  if (status !== 403) return {};
  // GitHub also names the endpoint's permissions in other refusals, such as those of a suspended or archived thing.
  const isMissing = /\bnot accessible by integration\b/i.test(message);
  const permission = isMissing
    ? permissionFor(String(headers["x-accepted-github-permissions"] ?? ""))
    : undefined;
  if (permission === undefined) return { remedy: "Check the permissions of the GitHub App or of the token" };
  return { remedy: `Give Hunkwise the permission ${permission}` };
}

const mostDetails = 20;

function messageOf(data: unknown): string {
  if (typeof data !== "object" || data === null || !("message" in data)) return "";
  const listed = "errors" in data && Array.isArray(data.errors) ? data.errors : [];
  const details = listed.slice(0, mostDetails).map(detailOf);
  return oneLine([data.message, ...details].join("; "));
}

function detailOf(detail: unknown): string {
  if (typeof detail === "string") return detail;
  if (typeof detail !== "object" || detail === null) return "";
  if ("message" in detail && typeof detail.message === "string") return detail.message;
  return JSON.stringify(detail);
}

/** undici says "fetch failed" and hides the reason in `cause`; octokit wraps that once more. */
function connectionFault(error: unknown): string {
  let current = error;
  for (let depth = 0; depth < 4 && current instanceof Error; depth++) {
    if (current.name === "TimeoutError") return "it took too long";
    if ("code" in current && typeof current.code === "string") return current.code;
    current = current.cause;
  }
  return error instanceof Error ? oneLine(error.message) : "unknown reason";
}

/** Only uses the beginning of a very long text: replacing white space in megabytes takes seconds. */
export function oneLine(text: string): string {
  const flat = text
    .slice(0, 3_000)
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return flat.length > 300 ? `${flat.slice(0, 300)}…` : flat;
}

function isRequestFailure(error: unknown): error is RequestFailure {
  return error instanceof Error && "status" in error && typeof error.status === "number";
}
