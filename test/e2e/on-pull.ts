import { afterAll, expect } from "vitest";
import { type AgreeingScript, withAgreeingSceptic } from "../support/agreeing-sceptic.ts";
import type { AppOptions } from "../support/app-under-test.ts";
import type { ChatRequestBody, FakeAnswer, FakeRequest, FakeScript } from "../support/fake-openai.ts";
import type { Pull } from "../support/github-double/model.ts";
import {
  type EventDetails,
  issueCommentPayload,
  type PullAction,
  pullRequestPayload,
  reviewCommentPayload,
} from "../support/github-double/payloads.ts";
import { type Case, caseOf } from "./conformance-fixture.ts";
import { type SharedApp, startSharedApp } from "./shared-app.ts";

type Resolution = "fixed" | "present" | "unsure";

/** The options of a case on the shared App: everything about its pull request, nothing about the server. */
export type PullOptions = Pick<
  AppOptions,
  "base" | "head" | "author" | "draft" | "fork" | "permissions" | "title" | "body" | "labels"
> & {
  /** The model's answers as the reviewer. */
  script?: FakeScript;
  /** Its answers in every role that sees the branch, in place of a script. */
  everyRole?: (body: ChatRequestBody) => FakeAnswer;
  /** The model's answer about an earlier finding whose code has changed; `asked` contains the finding's title. */
  resolution?: Resolution | ((asked: string) => Resolution);
  /** The model calls every pair a restatement. Findings to compare must name the branch; otherwise the model must not be asked. */
  same?: true;
};

/** Every pair in a question about restatements. */
function allPairs(asked: string): { finding: string; earlier: string }[] {
  const listed = asked.slice(asked.lastIndexOf("# Pairs to decide"));
  return [...listed.matchAll(/([0-9a-f-]{12,}) and ([0-9a-f-]+)/g)].map(([, finding = "", earlier = ""]) => ({
    finding,
    earlier,
  }));
}

/** Scripts of the cases, by a base branch that only their pull request has: every role sees its name. */
const scripts = new Map<string, AgreeingScript["script"]>();
/** Only the merging pass does not see a branch. */
const ofNobody = withAgreeingSceptic([]).script;
let shared: Promise<SharedApp> | undefined;

const start = () =>
  startSharedApp({
    everyRole: (body) => (scripts.get(branchOf(body) ?? "") ?? ofNobody)(body),
  });

afterAll(async () => {
  if (!shared) return;
  const all = await shared;
  await all[Symbol.asyncDispose]();
  expect(all.app.github.violations).toEqual([]);
  expect(all.app.model?.complaints).toEqual([]);
});

/**
 * Runs one case on the App that all cases of a file share, in a separate repository. In every case, GitHub must have received no request
 * that it would refuse, and the model none that its endpoint would refuse.
 */
export async function onPull<Seen>(
  options: PullOptions,
  play: (app: CaseOnPull) => Promise<Seen>,
): Promise<Seen> {
  shared ??= start();
  const app = await openCase(await shared, options);
  const seen = await play(app);
  expect(app.takeViolations()).toEqual([]);
  return seen;
}

export interface CaseOnPull extends Case {
  /** Sends GitHub's webhook with its details, also about another pull request of the repository. */
  deliver(action: PullAction, details?: EventDetails, about?: Pull): Promise<number>;
}

async function openCase(all: SharedApp, options: PullOptions): Promise<CaseOnPull> {
  const {
    base,
    head,
    script = [],
    author = "octocat",
    permissions,
    draft,
    fork,
    title,
    body,
    labels,
  } = options;
  const { app } = all;
  const of = all.addRepository(base, permissions);
  const { repository } = of;
  app.people.addCollaborator(repository, author, fork ? "read" : "write");
  const branch = `${repository.name}-base`;
  repository.git.git("branch", "-m", repository.defaultBranch, branch);
  repository.defaultBranch = branch;
  const { everyRole, resolution, same } = options;
  const stateOf = (asked: string) => (typeof resolution === "function" ? resolution(asked) : resolution);
  const agreeing = withAgreeingSceptic(script, {
    resolution: (asked) => ({ state: stateOf(asked) ?? "present", reason: "The number is as it is now." }),
    ...(same ? { same: allPairs } : {}),
  });
  scripts.set(branch, everyRole ? async (body) => everyRole(body) : agreeing.script);
  const commits = Array.isArray(head) ? head : [{ files: head }];
  const given = Object.entries({ draft, fork, title, body, labels }).filter(
    ([, value]) => value !== undefined,
  );
  const opened = of.open({}, { author, commits, ...Object.fromEntries(given) });
  const { pull } = opened;
  const { github, people, model } = app;
  const isOurs = ({ body }: FakeRequest) => branchOf(body) === branch && agreeing.isReview(body);
  return caseOf({
    ...{ github, people, model, repository, pull, app: app.app, dataFolder: app.dataFolder },
    ...{ databaseUrl: app.databaseUrl },
    get reviewRequests() {
      return model?.requests.filter(isOurs) ?? [];
    },
    async send(action, id) {
      const payload = await pullRequestPayload(github.state, action, pull);
      return of.deliver("pull_request", payload, id);
    },
    deliver: async (action: PullAction, details: EventDetails = {}, about = pull) =>
      of.deliver(
        "pull_request",
        await pullRequestPayload(github.state, action, about, about.author, details),
      ),
    comment: (login, text) =>
      of.deliver("issue_comment", issueCommentPayload(github.state, people.comment(pull, login, text))),
    async reply(to, login, text) {
      const written = await reviewCommentPayload(github.state, people.reply(to, login, text));
      return of.deliver("pull_request_review_comment", written);
    },
    concluded: () => opened.concluded(),
  });
}

const branches = new WeakMap<ChatRequestBody, string | undefined>();

function branchOf(body: ChatRequestBody): string | undefined {
  if (!branches.has(body)) branches.set(body, /\bcase-\d+-base\b/.exec(JSON.stringify(body.messages))?.[0]);
  return branches.get(body);
}
