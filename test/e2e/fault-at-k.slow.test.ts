import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { createFailingGit, type FailingGit, type GitFailure } from "../support/failing-git.ts";
import type { ChatRequestBody, FakeFault, FakeTurn } from "../support/fake-openai.ts";
import type { FaultKind } from "../support/github-double/faults.ts";
import { fullName } from "../support/github-double/model.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";
import { type EndState, type PullOfCase, type SharedApp, startSharedApp } from "./shared-app.ts";

/*
 * One review in which one call fails: for every call and every kind of failure, the visible result is the same as without a fault. Each
 * call fails alone, in each way.
 */

const base = { "src/numbers.js": numbers(60) };
const head = { "src/numbers.js": numbers(60, { 10: "const n10 = 0;", 40: "const n40 = 0;" }) };
const titles = ["Line 10 is wrong", "Line 40 is wrong", "Line 55 is wrong"];
const answersOfReviewer: FakeTurn[] = [
  turn({ name: "read_file_part", arguments: { path: "src/numbers.js", start_line: 1, end_line: 60 } }),
  turn({ name: "search_in_files", arguments: { pattern: "n40" } }),
  turn(
    finding({ line: 10, quote: "const n10 = 0;" }),
    finding({ line: 40, quote: "const n40 = 0;" }),
    // Outside every hunk: a comment on the file.
    finding({ line: 55, quote: "const n55 = 55;" }),
    finish,
  ),
];

function reviewer({ messages }: ChatRequestBody): FakeTurn {
  const turnsDone = messages.filter(({ role }) => role === "assistant").length;
  const answer = answersOfReviewer[turnsDone];
  if (!answer) throw new Error(`the reviewer was asked for turn ${turnsDone + 1}`);
  return answer;
}

const status = (code: number): FaultKind => ({ answer: { status: code, body: { message: "Server Error" } } });
/** All of these are transient: permanent refusals by GitHub have another result, and separate tests. */
const githubFaults: Record<string, () => FaultKind> = {
  "a connection that breaks before": () => "reset-before",
  "a connection that breaks after it was done": () => "reset-after",
  "a 500": () => status(500),
  "a 502 page": () => "bad-gateway",
  "a 502 page after it was done": () => "bad-gateway-after",
  "half an answer": () => "truncated",
  "a 401": () => status(401),
  "a 429": () => ({ secondaryLimit: 429, retryAfterSeconds: 1 }),
  "a secondary limit": () => ({ secondaryLimit: 403, retryAfterSeconds: 1 }),
  "the primary limit": () => ({ primaryLimitUntil: new Date(Date.now() + 2_000) }),
};
/** git detects half an answer only as a broken connection; it has no faults after the answer. */
const gitServerFaults = ["a connection that breaks before", "a 500", "a 502 page", "a 429"];
const modelFaults: Record<string, FakeFault> = {
  "a 500": { fault: "status", status: 500 },
  "a 503 with retry-after": { fault: "status", status: 503, headers: { "retry-after": "1" } },
  "a 429": { fault: "status", status: 429, headers: { "retry-after": "1" } },
  "a broken connection": { fault: "reset" },
  "half an answer": { fault: "truncated" },
  "a page of HTML": { fault: "html", status: 502 },
};
const gitFailures: readonly GitFailure[] = ["refuses", "is killed", "works and then fails"];

/** The failing calls of each kind (from 1), and their faults. */
interface Plan {
  github: [nth: number, fault: string][];
  /** The address names no repository: a review with such a fault must run alone. */
  graphql: [nth: number, fault: string][];
  gitServer: [nth: number, fault: string][];
  model: [nth: number, fault: string][];
  git: [nth: number, how: GitFailure][];
}
const nothing: Plan = { github: [], graphql: [], gitServer: [], model: [], git: [] };
/** The number of calls of each kind in a review without faults. */
type Calls = Record<keyof Plan, number>;

let failing: FailingGit;
let shared: SharedApp;
/** By title of the pull request: the failing requests to the model, and the number of all requests. */
const modelPlans = new Map<string, { faults: Map<number, FakeFault>; asked: number; failed: number }>();

