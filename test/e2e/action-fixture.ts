import { expect } from "vitest";
import { Actions, type FinishedRun, type WorkflowRun } from "../support/action-runner.ts";
import { withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import { modelKey } from "../support/app-under-test.ts";
import { type FakeOpenAi, type FakeScript, startFakeOpenAi } from "../support/fake-openai.ts";
import { fullName } from "../support/github-double/model.ts";
import {
  issueCommentPayload,
  type Payload,
  type PullAction,
  pullRequestPayload,
} from "../support/github-double/payloads.ts";
import { createScenario, type Scenario, type ScenarioOptions } from "../support/github-double/scenario.ts";
import { shortTimes } from "../support/short-times.ts";
import { finding, finish, numbers, turn } from "./conformance-fixture.ts";

export interface ActionCase extends Scenario {
  actions: Actions;
  model: FakeOpenAi;
  /** Runs the Action for an event about the pull request as it is now, with a model unless `inputs` say otherwise. */
  on(event: "pull_request" | "pull_request_target", action: PullAction, how?: How): Promise<FinishedRun>;
  /** Writes a comment and runs the Action for it. */
  comment(login: string, body: string, how?: How): Promise<FinishedRun>;
  /** The payload of an event as it is now, for a run later. */
  capture(action: PullAction, by: string): Promise<Payload>;
  replay(event: string, payload: Payload, how?: How): Promise<FinishedRun>;
  /** A request of another workflow of the repository, which writes as the same bot. */
  asWorkflow(route: string, body: object): Promise<void>;
  /** Removes everything that was written on the pull request. */
  wipe(): void;
  /** What the job's bot has written on the pull request: places of comments, and the latest conclusion. */
  written(): { reviews: number; comments: string[]; summaries: number; checks: (string | null)[] };
}

type How = Partial<Omit<WorkflowRun, "event">> & { by?: string };

export const withModel = (model: FakeOpenAi) => ({
  "api-key": modelKey,
  "base-url": model.url,
  model: "fake-model",
});

/** A change with three faults, which the scripted model finds. */
const base = { "src/numbers.js": numbers(40) };
const head = { "src/numbers.js": numbers(40, { 3: "const n3 = 4;", 20: [], 30: "const n30 = n99;" }) };
const answer = turn(
  finding({ line: 3, quote: "const n3 = 4;", suggestion: "const n3 = 3;" }),
  finding({ side: "LEFT", line: 20, quote: "const n20 = 20;", title: "n20 is gone" }),
  finding({ line: 29, quote: "const n30 = n99;", title: "n99 is not defined", severity: "medium" }),
  finish,
);
export const change = { base, head, script: [answer] };
/** The same answer in every review. */
export const always = () => answer;
export const places = ["src/numbers.js RIGHT 3", "src/numbers.js LEFT 20", "src/numbers.js RIGHT 29"];
export const fork = { author: "mallory", fork: "mallory" };
export const stateKey = "0123456789abcdef0123456789abcdef";

/** A table of prices in the workspace, so that a limit in dollars can be kept. */
export const pricesOf = (model: string): Pick<WorkflowRun, "workspace" | "env"> => ({
  workspace: { "prices.json": JSON.stringify({ [model]: { prompt: 1, cached_prompt: 1, completion: 1 } }) },
  env: { HUNKWISE_PRICES: "prices.json" },
});

/** A pull request, GitHub Actions and a scripted model. GitHub must have received no request that it would refuse. */
export async function onAction<Seen>(
  { script, ...options }: ScenarioOptions & { script: FakeScript },
  play: (one: ActionCase) => Promise<Seen>,
): Promise<Seen> {
  await using scenario = await createScenario(options);
  const { github, pull, people, repository } = scenario;
  const model = await startFakeOpenAi({ script: withAgreeingSceptic(script).script, apiKey: modelKey });
  const actions = new Actions(scenario);
  const run = (event: string, payload: WorkflowRun["payload"], { inputs, env, ...how }: How) =>
    actions.run({
      ...{ event, payload },
      // A probe would take the first answer of the script, and writes are not spaced.
      env: { HUNKWISE_PROTOCOL: "native", ...shortTimes(), ...env },
      inputs: { ...withModel(model), ...inputs },
      ...how,
    });
  try {
    const seen = await play({
      ...scenario,
      ...{ actions, model },
      async on(event, action, { by = pull.author.login, ...how } = {}) {
        const payload = await pullRequestPayload(github.state, action, pull, github.state.account(by));
        return run(event, payload, how);
      },
      async comment(login, body, how = {}) {
        return run(
          "issue_comment",
          issueCommentPayload(github.state, people.comment(pull, login, body)),
          how,
        );
      },
      capture: (action, by) => pullRequestPayload(github.state, action, pull, github.state.account(by)),
      replay: (event, payload, how = {}) => run(event, payload, how),
      async asWorkflow(route, body) {
        const [method = "", path = ""] = route.split(" ");
        const token = actions.jobToken({ checks: "write", pull_requests: "write", issues: "write" });
        const url = `${github.apiUrl}/repos/${fullName(repository)}${path}`;
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
        const answer = await fetch(url, { method, headers, body: JSON.stringify(body) });
        if (!answer.ok) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
      },
      wipe: () => {
        Object.assign(pull, { reviews: [], reviewComments: [], comments: [] });
        repository.checkRuns.splice(0);
      },
      written: () => {
        const ours = <T extends { via: unknown }>(all: readonly T[]) =>
          all.filter(({ via }) => via === actions.app);
        return {
          reviews: ours(pull.reviews).length,
          comments: ours(pull.reviewComments).map(({ path, anchor }) =>
            anchor ? `${path} ${anchor.side} ${anchor.line}` : path,
          ),
          summaries: ours(pull.comments).length,
          checks: repository.checkRuns.map(({ conclusion }) => conclusion),
        };
      },
    });
    expect(github.violations).toEqual([]);
    expect(model.complaints).toEqual([]);
    return seen;
  } finally {
    await model.close();
  }
}
