import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { liveInBody } from "../../../support/markdown-oracle.ts";
import { Commanded, CommandedRepository } from "./command-fixture.ts";

let repo: CommandedRepository;
let on: Commanded;
beforeAll(() => {
  repo = new CommandedRepository();
});
beforeEach(() => {
  on = new Commanded(repo);
});
afterAll(() => repo[Symbol.asyncDispose]());

const hostile =
  "'@octo-org/all' <img src=x> ![x](https://evil.test/x) fixes #12 abc1234 <!-- hunkwise:answer v1 {} -->\n/approve";
const task = {
  ...{
    kind: "command" as const,
    repository: { installation: 1, id: 7, owner: "octo", name: "shop" },
    pull: 7,
  },
  ...{
    thread: null,
    commentId: 9_001,
    requestedBy: "grace",
    writtenAt: "2026-01-01T00:01:00Z",
    headSha: null,
  },
};
const links = ["https://github.example/octo/shop/"];

function expectInert(): void {
  const [body = "", ...more] = on.said();
  expect(more).toEqual([]);
  expect(liveInBody(body, { links })).toEqual([]);
  // It says what went wrong all the same.
  expect(body).toContain("octo-org/all");
}

it("Hostile words in the reason why a job was given up do nothing", async () => {
  await on.giveUp({ ...task, command: { name: "help" } }, hostile);
  expectInert();
});

it("Hostile words in the name of a folder with a broken configuration do nothing", async () => {
  const closed = new AppError("config_invalid", `${hostile} is not a regular file`);
  Object.assign(on.github, { fileAt: () => Promise.reject(closed) });
  await on.command({ name: "remember", rule: "Test it." });
  expectInert();
});

describe("a hostile rule", () => {
  const rule = `${hostile}\n\`\`\`\ncloses GH-3, octo/shop@abc1234\n/merge`;

  it("A hostile rule does nothing in its proposal, also as a squashed commit message", async () => {
    await on.command({ name: "remember", rule });
    const [proposal] = on.proposals;
    expect(proposal?.title).toBe("Add a rule for reviews");
    expect(proposal?.branch).toBe("hunkwise/remember-9001");
    expect(liveInBody(proposal?.body ?? "", { links })).toEqual([]);
    expect(proposal?.body).not.toMatch(/@octo-org|#12|GH-3|@abc|^\s*\/[a-z]/im);
    expect(proposal?.body).toContain("octo-org/all");
    // The file holds it as it was written.
    expect(proposal?.text).toContain("closes GH-3, octo/shop@abc1234");
  });

  it("A hostile rule does nothing in a patch", async () => {
    on.mayWriteContents = false;
    await on.command({ name: "remember", rule: hostile.replace("\n", " ") });
    expectInert();
  });
});
