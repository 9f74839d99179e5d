/**
 * `node scripts/action-tree.ts FOLDER`: writes the files of a released commit. As an Action it needs no registry and no build: the runner's
 * own Node starts the bundle, which lies beside the packages with binaries. The framework pre-commit installs it as a package of npm.
 */
import { execFile } from "node:child_process";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import packageJson from "../package.json" with { type: "json" };
import { bundle } from "./bundle.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");

/** The tree has packages with binaries for Linux alone, because only there the Action runs. Parsers are for all platforms: pre-commit needs them. */
const processors = ["x64", "arm64"];

/** Only searches by meaning need these, and the Action has none. They also come without the text of their license. */
const optional = new RegExp(`^(${Object.keys(packageJson.optionalDependencies).join("|")})(-|$)`);

interface ActionFile {
  inputs: Record<string, object>;
  outputs: Record<string, { description: string; value?: string }>;
  runs: { using: string; steps: { env?: Record<string, string> }[] };
}

/** @param folder does not exist, or is empty */
export async function makeActionTree(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const read = ["docs", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "LICENSE"];
  for (const name of new Set([...packageJson.files, ...read, ".pre-commit-hooks.yaml"]))
    if (name !== "dist") await cp(join(root, name), join(folder, name), { recursive: true });
  // With these, npm would build the package when it installs it from git.
  const { scripts: _, devDependencies: __, overrides: ___, ...packed } = packageJson;
  await writeFile(join(folder, "package.json"), `${JSON.stringify(packed, null, 2)}\n`);
  await bundle(join(folder, "dist"));
  for (const processor of processors) await installFor(processor, join(folder, "node_modules"));
  const composite: ActionFile = parse(await readFile(join(root, "action.yml"), "utf8"));
  const outputs = Object.entries(composite.outputs).map(([name, { description }]) => [name, { description }]);
  const action = {
    ...composite,
    outputs: Object.fromEntries(outputs),
    runs: { using: "node24", main: "action.js" },
  };
  await writeFile(join(folder, "action.yml"), stringify(action, { lineWidth: 0 }));
  await writeFile(join(folder, "action.js"), entryOf(composite));
}

/** Installs the packages that are not bundled, as the lock file has them, and adds them to a folder. No script of a package runs. */
async function installFor(processor: string, packages: string): Promise<void> {
  const place = await mkdtemp(join(tmpdir(), "hunkwise-action-"));
  try {
    for (const name of ["package.json", "package-lock.json"])
      await copyFile(join(root, name), join(place, name));
    const platform = ["--os=linux", `--cpu=${processor}`, "--libc=glibc"];
    await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", ...platform], {
      cwd: place,
    });
    const installed = join(place, "node_modules");
    const unused = (await readdir(installed)).filter((name) => /^\./.test(name) || optional.test(name));
    for (const name of unused) await rm(join(installed, name), { recursive: true });
    await cp(installed, packages, { recursive: true });
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/**
 * The file that the runner starts. It passes the inputs on as the steps of action.yml do: an input that stands for a variable of the job
 * replaces it only if it is set.
 */
export function entryOf({ runs }: Pick<ActionFile, "runs">): string {
  const inputs = Object.entries(runs.steps.at(-1)?.env ?? {}).map(([variable, expression]) => {
    const [, input, other] = /^\$\{\{ inputs\.([\w-]+)( \|\| env\.\w+)? \}\}$/.exec(expression) ?? [];
    if (input === undefined) throw new Error(`action.yml: ${variable}: ${expression} is no input`);
    return [variable, input.toUpperCase(), other !== undefined];
  });
  return `// Made from action.yml by scripts/action-tree.ts.
const inputs = ${JSON.stringify(inputs, null, 2)};
for (const [variable, input, orOfJob] of inputs) {
  const value = process.env[\`INPUT_\${input}\`] ?? "";
  if (value !== "" || !orOfJob) process.env[variable] = value;
}
if (process.platform === "linux") {
  process.argv.splice(2, Number.POSITIVE_INFINITY, "action");
  await import("./dist/cli.js");
} else {
  console.log("::error::Hunkwise's Action needs a runner with Linux. Set runs-on to ubuntu-latest.");
  process.exitCode = 2;
}
`;
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error("Usage: node scripts/action-tree.ts FOLDER");
  await makeActionTree(folder);
}
