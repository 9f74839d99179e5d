import { AppError, type ErrorCode } from "../../../src/core/errors.ts";
import type { OwnText } from "../../../src/core/ledger/entry.ts";
import type {
  Actor,
  CheckRunUpdate,
  FailedCheck,
  InlineComment,
  Issue,
  OwnThread,
  Permission,
  PullRequest,
  PullRequestApi,
  PullState,
  ThreadComment,
} from "../../../src/pull/github/pull-request-api.ts";

export const head = "b".repeat(40);

/** "before": nothing was done. "after": it was done, and only the answer was lost. */
export interface Fault {
  call: keyof PullRequestApi;
  /** From 1; every one of them without it. */
  nth?: number;
  when?: "before" | "after";
  error: AppError;
}

export const ambiguous = () =>
  new AppError("github_failed", "POST got no answer: ECONNRESET", { retryable: true });
export const refusal = (code: ErrorCode, remedy?: string) =>
  new AppError(code, `GitHub answered with ${code}`, remedy ? { remedy } : {});

const page = (id: number) => `https://github.example/o/r/pull/7#discussion_r${id}`;

interface MemoryCheck {
  id: number;
  headSha: string;
  externalId: string;
  history: CheckRunUpdate[];
}

/** What became of the thread that a comment of ours opens. */
interface MemoryThread {
  replies: ThreadComment[];
  resolvedBy: Actor | null;
  outdated: boolean;
  downvotes: { by: string; at: string }[];
}

const us: Actor = { login: "hunkwise[bot]", kind: "us" };
/** When everything happens that has no time of its own. */
const at = "2026-11-22T10:00:00Z";

/** A pull request in memory that behaves as GitHub does, records every call, and fails as it is told. */
export class MemoryGitHub implements PullRequestApi {
  readonly state: PullRequest = {
    number: 7,
    title: "T",
    body: "",
    author: "octocat",
    state: "open",
    closed: null,
    draft: false,
    labels: [],
    headSha: head,
    baseSha: "a".repeat(40),
    baseRef: "main",
    source: {
      owner: "octo",
      repo: "shop",
      branch: "change",
      isFork: false,
      isDefault: false,
      maintainersMayPush: false,
    },
  };
  readonly reviews: (OwnText & { comments: (InlineComment & { id: number })[] })[] = [];
  readonly fileComments: (OwnText & { path: string })[] = [];
  readonly comments: OwnText[] = [];
  /** By login; whoever is not named may write. */
  readonly permissions = new Map<string, Permission>();
  readonly checks: MemoryCheck[] = [];
  readonly issues: Issue[] = [];
  readonly failed: FailedCheck[] = [];
  readonly calls: string[] = [];
  readonly pause = async () => {};
  /** A pending review of ours stands, beside which GitHub takes no other and no comment. */
  pending = false;
  readonly faults: Fault[] = [];
  /** Which comments GitHub refuses, for which it refuses their whole review. */
  refuses: (comment: { path: string; line?: number }) => boolean = () => false;
  /** Called before each call: the world changes meanwhile. */
  meanwhile: (call: string) => void = () => {};
  #ids = 100;
  readonly #threads = new Map<number, MemoryThread>();

  count(call: keyof PullRequestApi): number {
    return this.calls.filter((one) => one === call).length;
  }

  /** The thread that a comment of ours opens. */
  thread(comment: number): MemoryThread {
    const known = this.#threads.get(comment);
    if (known) return known;
    const thread = { replies: [], resolvedBy: null, outdated: false, downvotes: [] };
    this.#threads.set(comment, thread);
    return thread;
  }

