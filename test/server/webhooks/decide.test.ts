import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Task } from "../../../src/server/queue/job.ts";
import { decide as decideWith, handledEvents, handlesEvent } from "../../../src/server/webhooks/decide.ts";
import { examples } from "./examples.ts";

const options = { appSlug: "hunk", appId: 5, pushWindowMs: 10_000 };
const decide = (event: string, payload: unknown, more: Partial<typeof options> = {}) =>
  decideWith(event, payload, { ...options, ...more });

const sha = "b".repeat(40);
const common = {
  installation: { id: 3 },
  repository: { id: 7, name: "shop", owner: { login: "octo" } },
  sender: { login: "ann", type: "User" },
};
const repository = { installation: 3, id: 7, owner: "octo", name: "shop" };
const pull = (action: string, more: object = {}) => ({
  ...common,
  action,
  pull_request: { number: 12, head: { sha }, draft: false, ...more },
});
const at = "2026-01-01T00:00:00Z";
const comment = (body: string, more: object = {}) => ({
  ...common,
  action: "created",
  issue: { number: 12, pull_request: { url: "x" } },
  comment: { id: 99, body, created_at: at, user: { login: "ann", type: "User" } },
  ...more,
});

describe("pull_request", () => {
  const job = {
    task: {
      ...{ kind: "review", mode: "new", again: false, repository, pull: 12, headSha: sha },
      ...{ trigger: "event#12", thread: null, commentId: null, requestedBy: null },
    },
    concurrencyKey: "7#12",
    coalesce: true,
    priority: 0,
  };
  it.each(["opened", "reopened", "ready_for_review", "labeled", "unlabeled"])(
    "pull_request %s starts a review at once",
    (action) => {
      expect(decide("pull_request", pull(action))).toEqual({ jobs: [job] });
    },
  );

  it("pull_request synchronize starts a review that waits for further pushes", () => {
    const waiting = { jobs: [{ ...job, debounceMs: 10_000 }] };
    expect(decide("pull_request", pull("synchronize"))).toEqual(waiting);
    const atOnce = decide("pull_request", pull("synchronize"), { pushWindowMs: 0 });
    expect(atOnce).toEqual({ jobs: [{ ...job, debounceMs: 0 }] });
  });

  it("pull_request of a draft starts one too: the job knows whether drafts are reviewed", () => {
    expect(decide("pull_request", pull("opened", { draft: true }))).toEqual({ jobs: [job] });
  });

  it("pull_request of a fork that is gone starts one", () => {
    const gone = pull("opened", { head: { sha, repo: null, user: null }, user: null });
    expect(decide("pull_request", gone)).toEqual({ jobs: [job] });
  });

  it("pull_request of a closed pull request starts a review, which leaves its commit to others", () => {
    expect(decide("pull_request", pull("closed"))).toEqual({ jobs: [job] });
  });

  it.each(["locked", "assigned", "converted_to_draft", ""])("pull_request %j starts nothing", (action) => {
    expect(decide("pull_request", pull(action))).toHaveProperty("ignored");
  });

  const edited = (changes: unknown) => decide("pull_request", { ...pull("edited"), changes });

  it.each([
    ["title", { title: { from: "WIP: a thing" } }],
    ["base branch", { base: { ref: { from: "next" }, sha: { from: sha } } }],
    ["title and description", { title: { from: "WIP" }, body: { from: "" } }],
  ])(
    "pull_request edited starts a review when the %s changed: why there was none may be gone",
    (_, changes) => {
      expect(edited(changes)).toEqual({ jobs: [job] });
    },
  );

  it.each([
    ["the description alone, where people tick boxes,", { body: { from: "- [ ] tests" } }],
    ["nothing that is named", {}],
    ["what is not said", undefined],
  ])("pull_request edited starts nothing when %s changed", (_, changes) => {
    expect(edited(changes)).toHaveProperty("ignored");
  });

  it.each([
    ["installation", { ...pull("opened"), installation: null }, "installation"],
    [
      "plausible owner",
      { ...pull("opened"), repository: { ...common.repository, owner: { login: "../x" } } },
      "owner.login",
    ],
    ["object name for a head", pull("opened", { head: { sha: "--upload-pack=x" } }), "pull_request.head.sha"],
    ["number", pull("opened", { number: 1.5 }), "pull_request.number"],
  ])("pull_request without a %s starts nothing and says what is missing", (_, payload, path) => {
    expect(decide("pull_request", payload)).toEqual({ ignored: expect.stringContaining(path) });
  });
});

