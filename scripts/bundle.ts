import { cp } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const source = join(root, "src");

/** Files that are started by name: the program itself, its other processes and its threads. */
const entries = ["cli", "process/review-process", "process/index-process", "graph/extract-worker"];

/** The only file that a sandbox gets; it must be self-contained. */
const alone = "sandbox/supervisor/main";

/** Data beside the code that reads it. */
const data = "review/prompts";

/** Packages that are not bundled: those with binaries, and those that start threads or look for files beside themselves. */
const external = [
  /^@ast-grep\//,
  /^@vscode\/ripgrep/,
  /^sqlite-vec/,
  /^pg(?:-|$)/,
  /^pino/,
  /^thread-stream/,
  /^probot/,
  // Its "main" file loads other files in a way that bundlers do not detect.
  /^jsonc-parser/,
  /\.node$/,
];

/**
 * Writes the program to a folder: our code and most packages in few files, because opening a thousand files takes longer than a small
 * review.
 *
 * @param folder takes the place of `src/`: files beside `src/` are expected beside it
 */
export async function bundle(folder: string): Promise<void> {
  await write(folder, entries);
  await write(folder, [alone]);
  await cp(join(source, data), join(folder, data), {
    recursive: true,
    filter: (path) => !path.endsWith(".ts"),
  });
}

async function write(folder: string, names: readonly string[]): Promise<void> {
  await using build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(source, `${name}.ts`)])),
    ...{ cwd: root, platform: "node", external, plugins: [ownFolders], tsconfig: false },
    onLog: (level, log) => {
      if (level === "warn" && log.code === "UNRESOLVED_IMPORT") throw new Error(log.message);
    },
  });
  await build.write({ dir: folder, sourcemap: true, chunkFileNames: "parts/[name]-[hash].js" });
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
