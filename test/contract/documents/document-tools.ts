import { onTestFinished } from "vitest";
import { openOverlay } from "../../../src/repo/git/overlay-workspace.ts";
import type { EditableWorkspace } from "../../../src/repo/git/workspace.ts";
import { openRepository, type TestTools, toolsOn } from "../../agent/tools/context.ts";
import { GitRepo } from "../../support/git-repo.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join("");

/** A small project with a change, and the tools on it. */
export interface DocumentTools extends AsyncDisposable {
  /** The tools of a review. */
  reading(): TestTools;
  /** The tools of a fix, on separate files. */
  changing(): TestTools & { files: EditableWorkspace; text(path: string): Promise<string> };
}

export async function openDocumentTools(): Promise<DocumentTools> {
  const repo = GitRepo.create();
  repo.commit("Start", { "src/app.py": numbered(40), "README.md": "# App\n" });
  repo.branch("topic");
  repo.commit("Say hello\n\nWith a body.", {
    "src/app.py": numbered(40).replace("line 3\n", "def hello():\n").replace("line 35\n", "Hello = hello\n"),
    "src/core/agent.py": "class Agent:\n    def run(self):\n        return hello()\n",
    "src/core/agent.ts": "export const agent = hello();\n",
    ".config/settings.yml": "hello: true\n",
    "docs/guide.md": "hellos\nHELLO\n",
    "copy.md": "# App\n",
    "long.txt": numbered(9_000),
  });
  repo.commit("Second");
  const opened = await openRepository(repo);
  return {
    reading: () => toolsOn(opened.workspace),
    changing() {
      const files = openOverlay(opened.workspace, opened.place);
      onTestFinished(() => files[Symbol.asyncDispose]());
      const text = async (path: string) => (await files.read(path)).toString("utf8");
      return { ...toolsOn(files, { edit: files }), files, text };
    },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      repo.dispose();
    },
  };
}
