import { describe, expect, it } from "vitest";
import { AppError } from "../../../src/core/errors.ts";
import type { BeforeWrite } from "../../../src/pull/github/client.ts";
import type { PullRequestApi } from "../../../src/pull/github/pull-request-api.ts";
import { openCheckRun } from "../../../src/pull/publish/check-run.ts";
import { publishReview } from "../../../src/pull/publish/publish-review.ts";
import type { RevisionPlace } from "../../../src/repo/git/workspace.ts";
import { withFence } from "../../../src/server/jobs/fenced.ts";
import type { GitHubAccess, UnopenedDependencies } from "../../../src/server/jobs/job-dependencies.ts";
import type { JobTools } from "../../../src/server/queue/run-job.ts";
import { reviewJob } from "../../contract/queue.ts";
import { ambiguous, MemoryGitHub, refusal } from "../../pull/publish/memory-github.ts";
import { many, onFile } from "../../pull/publish/publish-to-memory.ts";
import { sampleResult } from "../../report/sample-result.ts";
import { accessTo, claimed, jobDependencies, jobTools } from "./dependencies.ts";

const trigger = "event#7@main";
const repository = { installation: 1, id: 2, owner: "octo", name: "shop" };
const findings = [...many(2), ...onFile(1)];
const job = claimed(reviewJob(7).task);

const web = "https://github.example";
const topicPush = {
  ...{ owner: "octo", name: "shop", branch: "topic", from: "a".repeat(40), to: "b".repeat(40) },
  ...{ place: {} as RevisionPlace, authorization: "basic", signal: new AbortController().signal },
};
const wrotePush = {
  ...{ kind: "wrote", request: "push octo/shop topic", id: null },
  url: `${web}/octo/shop/commit/${topicPush.to}`,
};

/** Before the fence is asked, as while it waits for GitHub's limits; between that and the request; and after its answer. */
const moments = ["waiting", "before", "after"] as const;
type When = (typeof moments)[number];

/** One of two workers on one job. It loses the lease for good when it is told to. */
class Worker {
  readonly #lost = new AbortController();
  readonly #github: MemoryGitHub;
  /** Called around each call, also before the fence is asked; nothing more happens until it resolves. */
  freeze: (nth: number, when: When) => Promise<void> = async () => {};
  /** Calls of its handler, not of what it does when it finds out that it is late. */
  calls = 0;
  asked = 0;

  constructor(github: MemoryGitHub) {
    this.#github = github;
  }

  loseLease(): void {
    this.#lost.abort(new AppError("lease_lost", "Job belongs to another worker now"));
  }

