import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatMarker } from "../../src/core/ledger/marker.ts";
import { patient } from "../e2e/conformance-fixture.ts";
import { type PullOfCase, type SharedApp, startSharedApp } from "../e2e/shared-app.ts";
import type { FakeTurn } from "../support/fake-openai.ts";
import type { Account, Role } from "../support/github-double/model.ts";
import {
  issueCommentPayload,
  type Payload,
  reviewCommentPayload,
} from "../support/github-double/payloads.ts";

const finish: FakeTurn = {
  tool_calls: [{ name: "finish_review", arguments: { summary: "Changes a number." } }],
};
const associations =
  "OWNER MEMBER COLLABORATOR CONTRIBUTOR FIRST_TIMER FIRST_TIME_CONTRIBUTOR MANNEQUIN NONE".split(" ");
const roles: (Role | "none")[] = ["admin", "maintain", "write", "triage", "read", "none"];
const types: Account["type"][] = ["User", "Bot", "Organization"];
const places = ["conversation", "thread"] as const;
const actions = ["created", "edited", "deleted"] as const;
const mayCommand = new Set<string>(["admin", "maintain", "write"]);

let shared: SharedApp;
beforeAll(async () => {
  shared = await startSharedApp({ script: () => finish });
});
afterAll(async () => {
  const { github, model } = shared.app;
  await shared[Symbol.asyncDispose]();
  expect(github.violations).toEqual([]);
  expect(model?.complaints).toEqual([]);
});

interface Asked {
  role: Role | "none";
  type: Account["type"];
  place: (typeof places)[number];
  action: (typeof actions)[number];
  association: string;
}

/** Writes a command and sends its webhook with arbitrary author data. Returns the comment's id. */
async function ask(pull: PullOfCase, asked: Asked, text: string): Promise<number> {
  const { app } = shared;
  const { state } = app.github;
  const login = `${asked.role}-${asked.type}${asked.type === "Bot" ? "[bot]" : ""}`;
  state.account(login, asked.type);
  if (asked.role !== "none") app.people.addCollaborator(pull.of.repository, login, asked.role);
  const [event, comment, payload] =
    asked.place === "conversation"
      ? inConversation(pull, login, text, asked)
      : await inThread(pull, login, text, asked);
  const changed = payload as Payload & { comment: { author_association: string } };
  changed.comment.author_association = asked.association;
  expect(await pull.of.deliver(event, changed)).toBeLessThan(300);
  return comment.id;
}

function inConversation(pull: PullOfCase, login: string, text: string, { action }: Pick<Asked, "action">) {
  const comment = shared.app.people.comment(pull.pull, login, text);
  return ["issue_comment", comment, issueCommentPayload(shared.app.github.state, comment, action)] as const;
}

async function inThread(pull: PullOfCase, login: string, text: string, { action }: Pick<Asked, "action">) {
  const { people, github } = shared.app;
  const first = pull.pull.reviewComments[0];
  if (!first) throw new Error("there is no thread to answer in");
  const comment = people.reply(first, login, text);
  return [
    "pull_request_review_comment",
    comment,
    await reviewCommentPayload(github.state, comment, action),
  ] as const;
}

function answered({ pull }: PullOfCase): number[] {
  const texts = [...pull.comments, ...pull.reviewComments].filter(({ via }) => via === shared.app.app);
  const marker = formatMarker({ kind: "answer", comment: 0 }).replace(/0\}.*/s, "");
  return texts.flatMap(({ body }) => {
    const at = body.lastIndexOf(marker);
    return at < 0 ? [] : [Number.parseInt(body.slice(at + marker.length), 10)];
  });
}

