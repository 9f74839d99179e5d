import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Model } from "../../src/agent/llm/model.ts";
import { isLoopEntry, type LoopEntry, type UnitEntry } from "../../src/agent/record/trajectory.ts";
import { fromFailure, runTask, type TaskOptions } from "../../src/border/run-task.ts";
import { startReviewProcess } from "../../src/border/start-process.ts";
import { AppError } from "../../src/core/errors.ts";
import { registerSecret } from "../../src/core/secrets/live-secrets.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import type { ReviewInput } from "../../src/tasks/shapes/review-input.ts";
import type { ProgressEvent } from "../../src/tasks/shapes/review-result.ts";
import { rejectingOthers } from "../support/answer-candidates.ts";
import { placeOf } from "../support/checkout-place.ts";
import { GitRepo, TempFolder } from "../support/git-repo.ts";
import { startProcessHere } from "../support/process-here.ts";
import { reviewInput } from "../support/review-input.ts";
import { type ScriptedTurn, scriptedModel } from "../support/scripted.ts";
import { writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

const before = "export function total(items) {\n  return items.reduce((sum, one) => sum + one, 0);\n}\n";
const after =
  "export function total(items) {\n  return items.reduce((sum, one) => sum + one);\n}\n\nexport async function sendAll(items, send) {\n  items.forEach(async (one) => {\n    await send(one);\n  });\n}\n";

const reportReduce = {
  name: "report_finding",
  arguments: {
    path: "total.js",
    line: 2,
    quote: "  return items.reduce((sum, one) => sum + one);",
    severity: "high",
    category: "correctness",
    title: "An empty list throws",
    body: "`reduce` without an initial value throws a TypeError on an empty list.",
    confidence: 0.9,
  },
};
const finish = { name: "finish_review", arguments: { summary: "Drops the initial value and adds sendAll." } };

let repo: GitRepo;
let place: RevisionPlace;
let placed: Disposable;

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("before", { "total.js": before });
  repo.git("tag", "base");
  repo.commit("after", { "total.js": after });
  const one = await placeOf(repo, "base");
  place = one.place;
  placed = one;
});

afterAll(() => {
  placed[Symbol.dispose]();
  repo[Symbol.dispose]();
});

function run(
  model: Model | null,
  over: Partial<ReviewInput> = {},
  signal = new AbortController().signal,
  options: Partial<TaskOptions> = {},
) {
  const entries: LoopEntry[] = [];
  const units: UnitEntry[] = [];
  const events: ProgressEvent[] = [];
  const result = runTask(reviewTask, reviewInput(model ? over : { models: null, ...over }), {
    place,
    models: model && forAllRoles(model),
    trajectory: {
      append: async (entry) => {
        if (entry.kind === "unit") units.push(entry);
        else if (isLoopEntry(entry)) entries.push(entry);
      },
    },
    onProgress: (event) => events.push(event),
    signal,
    ...options,
  });
  return { result, entries, units, events };
}

/** The same without a process of its own: what goes to and fro is the same. */
const runHere = (model: Model | null, over: Partial<ReviewInput> = {}, options: Partial<TaskOptions> = {}) =>
  run(model, over, undefined, { started: startProcessHere(), ...options });

const scripted = (...turns: ScriptedTurn[]) =>
  scriptedModel((request, n) => {
    const turn = turns[n];
    return turn ? rejectingOthers(turn, request) : new AppError("model_failed", "The script ended");
  });

