import { forAllRoles, type ModelRequest } from "../../../src/agent/llm/model.ts";
import type { CommandEnd, CommandRequest, EditPort } from "../../../src/agent/tools/tool.ts";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import type { FixInput, FixTarget } from "../../../src/tasks/fix/fix-input.ts";
import { type FixCommands, runFix } from "../../../src/tasks/fix/run-fix.ts";
import type { TestPort } from "../../../src/tasks/prove/run-prove.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { reviewDependencies } from "../../support/review-dependencies.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";

/** A finding as it was posted. */
export const target: FixTarget = {
  ...{ id: "f1", path: "cart.ts", side: "RIGHT", line: 1, original_line: 1, symbol: null, files: [] },
  source: "model",
  ...{ title: "The rate is wrong", finding: "It is twice what it was.", conversation: [] },
};

const input = (targets: FixTarget[]): FixInput => ({
  ...{ targetBranch: "main", pull: null, targets, config: RepoConfig.parse({}) },
  limits: { turns: 20, tokens: 300_000, costUsd: null, milliseconds: 60_000 },
  models: forAllRoles({ name: "scripted", contextTokens: 128_000, protocol: "native" }),
});

export const call = (name: string, args: Record<string, unknown>): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args }],
});
export const edit = (from: string, to: string, path = "cart.ts") =>
  call("edit_file", { path, old_string: `rate = ${from}`, new_string: `rate = ${to}` });
export const run = (command = "test", more: Record<string, unknown> = {}) =>
  call("run_command", { command, ...more });
export const finish = (...repaired: boolean[]) =>
  call("finish_fix", {
    summary: "Charge it once",
    findings: (repaired.length > 0 ? repaired : [true]).map((one, at) => ({
      ...{ finding: `F${at + 1}`, repaired: one, note: one ? "It is right." : "Nobody knows." },
    })),
  });
export const look = (state: "fixed" | "present" | "unsure", reason = "cart.ts:1 says so.") =>
  call("report_resolution", { state, reason });

/** Commands that end as it is said here, beside what each asked for. */
export function commandsThat(
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

export const nothing: FixCommands = { why: "this machine has no sandbox" };

/** A repository with a change in one line, which models repair by the turns that they are given. */
export class FixedRepository implements AsyncDisposable {
  readonly #repo = GitRepo.create();
  readonly #opened: ReturnType<typeof openRepository>;

  /** @param head what the change makes of `cart.ts` */
  constructor(head = "export const rate = 2;\n") {
    this.#repo.commit("base", {
      "cart.ts": "export const rate = 1;\n",
      "other.ts": "export const other = 1;\n",
    });
    this.#repo.branch("topic");
    this.#repo.commit("head", { "cart.ts": head });
    this.#opened = openRepository(this.#repo);
  }

  fix = async (
    turns: ScriptedTurn[],
    commands: FixCommands = nothing,
    targets = [target],
    tests?: (files: EditPort) => TestPort,
  ) => {
    const model = scriptedModel(turns);
    const { workspace, place } = await this.#opened;
    await using files = openOverlay(workspace, place);
    const real = { now: Date.now, startedAt: Date.now() };
    const deps = reviewDependencies(files, forAllRoles(model), real);
    const result = await runFix(input(targets), { ...deps, files, commands, tests: tests?.(files) });
    const texts = result.edits.map(({ path, after }) => [
      path,
      after && Buffer.from(after.base64, "base64").toString(),
    ]);
    return { result, requests: model.requests, texts: Object.fromEntries(texts) as Record<string, string> };
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opened)[Symbol.asyncDispose]();
    this.#repo.dispose();
  }
}

/** The newest answer that a request shows the model. */
export const answered = (request: ModelRequest | undefined) => request?.messages.at(-1)?.content ?? "";
