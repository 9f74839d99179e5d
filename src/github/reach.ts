import type { Outgoing } from "../egress.ts";
import { AppError } from "../errors.ts";

/** A request to GitHub as it is about to leave. */
export interface GitHubCall {
  method: string;
  /** Below the root of the REST API, as it is sent; `/graphql` wherever that is. */
  path: string;
  query: string;
  /** Parsed; undefined where there is none. */
  body: unknown;
}

/** What a client may send to GitHub. */
export interface Reach {
  /** Throws an AppError `not_allowed` for anything else. */
  check(call: GitHubCall): void;
  /** Told of each answer that was a success: what it shows to be ours may be changed later. */
  learn?(call: Pick<GitHubCall, "method" | "path">, data: unknown): void;
}

/** A repository. Its id is what GitHub's links and redirects name it by; null where nobody knows it. */
export interface Place {
  owner: string;
  repo: string;
  id: number | null;
}

export type Body = Readonly<Record<string, unknown>>;

/** One kind of request. */
export interface Rule {
  /** Method and path; `{id}` stands for a number, which `where` is told. */
  to: string;
  /** All that its body may hold. */
  keys: readonly string[];
  where?: (body: Body, id: number) => boolean;
}

/** A request as seen from the REST API below `root`, which is a path. */
export function callOf({ method, url, body }: Outgoing, root: string): GitHubCall {
  const isGraphql = url.pathname === `${root.replace(/\/(v3\/?)?$/, "")}/graphql`;
  const path = isGraphql ? "/graphql" : pathBelow(root, url);
  return { method, path, query: url.search, body: parsed(body) };
}

/** A path of the REST API below `root`; of anything else the whole address, which no rule knows. */
export function pathBelow(root: string, url: URL): string {
  const base = root.replace(/\/$/, "");
  return url.pathname.startsWith(`${base}/`) ? url.pathname.slice(base.length) : url.href;
}

/** A body that is no JSON is none that any rule knows. */
function parsed(body: string | null): unknown {
  if (body === null || body === "") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** What is not among `allowed` is refused. */
export function onlyIf(allowed: (call: GitHubCall) => boolean): Reach {
  return {
    check(call) {
      if (!allowed(call)) throw notAllowed(call);
    },
  };
}

function notAllowed({ method, path }: GitHubCall): AppError {
  return new AppError(
    "not_allowed",
    `${method} ${path} is nothing that may be sent to GitHub here: it was not sent`,
    {
      remedy: "Report this: it is a fault of Hunkwise, or somebody tried to misuse it",
    },
  );
}

/** Whether a request is one of these; none of them has a query. `path` is below what the rules are below. */
export function isAmong(rules: readonly Rule[], { method, query, body }: GitHubCall, path: string): boolean {
  if (query !== "") return false;
  return rules.some(({ to, keys, where }) => {
    const id = idIn(`${method} ${path}`, to);
    if (id === undefined || !hasOnly(body, keys)) return false;
    return where?.((body ?? {}) as Body, id) ?? true;
  });
}

/** The number in the place of `{id}`, or 0 where there is none to be; undefined where it is another request. */
function idIn(request: string, to: string): number | undefined {
  const [before = "", after] = to.split("{id}");
  if (after === undefined) return request === to ? 0 : undefined;
  if (!request.startsWith(before) || !request.endsWith(after)) return undefined;
  const id = request.slice(before.length, request.length - after.length);
  return /^[1-9]\d{0,15}$/.test(id) ? Number(id) : undefined;
}

function hasOnly(body: unknown, keys: readonly string[]): boolean {
  if (body === undefined) return keys.length === 0;
  if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
  return Object.keys(body).every((key) => keys.includes(key));
}

/** A path below the repository; undefined for any other path, and for one that might be read as another. */
export function below({ owner, repo, id }: Place, path: string): string | undefined {
  const [first, second, third] = path.slice(1).split("/");
  const isNamed =
    first === "repos" && second === encodeURIComponent(owner) && third === encodeURIComponent(repo);
  const isNumbered =
    first === "repositories" && (id === null ? /^\d+$/.test(second ?? "") : second === String(id));
  if ((!isNamed && !isNumbered) || !isPlain(path)) return undefined;
  return path
    .slice(1)
    .split("/")
    .slice(isNamed ? 3 : 2)
    .join("/");
}

/** Whether a path leads where it seems to, however often it is decoded and its dots are followed. */
export function isPlain(path: string): boolean {
  const decoded = decode(path);
  if (decoded === undefined || /%(2e|2f|5c|0)|[\\\p{Cc}]/iu.test(decoded)) return false;
  const [, ...segments] = decoded.split("/");
  return segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
