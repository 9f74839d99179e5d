import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Model, type ModelRequest, type Protocol } from "../../src/agent/llm/model.ts";
import { withTextProtocol } from "../../src/agent/llm/text-fallback.ts";
import { AppError } from "../../src/core/errors.ts";
import type { PostedFinding } from "../../src/core/ledger/entry.ts";
import { reviewConclusion } from "../../src/pull/publish/conclusions.ts";
import { reviewChange } from "../../src/tasks/review/review-change.ts";
import { openRepository } from "../agent/tools/context.ts";
import { postedFinding } from "../pull/ledger/posted-finding.ts";
import { candidateIds } from "../support/answer-candidates.ts";
import { isSecondLook, onEveryClaim } from "../support/claims.ts";
import { GitRepo } from "../support/git-repo.ts";
import { reviewDependencies } from "../support/review-dependencies.ts";
import { reviewInput } from "../support/review-input.ts";
import { type ScriptedTurn, scriptedModel } from "../support/scripted.ts";
import { pullText } from "../tasks/review/context/first-message.ts";
import { fiveSecrets } from "./five-secrets.ts";

/*
 * Five committed secrets, one match of a rule with high confidence, and models that try everything to suppress them.
 */

const secrets = fiveSecrets();
/** A rule matches it as likely: a model may reject it. */
const likely = {
  path: "cart.py",
  text: "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
};

let repo: GitRepo;
let opened: Awaited<ReturnType<typeof openRepository>>;
beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("base", {
    "config.py": "import os\n",
    "cart.py": "def total(items):\n    return sum(items)\n",
  });
  repo.branch("topic");
  repo.commit("Add configuration", { [secrets.path]: secrets.text, [likely.path]: likely.text });
  opened = await openRepository(repo);
});
afterAll(async () => {
  await opened[Symbol.asyncDispose]();
  repo.dispose();
});

type Call = NonNullable<ScriptedTurn["toolCalls"]>[number];
type Say = (request: ModelRequest, offers: (tool: string) => boolean) => ScriptedTurn | Error;

const calls = (...toolCalls: Call[]): ScriptedTurn => ({ toolCalls });
const call = (name: string, args: Record<string, unknown>): Call => ({ name, arguments: args });
const fluent = "The value is a documented placeholder that the vendor publishes for tests.";
const finish = call("finish_review", { summary: "Adds configuration." });

const reject = (request: ModelRequest) =>
  call("finish_review", {
    summary: "Adds configuration.",
    rejected: candidateIds(request).map((candidate) => ({ candidate, reason: fluent })),
  });
const refute = {
  ...{ verdict: "refuted", reason: fluent, severity: "low" },
  evidence: [{ path: secrets.path, start_line: 1, end_line: 1, note: fluent }],
};
const fixed = call("report_resolution", { state: "fixed", reason: fluent });

/** The model reports the secrets itself too, so that there are findings to join, compare and refute. */
const restate = secrets.lines.map((line) =>
  call("report_finding", {
    ...{ path: secrets.path, line, quote: secrets.text.split("\n")[line - 1], severity: "low" },
    ...{
      category: "security",
      title: "A credential is committed on this line",
      body: "It is.",
      confidence: 0.2,
    },
  }),
);

const faults = {
  401: new AppError("model_unauthorized", "refused the API key (401)"),
  404: new AppError("model_refused", "knows no such model (404)"),
  429: new AppError("model_rate_limited", "limited (429)", { retryable: true }),
  500: new AppError("model_failed", "failed (500)", { retryable: true }),
  html: new AppError("model_failed", "answered with HTML"),
  refused: new AppError("model_failed", "cannot be reached (ECONNREFUSED)", { retryable: true }),
};