describe("a review process", () => {
  it("A review process reviews with the parent's model and hands placed findings back", async () => {
    const { result, entries, events } = run(scripted({ toolCalls: [reportReduce, finish] }));

    expect(await result).toMatchObject({
      mode: "model",
      stop_reason: "finished",
      summary: "Drops the initial value and adds sendAll.",
      findings: [{ finding: { path: "total.js", line: 2, side: "RIGHT" }, placement: { kind: "inline" } }],
      coverage: { hunks_total: 1, hunks_served: 1, unserved: [] },
      usage: { requests: 1 },
    });
    expect(entries.map((entry) => entry.kind)).toEqual(["messages", "turn", "tool_results", "stopped"]);
    expect(events).toContainEqual(expect.objectContaining({ type: "finding", path: "total.js", line: 2 }));
  });

  it("A review process hands over what it has read and found, for a review that follows", async () => {
    const history = { key: "", reviewed: null, carried: [], summary: "" };
    const { result, units } = runHere(scripted({ toolCalls: [reportReduce, finish] }), { history });
    const { ledger, head_sha } = await result;

    expect(ledger).toMatchObject({ known_hunks: 0, reviewed: { unit: "change", hashes: { length: 1 } } });
    const { hashes } = ledger?.reviewed ?? {};
    expect(units).toEqual([
      {
        kind: "unit",
        head: head_sha,
        loop: "review",
        hashes,
        beside: [],
        findings: [expect.objectContaining({ line: 2 })],
        summary: expect.stringMatching(/./),
      },
    ]);
    const reviewed = ledger?.reviewed ?? null;
    const then = { ...history, reviewed, summary: "Adds sendAll." };
    const again = await runHere(scripted(), { history: then }).result;
    expect(again).toMatchObject({
      summary: "Adds sendAll.",
      stop_reason: "finished",
      usage: { requests: 0 },
      coverage: { hunks_served: 1 },
    });
  });

  it("A review process has written a turn down before any of its calls runs", async () => {
    const order: string[] = [];
    const result = await runTask(reviewTask, reviewInput(), {
      place,
      models: forAllRoles(scripted({ toolCalls: [finish] })),
      trajectory: { append: async (entry) => void order.push(entry.kind) },
      onProgress: (event) => void (event.type === "tool" && order.push(`${event.tool} ${event.status}`)),
      signal: new AbortController().signal,
      started: startProcessHere(),
    });

    expect(result.stop_reason).toBe("finished");
    expect(order.indexOf("turn")).toBeLessThan(order.indexOf("finish_review started"));
  });

  it("A review process reviews only with the analyzers if there is no model, and says so", async () => {
    const result = await run(null).result;

    expect(result).toMatchObject({ mode: "offline", model: null, stop_reason: "no_model" });
    expect(result.summary).toContain("No model read this change");
    expect(result.findings.map(({ finding }) => finding.line)).toEqual([6]);
    expect(result.coverage).toMatchObject({ hunks_total: 1, hunks_served: 0 });
  });

  it("A review process hands no secret on that the analyzers found", async () => {
    using other = GitRepo.create();
    other.commit("before", { "a.txt": "a\n" });
    other.git("tag", "base");
    const token = `ghp_${"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5".slice(0, 36)}`;
    other.commit("after", { "config.js": `export const token = "${token}";\n` });
    using one = await placeOf(other, "base");
    const result = await runHere(null, {}, { place: one.place }).result;

    expect(result.findings.map(({ finding }) => finding.source)).toEqual([
      expect.stringMatching(/^secrets\//),
    ]);
    expect(JSON.stringify(result)).not.toContain(token);
  });

  it("A review process reviews the rest of a change with a file that is too large to read", async () => {
    using other = GitRepo.create();
    const many = "one line of many\n".repeat(1_300_000);
    other.commit("before", { "large.txt": many, "total.js": before });
    other.git("tag", "base");
    other.commit("after", { "large.txt": `${many}another\n`, "total.js": after });
    using one = await placeOf(other, "base");
    const result = await runHere(null, {}, { place: one.place }).result;

    expect(result.findings.map(({ finding }) => finding.path)).toEqual(["total.js"]);
    expect(result.coverage.files_skipped).toEqual([
      { path: "large.txt", reason: expect.stringContaining("too large"), account: "unread" },
    ]);
  });

  it("A review process counts what a configured minimum severity leaves out", async () => {
    const { config } = reviewInput({ config: { minimum_severity: "critical" } });
    const result = await runHere(null, { config }).result;

    expect(result.findings).toEqual([]);
    expect(result.warnings).toEqual([
      expect.stringContaining("1 finding is below the configured minimum severity"),
    ]);
  });

  it("A review process shows the model the diff and the analyzers' candidates", async () => {
    process.env.HUNKWISE_TEST_CANARY = "canary-4711-secret";
    const model = scripted({ toolCalls: [finish] });
    await run(model).result;
    delete process.env.HUNKWISE_TEST_CANARY;

    const [request] = model.requests;
    const text = JSON.stringify(request);
    expect(text).toContain("2 +  return items.reduce((sum, one) => sum + one);");
    expect(text).toContain("# Rule matches");
    expect(text).not.toContain("canary-4711");
  });

  it("A review process ends with the model's fault as a value, keeps what was found", async () => {
    const failing = scriptedModel([
      { toolCalls: [reportReduce] },
      new AppError("model_unauthorized", "https://models.internal refused sk-12", {
        remedy: "Check OPENAI_API_KEY",
      }),
    ]);

    const { result, events } = runHere(failing);

    expect(await result).toMatchObject({
      stop_reason: "model_error",
      findings: [{ finding: { line: 2, source: "model" } }, { finding: { verification: "not_judged" } }],
      warnings: ["The model failed: its provider refused the key."],
    });
    expect(events).toContainEqual({
      type: "model_failed",
      error: "https://models.internal refused sk-12. Check OPENAI_API_KEY",
    });
  });

  it("A review process counts nothing as read by a model that never answered", async () => {
    const result = await runHere(scriptedModel([new AppError("model_failed", "no answer")])).result;

    expect(result).toMatchObject({
      stop_reason: "model_error",
      coverage: { hunks_total: 1, hunks_served: 0, unserved: [{ path: "total.js", hunks: 1 }] },
    });
  });

  it("A review publishes what was found when its time limit passes", async () => {
    const slow: Model = {
      name: "slow",
      contextTokens: 128_000,
      protocol: "native",
      respond: async (request) => {
        if (request.messages.some((message) => message.role === "tool")) return new Promise(() => {});
        return scripted({ toolCalls: [reportReduce] }).respond(request, new AbortController().signal);
      },
    };
    const limits = { ...reviewInput().limits, milliseconds: 15_000 };
    const result = await runHere(slow, { limits }).result;

    expect(result).toMatchObject({
      stop_reason: "time_limit",
      findings: [{ finding: { line: 2, source: "model" } }, { finding: { verification: "not_judged" } }],
    });
  });

  it("A review takes over the turns of an earlier attempt without asking again", async () => {
    const first = runHere(scripted({ toolCalls: [reportReduce] }, { toolCalls: [finish] }));
    await first.result;
    const model = scripted({ toolCalls: [finish] });
    const entries = first.entries.slice(0, 3);
    const again = await runHere(model, {}, { replay: entries }).result;

    expect(again).toMatchObject({ stop_reason: "finished", findings: [{ finding: { line: 2 } }] });
    expect(model.requests).toHaveLength(1);
  });

  it("A review process predicts its cost if the price is known", async () => {
    const model: Model = {
      ...scripted({ toolCalls: [finish] }),
      costOf: ({ promptTokens }) => promptTokens / 1_000,
    };
    const { predicted } = await runHere(model).result;
    expect(predicted?.prompt_tokens).toBeGreaterThan(0);
    expect(predicted?.cost_usd).toBe((predicted?.prompt_tokens ?? 0) / 1_000);
    expect((await runHere(scripted({ toolCalls: [finish] })).result).predicted?.cost_usd).toBeNull();
  });

  it("A review process rejects when it is aborted, and leaves no process behind", async () => {
    const abort = new AbortController();
    const never: Model = {
      name: "slow",
      contextTokens: 1_000_000,
      protocol: "native",
      respond: () => new Promise(() => {}),
    };
    const { result, events } = run(never, {}, abort.signal);
    const ended = expect(result).rejects.toMatchObject({ code: "aborted" });
    while (!events.some((event) => event.type === "phase" && event.phase === "review")) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    abort.abort();

    await ended;
    const left = () => childrenOfThisProcess().filter((line) => line.includes("review-process"));
    // It was killed by then; a busy machine takes its time to end it.
    await expect.poll(left, patience).toEqual([]);
  });

  it("A review process takes a git that hangs with it when it is aborted", async () => {
    using hanging = hangingGit(place);
    const abort = new AbortController();
    const { result } = run(null, {}, abort.signal, { place: hanging.place });
    const ended = expect(result).rejects.toMatchObject({ code: "aborted" });
    const pid = await hanging.pid();
    abort.abort();

    await ended;
    await expect.poll(() => isRunning(pid), patience).toBe(false);
  });

  it("A review process takes a git that hangs with it when its parent is gone", async () => {
    using hanging = hangingGit(place);
    using started = startReviewProcess();
    const left = { ...started, [Symbol.dispose]: () => {} };
    const { result } = run(null, {}, undefined, { place: hanging.place, started: left });
    const ended = expect(result).rejects.toMatchObject({ code: "child_died" });
    const pid = await hanging.pid();
    started.child.disconnect();

    await ended;
    await expect.poll(() => isRunning(pid), patience).toBe(false);
  });

  it("A review process rejects, to be tried again, when the process dies", async () => {
    const killer: Model = {
      name: "killer",
      contextTokens: 128_000,
      protocol: "native",
      respond: () => {
        const [line] = childrenOfThisProcess().filter((one) => one.includes("review-process"));
        process.kill(Number(line?.trim().split(" ")[0]), "SIGKILL");
        return new Promise(() => {});
      },
    };

    await expect(run(killer).result).rejects.toMatchObject({ code: "child_died", retryable: true });
  });

  it("A review process that fails tells no secret", () => {
    const secret = writeOut("{hex:64}", seeded(5));
    registerSecret(secret);
    const failure = { code: "git_failed", message: `no ${secret}`, remedy: secret, retryable: true };
    expect(fromFailure(failure)).toMatchObject({ message: "no [secret]", remedy: "[secret]" });
  });

  it("A review process has only the owner tag", async () => {
    let environment = "not read";
    const looker: Model = {
      name: "looker",
      contextTokens: 128_000,
      protocol: "native",
      respond: async () => {
        const [line] = childrenOfThisProcess().filter((one) => one.includes("review-process"));
        environment = execFileSync("cat", [`/proc/${Number(line?.trim().split(" ")[0])}/environ`], {
          encoding: "utf8",
        });
        throw new AppError("model_failed", "enough seen");
      },
    };
    await run(looker).result;

    const names = environment
      .split("\0")
      .filter((one) => one !== "")
      .map((one) => one.split("=")[0]);
    expect(names.filter((name) => !name?.startsWith("NODE_CHANNEL"))).toEqual([
      "HUNKWISE_OWNER",
      "NODE_COMPILE_CACHE",
      "TMPDIR",
    ]);
  });
});

const patience = { timeout: 120_000, interval: 20 };

/** A place whose git never ends once it is to compare something; `pid` waits until it is asked to. */
function hangingGit(place: RevisionPlace) {
  const folder = new TempFolder("hanging-git");
  const gitPath = join(folder.path, "git");
  const pidFile = join(folder.path, "pid");
  const script = `#!/bin/sh
case " $* " in *" diff"*) echo $$ >"${pidFile}.new" && mv "${pidFile}.new" "${pidFile}"; exec sleep 600 ;; esac
exec "${place.gitPath}" "$@"
`;
  writeFileSync(gitPath, script, { mode: 0o755 });
  return {
    place: { ...place, gitPath },
    async pid() {
      await expect.poll(() => existsSync(pidFile), patience).toBe(true);
      return Number(readFileSync(pidFile, "utf8"));
    },
    [Symbol.dispose]() {
      if (existsSync(pidFile)) endIfRunning(Number(readFileSync(pidFile, "utf8")));
      folder.dispose();
    },
  };
}

function endIfRunning(pid: number): void {
  if (isRunning(pid)) process.kill(pid, "SIGKILL");
}

/** Whether a process still runs; one that is dead and not yet taken note of does not. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function childrenOfThisProcess(): string[] {
  try {
    return execFileSync("ps", ["--ppid", String(process.pid), "-o", "pid=,args="], {
      encoding: "utf8",
    }).split("\n");
  } catch {
    return [];
  }
}
