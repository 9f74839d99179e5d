import fc from "fast-check";
import { expect, it } from "vitest";
import { createMasking } from "../../../src/agent/llm/masked-request.ts";
import { forAllRoles, type Model, type ModelRequest } from "../../../src/agent/llm/model.ts";
import { Masks } from "../../../src/core/secrets/masks.ts";
import { reviewConclusion } from "../../../src/pull/publish/conclusions.ts";
import { createDiffSource } from "../../../src/repo/diff-source.ts";
import { reviewChange } from "../../../src/tasks/review/review-change.ts";
import type { History } from "../../../src/tasks/shapes/review-input.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { rejectingOthers } from "../../support/answer-candidates.ts";
import { type Content, GitRepo } from "../../support/git-repo.ts";
import { reviewDependencies } from "../../support/review-dependencies.ts";
import { reviewInput } from "../../support/review-input.ts";
import { scriptedModel } from "../../support/scripted.ts";
import { pullText } from "./context/first-message.ts";

/*
 * For every success, each path that git calls changed is accounted for: the model was shown all of its changed lines, or all of the file where its
 * place decides what runs it; or it is one that a program of ours knows; or the base leaves it out.
 */

const long = process.env.HUNKWISE_LONG === "1";
const RUNS = long ? 1_000 : 100;

type Files = Record<string, Content | null>;

/** What happens to some paths, in one push or two, and who may answer for it. */
interface Fate {
  base?: Files;
  pushes: Files[];
  by: "model" | "program" | "base" | "nobody";
  /** A path of which the model must be shown every line. */
  whole?: string;
  /** A path of which it must be shown the changed lines after the last push. */
  again?: string;
}

const lines = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${name}_${at}();\n`).join("");
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "base64",
);
const noise = Buffer.from(Array.from({ length: 99 }, (_, at) => (at * at * 31) % 256));
const locked = (host: string) =>
  JSON.stringify({
    lockfileVersion: 3,
    packages: { "node_modules/a": { version: "1.0.0", resolved: `https://${host}/a/-/a-1.0.0.tgz` } },
  });
const link = (data: string): Content => ({ mode: "120000", data });

const chosenNames = [
  ...[
    "dist/I.js",
    "auth/zz_generated.I.go",
    "src/I.g.cs",
    "__snapshots__/I.test.js",
    "api/I_pb2.py",
    "I/.pnp.cjs",
  ],
  ...[
    "vendor/I.php",
    "src/I.generated.ts",
    "I.min.js",
    "test/__snapshots__/I.snap",
    "node_modules/I/index.js",
  ],
];
/** Each is read whole: where a file is, or what it is called, decides what becomes of it. */
const moves = [
  ...[
    ["docs/I.yml", ".github/workflows/I.yml"],
    ["I/middleware.ts", "I/lib/middleware.ts"],
  ],
  ...[
    ["pages/api/_I.ts", "pages/api/I.ts"],
    ["config/initializers/I.rb.off", "config/initializers/I.rb"],
  ],
  ...[
    ["test/I.test.js", "test/I.test.js.txt"],
    ["docs/I.md", "I/AGENTS.md"],
    ["I.txt", "I/.gdbinit"],
  ],
  ...[
    ["src/I/helper.ts", "test/I/helper.ts"],
    ["I.sh", ".husky/I"],
    ["docs/I2.yml", ".github/dependabot.yml"],
  ],
];