const asked = { repository, pull: 12, commentId: 99, requestedBy: "ann", headSha: null };
const ofPerson = { concurrencyKey: "7#12", coalesce: false, priority: 10 };
const inThread = (body: string, more: object = {}) => ({
  ...common,
  action: "created",
  pull_request: { number: 12 },
  comment: {
    id: 99,
    body,
    created_at: at,
    user: { login: "ann", type: "User" },
    in_reply_to_id: 60,
    ...more,
  },
});

describe("a command", () => {
  const reviewTask = { kind: "review", again: false, ...asked };

  it.each([
    ["/review", "new"],
    ["@hunk review", "new"],
    ["/review full", "full"],
    ["/review --dry-run", "dry_run"],
    ["/review full --dry-run", "dry_run"],
  ])("A command %j starts a review of its own that nothing swallows", (body, mode) => {
    const task = { ...reviewTask, mode, thread: null, trigger: "comment:99" };
    expect(decide("issue_comment", comment(body))).toEqual({ jobs: [{ task, ...ofPerson }] });
  });

  it("A command to review is told apart in a review thread, whose comments have ids of their own", () => {
    const task = { ...reviewTask, mode: "new", thread: 60, trigger: "review-comment:99" };
    const decided = decide("pull_request_review_comment", inThread("/review"));
    expect(decided).toEqual({ jobs: [{ task, ...ofPerson }] });
  });

  const others: [string, object][] = [
    ["/ask Why?", { name: "ask", question: "Why?" }],
    ["@hunk why is it so?", { name: "ask", question: "why is it so?" }],
    ["/resolve", { name: "resolve" }],
    ["/pause", { name: "pause" }],
    ["@hunk resume", { name: "resume" }],
    ["/remember No locks.", { name: "remember", rule: "No locks." }],
    ["/help", { name: "help" }],
  ];

  it.each(others)("A command %j is a task in the conversation and in every thread", (body, command) => {
    const task = { kind: "command", command, ...asked, writtenAt: at, thread: null };
    const thread = (id: number) => ({ jobs: [{ task: { ...task, thread: id }, ...ofPerson }] });
    expect(decide("issue_comment", comment(body))).toEqual({ jobs: [{ task, ...ofPerson }] });
    expect(decide("pull_request_review_comment", inThread(body))).toEqual(thread(60));
    const opening = inThread(body, { in_reply_to_id: null });
    expect(decide("pull_request_review_comment", opening)).toEqual(thread(99));
  });

  it.each([
    ["on an issue", { issue: { number: 12 } }],
    ["on an issue, told so", { issue: { number: 12, pull_request: null } }],
    ["that was edited", { action: "edited" }],
    ["that was deleted", { action: "deleted" }],
    ["of a deleted account", { comment: { id: 1, body: "/review", user: null } }],
    ["without a body", { comment: { id: 1, body: null, user: { login: "ann", type: "User" } } }],
  ])("A command %s starts nothing", (_, more) => {
    expect(decide("issue_comment", comment("/review", more))).toHaveProperty("ignored");
  });
});

describe("a reply in a review thread", () => {
  const reply = (body: string, more: object = {}, slug = "hunk") =>
    decide("pull_request_review_comment", inThread(body, more), { appSlug: slug });

  it.each([
    "Why is that a problem?",
    "This is intended.",
    "Won't fix, it is by design.",
    "> a quote\n\nHow so?",
  ])("A reply in a review thread that wants something is a task with its text as it is: %j", (body) => {
    const task = {
      ...{ kind: "reply", repository, pull: 12, commentId: 99 },
      ...{ thread: 60, author: "ann", body, headSha: null },
    };
    expect(reply(body)).toEqual({ jobs: [{ task, ...ofPerson }] });
  });

  it("A reply in a review thread addressed to us without a question dismisses all the same", () => {
    expect(reply("@hunk this is intended.")).toMatchObject({ jobs: [{ task: { kind: "reply" } }] });
  });

  it.each([
    ["thanks", "Thanks, fixed!", {}],
    ["wants something in a quote alone", "> Why?\n\nDone.", {}],
    ["asks somebody else", "@bob what do you think?", {}],
    ["answers nobody", "Why is that so?", { in_reply_to_id: null }],
    ["is by a bot", "Why?", { user: { login: "ann", type: "Bot" } }],
    ["is empty", "", {}],
  ])("A reply in a review thread that %s starts nothing", (_, body, more) => {
    expect(reply(body, more)).toHaveProperty("ignored");
  });

  it("A reply in a review thread is kept to 20,000 bytes", () => {
    const decided = reply(`Why? ${"\u00e4".repeat(30_000)}`);
    const task = "jobs" in decided ? decided.jobs[0].task : undefined;
    expect(Buffer.byteLength(task?.kind === "reply" ? task.body : "")).toBe(19_999);
  });
});

