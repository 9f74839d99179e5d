import { forAllRoles } from "../../../src/agent/llm/model.ts";
import type { TestEnd } from "../../../src/agent/record/test-end.ts";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import type { Revision } from "../../../src/core/finding.ts";
import type { ProveInput, ProveTarget } from "../../../src/tasks/prove/prove-input.ts";
import { runProve, type TestPort, type TestRun } from "../../../src/tasks/prove/run-prove.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { reviewDependencies } from "../../support/review-dependencies.ts";
import { type ScriptedTurn, scriptedModel } from "../../support/scripted.ts";
import { failed, passed, test } from "./proof/test-ends.ts";

const before = `export function total(prices) {
  return prices.reduce((sum, price) => sum + price, 0);
}
`;
export const after = `export function total(prices) {
  return prices.reduce((sum, price) => sum + price);
}
`;

export const target: ProveTarget = {
  ...{ id: "f1", severity: "high", title: "An empty cart has no total", text: "total([]) throws." },
  ...{ path: "cart.js", side: "RIGHT", line: 2, start_line: null, symbol: "total" },
  suggestion: "  return prices.reduce((sum, price) => sum + price, 0);",
};

export const call = (name: string, args: Record<string, unknown>): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args }],
});
export const tryTest = (more: Record<string, unknown> = {}) =>
  call("try_test", { path: test.path, content: test.text, ...more });
export const finish = (outcome = "regression", more: Record<string, unknown> = {}) =>
  call("finish_proof", {
    outcome,
    ...(outcome === "regression" || outcome === "reproduced"
      ? { before: "total([]) returns 0", now: "total([]) throws a TypeError" }
      : {}),
    reason: "An empty cart is added up.",
    ...more,
  });
export const intent = (asks: string, quote = "", fits = true) => call("report_intent", { asks, quote, fits });

/** A port whose runs end as `ends` says, beside all that was run. */
export function testsThat(
  ends: (on: Revision, run: TestRun, nth: number, signal: AbortSignal) => TestEnd | Promise<TestEnd>,
  more: Partial<TestPort> = {},
) {
  const ran: TestRun[] = [];
  const tests: TestPort = {
    commandFor: ({ path }) => ({ command: `node ${path}` }),
    whyRefused: async () => null,
    async run(order, signal) {
      ran.push(order);
      return ends(order.on, order, ran.filter(({ on }) => on === order.on).length, signal);
    },
    ...more,
  };
  return { ran, tests };
}

/** A test that passes at the merge base and fails at the head. */
export const regressed = () => testsThat((on) => (on === "base" ? passed : failed));

/** A repository with a change that breaks one function, and changes `files`; `more` are files of its merge base. */
export class ProvenRepository implements AsyncDisposable {
  readonly #repo = GitRepo.create();
  readonly #opened: ReturnType<typeof openRepository>;

  constructor(
    message = "Make total shorter",
    files: Record<string, string> = {},
    more: Record<string, string> = {},
  ) {
    this.#repo.commit("base", { "cart.js": before, "other.js": "export const other = 1;\n", ...more });
    this.#repo.branch("topic");
    this.#repo.commit(message, { "cart.js": after, ...files });
    this.#opened = openRepository(this.#repo);
  }

  prove = async (
    turns: ScriptedTurn[],
    tests: TestPort,
    {
      targets = [target],
      pull = null,
      milliseconds = 60_000,
      config = {},
    }: Partial<Pick<ProveInput, "targets" | "pull">> & { milliseconds?: number; config?: object } = {},
  ) => {
    const model = scriptedModel(turns);
    const { workspace } = await this.#opened;
    const input: ProveInput = {
      ...{ targetBranch: "main", pull, targets },
      config: RepoConfig.parse({ prove: { enabled: true }, ...config }),
      limits: { turns: 20, tokens: 600_000, costUsd: null, milliseconds },
      models: forAllRoles({ name: "scripted", contextTokens: 128_000, protocol: "native" }),
    };
    const real = { now: Date.now, startedAt: Date.now() };
    const deps = reviewDependencies(workspace, forAllRoles(model), real);
    const result = await runProve(input, { ...deps, tests });
    return { result, proof: result.proofs[0]?.proof, requests: model.requests };
  };

  get workspace() {
    return this.#opened.then(({ workspace }) => workspace);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opened)[Symbol.asyncDispose]();
    this.#repo.dispose();
  }
}
