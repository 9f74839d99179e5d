import { posix } from "node:path";
import { findCommit, git, gitBytes } from "../bare-repository.ts";
import { type Answer, ok, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, NotSimulated, notFound } from "../errors.ts";
import { nowhere } from "../json/filled.ts";
import { syncHead } from "../pull-branch.ts";

/** A tree entry; `size` is 0 unless it is a blob. */
interface Entry {
  mode: string;
  oid: string;
  size: number;
  path: string;
}

/** GitHub shows larger files without their content. */
const largestContent = 1024 * 1024;

const folder = "040000";

async function list(gitDir: string, commit: string, path: string): Promise<Entry[]> {
  const output = await git(gitDir, "--literal-pathspecs", "ls-tree", "-z", "-l", commit, "--", path || ".");
  return output
    .split("\0")
    .filter(Boolean)
    .map((line) => {
      const [head = "", name = ""] = line.split("\t", 2);
      const [mode = "", , oid = "", size = ""] = head.split(/ +/);
      return { mode, oid, size: Number(size) || 0, path: name };
    });
}

const findEntry = async (gitDir: string, commit: string, path: string) =>
  (await list(gitDir, commit, path)).find((entry) => entry.path === path);

const entryJson = ({ mode, path, oid, size }: Entry) => ({
  ...{ name: posix.basename(path), path, sha: oid, size, type: mode === folder ? "dir" : "file" },
  ...{ url: nowhere, html_url: nowhere, git_url: nowhere, download_url: nowhere },
  _links: { self: nowhere, git: nowhere, html: nowhere },
});

async function fileAnswer(call: RepositoryCall, entry: Entry): Promise<Answer> {
  const bytes = await gitBytes(call.repository.gitDir, "cat-file", "blob", entry.oid);
  // GitHub breaks base64 into lines of 60 characters.
  const content = `${bytes.toString("base64").replace(/.{60}(?=.)/g, "$&\n")}\n`;
  const shown =
    entry.size > largestContent ? { content: "", encoding: "none" } : { content, encoding: "base64" };
  return ok({ ...entryJson(entry), ...shown });
}

interface NewContent {
  message: string;
  content: string;
  branch?: string;
  sha?: string;
}

/** A change of a file must name the blob that it replaces; the commit goes on top of the branch. */
export async function writeContents(call: RepositoryCall): Promise<Answer> {
  const { repository, state, token } = call;
  const { git, gitDir } = repository;
  const by = token.installation.app.bot.login;
  const asked = call.body as NewContent;
  const branch = asked.branch ?? repository.defaultBranch;
  const path = call.path.path ?? "";
  const tip = await findCommit(gitDir, `refs/heads/${branch}`);
  if (!tip) throw new GitHubRefusal(404, `Branch ${branch} not found`);
  const replaced = await findEntry(gitDir, tip, path);
  if (replaced && asked.sha === undefined)
    throw new GitHubRefusal(422, `Invalid request.\n\n"sha" wasn't supplied.`);
  if (asked.sha !== undefined && replaced?.oid !== asked.sha) {
    throw new GitHubRefusal(409, `${path} does not match ${asked.sha}`);
  }
  const files: [string, Buffer][] = [[path, Buffer.from(asked.content, "base64")]];
  const [sha = ""] = git.importCommits([{ branch, message: asked.message, files }]);
  for (const pull of repository.pulls.values()) {
    const isItsHead = pull.headRepository === repository && pull.headRef === branch && pull.state === "open";
    if (isItsHead) syncHead(state, pull, { by, kind: "push" });
  }
  const entry = await findEntry(gitDir, sha, path);
  const body = { content: entry && entryJson(entry), commit: { sha, message: asked.message } };
  return { status: replaced ? 200 : 201, body };
}

/** A file, or the entries of a folder. */
export async function contents(call: RepositoryCall): Promise<Answer> {
  const { repository, query } = call;
  const { gitDir } = repository;
  const path = (call.path.path ?? "").replace(/^\/+|\/+$/g, "");
  const ref = String(query.ref ?? repository.defaultBranch);
  const commit = await findCommit(gitDir, ref);
  if (!commit) throw new GitHubRefusal(404, `No commit found for the ref ${ref}`);
  const entry = await findEntry(gitDir, commit, path);
  if (!entry) throw notFound();
  if (entry.mode === folder) {
    return ok((await list(gitDir, commit, `${path}/`)).map(entryJson));
  }
  if (!entry.mode.startsWith("100")) throw new NotSimulated(`the contents of ${path}, a link or submodule`);
  return fileAnswer(call, entry);
}
