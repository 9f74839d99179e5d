import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { finding, finish, numbers, patient, turn } from "../../e2e/conformance-fixture.ts";
import { withAgreeingSceptic } from "../../support/agreeing-sceptic.ts";
import { startFakeOpenAi } from "../../support/fake-openai.ts";
import { GitRepo, TempFolder } from "../../support/git-repo.ts";
import { createScenario, type Scenario } from "../../support/github-double/scenario.ts";
import { runCli } from "../../support/run-cli.ts";

const base = { "src/numbers.js": numbers(40), ".github/hunkwise.yml": "language: German\n" };
const head = {
  "src/numbers.js": numbers(40, { 3: "const n3 = 4;" }),
  ".github/hunkwise.yml": "language: French\n",
};
const answers = () => turn(finding({ line: 3, quote: "const n3 = 4;" }), finish);
const permissions = {
  contents: "read",
  pull_requests: "write",
  issues: "read",
  checks: "read",
  statuses: "read",
} as const;

interface Played extends Scenario {
  /** Runs `hunkwise review` on the pull request. */
  review(args: readonly string[], env?: Record<string, string>): ReturnType<typeof runCli>;
  /** Address of the pull request's page. */
  page: string;
  /** A personal token of octocat. */
  token: string;
  /** Requests to GitHub that could change something. */
  writes(): string[];
  asked(): string;
}

async function onPull(play: (one: Played) => Promise<void>): Promise<void> {
  await using scenario = await createScenario({ base, head, title: "Fix numbers", body: "Closes nothing." });
  const { github, repository, pull } = scenario;
  const model = await startFakeOpenAi({ script: withAgreeingSceptic(answers).script, apiKey: "sk-x" });
  using folder = new TempFolder("pull");
  const token = github.state.personalToken("octocat", [repository], permissions);
  const page = `${github.url}/octo-org/shop/pull/${pull.number}`;
  try {
    await play({
      ...scenario,
      ...{ page, token },
      review: (args, env = {}) =>
        runCli(["review", "--pr", page, ...args], {
          cwd: folder.path,
          env: {
            ...{ OPENAI_API_KEY: "sk-x", OPENAI_BASE_URL: model.url, HUNKWISE_MODEL: "fake-model" },
            ...{ HUNKWISE_PROTOCOL: "native", HUNKWISE_DATA_DIR: folder.path },
            ...env,
          },
        }),
      writes: () =>
        github.requests
          .filter(({ method, path }) => !["GET", "HEAD"].includes(method) && path !== "/graphql")
          .filter(({ operation }) => operation !== "git")
          .map(({ method, path }) => `${method} ${path}`),
      asked: () => JSON.stringify(model.requests.map(({ body }) => body.messages)),
    });
    expect(github.violations).toEqual([]);
  } finally {
    await model.close();
  }
}
/** The double is a server as far as tokens go. */
const forServer = ({ github, token }: Played) => ({
  ...{ GH_ENTERPRISE_TOKEN: token, GH_HOST: `${github.host}:${github.port}` },
});

describe.concurrent("hunkwise review --pr", patient, () => {
  it("A review reads a pull request with its description and the base's configuration, and writes nothing", () =>
    onPull(async (one) => {
      const done = await one.review(["--format", "json"], forServer(one));
      expect(done.stderr).not.toContain("hunkwise:");
      const report = JSON.parse(done.stdout);
      expect(report.findings).toMatchObject([{ path: "src/numbers.js", line: 3, placement: "inline" }]);
      expect(report.head_sha).toBe(one.pull.heads.at(-1));
      expect(one.asked()).toContain("Fix numbers");
      expect(one.asked()).toContain("in German");
      expect(one.writes()).toEqual([]);
      expect(done.stdout + done.stderr).not.toContain(one.token);
    }));

  it("A review posts with --publish under the person's name, once however often it runs", () =>
    onPull(async (one) => {
      const first = await one.review(["--publish"], forServer(one));
      expect(first.stderr).toContain(`posted on ${one.page}: 1 on lines, 0 in the summary, 0 there already`);
      const places = () =>
        one.pull.reviewComments.map(({ author, anchor }) => `${author.login} ${anchor?.line}`);
      expect(places()).toEqual(["octocat 3"]);
      expect(one.pull.comments.map(({ author }) => author.login)).toEqual(["octocat"]);
      expect(one.pull.comments[0]?.body).toContain("a person posted this review from the command line");
      const again = await one.review(["--publish"], forServer(one));
      expect(again.stderr).toContain("0 on lines, 0 in the summary, 1 there already");
      expect(places()).toEqual(["octocat 3"]);
      expect(one.pull.comments).toHaveLength(1);
      expect(one.repository.checkRuns).toEqual([]);
    }));

  it("A review sends a token only to its own host, and nothing before that is known", () =>
    onPull(async (one) => {
      const before = one.github.requests.length;
      for (const env of [
        { GITHUB_TOKEN: one.token },
        { GH_TOKEN: one.token },
        { GH_ENTERPRISE_TOKEN: one.token },
        { GH_ENTERPRISE_TOKEN: one.token, GH_HOST: "ghe.example" },
      ]) {
        const done = await one.review([], env);
        expect(done.code).toBe(2);
        expect(done.stderr).toMatch(
          /There is no token for 127\.0\.0\.1:\d+\. Set GH_ENTERPRISE_TOKEN with GH_HOST=/,
        );
      }
      expect(one.github.requests).toHaveLength(before);
    }));

  it("A review asks gh for the token that it stored for this host", () =>
    onPull(async (one) => {
      using bin = new TempFolder("bin");
      const host = `${one.github.host}:${one.github.port}`;
      const script = `#!/bin/sh\n[ "$*" = "auth token --hostname ${host}" ] && echo ${one.token} || exit 1\n`;
      writeFileSync(join(bin.path, "gh"), script);
      chmodSync(join(bin.path, "gh"), 0o755);
      const PATH = `${bin.path}:${dirname(process.execPath)}:${process.env.PATH}`;
      const done = await one.review(["--format", "json"], { PATH });
      expect(JSON.parse(done.stdout).findings).toHaveLength(1);
    }));

  it("A review says what a command line lacks", () =>
    onPull(async (one) => {
      const env = forServer(one);
      const both = await one.review(["--base", "main"], env);
      expect(both.stderr).toContain("option '--pr <NUMBER>' cannot be used with option '--base <REF>'");
      const alone = await runCli(["review", "--publish"]);
      expect(alone.stderr).toContain("--publish needs --pr");
      using repo = GitRepo.create();
      repo.commit("one", { a: "1\n" });
      const remote = await runCli(["review", "--pr", "12"], { cwd: repo.dir, env });
      expect(remote.stderr).toContain(
        "The remote origin does not say where pull request 12 is. Name the address",
      );
      mkdirSync(join(repo.dir, "x"));
      const word = await runCli(["review", "--pr", "main"], { cwd: repo.dir, env });
      expect(word.stderr).toContain("'main' is not a pull request");
    }));
});
