import { describe, expect, it } from "vitest";
import { sandboxFor } from "../sandbox/sandbox.ts";
import type { AppOptions } from "../support/app-under-test.ts";
import type { ChatRequestBody } from "../support/fake-openai.ts";
import { headOf } from "../support/github-double/model.ts";
import { writePermissions } from "../support/github-double/scenario.ts";
import { alsoProving, emptyCart } from "../support/proving-model.ts";
import { type Case, finish, onApp, patient, type ToolCall, turn } from "./conformance-fixture.ts";

const { sandbox, skipped } = await sandboxFor("that a repair passes the test of its finding");

const { finding, head, test } = emptyCart;
const { path } = finding;
const config = { ".github/hunkwise.yml": "prove: { enabled: true }\n" };
const base = { ...emptyCart.base, ...config };
const broken = "reduce((sum, one) => sum + one);";

const edit = (from: string, to: string): ToolCall => ({
  name: "edit_file",
  arguments: { path, old_string: from, new_string: to },
});
const finishFix: ToolCall = {
  name: "finish_fix",
  arguments: {
    summary: "Give an empty cart a total",
    findings: [{ finding: "F1", repaired: true, note: "An empty cart costs nothing." }],
  },
};
const right = [edit("sum + one)", "sum + one, 0)"), finishFix];
/** Looks like a repair, and returns something else than before. */
const wrong = [edit("sum + one)", 'sum + one, "0")'), finishFix];

const offers = (body: ChatRequestBody, tool: string) =>
  body.tools?.some((one) => one.function.name === tool) ?? false;

/** Reports the fault as long as it is there; each turn of a fix makes the next of these calls. */
function repairing(turns: ToolCall[][], requests: string[]) {
  let n = 0;
  const script = (body: ChatRequestBody) => {
    if (offers(body, "finish_fix")) {
      requests.push(JSON.stringify(body.messages));
      return turn(...(turns[n++] ?? []));
    }
    const isThere = JSON.stringify(body.messages).includes(`+  return prices.${broken}`);
    return isThere ? turn({ name: "report_finding", arguments: finding }, finish) : turn(finish);
  };
  return alsoProving(script, { test });
}

/** `requests` is what the model was asked in each turn of the fix. */
const play = <Seen>(
  turns: ToolCall[][],
  over: Partial<AppOptions>,
  run: (app: Case, requests: string[]) => Promise<Seen>,
) => {
  const requests: string[] = [];
  const script = repairing(turns, requests);
  const later = { resolution: () => ({ state: "fixed" as const, reason: "It has a total." }) };
  const options: AppOptions = { base, head, script, later, permissions: writePermissions };
  return onApp({ ...options, ...over }, (app) => run(app, requests));
};

async function asked(app: Case, command: string): Promise<string> {
  await app.review();
  const [thread] = app.threads();
  if (!thread) throw new Error("There is no finding");
  await app.reply(thread, "octocat", command);
  await app.idle();
  return app.replies()[0] ?? "";
}

describe.skipIf(!sandbox)(`a fix with the test of its finding${skipped}`, patient, () => {
  it("A fix is pushed with the comment's test, after one that fails it went back to the model", () =>
    play([wrong, [edit(', "0")', ", 0)"), finishFix]], {}, async (app, turns) => {
      const before = headOf(app.pull);
      const answer = await asked(app, "/fix with test");
      const now = headOf(app.pull);
      const { git } = app.repository;
      expect(answer).toContain(`Pushed ${now}.`);
      expect(answer).toContain("_Its test failed before, passes now, and is a part of the repair._");
      expect(git.git("diff", "--name-only", before, now)).toBe(`${path}\n${test.path}`);
      expect(`${git.git("show", `${now}:${test.path}`)}\n`).toBe(test.text);
      expect(git.git("show", `${now}:${path}`)).toContain("sum + one, 0)");
      expect(turns).toHaveLength(2);
      expect(turns[1]).toMatch(/F1: Its test fails: AssertionError/);
    }));

  it("A fix whose test still fails is not pushed, and the answer says so", () =>
    play([wrong, [edit('"0"', '"1"'), finishFix]], {}, async (app) => {
      const before = headOf(app.pull);
      const answer = await asked(app, "/fix with test");
      expect(headOf(app.pull)).toBe(before);
      expect(answer).toContain("**did not push it**: the test of a finding still fails, even after a second");
    }));

  it("A fix with a test is refused before anything is paid if the finding shows no test", () =>
    play([right], { base: emptyCart.base }, async (app, turns) => {
      const before = headOf(app.pull);
      const answer = await asked(app, "/fix with test");
      expect(headOf(app.pull)).toBe(before);
      expect(answer).toMatch(
        /^I cannot repair this: the finding has no test that shows it. .*without a test/,
      );
      expect(turns).toEqual([]);
    }));
});