  /** Resolves to what became of it: never to a rejection, as a queue's run of a job. */
  async publish(): Promise<string> {
    try {
      const work = async ({ github }: { github: GitHubAccess }) => {
        const api = await github.pull(repository, 7, this.#lost.signal);
        const check = await openCheckRun(api, await api.pull(), trigger);
        if (check.reviewed) return "reviewed already";
        const { kind } = await publishReview({
          ...{ result: sampleResult({ findings }), api, trigger, check, baseRef: "main" },
          ...{ repositoryUrl: "https://github.com/octo/shop", version: "0.1.0", maxComments: 40 },
          checkPolicy: { threshold: "high", fail: false },
        });
        return kind;
      };
      return await withFence(job, this.#tools(), this.dependencies(), work);
    } catch (error) {
      if (error instanceof AppError) return error.code;
      throw error;
    }
  }

  #tools(): JobTools {
    const { signal } = this.#lost;
    const hasLease = async () => {
      this.asked++;
      return !signal.aborted;
    };
    return jobTools({ signal, hasLease, mayPublish: hasLease });
  }

  dependencies(): UnopenedDependencies {
    // Once it has lost the lease, what it asks GitHub without a fence is answered at once.
    const openJob = (beforeWrite?: BeforeWrite) =>
      accessTo(async () => (beforeWrite ? this.#freezing(this.#github, beforeWrite) : this.#github));
    return jobDependencies({ openJob });
  }

  #freezing(github: PullRequestApi, beforeWrite: BeforeWrite): PullRequestApi {
    const entries = Object.entries(github).map(([name, method]) => {
      if (typeof method !== "function") return [name, method];
      const slow = async (...args: unknown[]) => {
        const nth = ++this.calls;
        await this.freeze(nth, "waiting");
        if (/^(create|update|delete|edit)/.test(name)) await beforeWrite();
        await this.freeze(nth, "before");
        const answer = await method(...args);
        await this.freeze(nth, "after");
        return answer;
      };
      return [name, slow];
    });
    return Object.fromEntries(entries);
  }
}

const ours = (github: MemoryGitHub) => ({
  reviews: github.reviews.filter(({ body }) => body.includes("hunkwise:review")).length,
  comments: [
    ...github.reviews.flatMap(({ comments }) => comments.map(({ path, line }) => `${path}:${line}`)),
    ...github.fileComments.map(({ path }) => path),
  ],
  summaries: github.comments.length,
  checks: new Set(github.checks.map(({ history }) => history.at(-1)?.conclusion)),
});
const whole = {
  ...{ reviews: 1, comments: ["src/a.ts:1", "src/a.ts:2", "src/f0.ts"], summaries: 1 },
  checks: new Set(["neutral"]),
};

/** Two workers, the first of which is frozen around one of its calls until the second one is done with the job. */
async function race(nth: number, when: When) {
  const github = new MemoryGitHub();
  const [late, other] = [new Worker(github), new Worker(github)];
  const frozen = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  late.freeze = async (call, at) => {
    if (call !== nth || at !== when) return;
    frozen.resolve();
    await woken.promise;
  };
  const ended = late.publish().finally(() => frozen.resolve());
  await frozen.promise;
  late.loseLease();
  await other.publish();
  const wrote = ours(github);
  woken.resolve();
  await ended;
  return { github, wrote };
}

it("Two workers on one job leave one review, each comment once, one summary and no open check run, whichever call it is frozen at", async () => {
  const undisturbed = new Worker(new MemoryGitHub());
  expect(await undisturbed.publish()).toBe("published");

  for (let nth = 1; nth <= undisturbed.calls; nth++) {
    for (const when of moments) {
      const { github } = await race(nth, when);
      expect(ours(github), `call ${nth}, ${when}`).toEqual(whole);
    }
  }
});

it("A worker that was frozen past its lease makes no further write", async () => {
  const undisturbed = new Worker(new MemoryGitHub());
  await undisturbed.publish();
  for (let nth = 1; nth <= undisturbed.calls; nth++) {
    for (const when of ["waiting", "after"] as const) {
      const { wrote, github } = await race(nth, when);
      expect(ours(github), `call ${nth}, ${when}`).toEqual(wrote);
      expect(github.calls.filter((call) => call.startsWith("delete"))).toEqual([]);
    }
  }
});

it("The fence is asked once for each write and once in the end, and never for a question", async () => {
  const github = new MemoryGitHub();
  const worker = new Worker(github);
  await worker.publish();

  const writes = ["createCheckRun", "createReview", "createFileComment", "createComment", "updateCheckRun"];
  expect(github.calls.filter((call) => /^(create|update)/.test(call)).toSorted()).toEqual(writes.toSorted());
  expect(worker.asked).toBe(writes.length + 1);
});

it.each([
  [{ kind: "pushed" }, [{ ...wrotePush }]],
  [{ kind: "moved" }, []],
  [{ kind: "refused", reason: "protected" }, []],
] as const)("The fence puts an accepted push on record, and no other: %j", async (end, recorded) => {
  const entries: unknown[] = [];
  const tools = jobTools({ record: async (entry) => void entries.push(entry) });
  const deps = jobDependencies({
    openJob: () => accessTo(async () => new MemoryGitHub()),
    disk: {
      checkout: async () => Promise.reject(new Error("not used")),
      push: async () => end,
      indexes: null,
    },
  });
  const pushed = await withFence(job, tools, deps, ({ disk }) => disk.push(topicPush));
  expect({ pushed, entries }).toEqual({ pushed: end, entries: recorded });
});

it("The fence lets nothing through when the job is lost before the first write", async () => {
  const github = new MemoryGitHub();
  const worker = new Worker(github);
  worker.loseLease();

  expect(await worker.publish()).toBe("lease_lost");
  expect(ours(github)).toEqual({ reviews: 0, comments: [], summaries: 0, checks: new Set() });
});

describe("a duplicate that its worker could not remove", () => {
  /** A worker wrote everything a second time and died at once. */
  async function doubled() {
    const github = new MemoryGitHub();
    await new Worker(github).publish();
    const [review, file, summary] = [github.reviews[0]!, github.fileComments[0]!, github.comments[0]!];
    const comments = review.comments.map((one) => ({ ...one, id: one.id + 1_000 }));
    github.reviews.push({ ...review, id: review.id + 1_000, comments });
    github.fileComments.push({ ...file, id: file.id + 1_000 });
    github.comments.push({ ...summary, id: summary.id + 1_000 });
    return github;
  }
  /** Another review of the same pull request, asked for in a comment. */
  const again = async (github: MemoryGitHub) => {
    const check = await openCheckRun(github, github.state, "comment:1");
    await publishReview({
      ...{ result: sampleResult({ findings }), api: github, trigger: "comment:1", check, baseRef: "main" },
      ...{ repositoryUrl: "https://github.com/octo/shop", version: "0.1.0", maxComments: 40 },
      ...{ checkPolicy: { threshold: "high", fail: false } },
    });
  };

  it("A duplicate that its worker could not remove is removed by the next review, whatever that was made for", async () => {
    const github = await doubled();
    await again(github);

    expect(ours(github)).toEqual(whole);
  });

  it("A duplicate stays if a person answered, reacted or resolved", async () => {
    const github = await doubled();
    const [first, second] = github.reviews[1]!.comments;
    github.personReplies(first!.id, "ann", "Is it?");
    github.personResolves(second!.id, "bob");
    github.personDownvotes(github.fileComments[1]!.id, "ann");
    await again(github);

    expect(ours(github).comments).toEqual([
      ...["src/a.ts:1", "src/a.ts:2", "src/a.ts:1", "src/a.ts:2", "src/f0.ts", "src/f0.ts"],
    ]);
    expect(ours(github)).toMatchObject({ reviews: 1, summaries: 1 });
  });

  it("A duplicate stays if GitHub refuses to delete it, and holds up nothing", async () => {
    const github = await doubled();
    for (const call of ["deleteReviewComment", "deleteComment", "editReview"] as const)
      github.faults.push({ call, error: refusal("github_forbidden") });
    await again(github);

    expect(ours(github)).toMatchObject({ reviews: 2, summaries: 2 });
  });

  it("A duplicate is removed at the next try after an outage of GitHub", async () => {
    const github = await doubled();
    github.faults.push({ call: "deleteReviewComment", nth: 1, error: ambiguous() });
    await expect(again(github)).rejects.toMatchObject({ code: "github_failed" });
    await again(github);

    expect(ours(github)).toEqual(whole);
  });
});
