import { join } from "node:path";
import { readingTools } from "../../src/agent/tools/index.ts";
import { createRegistry } from "../../src/agent/tools/run-tool.ts";
import type { ToolContext } from "../../src/agent/tools/tool.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createDiffSource } from "../../src/repo/diff-source.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { openLocalRange } from "../../src/repo/git/range.ts";
import type { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { checkedOut } from "../../test/support/checked-out.ts";
import { gitPath, testGitEnvironment } from "../../test/support/git-repo.ts";
import { type BareProcess, timeOf } from "./bare-process.ts";
import { createLargeChange } from "./repositories.ts";

/** A change of a thousand files, checked out as on a server. */
export interface LargeChange extends AsyncDisposable {
  place: RevisionPlace;
  /** Opens it for a new review, in which nothing was read before. */
  session(): ToolSession;
  /** Milliseconds of a git command in that repository. */
  git(...args: string[]): Promise<number>;
}

/** The tools of one review. */
export interface ToolSession extends AsyncDisposable {
  /** Calls a tool as the agent loop does; throws if it fails. */
  run(tool: string, args: Record<string, unknown>): Promise<unknown>;
}

export async function openLargeChange(temp: string): Promise<LargeChange> {
  const repo = createLargeChange(join(temp, "large-change"));
  const range = await openLocalRange({
    repo: repo.dir,
    base: "main",
    head: "topic",
    gitPath,
    tempDir: temp,
  });
  const place = await checkedOut(range.place);
  const bare: Omit<BareProcess, "args"> = { program: gitPath, cwd: repo.dir, env: testGitEnvironment };
  return {
    place,
    session: () => openSession(place),
    git: (...args) => timeOf({ ...bare, args }),
    [Symbol.asyncDispose]: () => range.dispose(),
  };
}

const tools = createRegistry(readingTools);

function openSession(place: RevisionPlace): ToolSession {
  const workspace = openWorkspace(place);
  const context: ToolContext = {
    targetBranch: "main",
    workspace,
    diffs: createDiffSource(workspace, { ignore: [], private: [] }),
    coverage: { serve() {} },
    report: {
      report: () => Promise.reject(new Error("Nothing is reported here")),
      finish: () => Promise.reject(new Error("Nothing is finished here")),
    },
    isPrivate: createPrivacy([]),
  };
  return {
    async run(tool, args) {
      const { result, text } = await tools.execute(tool, args, context);
      if (result.status !== "success") throw new Error(`${tool} failed: ${text}`);
      return result.output;
    },
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  };
}