describe("a comment as a command", () => {
  const people = {
    "a person": { user: { login: "ann", type: "User" }, sender: { login: "ann", type: "User" } },
    "a bot": { user: { login: "x[bot]", type: "Bot" }, sender: { login: "x[bot]", type: "Bot" } },
    "a bot that is called a person": {
      user: { login: "x[bot]", type: "User" },
      sender: { login: "x[bot]", type: "User" },
    },
    "a person, sent by a bot": {
      user: { login: "ann", type: "User" },
      sender: { login: "app", type: "Bot" },
    },
    "a person, sent by another": {
      user: { login: "ann", type: "User" },
      sender: { login: "bob", type: "User" },
    },
    "a person through an App": {
      user: { login: "ann", type: "User" },
      sender: { login: "ann", type: "User" },
      performed_via_github_app: { id: 5, slug: "hunk" },
    },
    "an organization": {
      user: { login: "octo", type: "Organization" },
      sender: { login: "octo", type: "Organization" },
    },
    "somebody of no type": { user: { login: "ann" }, sender: { login: "ann" } },
    "a deleted account": { user: null, sender: { login: "ann", type: "User" } },
  };
  const associations = [
    "OWNER",
    "MEMBER",
    "COLLABORATOR",
    "CONTRIBUTOR",
    "FIRST_TIMER",
    "NONE",
    "MANNEQUIN",
    undefined,
  ];
  const texts = [
    "/review",
    "/ask why?",
    "/resolve",
    "/pause",
    "/remember x",
    "/help",
    "@hunk why?",
    "Why is it so?",
  ];
  const actions = ["created", "edited", "deleted"];

  const payloadOf = (
    place: string,
    writer: keyof typeof people,
    association: unknown,
    action: string,
    body: string,
  ) => {
    const { sender, ...written } = people[writer];
    const said = {
      id: 99,
      body,
      created_at: at,
      author_association: association,
      performed_via_github_app: null,
      ...written,
    };
    const around = { ...common, action, sender };
    return place === "issue_comment"
      ? { ...around, issue: { number: 12, pull_request: { url: "x" } }, comment: said }
      : { ...around, pull_request: { number: 12 }, comment: { ...said, in_reply_to_id: 60 } };
  };

  const rows = Object.keys(people).flatMap((writer) =>
    ["issue_comment", "pull_request_review_comment"].flatMap((place) =>
      actions.map((action) => [writer, place, action] as const),
    ),
  );

  it.each(rows)(
    "A comment by %s as %s %s is a command if a person created it, whatever the association",
    (...row) => {
      const [writer, place, action] = row;
      for (const text of texts) {
        const decisions = associations.map((association) =>
          decide(place, payloadOf(place, writer as keyof typeof people, association, action, text)),
        );
        const isReply = !/^[/@]/.test(text);
        const isStarted =
          writer === "a person" && action === "created" && !(isReply && place === "issue_comment");
        expect(decisions).toEqual(associations.map(() => decisions[0]));
        expect([text, "jobs" in (decisions[0] ?? {})]).toEqual([text, isStarted]);
      }
    },
  );
});

