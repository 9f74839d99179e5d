import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import { openOverlay } from "../../../src/git/overlay-workspace.ts";
import { forAllRoles, type ModelRequest } from "../../../src/llm/model.ts";
import { type ScriptedTurn, scriptedModel } from "../../../src/llm/scripted.ts";
import type { FixInput, FixTarget } from "../../../src/review/fix/fix-input.ts";
import { runFix } from "../../../src/review/fix/run-fix.ts";
import type { FixCommands } from "../../../src/review/fix/tried-commands.ts";
import { createDiffSource } from "../../../src/tools/diff-source.ts";
import type { CommandEnd, CommandRequest, EditPort } from "../../../src/tools/tool.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { openRepository } from "../../tools/context.ts";

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", { "cart.ts": "export const rate = 1;\n", "other.ts": "export const other = 1;\n" });
  repo.branch("topic");
  repo.commit("head", { "cart.ts": "export const rate = 2;\n" });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened?.[Symbol.asyncDispose]();
  repo?.dispose();
});

const target: FixTarget = {
  ...{ id: "f1", path: "cart.ts", side: "RIGHT", line: 1, original_line: 1, symbol: null, files: [] },
  ...{ title: "The rate is wrong", finding: "It is twice what it was.", conversation: [] },
};

const input = (targets: FixTarget[]): FixInput => ({
  ...{ targetBranch: "main", pull: null, targets, config: RepoConfig.parse({}) },
  limits: { turns: 20, tokens: 300_000, costUsd: null, milliseconds: 60_000 },
  models: forAllRoles({ name: "scripted", contextTokens: 128_000, protocol: "native" }),
});

const call = (name: string, args: Record<string, unknown>): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args }],
});
const edit = (from: string, to: string, path = "cart.ts") =>
  call("edit_file", { path, old_string: `rate = ${from}`, new_string: `rate = ${to}` });
const run = (command = "test", more: Record<string, unknown> = {}) =>
  call("run_command", { command, ...more });
const finish = (...repaired: boolean[]) =>
  call("finish_fix", {
    summary: "Charge it once",
    findings: (repaired.length > 0 ? repaired : [true]).map((one, at) => ({
      ...{ finding: `F${at + 1}`, repaired: one, note: one ? "It is right." : "Nobody knows." },
    })),
  });
const look = (state: "fixed" | "present" | "unsure", reason = "cart.ts:1 says so.") =>
  call("report_resolution", { state, reason });

/** Commands that end as it is said here, beside what each asked for. */
function commandsThat(
  end: (request: CommandRequest, edit: EditPort) => Promise<Partial<CommandEnd>> = async () => ({}),
) {
  const asked: CommandRequest[] = [];
  const commands: FixCommands = {
    open: (files) => ({
      allowed: { test: "npm test", lint: "npm run lint" },
      async run(request) {
        asked.push(request);
        const how = { exitCode: 0, ended: null, truncated: false, changed: [], notes: [] };
        return { stdout: "", stderr: "", ...how, ...(await end(request, files)) };
      },
    }),
  };
  return { asked, commands };
}

const nothing: FixCommands = { why: "there is no sandbox here to run one in" };

async function fix(turns: ScriptedTurn[], commands: FixCommands = nothing, targets = [target]) {
  const model = scriptedModel(turns);
  const files = openOverlay(opened.workspace);
  const result = await runFix(input(targets), {
    ...{ workspace: files, files, diffs: createDiffSource(files, { ignore: [], private: [] }) },
    ...{ models: forAllRoles(model), commands, trajectory: { append: async () => {} }, replay: [] },
    ...{ isPrivate: () => false, progress: () => {}, signal: new AbortController().signal },
    ...{ now: Date.now, startedAt: Date.now() },
  });
  const texts = result.edits.map(({ path, after }) => [
    path,
    after && Buffer.from(after.base64, "base64").toString(),
  ]);
  return { result, requests: model.requests, texts: Object.fromEntries(texts) as Record<string, string> };
}

/** The newest answer that a request shows the model. */
const answered = (request: ModelRequest | undefined) => request?.messages.at(-1)?.content ?? "";

