import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { type Bom, isBundled, listedWorks, sbomOf } from "../scripts/release/sbom.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Step {
  uses?: string;
  run?: string;
}
interface Job {
  permissions: Record<string, string>;
  environment?: string;
  needs?: string | string[];
  steps: Step[];
}

describe("the workflow of a release", () => {
  const { on, jobs }: { on: unknown; jobs: Record<string, Job> } = parse(
    read(".github/workflows/release.yml"),
  );
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
    const identified = Object.entries(jobs).filter(([, job]) => job.permissions["id-token"] === "write");
    expect(identified.map(([name]) => name)).toEqual(["npm", "image", "release", "mcp"]);
  });

  it("Only jobs that an environment guards may write or identify themselves", () => {
    expect(publishing.map(([name]) => name)).toEqual(["npm", "image", "release", "mcp"]);
    for (const [name, { permissions }] of Object.entries(jobs).filter(([, job]) => !job.environment))
      expect([name, Object.values(permissions)]).not.toEqual([name, expect.arrayContaining(["write"])]);
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

describe("the SBOM", () => {
  const rule = "-".repeat(80);
  const licenses = [
    "Hunkwise contains these 3 works of others, each under its own license.\n",
    "zod 4.6.7 (MIT)\n\nTerms.\n",
    `@ast-grep/lang-c 0.0.6 (ISC)\ntree-sitter-c 0.24.1 (MIT)\n\nTerms\n${rule}\n\nNotices of others\n\nMore terms.\n`,
  ].join(`\n${rule}\n\n`);
  const component = (name: string, version: string, more: object = {}) => ({
    ...{
      "bom-ref": `${name}@${version}`,
      type: "library",
      name,
      version,
      purl: `pkg:npm/${name}@${version}`,
    },
    ...more,
  });
  const forDevelopment = {
    scope: "optional",
    properties: [{ name: "cdx:npm:package:development", value: "true" }],
  };
  const all: Bom = {
    serialNumber: "urn:uuid:of-npm",
    metadata: { timestamp: "now", component: component("clone", "1.0.0") },
    components: [
      component("zod", "4.6.7", { ...forDevelopment, hashes: ["of npm"] }),
      component("vitest", "5.1.1", forDevelopment),
      component("@ast-grep/lang-c", "0.0.6", forDevelopment),
      component("sqlite-vec", "0.1.9", { scope: "optional" }),
    ],
    dependencies: [{ ref: "clone@1.0.0", dependsOn: ["zod@4.6.7", "vitest@5.1.1"] }],
  };
  const sbom = sbomOf(all, licenses, { commit: "0".repeat(40), time: "2026-12-01T00:00:00Z" });

  it("The SBOM names what the package contains, although npm takes that for development, and what is installed beside it", () => {
    expect(sbom.components.filter(isBundled).map((one) => one["bom-ref"])).toEqual([
      "@ast-grep/lang-c@0.0.6",
      "tree-sitter-c@0.24.1",
      "zod@4.6.7",
    ]);
    expect(sbom.components.filter((one) => !isBundled(one)).map(({ name }) => name)).toEqual(["sqlite-vec"]);
    expect(sbom.components.find(({ name }) => name === "zod")).toMatchObject({
      scope: "required",
      hashes: ["of npm"],
    });
    expect(sbom.dependencies).toEqual([{ ref: "clone@1.0.0", dependsOn: ["zod@4.6.7"] }]);
  });

  it("The SBOM of a commit is always the same, and that of another commit has another number", () => {
    const at = { commit: "0".repeat(40), time: "2026-12-01T00:00:00Z" };
    expect(sbomOf(all, licenses, at)).toEqual(sbom);
    expect(sbom.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(sbomOf(all, licenses, { ...at, commit: "1".repeat(40) }).serialNumber).not.toBe(sbom.serialNumber);
  });

  it("A list of licenses that is not read whole is refused", () => {
    expect(() => listedWorks(licenses.replace("tree-sitter-c 0.24.1", "tree-sitter-c"))).toThrow(
      "2 works were read",
    );
  });
});
