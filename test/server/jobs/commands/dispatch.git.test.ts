import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "../../../../src/core/errors.ts";
import { formatMarker, parseMarker } from "../../../../src/core/ledger/marker.ts";
import { commandTable } from "../../../../src/pull/publish/command-answers.ts";
import type { Command } from "../../../../src/server/queue/job.ts";
import { parseCommand } from "../../../../src/server/webhooks/commands.ts";
import { ambiguous, refusal } from "../../../pull/publish/memory-github.ts";
import { scriptedModel } from "../../../support/scripted.ts";
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

const help: Command = { name: "help" };
const all: Command[] = [
  ...([{ name: "help" }, { name: "resolve" }, { name: "pause" }, { name: "resume" }] as const),
  { name: "describe" },
  { name: "ask", question: "Why?" },
  { name: "remember", rule: "Test it." },
];

it.each(all)(
  "A command of somebody who cannot write does nothing that can be seen, and asks no model: $name",
  async (command) => {
    const model = scriptedModel([]);
    on.model = model;
    for (const by of ["ada", "eve", "dependabot[bot]"])
      expect(await on.command(command, { by })).toMatchObject({ kind: "skipped" });

    expect(on.github.calls.filter((call) => call !== "permissionOf")).toEqual([]);
    expect(model.requests).toEqual([]);
  },
);

it("A command is tried again if GitHub does not say who may write", async () => {
  on.github.faults.push({ call: "permissionOf", error: ambiguous() });
  await expect(on.command(help)).rejects.toMatchObject({ retryable: true });
  expect(on.said()).toEqual([]);
});

it("A command is seen before it is answered, and answered although GitHub takes no reaction", async () => {
  on.github.faults.push({ call: "react", nth: 1, error: refusal("github_forbidden") });
  await on.command(help);
  expect(on.github.calls.indexOf("react")).toBeLessThan(on.github.calls.indexOf("createComment"));
  expect(on.said()).toHaveLength(1);
});

it("A command is answered once, however often it is delivered", async () => {
  await on.command(help);
  await on.command(help);
  expect(on.said()).toHaveLength(1);
});

it("A command is answered once if only GitHub's response was lost", async () => {
  on.github.faults.push({ call: "createComment", nth: 1, when: "after", error: ambiguous() });
  await on.command(help);
  expect(on.said()).toHaveLength(1);
});

it("A worker that lost its job does not answer a command", async () => {
  on.isOurs = false;
  await expect(on.command(help)).rejects.toMatchObject({ code: "lease_lost" });
  expect(on.said()).toEqual([]);
});

it.each(all.filter(({ name }) => !["ask", "describe", "help"].includes(name)))(
  "A worker that lost its job does not carry out a command: $name",
  async (command) => {
    const thread = await on.finding("f1");
    on.isOurs = false;
    await expect(on.command(command, { thread })).rejects.toMatchObject({ code: "lease_lost" });
    expect([on.ours(thread), on.github.comments, on.proposals]).toEqual([[], [], []]);
  },
);

it("A command ends quietly in a conversation that takes no comments", async () => {
  on.github.faults.push({ call: "createComment", error: refusal("github_forbidden") });
  expect(await on.command(help)).toMatchObject({ kind: "done" });
  expect(on.log.join("\n")).toContain("could not be posted");
});

it("A command says what went wrong when it is given up, and nothing to a stranger", async () => {
  const task = (requestedBy: string) => ({
    ...({ kind: "command", command: { name: "help" }, headSha: null } as const),
    repository: { installation: 1, id: 7, owner: "octo", name: "shop" },
    ...{ pull: 7, thread: null, commentId: 9_001, requestedBy, writtenAt: "2026-01-01T00:01:00Z" },
  });
  await on.giveUp(task("eve"), "git failed");
  expect(on.said()).toEqual([]);
  await on.giveUp(task("grace"), "git failed");
  expect(on.said()[0]).toContain("This failed: git failed.");
  expect(on.checks()).toEqual([]);
});

it("Help names every command that is on, in its thread or the conversation", async () => {
  on.files.set(".github/hunkwise.yml", "conversation: { describe: true }\nprove: { enabled: true }\n");
  await on.command(help);
  for (const { usage } of commandTable) expect(on.said()[0]).toContain(`/${usage}`);
  expect(on.said()[0]).toContain("https://github.example/octo/shop/pull/7#issuecomment-9001");

  const thread = await on.finding("f1");
  await on.command(help, { thread, commentId: 9_002 });
  expect(on.ours(thread)[0]).toContain("/resolve");
  expect(parseMarker(on.ours(thread)[0] ?? "")).toEqual({ kind: "answer", comment: 9_002 });
  expect(on.said()).toHaveLength(1);
});

