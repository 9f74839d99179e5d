import { AppError, type ErrorCode } from "../../src/errors.ts";
import type {
  CheckRunUpdate,
  FailedCheck,
  InlineComment,
  Issue,
  OwnText,
  OwnThread,
  PullRequest,
  PullRequestApi,
} from "../../src/github/pull-request-api.ts";

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

/** A pull request in memory that behaves as GitHub does, records every call, and fails as it is told. */
export class MemoryGitHub implements PullRequestApi {
  readonly state: PullRequest = {
    number: 7,
    title: "T",
    body: "",
    author: "octocat",
    state: "open",
    draft: false,
    labels: [],
    headSha: head,
    baseSha: "a".repeat(40),
    baseRef: "main",
  };
  readonly reviews: (OwnText & { comments: (InlineComment & { id: number })[] })[] = [];
  readonly fileComments: (OwnText & { path: string })[] = [];
  readonly comments: OwnText[] = [];
  /** Ids of comments whose threads somebody resolved. */
  readonly resolved = new Set<number>();
  readonly checks: MemoryCheck[] = [];
  readonly issues: Issue[] = [];
  readonly failed: FailedCheck[] = [];
  readonly threads: OwnThread[] = [];
  readonly calls: string[] = [];
  /** A pending review of ours stands, beside which GitHub takes no other and no comment. */
  pending = false;
  readonly faults: Fault[] = [];
  /** Which comments GitHub refuses, for which it refuses their whole review. */
  refuses: (comment: { path: string; line?: number }) => boolean = () => false;
  /** Called before each call: the world changes meanwhile. */
  meanwhile: (call: string) => void = () => {};
  #ids = 100;

  count(call: keyof PullRequestApi): number {
    return this.calls.filter((one) => one === call).length;
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
  permissionOf = () => this.#do("permissionOf", () => "write" as const);
  fileAt = () => this.#do("fileAt", () => undefined);
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
    this.#do("ownReviewComments", () => [
      ...this.reviews.flatMap(({ comments }) =>
        comments.map(({ id, body, path, side, line }) => {
          return { id, body, path, side, line, outdated: false, url: page(id) };
        }),
      ),
      ...this.fileComments.map(({ id, body, path }) => {
        return { id, body, path, side: "RIGHT" as const, line: null, outdated: false, url: page(id) };
      }),
    ]);
  openThreads = () =>
    this.#do("openThreads", () => {
      const ids = [...this.reviews.flatMap(({ comments }) => comments), ...this.fileComments];
      return new Set(ids.map(({ id }) => id).filter((id) => !this.resolved.has(id)));
    });
  issue = (number: number) => this.#do("issue", () => this.issues.find((one) => one.number === number));
  failedChecks = () => this.#do("failedChecks", () => this.failed);
  ownThreads = () => this.#do("ownThreads", () => this.threads);
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

  findCheckRun = (headSha: string, externalId: string) =>
    this.#do("findCheckRun", () => {
      const check = this.checks.find((one) => one.headSha === headSha && one.externalId === externalId);
      const last = check?.history.at(-1);
      if (!check || !last) return undefined;
      const { status, conclusion = null, title } = last;
      return { id: check.id, completed: status === "completed", conclusion, title };
    });
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
