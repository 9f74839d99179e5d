import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { actionFile, evaluate } from "../support/action-runner.ts";
import type { Permissions } from "../support/github-double/model.ts";
import { manifestPermissions } from "../support/github-double/scenario.ts";
import { onAction, pricesOf, withModel } from "./action-fixture.ts";
import { finding, finish, numbers, patient, turn } from "./conformance-fixture.ts";

interface Workflow {
  on: string | Record<string, unknown>;
  permissions: Permissions;
  jobs: Record<string, { if?: string; steps: { uses: string; with?: Record<string, string> }[] }>;
}

/** The workflows of docs/action.md, by the heading above each. */
const page = readFileSync(join(import.meta.dirname, "../../docs/action.md"), "utf8");
const workflows = page.split(/^## /m).flatMap((section) => {
  const [, text] = /^```yaml\n([\s\S]*?)^```/m.exec(section) ?? [];
  return text === undefined
    ? []
    : [{ heading: section.split("\n")[0] ?? "", workflow: parse(text) as Workflow }];
});

const base = { "src/numbers.js": numbers(40) };
const conflict = { "src/numbers.js": `${numbers(40, { 3: "const n3 = 4;" })}<<<<<<< HEAD\n` };
const script = () => turn(finding({ line: 3, quote: "const n3 = 4;" }), finish);

describe.concurrent("the workflows of docs/action.md", patient, () => {
  it("The document has four workflows", () => {
    expect(workflows.map(({ heading }) => heading)).toEqual([
      "Public repository with forks",
      "Private repository",
      "Only the analyzers",
      "With the token of an App",
    ]);
  });

  it.each(workflows)(
    "$heading: The workflow posts comments, a summary and a check with the permissions that it names",
    ({ workflow }) =>
      onAction({ base, head: conflict, script }, async (one) => {
        const step = workflow.jobs.review?.steps.find(({ uses }) => /^[\w-]+\/hunkwise@/.test(uses));
        const given = step?.with ?? {};
        expect(Object.keys(given).filter((name) => !(name in actionFile.inputs))).toEqual([]);
        const events = typeof workflow.on === "string" ? [workflow.on] : Object.keys(workflow.on);
        const event = events[0] as "pull_request" | "pull_request_target";
        // Secrets and the outputs of other steps have the values of this test.
        const values: Record<string, string> = { ...withModel(one.model), "state-key": "0123456789abcdef" };
        const model = "model" in given ? {} : { "api-key": "", "base-url": "", model: "" };
        const inputs = Object.fromEntries(
          Object.entries(given).map(([name, text]) => [
            name,
            text.startsWith("${{") ? (values[name] ?? "") : text,
          ]),
        );
        const token = given["github-token"] && one.github.state.issueToken(one.installation).value;
        const done = await one.on(event, "opened", {
          permissions: underscored(workflow.permissions),
          ...pricesOf("fake-model"),
          inputs: { ...model, ...inputs, ...("model" in given && withModel(one.model)) },
          ...(token && { token }),
        });
        expect(done.outputs.outcome).toBe("reviewed");
        const bot = token ? "hunkwise[bot]" : "github-actions[bot]";
        const places = one.pull.reviewComments.map(({ author, anchor }) => `${author.login} ${anchor?.line}`);
        expect(places).toContain(`${bot} 41`);
        expect(places.includes(`${bot} 3`)).toBe("model" in given);
        expect(one.pull.comments.map(({ author }) => author.login)).toEqual([bot]);
        expect(one.repository.checkRuns.map(({ name, conclusion }) => [name, conclusion])).toEqual([
          ["Hunkwise", given["fail-on"] ? "failure" : "neutral"],
        ]);
      }),
  );

  const commented = (body: string, on: object = { pull_request: {} }) => ({
    github: { event_name: "issue_comment", event: { issue: on, comment: { body } } },
  });

  it.each([
    ["a push", { github: { event_name: "pull_request", event: { pull_request: {} } } }, true],
    ["an answer in a thread", { github: { event_name: "pull_request_review_comment", event: {} } }, true],
    ["a command", commented("/review"), true],
    ["a mention", commented("@hunkwise is this safe?"), true],
    ["a command below a quotation", commented("> n3 is wrong\n\n/fix"), true],
    ["another comment", commented("Thanks, see src/review"), false],
    ["a command on an issue", commented("/review", {}), false],
  ])("The workflows with a model decide rightly whether they start a job for %s", (_, contexts, starts) => {
    const conditions = workflows.flatMap(({ workflow }) => workflow.jobs.review?.if ?? []);
    expect(conditions).toHaveLength(3);
    for (const condition of conditions) expect(truthy(evaluate(condition, contexts))).toBe(starts);
  });

  it("Workflows with a model cover the App's permissions: it sees linked issues and failed checks", () => {
    for (const { workflow } of workflows.slice(0, 2))
      expect({ ...underscored(workflow.permissions), merge_queues: "read", metadata: "read" }).toEqual(
        manifestPermissions,
      );
  });
});

/** As GitHub reads the value of an `if:`: only these are false. */
const truthy = (value: ReturnType<typeof evaluate>) => !["", "false", "0"].includes(value.coerceString());

const underscored = (permissions: Permissions): Permissions =>
  Object.fromEntries(
    Object.entries(permissions).map(([name, access]) => [name.replaceAll("-", "_"), access]),
  );
