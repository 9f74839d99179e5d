import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type GitRepo, TempFolder } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-program.ts";
import { soundRepo } from "./sample-repo.ts";

let repo: GitRepo;
let folder: TempFolder;
let app: Record<string, string>;

beforeAll(() => {
  repo = soundRepo();
  folder = new TempFolder("setup");
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  app = {
    APP_ID: "1",
    PRIVATE_KEY: privateKey,
    WEBHOOK_SECRET: "a-secret-of-some-length",
    HUNKWISE_DATA_DIR: join(folder.path, "data"),
    // Nothing answers there, and nothing of GitHub is asked.
    GHE_HOST: "127.0.0.1:9",
    GHE_PROTOCOL: "http",
    PORT: "0",
  };
});
afterAll(() => {
  repo.dispose();
  folder.dispose();
});

/** Runs and expects exit code 2, nothing on stdout, and one line on stderr, which is answered. */
async function complaintOf(args: readonly string[], env?: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await (env ? runCli(args, { env }) : runHere(args));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^hunkwise: [^\n]+[.?]\n$/);
  return stderr;
}

/** The same of a server, of whose log only the end counts. */
async function complaintWithLog(args: readonly string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, { env: { ...env, LOG_LEVEL: "fatal" } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^hunkwise: [^\n]+[.?]\n$/);
  return stderr;
}

const review = (...args: string[]) => ["review", "--repo", repo.dir, ...args];

describe("A setup that cannot work", () => {
  it("A missing git is one line with the remedy", async () => {
    expect(await complaintOf(review(), { PATH: folder.path })).toMatch(/git was not found.*Install git/);
  });

  it("An old git is one line with both versions", async () => {
    using bin = new TempFolder("bin");
    writeFileSync(join(bin.path, "git"), "#!/bin/sh\necho git version 2.30.2\n", { mode: 0o755 });
    const line = await complaintOf(review(), { PATH: bin.path });
    expect(line).toMatch(/git 2\.30\.2 .* older than 2\.39\.5.*Install/);
  });

  it("A folder outside of a repository is one line with the remedy", async () => {
    const line = await complaintOf(["review", "--repo", folder.path]);
    expect(line).toMatch(/no git repository at .*--repo/);
  });

  it("An unknown base or head is one line with the nearest names", async () => {
    expect(await complaintOf(review("--base", "mian"))).toMatch(/no commit 'mian'.*Did you mean 'main'/);
    expect(await complaintOf(review("--head", "nowhere"))).toMatch(/no commit 'nowhere'/);
  });

  it("A model server without the name of a model is one line with the remedy", async () => {
    expect(await complaintOf(review(), { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" })).toMatch(
      /HUNKWISE_MODEL is missing/,
    );
  });

  it("An unreadable price table is one line with the remedy", async () => {
    const prices = join(folder.path, "prices.json");
    writeFileSync(prices, "{");
    const env = { OPENAI_API_KEY: "key", HUNKWISE_PRICES: prices };
    expect(await complaintOf(review("--base", "main"), env)).toMatch(/prices cannot be read/);
  });

  it("A bad private key, and a missing or guessable webhook secret, are one line with the remedy", async () => {
    expect(await complaintOf(["serve"], { ...app, PRIVATE_KEY: "nonsense" })).toMatch(/PRIVATE_KEY/);
    expect(await complaintOf(["serve"], { ...app, WEBHOOK_SECRET: "" })).toMatch(/WEBHOOK_SECRET is missing/);
    expect(await complaintOf(["serve"], { ...app, WEBHOOK_SECRET: "development" })).toMatch(/WEBHOOK_SECRET/);
  });

  it("A data folder that is a file is one line with the remedy", async () => {
    const file = join(folder.path, "file");
    writeFileSync(file, "");
    expect(await complaintOf(["worker"], { ...app, HUNKWISE_DATA_DIR: file })).toMatch(
      /data folder .*HUNKWISE_DATA_DIR/,
    );
  });

  it("A data folder that cannot be made is refused before anybody creates an App", async () => {
    const { APP_ID: _, PRIVATE_KEY: __, ...none } = app;
    for (const command of ["serve", "worker"]) {
      const env = { ...(command === "serve" ? none : app), HUNKWISE_DATA_DIR: "/proc/hunkwise" };
      expect(await complaintWithLog([command], env)).toMatch(
        /Cannot use the data folder \/proc\/hunkwise: .* Make it a folder that this user can write to/,
      );
    }
  });

  it("Folders in the data folder that this process may not write to are refused", async () => {
    const dataDir = join(folder.path, "foreign");
    mkdirSync(dataDir);
    symlinkSync("/proc/self", join(dataDir, "mirrors"));
    expect(await complaintWithLog(["worker"], { ...app, HUNKWISE_DATA_DIR: dataDir })).toMatch(
      /Cannot use the data folder .*foreign\/mirrors: /,
    );
  });

  it("An unusable model, database or temporary folder is refused before anybody creates an App", async () => {
    const { APP_ID: _, PRIVATE_KEY: __, ...none } = app;
    const refused = (more: Record<string, string>) => complaintWithLog(["serve"], { ...none, ...more });
    expect(await refused({ DATABASE_URL: "postgres://127.0.0.1:9/none" })).toMatch(/Postgres|database/);
    expect(await refused({ TMPDIR: "/proc/none" })).toMatch(/Cannot write temporary files: .*TMPDIR/);
    const prices = join(folder.path, "no-prices.json");
    writeFileSync(prices, "{");
    expect(await refused({ OPENAI_API_KEY: "key", HUNKWISE_PRICES: prices })).toMatch(
      /prices cannot be read/,
    );
  });

  it("All that is wrong is named in one line", async () => {
    const line = await complaintOf(["serve"], {
      ...app,
      PORT: "x",
      HUNKWISE_CONCURRENCY: "y",
      WEBHOOK_SECRET: "",
    });
    expect(line).toMatch(
      /^hunkwise: PORT must .*; HUNKWISE_CONCURRENCY must .* "y"\. Correct it in .*\.env\. WEBHOOK_SECRET is missing\. Set it to the webhook secret /,
    );
  });

  it("A worker without an App is refused", async () => {
    const line = await complaintOf(["worker"], { HUNKWISE_DATA_DIR: join(folder.path, "none") });
    expect(line).toMatch(/no credentials for a GitHub App\. Run `hunkwise serve`/);
  });

  it("A port that is taken is refused", async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, done));
    const { port } = server.address() as AddressInfo;
    try {
      const { code, stderr } = await runCli(["serve"], {
        env: { ...app, PORT: String(port), LOG_LEVEL: "fatal" },
      });
      expect(code).toBe(2);
      expect(stderr).toMatch(/^hunkwise: [^\n]*port[^\n]*\n$/i);
      expect(stderr).toContain(String(port));
    } finally {
      server.close();
    }
  });

  it("The stack follows on request", async () => {
    const { stderr } = await runCli(review("--base", "nowhere"), { env: { LOG_LEVEL: "debug" } });
    expect(stderr).toMatch(/^hunkwise: There is no commit 'nowhere'[^\n]*\n[^\n]*\n {4}at /);
  });
});

describe("The variables of other programs", () => {
  it("Variables of other programs do not disturb a local review", async () => {
    const env = { PORT: "/tmp/socket", DATABASE_URL: "postgres://localhost/other", APP_ID: "none" };
    expect((await runCli(review("--base", "main", "--dry-run"), { env })).code).toBe(0);
  });
});
