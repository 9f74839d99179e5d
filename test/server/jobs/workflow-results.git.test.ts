import { expect, it } from "vitest";
import { RepoConfig } from "../../../src/config/repo-config.ts";
import { AppError } from "../../../src/core/errors.ts";
import type { WorkflowRun } from "../../../src/pull/github/artifact-client.ts";
import { awaitWorkflows } from "../../../src/server/jobs/review-and-publish.ts";
import { reviewJob } from "../../contract/queue.ts";
import { accessTo, claimed, silent } from "./dependencies.ts";

const config = RepoConfig.parse({ findings: { workflows: [{ workflow: "lint.yml", artifact: "report" }] } });
const running: WorkflowRun = { id: 1, isCompleted: false, conclusion: null };

/** Milliseconds until the job looks again; null if it goes on. */
async function waitsFor(
  run: WorkflowRun | undefined | AppError,
  waitedMs: number,
  { refused = null, requestedBy = null }: { refused?: string | null; requestedBy?: string | null } = {},
): Promise<number | null> {
  const { task } = reviewJob(1, {});
  if (task.kind !== "review") throw new Error("no review");
  const job = claimed({ ...task, requestedBy }, { startedAt: 1_000_000 });
  const latestRun = async () => {
    if (run instanceof AppError) throw run;
    return run;
  };
  const unused = () => Promise.reject(new Error("not asked for"));
  const deps = {
    github: accessTo(unused, { artifacts: () => ({ latestRun, artifact: unused }) }),
    now: () => 1_000_000 + waitedMs,
    log: silent,
  };
  const of = {
    job,
    pull: { headSha: "a".repeat(40) },
    loaded: { config, refused },
  };
  try {
    await awaitWorkflows(of, deps, new AbortController().signal);
    return null;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "results_pending") throw error;
    expect(error.retryable).toBe(true);
    return error.retryAfterMs ?? Number.NaN;
  }
}

const minutes = (count: number) => count * 60_000;

it("A review that an event starts waits for a running workflow, looks again ever less often, and never past its time", async () => {
  expect(await waitsFor(running, 0)).toBe(10_000);
  expect(await waitsFor(running, minutes(2))).toBe(60_000);
  expect(await waitsFor(running, minutes(8))).toBe(minutes(2));
  expect(await waitsFor(running, minutes(10) - 5)).toBe(5);
  expect(await waitsFor(running, minutes(10))).toBeNull();
});

it("A review that an event starts waits a minute for a workflow to begin: the filters of some leave a change out", async () => {
  expect(await waitsFor(undefined, 59_000)).not.toBeNull();
  expect(await waitsFor(undefined, 60_000)).toBeNull();
});

it("A review that an event starts does not wait for one that has ended, or that cannot be asked about", async () => {
  expect(await waitsFor({ ...running, isCompleted: true, conclusion: "failure" }, 0)).toBeNull();
  expect(await waitsFor(new AppError("github_forbidden", "not granted"), 0)).toBeNull();
  const limited = new AppError("github_rate_limited", "slow down", { retryable: true });
  await expect(waitsFor(limited, 0)).rejects.toThrow("slow down");
});

it("A review that an event starts does not wait if its configuration is refused", async () => {
  expect(await waitsFor(running, 0, { refused: "a broken line" })).toBeNull();
});

it("A review that a person asked for does not wait", async () => {
  expect(await waitsFor(running, 0, { requestedBy: "octocat" })).toBeNull();
});
