import { join } from "node:path";
import { type Checkout, type CheckoutOptions, checkout } from "../../src/repo/git/checkout.ts";
import { Mirror, type MirrorOptions } from "../../src/repo/git/mirror.ts";
import type { HostedRepository } from "../../src/repo/git/places.ts";
import { GitHttpServer } from "./git-http.ts";
import { GitRepo, gitPath, type ImportedCommit, TempFolder } from "./git-repo.ts";

/** A server with one repository `octo/app`, and a data folder for its mirror. */
export class PullRequestServer implements AsyncDisposable {
  readonly folder: TempFolder;
  readonly repo: GitRepo;
  readonly http: GitHttpServer;

  private constructor(folder: TempFolder, repo: GitRepo, http: GitHttpServer) {
    this.folder = folder;
    this.repo = repo;
    this.http = http;
  }

  static async start(): Promise<PullRequestServer> {
    const folder = new TempFolder("server");
    const root = join(folder.path, "served");
    const repo = GitRepo.create({ dir: join(root, "octo", "app.git"), bare: true });
    return new PullRequestServer(folder, repo, await GitHttpServer.start({ root }));
  }

  get dataFolder(): string {
    return join(this.folder.path, "data");
  }

  get url(): string {
    return `${this.http.origin}/octo/app.git`;
  }

  /** Names its mirror. */
  get repository(): HostedRepository {
    return { host: "github.test", id: 7 };
  }

  /** Publishes a pull request that changes, removes and adds a file, while `main` has moved on. */
  publish(): { base: string; head: string; mergeBase: string } {
    const [mergeBase = "", head = "", base = ""] = this.repo.importCommits([
      {
        branch: "main",
        files: [
          ["kept.txt", "kept\n"],
          ["old.txt", "one\ntwo\nthree\n"],
          ["gone.txt", "gone\n"],
        ],
      },
      {
        branch: "topic",
        parents: ["main"],
        files: [
          ["old.txt", "one\n2\nthree\n"],
          ["gone.txt", null],
          ["new/file.txt", "new\n"],
        ],
      },
      { branch: "main", files: [["old.txt", "one\ntwo\nthree, on main\n"]] },
    ]);
    this.push(head);
    return { base, head, mergeBase };
  }

  /** Commits to the pull request. */
  commit(files: ImportedCommit["files"]): string {
    const [sha = ""] = this.repo.importCommits([{ branch: "topic", files }]);
    this.push(sha);
    return sha;
  }

  /** Updates the ref of pull request 1's head, as GitHub does. */
  push(sha: string): void {
    this.repo.setRef("refs/pull/1/head", sha);
  }

  mirror(options: Partial<MirrorOptions> = {}): Promise<Mirror> {
    return Mirror.open({
      gitPath,
      dataFolder: this.dataFolder,
      repository: this.repository,
      url: this.url,
      network: { allowHttp: true },
      ...options,
    });
  }

  /** Checks a head of the pull request out, beside a commit of `main`. */
  async checkout(
    { head, base }: { head: string; base: string },
    options: Partial<CheckoutOptions> = {},
  ): Promise<Checkout> {
    return await checkout({
      mirror: options.mirror ?? (await this.mirror()),
      head: { sha: head, ref: pullRef },
      base: { sha: base, ref: baseRef },
      authorization: null,
      ...options,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http.close();
    this.folder.dispose();
  }
}

export const pullRef = "refs/pull/1/head";
export const baseRef = "refs/heads/main";
