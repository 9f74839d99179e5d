import { type AppOptions, type AppUnderTest, startApp } from "../support/app-under-test.ts";
import { deliver } from "../support/github-double/deliver.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import type {
  CheckRun,
  Installation,
  Permissions,
  Pull,
  Repository,
} from "../support/github-double/model.ts";
import { fullName, headOf } from "../support/github-double/model.ts";
import {
  type EventDetails,
  issueCommentPayload,
  mergeGroupPayload,
  type Payload,
  type PullAction,
  pullRequestPayload,
} from "../support/github-double/payloads.ts";
import type { Files, NewPull } from "../support/github-double/people.ts";
import { noJobLeft } from "./conformance-fixture.ts";

export interface SharedApp extends AsyncDisposable {
  app: AppUnderTest;
  /** A repository with a separate installation, so that its writes do not wait for others. */
  addRepository(files: Files, permissions?: Permissions): RepositoryOfCase;
}

/** One server for many cases, each with its own repository: starting a server takes longer than most cases. */
export async function startSharedApp(options: Partial<AppOptions> = {}): Promise<SharedApp> {
  const app = await startApp({
    base: { "a.txt": "1\n" },
    head: { "a.txt": "2\n" },
    ...options,
    env: { HUNKWISE_CONCURRENCY: "8", ...options.env },
  });
  let count = 0;
  return {
    app,
    addRepository(files, permissions) {
      const repository = app.people.createRepository(`octo-org/case-${++count}`, files);
      app.people.addCollaborator(repository, "octocat", "write");
      const installation = app.github.state.install(app.app, [repository], permissions);
      return new RepositoryOfCase(app, repository, installation);
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}

export class RepositoryOfCase {
  readonly app: AppUnderTest;
  readonly repository: Repository;
  readonly installation: Installation;

  constructor(app: AppUnderTest, repository: Repository, installation: Installation) {
    this.app = app;
    this.repository = repository;
    this.installation = installation;
  }

  open(files: Files, over: Partial<NewPull> = {}): PullOfCase {
    const wanted = { title: "Change it", author: "octocat", commits: [{ files }], ...over };
    return new PullOfCase(this, this.app.people.openPull(this.repository, wanted));
  }

  /** Opens another pull request for an existing branch. */
  openBranch(branch: string, over: Partial<NewPull> = {}): PullOfCase {
    const wanted = { title: "Change it", author: "octocat", ...over };
    return new PullOfCase(this, this.app.people.openPullOfBranch(this.repository, branch, wanted));
  }

  /** Adds a fault to requests about this repository only: `route` is "POST /pulls/1/reviews", without the repository. */
  fault(route: string, kind: FaultKind, nth: number | "all" = 1): void {
    const [method = "", path = ""] = route.split(" ");
    const match = new RegExp(`^${method} /repos/${fullName(this.repository)}${path}$`);
    this.app.github.faults.add({ match, kind, nth });
  }

  /** Adds a fault to fetches of this repository. */
  breakGit(kind: FaultKind, nth: number | "all" = 1): void {
    this.app.github.faults.add({ match: new RegExp(`/${fullName(this.repository)}\\.git/`), kind, nth });
  }

  /** Resolves when no job of this repository runs or waits for a retry. */
  async idle(): Promise<void> {
    await noJobLeft(this.app, this.repository);
  }

  async deliver(event: string, payload: Payload, id?: string): Promise<number> {
    const target = { url: this.app.server.webhookUrl, secret: this.app.webhookSecret, ...(id ? { id } : {}) };
    return (await deliver(this.app.github.state, event, payload, target)).status;
  }
}

/** The visible state of a pull request when all work is done. */
export interface EndState {
  /** Reviews of the App; a file comment adds a separate one. */
  reviews: number;
  /** Places of its comments: "a.js RIGHT 3", or "a.js" for the file. */
  comments: string[];
  /** Its comments in the conversation. */
  summaries: number;
  /** Its check runs of all heads, oldest first: the conclusion of each, or the status of an open one. */
  checks: string[];
}

export class PullOfCase {
  readonly of: RepositoryOfCase;
  readonly pull: Pull;

  constructor(of: RepositoryOfCase, pull: Pull) {
    this.of = of;
    this.pull = pull;
  }

  /** GitHub's webhook about the current pull request, not delivered yet. */
  payload(action: PullAction, details: EventDetails = {}): Promise<Payload> {
    return pullRequestPayload(this.of.app.github.state, action, this.pull, this.pull.author, details);
  }

  async deliver(action: PullAction, details: EventDetails = {}, id?: string): Promise<number> {
    return this.of.deliver("pull_request", await this.payload(action, details), id);
  }

  /** Writes a comment in the conversation as a person. */
  async command(login: string, body: string): Promise<number> {
    const comment = this.of.app.people.comment(this.pull, login, body);
    return this.of.deliver("issue_comment", issueCommentPayload(this.of.app.github.state, comment));
  }

  /** Queues the pull request; GitHub then requests the checks of the merge commit. */
  async queueForMerge(): Promise<{ status: number; sha: string }> {
    const sha = this.of.app.people.queueForMerge(this.pull);
    const payload = mergeGroupPayload(this.of.app.github.state, this.pull, sha);
    return { status: await this.of.deliver("merge_group", payload), sha };
  }

  /** The check run for events about the newest head and its base branch, or undefined if it is not there. */
  check(): CheckRun | undefined {
    const unseen = `${headOf(this.pull)}:event#${this.pull.number}`;
    const ids = [`${unseen}@${this.pull.baseRef}`, unseen];
    return this.of.repository.checkRuns.find((run) => ids.includes(run.externalId));
  }

  /** Resolves when this check run has this conclusion, or any. */
  concluded(how?: string): Promise<void> {
    const isThere = () => {
      const check = this.check();
      return check?.status === "completed" && (how === undefined || check.conclusion === how);
    };
    return this.of.app.github.until(isThere, 500_000);
  }

  /** The faults that occurred, as "METHOD /path kind". */
  struck(): string[] {
    const about = `/repos/${fullName(this.of.repository)}/`;
    return this.of.app.github.faults.struck.filter((one) => one.includes(about));
  }

  end(): EndState {
    const { app } = this.of.app;
    const ours = <T extends { via: unknown }>(written: readonly T[]) =>
      written.filter(({ via }) => via === app);
    const { reviews, reviewComments, comments } = this.pull;
    return {
      reviews: ours(reviews).length,
      comments: ours(reviewComments).map(({ path, anchor }) =>
        anchor ? `${path} ${anchor.side} ${anchor.line}` : path,
      ),
      summaries: ours(comments).length,
      checks: this.of.repository.checkRuns.map((run) => run.conclusion ?? run.status),
    };
  }

  summary(): string {
    return this.pull.comments.find(({ via }) => via === this.of.app.app)?.body ?? "";
  }
}
