import { join } from "node:path";
import type { Content } from "../git-repo.ts";
import type { GitHubDouble } from "../github-double.ts";
import { resolveAnchor } from "./anchor.ts";
import { createBareRepository } from "./bare-repository.ts";
import { pullDiff } from "./current-line.ts";
import type {
  IssueComment,
  Pull,
  ReactionContent,
  Repository,
  Review,
  ReviewComment,
  Role,
  Side,
} from "./model.ts";
import { fullName, headOf, nextNumber } from "./model.ts";
import { addPull, sourceOf, syncHead } from "./pull-branch.ts";

/** Content by path; null deletes. */
export type Files = Record<string, Content | null>;

export interface NewPull {
  title: string;
  body?: string | null;
  author: string;
  branch?: string;
  /** Commits of the head branch, oldest first, on top of the base branch. */
  commits: { message?: string; files: Files }[];
  draft?: boolean;
  labels?: string[];
  /** Login of the owner of the fork that holds the head branch. */
  fork?: string;
}

/** The actions of people on GitHub around the App: they own repositories, push, open pull requests, comment. */
export class People {
  readonly #double: GitHubDouble;

  constructor(double: GitHubDouble) {
    this.#double = double;
  }

  get #state() {
    return this.#double.state;
  }

  /** A repository with one commit on main; without files, an empty one to fill through `git`. */
  createRepository(name: string, files?: Files, options: { private?: boolean } = {}): Repository {
    const [owner = "", short = ""] = name.split("/");
    const git = createBareRepository(join(this.#double.folder.path, owner, `${short}.git`));
    if (files) git.importCommits([{ branch: "main", message: "Begin", files: Object.entries(files) }]);
    return this.#state.addRepository({ owner, name: short, git, ...options });
  }

  fork(repository: Repository, owner: string): Repository {
    const known = this.#state.repository(owner, repository.name);
    if (known) return known;
    const git = createBareRepository(join(this.#double.folder.path, owner, `${repository.name}.git`));
    git.git("fetch", "--quiet", repository.gitDir, "+refs/heads/*:refs/heads/*");
    const { name, private: isPrivate } = repository;
    return this.#state.addRepository({ owner, name, git, private: isPrivate, parent: repository });
  }

  addCollaborator(repository: Repository, login: string, role: Role): void {
    repository.collaborators.set(this.#state.account(login).login.toLowerCase(), role);
  }

  openPull(repository: Repository, wanted: NewPull): Pull {
    const number = nextNumber(repository);
    const head = wanted.fork ? this.fork(repository, wanted.fork) : repository;
    const branch = wanted.branch ?? `change-${number}`;
    const commits = wanted.commits.map(({ message, files }, index) => ({
      branch,
      message: message ?? wanted.title,
      ...(index === 0 ? { parents: [repository.git.sha(repository.defaultBranch)] } : {}),
      files: Object.entries(files),
    }));
    head.git.importCommits(commits);
    return addPull(this.#state, repository, head, { ...wanted, branch });
  }

  /** Opens a pull request for an existing branch, in the repository or in a fork. */
  openPullOfBranch(
    repository: Repository,
    branch: string,
    wanted: Omit<NewPull, "commits" | "branch">,
  ): Pull {
    const head = wanted.fork ? this.fork(repository, wanted.fork) : repository;
    return addPull(this.#state, repository, head, { ...wanted, branch });
  }

  /** Adds a commit to the head branch, by the author or another person. Returns the new head. */
  push(pull: Pull, files: Files, message = "More", by = pull.author.login): string {
    const source = sourceOf(pull);
    source.git.importCommits([{ branch: pull.headRef, message, files: Object.entries(files) }]);
    return syncHead(this.#state, pull, { by, kind: "push" });
  }

  /** Replaces the head branch by one commit on top of the base branch, or of another commit. Returns the new head. */
  forcePush(
    pull: Pull,
    files: Files,
    options: { message?: string; onto?: string; by?: string } = {},
  ): string {
    const source = sourceOf(pull);
    const onto = options.onto ?? pull.repository.git.sha(pull.baseRef);
    if (source !== pull.repository) source.git.git("fetch", "--quiet", pull.repository.gitDir, onto);
    const message = options.message ?? "Anew";
    const entries = Object.entries(files);
    source.git.importCommits([{ branch: pull.headRef, message, parents: [onto], files: entries }]);
    return syncHead(this.#state, pull, { by: options.by ?? pull.author.login, kind: "force_push" });
  }

  /** Adds a commit to the default branch, as if another pull request had been merged. */
  pushToBase({ git, defaultBranch }: Repository, files: Files, message = "Elsewhere"): string {
    git.importCommits([{ branch: defaultBranch, message, files: Object.entries(files) }]);
    return git.sha(defaultBranch);
  }

  /** Changes the base branch of the pull request; its head does not change. */
  retarget(pull: Pull, baseRef: string): void {
    this.#change(pull, { baseRef, baseSha: pull.repository.git.sha(`refs/heads/${baseRef}`) });
  }

  /**
   * Renames a branch. Open pull requests with this base branch follow; those with this head branch are closed, and can be reopened if a
   * branch of the old name exists again.
   * https://docs.github.com/en/repositories/configuring-branches-and-merges-in-your-repository/managing-branches-in-your-repository/renaming-a-branch
   */
  renameBranch(repository: Repository, from: string, to: string): { retargeted: Pull[]; closed: Pull[] } {
    repository.git.git("branch", "-m", from, to);
    if (repository.defaultBranch === from) repository.defaultBranch = to;
    const open = [...this.#state.repositories.values()]
      .flatMap(({ pulls }) => [...pulls.values()])
      .filter(({ state }) => state === "open");
    const retargeted = open.filter((pull) => pull.repository === repository && pull.baseRef === from);
    for (const pull of retargeted) this.#change(pull, { baseRef: to });
    const closed = open.filter((pull) => pull.headRepository === repository && pull.headRef === from);
    for (const pull of closed) this.close(pull);
    return { retargeted, closed };
  }

  /** Adds the pull request to the merge queue. Returns the commit that GitHub makes for it; the queue waits for its checks. */
  queueForMerge(pull: Pull): string {
    const { git } = pull.repository;
    const base = git.sha(`refs/heads/${pull.baseRef}`);
    const branch = `gh-readonly-queue/${pull.baseRef}/pr-${pull.number}-${base}`;
    const message = `Merge pull request #${pull.number}`;
    git.importCommits([{ branch, message, parents: [headOf(pull), base], files: [] }]);
    return git.sha(`refs/heads/${branch}`);
  }

  /** Deletes the fork; its commits stay in the base repository, as on GitHub. */
  deleteFork(pull: Pull): void {
    if (!pull.headRepository || pull.headRepository === pull.repository) return;
    this.#state.repositories.delete(fullName(pull.headRepository).toLowerCase());
    pull.headRepository = null;
  }

  close(pull: Pull): void {
    this.#change(pull, { state: "closed", closedAt: this.#state.now() });
  }

  /** Merges it; the base branch stays where it is. */
  merge(pull: Pull): void {
    this.#change(pull, { state: "closed", merged: true, closedAt: this.#state.now() });
  }

  reopen(pull: Pull): void {
    this.#change(pull, { state: "open", closedAt: null });
  }

  comment(pull: Pull, login: string, body: string): IssueComment {
    const comment: IssueComment = { ...this.#written(login, body), pull };
    pull.comments.push(comment);
    this.#change(pull, {});
    return comment;
  }

  /** Adds a line comment by a person, in a separate review. */
  async reviewComment(
    pull: Pull,
    login: string,
    at: { path: string; line: number; side?: Side; body: string },
  ): Promise<ReviewComment> {
    const result = resolveAnchor(await pullDiff(pull), at);
    if ("problem" in result) throw new Error(`${at.path}:${at.line} is not in the diff: ${result.problem}`);
    return this.#inThread(pull, login, at.body, { path: at.path, anchor: result.anchor, inReplyTo: null });
  }

  reply(to: ReviewComment, login: string, body: string): ReviewComment {
    const first = to.inReplyTo ?? to;
    return this.#inThread(to.pull, login, body, { path: first.path, anchor: first.anchor, inReplyTo: first });
  }

  resolve(comment: ReviewComment, login: string): void {
    (comment.inReplyTo ?? comment).resolvedBy = this.#state.account(login);
  }

  unresolve(comment: ReviewComment): void {
    (comment.inReplyTo ?? comment).resolvedBy = null;
  }

  /** Webhooks and the API show only the new text; permissions are not checked. */
  edit(comment: IssueComment | ReviewComment, body: string): void {
    Object.assign(comment, { body, updatedAt: this.#state.now() });
  }

  /** The next comment of the thread becomes its first; a review without text disappears with its last comment. */
  delete(comment: IssueComment | ReviewComment): void {
    const { pull } = comment;
    pull.comments = pull.comments.filter((one) => one !== comment);
    if (!("review" in comment)) return;
    pull.reviewComments = pull.reviewComments.filter((one) => one !== comment);
    const [next, ...others] = pull.reviewComments.filter((one) => one.inReplyTo === comment);
    if (next) Object.assign(next, { inReplyTo: null, resolvedBy: comment.resolvedBy });
    for (const other of others) Object.assign(other, { inReplyTo: next });
    const { review } = comment;
    const isEmptied = review.body === "" && !pull.reviewComments.some((one) => one.review === review);
    if (isEmptied) pull.reviews = pull.reviews.filter((one) => one !== review);
  }

  label(pull: Pull, name: string): void {
    this.#change(pull, { labels: [...pull.labels, name] });
  }

  retitle(pull: Pull, title: string): void {
    this.#change(pull, { title });
  }

  #change(pull: Pull, fields: Partial<Pull>): void {
    Object.assign(pull, fields, { updatedAt: this.#state.now() });
  }

  react(comment: IssueComment | ReviewComment, login: string, content: ReactionContent): void {
    const user = this.#state.account(login);
    comment.reactions.push({ id: this.#state.nextId(), user, content, createdAt: this.#state.now() });
  }

  #inThread(
    pull: Pull,
    login: string,
    body: string,
    place: Pick<ReviewComment, "path" | "anchor" | "inReplyTo">,
  ): ReviewComment {
    const commitId = headOf(pull);
    const review: Review = { ...this.#written(login, ""), pull, state: "COMMENTED", commitId };
    pull.reviews.push(review);
    const comment: ReviewComment = {
      ...this.#written(login, body),
      pull,
      review,
      commitId,
      resolvedBy: null,
      ...place,
    };
    pull.reviewComments.push(comment);
    this.#change(pull, {});
    return comment;
  }

  #written(login: string, body: string) {
    const now = this.#state.now();
    const author = this.#state.account(login);
    return {
      id: this.#state.nextId(),
      author,
      via: null,
      body,
      createdAt: now,
      updatedAt: now,
      reactions: [],
    };
  }
}
