import { describe, expect, it, vi } from "vitest";
import type { RunSummary } from "../../src/records/run-summary.ts";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { runCli } from "../support/run-cli.ts";
import { finding, patient, turn } from "./conformance-fixture.ts";
import { onPull } from "./on-pull.ts";

const base = { "src/numbers.js": "export const one = 1;\nexport const two = 2;\n" };
const head = { "src/numbers.js": "export const one = 1;\nexport const two = 3;\n" };
const later = { "src/numbers.js": "export const one = 7;\nexport const two = 3;\n" };
const wrongTwo = finding({ line: 2, quote: "export const two = 3;", title: "Two is not three" });
const wrongOne = finding({ line: 1, quote: "export const one = 7;", title: "One is not seven" });
const finish = { name: "finish_review", arguments: { summary: "Changes numbers." } };
const isLong = process.env.HUNKWISE_LONG === "1";

interface Row {
  id: string;
  [field: string]: unknown;
}

describe("the record of a server's review", patient, () => {
  it("shows what it read, found, posted and paid, and asks no model for that", () =>
    onPull({ base, head, script: [turn(wrongTwo, finish), turn(wrongOne, finish)] }, async (app) => {
      await app.review();
      await app.push(later);
      const { dataFolder, repository, model } = app;
      const asked = model?.requests.length;
      const env = { HUNKWISE_DATA_DIR: dataFolder };
      const of = ["--repository", `octo-org/${repository.name}`, "--pull", "1"];

      // A job ends a moment after its check run.
      const rows = await vi.waitFor(
        async () => {
          const listed = await runCli(["runs", ...of, "--json"], { env });
          expect(listed).toMatchObject({ code: 0, stderr: "" });
          const all: Row[] = JSON.parse(listed.stdout);
          expect(all).toMatchObject([
            { source: "server", task: "review", pull: 1, state: "done", findings: 1 },
            { source: "server", task: "review", pull: 1, state: "done", findings: 1 },
          ]);
          return all;
        },
        { timeout: 30_000, interval: 100 },
      );
      const first = rows.at(-1);

      const { stdout } = await runCli(["runs", first?.id ?? ""], { env });
      expect(stdout).toMatch(
        /HIGH src\/numbers\.js:2 Two is not three \(\w+, inline\)\s+http\S+#discussion_r\d+\n/,
      );
      expect(stdout).toMatch(/- POST \/pulls\/1\/reviews\s+http\S+#pullrequestreview-\d+\n/);
      expect(stdout).toMatch(/- POST \/issues\/1\/comments\s+http\S+#issuecomment-\d+\n/);
      expect(stdout).toMatch(/2 turns, [\d,]+ tokens/);
      const summary = await runCli(["runs", first?.id ?? "", "--json"], { env });
      const { loops } = JSON.parse(summary.stdout) as RunSummary;
      const calls = loops.flatMap(({ steps }) =>
        steps.flatMap((one) => (one.kind === "turn" ? one.calls : [])),
      );
      expect(calls).toMatchObject([
        { tool: "report_finding", about: expect.stringContaining("Two is not three") },
        { tool: "finish_review" },
        { tool: "report_verdict", about: expect.stringContaining("confirmed") },
      ]);

      expect(model?.requests.length).toBe(asked);
    }));
});

const isOffered = (body: ChatRequestBody, tool: string) =>
  body.tools?.some((one) => one.function.name === tool) ?? false;

const edit = {
  ...{ path: "src/numbers.js", old_string: "two = 3", new_string: "two = 1 + 1" },
};
const repaired = { summary: "Two is two", findings: [{ finding: "F1", repaired: true, note: "It is two." }] };

function answering(body: ChatRequestBody) {
  if (isOffered(body, "reply"))
    return turn({ name: "reply", arguments: { text: "Because **two** is not." } });
  if (isOffered(body, "finish_fix"))
    return turn({ name: "edit_file", arguments: edit }, { name: "finish_fix", arguments: repaired });
  return JSON.stringify(body.messages).includes("+export const two = 3;")
    ? turn(wrongTwo, finish)
    : turn(finish);
}

describe("the record of what people asked for", patient, () => {
  it.runIf(isLong)("shows who asked what, what was answered, repaired and pushed", () =>
    onPull(
      { base, head, script: answering, permissions: writePermissions, resolution: "fixed" },
      async (app) => {
        await app.review();
        const [thread] = app.threads();
        if (!thread) throw new Error("There is no finding");
        await app.comment("octocat", "/ask Why is two wrong?");
        await app.reply(thread, "octocat", "/fix");
        await app.idle();
        const { dataFolder, repository, model } = app;
        const asked = model?.requests.length;
        const env = { HUNKWISE_DATA_DIR: dataFolder };
        const of = ["--repository", `octo-org/${repository.name}`];
        const { stdout } = await runCli(["runs", ...of, "--json"], { env });
        const rows: Row[] = JSON.parse(stdout);
        const told: Record<string, RegExp> = {
          ask: /octocat asked: Why is two wrong\?[\s\S]*Answered; finished\.[\s\S]*Because \*\*two\*\* is not\./,
          fix: /- src\/numbers\.js:2 Two is not three[\s\S]*1 of 1 finding repaired;[\s\S]*0 findings;[\s\S]*push octo-org\/\S+ \S+\s+http\S+\/commit\/[0-9a-f]{40}\n/,
        };
        for (const [task, text] of Object.entries(told)) {
          const row = rows.find((one) => one.task === task);
          expect(row).toMatchObject({ state: "done", requested_by: "octocat", tokens: expect.any(Number) });
          expect((await runCli(["runs", row?.id ?? ""], { env })).stdout).toMatch(text);
        }
        expect(model?.requests.length).toBe(asked);
      },
    ),
  );
});
