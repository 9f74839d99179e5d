import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createRateLimiter } from "../../../src/pull/github/rate-limit.ts";
import { publicText } from "../../../src/pull/publish/public-text.ts";
import { createGitHubAccess } from "../../../src/server/jobs/github-access.ts";
import type { ClaimedJob } from "../../../src/server/queue/job.ts";
import { openSqliteStores, type Stores } from "../../../src/server/queue/stores.ts";
import { startWorker } from "../../../src/server/queue/worker.ts";
import { commandJob } from "../../contract/jobs.ts";
import { TempFolder } from "../../support/git-repo.ts";
import type { Installation, Pull } from "../../support/github-double/model.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";
import { SimulatedTime } from "../../support/simulated-time.ts";

const minute = 60_000;
const patience = { requestsAnHour: 50 };

let time: SimulatedTime;
let scenario: Scenario;
let stores: Stores;
/** Two installations of the App, each with a pull request. */
let one: { installation: Installation; pull: Pull };
let other: typeof one;
let folder: TempFolder;

beforeEach(async () => {
  time = new SimulatedTime();
  folder = new TempFolder("limited");
  vi.stubGlobal("fetch", time.fetch);
  const files = { base: { "a.txt": "a\n" }, head: { "a.txt": "b\n" } };
  scenario = await createScenario({ ...files, limits: { now: time.now, ...patience } });
  const { people, github, app, installation, pull } = scenario;
  const repository = people.createRepository("acme/tools", files.base);
  people.addCollaborator(repository, "octocat", "write");
  const commits = [{ files: files.head }];
  one = { installation, pull };
  other = {
    installation: github.state.install(app, [repository]),
    pull: people.openPull(repository, { title: "Change it", author: "octocat", commits }),
  };
  stores = openSqliteStores(folder.path, { now: time.now });
});
afterEach(async () => {
  vi.unstubAllGlobals();
  time[Symbol.dispose]();
  await stores.close();
  await scenario.github.close();
  folder.dispose();
});

const reference = ({ installation, pull }: typeof one) => ({
  ...{ installation: installation.id, id: pull.repository.id },
  ...{ owner: pull.repository.owner.login, name: pull.repository.name },
});

/** GitHub as jobs of one process have it. */
function access() {
  const { github, app } = scenario;
  return createGitHubAccess({
    ...{ apiUrl: github.apiUrl, userAgent: "test" },
    identity: async () => app,
    mintToken: async (id) => github.state.issueToken(github.state.installations.get(id)!).value,
    granted: async () => ({}),
    rateLimiter: createRateLimiter(),
  }).openJob();
}

/** Works off the queue with one worker that comments on the pull request of each job; resolves to when each was done. */
async function workOff(): Promise<{ job: ClaimedJob; at: number }[]> {
  const github = access();
  const done: { job: ClaimedJob; at: number }[] = [];
  const silent = { info() {}, warn() {}, error() {} };
  const worker = startWorker({
    ...{ queue: stores.queue, concurrency: 1, log: silent, pollMs: minute, now: time.now },
    sleep: (ms, signal) => time.sleep(ms, signal).catch(() => {}),
    async handle(job, { signal }) {
      if (!("pull" in job.task)) throw new Error("unexpected");
      const api = await github.pull(job.task.repository, job.task.pull, signal);
      await api.pull();
      await api.createComment(publicText("Done"));
      done.push({ job, at: time.now() });
      return { kind: "done", reason: "commented" };
    },
  });
  const empty = async () => {
    for (;;) {
      const { jobs } = await stores.queue.stats();
      if (jobs.waiting + jobs.active === 0) return;
      await time.sleep(minute);
    }
  };
  await time.run(empty());
  await time.run(worker.stop(0));
  return done;
}

async function ask(about: typeof one): Promise<void> {
  const { task, ...job } = commandJob(about.pull.number, about.pull.id);
  const here = { ...task, repository: reference(about) } as typeof task;
  await stores.queue.enqueue({ ...job, task: here, concurrencyKey: `${about.installation.id}` });
}

it("A job that meets a used-up primary limit parks for 40 minutes and resumes, while others go on", async () => {
  const { limits } = scenario.github;
  // The hour is counted from the first request.
  await time.run(
    access()
      .pull(reference(one), one.pull.number, new AbortController().signal)
      .then((api) => api.pull()),
  );
  await time.run(time.sleep(20 * minute));
  const renewedAt = limits!.exhaust(one.installation.id);
  const start = time.now();
  expect(renewedAt - start).toBe(40 * minute);
  await ask(one);
  await ask(other);

  const [first, second] = await workOff();

  expect(first!.job.task).toMatchObject({ repository: { installation: other.installation.id } });
  // The plugins take some milliseconds for themselves.
  expect(first!.at - start).toBeLessThan(100);
  expect(second!.job).toMatchObject({ attempt: 1 });
  expect(second!.at).toBeGreaterThanOrEqual(renewedAt);
  expect(second!.at).toBeLessThan(renewedAt + 2 * minute);
  expect(one.pull.comments).toHaveLength(1);
  // One request found it out, and none was sent before the time that GitHub named.
  expect(limits!.breaches.map(({ limit }) => limit)).toEqual(["primary"]);
});

it("A job sends nothing while its process knows of a limit; another process finds out by one request", async () => {
  const { github } = scenario;
  const signal = new AbortController().signal;
  const limited = { code: "github_rate_limited" };
  const pullOf = (process: ReturnType<typeof access>) =>
    time.run(process.pull(reference(one), one.pull.number, signal));
  for (const process of [access(), access()]) {
    if (github.requests.length === 0) await time.run((await pullOf(process)).pull());
    github.limits!.exhaust(one.installation.id);
    await expect(time.run((await pullOf(process)).pull())).rejects.toMatchObject(limited);
    const sent = github.requests.length;
    await expect(time.run((await pullOf(process)).pull())).rejects.toMatchObject(limited);
    const comment = (await pullOf(process)).createComment(publicText("x"));
    await expect(time.run(comment)).rejects.toMatchObject(limited);
    expect(github.requests).toHaveLength(sent);
  }
});
