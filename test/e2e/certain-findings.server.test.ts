import { afterAll, describe, expect, it } from "vitest";
import { fiveSecrets } from "../attacks/five-secrets.ts";
import { candidateIds } from "../support/answer-candidates.ts";
import { isSecondLook, onEveryClaim } from "../support/claims.ts";
import {
  type ChatRequestBody,
  type FakeScript,
  type FakeTurn,
  startFakeOpenAi,
} from "../support/fake-openai.ts";
import { GitRepo } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { type Case, patient, type ToolCall, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

/*
 * Five committed secrets against models that hide them or fail, through the real command line and the real server.
 */

const secrets = fiveSecrets();
const base = { "config.py": "import os\n" };
/** Beside the secrets, a match that a rule rates as likely, for models to reject. */
const likely = { "cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n" };
const head = { [secrets.path]: secrets.text, ...likely };

const call = (name: string, args: Record<string, unknown>): ToolCall => ({ name, arguments: args });
const reason = "The value is a documented placeholder that the vendor publishes for tests.";
const refuted = {
  verdict: "refuted",
  evidence: [{ path: secrets.path, start_line: 1, end_line: 1, note: "a placeholder" }],
};
const offers = (body: ChatRequestBody, tool: string) =>
  JSON.stringify(body.tools ?? []).includes(`"${tool}"`);

/**
 * Rejects every candidate, refutes, joins, and calls everything fixed that it is asked about. attacks/certain-findings tries other models,
 * protocols and efforts within one process.
 */
const denies = (body: ChatRequestBody): FakeTurn => {
  if (isSecondLook(body)) return turn(...onEveryClaim(body.messages, { ...refuted, reason }));
  if (offers(body, "report_resolution")) return turn(call("report_resolution", { state: "fixed", reason }));
  if (offers(body, "same_problems")) return turn(call("same_problems", { pairs: [] }));
  const messages = body.messages.map(({ content }) => ({ content: String(content ?? "") }));
  const rejected = candidateIds({ messages }).map((candidate) => ({ candidate, reason }));
  return turn(call("finish_review", { summary: "Adds configuration.", rejected }));
};

const long = process.env.HUNKWISE_LONG === "1";

describe("five committed secrets on the command line", () => {
  const repo = GitRepo.create();
  repo.commit("base", base);
  repo.branch("topic");
  repo.commit("Add configuration", head);
  afterAll(() => repo.dispose());

  async function review(url: string) {
    const args = ["review", "--repo", repo.dir, "--base", "main", "--format", "json", "--no-record"];
    const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: "test-key", HUNKWISE_MODEL: "fake-model" };
    const run = await runCli(args, { env: { ...env, HUNKWISE_PROTOCOL: "native" } });
    const { findings } = JSON.parse(run.stdout) as { findings: { line: number; severity: string }[] };
    const critical = findings.filter(({ severity }) => severity === "critical");
    return { code: run.code, lines: critical.map(({ line }) => line), stderr: run.stderr };
  }

  it.each<[string, FakeScript]>([
    ["rejects every candidate", denies],
    ["answers 429", () => ({ fault: "status", status: 429, headers: { "retry-after": "0" } })],
    ["answers HTML", () => ({ fault: "html" })],
  ])("Five secrets are found on their lines although the model %s", patient, async (_, script) => {
    await using fake = await startFakeOpenAi({ script });
    const { code, lines } = await review(fake.url);
    expect({ code, lines }).toEqual({ code: 1, lines: secrets.lines });
  });

  it("Five secrets are found without a reachable model, and the reason is said once", patient, async () => {
    const { code, lines, stderr } = await review("http://127.0.0.1:9/v1");
    expect({ code, lines }).toEqual({ code: 1, lines: secrets.lines });
    expect(stderr.match(/^warning: The model failed: .*127\.0\.0\.1:9/gm)).toHaveLength(1);
    expect(stderr.match(/^warning: /gm)).toHaveLength(1);
  });
});

