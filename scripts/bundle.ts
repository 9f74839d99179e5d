import { cp, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type OutputOptions, type Plugin, rolldown } from "rolldown";
import packageJson from "../package.json" with { type: "json" };
import { copyGrammars, type Platform, platforms } from "./grammars.ts";
import { licensesOf } from "./licenses.ts";

const root = join(import.meta.dirname, "..");
const source = join(root, "src");

/** The program. It is split into parts, so that a command loads only what it needs. */
const program = "cli";

/** Its other processes and its threads, each one file: they need all that it holds. A sandbox gets the last two and nothing else. */
const processes = [
  "border/review-process",
  "border/index-process",
  "border/rule-process",
  "repo/index/extract-worker",
  "border/results-thread",
  "server/queue/reader-thread",
  "sandbox/supervisor/bridge",
  "sandbox/supervisor/main",
];

/** Data beside the code that reads it; the second is code for programs of a repository, which a sandbox gets as it is. */
const data = ["tasks/prompts", "tasks/prove/proof/runner"];

/** The oldest Node that package.json names; the sources use syntax that it lacks (`await using`). */
const target = "node22.20";

/** The only packages that are not bundled, because they bring binaries: what package.json makes users install. */
const external = Object.keys({ ...packageJson.dependencies, ...packageJson.optionalDependencies });

/** Optional parts of packages. Each is required only where something asks for it, and its absence is handled there. */
const optional = ["pg-native", "supports-color"];

/** The `main` file of jsonc-parser loads others in a way that bundlers do not detect. */
const alias = { "jsonc-parser": join(root, "node_modules/jsonc-parser/lib/esm/main.js") };

/**
 * Writes the program to a folder: our code and nearly all packages in few files, because opening a thousand files takes longer than a
 * small review, and because most of an installed package is not code; and the parsers of languages.
 *
 * Without source maps: they would be twice as large as the code, which keeps its lines and names, and Node reads them only on request.
 *
 * @param folder takes the place of `src/`: files beside `src/` are expected beside it
 * @param options.only the platforms whose parsers are included
 */
export async function bundle(
  folder: string,
  { only = platforms }: { only?: readonly Platform[] } = {},
): Promise<void> {
  const bundled = await write(folder, program, { chunkFileNames: "parts/[name]-[hash].js" });
  for (const name of processes) bundled.push(...(await write(folder, name, { codeSplitting: false })));
  for (const name of data) {
    await cp(join(source, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.endsWith(".ts") && !path.endsWith("__pycache__"),
    });
  }
  await copyGrammars(join(folder, "grammars"), only);
  await writeFile(join(folder, "THIRD-PARTY-LICENSES.txt"), await licensesOf(bundled));
}

/** @returns the paths of all files whose code is in the bundle */
async function write(folder: string, name: string, options: OutputOptions): Promise<string[]> {
  await using build = await rolldown({
    input: { [name]: join(source, `${name}.ts`) },
    ...{ cwd: root, platform: "node", external: [...external, ...optional], resolve: { alias } },
    ...{ plugins: [ownFolders], tsconfig: false, transform: { target } },
    onLog: (level, log) => {
      if (level === "warn" && log.code === "UNRESOLVED_IMPORT") throw new Error(log.message);
    },
  });
  const { output } = await build.write({ dir: folder, ...options });
  const chunks = output.filter((file) => file.type === "chunk");
  return chunks.flatMap((chunk) => Object.keys(chunk.modules));
}

const place = "__folderOfSource";

/** Makes code find files beside its source, whichever bundle it is in. */
const ownFolders: Plugin = {
  name: "own-folders",
  transform(code, id) {
    if (!id.startsWith(source) || !code.includes("import.meta.dirname")) return null;
    return code.replaceAll(
      "import.meta.dirname",
      `${place}(${JSON.stringify(relative(source, dirname(id)))})`,
    );
  },
  renderChunk(code, { fileName }) {
    if (!code.includes(place)) return null;
    const up = JSON.stringify(relative(dirname(fileName), "."));
    const lines = [
      'import { join as __join } from "node:path";',
      `const ${place} = (folder) => __join(import.meta.dirname, ${up}, folder);`,
    ];
    return `${lines.join("\n")}\n${code}`;
  },
};
