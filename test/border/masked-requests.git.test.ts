import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forAllRoles, type Model } from "../../src/agent/llm/model.ts";
import { createOpenAiModel } from "../../src/agent/llm/openai.ts";
import { readPrices } from "../../src/agent/llm/prices.ts";
import { withTextProtocol } from "../../src/agent/llm/text-fallback.ts";
import {
  isLoopEntry,
  type LoopEntry,
  type MasksEntry,
  type RunEntry,
} from "../../src/agent/record/trajectory.ts";
import { runTask, type TaskOptions } from "../../src/border/run-task.ts";
import { RepoConfig } from "../../src/config/repo-config.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { type AnswerInput, answerTask } from "../../src/tasks/answer/answer-input.ts";
import { fixTask } from "../../src/tasks/fix/fix-input.ts";
import { reviewTask } from "../../src/tasks/review/review-task.ts";
import type { ReviewInput } from "../../src/tasks/shapes/review-input.ts";
import { postedFinding } from "../pull/ledger/posted-finding.ts";
import { placeOf } from "../support/checkout-place.ts";
import { isSecondLook, onEveryClaim } from "../support/claims.ts";
import {
  type ChatRequestBody,
  type FakeAnswer,
  type FakeOpenAi,
  startFakeOpenAi,
} from "../support/fake-openai.ts";
import { GitRepo } from "../support/git-repo.ts";
import { startProcessHere } from "../support/process-here.ts";
import { reviewInput } from "../support/review-input.ts";
import { type Planted, plantedSecrets, writeOut } from "../support/secret-corpus.ts";
import { seeded } from "../support/seeded.ts";

const long = process.env.HUNKWISE_LONG === "1";

const random = seeded(5);
const token = writeOut("ghp_{base62:36}", random);
const oldToken = writeOut("ghp_{base62:36}", random);
const messageToken = writeOut("glpat-{base62:20}", random);
const keyAtHead = writeOut("{pem:RSA PRIVATE KEY:1600}", random);
const keyInBase = writeOut("{pem:EC PRIVATE KEY:300}", random);
const keyNobodyReads = writeOut("{pem:PRIVATE KEY:900}", random);
const word = writeOut("{base62:18}7", random);
const unreadWord = writeOut("{base62:18}8", random);

/** Each kind, in many of its forms and contexts. */
const corpus: Planted[] = [...Map.groupBy(plantedSecrets(1), ({ kind }) => kind).values()].flatMap((ones) =>
  ones.filter((_, at) => at % 2 === 0),
);

const appBefore = `export function open() {\n  return connect("${oldToken}", 1);\n}\n`;
const bug = (value: string) => `  return connect("${value}", retries <= 3);`;
const appAfter = `export function open(retries) {\n${bug(token)}\n}\n\nexport const again = "${token}";\n`;

/** Texts of the corpus in files of moderate length. */
function corpusFiles(): Record<string, string> {
  const files: Record<string, string> = {};
  for (let at = 0; at < corpus.length; at += 40) {
    const texts = corpus.slice(at, at + 40).map(({ text }) => text);
    files[`deploy/values-${at / 40}.txt`] = `# values\n${texts.join("\n\n")}\n`;
  }
  return files;
}

let repo: GitRepo;
let placed: Disposable & { place: RevisionPlace };

beforeAll(async () => {
  repo = GitRepo.create();
  repo.commit("before", {
    "src/app.js": appBefore,
    "src/old.pem": keyInBase,
    "certs/unread.pem": `# kept for the tests\n${keyNobodyReads}`,
    "settings/unread.yml": `client_secret: ${unreadWord}\nname: shop\n`,
    "docs/how.md": `Call it with ${word} in the header.\n`,
  });
  repo.git("tag", "base");
  repo.git("rm", "--quiet", "src/old.pem");
  repo.commit(`Use the new token ${messageToken}`, {
    "src/app.js": appAfter,
    "src/new.pem": keyAtHead.replaceAll("\n", "\r\n"),
    "docs/how.md": `Call it with ${word} in the header, twice.\n`,
    "settings/live.yml": `client_secret: ${word}\nname: shop\n`,
    [`deploy/${token}.txt`]: "A name that says too much.\n",
    ...corpusFiles(),
  });
  placed = await placeOf(repo, "base");
}, 300_000);
afterAll(() => {
  placed?.[Symbol.dispose]();
  repo?.[Symbol.dispose]();
});

