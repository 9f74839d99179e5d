import { posix } from "node:path";
import { findCommit, git, gitBytes } from "../bare-repository.ts";
import { type Answer, ok, type RepositoryCall } from "../endpoint.ts";
import { GitHubRefusal, notFound } from "../errors.ts";
import { repositoryPage, repositoryUrl } from "../json/repository.ts";
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

const kinds: Record<string, "dir" | "submodule" | "symlink"> = {
  "040000": "dir",
  "160000": "submodule",
  "120000": "symlink",
};

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

/** Fields common to all entries. */
function entryJson({ state, repository }: RepositoryCall, ref: string, entry: Entry) {
  const type = kinds[entry.mode] ?? "file";
  const [url, page] = [repositoryUrl(state, repository), repositoryPage(state, repository)];
  const encoded = entry.path.split("/").map(encodeURIComponent).join("/");
  const self = `${url}/contents/${encoded}?ref=${encodeURIComponent(ref)}`;
  const gitUrl =
    type === "submodule" ? null : `${url}/git/${type === "dir" ? "trees" : "blobs"}/${entry.oid}`;
  const html = `${page}/${type === "dir" ? "tree" : "blob"}/${ref}/${encoded}`;
  return {
    name: posix.basename(entry.path),
    path: entry.path,
    sha: entry.oid,
    size: entry.size,
    url: self,
    html_url: html,
    git_url: gitUrl,
    download_url: type === "file" || type === "symlink" ? `${page}/raw/${ref}/${encoded}` : null,
    type: type as string,
    _links: { self, git: gitUrl, html },
  };
}

async function fileAnswer(call: RepositoryCall, ref: string, entry: Entry): Promise<Answer> {
  const bytes = await gitBytes(call.repository.gitDir, "cat-file", "blob", entry.oid);
  if (/application\/vnd\.github\.(v3\.)?raw/.test(call.accept)) {
    return { status: 200, raw: bytes, type: "application/vnd.github.raw+json; charset=utf-8" };
  }
  // GitHub breaks base64 into lines of 60 characters.
  const content = `${bytes.toString("base64").replace(/.{60}(?=.)/g, "$&\n")}\n`;
  const shown =
    entry.size > largestContent ? { content: "", encoding: "none" } : { content, encoding: "base64" };
  return ok({ ...entryJson(call, ref, entry), ...shown });
}

/** A link to a file of the repository is answered with that file; any other link with its target. */
async function symlinkAnswer(
  call: RepositoryCall,
  ref: string,
  commit: string,
  link: Entry,
): Promise<Answer> {
  const { gitDir } = call.repository;
  const target = await git(gitDir, "cat-file", "blob", link.oid);
  const path = posix.join(posix.dirname(link.path), target);
  const inside = !posix.isAbsolute(target) && !path.startsWith("..");
  const entry = inside ? await findEntry(gitDir, commit, path) : undefined;
  if (entry && !(entry.mode in kinds)) return fileAnswer(call, ref, entry);
  return ok({ ...entryJson(call, ref, link), target });
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
  const standing = await findEntry(gitDir, tip, path);
  if (standing && asked.sha === undefined)
    throw new GitHubRefusal(422, `Invalid request.\n\n"sha" wasn't supplied.`);
  if (asked.sha !== undefined && standing?.oid !== asked.sha) {
    throw new GitHubRefusal(409, `${path} does not match ${asked.sha}`);
  }
  const files: [string, Buffer][] = [[path, Buffer.from(asked.content, "base64")]];
  const [sha = ""] = git.importCommits([{ branch, message: asked.message, files }]);
  for (const pull of repository.pulls.values()) {
    const isItsHead = pull.headRepository === repository && pull.headRef === branch && pull.state === "open";
    if (isItsHead) syncHead(state, pull, { by, kind: "push" });
  }
  const entry = await findEntry(gitDir, sha, path);
  const body = { content: entry && entryJson(call, branch, entry), commit: { sha, message: asked.message } };
  return { status: standing ? 200 : 201, body };
}

/** A file, the entries of a folder, the target of a link, or a submodule. */
export async function contents(call: RepositoryCall): Promise<Answer> {
  const { repository, query, state } = call;
  const { gitDir } = repository;
  const path = (call.path.path ?? "").replace(/^\/+|\/+$/g, "");
  const ref = String(query.ref ?? repository.defaultBranch);
  const commit = await findCommit(gitDir, ref);
  if (!commit) throw new GitHubRefusal(404, `No commit found for the ref ${ref}`);
  const entry = await findEntry(gitDir, commit, path);
  if (!entry) throw notFound();
  const type = kinds[entry.mode];
  if (type === "dir") {
    return ok((await list(gitDir, commit, `${path}/`)).map((one) => entryJson(call, ref, one)));
  }
  if (type === "submodule") {
    return ok({ ...entryJson(call, ref, entry), submodule_git_url: `${state.origin}/submodule.git` });
  }
  return type === "symlink" ? symlinkAnswer(call, ref, commit, entry) : fileAnswer(call, ref, entry);
}