describe("a fix that can run commands", () => {
  it("tells how those ended that were run on exactly the files that it hands over", async () => {
    const { commands, asked } = commandsThat(async ({ command }) => ({
      exitCode: command === "npm test" ? 0 : 3,
    }));
    const { result, requests } = await fix(
      [edit("2", "1"), run(), run("lint", { env: { FAST: "1" } }), finish(), look("fixed")],
      commands,
    );
    expect(asked.map(({ command }) => command)).toEqual(["npm test", "npm run lint"]);
    expect(result.tried_out).toEqual({
      commands: [
        { command: "npm test", folder: ".", exit_code: 0, ended: null },
        { command: 'FAST="1" npm run lint', folder: ".", exit_code: 3, ended: null },
      ],
      why_none: null,
    });
    expect(requests[0]?.messages.at(-1)?.content).toContain("- test: `npm test`");
  });

  it("counts nothing that was run before the last edit, and is asked once to run it again", async () => {
    const { commands } = commandsThat();
    const { result, requests } = await fix(
      [edit("2", "1"), run(), edit("1", "1.5"), finish(), finish(), look("fixed")],
      commands,
    );
    expect(answered(requests[4])).toContain("no command was run on the files as they are now");
    expect(result.tried_out).toEqual({
      commands: [],
      why_none: "none was called for on what was changed last",
    });
    expect(result.repairs).toMatchObject([{ repaired: true, check: { state: "fixed" } }]);
  });

  it("counts a command as often as it ended last on the same files", async () => {
    let exitCode = 2;
    const { commands } = commandsThat(async () => ({ exitCode: --exitCode }));
    const { result } = await fix([edit("2", "1"), run(), run(), finish(), look("fixed")], commands);
    expect(result.tried_out.commands).toMatchObject([{ command: "npm test", exit_code: 0 }]);
  });

  it("takes over what a command changed, and says of that nothing that it was not run on", async () => {
    const { commands } = commandsThat(async (_, files) => {
      await files.write("cart.ts", Buffer.from("export const rate = 1.0;\n"));
      return { changed: ["cart.ts"] };
    });
    const { result, texts } = await fix([edit("2", "1"), run(), finish(), finish(), look("fixed")], commands);
    expect(texts).toEqual({ "cart.ts": "export const rate = 1.0;\n" });
    expect(result.tried_out.commands).toEqual([]);
  });

  it("lets a command change no more than the model may", async () => {
    const refused: string[] = [];
    const { commands } = commandsThat(async (_, files) => {
      for (const path of ["other.ts", ".github/workflows/ci.yml", "package-lock.json"])
        await files.write(path, Buffer.from("x")).catch(() => refused.push(path));
      return {};
    });
    const { texts } = await fix([edit("2", "1"), run(), finish(), look("fixed")], commands);
    expect(refused).toEqual(["other.ts", ".github/workflows/ci.yml", "package-lock.json"]);
    expect(Object.keys(texts)).toEqual(["cart.ts"]);
  });

  it("tells of one that was ended before its time", async () => {
    const { commands } = commandsThat(async () => ({ ended: "memory", exitCode: 137 }));
    const { result } = await fix([edit("2", "1"), run(), finish(), look("fixed")], commands);
    expect(result.tried_out.commands).toMatchObject([{ exit_code: 137, ended: "memory" }]);
  });
});

describe("a fix that can run none", () => {
  it("is offered none, and says why none was run", async () => {
    const { result, requests } = await fix([edit("2", "1"), finish(), look("fixed")]);
    expect(requests[0]?.tools.map(({ name }) => name)).not.toContain("run_command");
    expect(JSON.stringify(requests[0]?.messages[1])).not.toContain("run_command");
    expect(result.tried_out).toEqual({
      commands: [],
      why_none: "there is no sandbox here to run one in",
    });
  });
});

describe("a fix in which a second look finds the fault still there", () => {
  it("is sent back once with the reason, and judged again by the code as it is then", async () => {
    const { result, requests, texts } = await fix([
      edit("2", "1.5"),
      finish(),
      look("present", "cart.ts:1 is one and a half."),
      edit("1.5", "1"),
      finish(),
      look("fixed"),
    ]);
    expect(answered(requests[3])).toContain("F1: cart.ts:1 is one and a half.");
    expect(answered(requests[3])).toContain('source="second look"');
    expect(answered(requests[5])).toContain("1|export const rate = 1;");
    expect(result).toMatchObject({ rounds: 2, stop_reason: "finished" });
    expect(result.repairs).toMatchObject([{ repaired: true, check: { state: "fixed" } }]);
    expect(texts).toEqual({ "cart.ts": "export const rate = 1;\n" });
  });

  it("ends after another try, whatever that comes to", async () => {
    const { result, requests } = await fix([
      ...[edit("2", "1.5"), finish(), look("present")],
      ...[edit("1.5", "1.4"), finish(), look("present", "It is still more than 1.")],
    ]);
    expect([requests.length, result.rounds, result.stop_reason]).toEqual([6, 2, "finished"]);
    expect(result.repairs[0]?.check).toEqual({ state: "present", reason: "It is still more than 1." });
  });

  it("is not looked at again where nothing was changed since", async () => {
    const { result, requests } = await fix([edit("2", "1.5"), finish(), look("present"), finish()]);
    expect([requests.length, result.rounds]).toEqual([4, 2]);
    expect(result.repairs[0]?.check?.state).toBe("present");
  });

  it("takes back what it cannot repair, and leaves it to a person", async () => {
    const { result } = await fix([
      ...[edit("2", "1.5"), finish(), look("present"), edit("1.5", "2"), finish(false)],
    ]);
    expect(result).toMatchObject({ edits: [], summary: "", rounds: 2 });
    expect(result.repairs).toEqual([{ id: "f1", repaired: false, note: "Nobody knows.", check: null }]);
  });

  it("counts for nothing what it edited after that and never told of", async () => {
    const { result, texts } = await fix([...[edit("2", "1.5"), finish(), look("present"), edit("1.5", "9")]]);
    expect(result.stop_reason).toBe("model_error");
    expect(texts).toEqual({ "cart.ts": "export const rate = 1.5;\n" });
    expect(result.repairs[0]?.check?.state).toBe("present");
  });

  it("looks again at what was repaired before, when other edits follow", async () => {
    const other = { ...target, id: "f2", title: "The rate is no number" };
    const { result } = await fix(
      [
        ...[edit("2", "1.5"), finish(true, true), look("fixed"), look("present")],
        ...[edit("1.5", "1"), finish(true, true), look("present", "It is back."), look("fixed")],
      ],
      nothing,
      [target, other],
    );
    expect(result.repairs.map(({ check }) => check?.state)).toEqual(["present", "fixed"]);
  });
});

describe("a fix that comes to no end", () => {
  it("hands over nothing", async () => {
    const { result } = await fix([edit("2", "1")]);
    expect(result).toMatchObject({ edits: [], rounds: 0, stop_reason: "model_error" });
    expect(result.repairs).toEqual([{ id: "f1", repaired: false, note: "", check: null }]);
  });
});