/** All that must not reach a model: of a key each line that is long enough to be worth something. */
function secretTexts(): string[] {
  const keys = [keyAtHead, keyInBase, keyNobodyReads];
  const lines = [...keys, ...corpus.map(({ secret }) => secret)].flatMap((secret) =>
    secret.split(/\n|\\n/).filter((line) => line.length >= 16 && !/-----|"|: /.test(line)),
  );
  return [token, oldToken, messageToken, word, unreadWord, ...lines];
}

/** What the endpoint received, as it came and as each text of it reads. */
function received({ requests }: FakeOpenAi): string {
  const texts: string[] = [];
  for (const { body } of requests) {
    texts.push(JSON.stringify(body));
    JSON.stringify(body, (_, value) => {
      if (typeof value === "string") texts.push(value);
      return value;
    });
  }
  return texts.join("\n");
}

const roleOf = (body: ChatRequestBody) => {
  if (isSecondLook(body)) return "verify";
  const prompt = String(body.messages[0]?.content);
  return roles.find(([beginning]) => prompt.includes(beginning))?.[1] ?? "answer";
};
const askedRoles = ({ requests }: FakeOpenAi) => new Set(requests.map(({ body }) => roleOf(body)));

const leaked = (endpoint: FakeOpenAi) => {
  const all = received(endpoint);
  return secretTexts().filter((secret) => all.includes(secret));
};

type Call = { name: string; arguments: Record<string, unknown> };
type Script = (asked: { role: string; turn: number; text: string }) => Call[];

/** By how the system prompts begin. */
const roles: [string, string][] = [
  ["You review a pull request", "review"],
  ["Several reviewers", "merge"],
  ["A review posted a comment", "recheck"],
  ["A pull request was reviewed before", "compare"],
  ["You repair faults", "fix"],
];

/** Answers as native tool calls, or in text where no tools are offered. */
const answering =
  (script: Script) =>
  (body: ChatRequestBody): FakeAnswer => {
    const role = roleOf(body);
    const turn = body.messages.filter((message) => message.role === "assistant").length;
    const text = body.messages.map(({ content }) => String(content)).join("\n");
    const calls = script({ role, turn, text });
    if (body.tools) return { tool_calls: calls };
    return { content: JSON.stringify({ calls }) };
  };

/** The line with the bug as the model was shown it. */
const shownBug = (text: string) =>
  /return connect\("\*secret-[^"]*", retries <= 3\);/.exec(text)?.[0] ?? "not shown";

const report = (quote: string, over: Record<string, unknown> = {}): Call => ({
  name: "report_finding",
  arguments: {
    ...{ path: "src/app.js", line: 1, quote, severity: "high", category: "correctness" },
    ...{
      title: `The fourth try of ${/\*[^*]*\*/.exec(quote)?.[0]} is not made`,
      body: "With 4 retries it gives up.",
    },
    ...{ confidence: 0.9, suggestion: `  ${quote.replace("<=", "<")}`, ...over },
  },
});

const reading: Call[] = [
  { name: "read_file_part", arguments: { file_path: "src/app.js" } },
  { name: "read_file_part", arguments: { file_path: "src/new.pem", start_line: 4, end_line: 9 } },
  { name: "read_file_part", arguments: { file_path: "src/old.pem", revision: "base" } },
  { name: "read_file_part", arguments: { file_path: "certs/unread.pem", start_line: 6, end_line: 8 } },
  { name: "diff_file", arguments: { file_path: "src/new.pem" } },
  { name: "diff_file", arguments: { file_path: "src/old.pem" } },
  { name: "search_in_files", arguments: { pattern: "^[A-Za-z0-9/+]{64}$", context_lines: 0, path: "certs" } },
  { name: "search_in_files", arguments: { pattern: "in the header|client_secret" } },
  { name: "search_in_files", arguments: { pattern: "[A-Za-z0-9_]{24,}", max_results: 400 } },
  { name: "get_commit_messages", arguments: {} },
  { name: "changed_files", arguments: {} },
  { name: "list_files", arguments: { directory: "deploy" } },
];

const reviewer: Script = ({ role, turn, text }) => {
  if (turn === 0) return reading;
  if (role === "review" && turn === 1)
    return [
      report(shownBug(text)),
      report("export const again", { title: "Nobody uses it", suggestion: undefined }),
    ];
  if (role === "verify")
    return onEveryClaim([{ content: text }], {
      ...{ verdict: "confirmed", reason: "app.js:2", failing_input: "retries: 4", severity: "high" },
    });
  if (role === "recheck")
    return [{ name: "report_resolution", arguments: { state: "present", reason: "It is there." } }];
  if (role === "compare") return [{ name: "same_problems", arguments: { pairs: [] } }];
  if (role === "answer") return [{ name: "reply", arguments: { text: `It says ${shownBug(text)}` } }];
  const matches = new Set(Array.from(text.matchAll(/^(c\d+) /gm), ([, id]) => id));
  const rejected = Array.from(matches, (candidate) => ({ candidate, reason: "It is a sample." }));
  return [{ name: "finish_review", arguments: { summary: "Changes how it connects.", rejected } }];
};

interface Served extends AsyncDisposable {
  endpoint: FakeOpenAi;
  model: Model;
}

async function serve(script: Script): Promise<Served> {
  const endpoint = await startFakeOpenAi({ script: answering(script) });
  const model = createOpenAiModel({
    ...{ apiKey: "test-key", baseUrl: endpoint.url, model: "gpt-5", contextTokens: 400_000 },
    ...{ prices: readPrices(null), timeoutMs: 20_000, maxRetries: 0 },
  });
  return { endpoint, model, [Symbol.asyncDispose]: endpoint.close };
}

const earlier = postedFinding({
  comment: 5,
  id: "e1",
  path: "src/app.js",
  line: null,
  original_line: 2,
  symbol: "open",
  title: "It connects once",
  text: `It connects with ${oldToken} once.`,
  state: "outdated",
  replies: [`But ${word} is right.`],
});

const pull = {
  ...{
    number: 7,
    title: `Use ${messageToken}`,
    author: "octocat",
    checks: [],
  },
  body: `The key is\n${keyNobodyReads}\nand the token ${token}.`,
  earlier: [earlier],
  issues: [{ number: 3, title: "Rotate", body: `Rotate ${oldToken}, please.` }],
};
const history = { key: "k", reviewed: null, carried: [], summary: "" };

const limits = { turns: 20, tokens: 2_000_000, costUsd: null, milliseconds: 60_000 };

interface Recorded {
  entries: RunEntry[];
  options: Pick<TaskOptions, "place" | "trajectory" | "started" | "onProgress" | "signal">;
}

function recording(died?: (entries: readonly RunEntry[]) => boolean): Recorded {
  const entries: RunEntry[] = [];
  return {
    entries,
    options: {
      ...{ place: placed.place, started: startProcessHere(), onProgress: () => {} },
      signal: new AbortController().signal,
      trajectory: {
        append: async (entry) => {
          if (died?.(entries)) throw new Error("killed");
          entries.push(entry);
        },
      },
    },
  };
}

async function review(
  { endpoint: _, model }: Served,
  over: Parameters<typeof reviewInput>[0],
  more: Partial<TaskOptions> = {},
) {
  const { entries, options } = recording();
  const facts = { name: model.name, contextTokens: model.contextTokens, protocol: model.protocol };
  const input = reviewInput({
    pull,
    history,
    limits: { ...limits, tokens: 20_000_000 },
    models: forAllRoles(facts),
    ...over,
  } as Partial<ReviewInput>);
  const result = await runTask(reviewTask, input, { ...options, models: forAllRoles(model), ...more });
  return { result, entries };
}

const lineOf = (text: string) =>
  1 +
  repo
    .git("show", "HEAD:src/app.js")
    .split("\n")
    .findIndex((line) => line.includes(text));

describe("what a review process sends to a model", { timeout: 600_000 }, () => {
  it.each(long ? ["low", "medium", "high"] : ["medium"])(
    "A request of a review process holds no secret of any kind, at effort %s",
    async (effort) => {
      await using served = await serve(reviewer);
      const { result } = await review(served, { config: { effort } });
      expect(leaked(served.endpoint)).toEqual([]);
      expect(received(served.endpoint)).toContain("*secret-");
      expect(served.endpoint.complaints).toEqual([]);
      expect(result.stop_reason).toBe("finished");
      const more = { low: [], medium: ["verify"], high: ["verify", "merge"] }[effort] ?? [];
      expect([...askedRoles(served.endpoint)]).toEqual(
        expect.arrayContaining(["review", "compare", "recheck", ...more]),
      );
    },
  );

  it("A request in the text protocol holds no secret", async () => {
    await using served = await serve(reviewer);
    const { result } = await review(
      { ...served, model: withTextProtocol(served.model) },
      { config: { effort: "medium" } },
    );
    expect(leaked(served.endpoint)).toEqual([]);
    expect(result.findings.map(({ finding }) => finding.line)).toContain(lineOf("retries <= 3"));
  });
});

describe("a finding that quotes a mask", { timeout: 600_000 }, () => {
  it("A finding that quotes a mask stands on the line that git has", async () => {
    await using served = await serve(reviewer);
    const { result } = await review(served, { config: { effort: "medium" } });
    const found = result.findings.find(({ finding }) => finding.title.startsWith("The fourth try"));
    expect(found).toMatchObject({
      finding: {
        path: "src/app.js",
        side: "RIGHT",
        line: lineOf("retries <= 3"),
        suggestion: null,
        quote: "",
      },
      placement: { kind: "inline" },
    });
    expect(JSON.stringify(result)).not.toContain("*secret-");
    for (const secret of secretTexts()) expect(JSON.stringify(result)).not.toContain(secret);
    expect(received(served.endpoint)).toContain("The suggestion was left out: it holds a masked secret.");
  });

  it("A finding that quotes a mask stands where git has the line, on both sides", async () => {
    using keys = GitRepo.create();
    const lineOf = (name: string, value: string) => `const ${name} = "${value}";`;
    const ofKind = (at: number) =>
      writeOut(["ghp_{base62:36}", "npm_{base62:36}", "AKIA{BASE32:16}"][at % 3] ?? "", random);
    const lines = (prefix: string) =>
      Array.from({ length: 60 }, (_, at) => lineOf(`${prefix}${at}`, ofKind(at)));
    const [kept, removed, added] = [lines("kept"), lines("old"), lines("now")];
    const every = (all: string[], step: number) => all.filter((_, at) => at % step === 0);
    keys.commit("before", { "keys.js": [...every(removed, 7), ...kept, ...every(removed, 9)].join("\n") });
    keys.git("tag", "base");
    keys.commit("after", {
      "keys.js": [...kept, ...every(added, 5), ...kept.slice(0, 20), ...every(added, 8)].join("\n"),
    });
    using there = await placeOf(keys, "base");

    const asShown = /^.*const ((?:old|now)\d+) = "\*secret-.*$/gm;
    await using served = await serve(({ role, turn, text }) => {
      if (role !== "review" || turn > 0)
        return [{ name: "finish_review", arguments: { summary: "Renames keys." } }];
      return [...text.matchAll(asShown)].map(({ 0: quote, 1: name = "" }) =>
        report(quote, {
          ...{ path: "keys.js", line: 1, side: name.startsWith("old") ? "LEFT" : "RIGHT" },
          ...{ title: `The key ${name} is not in use anywhere`, suggestion: undefined },
        }),
      );
    });
    const { result } = await review(served, {}, { place: there.place });

    const found = result.findings.filter(({ finding }) => finding.source === "model");
    expect(found.length).toBeGreaterThan(25);
    for (const { finding } of found) {
      const [, name = ""] = /key (\w+) is/.exec(finding.title) ?? [];
      const at = finding.side === "LEFT" ? "base" : "HEAD";
      const numbers = keys
        .git("grep", "-n", `const ${name} =`, at, "--", "keys.js")
        .split("\n")
        .map((hit) => Number(hit.split(":")[2]));
      expect(numbers, name).toContain(finding.line);
    }
  });

  it("A finding that quotes a mask is beside a count of what was hidden and no finding tells of", async () => {
    await using served = await serve(reviewer);
    const { result } = await review(served, {});
    const told = result.findings.flatMap(({ finding }) =>
      finding.source.startsWith("secrets/") ? [finding] : [],
    );
    const places = [...told, ...result.masked].map(({ path, line }) => `${path}:${line}`);
    expect(result.masked).toContainEqual({ path: "docs/how.md", line: 1 });
    expect(places).toContain(`src/app.js:${lineOf("retries <= 3")}`);
    expect(places).toContain(`src/app.js:${lineOf("export const again")}`);
    expect(new Set(places).size).toBe(places.length);
    // A key has one place, and its other lines are no further values.
    expect(places.filter((place) => place.startsWith("src/new.pem"))).toEqual(["src/new.pem:1"]);
  });
});

describe("a review that was killed and goes on", { timeout: 600_000 }, () => {
  it.runIf(long)("A review that was killed and goes on reads the masks of its recorded turns", async () => {
    await using first = await serve(reviewer);
    const { entries, result } = await review(first, { config: { effort: "medium" } });
    const masks = entries.filter((entry): entry is MasksEntry => entry.kind === "masks");
    expect(masks.length).toBeGreaterThan(0);
    for (const secret of secretTexts()) expect(JSON.stringify(masks)).not.toContain(secret);

    for (const kept of [2, 9]) {
      const record = entries.slice(
        0,
        entries.findIndex((entry, at) => at >= kept && entry.kind === "turn") + 1,
      );
      const replay = record.filter(
        (entry): entry is LoopEntry => isLoopEntry(entry) && entry.kind !== "stopped",
      );
      await using again = await serve(reviewer);
      const known = record.filter((entry) => entry.kind === "masks");
      const { result: same } = await review(
        again,
        { config: { effort: "medium" } },
        { replay, masks: known },
      );
      expect(leaked(again.endpoint)).toEqual([]);
      expect(same.findings).toEqual(result.findings);
      const turns = replay.filter(({ kind }) => kind === "turn").length;
      expect(again.endpoint.requests).toHaveLength(first.endpoint.requests.length - turns);
    }
  });
});

const given = {
  targetBranch: "main",
  pull: { number: 7, title: pull.title, body: pull.body },
  config: RepoConfig.parse({}),
  limits,
  models: forAllRoles({ name: "gpt-5", contextTokens: 400_000, protocol: "native" as const }),
};

describe("an answer to a question", { timeout: 600_000 }, () => {
  it("A model answers a question without seeing a secret of the thread or the code", async () => {
    await using served = await serve(reviewer);
    const { model } = served;
    const input: AnswerInput = {
      ...given,
      question: { by: "octocat", body: `Is ${token} the right one?` },
      thread: {
        ...{ path: "src/app.js", side: "RIGHT", line: 2, original_line: 2, finding: `Uses ${oldToken}.` },
        conversation: [{ by: "hubot", body: `Use ${word}.` }],
      },
    };
    const answer = await runTask(answerTask, input, { ...recording().options, models: forAllRoles(model) });
    expect(leaked(served.endpoint)).toEqual([]);
    expect(answer.text).toBe('It says return connect("[secret]", retries <= 3);');
  });
});

describe("a fix of a file with a secret", { timeout: 600_000 }, () => {
  const target = {
    ...{
      id: "f1",
      path: "src/app.js",
      side: "RIGHT" as const,
      line: 2,
      original_line: 2,
      symbol: "open",
      source: "model",
      files: [],
    },
    ...{ title: "One try too few", finding: `It connects with ${token}.`, conversation: [] },
  };
  const fixing: Script = ({ role, turn, text }) => {
    if (role === "recheck")
      return [{ name: "report_resolution", arguments: { state: "fixed", reason: "It is < now." } }];
    const line = shownBug(text);
    const edit = (old_string: string, new_string: string): Call => ({
      name: "edit_file",
      arguments: { path: "src/app.js", old_string, new_string },
    });
    return (
      [
        reading,
        [edit(line, line.replace("<=", "<"))],
        [edit(`${line}\n}`, "return connect(process.env.TOKEN, retries < 3);\n}")],
      ][turn] ?? [
        {
          name: "finish_fix",
          arguments: {
            summary: "Try once more",
            findings: [{ finding: "F1", repaired: true, note: "Done." }],
          },
        },
      ]
    );
  };

  it("A fix of a file with a secret finds its line by a mask, takes no mask into the file", async () => {
    await using served = await serve(fixing);
    const models = forAllRoles(served.model);
    const input = { ...given, targets: [target] };
    const fix = await runTask(fixTask, input, { ...recording().options, models });
    expect(leaked(served.endpoint)).toEqual([]);
    expect(received(served.endpoint)).toContain("new_string holds a masked secret");
    const [edited] = fix.edits;
    expect(Buffer.from(edited?.after?.base64 ?? "", "base64").toString()).toBe(
      appAfter.replace(bug(token), "  return connect(process.env.TOKEN, retries < 3);"),
    );
  });
});
