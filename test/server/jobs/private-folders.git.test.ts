import { afterAll, beforeAll, expect, it } from "vitest";
import type { Task } from "../../../src/server/queue/job.ts";
import { scriptedModel } from "../../support/scripted.ts";
import { Commanded, CommandedRepository } from "./commands/command-fixture.ts";

let repo: CommandedRepository;
beforeAll(() => {
  repo = new CommandedRepository();
});
afterAll(() => repo[Symbol.asyncDispose]());

const task: Task = {
  ...{ kind: "review", mode: "new", again: false, pull: 7, headSha: null, thread: null, commentId: null },
  ...{ repository: { installation: 1, id: 7, owner: "octo", name: "shop" } },
  ...{ trigger: "event#7", requestedBy: null },
};

it("A private file of a folder's configuration reaches no model, also from a check or an earlier review", async () => {
  const on = new Commanded(repo);
  const model = scriptedModel(() => ({
    toolCalls: [{ name: "finish_review", arguments: { summary: "All of it was read." } }],
  }));
  on.model = model;
  on.files.set(".github/hunkwise.yml", "effort: low\n");
  const annotation = (path: string, message: string) => ({
    ...{ path, message, startLine: 1, endLine: 1, level: "failure" as const },
  });
  on.github.failed.push({
    ...{ name: "lint", conclusion: "failure", title: "Two faults", summary: "" },
    annotations: [annotation("lib/secret.js", "LEAKED-NOTE"), annotation("src/cart.js", "OPEN-NOTE")],
  });
  await on.finding("f1", "medium", "lib/secret.js");
  await on.finding("f2");
  expect(await on.attempt(task)).toMatchObject({ kind: "done" });

  const asked = JSON.stringify(model.requests);
  expect(asked).toContain("OPEN-NOTE");
  expect(asked).toContain("src/cart.js:1  [still open]");
  expect(asked).not.toContain("LEAKED");
  expect(asked).not.toContain("secret.js");
});
