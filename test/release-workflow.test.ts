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
}
interface Job {
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  environment?: string;
  needs?: string | string[];
  steps: Step[];
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

describe.each(globSync(".github/workflows/*.yml", { cwd: root }))("%s", (path) => {
  const { on, permissions, jobs }: Workflow = parse(read(path));
  const all = Object.entries(jobs);
  const steps = all.flatMap(([, job]) => job.steps);

  it("The workflow runs only actions pinned to a commit, with the version beside it", () => {
    const used = read(path).match(/^\s*(?:- )?uses: .*$/gm) ?? [];
    expect(used.length).toBe(steps.filter(({ uses }) => uses).length);
    for (const line of used) expect(line).toMatch(/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
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

  it("The workflow does not start for pull requests", () => {
    expect(Object.keys(on).filter((event) => /^pull_request|^issue|^workflow_run/.test(event))).toEqual([]);
  });
});

it("A checkout cannot be published: npm refuses a private package, and only the workflow makes it public", () => {
  expect(packageJson.private).toBe(true);
  expect(read(".github/workflows/release.yml").match(/npm pkg delete private/g)).toHaveLength(1);
});

describe("the release", () => {
  const { on, jobs }: Workflow = parse(read(".github/workflows/release.yml"));

  it("A person starts the release and names the version", () => {
    expect(on).toEqual({
      workflow_dispatch: { inputs: { version: expect.objectContaining({ required: true }) } },
    });
  });

  it("The release has no secret: npm and cosign trust the workflow's identity", () => {
    expect(read(".github/workflows/release.yml")).not.toMatch(/secrets\.|NPM_TOKEN|NODE_AUTH_TOKEN/);
    const identified = Object.entries(jobs).filter(([, job]) => job.permissions?.["id-token"] === "write");
    expect(identified.map(([name]) => name)).toEqual(["npm", "image"]);
  });

  it("The release runs other code only in jobs without write access, before it publishes", () => {
    const { package: build, ...others } = jobs;
    expect(build?.permissions).toEqual({ contents: "read" });
    for (const job of Object.values(others)) {
      expect(job.environment).toBe("release");
      expect([job.needs].flat()).toContain("package");
      expect(job.steps.filter(({ run }) => /npm (ci|install|run)|npx|node /.test(run ?? ""))).toEqual([]);
    }
  });
});