beforeAll(async () => {
  failing = createFailingGit();
  const agreeing = withAgreeingSceptic(reviewer);
  shared = await startSharedApp({
    everyRole: async (body) => {
      const text = JSON.stringify(body.messages);
      const plan = [...modelPlans].find(([title]) => text.includes(title))?.[1];
      if (!plan) return agreeing.script(body);
      const fault = plan.faults.get(++plan.asked);
      if (!fault) return agreeing.script(body);
      plan.failed++;
      return fault;
    },
    env: { PATH: `${failing.path}:${process.env.PATH}` },
  });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  failing[Symbol.dispose]();
  expect(github.violations).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

/** A pull request that was reviewed with the planned faults, when no job is left. */
async function reviewed(plan: Plan): Promise<{ pull: PullOfCase; calls: Calls }> {
  const of = shared.addRepository(base);
  const { id, name } = of.repository;
  const title = `Change <${name}>`;
  const faults = plan.model.map(([nth, fault]) => [nth, modelFaults[fault]] as const);
  modelPlans.set(title, { faults: new Map(faults as [number, FakeFault][]), asked: 0, failed: 0 });
  failing.watch(id);
  for (const [nth, how] of plan.git) failing.fail(id, nth, how);
  const { faults: github } = shared.app.github;
  const repository = fullName(of.repository);
  const api = new RegExp(`/repos/${repository}/|/installations/${of.installation.id}/`);
  const graphql = /^POST \/graphql$/;
  const gitServer = new RegExp(`/${repository}\\.git/`);
  for (const [nth, fault] of plan.github) github.add({ match: api, kind: githubFaults[fault]!(), nth });
  for (const [nth, fault] of plan.gitServer)
    github.add({ match: gitServer, kind: githubFaults[fault]!(), nth });
  for (const [nth, fault] of plan.graphql) github.add({ match: graphql, kind: githubFaults[fault]!(), nth });
  const pull = of.open(head, { title });
  const before = shared.app.github.requests.length;
  await pull.deliver("opened");
  await of.idle();
  const made = shared.app.github.requests.slice(before).map(({ method, path }) => `${method} ${path}`);
  const calls = {
    github: made.filter((one) => api.test(one)).length,
    graphql: made.filter((one) => graphql.test(one)).length,
    gitServer: made.filter((one) => gitServer.test(one)).length,
    model: modelPlans.get(title)?.asked ?? 0,
    git: failing.calls(id),
  };
  return { pull, calls };
}

/** A file comment adds a separate review. */
const asItShallBe: EndState = {
  reviews: 2,
  comments: ["src/numbers.js RIGHT 10", "src/numbers.js RIGHT 40", "src/numbers.js"],
  summaries: 1,
  checks: ["neutral"],
};

function expectWhole({ pull, calls }: { pull: PullOfCase; calls: Calls }, undisturbed: Calls): void {
  expect(pull.end()).toEqual(asItShallBe);
  const bodies = pull.pull.reviewComments.map(({ body }) => body);
  expect(titles.map((title) => bodies.filter((body) => body.includes(title)).length)).toEqual([1, 1, 1]);
  expect(pull.check()?.output.title).toMatch(/found/);
  // Each turn once, and once more for each failure of the model.
  const failed = modelPlans.get(pull.pull.title)?.failed ?? 0;
  expect(calls.model).toBe(undisturbed.model + failed);
}

/** One plan for each call and each fault. */
function eachAlone(calls: Calls): Plan[] {
  const nths = (count: number) => Array.from({ length: count }, (_, n) => n + 1);
  const all = <Fault>(kind: keyof Plan, faults: readonly Fault[]) =>
    nths(calls[kind]).flatMap((nth) =>
      faults.map((fault) => ({ ...nothing, [kind]: [[nth, fault]] }) as Plan),
    );
  return [
    ...all("github", Object.keys(githubFaults)),
    ...all("graphql", Object.keys(githubFaults)),
    ...all("gitServer", gitServerFaults),
    ...all("model", Object.keys(modelFaults)),
    ...all("git", gitFailures),
  ];
}

const isAlone = ({ graphql }: Plan) => graphql.length > 0;

/** Runs all items, `atOnce` at a time: they wait more than they work. */
async function inTurns<Item>(items: readonly Item[], atOnce: number, run: (item: Item) => Promise<void>) {
  const left = [...items];
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

describe("a review in which a call fails", () => {
  it("A review ends like one without a failure, whichever call fails", {
    timeout: 14_400_000,
  }, async () => {
    const { pull, calls } = await reviewed(nothing);
    expectWhole({ pull, calls }, calls);
    expect(Object.values(calls).filter((count) => count === 0)).toEqual([]);
    const plans = eachAlone(calls);
    const failures: string[] = [];
    const play = async (plan: Plan) => {
      try {
        expectWhole(await reviewed(plan), calls);
      } catch (error) {
        failures.push(`${JSON.stringify(plan)}: ${error}`);
      }
    };
    const [alone, others] = [plans.filter(isAlone), plans.filter((plan) => !isAlone(plan))];
    await inTurns(alone, 1, play);
    await inTurns(others, 8, play);
    expect(failures).toEqual([]);
  });
});
