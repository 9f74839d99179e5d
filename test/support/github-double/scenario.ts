import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { type GitHubDouble, type GitHubDoubleOptions, startGitHubDouble } from "../github-double.ts";
import type { App, Installation, Permissions, Pull, Repository } from "./model.ts";
import { type Files, type NewPull, People } from "./people.ts";

export interface ScenarioOptions extends GitHubDoubleOptions {
  /** Files of the base branch. */
  base: Files;
  /** The files of one commit, or of several commits, oldest first. */
  head: Files | NewPull["commits"];
  /** "owner/name". Default "octo-org/shop". */
  repository?: string;
  private?: boolean;
  title?: string;
  body?: string | null;
  /** Default "octocat", who has write access. */
  author?: string;
  branch?: string;
  draft?: boolean;
  labels?: string[];
  fork?: string;
  /** Default: the permissions in `app.yml`. */
  permissions?: Permissions;
}

interface Manifest {
  default_permissions: Permissions;
  default_events: string[];
}

/** The permissions that our App requests, so that every end-to-end test proves that they suffice. */
const read = (file: string) => parse(readFileSync(join(import.meta.dirname, "../../..", file), "utf8"));
const manifest: Manifest = read("app.yml");

/** The permissions in `app.yml`. */
export const manifestPermissions = manifest.default_permissions;

/** The permissions of the opt-in variant. */
export const writePermissions: Permissions = {
  ...manifest.default_permissions,
  ...(read("app.contents-write.yml") as Pick<Manifest, "default_permissions">).default_permissions,
};

export interface Scenario extends AsyncDisposable {
  github: GitHubDouble;
  people: People;
  repository: Repository;
  pull: Pull;
  app: App;
  installation: Installation;
  privateKey: string;
  webhookSecret: string;
  /** Environment variables with which the bot finds this GitHub. */
  env: Record<"APP_ID" | "PRIVATE_KEY" | "WEBHOOK_SECRET" | "GHE_HOST" | "GHE_PROTOCOL", string>;
}

// Key generation takes longer than everything else here, and no test needs its own key.
let keys: { publicKey: string; privateKey: string } | undefined;

/** An App's key pair in PEM; the private key is PKCS#1, GitHub's format. */
export function appKeys(): { publicKey: string; privateKey: string } {
  keys ??= generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  return keys;
}

/** A GitHub with one repository, one pull request and our App installed on it. */
export async function createScenario(options: ScenarioOptions): Promise<Scenario> {
  const github = await startGitHubDouble(options);
  const people = new People(github);
  const { title = "Change it", author = "octocat", repository: name = "octo-org/shop" } = options;
  const isPrivate = options.private ?? true;
  github.state.account(name.split("/")[0] ?? "", "Organization");
  const repository = people.createRepository(name, options.base, { private: isPrivate });
  people.addCollaborator(repository, author, options.fork ? "read" : "write");
  const commits = Array.isArray(options.head) ? options.head : [{ files: options.head }];
  const { body, branch, draft, labels, fork } = options;
  const given = Object.fromEntries(
    Object.entries({ body, branch, draft, labels, fork }).filter(([, value]) => value !== undefined),
  );
  const pull = people.openPull(repository, { title, author, commits, ...given });
  const { publicKey, privateKey } = appKeys();
  const permissions = options.permissions ?? manifest.default_permissions;
  const events = manifest.default_events;
  const app = github.state.addApp({
    slug: "hunkwise",
    name: "Hunkwise",
    owner: author,
    publicKey,
    permissions,
    events,
  });
  const installation = github.state.install(app, [repository]);
  const webhookSecret = randomBytes(20).toString("hex");
  const env = {
    APP_ID: String(app.id),
    PRIVATE_KEY: privateKey,
    WEBHOOK_SECRET: webhookSecret,
    GHE_HOST: `${github.host}:${github.port}`,
    GHE_PROTOCOL: "http",
  };
  const made = { github, people, repository, pull, app, installation, privateKey, webhookSecret, env };
  return { ...made, [Symbol.asyncDispose]: () => github.close() };
}
