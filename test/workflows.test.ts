import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Step {
  uses?: string;
  run?: string;
  with?: Record<string, unknown>;
}
interface Job {
  if?: string;
  "continue-on-error"?: boolean;
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  environment?: string;
  needs?: string | string[];
  steps: Step[];
}
interface Workflow {
  on: Record<string, unknown>;
  concurrency: object;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const workflow = (name: string): Workflow => parse(read(`.github/workflows/${name}.yml`));

describe.each(globSync(".github/workflows/*.yml", { cwd: root }))("%s", (path) => {
  const { on, permissions, jobs }: Workflow = parse(read(path));
  const all = Object.entries(jobs);
  const steps = all.flatMap(([, job]) => job.steps);
  const checkouts = steps.filter(({ uses }) => uses?.startsWith("actions/checkout@"));

  it("The workflow runs only actions pinned to a commit, with the version beside it, and this repository's own", () => {
    const used = read(path).match(/^\s*(?:- )?uses: .*$/gm) ?? [];
    expect(used.length).toBe(steps.filter(({ uses }) => uses).length);
    for (const line of used)
      expect(line).toMatch(/uses: (?:\.\/(?: #.*)?|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/);
  });

  it("The workflow gives each job its own few permissions", () => {
    expect(permissions).toEqual({});
    for (const [name, job] of all) expect([name, job.permissions]).not.toEqual([name, undefined]);
  });

  it("Each job of the workflow has a time limit", () => {
    expect(all.filter(([, job]) => job["timeout-minutes"] === undefined)).toEqual([]);
  });

  it("The workflow puts no expression into a script", () => {
    expect(steps.filter(({ run }) => run?.includes("${{"))).toEqual([]);
  });

  it("The workflow leaves no token in a checkout", () => {
    expect(checkouts.filter((step) => step.with?.["persist-credentials"] !== false)).toEqual([]);
  });

  it("A workflow that runs code of a pull request has no secret and writes no contents", () => {
    if (!("pull_request" in on)) return;
    expect(read(path)).not.toMatch(/secrets\.|contents: write|pull-requests: write|id-token/);
  });

  it("A workflow with the secrets of the default branch runs nothing but its code, whoever started it", () => {
    if (
      !Object.keys(on).some((event) => /^(?:pull_request_target|issue|discussion|workflow_run)/.test(event))
    )
      return;
    const ref = `\${{ github.event.repository.default_branch }}`;
    expect(checkouts.map((step) => step.with?.ref)).toEqual(checkouts.map(() => ref));
    expect(steps.filter(({ run }) => run)).toEqual([]);
  });
});

describe("CI", () => {
  const { ci, ...others } = workflow("ci").jobs;
  /** The scripts of package.json that a text runs. */
  const scripts = (text: string) =>
    new Set([...text.matchAll(/npm (?:run )?(?:-s )?([\w:]+)/g)].map(([, name]) => name));
  const required = Object.values(others).filter((job) => !job["continue-on-error"]);

  it("The jobs that must pass run what .ci/run and `npm run check` run", () => {
    const run = scripts(required.flatMap((job) => job.steps.map((step) => step.run ?? "")).join("\n"));
    expect(run).toEqual(scripts(read(".ci/run")));
    expect(run).toEqual(new Set([...scripts(packageJson.scripts.check), "ci"]));
  });

  it("The job that branches require waits for each job that must pass, and is never skipped", () => {
    expect(ci?.if).toBe("always()");
    expect([ci?.needs].flat().map((name = "") => others[name])).toEqual(required);
  });
});

it("Hunkwise reviews its own pull requests with the events and permissions that its documentation recommends", () => {
  const { on, concurrency, jobs } = workflow("review");
  const [, block = ""] =
    /^## Public repository[\s\S]*?^```yaml\n([\s\S]*?)^```/m.exec(read("docs/action.md")) ?? [];
  const { permissions, ...recommended }: Workflow = parse(block);
  expect(recommended).toMatchObject({ on, concurrency, jobs: { review: { if: jobs.review?.if } } });
  expect(jobs.review?.permissions).toEqual(permissions);
});

describe("the workflow of a release", () => {
  const { on, jobs } = workflow("release");
  const publishing = Object.entries(jobs).filter(([, job]) => job.environment !== undefined);
  const commands = (job: Job | undefined) => job?.steps.flatMap(({ run }) => run ?? []) ?? [];

  it("A person starts the release and names the version", () => {
    expect(on).toEqual({
      workflow_dispatch: { inputs: { version: expect.objectContaining({ required: true }) } },
    });
  });

  it("A clone cannot be published: npm refuses a private package, and a public one without provenance", () => {
    expect(packageJson).toMatchObject({ private: true, publishConfig: { provenance: true } });
  });

  it("The release has no secret: npm, Sigstore and the MCP Registry trust the workflow's identity", () => {
    expect(read(".github/workflows/release.yml")).not.toMatch(/secrets\.|NPM_TOKEN|NODE_AUTH_TOKEN/);
    const identified = Object.entries(jobs).filter(([, job]) => job.permissions?.["id-token"] === "write");
    expect(identified.map(([name]) => name)).toEqual(["npm", "image", "release", "mcp"]);
  });

  it("Only jobs that an environment guards may write or identify themselves", () => {
    expect(publishing.map(([name]) => name)).toEqual(["npm", "image", "release", "mcp"]);
    for (const [name, { permissions }] of Object.entries(jobs).filter(([, job]) => !job.environment))
      expect([name, Object.values(permissions ?? {})]).not.toEqual([name, expect.arrayContaining(["write"])]);
    const { npm, ...others } = jobs;
    expect(Object.values(others).map(({ environment }) => environment)).not.toContain(npm?.environment);
  });

  it("What is published is made where nothing else runs, by the command of the dry run", () => {
    const made = commands(jobs.package).filter((command) => !command.includes("sha256sum"));
    expect(made).toEqual(["npm ci --ignore-scripts", 'npm run -s release -- --make --version "$VERSION"']);
    expect(commands(jobs.check)).toContain("npm run -s release -- --check --without image");
    expect(commands(jobs.check)).toContain("npm run check");
  });

  it("A job that publishes runs no code of ours, waits for the checks, and first compares its files with what was made", () => {
    for (const [name, job] of publishing) {
      const waitsFor = [job.needs].flat().flatMap((one = "") => [one, ...[jobs[one]?.needs].flat()]);
      expect([name, waitsFor]).toEqual([name, expect.arrayContaining(["package", "check"])]);
      expect(commands(job).filter((command) => /npm (ci|install|run)|npx|node /.test(command))).toEqual([]);
      expect(commands(job)[0]).toBe(
        'echo "$SUMS  SHA256SUMS" | sha256sum --check && sha256sum --check SHA256SUMS',
      );
    }
  });
});
