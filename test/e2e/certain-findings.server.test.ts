import { afterAll, describe, expect, it } from "vitest";
import { fiveSecrets } from "../attacks/five-secrets.ts";
import { candidateIds } from "../support/answer-candidates.ts";
import { isSecondLook, onEveryClaim } from "../support/claims.ts";
import {
  type ChatRequestBody,
  type FakeAnswer,
  type FakeTurn,
  startFakeOpenAi,
} from "../support/fake-openai.ts";
import { GitRepo } from "../support/git-repo.ts";
import { runCli } from "../support/run-cli.ts";
import { type Case, onApp, patient, type ToolCall, turn } from "./conformance-fixture.ts";

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
const finish = call("finish_review", { summary: "Adds configuration." });
const restate = secrets.lines.map((line) =>
  call("report_finding", {
    ...{ path: secrets.path, line, quote: secrets.text.split("\n")[line - 1], severity: "low" },
    ...{ category: "security", title: `Value ${line} is a constant`, body: "It is.", confidence: 0.2 },
  }),
);
const offers = (body: ChatRequestBody, tool: string) =>
  JSON.stringify(body.tools ?? []).includes(`"${tool}"`) ||
  (body.tools === undefined && JSON.stringify(body.messages).includes(tool));

type Say = (body: ChatRequestBody) => FakeAnswer;

/** Refutes, joins, and calls everything fixed that it is asked about; ends its own review at once. */
const denies: Say = (body) => {
  if (offers(body, "add_numbers"))
    return turn(call("add_numbers", { a: 2, b: 3 }), call("add_numbers", { a: 20, b: 30 }));
  if (isSecondLook(body)) return turn(...onEveryClaim(body.messages, { ...refuted, reason }));
  if (offers(body, "report_resolution")) return turn(call("report_resolution", { state: "fixed", reason }));
  if (offers(body, "same_problems")) return turn(call("same_problems", { pairs: [] }));
  return turn(finish);
};
const models: Record<string, Say> = {
  "says only that it is done": denies,
  "restates them mildly, and refutes what it restated": (body) =>
    isSecondLook(body) || ["join_findings", "add_numbers"].some((tool) => offers(body, tool))
      ? denies(body)
      : turn(...restate, finish),
  "rejects every candidate with a fluent reason": (body) => {
    const messages = body.messages.map(({ content }) => ({ content: String(content ?? "") }));
    const rejected = candidateIds({ messages }).map((candidate) => ({ candidate, reason }));
    const isReview =
      !isSecondLook(body) && !["join_findings", "add_numbers"].some((tool) => offers(body, tool));
    return isReview
      ? turn(call("finish_review", { summary: "Adds configuration.", rejected }))
      : denies(body);
  },
  "answers 401": () => ({ fault: "status", status: 401 }),
  "answers 404": () => ({ fault: "status", status: 404 }),
  "answers HTML": () => ({ fault: "html" }),
  "never finishes": (body) =>
    offers(body, "changed_files") ? turn(call("changed_files", {})) : { content: "Let me think." },
};
const passing: Record<string, Say> = {
  "answers 429": () => ({ fault: "status", status: 429, headers: { "retry-after": "0" } }),
  "answers 500": () => ({ fault: "status", status: 500, headers: { "retry-after": "0" } }),
};

/** The same answer in the text protocol. */
const inText = (answer: FakeAnswer): FakeAnswer =>
  "tool_calls" in answer ? { content: JSON.stringify({ calls: (answer as FakeTurn).tool_calls }) } : answer;

/** Each run uses the default effort and one of the protocols; the slow tier uses every effort and both. */
const long = process.env.HUNKWISE_LONG === "1";
const efforts = long ? ["low", "medium", "high"] : ["medium"];
const baseAt = (effort: string) => ({ ...base, ".github/hunkwise.yml": `effort: ${effort}\n` });

describe.concurrent("five committed secrets on the command line", () => {
  const repos = new Map(
    efforts.map((effort) => {
      const repo = GitRepo.create();
      repo.commit("base", baseAt(effort));
      repo.branch("topic");
      repo.commit("Add configuration", head);
      return [effort, repo];
    }),
  );
  afterAll(() => {
    for (const repo of repos.values()) repo.dispose();
  });

  async function review(say: Say, protocol = "native", effort = "medium", url?: string) {
    await using fake = await startFakeOpenAi({
      script: (body) => (protocol === "text" ? inText(say(body)) : say(body)),
    });
    const folder = repos.get(effort)?.dir ?? "";
    const args = ["review", "--repo", folder, "--base", "main", "--format", "json", "--no-record"];
    const env = {
      OPENAI_BASE_URL: url ?? fake.url,
      OPENAI_API_KEY: "test-key",
      HUNKWISE_MODEL: "fake-model",
    };
    const run = await runCli(args, { env: { ...env, HUNKWISE_PROTOCOL: protocol } });
    const { findings } = JSON.parse(run.stdout) as {
      findings: { line: number; severity: string; path: string }[];
    };
    const critical = findings.filter(({ severity }) => severity === "critical");
    return { code: run.code, lines: critical.map(({ line }) => line), stderr: run.stderr };
  }

  const protocols = ["native", "text"];
  // attacks/certain-findings tests all of them within one process.
  const some = Object.keys({ ...models, ...passing }).filter((_, at) => long || at % 3 === 2);
  const cases = some.flatMap((name, at) =>
    (long ? protocols : [protocols[at % 2] ?? ""]).flatMap((protocol) =>
      efforts.map((effort) => [name, protocol, effort] as const),
    ),
  );
  it.for(cases)(
    "Five secrets are found on their lines although the model %s (%s protocol, effort %s)",
    patient,
    async ([name, protocol, effort]) => {
      const { code, lines } = await review({ ...models, ...passing }[name] as Say, protocol, effort);
      expect({ code, lines }).toEqual({ code: 1, lines: secrets.lines });
    },
  );

  it(
    "Five secrets are found on their lines without a reachable model: exit 1, and the reason once",
    patient,
    async () => {
      const { code, lines, stderr } = await review(denies, "native", "medium", "http://127.0.0.1:9/v1");
      expect({ code, lines }).toEqual({ code: 1, lines: secrets.lines });
      expect(stderr.match(/^warning: The model failed: .*127\.0\.0\.1:9/gm)).toHaveLength(1);
      expect(stderr.match(/^warning: /gm)).toHaveLength(1);
    },
  );
});

