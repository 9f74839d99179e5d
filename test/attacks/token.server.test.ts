import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLogger } from "../../src/core/logger.ts";
import { gitAuthorization } from "../../src/server/jobs/github-access.ts";
import { createProbot, installationAuth } from "../../src/server/webhooks/app-auth.ts";
import { finding, finish, numbers, patient, turn, until } from "../e2e/conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { modelKey } from "../support/app-under-test.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { below } from "../support/processes.ts";
import { type Catch, createNet } from "./canaries.ts";

/** Code with a finding on line 24. */
const base = { "src/numbers.js": numbers(60) };
const head = { "src/numbers.js": numbers(60, { 24: "const n24 = 0;" }) };
const report = finding({ line: 24, quote: "const n24 = 0;", title: "Wrong" });

let shared: SharedApp;
let asked = Promise.withResolvers<void>();
let answered = Promise.withResolvers<void>();

beforeAll(async () => {
  shared = await startSharedApp({
    everyRole: withAgreeingSceptic(async () => {
      asked.resolve();
      await answered.promise;
      return turn(report, finish);
    }).script,
    env: { LOG_LEVEL: "trace", HUNKWISE_CONCURRENCY: "2" },
  });
});
afterAll(async () => {
  answered.resolve();
  await shared[Symbol.asyncDispose]();
});

function open(): PullOfCase {
  [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const of = shared.addRepository(base, writePermissions);
  shared.app.people.addCollaborator(of.repository, "ada", "write");
  return of.open(head);
}

/** Usable credentials: every token that GitHub has issued, plain and as git sends it. */
function tokens() {
  const values = [...shared.app.github.state.tokens.keys()];
  expect(values.length).toBeGreaterThan(0);
  return values.map((value, at) => ({ name: `token ${at}`, value: value.slice(4) }));
}

const caught = (text: string): Catch[] => createNet(tokens()).find(text);
/** The items whose text contains a token. */
function holding<T>(all: readonly T[], textOf: (one: T) => string): T[] {
  const net = createNet(tokens());
  return all.filter((one) => net.find(textOf(one)).length > 0);
}

interface Running {
  pid: number;
  argv: string;
  environment: string;
}

/** Every process that the test may inspect. */
function processes(): Running[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const of = (file: string) => readFileSync(`/proc/${pid}/${file}`, "utf8").replaceAll("\0", " ");
        return [{ pid: Number(pid), argv: of("cmdline"), environment: of("environ") }];
      } catch {
        return [];
      }
    });
}

/** The server's descendants. */
function ofServer(): Running[] {
  const own = new Set(below(shared.app.server.process.pid).map((one) => Number(one.split(" ")[0])));
  return processes().filter(({ pid }) => own.has(pid));
}

/** All files in the server's data folder: mirrors, checkouts and databases. */
function written(): { path: string; text: string }[] {
  return readdirSync(shared.app.dataFolder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((path) => {
      try {
        return [{ path, text: readFileSync(path, "latin1") }];
      } catch {
        // It was removed in the meantime.
        return [];
      }
    });
}

const filesWithOne = () => holding(written(), ({ text }) => text).map(({ path }) => path);

describe.skipIf(process.platform !== "linux")("the token of GitHub", () => {
  it(
    "token-at-rest: While git fetches, no argument of a process, no file and no remote holds the token",
    patient,
    async () => {
      const pull = open();
      const gate = Promise.withResolvers<void>();
      pull.of.breakGit({ delay: gate.promise });
      await pull.deliver("opened");
      await until(() => shared.app.github.faults.struck.some((one) => one.includes(".git/")));

      const fetching = ofServer().filter(({ argv }) => /\bfetch\b/.test(argv));
      expect(fetching.length).toBeGreaterThan(0);
      // The environment must hold it, or the checks below prove nothing.
      expect(caught(fetching.map(({ environment }) => environment).join("\n"))).not.toEqual([]);
      expect(holding(processes(), ({ argv }) => argv)).toEqual([]);
      const others = ofServer().filter(({ argv }) => !/^\S*git(?:-remote-https?)?\s|git-core/.test(argv));
      expect(holding(others, ({ environment }) => environment)).toEqual([]);
      expect(filesWithOne()).toEqual([]);
      const configs = written().filter(({ path }) => path.endsWith("/config"));
      expect(configs.length).toBeGreaterThan(0);
      for (const { text } of configs) expect(text).not.toMatch(/extraheader|authorization|:\/\/[^/\s]*@/i);

      gate.resolve();
      answered.resolve();
      await pull.concluded();
    },
  );

  it(
    "token-at-rest: No environment or argument of the review process holds the token or another secret",
    patient,
    async () => {
      const pull = open();
      await pull.deliver("opened");
      await asked.promise;

      const reviewing = ofServer().filter(({ argv }) => argv.includes("review-process"));
      expect(reviewing).toHaveLength(1);
      const processes = reviewing.map(({ argv, environment }) => `${argv}\n${environment}`).join("\n");
      expect(caught(processes)).toEqual([]);
      for (const secret of [shared.app.webhookSecret, modelKey, "PRIVATE KEY", "APP_ID", "OPENAI"])
        expect(processes).not.toContain(secret);
      expect(filesWithOne()).toEqual([]);

      answered.resolve();
      await pull.concluded();
    },
  );

  it(
    "token-at-rest: After reviews, commands and failed fetches no log, database, file or text holds the token",
    patient,
    async () => {
      const pull = open();
      answered.resolve();
      await pull.deliver("opened");
      await pull.concluded();
      await pull.command("ada", "/remember Numbers are never zero");
      await pull.command("ada", "/resolve");
      await pull.of.idle();
      const refused = open();
      answered.resolve();
      refused.of.breakGit({ answer: { status: 403, body: { message: "No" } } }, "all");
      await refused.deliver("opened");
      await refused.concluded();

      const { github, server, model } = shared.app;
      expect(filesWithOne()).toEqual([]);
      expect(caught(server.log())).toEqual([]);
      expect(server.log().length).toBeGreaterThan(1_000);
      expect(caught(JSON.stringify(github.requests))).toEqual([]);
      expect(caught(JSON.stringify(model?.requests))).toEqual([]);
      const checks = refused.of.repository.checkRuns.map(({ conclusion, output }) => ({
        conclusion,
        output,
      }));
      expect(checks).toMatchObject([{ conclusion: expect.not.stringMatching("success") }]);
      expect(caught(JSON.stringify(checks))).toEqual([]);
    },
  );
});

it("token-at-rest: An error of a fetch or of a request contains no token at any depth", async () => {
  const { github, app, privateKey, webhookSecret, installation } = shared.app;
  const place = { host: github.host, protocol: "http", apiUrl: github.apiUrl, webUrl: github.url } as const;
  const probot = createProbot({ id: app.id, privateKey, webhookSecret }, place, createLogger("silent"));
  const reference = { installation: installation.id, id: 1, owner: "octo-org", name: "gone" };
  const error = await gitAuthorization(installationAuth(probot), reference).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: "github_invalid" });
  const shown = inspect(error, { depth: 10, showHidden: true });
  // The App's own token, which every request for a token starts with.
  expect(shown).not.toMatch(/eyJ|bearer /i);
});