describe.concurrent("five committed secrets on a server", () => {
  it(
    "Five secrets have comments and no green check although the model rejects every candidate",
    patient,
    () =>
      onPull({ base, head, everyRole: denies }, async (app) => {
        await app.review();

        const { comments, ...end } = app.end();
        const own = comments.filter((_, at) => /is in this file/.test(app.bodies()[at] ?? ""));
        expect({ ...end, comments: own }).toEqual({
          ...{ reviews: 1, summaries: 1, check: "neutral" },
          comments: secrets.lines.map((line) => `${secrets.path} RIGHT ${line}`),
        });
      }),
  );

  it("Removed secrets are answered as fixed by the rule, without the model", patient, () =>
    onPull({ base, head, everyRole: denies }, async (app) => {
      await app.review();
      await app.push({ [secrets.path]: "import os\nTOKEN = os.environ['TOKEN']\n" });

      expect(app.replies()).toHaveLength(secrets.lines.length);
      expect(app.replies()[0]).toMatch(/^Fixed in [0-9a-f]{12}: The rule no longer matches\./);
      expect(app.end()).toMatchObject({ summaries: 1, check: "success" });
    }),
  );

  it("A secret that is in another file now is not called fixed, and is reported there", patient, () => {
    const moved = `import os\n${line()}\n`;
    const at = (path: string) => ({ base, head: { [path]: moved }, everyRole: denies });
    return onPull(at("settings.py"), async (app) => {
      await app.review();
      await app.push({ "settings.py": "import os\n", "keys.py": moved });

      expect(app.replies()).toEqual([
        expect.stringMatching(/^No longer reported as of [0-9a-f]{12}: A secret of the same kind/),
      ]);
      expect(app.end()).toMatchObject({ check: "neutral", comments: [expect.anything(), "keys.py RIGHT 2"] });
    });
  });

  it("An entry of a lock file keeps the check from green until it is dismissed", patient, () => {
    const lock = (place: string) =>
      JSON.stringify({
        lockfileVersion: 3,
        packages: { "node_modules/a": { version: "1.0.0", resolved: `https://${place}/a/-/a-1.0.0.tgz` } },
      });
    const files = { base: { "package-lock.json": lock("npm.example") }, everyRole: denies };
    return onPull({ ...files, head: { "package-lock.json": lock("evil.example") } }, async (app) => {
      await app.review();
      expect(app.end()).toMatchObject({ check: "neutral", comments: ["package-lock.json RIGHT 1"] });
      expect(app.bodies()[0]).toContain("comes from evil.example, and it came from npm.example");

      app.people.react(app.threads()[0]!, "octocat", "-1");
      await app.push({ "notes.txt": "one\n" });
      expect(app.end().check).toBe("success");
    });
  });

  const line = () => fiveSecrets().text.split("\n")[2] ?? "";
  const silences: [string, (app: Case) => void][] = [
    ["dismissed", (app) => app.people.react(app.threads()[0]!, "octocat", "-1")],
    ["deleted", (app) => app.people.delete(app.threads()[0]!)],
  ];

  it.runIf(long).for(silences)(
    "Another secret in the place of one that a maintainer has %s is reported",
    patient,
    ([, silence]) =>
      onPull({ base, head: { [secrets.path]: `import os\n${line()}\n` }, everyRole: denies }, async (app) => {
        await app.review();
        silence(app);
        await app.push({ [secrets.path]: `import os\n${line()}\n` });

        expect(app.end()).toMatchObject({ reviews: 2, check: "neutral" });
        expect(app.bodies().at(-1)).toMatch(/A GitHub token is in this file/);
      }),
  );

  it.runIf(long)("A file that is too large for the analyzers keeps the check from green", patient, () =>
    onPull(
      {
        base,
        head: { [secrets.path]: `${secrets.text}${`# ${"more ".repeat(20)}\n`.repeat(10_000)}` },
        everyRole: denies,
      },
      async (app) => {
        await app.review();

        expect(app.end().check).toBe("neutral");
        expect(app.summary()).toMatch(/the built-in analyzers did not finish on 1 file/);
      },
    ),
  );

  const ignoring = { ".github/hunkwise.yml": "paths: { ignore: ['dist/**'] }\n" };
  it.runIf(long)(
    "A secret is not called fixed when its file moves to an ignored folder, only when it has left that too",
    patient,
    () =>
      onPull(
        {
          base: { ...base, ...ignoring },
          head: { "settings.py": `import os\n${line()}\n` },
          everyRole: denies,
        },
        async (app) => {
          await app.review();
          await app.push({ "settings.py": null, "dist/settings.py": `import os\n${line()}\n` });

          expect(app.replies()).toEqual([]);
          expect(app.end().check).toBe("neutral");

          await app.push({ "dist/settings.py": null });
          const gone = expect.stringMatching(/no longer part of the change/);
          expect(app.replies()).toEqual([gone, gone]);
        },
      ),
  );
});