describe("five committed secrets on a server", () => {
  const expected = {
    ...{ reviews: 1, summaries: 1, check: "neutral" },
    comments: secrets.lines.map((line) => `${secrets.path} RIGHT ${line}`),
  };

  const some = Object.keys(models).filter((_, at) => long || at % 6 === 1);
  const cases = some.flatMap((name) =>
    (long ? ["native", "text"] : ["native"]).flatMap((protocol) =>
      efforts.map((effort) => [name, protocol, effort] as const),
    ),
  );
  it.for(cases)(
    "Five secrets have comments and no green check although the model %s (%s protocol, effort %s)",
    patient,
    ([name, protocol, effort]) => {
      const say = models[name] as Say;
      const everyRole: Say = (body) => (protocol === "text" ? inText(say(body)) : say(body));
      const env = { HUNKWISE_PROTOCOL: protocol };
      return onApp({ base: baseAt(effort), head, everyRole, env }, async (app) => {
        await app.review();

        const { comments, ...end } = app.end();
        const own = comments.filter((_, at) => /is in this file/.test(app.bodies()[at] ?? ""));
        expect({ ...end, comments: own }).toEqual(expected);
      });
    },
  );

  it.runIf(long)("Secrets that a push keeps stay open although the model calls them fixed", patient, () =>
    onApp({ base, head, everyRole: denies }, async (app) => {
      await app.review();
      await app.push({ [secrets.path]: `# Settings\n${secrets.text}port = 80\n` });

      expect(app.replies()).toEqual([]);
      expect(app.end()).toMatchObject({ reviews: 1, check: "neutral" });
      const stand = app.bodies().filter((body) => /is in this file/.test(body));
      expect(stand).toHaveLength(secrets.lines.length);
    }),
  );

  it("Removed secrets are answered as fixed by the rule, without the model", patient, () =>
    onApp(
      { base, head, everyRole: models["rejects every candidate with a fluent reason"] as Say },
      async (app) => {
        await app.review();
        await app.push({ [secrets.path]: "import os\nTOKEN = os.environ['TOKEN']\n" });

        expect(app.replies()).toHaveLength(secrets.lines.length);
        expect(app.replies()[0]).toMatch(/^Fixed in [0-9a-f]{12}: The rule no longer matches\./);
        expect(app.end()).toMatchObject({ summaries: 1, check: "success" });
      },
    ),
  );

  it("A secret that is in another file now is not called fixed, and is reported there", patient, () => {
    const moved = `import os\n${line()}\n`;
    const at = (path: string) => ({ base, head: { [path]: moved }, everyRole: denies });
    return onApp(at("settings.py"), async (app) => {
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
    return onApp({ ...files, head: { "package-lock.json": lock("evil.example") } }, async (app) => {
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
      onApp({ base, head: { [secrets.path]: `import os\n${line()}\n` }, everyRole: denies }, async (app) => {
        await app.review();
        silence(app);
        await app.push({ [secrets.path]: `import os\n${line()}\n` });

        expect(app.end()).toMatchObject({ reviews: 2, check: "neutral" });
        expect(app.bodies().at(-1)).toMatch(/A GitHub token is in this file/);
      }),
  );

  it.runIf(long)("A file that is too large for the analyzers keeps the check from green", patient, () =>
    onApp(
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

  it.runIf(long)("A secret is not called fixed when its file moves to where no analyzer looks", patient, () =>
    onApp({ base, head: { "settings.py": `import os\n${line()}\n` }, everyRole: denies }, async (app) => {
      await app.review();
      await app.push({ "settings.py": null, "vendor/settings.py": `import os\n${line()}\n` });

      expect(app.replies()).toEqual([]);
      expect(app.end().check).toBe("neutral");

      await app.push({ "vendor/settings.py": null });
      expect(app.replies()).toMatchObject([expect.stringMatching(/no longer part of the change/)]);
    }),
  );
});