  /** A person answers in a thread, resolves it, or turns a thumb down. */
  personReplies(comment: number, login: string, body: string): void {
    const author: Actor = { login, kind: "person" };
    this.thread(comment).replies.push({ id: this.#ids++, author, body, createdAt: at });
  }
  personResolves(comment: number, login: string): void {
    this.thread(comment).resolvedBy = { login, kind: "person" };
  }
  personDownvotes(comment: number, login: string): void {
    this.thread(comment).downvotes.push({ by: login, at });
  }
  /** A push changes the code that a comment stands on. */
  outdate(comment: number): void {
    this.thread(comment).outdated = true;
  }
  /** A person deletes a comment of ours. */
  delete(comment: number): void {
    const lists: { id: number }[][] = [
      ...this.reviews.map(({ comments }) => comments),
      ...[...this.#threads.values()].map(({ replies }) => replies),
      ...[this.fileComments, this.comments],
    ];
    for (const list of lists) {
      const index = list.findIndex(({ id }) => id === comment);
      if (index >= 0) list.splice(index, 1);
    }
  }

  /** Our comments on lines and files, oldest first. */
  #lineComments() {
    const onFiles = this.fileComments.map((one) => {
      return { ...one, side: "RIGHT" as const, line: null, startLine: null };
    });
    return [...this.reviews.flatMap(({ comments }) => comments), ...onFiles];
  }

  #threadOf({
    id,
    body,
    path,
    side,
    line,
    startLine,
  }: OwnText & Omit<InlineComment, "line" | "body"> & { line: number | null }): OwnThread {
    const { replies, resolvedBy, outdated, downvotes } = this.thread(id);
    return {
      ...{
        id: `thread-${id}`,
        comment: id,
        body,
        path,
        side,
        url: page(id),
        createdAt: "2026-01-01T00:00:00Z",
      },
      line: outdated ? null : line,
      startLine: outdated ? null : startLine,
      originalLine: line,
      ...{ resolved: resolvedBy !== null, resolvedBy, outdated },
      ...{ replies: replies.slice(-50), downvotes, upvotes: 0 },
    };
  }

