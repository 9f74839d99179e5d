import { describe, expect, it } from "vitest";
import { sandboxFor } from "../sandbox/sandbox.ts";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import type { ReviewComment } from "../support/github-double/model.ts";
import { headOf } from "../support/github-double/model.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { type Case, finding, finish, numbers, patient, type ToolCall, turn } from "./conformance-fixture.ts";
import { onPull, type PullOptions } from "./on-pull.ts";

const { sandbox, skipped } = await sandboxFor("that a fix runs the tests of a pull request");

const path = "src/numbers.js";
const base = { [path]: numbers(60), ".github/workflows/ci.yml": "on: push\n" };
const head = { [path]: numbers(60, { 24: "const n24 = 0;" }) };
const wrong = finding({ line: 24, quote: "const n24 = 0;", title: "n24 is no longer 24 for its readers" });

const edit: ToolCall = {
  name: "edit_file",
  arguments: { path, old_string: "n24 = 0", new_string: "n24 = 2 * 12" },
};
const finishFix: ToolCall = {
  name: "finish_fix",
  arguments: {
    summary: "Count to 24 again, fixes #1 [skip ci] @everyone",
    findings: [{ finding: "F1", repaired: true, note: "n24 is 24 again." }],
  },
};

const offers = (body: ChatRequestBody, tool: string) =>
  body.tools?.some((one) => one.function.name === tool) ?? false;

/** Reports one finding as long as the fault exists, and repairs with these calls. */
const repairing =
  (...calls: ToolCall[]) =>
  (body: ChatRequestBody) => {
    if (offers(body, "finish_fix")) return turn(...calls, finishFix);
    return JSON.stringify(body.messages).includes("+const n24 = 0;") ? turn(wrong, finish) : turn(finish);
  };

const options = {
  base,
  head,
  script: repairing(edit),
  permissions: writePermissions,
  resolution: "fixed",
} as const;

async function askedFor(app: Case): Promise<ReviewComment> {
  await app.review();
  const [thread] = app.threads();
  if (!thread) throw new Error("There is no finding");
  await app.reply(thread, "octocat", "/fix");
  await app.idle();
  return thread;
}

const play = <Seen>(over: Partial<PullOptions>, run: (app: Case) => Promise<Seen>) =>
  onPull({ ...options, ...over }, run);

describe.concurrent("a fix that was asked for in a thread", patient, () => {
  it("A fix is pushed to the branch by git and reported in its thread, which is resolved", () =>
    play({}, async (app) => {
      const before = headOf(app.pull);
      const thread = await askedFor(app);
      const now = headOf(app.pull);
      const { git } = app.repository;
      expect(git.git("rev-parse", `${now}^`)).toBe(before);
      expect(git.git("diff", "--name-only", before, now)).toBe(path);
      expect(git.git("show", `${now}:${path}`)).toContain("const n24 = 2 * 12;");
      const message = git.git("log", "-1", "--format=%an|%B", now);
      const { id } = app.app.bot;
      expect(git.git("log", "-1", "--format=%ae", now)).toBe(`${id}+hunkwise[bot]@users.noreply.github.com`);
      expect(message).toMatch(/^hunkwise\[bot\]\|Count to 24 again/);
      for (const live of ["#1", "[skip ci]", "@everyone"]) expect(message).not.toContain(live);
      const replies = app.replies();
      expect(replies[0]).toContain(`Pushed ${now}.`);
      expect(replies[0]).toContain("n24 is 24 again.");
      expect(replies[0]).toContain("A second look confirms the repair");
      expect(replies[1]).toContain(`Fixed in ${now.slice(0, 12)}`);
      expect(app.resolvedBy(thread)).toBe("hunkwise[bot]");
      expect(app.end()).toMatchObject({ check: "success" });
    }));

  it.skipIf(!sandbox)(
    `A fix is tested in the sandbox with the base's command, and reports the result${skipped}`,
    () => {
      const script = repairing(edit, { name: "run_command", arguments: { command: "test" } });
      // The command starts with the current files, and finds neither network nor secrets.
      const test = `grep -q '2 . 12' ${path} && ! env | grep -E 'HUNKWISE|TOKEN|KEY' && exit 7\n`;
      const config = "commands: { test: sh test.sh }\n";
      return play(
        { script, base: { ...base, ".github/hunkwise.yml": config, "test.sh": test } },
        async (app) => {
          await askedFor(app);
          expect(app.replies()[0]).toContain(`Pushed ${headOf(app.pull)}.`);
          expect(app.replies()[0]).toContain(
            "Commands run on exactly these files: `sh test.sh` ended with exit code 7.",
          );
        },
      );
    },
  );
});
