import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Task } from "../../src/queue/job.ts";
import { decide, handledEvent, handledEvents } from "../../src/webhooks/decide.ts";
import { examples } from "./examples.ts";

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
const comment = (body: string, more: object = {}) => ({
  ...common,
  action: "created",
  issue: { number: 12, pull_request: { url: "x" } },
  comment: { id: 99, body, user: { login: "ann", type: "User" } },
  ...more,
});

describe("pull_request", () => {
  const job = {
    task: {
      kind: "review",
      repository,
      pull: 12,
      headSha: sha,
      trigger: "event#12",
      commentId: null,
      requestedBy: null,
    },
    serialKey: "7#12",
    coalesce: true,
    priority: 0,
  };
  it.each(["opened", "reopened", "ready_for_review", "synchronize", "unlabeled"])(
    "%s starts a review",
    (action) => {
      expect(decide("pull_request", pull(action), null)).toEqual({ jobs: [job] });
    },
  );

  it("of a draft starts one too: the job knows whether drafts are reviewed", () => {
    expect(decide("pull_request", pull("opened", { draft: true }), null)).toEqual({ jobs: [job] });
  });

  it("of a fork that is gone starts one", () => {
    const gone = pull("opened", { head: { sha, repo: null, user: null }, user: null });
    expect(decide("pull_request", gone, null)).toEqual({ jobs: [job] });
  });

  it.each(["closed", "labeled", "assigned", "converted_to_draft", ""])("%j starts nothing", (action) => {
    expect(decide("pull_request", pull(action), null)).toHaveProperty("ignored");
  });

  const edited = (changes: unknown) => decide("pull_request", { ...pull("edited"), changes }, null);

  it.each([
    ["title", { title: { from: "WIP: a thing" } }],
    ["base branch", { base: { ref: { from: "next" }, sha: { from: sha } } }],
    ["title and description", { title: { from: "WIP" }, body: { from: "" } }],
  ])("edited starts a review when the %s changed: why there was none may be gone", (_, changes) => {
    expect(edited(changes)).toEqual({ jobs: [job] });
  });

  it.each([
    ["the description alone, where people tick boxes,", { body: { from: "- [ ] tests" } }],
    ["nothing that is named", {}],
    ["what is not said", undefined],
  ])("edited starts nothing when %s changed", (_, changes) => {
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
  ])("without a %s starts nothing and says what is missing", (_, payload, path) => {
    expect(decide("pull_request", payload, null)).toEqual({ ignored: expect.stringContaining(path) });
  });
});

describe("issue_comment", () => {
  it("with a command starts a review of its own that nothing swallows", () => {
    expect(decide("issue_comment", comment("/review"), null)).toEqual({
      jobs: [
        {
          task: {
            kind: "review",
            repository,
            pull: 12,
            headSha: null,
            trigger: "comment:99",
            commentId: 99,
            requestedBy: "ann",
          },
          serialKey: "7#12",
          coalesce: false,
          priority: 10,
        },
      ],
    });
    expect(decide("issue_comment", comment("/review full"), null)).toHaveProperty("jobs");
    expect(decide("issue_comment", comment("@hunk review"), "hunk")).toHaveProperty("jobs");
  });

  it.each([
    ["on an issue", comment("/review", { issue: { number: 12 } })],
    ["on an issue, told so", comment("/review", { issue: { number: 12, pull_request: null } })],
    ["without a command", comment("Nice work")],
    ["that only tries it out", comment("/review --dry-run")],
    ["that was edited", { ...comment("/review"), action: "edited" }],
    ["that was deleted", { ...comment("/review"), action: "deleted" }],
    [
      "by a bot",
      comment("/review", { comment: { id: 1, body: "/review", user: { login: "x[bot]", type: "Bot" } } }),
    ],
    ["by somebody who is called a bot", comment("/review", { sender: { login: "x[bot]", type: "User" } })],
    ["sent by a bot in a person's name", comment("/review", { sender: { login: "app", type: "Bot" } })],
    ["of a deleted account", comment("/review", { comment: { id: 1, body: "/review", user: null } })],
    ["without a body", comment("", { comment: { id: 1, body: null, user: { login: "a", type: "User" } } })],
  ])("%s starts nothing", (_, payload) => {
    expect(decide("issue_comment", payload, "hunk")).toHaveProperty("ignored");
  });
});

describe("merge_group", () => {
  it("passes the check of the group at once", () => {
    const payload = { ...common, action: "checks_requested", merge_group: { head_sha: sha } };
    expect(decide("merge_group", payload, null)).toEqual({
      jobs: [
        {
          task: { kind: "pass_check", repository, headSha: sha, reason: expect.any(String) },
          serialKey: `7@${sha}`,
          coalesce: false,
          priority: 10,
        },
      ],
    });
    expect(decide("merge_group", { ...payload, action: "destroyed" }, null)).toHaveProperty("ignored");
  });
});

describe("any payload", () => {
  it("of the examples with any one field taken away, nulled or twisted is decided without failing", () => {
    const twists = [undefined, null, "x", -1, [], {}, true];
    for (const { event, payload } of examples) {
      if (!handledEvent(event, payload)) continue;
      const whole = { ...structuredClone(payload), installation: { id: 3 } };
      for (const { parent, key } of fieldsOf(whole)) {
        const before = parent[key];
        for (const twist of twists) {
          if (twist === undefined) delete parent[key];
          else parent[key] = twist;
          expectSound(decide(event, whole, "hunk"));
        }
        parent[key] = before;
      }
    }
  });

  it("of the world is decided without failing", () => {
    const event = fc.oneof(
      fc.constantFrom("pull_request", "issue_comment", "merge_group", "constructor"),
      fc.string(),
    );
    const action = fc.constantFrom(...handledEvents.map((one) => one.split(".")[1]));
    const payload = fc.oneof(
      fc.anything(),
      fc.record({ action, installation: fc.anything(), repository: fc.anything(), issue: fc.anything() }),
    );
    fc.assert(
      fc.property(event, payload, (name, any) => expectSound(decide(name, any, "hunk"))),
      { numRuns: 500 },
    );
  });
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
