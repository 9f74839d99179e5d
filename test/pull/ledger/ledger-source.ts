import type { AppError } from "../../../src/core/errors.ts";
import type { OwnText } from "../../../src/core/ledger/entry.ts";
import { formatMarker, type Marker } from "../../../src/core/ledger/marker.ts";
import type {
  Actor,
  OwnComment,
  OwnThread,
  Permission,
  ThreadComment,
} from "../../../src/pull/github/pull-request-api.ts";
import type { LedgerSource } from "../../../src/pull/ledger/read-ledger.ts";
import { renderComment } from "../../../src/pull/publish/render-comment.ts";
import { sampleFinding } from "../../report/sample-result.ts";

export const author = "octocat";
export const us: Actor = { login: "hunkwise", kind: "us" };
export const person = (login: string): Actor => ({ login, kind: "person" });
export const bot: Actor = { login: "other-bot", kind: "bot" };

const key = { head: "h", trigger: "event#7@main" };

/** A comment on a finding as it is posted, with the marker of this version. */
export function findingBody(marker: Partial<Extract<Marker, { kind: "finding" }>> = {}): string {
  const finding = sampleFinding({ title: "The total is off by one", body: "It skips the last line." });
  const context = { repositoryUrl: "https://github.com/o/r", headSha: "h", mergeBaseSha: "b", trigger: "t" };
  const comment = renderComment(finding, { kind: "line" }, context);
  const own = formatMarker({
    ...{ kind: "finding", id: "f1", severity: "medium", ...key },
    ...{ category: null, symbol: null, code: null, source: "model", files: [] },
    ...marker,
  });
  return `${comment.slice(0, comment.lastIndexOf("\n"))}\n${own}`;
}

export const summary = (state: Extract<Marker, { kind: "summary" }>["state"], id = 1): OwnText => ({
  id,
  body: `# Review\n\n${formatMarker({ kind: "summary", ...key, state })}`,
});

export const marked = (text: string, marker: Marker): string => `${text}\n\n${formatMarker(marker)}`;

/** A thread that nobody has touched. */
export function thread(over: Partial<OwnThread> = {}): OwnThread {
  return {
    ...{ id: "T1", comment: 100, body: findingBody(), path: "src/cart.ts", side: "RIGHT" },
    ...{ line: 12, startLine: 10, originalLine: 11, url: "https://github.example/r100" },
    createdAt: "2026-01-01T00:00:00Z",
    ...{ resolved: false, resolvedBy: null, outdated: false, replies: [], downvotes: [], upvotes: 0 },
    ...over,
  };
}

let ids = 1_000;
export const reply = (from: Actor, body: string, createdAt = "2026-01-01T00:00:00Z"): ThreadComment => ({
  ...{ id: ids++, author: from, body, createdAt },
});

/** GitHub as the ledger asks it. Who is not named has read access. */
export class Source implements LedgerSource {
  comments: OwnText[] = [];
  threads: OwnThread[] | AppError = [];
  lines: OwnComment[] = [];
  readonly permissions = new Map<string, Permission>();
  readonly asked: string[] = [];

  ownComments = async () => this.comments;
  ownReviewComments = async () => this.lines;
  ownThreads = async () => {
    if (Array.isArray(this.threads)) return this.threads;
    throw this.threads;
  };
  permissionOf = async (login: string) => {
    this.asked.push(login);
    return this.permissions.get(login) ?? "read";
  };
}
