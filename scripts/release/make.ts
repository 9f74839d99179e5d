import { createHash } from "node:crypto";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { devNull, tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { makeActionTree } from "../action-tree.ts";
import { releaseOf } from "./notes.ts";
import { releaseFolder, root, run } from "./program.ts";
import { type Bom, sbomOf } from "./sbom.ts";

const { name, version } = packageJson;

/** The files of a release by what they are. SHA256SUMS lists all others. */
export const artifacts = {
  package: `${name}-${version}.tgz`,
  sbom: `${name}-${version}.cdx.json`,
  action: `${name}-action-${version}.bundle`,
  actionIds: `${name}-action-${version}.json`,
  server: "server.json",
  schemaStore: "schemastore-entry.json",
  notes: "notes.md",
  sums: "SHA256SUMS",
} as const;

/** Which commits the Action's tree is in. */
export interface ActionIds {
  /** The commit that the release's tag names. Its parent is `source`. */
  commit: string;
  tree: string;
  source: string;
}

const at = (file: keyof typeof artifacts) => join(releaseFolder, artifacts[file]);
const git = (...args: string[]) => run("git", args).trim();
const writeJson = (path: string, value: unknown) =>
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);

/** A file of the package. */
export const fileOfPackage = (path: string) => run("tar", ["-xzOf", at("package"), `package/${path}`]);

/**
 * Makes all files of the release of this commit anew. Rejects if files differ from the commit, because the release names it.
 *
 * @param wanted the version that is released; without it, this is a trial, which may have the notes of the next version
 * @param say called with each step
 */
export async function makeRelease(wanted: string | undefined, say: (line: string) => void): Promise<void> {
  const changed = git("status", "--porcelain");
  if (changed) throw new Error(`Commit these first, because the release is that of a commit:\n${changed}`);
  const commit = git("rev-parse", "HEAD");
  const seconds = Number(git("show", "--no-patch", "--format=%ct", "HEAD"));
  const notes = notesOf(wanted, say);
  rmSync(releaseFolder, { recursive: true, force: true });
  mkdirSync(releaseFolder);

  writeFileSync(at("notes"), `${notes}\n`);
  say(`${artifacts.notes}: from CHANGELOG.md`);
  packPublic();
  say(`${artifacts.package}: npm pack, without "private" (sha256 ${sha256(at("package")).slice(0, 16)})`);
  const time = new Date(seconds * 1000).toISOString();
  const sbom = sbomOf(sbomOfLockFile(), fileOfPackage("dist/THIRD-PARTY-LICENSES.txt"), { commit, time });
  writeJson(at("sbom"), sbom);
  say(`${artifacts.sbom}: CycloneDX, ${sbom.components.length} components`);
  const ids = await commitAction(commit, seconds);
  writeJson(at("actionIds"), ids);
  say(`${artifacts.action}: tree ${ids.tree}, commit ${ids.commit} on ${commit.slice(0, 12)}`);
  copyFileSync(join(root, "server.json"), at("server"));
  copyFileSync(join(import.meta.dirname, "schemastore-entry.json"), at("schemaStore"));
  say(`${artifacts.server}, ${artifacts.schemaStore}: as \`npm run docs\` keeps them`);
  const files = readdirSync(releaseFolder).sort();
  for (const file of files) appendFileSync(at("sums"), `${sha256(join(releaseFolder, file))}  ${file}\n`);
  say(`${artifacts.sums}: of ${files.length} files`);
}

/** The SBOM that npm makes of the lock file, with the packages for all platforms. */
const sbomOfLockFile = (): Bom =>
  JSON.parse(
    run("npm", ["sbom", "--package-lock-only", "--sbom-format=cyclonedx", "--sbom-type=application"]),
  );

const sha256 = (path: string) => createHash("sha256").update(readFileSync(path)).digest("hex");

function notesOf(wanted: string | undefined, say: (line: string) => void): string {
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const found = releaseOf(wanted ?? version, { packageVersion: version, changelog });
  if ("notes" in found) return found.notes;
  if (wanted !== undefined) throw new Error(`${found.fault}.`);
  say(`Not ready to be released: ${found.fault}. The notes of this trial are those of 'Unreleased'`);
  const renamed = changelog.replace("[Unreleased]", `[${version}]`);
  return Object.values(releaseOf(version, { packageVersion: version, changelog: renamed })).join();
}

/** Only this package can be published: npm refuses one that says "private", as a clone and a package of a clone do. */
function packPublic(): void {
  using folder = mkdtempDisposableSync(join(tmpdir(), "hunkwise-package-"));
  run("npm", ["pack", "--silent", "--pack-destination", folder.path]);
  run("tar", ["-xzf", artifacts.package], { cwd: folder.path });
  const cwd = join(folder.path, "package");
  // npm keeps modes, which are those of the person's umask.
  run("chmod", ["-R", "u=rwX,go=rX", cwd]);
  run("npm", ["pkg", "delete", "private"], { cwd });
  run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", releaseFolder], { cwd });
}

/**
 * Makes the commit of the Action and saves it, without writing to this repository. Names and dates are those of the source, and no settings
 * of git count, so that everybody gets the same commit.
 */
async function commitAction(source: string, seconds: number): Promise<ActionIds> {
  using folder = mkdtempDisposableSync(join(tmpdir(), "hunkwise-action-"));
  const [cwd, repository] = [join(folder.path, "tree"), join(folder.path, "git")];
  await makeActionTree(cwd);
  const who = ["AUTHOR", "COMMITTER"].flatMap((role) => [
    [`GIT_${role}_NAME`, "Hunkwise release"],
    [`GIT_${role}_EMAIL`, "release@hunkwise.invalid"],
    [`GIT_${role}_DATE`, `${seconds} +0000`],
  ]);
  const foreign = { GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: "1", GIT_ATTR_NOSYSTEM: "1" };
  const env = { ...Object.fromEntries(who), ...foreign, GIT_DIR: repository, GIT_WORK_TREE: cwd };
  const fixed = ["-c", `core.attributesFile=${devNull}`, "-c", "pack.threads=1"];
  const own = (...args: string[]) => run("git", [...fixed, ...args], { cwd, env }).trim();
  own("init", "--quiet");
  const objects = git("rev-parse", "--path-format=absolute", "--git-path", "objects");
  writeFileSync(join(repository, "objects/info/alternates"), `${objects}\n`);
  own("add", "--force", "--all", ".");
  // GitHub refuses a push that changes workflows, if the token may not: the commit leaves them as they are.
  own("read-tree", "--prefix=.github/", `${source}:.github`);
  const tree = own("write-tree");
  const message = `Release ${version}: the Action, built\n\nMade of ${source} by npm run release -- --make.`;
  const commit = own("commit-tree", tree, "-p", source, "-m", message);
  own("update-ref", `refs/tags/v${version}`, commit);
  own("bundle", "create", "--quiet", at("action"), `v${version}`, `^${source}`);
  return { commit, tree, source };
}