describe("a re-run", () => {
  const linked = (number: number, id = 7) => ({ number, base: { repo: { id } } });
  const run = (external_id: unknown, more: object = {}, around: object = {}) => ({
    ...{ ...common, action: "rerequested" },
    check_run: { head_sha: sha, external_id, app: { id: 5 }, pull_requests: [], ...more },
    ...around,
  });
  const suite = (pull_requests: unknown, more: object = {}, around: object = {}) => ({
    ...{ ...common, action: "rerequested" },
    check_suite: { head_sha: sha, app: { id: 5 }, pull_requests, ...more },
    ...around,
  });
  const again = (pull: number, trigger: string) => ({
    task: {
      ...{ kind: "review", mode: "new", again: true, repository, pull, headSha: null, trigger },
      ...{ thread: null, commentId: null, requestedBy: "ann" },
    },
    ...{ concurrencyKey: `7#${pull}`, coalesce: false, priority: 10 },
  });

  it("A re-run of a check run makes the review again that it is named after", () => {
    const named = run(`${sha}:event#12@release/1@2`, { pull_requests: [linked(3)] });
    expect(decide("check_run", named)).toEqual({ jobs: [again(12, "event#12@release/1@2")] });
  });

  it.each(["comment:99", "review-comment:99", `page:${"aB0_-".repeat(4)}xy`])(
    "A re-run of a review that %s asked for is for the pull request of its commit",
    (trigger) => {
      const named = run(`${sha}:${trigger}`, { pull_requests: [linked(40, 8), linked(12)] });
      expect(decide("check_run", named)).toEqual({ jobs: [again(12, trigger)] });
    },
  );

  it.each([
    ["without a pull request", run(`${sha}:comment:99`)],
    ["with several pull requests", run(`${sha}:comment:99`, { pull_requests: [linked(1), linked(2)] })],
    ["with pull requests of other repositories", run(`${sha}:comment:99`, { pull_requests: [linked(1, 8)] })],
    [
      "with pull requests of no known shape",
      run(`${sha}:comment:99`, { pull_requests: [null, 1, { number: 2 }] }),
    ],
    ["with no list of pull requests", run(`${sha}:comment:99`, { pull_requests: null })],
    ["of a merge queue", run(`${sha}:merge_group`, { pull_requests: [linked(12)] })],
    ["of another commit", run(`${"c".repeat(40)}:event#12@main`)],
    ["of a pull request that has no number", run(`${sha}:event#0@main`)],
    ["of a pull request without a base", run(`${sha}:event#12`)],
    ["with a name that says more", run(`x ${sha}:event#12@main`)],
    ["without a name", run("")],
    ["with a name that is none", run(null)],
    ["of another App", run(`${sha}:event#12@main`, { app: { id: 6 } })],
    ["of no App", run(`${sha}:event#12@main`, { app: null })],
    ["that a bot asks for", run(`${sha}:event#12@main`, {}, { sender: { login: "x[bot]", type: "Bot" } })],
    ["that is only begun", run(`${sha}:event#12@main`, {}, { action: "created" })],
    ["whose button was pressed", run(`${sha}:event#12@main`, {}, { action: "requested_action" })],
  ])("A re-run of a check run %s starts nothing", (_, payload) => {
    expect(decide("check_run", payload)).toHaveProperty("ignored");
  });

  it("A re-run of all checks reviews each pull request of the commit again", () => {
    const named = suite([linked(12), linked(40, 8), linked(13), linked(12)]);
    expect(decide("check_suite", named)).toEqual({ jobs: [again(12, "event#12"), again(13, "event#13")] });
  });

  it.each([
    ["without pull requests", suite([])],
    ["of another App", suite([linked(12)], { app: { id: 6 } })],
    ["that a bot asks for", suite([linked(12)], {}, { sender: { login: "x[bot]", type: "Bot" } })],
    ["that a push asks for", suite([linked(12)], {}, { action: "requested" })],
  ])("A re-run of all checks %s starts nothing", (_, payload) => {
    expect(decide("check_suite", payload)).toHaveProperty("ignored");
  });

  it("A re-run is believed if the App's own id is not known", () => {
    const unknown = { ...options, appId: null };
    expect(decideWith("check_run", run(`${sha}:event#12@main`), unknown)).toHaveProperty("jobs");
    expect(decideWith("check_suite", suite([linked(12)]), unknown)).toHaveProperty("jobs");
  });
});