it.each([
  ["by default", {}],
  ["by a configuration that is refused", { ".github/hunkwise.yml": "conversation: { describe: yes please" }],
])("Help does not name commands that are off: %s", async (_how, files) => {
  for (const [path, text] of Object.entries(files)) on.files.set(path, text);
  await on.command(help);
  expect(on.said()[0]).toContain("/ask");
  expect(on.said()[0]).not.toContain("describe");
});

it.each(commandTable)("The table of commands lists what is understood: $usage", ({ usage }) => {
  expect(parseCommand(`/${usage.replace("NUMBER ...", "3, 5")}`, "hunkwise")?.name).toBe(usage.split(" ")[0]);
});

it("Too many answers are not given: ten in a thread, fifty on a pull request", async () => {
  const thread = await on.finding("f1");
  for (let n = 0; n < 12; n++) await on.command(help, { thread, commentId: 9_100 + n });
  expect(on.ours(thread)).toHaveLength(10);

  for (let n = 0; n < 38; n++) {
    const marker = formatMarker({ kind: "answer", comment: 8_000 + n });
    await on.github.createComment(`Yes.\n\n${marker}`);
  }
  for (let n = 0; n < 4; n++) await on.command(help, { commentId: 9_200 + n });
  expect(on.said()).toHaveLength(40);
});

it("Only our own answers count towards their limit", async () => {
  const thread = await on.finding("f1");
  for (let n = 0; n < 60; n++)
    on.github.personReplies(thread, "ada", formatMarker({ kind: "answer", comment: 9_001 }));
  await on.command(help, { thread });
  expect(on.ours(thread)).toHaveLength(1);
});

describe("pause", () => {
  const stateOf = () => {
    const sticky = on.github.comments.find(({ body }) => body.includes("hunkwise:summary"));
    const marker = parseMarker(sticky?.body ?? "");
    return marker?.kind === "summary" ? marker.state : null;
  };

  it("Pause is remembered with its person and time, and answered in one line", async () => {
    await on.command({ name: "pause" });
    expect(stateOf()?.paused).toEqual({ by: "grace", at: "2026-11-22T10:00:00.000Z" });
    expect(on.said()).toHaveLength(1);
    expect(on.said()[0]).toContain("until someone writes `/resume`");
  });

  it("Pause of a paused pull request leaves the first pause", async () => {
    on.github.permissions.set("hedy", "admin");
    await on.command({ name: "pause" });
    await on.command({ name: "pause" }, { by: "hedy", commentId: 9_002 });
    expect(stateOf()?.paused?.by).toBe("grace");
    expect(on.said()[1]).toContain("already paused, by `grace`");
  });

  it("Pause that is delivered again after it was resumed changes nothing", async () => {
    await on.command({ name: "pause" });
    // What is closed is not reviewed.
    on.github.state.state = "closed";
    await on.command({ name: "resume" }, { commentId: 9_002 });
    await on.command({ name: "pause" });
    expect(stateOf()?.paused).toBeNull();
  });

  it("Pause is done again by the next attempt if its answer is missing", async () => {
    on.github.faults.push({ call: "createComment", nth: 2, error: new AppError("aborted", "killed") });
    await expect(on.command({ name: "pause" })).rejects.toMatchObject({ code: "aborted" });
    await on.command({ name: "pause" });
    expect(on.said()).toHaveLength(1);
    expect(stateOf()?.paused?.by).toBe("grace");
  });
});

it("Resume reviews what came meanwhile, and says so once", async () => {
  await on.command({ name: "pause" });
  const resumed = () => on.command({ name: "resume" }, { commentId: 9_002 });
  expect(await resumed()).toMatchObject({ kind: "done" });
  expect(on.checks()).toEqual([expect.stringMatching(/^comment:9002: (neutral|success)$/)]);
  await resumed();
  expect(on.said()).toHaveLength(2);
  expect(on.checkouts).toBe(1);
});

it("An answer about an invalid file of the organization names the lines, and none of its content", async () => {
  on.organization.set(".github/hunkwise.yml", "effort: The codename is Marzipan\nlanguag: Marzipan\n");
  await on.command({ name: "resume" });
  expect(on.summary()).toMatch(/the organization's \.github\/hunkwise\.yml is not valid \(in line 1, 2\)/);
  expect(JSON.stringify([on.github.comments, on.github.checks])).not.toContain("Marzipan");
});