  async #do<T>(call: keyof PullRequestApi, work: () => T): Promise<T> {
    this.meanwhile(call);
    this.calls.push(call);
    const nth = this.count(call);
    const fault = this.faults.find((one) => one.call === call && (one.nth ?? nth) === nth);
    if (fault && fault.when !== "after") throw fault.error;
    const done = work();
    if (fault) throw fault.error;
    return done;
  }

  #refuse(comments: readonly { path: string; line?: number }[]): void {
    if (this.pending) throw refusal("github_invalid");
    if (comments.some((comment) => this.refuses(comment))) throw refusal("github_invalid");
  }

  pull = () => this.#do("pull", () => ({ ...this.state }));
  /** Numeric ids of people; only these may be asked about by one. */
  readonly accounts = new Map<string, number>();
  permissionOf = (login: string, account?: number) =>
    this.#do("permissionOf", () => {
      if (account !== undefined && this.accounts.get(login) !== account) return "none" as const;
      return this.permissions.get(login) ?? ("write" as const);
    });
  fileAt = () => this.#do("fileAt", () => undefined);
  commitPulls = () => this.#do("commitPulls", () => [this.state.number]);
  pushers = () => this.#do("pushers", () => null);
  react = () => this.#do("react", () => {});
  ownReviews = () =>
    this.#do("ownReviews", () => {
      const posted = this.reviews.map(({ id, body }) => ({ id, body, pending: false }));
      return this.pending ? [...posted, { id: 1, body: "", pending: true }] : posted;
    });
  discardPendingReviews = () =>
    this.#do("discardPendingReviews", () => {
      this.pending = false;
    });
  ownReviewComments = () =>
    this.#do("ownReviewComments", () =>
      this.#lineComments().flatMap((one) => {
        const {
          comment: id,
          body,
          path,
          side,
          line,
          outdated,
          url,
          createdAt,
          replies,
          downvotes,
        } = this.#threadOf(one);
        const review = this.reviews.find(({ comments }) => comments.some((other) => other.id === id));
        const place = { path, side, line, outdated, url, review: review?.id ?? null, createdAt };
        const ours = replies.filter(({ author }) => author.kind === "us");
        return [
          { id, body, ...place, touched: replies.length + downvotes.length > 0 },
          ...ours.map((reply) => ({ id: reply.id, body: reply.body, ...place })),
        ];
      }),
    );
  issue = (number: number) => this.#do("issue", () => this.issues.find((one) => one.number === number));
  failedChecks = () => this.#do("failedChecks", () => this.failed);
  ownThreads = () => this.#do("ownThreads", () => this.#lineComments().map((one) => this.#threadOf(one)));
  isOwnReviewComment = (id: number) =>
    this.#do("isOwnReviewComment", () =>
      this.#lineComments().some((one) => one.id === id) ? true : undefined,
    );
  reply = (comment: number, body: string) =>
    this.#do("reply", () => {
      if (!this.#lineComments().some(({ id }) => id === comment)) throw refusal("github_not_found");
      this.thread(comment).replies.push({ id: this.#ids++, author: us, body, createdAt: at });
    });
  resolveThread = (id: string) =>
    this.#do("resolveThread", () => {
      this.thread(Number(id.replace("thread-", ""))).resolvedBy = us;
    });
  ownComments = () => this.#do("ownComments", () => this.comments.map((one) => ({ ...one })));

  createReview = (_head: string, body: string, comments: readonly InlineComment[]) =>
    this.#do("createReview", () => {
      this.#refuse(comments);
      const numbered = comments.map((one) => ({ ...one, id: this.#ids++ }));
      this.reviews.push({ id: this.#ids++, body, comments: numbered });
    });
  acceptsReview = (_head: string, comments: readonly InlineComment[]) =>
    this.#do("acceptsReview", () => {
      this.pending = false;
      return !comments.some((comment) => this.refuses(comment));
    });
  createFileComment = (_head: string, path: string, body: string) =>
    this.#do("createFileComment", () => {
      this.#refuse([{ path }]);
      this.fileComments.push({ id: this.#ids++, path, body });
    });
  createComment = (body: string) =>
    this.#do("createComment", () => void this.comments.push({ id: this.#ids++, body }));
  updateComment = (id: number, body: string) =>
    this.#do("updateComment", () => {
      const known = this.comments.find((one) => one.id === id);
      if (!known) throw refusal("github_not_found");
      known.body = body;
    });

  deleteComment = (id: number) => this.#do("deleteComment", () => this.delete(id));
  deleteReviewComment = (id: number) => this.#do("deleteReviewComment", () => this.delete(id));
  editReview = (id: number, body: string) =>
    this.#do("editReview", () => {
      const known = this.reviews.find((one) => one.id === id);
      if (!known) throw refusal("github_not_found");
      known.body = body;
    });

  /** Other pull requests of the repository, by number. */
  readonly otherPulls = new Map<number, PullState>();
  pullState = (number: number) =>
    this.#do("pullState", () => (number === this.state.number ? this.state : this.otherPulls.get(number)));
  checkRuns = (headSha: string) =>
    this.#do("checkRuns", () =>
      this.checks
        .filter((one) => one.headSha === headSha)
        .flatMap(({ id, externalId, history }) => {
          const last = history.at(-1);
          if (!last) return [];
          const { status, conclusion = null, title, summary, text = null } = last;
          return [{ id, externalId, completed: status === "completed", conclusion, title, summary, text }];
        }),
    );
  createCheckRun = (headSha: string, externalId: string, update: CheckRunUpdate) =>
    this.#do("createCheckRun", () => {
      const id = this.#ids++;
      this.checks.push({ id, headSha, externalId, history: [update] });
      return id;
    });
  updateCheckRun = (id: number, update: CheckRunUpdate) =>
    this.#do("updateCheckRun", () => void this.checks.find((one) => one.id === id)?.history.push(update));
  ownAnnotations = (headSha: string) =>
    this.#do("ownAnnotations", () =>
      this.checks
        .filter((check) => check.headSha === headSha)
        .flatMap(({ externalId, history }) =>
          history.flatMap(({ annotations = [] }) =>
            annotations.map(({ details }) => ({ externalId, details })),
          ),
        ),
    );
}