it("merge_group passes the check of the group at once", () => {
  const payload = { ...common, action: "checks_requested", merge_group: { head_sha: sha } };
  expect(decide("merge_group", payload)).toEqual({
    jobs: [
      {
        task: { kind: "pass_check", repository, headSha: sha, reason: expect.any(String) },
        concurrencyKey: `7@${sha}`,
        coalesce: false,
        priority: 10,
      },
    ],
  });
  expect(decide("merge_group", { ...payload, action: "destroyed" })).toHaveProperty("ignored");
});

describe("installations", () => {
  const named = [{ id: 7, full_name: "octo/shop" }];
  const purge = (repositories: object[] | null) => ({
    task: { kind: "purge", installation: 3, repositories, headSha: null },
    ...{ concurrencyKey: "installation#3", coalesce: false, priority: 0 },
  });
  const shop = [{ id: 7, owner: "octo", name: "shop" }];
  const told = (action: string, more: object = {}) => ({ action, installation: { id: 3 }, ...more });

  it("Installations that are deleted are purged: what GitHub names, and whatever else is kept", () => {
    const decision = decide("installation", told("deleted", { repositories: named }));
    expect(decision).toEqual({ jobs: [purge(shop), purge(null)] });
    expect(decide("installation", told("deleted"))).toEqual({ jobs: [purge(null)] });
  });

  it("Installations that lose repositories are purged of these alone", () => {
    const decision = decide("installation_repositories", told("removed", { repositories_removed: named }));
    expect(decision).toEqual({ jobs: [purge(shop)] });
    const none = told("removed", { repositories_removed: [] });
    expect(decide("installation_repositories", none)).toHaveProperty("ignored");
  });

  it("Installations that are allowed again have what was missed looked for", () => {
    expect(decide("installation", told("unsuspend"))).toMatchObject({
      jobs: [{ task: { kind: "reconcile", installation: 3 }, coalesce: true, priority: -2 }],
    });
  });

  it.each([
    ["installation", "created"],
    ["installation", "suspend"],
    ["installation_repositories", "added"],
  ])("Installations in a webhook %s.%s start nothing", (event, action) => {
    expect(decide(event, told(action, { repositories: named, repositories_added: named }))).toHaveProperty(
      "ignored",
    );
  });
});

it("Any payload of the examples with any one field taken away, nulled or twisted is decided without failing", () => {
  const twists = [undefined, null, "x", -1, [], {}, true];
  for (const { event, payload } of examples) {
    if (!handlesEvent(event, String(payload.action))) continue;
    const whole = { ...structuredClone(payload), installation: { id: 3 } };
    for (const { parent, key } of fieldsOf(whole)) {
      const before = parent[key];
      for (const twist of twists) {
        if (twist === undefined) delete parent[key];
        else parent[key] = twist;
        expectSound(decide(event, whole));
      }
      parent[key] = before;
    }
  }
});

it("Any payload of the world is decided without failing", () => {
  const event = fc.oneof(
    fc.constantFrom(...handledEvents.map((one) => one.split(".")[0] ?? ""), "constructor"),
    fc.string(),
  );
  const action = fc.constantFrom(...handledEvents.map((one) => one.split(".")[1]));
  const { installation, repository: place, sender } = common;
  const around = {
    installation: fc.constant(installation),
    repository: fc.constant(place),
    sender: fc.constant(sender),
  };
  const payload = fc.oneof(
    fc.anything(),
    fc.record({ action, installation: fc.anything(), repository: fc.anything(), issue: fc.anything() }),
    fc.record({ ...around, action, check_run: fc.anything(), check_suite: fc.anything() }),
    fc.record({ ...around, action, comment: fc.anything(), pull_request: fc.anything() }),
  );
  fc.assert(
    fc.property(event, payload, (name, any) => expectSound(decide(name, any))),
    { numRuns: 500 },
  );
});

type Fields = Record<string, unknown>;
function fieldsOf(value: unknown): { parent: Fields; key: string }[] {
  if (typeof value !== "object" || value === null) return [];
  const parent = value as Fields;
  return Object.keys(parent).flatMap((key) => [{ parent, key }, ...fieldsOf(parent[key])]);
}

/** Plain checks: `expect` a hundred thousand times takes ten seconds. */
function expectSound(decision: ReturnType<typeof decide>): void {
  if ("jobs" in decision) for (const { task } of decision.jobs) Task.parse(task);
  else if (decision.ignored === "") throw new Error("ignored without a reason");
}
