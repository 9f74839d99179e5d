import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import packageJson from "../../package.json" with { type: "json" };
import { type ActionIds, artifacts, fileOfPackage } from "./make.ts";
import {
  CannotCheck,
  cacheFolder,
  plainEnvironment,
  pythonProgram,
  releaseFolder,
  root,
  run,
} from "./program.ts";
import { type Bom, isBundled, listedWorks } from "./sbom.ts";

/** Something that must hold of a release, found out with a program that its users have. */
interface Check {
  name: string;
  by: string;
  /** What was seen; throws what is wrong, or `CannotCheck`. */
  check: () => string | Promise<string>;
}

const at = (file: keyof typeof artifacts) => join(releaseFolder, artifacts[file]);
const readJson = (path: string) => JSON.parse(readFileSync(path, "utf8"));
const readSbom = (): Bom => readJson(at("sbom"));

const scratch = mkdtempSync(join(tmpdir(), "hunkwise-check-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));
const emptyFolder = () => mkdtempSync(join(scratch, "a-"));

function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

const rule = "py-shell-injection";

/** A repository with a staged change that every review objects to, by this rule. */
function repositoryToReview(): string {
  const cwd = emptyFolder();
  const write = (text: string) => writeFileSync(join(cwd, "a.py"), text);
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd });
  git("init", "--quiet");
  write("print(1)\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "Start");
  write("import sys\nimport subprocess\n\nsubprocess.run(f'ls {sys.argv[1]}', shell=True)\n");
  git("add", ".");
  return cwd;
}

function checkPackage(): string {
  const files = run("tar", ["-tzf", at("package")])
    .trim()
    .split("\n");
  const expected = ["dist", ...packageJson.files, "package.json", "LICENSE"];
  const others = files.filter((file) => !expected.some((one) => `${file}/`.startsWith(`package/${one}/`)));
  assert(others.length === 0, `The package contains ${others}`);
  const { private: isPrivate, version } = JSON.parse(fileOfPackage("package.json"));
  assert(
    isPrivate === undefined && version === packageJson.version,
    "Its package.json is that of no release",
  );
  run("npm", ["publish", "--dry-run", "--provenance=false", at("package")], { cwd: emptyFolder() });
  return `npm would publish it, with ${files.length} files and no unexpected one`;
}

interface Installed {
  version?: string;
  dependencies?: Record<string, Installed>;
}

const installedIn = ({ dependencies = {} }: Installed): string[] =>
  Object.entries(dependencies).flatMap(([name, one]) =>
    one.version ? [`${name}@${one.version}`, ...installedIn(one)] : [],
  );

function checkInstallation(): string {
  const prefix = emptyFolder();
  const begin = performance.now();
  run("npm", ["install", "--global", "--prefer-offline", "--prefix", prefix, at("package")], { cwd: prefix });
  const installed = performance.now();
  const review = { cwd: repositoryToReview(), expected: 1 };
  const report = run(join(prefix, "bin/hunkwise"), ["review"], review);
  assert(report.includes(rule), `The review did not name ${rule}:\n${report}`);
  const [first, second] = [installed - begin, performance.now() - installed].map(
    (ms) => `${(ms / 1000).toFixed(1)} s`,
  );
  const { dependencies } = JSON.parse(run("npm", ["ls", "--all", "--json", "--global", "--prefix", prefix]));
  const named = new Set(readSbom().components.map(({ name, version }) => `${name}@${version}`));
  const missing = installedIn(dependencies.hunkwise).filter((one) => !named.has(one));
  assert(missing.length === 0, `npm installed what the SBOM does not name: ${missing}`);
  return `into an empty folder in ${first}, all of it in the SBOM; the first review took ${second}`;
}

function checkSignatures(): string {
  try {
    return run("npm", ["audit", "signatures", "--fetch-retries=0"]).trim().replaceAll("\n", "; ");
  } catch (error) {
    const [, host] = /https:\/\/([\w.-]+)\S* failed, reason: getaddrinfo ENOTFOUND/.exec(`${error}`) ?? [];
    throw host ? new CannotCheck(`${host} cannot be reached`) : error;
  }
}

const pythonValidator = `
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
found = JsonStrictValidator(SchemaVersion.V1_5).validate_str(open(sys.argv[1]).read())
sys.exit(found and repr(found))`;

async function checkSbom(): Promise<string> {
  const { components } = readSbom();
  const listed = [...listedWorks(fileOfPackage("dist/THIRD-PARTY-LICENSES.txt")).keys()].sort();
  const bundled = components.filter(isBundled).map(({ name, version }) => `${name}@${version}`);
  assert(listed.join() === bundled.sort().join(), "It and THIRD-PARTY-LICENSES.txt name different works");
  // The bundler names the file of each piece of code.
  const code = run("tar", ["-xzOf", at("package"), "package/dist"]).matchAll(
    /^\/\/ node_modules\/((?:@[\w.-]+\/)?[\w.-]+)\//gm,
  );
  const named = new Set(components.map(({ name }) => name));
  const unnamed = new Set([...code].flatMap(([, name = ""]) => (named.has(name) ? [] : name)));
  assert(unnamed.size === 0, `The code of these is bundled, but not named: ${[...unnamed]}`);
  run(pythonProgram("python"), ["-c", pythonValidator, at("sbom")]);
  const folder = join(cacheFolder, "cyclonedx");
  mkdirSync(folder, { recursive: true });
  const library = "@cyclonedx/cyclonedx-library";
  const wanted = [`${library}@10.3.0`, "ajv@8.20.0", "ajv-formats@3.0.1", "ajv-formats-draft2019@1.6.1"];
  run("npm", ["install", "--prefer-offline", "--ignore-scripts", "--prefix", folder, ...wanted], {
    cwd: folder,
  });
  const entry = join(folder, "node_modules", library, "dist.node/index.node.js");
  const { Validation, Spec } = (await import(pathToFileURL(entry).href)).default;
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
  const found = await validator.validate(readFileSync(at("sbom"), "utf8"));
  assert(found === null, JSON.stringify(found));
  return `valid; ${bundled.length} works are in the package, as THIRD-PARTY-LICENSES.txt says, ${components.length - bundled.length} beside it`;
}

/** The registry's own module, which Go compares with its checksum database. */
const registry = "github.com/modelcontextprotocol/registry@v1.8.9";

function checkServer(): string {
  const { $schema, name } = readJson(at("server"));
  const [, day = ""] = /schemas\/([\d-]+)\//.exec($schema) ?? [];
  const { Dir } = JSON.parse(run("go", ["mod", "download", "-json", registry], { cwd: scratch }));
  const schema = join(Dir, "internal/validators/schemas", `${day}.json`);
  run(pythonProgram("check-jsonschema"), ["--schemafile", schema, at("server")]);
  const { mcpName } = JSON.parse(fileOfPackage("package.json"));
  assert(mcpName === name, `The package says ${mcpName}, server.json ${name}`);
  return `server.json follows the registry's schema of ${day}, and the package claims its name`;
}

function checkSchemas(): string {
  const entries: { url: string }[] = readJson(at("schemaStore"));
  const schemas = entries.map(({ url }) => join(root, url.replace(/^.*\/main\//, "")));
  run(pythonProgram("check-jsonschema"), ["--check-metaschema", ...schemas]);
  return `SchemaStore's ${entries.length} entries lead to valid schemas`;
}

/** A clone with the commit of the Action. */
function clonedAction(): { ids: ActionIds; cwd: string } {
  const cwd = emptyFolder();
  run("git", ["clone", "--quiet", "--no-checkout", "--no-tags", `file://${root}`, cwd]);
  run("git", ["fetch", "--quiet", at("action"), "refs/tags/*:refs/tags/*"], { cwd });
  return { ids: readJson(at("actionIds")), cwd };
}

function checkAction(): string {
  const { ids, cwd } = clonedAction();
  const git = (...args: string[]) => run("git", args, { cwd }).trim();
  const tag = `v${packageJson.version}`;
  const found = git("rev-parse", `${tag}^{commit}`, `${tag}^{tree}`, `${tag}^`).split("\n");
  assert(found.join() === [ids.commit, ids.tree, ids.source].join(), `The tag is not as noted: ${found}`);
  assert(git("diff", "--name-only", ids.source, tag, "--", ".github") === "", "The commit changes workflows");
  git("checkout", "--quiet", tag);
  const version = run(process.execPath, ["dist/cli.js", "--version"], { cwd }).trim();
  assert(version === packageJson.version, `Its program says ${version}`);
  assert(existsSync(join(cwd, "action.yml")), "It has no action.yml");
  return `its commit can be fetched, has the tree ${ids.tree}, and runs`;
}

function checkHooks(): string {
  const program = pythonProgram("pre-commit");
  run(program, ["validate-manifest", join(root, ".pre-commit-hooks.yaml")]);
  const { ids, cwd: repo } = clonedAction();
  const cwd = repositoryToReview();
  const config = { repos: [{ repo, rev: ids.commit, hooks: [{ id: "hunkwise" }] }] };
  writeFileSync(join(cwd, ".pre-commit-config.yaml"), JSON.stringify(config));
  run("git", ["add", "."], { cwd });
  // pre-commit prefers a program that Debian calls nodejs.
  const bin = emptyFolder();
  for (const name of ["node", "nodejs"]) symlinkSync(process.execPath, join(bin, name));
  const env = { PRE_COMMIT_HOME: emptyFolder(), PATH: `${bin}${delimiter}${plainEnvironment.PATH}` };
  const found = run(program, ["run", "--all-files", "--verbose"], { cwd, env, expected: 1 });
  assert(found.includes(rule), `The hook did not name ${rule}:\n${found}`);
  return "the manifest is valid; the hook installs from the commit of the Action and reviews";
}

const checkImage = () =>
  run("bash", ["scripts/release/image.sh", at("package"), join(cacheFolder, "images")]).trim();
const checkSums = () => {
  const files = run("sha256sum", ["--check", artifacts.sums], { cwd: releaseFolder }).trim().split("\n");
  return `${files.length} files are as noted`;
};

export const checks: readonly Check[] = [
  { name: "sums", by: "sha256sum", check: checkSums },
  { name: "package", by: "npm publish --dry-run", check: checkPackage },
  { name: "install", by: "npm install", check: checkInstallation },
  { name: "signatures", by: "npm audit signatures", check: checkSignatures },
  { name: "sbom", by: "cyclonedx-python-lib, @cyclonedx/cyclonedx-library", check: checkSbom },
  { name: "mcp", by: `check-jsonschema, ${registry}`, check: checkServer },
  { name: "schemas", by: "check-jsonschema", check: checkSchemas },
  { name: "action", by: "git", check: checkAction },
  { name: "hooks", by: "pre-commit", check: checkHooks },
  {
    name: "dockerfile",
    by: "hadolint",
    check: () => run(pythonProgram("hadolint"), ["Dockerfile"]) || "clean",
  },
  { name: "image", by: "buildah", check: checkImage },
];