describe("a command", patient, () => {
  it("strangers-commands: A command is obeyed only for people with write access, wherever they write it", async () => {
    const of = shared.addRepository({ "a.js": "export const a = 1;\n" });
    const pull = of.open({ "a.js": "export const a = 2;\n" });
    await shared.app.people.reviewComment(pull.pull, "octocat", { path: "a.js", line: 1, body: "Hm." });
    const allowed: number[] = [];
    let turn = 0;
    for (const role of roles)
      for (const type of types)
        for (const place of places)
          for (const action of actions) {
            const isAllowed = mayCommand.has(role) && type === "User" && action === "created";
            // An association is not a permission: it says NONE for allowed people, and the reverse for all others.
            const tried = isAllowed
              ? ["NONE"]
              : [associations[turn++ % associations.length] ?? "OWNER", "OWNER"];
            for (const association of tried) {
              const id = await ask(pull, { role, type, place, action, association }, "/help");
              if (isAllowed) allowed.push(id);
            }
          }
    await of.idle();

    expect(allowed).toHaveLength(6);
    expect(answered(pull).toSorted((a, b) => a - b)).toEqual(allowed.toSorted((a, b) => a - b));
    expect(shared.app.model?.requests).toEqual([]);
  });

  it("strangers-commands: A denied command costs no model call and leaves no trace, whichever it is", async () => {
    const of = shared.addRepository({ "a.js": "export const a = 1;\n" });
    const pull = of.open({ "a.js": "export const a = 2;\n" });
    await shared.app.people.reviewComment(pull.pull, "octocat", { path: "a.js", line: 1, body: "Hm." });
    const before = shared.app.model?.requests.length;
    const commands = [
      "/review",
      "/review full",
      "/review --dry-run",
      "/ask Why?",
      "/resolve",
      "/pause",
      "/resume",
    ];
    for (const text of [...commands, "/remember Tabs only.", "/help", "@hunkwise why is that?"])
      for (const role of ["triage", "read", "none"] as const)
        for (const place of places)
          await ask(pull, { role, type: "User", place, action: "created", association: "OWNER" }, text);
    await of.idle();

    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: [] });
    expect(pull.pull.comments.flatMap(({ reactions }) => reactions)).toEqual([]);
    expect(pull.pull.reviewComments.flatMap(({ reactions }) => reactions)).toEqual([]);
    expect(shared.app.model?.requests).toHaveLength(before ?? 0);
  });

  it("loops: A command in a quote, in code or in an HTML comment does not count", async () => {
    const of = shared.addRepository({ "a.js": "export const a = 1;\n" });
    const pull = of.open({ "a.js": "export const a = 2;\n" });
    const texts = [
      "> /help",
      "```\n/help\n```",
      "    /help",
      "<!-- /help -->",
      "<!--\n/help\n",
      "`/help`",
      "Try /help",
    ];
    for (const text of texts)
      await ask(
        pull,
        { role: "admin", type: "User", place: "conversation", action: "created", association: "OWNER" },
        text,
      );
    await of.idle();

    expect(answered(pull)).toEqual([]);
  });

  it("loops: A command that we or another App write does not count, in a hundred rounds", async () => {
    const of = shared.addRepository({ "a.js": "export const a = 1;\n" });
    const pull = of.open({ "a.js": "export const a = 2;\n" });
    const { people, github, app, model } = shared.app;
    const before = model?.requests.length;
    await people.reviewComment(pull.pull, "octocat", { path: "a.js", line: 1, body: "Hm." });
    const texts = ["/review", "/ask Why?", "@hunkwise why is that?", "/help"];
    for (let round = 0; round < 25; round++)
      for (const login of [`${app.slug}[bot]`, "chatty[bot]"]) {
        github.state.account(login, "Bot");
        const text = texts[round % texts.length] ?? "";
        await pull.of.deliver("issue_comment", inConversation(pull, login, text, { action: "created" })[2]);
        await pull.of.deliver(
          "pull_request_review_comment",
          (await inThread(pull, login, text, { action: "created" }))[2],
        );
      }
    await of.idle();

    expect(answered(pull)).toEqual([]);
    expect(pull.end()).toEqual({ reviews: 0, comments: [], summaries: 0, checks: [] });
    expect(model?.requests).toHaveLength(before ?? 0);
  });
});
