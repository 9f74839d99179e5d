import { randomBytes } from "node:crypto";
import type { GitRepo } from "../git-repo.ts";
import type { LoginCode } from "./login.ts";
import type {
  Account,
  App,
  Delivery,
  Installation,
  IssueComment,
  Permissions,
  Pull,
  Repository,
  ReviewComment,
  Token,
  UserToken,
} from "./model.ts";
import { clientIdOf, fullName } from "./model.ts";

export interface AppSettings {
  id?: number;
  slug: string;
  name?: string;
  owner: string;
  publicKey: string;
  permissions: Permissions;
  events?: string[];
}

export interface RepositorySettings {
  owner: string;
  name: string;
  git: GitRepo;
  private?: boolean;
  parent?: Repository;
}

/** The one-time result for a manifest's code. */
export interface ManifestConversion {
  app: App;
  pem: string;
  webhookSecret: string;
  clientId: string;
  clientSecret: string;
}

/** The state of one GitHub: accounts, ownership and content. It checks no permissions: endpoints do. */
export class GitHubState {
  readonly accounts = new Map<string, Account>();
  readonly apps = new Map<number, App>();
  readonly installations = new Map<number, Installation>();
  readonly tokens = new Map<string, Token>();
  readonly repositories = new Map<string, Repository>();
  readonly deliveries: Delivery[] = [];
  readonly userTokens = new Map<string, UserToken>();
  readonly loginCodes = new Map<string, LoginCode>();
  /** Who has let an App act for them: ids of App and account. */
  readonly authorizations = new Set<string>();
  /** The person whose browser every page of log-in answers; null for one that is not signed in to GitHub. */
  visitor: Account | null = null;
  readonly manifestCodes = new Map<string, ManifestConversion>();
  /** Set when the server listens: the origin of the API, pages and git. */
  origin = "http://127.0.0.1";
  readonly now: () => Date;
  /** Above 2^31, as on GitHub, to expose ids kept in 32 bits. */
  #lastId = 3_000_000_000;

  constructor(now: () => Date) {
    this.now = now;
  }

  get apiUrl(): string {
    return `${this.origin}/api/v3`;
  }

  nextId(): number {
    return ++this.#lastId;
  }

  /** The account of this login; created if it does not exist. */
  account(login: string, type: Account["type"] = "User"): Account {
    const known = this.accounts.get(login.toLowerCase());
    if (known) return known;
    const account: Account = { id: this.nextId(), login, type };
    this.accounts.set(login.toLowerCase(), account);
    return account;
  }

  addApp(settings: AppSettings): App {
    const app: App = {
      id: settings.id ?? 100_000 + this.apps.size + 1,
      slug: settings.slug,
      name: settings.name ?? settings.slug,
      owner: this.account(settings.owner),
      bot: this.account(`${settings.slug}[bot]`, "Bot"),
      publicKey: settings.publicKey,
      permissions: settings.permissions,
      events: settings.events ?? [],
      createdAt: this.now(),
    };
    this.apps.set(app.id, app);
    return app;
  }

  /** Gives an App a client secret. */
  enableLogin(app: App, ...callbackUrls: string[]): { clientId: string; clientSecret: string } {
    const clientId = clientIdOf(app);
    const clientSecret = randomBytes(20).toString("hex");
    app.oauth = { clientId, clientSecret, callbackUrls };
    return { clientId, clientSecret };
  }

  /** A personal token for some repositories, as a person makes it in the settings. */
  personalToken(login: string, repositories: Repository[], permissions: Permissions): string {
    const slug = `person-${login}`;
    const app = this.addApp({ id: this.nextId(), slug, owner: login, publicKey: "", permissions });
    Object.assign(app, { bot: this.account(login), isPerson: true });
    return this.issueToken(this.install(app, repositories)).value;
  }

  install(app: App, repositories: Repository[], permissions: Permissions = app.permissions): Installation {
    const account = repositories[0]?.owner;
    if (!account) throw new Error("An installation needs a repository");
    const installation: Installation = {
      id: this.nextId(),
      app,
      account,
      repositories,
      permissions,
      suspendedAt: null,
      createdAt: this.now(),
    };
    this.installations.set(installation.id, installation);
    return installation;
  }

  uninstall(installation: Installation): void {
    this.installations.delete(installation.id);
    for (const token of [...this.tokens.values()]) {
      if (token.installation === installation) this.tokens.delete(token.value);
    }
  }

  issueToken(
    installation: Installation,
    scope: Partial<Pick<Token, "repositories" | "permissions">> = {},
  ): Token {
    const token: Token = {
      value: `ghs_${randomBytes(27).toString("base64url").replace(/[-_]/g, "0")}`,
      installation,
      repositories: scope.repositories ?? installation.repositories,
      permissions: scope.permissions ?? installation.permissions,
      expiresAt: new Date(Date.now() + 60 * 60 * 1000),
      revoked: false,
    };
    this.tokens.set(token.value, token);
    return token;
  }

  /** Expires all tokens, as an hour would. */
  expireTokens(): void {
    for (const token of this.tokens.values()) token.expiresAt = new Date(0);
  }

  addRepository(settings: RepositorySettings): Repository {
    const owner = this.account(settings.owner);
    const repository: Repository = {
      id: this.nextId(),
      owner,
      name: settings.name,
      private: settings.private ?? true,
      defaultBranch: "main",
      git: settings.git,
      gitDir: settings.git.dir,
      parent: settings.parent ?? null,
      collaborators: new Map([[owner.login.toLowerCase(), "admin"]]),
      pulls: new Map(),
      issues: new Map(),
      checkRuns: [],
      statuses: [],
      workflowRuns: [],
      activities: [],
      createdAt: this.now(),
      archived: false,
      disabled: false,
    };
    this.repositories.set(fullName(repository).toLowerCase(), repository);
    return repository;
  }

  repository(owner: string, name: string): Repository | undefined {
    return this.repositories.get(`${owner}/${name}`.toLowerCase());
  }

  allPulls(): Pull[] {
    return [...this.repositories.values()].flatMap((repository) => [...repository.pulls.values()]);
  }

  findReviewComment(repository: Repository, id: number): ReviewComment | undefined {
    return pullsOf(repository)
      .flatMap((pull) => pull.reviewComments)
      .find((comment) => comment.id === id);
  }

  findIssueComment(repository: Repository, id: number): IssueComment | undefined {
    return pullsOf(repository)
      .flatMap((pull) => pull.comments)
      .find((comment) => comment.id === id);
  }
}

const pullsOf = (repository: Repository) => [...repository.pulls.values()];