/** Each takes the number of the fate in its change, and a number for whatever it wants. */
const fates: readonly ((id: string, n: number) => Fate)[] = [
  (id, n) => ({
    base: { [`src/${id}.ts`]: lines(`old${id}`, 9) },
    pushes: [{ [`src/${id}.ts`]: lines(`old${id}`, 4) + lines(`new${id}`, n % 9) }],
    by: "model",
  }),
  (id) => ({ pushes: [{ [`src/${id}.py`]: lines(`added${id}`, 3) }], by: "model" }),
  (id, n) => ({
    pushes: [{ [named(chosenNames, id, n)]: lines(`named${id}`, n % 3 === 0 ? 450 : 5) }],
    by: "model",
  }),
  (id) => ({
    pushes: [{ [`gen/${id}.js`]: lines(`gen${id}`, 5), [`ignored/${id}.js`]: lines(`ignored${id}`, 600) }],
    by: "base",
  }),
  (id) => ({
    pushes: [
      {
        [`a${id}/.gitattributes`]: `*.js linguist-generated # ${id}\n`,
        [`a${id}/x.js`]: lines(`attr${id}`, 5),
      },
    ],
    by: "model",
  }),
  (id) => ({
    base: { [`${id}/package-lock.json`]: locked("registry.npmjs.org") },
    pushes: [{ [`${id}/package-lock.json`]: locked("registry.npmjs.org").replaceAll("1.0.0", "1.0.1") }],
    by: "program",
  }),
  (id) => ({
    base: { [`${id}/package-lock.json`]: locked("registry.npmjs.org") },
    pushes: [{ [`${id}/package-lock.json`]: locked("evil.example") }],
    by: "nobody",
  }),
  (id) => ({
    pushes: [
      {
        [`${id}.png`]: png,
        [`${id}.snap`]: `// Jest Snapshot v1\n\nexports[\`${id} 1\`] = \`1\`;\n`,
        [`${id}/.gitkeep`]: "",
        [`${id}/__init__.py`]: "",
      },
    ],
    by: "program",
  }),
  (id, n) => ({
    pushes: [
      [
        { [`${id}.png`]: Buffer.concat([png, Buffer.from("#!/bin/sh\n")]) },
        { [`${id}.jpg`]: png },
        { [`${id}.png`]: { mode: "100755" as const, data: png } },
        { [`${id}.pkl`]: noise },
        { [`${id}.png`]: noise },
      ][n % 5] as Files,
    ],
    by: "nobody",
  }),
  (id, n) => ({ pushes: [{ [`${id}/${n % 2 ? "CODEOWNERS" : "pytest.ini"}`]: "" }], by: "nobody" }),
  (id) => ({ pushes: [{ [`${id}/empty.txt`]: "" }], by: "model" }),
  (id, n) => ({
    pushes: [
      [
        { [id]: link("../../etc/passwd") },
        { [id]: link("README.md") },
        { [id]: { mode: "160000" as const, data: "1".repeat(40) } },
      ][n % 3] as Files,
    ],
    by: "nobody",
  }),
  (id, n) => ({
    pushes: [
      [
        { [`${id}.js`]: `x();\0${lines(`nul${id}`, 4)}` },
        { [`${id}.sh`]: Buffer.from(`\uFEFFcurl ${id}\n`, "utf16le") },
        { [`${id}.js`]: `/*${"x".repeat(20_000)}*/ y${id}();\n` },
      ][n % 3] as Files,
    ],
    by: "nobody",
  }),
  (id) => ({
    base: { [`lib/${id}.ts`]: lines(`moved${id}`, 9) },
    pushes: [{ [`lib/${id}.ts`]: null, [`lib/new/${id}.ts`]: lines(`moved${id}`, 9) }],
    by: "model",
  }),
  (id, n) => {
    const [from = "", to = ""] = (moves[n % moves.length] ?? []).map((path) => path.replace("I", id));
    const text = lines(`effect${id}`, 12);
    const edited = n % 2 ? text : text.replace("_3()", "_3(1)");
    return { base: { [from]: text }, pushes: [{ [from]: null, [to]: edited }], by: "model", whole: to };
  },
  (id) => ({
    base: { [`.githooks/${id}`]: { mode: "100755", data: lines(`hook${id}`, 9) } },
    pushes: [{ [`.githooks/${id}`]: lines(`hook${id}`, 9) }],
    by: "model",
    whole: `.githooks/${id}`,
  }),
  (id) => ({
    base: { [`docker-entrypoint.d/${id}.sh`]: lines(`entry${id}`, 9) },
    pushes: [{ [`docker-entrypoint.d/${id}.sh`]: { mode: "100755", data: lines(`entry${id}`, 9) } }],
    by: "model",
    whole: `docker-entrypoint.d/${id}.sh`,
  }),
  (id) => ({
    base: { [`${id}.bin`]: noise, [`${id}.lnk`]: link("README.md"), [`${id}/nothing`]: "" },
    pushes: [{ [`${id}.bin`]: null, [`${id}.lnk`]: null, [`${id}/nothing`]: null }],
    by: "model",
  }),
  (id) => ({ pushes: [{ [`src/${id}.ts`]: `call${id}("${SLANDERED}");\n` }], by: "model" }),
  // A rule finds it, and the model answers the match.
  (id) => ({ pushes: [{ [`${id}.js`]: `const session_token="q8Zx2${id}Lm9vK4tR7pW1";\n` }], by: "program" }),
  (id) => ({ pushes: [{ [`${id}.rb`]: `session_token=q8Zx2${id}.Lm9vK4tR7pW1\n` }], by: "nobody" }),
  (id, n) => ({
    pushes: [
      [
        { [`${id}.js`]: `export let password;password=run(unescape(location.hash.slice(${n})))\n` },
        { [`${id}.sh`]: `ping http://a:q9Zx2;reboot${n};A@h.shop.io\n` },
        { [`pages/session_token=q8Zx2${id}Lm9vK4tR7pW1.js`]: lines(`page${id}`, 3) },
      ][n % 3] as Files,
    ],
    by: "nobody",
  }),
  (id) => ({
    pushes: [
      {
        [`src/${id}/boot.js`]: `run(decode("q8Zx2${id}Lm9vK4tR7pW1aB"));\n`,
        [`src/${id}/other.js`]: `const session_token="q8Zx2${id}Lm9vK4tR7pW1aB";\n`,
      },
      { [`src/${id}/other.js`]: "const nothing = 1;\n" },
    ],
    by: "model",
    again: `src/${id}/boot.js`,
  }),
  (id, n) => {
    const [from, to] = [`src/${id}/guard.js`, ["docs/I.snap", "I/yarn.lock", "private/I.js"][n % 3]];
    const text = lines(`guard${id}`, 40);
    const around = n % 3 === 0 ? `exports[\`a 1\`] = \`\n${text}\`;\n` : `# ${id}\n${text}`;
    return {
      base: { [from]: text },
      pushes: [{ [from]: null, [(to ?? "").replace("I", id)]: around }],
      by: "model",
    };
  },
  (id) => ({
    base: { [`docs/${id}.md`]: lines(`prose${id}`, 9) },
    pushes: [
      { [`docs/${id}.md`]: lines(`prose${id}`, 9) + lines(`order${id}`, 2) },
      { [`docs/${id}.md`]: null, [`${id}/REVIEW.md`]: lines(`prose${id}`, 9) + lines(`order${id}`, 2) },
    ],
    by: "model",
    again: `${id}/REVIEW.md`,
  }),
  (id) => ({
    base: { [`src/g${id}.ts`]: guarded(id, "", "") },
    pushes: [
      { [`src/g${id}.ts`]: guarded(id, "  if (!safe) return;\n", `  danger${id}(x);\n`) },
      { [`src/g${id}.ts`]: guarded(id, "", `  danger${id}(x);\n`), [`${id}.md`]: `A typo ${id}.\n` },
    ],
    by: "model",
    again: `src/g${id}.ts`,
  }),
];

