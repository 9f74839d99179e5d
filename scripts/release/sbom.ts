import { createHash } from "node:crypto";
import packageJson from "../../package.json" with { type: "json" };
import { repositoryOf } from "../repository.ts";

interface Component {
  "bom-ref": string;
  type: string;
  name: string;
  version: string;
  scope?: string;
  purl: string;
  licenses?: unknown[];
  properties?: { name: string; value: string }[];
}

/** What of CycloneDX is used here. */
export interface Bom {
  serialNumber: string;
  metadata: { timestamp: string; component: Component; [name: string]: unknown };
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

/** Names and versions of the works that THIRD-PARTY-LICENSES.txt lists, with their licenses. */
export function listedWorks(licenses: string): Map<string, string> {
  const [intro = "", ...parts] = licenses.split(`\n${"-".repeat(80)}\n\n`);
  // A license may have such a line of its own; no work begins after it.
  const lines = parts.flatMap((part) => part.slice(0, part.indexOf("\n\n")).split("\n"));
  const works = new Map<string, string>();
  for (const line of lines) {
    const [, name, version, license] = /^(\S+) (\d\S*) \((.+)\)$/.exec(line) ?? [];
    if (license) works.set(`${name}@${version}`, license);
  }
  if (!intro.includes(`contains these ${works.size} works`))
    throw new Error(`Of THIRD-PARTY-LICENSES.txt, ${works.size} works were read; it says: ${intro}`);
  return works;
}

const bundledMark = { name: "cdx:npm:package:bundled", value: "true" };

/** Whether the package contains the component; the others are installed beside it. */
export const isBundled = ({ properties = [] }: Component) =>
  properties.some(({ name, value }) => name === bundledMark.name && value === bundledMark.value);

/**
 * The SBOM of the package: what it contains, by its own list of licenses, and what npm installs beside it. npm alone would tell
 * neither: to npm, what is bundled is for development. The same commit always has the same SBOM.
 *
 * @param all the SBOM that npm makes of the lock file
 */
export function sbomOf(all: Bom, licenses: string, { commit, time }: { commit: string; time: string }): Bom {
  const works = listedWorks(licenses);
  const known = new Map(all.components.map((one) => [`${one.name}@${one.version}`, one]));
  const bundled = [...works].map(([work, license]): Component => {
    const [, name = "", version = ""] = /^(.+)@(.+)$/.exec(work) ?? [];
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    // Grammars are in no lock file: their parsers are, which others generated from them.
    const ours = {
      "bom-ref": work,
      type: "library",
      name,
      version,
      purl,
      licenses: [{ expression: license }],
    };
    return { ...(known.get(work) ?? ours), scope: "required", properties: [bundledMark] };
  });
  const isForDevelopment = ({ properties = [] }: Component) =>
    properties.some(({ name }) => name === "cdx:npm:package:development");
  const beside = all.components.filter(
    (one) => !isForDevelopment(one) && !works.has(`${one.name}@${one.version}`),
  );
  const components = [...bundled, ...beside].sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  const self = { ...all.metadata.component, type: "application", name: packageJson.name, properties: [] };
  const refs = new Set([...components, self].map((one) => one["bom-ref"]));
  const digest = createHash("sha256").update(commit).digest("hex");
  const id = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-5$3-8$4-$5");
  const vcs = { type: "vcs", url: repositoryOf(packageJson).page, comment: `commit ${commit}` };
  return {
    ...all,
    serialNumber: `urn:uuid:${id}`,
    metadata: {
      ...all.metadata,
      timestamp: time,
      component: { ...self, externalReferences: [vcs] } as Component,
    },
    components,
    dependencies: all.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  };
}
