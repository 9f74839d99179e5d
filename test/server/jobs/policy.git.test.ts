import { afterAll, beforeAll, expect, it } from "vitest";
import { scriptedModel } from "../../support/scripted.ts";
import { Commanded, CommandedRepository, reviewTask as task } from "./commands/command-fixture.ts";

let repo: CommandedRepository;
beforeAll(() => {
  repo = new CommandedRepository();
});
afterAll(() => repo[Symbol.asyncDispose]());

const file = ".github/hunkwise.yml";
const report = {
  ...{ path: "src/cart.js", line: 1, quote: "export const rate = 2;" },
  ...{ severity: "high", category: "correctness", title: "The rate doubled", confidence: 0.9 },
  body: "Every price doubles, because the rate is 2.",
};

function under(files: { organization: string; own?: string }) {
  const on = new Commanded(repo);
  let turns = 0;
  const model = scriptedModel(() => ({
    toolCalls:
      turns++ === 0
        ? [{ name: "report_finding", arguments: report }]
        : [{ name: "finish_review", arguments: { summary: "All of it was read." } }],
  }));
  on.model = model;
  on.organization.set(file, files.organization);
  if (files.own !== undefined) on.files.set(file, files.own);
  const check = () => on.github.checks.at(-1)?.history.at(-1);
  return { on, model, check };
}

const loose = [
  "effort: low",
  "minimum_severity: critical",
  "paths: { ignore: ['**'] }",
  "check: { fail: false, threshold: never, limit: neutral }",
  "review: { ignore_authors: [ada] }",
  "",
].join("\n");

it("An organization's policy fails the check of a repository that would let it pass, and reads what it would leave out", async () => {
  const { on } = under({
    organization:
      "policy: { enforce: [check, paths, minimum_severity, review, effort] }\neffort: low\ncheck: { fail: true }\n",
    own: loose,
  });
  expect(await on.attempt(task)).toMatchObject({ kind: "done" });
  expect(on.checks()).toEqual(["event#7@main: failure"]);
  expect(on.github.reviews.at(-1)?.comments.map(({ path }) => path)).toEqual(["src/cart.js"]);
});

it("An organization's policy changes nothing that it does not enforce and the repository sets, or if there is none", async () => {
  const own = "effort: low\ncheck: { fail: false }\n";
  for (const policy of ["policy: { enforce: [budget] }\n", ""]) {
    const { on } = under({ organization: `${policy}check: { fail: true }\n`, own });
    await on.attempt(task);
    expect(on.checks()).toEqual(["event#7@main: neutral"]);
  }
});

it.each<[string, string]>([
  ["is broken", "policy: { enforce: [check] }\ncheck: { fial: customer-names }\n"],
  ["enforces what is no key", "policy: { enforce: [customer-names] }\n"],
])(
  "An organization's policy has no model read anything if it %s, whatever the repository's file says",
  async (_, organization) => {
    const { on, model, check } = under({ organization, own: loose.replace(/review:.*/, "") });
    await on.attempt(task);
    expect(model.requests).toEqual([]);
    expect(on.checks()).toEqual(["event#7@main: neutral"]);
    expect(check()?.title).toMatch(/^Not reviewed\. Analyzers only: /);
    expect(check()?.summary).toMatch(
      /the organization's \.github\/hunkwise\.yml is not valid \(in line \d\)/,
    );
    expect(`${check()?.summary}${on.summary()}`).not.toContain("customer-names");
  },
);

it("An organization's policy has no model read anything if it is required and missing, and says what to do", async () => {
  const { on, model, check } = under({ organization: "effort: low\n", own: "effort: low\n" });
  on.requiresPolicy = true;
  for (const isThere of [true, false]) {
    if (!isThere) on.organization.clear();
    on.recorded.length = 0;
    await on.attempt(task);
    expect(model.requests).toEqual([]);
    expect(check()?.conclusion).toBe("neutral");
    expect(check()?.summary).toMatch(/a policy of the organization is required, and/);
    expect(check()?.summary).toMatch(/Let Hunkwise read the organization's repository `\.github`/);
  }
});

it("An organization's policy ends the reviews of a month when its budget is used up, and the check says so", async () => {
  const { on, model, check } = under({ organization: "policy: { month: { tokens: 5000 } }\n" });
  on.spent = 5_000;
  await on.attempt(task);
  expect(model.requests).toEqual([]);
  expect(check()?.conclusion).toBe("neutral");
  expect(check()?.summary).toContain("this month's budget of its organization is used up");
});
