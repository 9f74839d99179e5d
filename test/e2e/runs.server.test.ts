import { describe, expect, it, vi } from "vitest";
import type { RunSummary } from "../../src/server/records/run-summary.ts";
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
  it("The record of a review shows what it read, found, posted and paid, and asks no model for that", () =>
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
      const { loops, results, written, totals }: RunSummary = JSON.parse(stdout);
      const discussion = expect.stringMatching(/#discussion_r\d+$/);
      const finding = { severity: "high", path: "src/numbers.js", line: 2, title: "Two is not three" };
      expect(results).toMatchObject([
        { findings: [{ finding, placement: { kind: "inline" }, url: discussion }] },
      ]);
      expect(written.map(({ request }) => request)).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^POST .*\/pulls\/1\/reviews$/),
          expect.stringMatching(/^POST .*\/issues\/1\/comments$/),
        ]),
      );
      expect(totals.paid.turns).toBe(2);
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
  it.runIf(isLong)(
    "The record of commands shows who asked what, what was answered, repaired and pushed",
    () =>
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
          const expected: Record<string, object> = {
            ask: {
              asked: { by: "octocat", question: "Why is two wrong?" },
              results: [{ text: "Because **two** is not.", stop_reason: "finished" }],
            },
            fix: {
              asked: { targets: [{ path: "src/numbers.js", line: 2, title: "Two is not three" }] },
              results: [{ repairs: [{ repaired: true }] }, { findings: [] }],
            },
          };
          for (const [task, summary] of Object.entries(expected)) {
            const row = rows.find((one) => one.task === task);
            expect(row).toMatchObject({ state: "done", requested_by: "octocat", tokens: expect.any(Number) });
            const { stdout: shown } = await runCli(["runs", row?.id ?? ""], { env });
            expect(JSON.parse(shown)).toMatchObject(summary);
            if (task === "fix") expect(shown).toMatch(/push octo-org\/\S+ \S+"/);
          }
          expect(model?.requests.length).toBe(asked);
        },
      ),
  );
});
