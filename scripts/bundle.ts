import { cp } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const root = join(import.meta.dirname, "..");
const source = join(root, "src");

/** Files that are started by their name: the program itself, its other processes and its threads. */
const entries = ["cli", "process/review-process", "process/index-process", "graph/extract-worker"];

/** What goes into a sandbox as the one file that it is. */
const alone = "sandbox/supervisor/main";

/** Data that lies beside the code that reads it. */
const data = "review/prompts";

/**
 * Packages that stay files of their own: those with binaries, and those that start threads or look for files beside themselves.
 */
const external = [
  /^@ast-grep\//,
  /^@vscode\/ripgrep/,
  /^sqlite-vec/,
  /^pg(?:-|$)/,
  /^pino/,
  /^thread-stream/,
  /^probot/,
  // What stands under "main" asks for its own files in a way that no bundler sees.
  /^jsonc-parser/,
  /\.node$/,
];

/**
 * Writes the program to a folder: the code of ours and of most packages in few files, since opening a thousand of them takes a
 * process longer than a small review.
 *
 * @param folder stands for `src/`: what lies beside `src/` is looked for beside it
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

/** Code that looks for files beside itself goes on to find them, in whichever file it ends. */
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