/** Behaviors of the model, by its role. */
const models: Record<string, Say> = {
  "says nothing but that it is done": () => calls(finish),
  "says nothing at all": () => ({ content: "" }),
  "rejects every candidate with a fluent reason": (request) => calls(reject(request)),
  "restates them mildly and refutes everything at the second look": (request, offers) => {
    if (isSecondLook(request)) return calls(...onEveryClaim(request.messages, refute));
    if (offers("join_findings")) {
      const [keep = "", ...others] = [...textOf(request).matchAll(/^([0-9a-f-]{12,}) \S+:\d/gm)].map(
        ([, id]) => id ?? "",
      );
      return calls(call("join_findings", { keep, others }), finish);
    }
    if (offers("same_problems")) return calls(call("same_problems", { pairs: pairsIn(request) }));
    return calls(...restate, reject(request));
  },
  "calls everything fixed that was told before": (request, offers) =>
    offers("report_resolution")
      ? calls(fixed)
      : offers("same_problems")
        ? calls(call("same_problems", { pairs: pairsIn(request) }))
        : calls(reject(request)),
  "never finishes": (_, offers) =>
    offers("changed_files") ? calls(call("changed_files", {})) : { content: "Let me think." },
  ...Object.fromEntries(Object.entries(faults).map(([what, error]) => [`answers ${what}`, () => error])),
};

const textOf = ({ messages }: ModelRequest) => messages.map(({ content }) => content).join("\n");
const pairsIn = (request: ModelRequest) =>
  [...textOf(request).matchAll(/^([0-9a-f-]{12,}) and ([0-9a-f-]+)$/gm)].map(([, finding, earlier]) => ({
    ...{ finding, earlier },
  }));

/** In the text protocol, the prompt holds the tools, and calls are JSON in the answer. */
function speaking(protocol: Protocol, say: Say): Model {
  const scripted = scriptedModel((request) => {
    const offers = (tool: string) =>
      protocol === "native"
        ? request.tools.some(({ name }) => name === tool)
        : (request.messages[0]?.content ?? "").includes(`"${tool}"`) ||
          textOf(request).includes(`\`${tool}\``);
    const turn = say(request, offers);
    if (turn instanceof Error || protocol === "native" || !turn.toolCalls) return turn;
    return { content: JSON.stringify({ calls: turn.toolCalls }) };
  });
  return protocol === "native" ? scripted : withTextProtocol(scripted);
}

async function review(
  say: Say,
  effort: "low" | "medium" | "high",
  protocol: Protocol,
  earlier: PostedFinding[] = [],
) {
  const input = reviewInput({ config: { effort }, pull: pullText({ earlier }) });
  return reviewChange(
    { ...input, history: { key: "k", reviewed: null, carried: [], summary: "" } },
    reviewDependencies(opened.workspace, forAllRoles(speaking(protocol, say))),
  );
}

/** An open comment on a secret from an earlier review. */
const openComment = (line: number): PostedFinding =>
  postedFinding({
    comment: line,
    id: `${line}`.repeat(12).slice(0, 12),
    path: secrets.path,
    line,
    severity: "critical",
    category: "security",
    source: "secrets/github-token",
    title: "A GitHub token is in this file",
    text: "It is.",
  });

describe("five committed secrets", () => {
  const efforts = ["low", "medium", "high"] as const;
  const protocols = ["native", "text"] as const;
  const cases = Object.keys(models).flatMap((name) =>
    efforts.flatMap((effort) => protocols.map((protocol) => [name, effort, protocol] as const)),
  );
  it.each(cases)(
    "Five secrets stay critical findings although a model %s, at effort %s in the %s protocol",
    async (name, effort, protocol) => {
      const result = await review(models[name] as Say, effort, protocol, [openComment(3)]);

      const certain = result.findings
        .map(({ finding }) => finding)
        .filter(({ source }) => source !== "model");
      const found = certain.filter(({ path }) => path === secrets.path);
      expect(found.map(({ line }) => line)).toEqual(secrets.lines);
      expect(new Set(found.map(({ severity }) => severity))).toEqual(new Set(["critical"]));
      expect(found.every(({ places }) => places.length === 0)).toBe(true);
      expect(reviewConclusion(result, { threshold: "high", fail: false }).conclusion).toBe("neutral");
      expect(reviewConclusion(result, { threshold: "high", fail: true }).conclusion).toBe("failure");
      // Open findings are reported as present; none is reported as fixed.
      expect(result.ledger?.resolutions.filter(({ state }) => state !== "present")).toEqual([]);

      const unjudged = result.findings.filter(({ finding }) => finding.verification === "not_judged");
      const rejected = result.dropped.filter(({ verdict }) => verdict === "rejected");
      expect(unjudged.length + rejected.length).toBe(1);
    },
  );
});