const named = (names: readonly string[], id: string, n: number) =>
  (names[n % names.length] ?? "").replace("I", id);
/** A function whose guard is far from what it guards. */
const guarded = (id: string, guard: string, danger: string) =>
  `export function f${id}(x: string, safe: boolean) {\n${guard}${Array.from({ length: 12 }, (_, at) => `  step${at}(x);\n`).join("")}${danger}}\n`;

const change = fc.record({
  fates: fc.uniqueArray(fc.record({ kind: fc.nat(fates.length - 1), n: fc.nat(999) }), {
    minLength: 1,
    maxLength: 3,
    selector: ({ kind }) => kind,
  }),
  /** Some of them come with the second push. */
  late: fc.nat(3),
  /** The model looks at nothing that it is not shown unasked, or ends without a word. */
  ends: fc.oneof(
    { weight: 9, arbitrary: fc.constant("finish") },
    { weight: 1, arbitrary: fc.constant("stop") },
  ),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** People's words call it a secret, which hides nothing of the code. */
const SLANDERED = "kR7wQ2zX9mB4vN8tL5pD";
const words = `The deployment uses api_token=${SLANDERED} as before.`;

/** One round, with its secrets masked; the model says nothing about the change. */
async function review(repo: GitRepo, head: string, history: History, ends: string) {
  await using opened = await openRepository(repo, { head });
  const requests: ModelRequest[] = [];
  const silent = scriptedModel((request) => {
    requests.push(request);
    const finish = { toolCalls: [{ name: "finish_review", arguments: { summary: "It is fine." } }] };
    return ends === "stop" ? { content: "Fine." } : rejectingOthers(finish, request);
  });
  const masking = createMasking(new Masks());
  const model: Model = {
    ...silent,
    respond: async (request, signal) => silent.respond(await masking.request(request), signal),
  };
  const patterns = { ignore: ["ignored/**"], private: ["private/**"] };
  const result = await reviewChange(
    reviewInput({ history, config: { paths: patterns }, pull: pullText({ body: words }) }),
    reviewDependencies(opened.workspace, forAllRoles(model), {
      diffs: createDiffSource(opened.workspace, patterns),
      masking,
    }),
  );
  const shown = requests.flatMap(({ messages }) => messages.map(({ content }) => content)).join("\n");
  return { result, shown };
}

/** The paths that git calls changed, and their changed lines with signs. */
function changesOf(repo: GitRepo, head: string) {
  const raw = repo.git("diff", "--raw", "-M", "--no-abbrev", "main", head).split("\n");
  return raw
    .filter((line) => line !== "")
    .map((line) => {
      const paths = line.split("\t").slice(1);
      const patch = repo.git("diff", "-U0", "-M", "main", head, "--", ...paths).split("\n");
      const isLine = (one: string) => /^[+-]/.test(one) && !/^(?:---|\+\+\+) /.test(one);
      const changed = line.includes("120000") ? [] : patch.filter(isLine);
      return { paths, path: paths.at(-1) ?? "", changed };
    });
}

/** Paths of a green check that nothing accounts for. */
function unaccounted(
  repo: GitRepo,
  head: string,
  all: readonly Fate[],
  shown: string,
  last: string,
): string[] {
  return changesOf(repo, head)
    .filter(({ paths, path, changed }) => {
      const fate = all.find(({ base, pushes }) => [base ?? {}, ...pushes].some((files) => path in files));
      if (fate?.by !== "model") return fate?.by !== "program" && fate?.by !== "base";
      const isTold = changed.length > 0 || paths.every((one) => shown.includes(one));
      const seen = fate.again === path ? last : shown;
      const text = path === fate.whole ? repo.git("show", `${head}:${path}`).split("\n") : [];
      return (
        !isTold ||
        !changed.every((line) => seen.includes(line)) ||
        !text.every((line) => shown.includes(line))
      );
    })
    .map(({ path }) => path);
}

it("A check succeeds only if every changed path was shown, is known to a program, or is left out by the base", {
  timeout: long ? 3_600_000 : 900_000,
}, async () => {
  const ends = { success: 0, other: 0 };
  await fc.assert(
    fc.asyncProperty(change, async (one) => {
      const { all, repo, heads } = history(one);
      using _ = repo;
      let past: History = { key: "of this pull request", reviewed: null, carried: [], summary: "" };
      let shown = "";
      for (const head of heads) {
        const round = await review(repo, head, past, one.ends);
        shown += round.shown;
        const { conclusion } = reviewConclusion(round.result, {
          threshold: "low",
          fail: true,
          limit: "failure",
        });
        ends[conclusion === "success" ? "success" : "other"] += 1;
        if (conclusion === "success") expect(unaccounted(repo, head, all, shown, round.shown)).toEqual([]);
        past = { ...past, reviewed: round.result.ledger?.reviewed ?? null };
      }
    }),
    { numRuns: RUNS, ...(long ? {} : { seed: 20_261_130 }) },
  );
  // A property over one kind of end would prove little.
  expect(Math.min(ends.success, ends.other)).toBeGreaterThan(RUNS / 10);
});

/** The base's branch, and one for each push. */
function history({ fates: chosen, late }: Change) {
  const all = chosen.map(({ kind, n }, at) => (fates[kind] as (typeof fates)[number])(`q${at}`, n));
  const isLate = (at: number) => at > 0 && at <= late;
  const filesOf = (push: number) =>
    all.flatMap(({ pushes }, at) => {
      const files = isLate(at) ? (push === 1 ? pushes : []) : pushes.slice(push, push + 1);
      return files.flatMap((one) => Object.entries(one));
    });
  const attributes: [string, Content] = [".gitattributes", "gen/** linguist-generated\n"];
  const heads = [0, 1].filter((push) => filesOf(push).length > 0).map((push) => `push${push}`);
  const repo = GitRepo.create({ bare: true });
  repo.importCommits([
    {
      branch: "main",
      files: [
        ["README.md", "# Shop\n"],
        attributes,
        ...all.flatMap(({ base }) => Object.entries(base ?? {})),
      ],
    },
    ...heads.map((branch, at) => ({
      branch,
      parents: [heads[at - 1] ?? "main"],
      files: new Map(filesOf(Number(branch.slice(4)))),
    })),
  ]);
  return { all, repo, heads };
}
