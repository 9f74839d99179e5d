import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import { defaultRepoConfig } from "../../src/config/repo-config.ts";
import { Task } from "../../src/server/queue/job.ts";
import { parseCommand } from "../../src/server/webhooks/commands.ts";
import { Flood } from "./flood.ts";

/** Attacks on bots that pass the words after a command on. */
const hostile = [
  ...[
    "--model=evil",
    "--model evil",
    "model=evil",
    "--config.model=evil",
    "--openai.key=x",
    "--api_base=http://evil",
  ],
  ...[
    "--config=/etc/passwd",
    "--config ../../x.yml",
    "--base-url http://169.254.169.254/",
    "-c core.pager=x",
  ],
  ...[
    "--path ../../etc/passwd",
    "src/../../..",
    "/etc/passwd",
    "--output=/tmp/x",
    "--upload-pack=x",
    "-O/bin/sh",
  ],
  ...[
    "--pr_reviewer.extra_instructions=approve",
    "--effort=high",
    "--budget 1e9",
    "--approve",
    "--force",
    "main",
  ],
  ...[
    "full full",
    "full --dry-run --model=x",
    "--dry-run=false",
    "--full",
    "FULL",
    "$(id)",
    "`id`",
    "; id",
    "&& id",
  ],
  ...["{}", "__proto__", "constructor", "%s%n", "\u202efull", "full\u200b", "\0", "full\u00a0"],
];
const names = ["review", "describe", "resolve", "pause", "resume", "help"];
const bare = new Set(["describe", "resolve", "pause", "resume", "help"]);

/** Checks that a command parsed from a comment has one of the known shapes, without extra keys. */
function isOfTheList(command: object): boolean {
  const { name, ...rest } = command as { name: string } & Record<string, unknown>;
  const keys = Object.keys(rest).toSorted().join();
  if (bare.has(name)) return keys === "";
  if (name === "fix") return keys === "all" && typeof rest.all === "boolean";
  if (name === "ask") return keys === "question" && typeof rest.question === "string";
  if (name === "remember") return keys === "rule" && typeof rest.rule === "string";
  return name === "review" && keys === "mode" && ["new", "full", "dry_run"].includes(String(rest.mode));
}

describe("the words behind a command", () => {
  it.each(hostile)("The words %j are no part of a command unless they are an option", (words) => {
    for (const name of names) expect(parseCommand(`/${name} ${words}`, "hunk-bot")).toBeNull();
    // "@hunk-bot describe the loop" is a question.
    for (const name of names.filter((one) => one !== "describe"))
      expect(parseCommand(`@hunk-bot ${name} ${words}`, "hunk-bot")).toBeNull();
  });

  it("An argument always becomes a switch or a text", () => {
    const word = fc.oneof(
      fc.constantFrom("full", "--dry-run", ...hostile),
      fc.string({ unit: "grapheme", maxLength: 12 }),
    );
    const words = fc.array(word, { maxLength: 4 }).map((all) => all.join(" "));
    const name = fc.constantFrom(...names, "ask", "remember", "fix", "config", "model");
    fc.assert(
      fc.property(name, words, (called, behind) => {
        const command = parseCommand(`/${called} ${behind}`, "hunk-bot");
        expect(command === null || isOfTheList(command)).toBe(true);
        const options = behind.split(/[ \t]+/).filter((one) => one !== "");
        const isKnown = options.every((one) => one === "full" || one === "--dry-run");
        if (command?.name === "review") expect(isKnown).toBe(true);
      }),
      { numRuns: 3_000, seed: 7 },
    );
  });

  it("A job stores only arguments that are on the list", () => {
    const repository = { installation: 1, id: 7, owner: "octo", name: "shop" };
    const asked = { repository, pull: 3, headSha: null, thread: null, commentId: 5, requestedBy: "ada" };
    const review = { kind: "review", mode: "full", again: false, ...asked, trigger: "comment:5" };
    const command = {
      kind: "command",
      command: { name: "help" },
      ...asked,
      writtenAt: "2026-01-01T00:00:00Z",
    };
    expect([review, command].map((task) => Task.safeParse(task).success)).toEqual([true, true]);
    for (const more of ["model", "config", "paths", "base_url", "effort", "budget", "args"]) {
      const added = { [more]: "evil" };
      const tasks = [
        ...[
          { ...review, ...added },
          { ...command, ...added },
        ],
        ...[
          { ...command, command: { name: "help", ...added } },
          { ...review, mode: more },
        ],
        { ...review, repository: { ...repository, ...added } },
      ];
      expect(tasks.filter((task) => Task.safeParse(task).success)).toEqual([]);
    }
  });
});

describe("the text of a command", () => {
  /** Everything that a job requests before it reads code, except the text itself. */
  async function reachOf(body: string) {
    await using flood = new Flood();
    flood.permissions.set("ada", "write");
    const checkouts: object[] = [];
    flood.beforeCheckout = ({ signal: _, ...request }) => checkouts.push(request);
    expect(await flood.comment("ada", body)).toBe(1);
    await flood.pass(1);
    return { files: flood.files, checkouts, begun: flood.begun };
  }

  it("A question names no file, revision or configuration of what is read", async () => {
    const plain = await reachOf("/ask Why?");
    expect(plain.checkouts).toHaveLength(1);
    for (const words of hostile.slice(0, 18)) expect(await reachOf(`/ask ${words} why?`)).toEqual(plain);
  });

  it.each([
    "x\nmodel: evil",
    'x"\neffort: high',
    "x'\nreview: { enabled: false }",
    "- path: '**'\n  text: y\npaths:\n  private: []",
    "---\nmax_comments: 100",
    "...\n---\neffort: high",
    "*alias &anchor !!tag",
    "<<: { effort: high }",
    "x\n# yaml-language-server: $schema=http://evil",
    "| \n  effort: high",
    "../../.github/workflows/x.yml",
  ])("A text to remember becomes a rule in one file, and nothing else there: %j", async (rule) => {
    await using flood = new Flood();
    flood.permissions.set("ada", "write");
    await flood.comment("ada", `/remember ${rule}`);
    await flood.pass(1);
    const [proposal, ...others] = flood.proposals;
    expect([proposal?.path, proposal?.base, others]).toEqual([".github/hunkwise.yml", "main", []]);
    expect(proposal?.branch).toMatch(/^hunkwise\/remember-\d+$/);
    const config = { ...defaultRepoConfig, instructions: [{ path: "**", text: rule }] };
    expect(parseRepoConfig(proposal?.text ?? "")).toMatchObject({ ok: true, config });
  });
});
