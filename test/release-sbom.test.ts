import { describe, expect, it } from "vitest";
import { type Bom, isBundled, listedWorks, sbomOf } from "../scripts/release/sbom.ts";

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
