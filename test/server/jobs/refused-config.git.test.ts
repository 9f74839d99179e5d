import { afterAll, beforeAll, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import { scriptedModel } from "../../support/scripted.ts";
import { Commanded, CommandedRepository, reviewTask as task } from "./commands/command-fixture.ts";

const long = process.env.HUNKWISE_LONG === "1";

let repo: CommandedRepository;
beforeAll(() => {
  repo = new CommandedRepository();
});
afterAll(() => repo[Symbol.asyncDispose]());

const file = ".github/hunkwise.yml";

function withModel(files: Record<string, string>) {
  const on = new Commanded(repo);
  const model = scriptedModel(() => ({
    toolCalls: [{ name: "finish_review", arguments: { summary: "All of it was read." } }],
  }));
  on.model = model;
  for (const [path, text] of Object.entries(files)) on.files.set(path, text);
  const check = () => on.github.checks.at(-1)?.history.at(-1);
  return { on, model, check };
}

it("A refused configuration has no model read anything, and the check is neutral and names file, line, key and remedy", async () => {
  const { on, model, check } = withModel({ [file]: "paths:\n  privat: [src/]\n" });
  expect(await on.attempt(task)).toMatchObject({ kind: "done" });
  expect(model.requests).toEqual([]);
  expect(on.checks()).toEqual(["event#7@main: neutral"]);
  expect(check()?.title).toMatch(/^Not reviewed\. Analyzers only: /);
  for (const text of [check()?.summary, on.summary()]) {
    expect(text).toMatch(/hunkwise\.yml:2: paths\.privat is not a known key \(did you mean private\?\)/);
    expect(text).toMatch(/Correct it on the base branch/);
  }
});

it("A refused configuration names an organization's file without what is in it", async () => {
  const { on, model, check } = withModel({});
  on.organization.set(file, "paths: { privat: [customer-names/] }");
  await on.attempt(task);
  expect(model.requests).toEqual([]);
  expect(on.checks()).toEqual(["event#7@main: neutral"]);
  expect(check()?.summary).toMatch(/the organization's \.github\/hunkwise\.yml is not valid/);
  expect(check()?.summary).not.toMatch(/customer-names|privat\b/);
});

it("A refused configuration leaves open what earlier reviews found, and the check is not green for it", async () => {
  const { on, check } = withModel({ [file]: "review: [" });
  const comment = await on.finding("f1", "high");
  await on.attempt(task);
  expect(on.ours(comment)).toEqual([]);
  expect(on.checks()).toEqual(["event#7@main: neutral"]);
  expect(check()?.summary).toContain("Open from earlier reviews: 1 high.");
});

it("A refused configuration is no review, so that what was remembered stays, and the next one reads the change", async () => {
  const { on, model } = withModel({ [file]: "effort: low\ncolor: red\n" });
  await on.attempt(task);
  on.files.set(file, "effort: low\n");
  on.recorded.length = 0;
  await on.attempt({ ...task, trigger: "event#7" });
  expect(model.requests.length).toBeGreaterThan(0);
  expect(on.checks()).toEqual(["event#7@main: success"]);

  const known = on.summary();
  on.files.set(file, "effort: loud\n");
  on.recorded.length = 0;
  await on.attempt({ ...task, mode: "new", trigger: "comment:5" });
  on.files.set(file, "effort: low\n");
  on.recorded.length = 0;
  const before = model.requests.length;
  await on.attempt({ ...task, mode: "new", trigger: "comment:6" });
  expect(model.requests.length).toBe(before);
  expect(known).toContain("found no problems");
});

it.runIf(long)(
  "A refused configuration is not concluded by what a model read in an earlier attempt",
  async () => {
    const { on, check } = withModel({ [file]: "effort: low\n" });
    const error = new AppError("github_failed", "502", { retryable: true });
    on.github.faults.push({ call: "createComment", error });
    await expect(on.attempt(task)).rejects.toThrow();
    expect(on.recorded.map(({ kind }) => kind)).toContain("result");
    on.github.faults.length = 0;
    on.files.set(file, "effort: loud\n");
    await on.attempt(task);
    expect(on.checks().at(-1)).toBe("event#7@main: neutral");
    expect(check()?.title).toMatch(/^Not reviewed/);
  },
);

it("A refused configuration is shown by a dry run", async () => {
  const { on, model } = withModel({ [file]: "color: red\n" });
  await on.dryRun();
  expect(model.requests).toEqual([]);
  expect(on.said().at(-1)).toMatch(/hunkwise\.yml:1: color is not a known key/);
});
